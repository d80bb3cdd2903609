//! How a worker is started, spoken to and ended: by the launcher as a process, or on a thread of this process.
//! Trust: what comes over a link is a taken-over peer's; it leaves here as decoded messages, legality not yet checked.

#[cfg(target_os = "linux")]
pub mod launcher;
#[cfg(target_os = "linux")]
mod pipes;
pub mod queues;
#[cfg(target_os = "linux")]
mod stderr;
pub mod threads;
#[cfg(target_os = "linux")]
pub(crate) mod watched;
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "threads have no standard error of their own"))]
mod words;

pub use words::LastWords;

use bulkhead_ipc::{
    Error,
    codec::{decode, encode},
    edge::{
        WorkerKind,
        launcher::StatusOf,
        read::{FromRead, ToRead},
    },
};
use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};
use tokio::sync::mpsc;

/// A future of this thread.
pub type Local<T> = Pin<Box<dyn Future<Output = T>>>;

/// Starts workers. Nothing in the pool depends on which carrier it is.
pub trait Carrier {
    /// Starts a worker of `kind` for `path`. Dropping the future ends what was started.
    fn start(&self, kind: WorkerKind, path: Option<Vec<u8>>) -> Local<Result<Link, StartError>>;

    /// `/proc/PID/status` of a process of the house, or why it cannot be had.
    fn status(&self, of: StatusOf) -> Local<Result<String, String>>;

    /// Ends all workers and waits until they are gone. Bounded by the caller.
    fn close(&self) -> Local<()>;
}

/// Why there is no worker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct StartError {
    /// In our own words, with what to do where something can be done.
    pub why: String,
    /// Nothing is wrong but that workers were started too fast.
    pub too_fast: bool,
    /// There will be none in this server's life.
    pub for_good: bool,
}

impl StartError {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), too_fast: false, for_good: false }
    }

    /// Whoever starts workers is gone.
    pub(crate) fn for_good(why: impl Into<String>) -> Self {
        Self { for_good: true, ..Self::new(why) }
    }
}

/// How a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It left with this code.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
    /// Its thread returned, panicked or was abandoned; or the launcher is gone and took it along.
    Other(&'static str),
}

/// `SIGSYS`: a system call that the jail answers with death.
pub const SIGSYS: i32 = 31;

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Exit(code) => write!(f, "exit code {code}"),
            Ended::Signal(SIGSYS) => {
                write!(f, "signal {SIGSYS} (SIGSYS: it tried a system call that its jail forbids)")
            }
            Ended::Signal(signal) => write!(f, "signal {signal}"),
            Ended::Other(how) => f.write_str(how),
        }
    }
}

/// Whether the worker was at work when it was told to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It had nothing to do: a thread returns by itself when its channel closes.
    Dismiss,
    /// It is at work and does not listen: a thread is abandoned.
    Kill,
}

/// Frames to and from one worker. Nothing blocks, and dropping a poll loses nothing.
pub trait Wire {
    /// Queues one frame; it leaves while frames are polled for.
    ///
    /// # Errors
    /// When the worker does not read and too much waits for it.
    fn post(&mut self, body: Vec<u8>) -> Result<(), Error>;

    /// The next frame; `None` when the worker closed its end between frames.
    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>, Error>>;

    /// Whether a frame of the greatest length can be queued now. Where it cannot, polling for frames makes room, and wakes
    /// when there is some.
    fn has_room(&self) -> bool;

    /// True where a frame, or the rest of one, found the worker's end closed: the worker has never read all of it.
    fn is_unheard(&self) -> bool;
}

/// A live worker as its carrier hands it out. Dropping it ends the worker.
pub struct Link {
    name: String,
    pid: Option<i32>,
    wire: Box<dyn Wire>,
    endings: mpsc::Receiver<Ended>,
    ended: Option<Ended>,
    end: Box<dyn Fn(Ending)>,
    words: Rc<LastWords>,
}

impl Link {
    /// `endings` yields how the worker ended, once; `end` may be called more than once and after the end.
    #[must_use]
    pub fn new(
        name: String,
        pid: Option<i32>,
        wire: impl Wire + 'static,
        endings: mpsc::Receiver<Ended>,
        end: impl Fn(Ending) + 'static,
        words: Rc<LastWords>,
    ) -> Self {
        Self { name, pid, wire: Box::new(wire), endings, ended: None, end: Box::new(end), words }
    }

    /// What the log calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its process id, where it is a process.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }

    /// The last lines of its standard error, for our own log only.
    #[must_use]
    pub fn last_words(&self) -> &LastWords {
        &self.words
    }

