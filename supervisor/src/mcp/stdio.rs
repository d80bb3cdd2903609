//! Standard input and output: on the event loop where the system can try without waiting, on a thread each elsewhere.
//! Trust: bytes are passed on unread. A client that does not read stops being read: every queue here is bounded.

#[cfg(target_os = "linux")]
mod event_loop;
mod on_threads;

pub(crate) use on_threads::write_line;
pub use on_threads::{say, start_on};

use super::{framing::Event, session::SessionIo};
use std::{io, time::Duration};
use tokio::sync::{mpsc, oneshot};

#[cfg(target_os = "linux")]
use crate::carrier::watched::watch;
#[cfg(target_os = "linux")]
use tokio::io::Interest;

/// Bytes of one read.
const PIECE: usize = 64 * 1024;
/// Pieces that wait to be looked at; each holds at most one long message and one piece of short ones.
const WAITING_PIECES: usize = 4;
/// Answers that wait to be written; a call holds its place until its answer is among them.
const WAITING_LINES: usize = 16;

/// Dropped when everything is written.
type Written = oneshot::Sender<()>;

/// Says when everything that was sent is written.
#[derive(Debug)]
pub struct Flushed(oneshot::Receiver<()>);

impl Flushed {
    /// Waits until all lines are written, after the session dropped its output; false if that takes longer than `patience`.
    pub async fn wait(self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.0).await.is_ok()
    }
}

/// Which of the two streams can be tried without waiting. Behind the jail nobody can tell any more.
#[derive(Debug, Clone, Copy)]
pub struct Streams {
    #[cfg(target_os = "linux")]
    input: bool,
    #[cfg(target_os = "linux")]
    output: bool,
}

impl Streams {
    /// Looks at the process's own streams.
    #[must_use]
    pub fn look() -> Self {
        #[cfg(target_os = "linux")]
        {
            use bulkhead_sandbox::streams::is_pipe_or_socket;
            Self { input: is_pipe_or_socket(io::stdin()), output: is_pipe_or_socket(io::stdout()) }
        }
        #[cfg(not(target_os = "linux"))]
        Self {}
    }

    /// Takes over the process's own standard input and output. Must run inside a [`tokio::task::LocalSet`].
    ///
    /// # Errors
    /// When a thread is needed and cannot be started.
    pub fn start(self) -> io::Result<(SessionIo, Flushed)> {
        let (events, input) = mpsc::channel(WAITING_PIECES);
        let (output, lines) = mpsc::channel(WAITING_LINES);
        let (written, flushed) = oneshot::channel();
        self.read(events)?;
        self.write(lines, written)?;
        Ok((SessionIo { input, output }, Flushed(flushed)))
    }

    #[cfg(target_os = "linux")]
    fn read(self, events: mpsc::Sender<Vec<Event>>) -> io::Result<()> {
        if self.input
            && let Ok(input) = watch(io::stdin(), Interest::READABLE)
        {
            tokio::task::spawn_local(event_loop::read(input, io::stdin(), events));
            return Ok(());
        }
        on_threads::read_stdin(events)
    }

    #[cfg(not(target_os = "linux"))]
    fn read(self, events: mpsc::Sender<Vec<Event>>) -> io::Result<()> {
        on_threads::read_stdin(events)
    }

    #[cfg(target_os = "linux")]
    fn write(self, lines: mpsc::Receiver<String>, written: Written) -> io::Result<()> {
        if self.output
            && let Ok(output) = watch(io::stdout(), Interest::WRITABLE)
        {
            tokio::task::spawn_local(event_loop::write(output, io::stdout(), lines, written));
            return Ok(());
        }
        on_threads::write_stdout(lines, written)
    }

    #[cfg(not(target_os = "linux"))]
    fn write(self, lines: mpsc::Receiver<String>, written: Written) -> io::Result<()> {
        on_threads::write_stdout(lines, written)
    }
}
