//! Standard input and output on the event loop, where the system can try a pipe or a socket without waiting for it.
//! Trust: as on threads: bytes are passed on unread, and a client that does not read stops being read.

use super::{PIECE, on_threads};
use crate::{
    carrier::watched::Owns,
    log,
    mcp::framing::{Event, Framing},
};
use bulkhead_sandbox::streams;
use std::{
    io::{self, ErrorKind, Read, Write},
    os::fd::AsFd,
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::mpsc,
};

/// Passes `input` on, as the threads of `on_threads` do. A thread takes over where the system cannot try without waiting.
pub(super) async fn read(
    input: AsyncFd<impl Owns + AsFd>,
    on_thread: impl Read + Send + 'static,
    events: mpsc::Sender<Vec<Event>>,
) {
    let mut framing = Framing::default();
    let mut piece = vec![0; PIECE];
    loop {
        let mut batch = Vec::new();
        let ended = match now(&input, Interest::READABLE, |input| streams::read_now(input, &mut piece)).await {
            Ok(0) => true,
            Ok(length) => {
                framing.push(&piece[..length], &mut batch);
                false
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                return on_threads::start_reading(on_thread, framing, events);
            }
            Err(error) => {
                log::warn(&format!("standard input cannot be read: {}", error.kind()));
                true
            }
        };
        if ended {
            framing.finish(&mut batch);
        }
        if (!batch.is_empty() && events.send(batch).await.is_err()) || ended {
            return;
        }
    }
}

/// Writes `lines` to `output`, as those threads do, and drops `written` at their end.
pub(super) async fn write(
    output: AsyncFd<impl Owns + AsFd>,
    on_thread: impl Write + Send + 'static,
    mut lines: mpsc::Receiver<String>,
    written: super::Written,
) {
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match now(&output, Interest::WRITABLE, |output| streams::write_now(output, rest)).await {
                Ok(0) => return log::info("standard output takes nothing"),
                Ok(length) => {
                    written.outflow.add(length);
                    rest = &rest[length..];
                }
                Err(error) if error.kind() == ErrorKind::Unsupported => {
                    return on_threads::start_writing(on_thread, rest.to_vec(), lines, written);
                }
                Err(error) => return on_threads::unwritable(&error),
            }
        }
    }
}

/// Tries until it neither would block nor was interrupted.
async fn now<S: Owns>(
    stream: &AsyncFd<S>,
    interest: Interest,
    mut attempt: impl FnMut(&S) -> io::Result<usize>,
) -> io::Result<usize> {
    loop {
        match stream.async_io(interest, |stream| attempt(stream)).await {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}