    /// Queues one message; it leaves while [`Link::next`] is awaited.
    ///
    /// # Errors
    /// Those of the codec, and a queue that is full because the worker does not listen.
    pub fn post(&mut self, message: &ToRead) -> Result<(), Error> {
        self.wire.post(encode(message)?)
    }

    /// Queues one encoded message of an edge other than worker-read's; as [`Link::post`].
    ///
    /// # Errors
    /// As [`Link::post`].
    pub fn post_frame(&mut self, body: Vec<u8>) -> Result<(), Error> {
        self.wire.post(body)
    }

    /// Posts what `further` gives, as there is room, while the next message is waited for: as [`Link::next_frame`], for one
    /// who has more to say than a wire holds. May be dropped and called again.
    ///
    /// # Errors
    /// As [`Link::post`] and [`Link::next_frame`].
    pub async fn frame_while_posting(
        &mut self,
        mut further: impl FnMut() -> Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, Error> {
        poll_fn(|cx| {
            loop {
                while self.wire.has_room()
                    && let Some(body) = further()
                {
                    self.wire.post(body)?;
                }
                // where there is room still, nothing more is to be said
                let is_full = !self.wire.has_room();
                let heard = self.wire.poll_frame(cx);
                // where polling made room, no readiness wakes us for it: what is to be said would wait for ever
                if heard.is_ready() || !is_full || !self.wire.has_room() {
                    return heard;
                }
            }
        })
        .await
    }

    /// The next message, not decoded; `None` when the worker closed its end. May be dropped and called again.
    ///
    /// # Errors
    /// Those of frames, and of the pipe.
    pub async fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Error> {
        poll_fn(|cx| self.wire.poll_frame(cx)).await
    }

    /// The next message, decoded; `None` when the worker closed its end. May be dropped and called again.
    ///
    /// # Errors
    /// Those of frames and codec, and of the pipe.
    pub async fn next(&mut self) -> Result<Option<FromRead>, Error> {
        self.next_frame().await?.map(|body| decode(&body)).transpose()
    }

    /// True where the last message came too late for the worker to read all of it: it had ended before.
    #[must_use]
    pub fn is_unheard(&self) -> bool {
        self.wire.is_unheard()
    }

    /// True until [`Link::ended`] has told the end.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.ended.is_none()
    }

    /// Ends the worker; at once where it is a process.
    pub fn end(&self, ending: Ending) {
        (self.end)(ending);
    }

    /// How the worker ended; waits until it has. May be dropped and called again.
    pub async fn ended(&mut self) -> Ended {
        if self.ended.is_none() {
            let ended = self.endings.recv().await;
            self.ended = Some(ended.unwrap_or(Ended::Other("the launcher that held it is gone")));
        }
        self.ended.clone().expect("set above")
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if self.ended.is_none() {
            (self.end)(Ending::Kill);
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{cell::RefCell, collections::VecDeque, pin::pin, task::Waker};

    /// Takes one frame at a time, sends it when it is polled, and wakes nobody.
    #[derive(Default)]
    struct Narrow {
        held: Option<Vec<u8>>,
        sent: Rc<RefCell<Vec<Vec<u8>>>>,
    }

    impl Wire for Narrow {
        fn post(&mut self, body: Vec<u8>) -> Result<(), Error> {
            assert!(self.held.replace(body).is_none(), "posted without room");
            Ok(())
        }

        fn poll_frame(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>, Error>> {
            self.sent.borrow_mut().extend(self.held.take());
            Poll::Pending
        }

        fn has_room(&self) -> bool {
            self.held.is_none()
        }

        fn is_unheard(&self) -> bool {
            false
        }
    }

    #[test]
    fn room_that_polling_makes_is_used_though_nobody_wakes_for_it() {
        for before in [None, Some(vec![0])] {
            let wire = Narrow { held: before.clone(), ..Narrow::default() };
            let sent = Rc::clone(&wire.sent);
            let words = Rc::new(LastWords::default());
            let mut link = Link::new("narrow".to_owned(), None, wire, mpsc::channel(1).1, |_| (), words);
            let mut more: VecDeque<Vec<u8>> = (1..=3).map(|n| vec![n]).collect();
            let expected: Vec<Vec<u8>> = before.into_iter().chain(more.iter().cloned()).collect();
            let hearing = pin!(link.frame_while_posting(|| more.pop_front()));
            assert!(hearing.poll(&mut Context::from_waker(Waker::noop())).is_pending());
            assert_eq!(*sent.borrow(), expected);
        }
    }
}
