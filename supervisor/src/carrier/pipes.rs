//! The two pipes of a worker process, read and written as they are ready.
//! Trust: what is read is a taken-over peer's; it leaves as whole frames of bounded length.

use super::{Wire, watched::watch};
use bulkhead_ipc::{
    Error,
    codec::MAX_FRAME,
    frame::{Assembler, with_length},
};
use std::{
    fs::File,
    io::{self, ErrorKind, Read, Write},
    os::fd::OwnedFd,
    task::{Context, Poll, ready},
};
use tokio::io::{Interest, unix::AsyncFd};

/// Bytes that are read at once: what a pipe holds.
const PIECE: usize = 64 * 1024;
/// Bytes of a frame's length word.
const LENGTH: usize = 4;
/// Bytes that may wait for a worker that does not read.
const MAX_UNSENT: usize = 2 * MAX_FRAME;

pub(super) struct Pipes {
    /// `None` after the worker closed it.
    requests: Option<AsyncFd<File>>,
    answers: AsyncFd<File>,
    unsent: Vec<u8>,
    unheard: bool,
    frames: Assembler,
    piece: Vec<u8>,
}

impl Pipes {
    /// Both ends must be non-blocking.
    pub fn new(requests: OwnedFd, answers: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            requests: Some(watch(File::from(requests), Interest::WRITABLE)?),
            answers: watch(File::from(answers), Interest::READABLE)?,
            unsent: Vec::new(),
            unheard: false,
            frames: Assembler::default(),
            piece: vec![0; PIECE],
        })
    }

    /// Writes as much as the pipe takes now.
    fn flush(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        while !self.unsent.is_empty() {
            let Some(requests) = &self.requests else {
                self.unheard = true;
                self.unsent.clear();
                break;
            };
            let Poll::Ready(guard) = requests.poll_write_ready(cx) else { break };
            match guard?.try_io(|pipe| pipe.get_ref().write(&self.unsent)) {
                Ok(Ok(sent)) => drop(self.unsent.drain(..sent)),
                Ok(Err(e)) if e.kind() == ErrorKind::Interrupted => {}
                // the end of answers says that the worker is gone, after what it still had to say
                Ok(Err(e)) if e.kind() == ErrorKind::BrokenPipe => self.requests = None,
                Ok(Err(e)) => return Err(e.into()),
                Err(_full) => {}
            }
        }
        Ok(())
    }
}

impl Wire for Pipes {
    fn post(&mut self, body: Vec<u8>) -> Result<(), Error> {
        let framed = with_length(&body)?;
        if self.unsent.len() + framed.len() > MAX_UNSENT {
            return Err(Error::Io(ErrorKind::WouldBlock.into()));
        }
        self.unsent.extend_from_slice(&framed);
        Ok(())
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>, Error>> {
        self.flush(cx)?;
        loop {
            if let Some(frame) = self.frames.take()? {
                return Poll::Ready(Ok(Some(frame)));
            }
            let mut guard = ready!(self.answers.poll_read_ready(cx))?;
            match guard.try_io(|pipe| pipe.get_ref().read(&mut self.piece)) {
                Ok(Ok(0)) if self.frames.is_empty() => return Poll::Ready(Ok(None)),
                Ok(Ok(0)) => return Poll::Ready(Err(Error::CutFrame)),
                Ok(Ok(got)) => self.frames.push(&self.piece[..got]),
                Ok(Err(e)) if e.kind() == ErrorKind::Interrupted => {}
                Ok(Err(e)) => return Poll::Ready(Err(e.into())),
                Err(_empty) => {}
            }
        }
    }

    fn has_room(&self) -> bool {
        self.unsent.len() + LENGTH + MAX_FRAME <= MAX_UNSENT
    }

    fn is_unheard(&self) -> bool {
        self.unheard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{future::poll_fn, os::fd::AsFd};

    fn pipes() -> (Pipes, File, File) {
        let (heard, requests) = io::pipe().expect("a pipe");
        let (answers, said) = io::pipe().expect("a pipe");
        for end in [requests.as_fd(), answers.as_fd()] {
            bulkhead_sandbox::spawn::set_nonblocking(&end.try_clone_to_owned().expect("a descriptor")).expect("a pipe");
        }
        let pipes = Pipes::new(requests.into(), answers.into()).expect("in a runtime");
        (pipes, OwnedFd::from(heard).into(), OwnedFd::from(said).into())
    }

    #[tokio::test]
    async fn frames_larger_than_a_pipe_pass_both_ways_at_once() {
        let (mut pipes, mut heard, mut said) = pipes();
        let long = vec![7u8; MAX_FRAME];
        // an echo that answers only after it has read everything, as a worker does
        let echo = std::thread::spawn(move || {
            while let Some(body) = bulkhead_ipc::frame::read(&mut heard).expect("well-formed") {
                bulkhead_ipc::frame::write(&mut said, &body).expect("read");
                if body == b"last" {
                    break;
                }
            }
        });
        for body in [&b"first"[..], &long, b"last"] {
            pipes.post(body.to_vec()).expect("there is room");
            let got = poll_fn(|cx| pipes.poll_frame(cx)).await.expect("well-formed");
            assert!(got.as_deref() == Some(body), "{} bytes", body.len());
        }
        echo.join().expect("no panic");
        assert!(matches!(poll_fn(|cx| pipes.poll_frame(cx)).await, Ok(None)));
        assert!(!pipes.is_unheard());
        assert!(pipes.post(b"to nobody".to_vec()).is_ok());
        assert!(matches!(poll_fn(|cx| pipes.poll_frame(cx)).await, Ok(None)));
        assert!(pipes.is_unheard());
    }

    #[tokio::test]
    async fn a_worker_that_never_reads_cannot_fill_memory() {
        let (mut pipes, _heard, _said) = pipes();
        assert!(pipes.post(vec![1; MAX_FRAME - 8]).is_ok());
        assert!(pipes.post(vec![1; MAX_FRAME - 8]).is_ok());
        assert!(matches!(pipes.post(vec![1; 64]), Err(Error::Io(_))));
    }

    #[tokio::test]
    async fn an_end_inside_a_frame_is_an_error() {
        let (mut pipes, _heard, mut said) = pipes();
        said.write_all(&[9, 0, 0, 0, 1]).expect("there is room");
        drop(said);
        assert!(matches!(poll_fn(|cx| pipes.poll_frame(cx)).await, Err(Error::CutFrame)));
    }
}
