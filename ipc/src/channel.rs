//! Typed one-way ends: what one side may say and what it may hear are different types.
//! Trust: the receiving end reads a peer that may be taken over; it yields decoded messages or an error, never bytes.

use crate::{Error, codec, frame};
use bincode::{Decode, Encode};
use std::{
    fmt,
    io::{Read, Write},
    marker::PhantomData,
};

/// Where frames come from: a pipe, or a queue in memory.
pub trait FrameSource: Send {
    /// Blocks for the next frame's body; `None` when the peer closed its end between frames.
    ///
    /// # Errors
    /// As [`frame::read`].
    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Error>;
}

/// Where frames go: a pipe, or a queue in memory.
pub trait FrameSink: Send {
    /// Hands over one frame's body, blocking while the peer does not read.
    ///
    /// # Errors
    /// As [`frame::write`].
    fn put_frame(&mut self, body: &[u8]) -> Result<(), Error>;
}

/// Frames over any blocking byte stream.
#[derive(Debug)]
pub struct Stream<S>(pub S);

impl<S: Read + Send> FrameSource for Stream<S> {
    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Error> {
        frame::read(&mut self.0)
    }
}

impl<S: Write + Send> FrameSink for Stream<S> {
    fn put_frame(&mut self, body: &[u8]) -> Result<(), Error> {
        frame::write(&mut self.0, body)
    }
}

/// The hearing end for messages of type `T`.
pub struct Receiver<T> {
    source: Box<dyn FrameSource>,
    heard: PhantomData<fn() -> T>,
}

impl<T: Decode<()>> Receiver<T> {
    /// Hears `T` from `source`.
    pub fn new(source: impl FrameSource + 'static) -> Self {
        Self { source: Box::new(source), heard: PhantomData }
    }

    /// Blocks for the next message; `None` when the peer closed its end.
    ///
    /// # Errors
    /// Those of the source, and those of [`codec::decode`].
    pub fn receive(&mut self) -> Result<Option<T>, Error> {
        self.source.next_frame()?.map(|body| codec::decode(&body)).transpose()
    }
}

/// The speaking end for messages of type `T`.
pub struct Sender<T> {
    sink: Box<dyn FrameSink>,
    said: PhantomData<fn(T)>,
}

impl<T: Encode> Sender<T> {
    /// Says `T` to `sink`.
    pub fn new(sink: impl FrameSink + 'static) -> Self {
        Self { sink: Box::new(sink), said: PhantomData }
    }

    /// Hands over one message, blocking while the peer does not read.
    ///
    /// # Errors
    /// Those of [`codec::encode`], and those of the sink.
    pub fn send(&mut self, message: &T) -> Result<(), Error> {
        self.sink.put_frame(&codec::encode(message)?)
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver")
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender")
    }
}

/// Both ends of a worker, as its main function takes them.
#[derive(Debug)]
pub struct WorkerEnds<Hears, Says> {
    /// What the supervisor (and, for the first frame, the launcher) says.
    pub requests: Receiver<Hears>,
    /// What the worker says.
    pub answers: Sender<Says>,
}
