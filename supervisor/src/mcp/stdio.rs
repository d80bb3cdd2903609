//! Standard input and output: on the event loop where the system can try without waiting, on a thread each elsewhere.
//! Trust: bytes are passed on unread. A client that does not read stops being read: every queue here is bounded.

#[cfg(target_os = "linux")]
mod event_loop;
mod on_threads;

pub(crate) use on_threads::write_line;
pub use on_threads::{say, start_on};

use super::{framing::Event, session::SessionIo};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::{mpsc, watch};

#[cfg(target_os = "linux")]
use crate::carrier::watched;
#[cfg(target_os = "linux")]
use tokio::io::Interest;

/// Bytes of one read.
const PIECE: usize = 64 * 1024;
/// Pieces that wait to be looked at; each holds at most one long message and one piece of short ones.
const WAITING_PIECES: usize = 4;
/// Answers that wait to be written; a call holds its place until its answer is among them.
const WAITING_LINES: usize = 16;

/// How many bytes have left by standard output: what tells a slow reader from none.
#[derive(Debug, Clone, Default)]
pub struct Outflow(Arc<AtomicU64>);

impl Outflow {
    /// Bytes since the start.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

/// What a writer holds: counts what leaves, and is dropped when everything is written.
#[derive(Debug)]
struct Written {
    outflow: Outflow,
    _all: watch::Sender<()>,
}

/// Says when everything that was sent is written.
#[derive(Debug, Clone)]
pub struct Flushed {
    all: watch::Receiver<()>,
    outflow: Outflow,
}

impl Flushed {
    fn pair() -> (Written, Flushed) {
        let (sender, all) = watch::channel(());
        let outflow = Outflow::default();
        (Written { outflow: outflow.clone(), _all: sender }, Flushed { all, outflow })
    }

    /// Waits until all lines are written, after the session dropped its output; false if that takes longer than `patience`.
    pub async fn wait(&mut self, patience: Duration) -> bool {
        // nothing is ever said: the end of the sender is the news
        tokio::time::timeout(patience, self.all.changed()).await.is_ok()
    }

    /// The same for as long as bytes leave: false once none has left for `patience`.
    pub async fn wait_while_read(&mut self, patience: Duration) -> bool {
        loop {
            let before = self.outflow.bytes();
            if self.wait(patience).await {
                return true;
            }
            if self.outflow.bytes() == before {
                return false;
            }
        }
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
        let (written, flushed) = Flushed::pair();
        self.read(events)?;
        self.write(lines, written)?;
        let hung_up = || bulkhead_sandbox::streams::hung_up(io::stdin());
        Ok((SessionIo { input, output, outflow: flushed.outflow.clone(), hung_up }, flushed))
    }

    #[cfg(target_os = "linux")]
    fn read(self, events: mpsc::Sender<Vec<Event>>) -> io::Result<()> {
        if self.input
            && let Ok(input) = watched::watch(io::stdin(), Interest::READABLE)
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
            && let Ok(output) = watched::watch(io::stdout(), Interest::WRITABLE)
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
