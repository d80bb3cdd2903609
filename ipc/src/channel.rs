//! Typed one-way ends: what one side may say and what it may hear are different types.
//! Trust: the receiving end reads a peer that may be taken over; it yields decoded messages or an error, never bytes.

use crate::{Error, codec, frame};
use bincode::{Decode, Encode};
use std::{fmt, io::Write, marker::PhantomData};

/// What a peer has said by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Now<T> {
    /// Nothing yet, or only a part of something.
    Nothing,
    /// This.
    Said(T),
    /// The peer closed its end.
    End,
}

/// Where frames come from: a pipe, or a queue in memory.
pub trait FrameSource: Send {
    /// Blocks for the next frame's body; `None` when the peer closed its end between frames.
    ///
    /// # Errors
    /// As [`frame::read`].
    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Error>;

    /// The next frame's body, if all of it is there; never blocks.
    ///
    /// # Errors
    /// As [`frame::read`].
    fn frame_now(&mut self) -> Result<Now<Vec<u8>>, Error>;
}

/// Where frames go: a pipe, or a queue in memory.
pub trait FrameSink: Send {
    /// Hands over one frame's body, blocking while the peer does not read.
    ///
    /// # Errors
    /// As [`frame::write`].
    fn put_frame(&mut self, body: &[u8]) -> Result<(), Error>;
}

/// Frames to any blocking byte stream.
#[derive(Debug)]
pub struct Stream<S>(pub S);

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

    /// The next message, if it is there; never blocks.
    ///
    /// # Errors
    /// As [`Receiver::receive`].
    pub fn now(&mut self) -> Result<Now<T>, Error> {
        Ok(match self.source.frame_now()? {
            Now::Nothing => Now::Nothing,
            Now::Said(body) => Now::Said(codec::decode(&body)?),
            Now::End => Now::End,
        })
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

impl<Hears: Decode<()>, Says: Encode> WorkerEnds<Hears, Says> {
    /// Both ends over a source and a sink of frames.
    pub fn new(source: impl FrameSource + 'static, sink: impl FrameSink + 'static) -> Self {
        Self { requests: Receiver::new(source), answers: Sender::new(sink) }
    }
}
