//! Frames from a blocking pipe, several at one read, and a look at what is there without waiting.
//! Trust: the pipe's other end may be taken over; what it sends is cut into frames of bounded length and nothing else.

use crate::{
    Error,
    channel::{FrameSource, Now},
    frame::Assembler,
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use std::{
    fmt,
    io::{self, ErrorKind, Read},
    os::fd::AsFd,
};

/// Bytes of one read: many times a usual question.
const PIECE: usize = 16 * 1024;

/// The hearing end of a pipe. The descriptor must be blocking, and nobody else may read it.
pub struct Inbox<S> {
    stream: S,
    frames: Assembler,
    piece: Vec<u8>,
}

/// What one read gave.
enum Got {
    Some,
    End,
}

impl<S: Read + AsFd + Send> Inbox<S> {
    /// Frames of `stream`.
    pub fn new(stream: S) -> Self {
        Self { stream, frames: Assembler::default(), piece: vec![0; PIECE] }
    }

    /// Reads once; blocks where nothing is there.
    fn read(&mut self) -> Result<Got, Error> {
        loop {
            match self.stream.read(&mut self.piece) {
                Ok(0) if self.frames.is_empty() => return Ok(Got::End),
                Ok(0) => return Err(Error::CutFrame),
                Ok(got) => {
                    self.frames.push(&self.piece[..got]);
                    return Ok(Got::Some);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Whether a read would not block.
    fn is_readable(&self) -> Result<bool, Error> {
        let mut one = [PollFd::new(self.stream.as_fd(), PollFlags::POLLIN)];
        match poll(&mut one, PollTimeout::ZERO) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::EINTR) => Ok(false),
            Err(e) => Err(io::Error::from(e).into()),
        }
    }
}

impl<S: Read + AsFd + Send> FrameSource for Inbox<S> {
    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Error> {
        loop {
            if let Some(frame) = self.frames.take()? {
                return Ok(Some(frame));
            }
            if let Got::End = self.read()? {
                return Ok(None);
            }
        }
    }

    fn frame_now(&mut self) -> Result<Now<Vec<u8>>, Error> {
        loop {
            if let Some(frame) = self.frames.take()? {
                return Ok(Now::Said(frame));
            }
            if !self.is_readable()? {
                return Ok(Now::Nothing);
            }
            if let Got::End = self.read()? {
                return Ok(Now::End);
            }
        }
    }
}

impl<S> fmt::Debug for Inbox<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("between_frames", &self.frames.is_empty()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::with_length;
    use std::io::Write;

    #[test]
    fn frames_are_there_when_all_of_them_is() {
        let (heard, mut said) = io::pipe().expect("a pipe");
        let mut inbox = Inbox::new(heard);
        let now = |inbox: &mut Inbox<_>| inbox.frame_now().expect("well-formed");
        assert_eq!(now(&mut inbox), Now::Nothing);
        let framed = with_length(b"one").expect("small");
        said.write_all(&framed[..2]).expect("there is room");
        assert_eq!(now(&mut inbox), Now::Nothing, "half a length word");
        said.write_all(&framed[2..6]).expect("there is room");
        assert_eq!(now(&mut inbox), Now::Nothing, "half a body");
        said.write_all(&framed[6..]).expect("there is room");
        said.write_all(&with_length(b"two").expect("small")).expect("there is room");
        assert_eq!(now(&mut inbox), Now::Said(b"one".to_vec()));
        assert_eq!(inbox.next_frame().expect("well-formed"), Some(b"two".to_vec()), "it came with the first");
        assert_eq!(now(&mut inbox), Now::Nothing);
        drop(said);
        assert_eq!(now(&mut inbox), Now::End);
        assert_eq!(inbox.next_frame().expect("well-formed"), None);
    }

    #[test]
    fn an_end_inside_a_frame_is_an_error() {
        let (heard, mut said) = io::pipe().expect("a pipe");
        said.write_all(&[9, 0, 0, 0, 1]).expect("there is room");
        drop(said);
        let mut inbox = Inbox::new(heard);
        assert!(matches!(inbox.frame_now(), Err(Error::CutFrame)));
        assert!(matches!(inbox.next_frame(), Err(Error::CutFrame)));
    }

    #[test]
    fn a_length_over_the_limit_is_refused_at_once() {
        let (heard, mut said) = io::pipe().expect("a pipe");
        said.write_all(&[0xff; 4]).expect("there is room");
        assert!(matches!(Inbox::new(heard).next_frame(), Err(Error::FrameTooLong { .. })));
    }
}
