//! Streams as descriptors that are read and written by `read` and `write` alone, which know no address.
//! Trust: a packet of the launcher that does not fit ends the source; descriptors that nobody waits for are closed.

use super::NoStream;
use bulkhead_ipc::{
    codec,
    edge::{
        dialler::{FromDialler, MAX_PACKET, NoStream as Why, ToDialler},
        gateway::CONNECT_MS,
    },
};
use bulkhead_sandbox::{dial, handover, spawn};
use std::{
    cell::RefCell,
    collections::HashMap,
    fs::File,
    io::{self, Read as _, Write as _},
    net::SocketAddr,
    os::fd::{AsFd as _, OwnedFd},
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{Interest, unix::AsyncFd},
    sync::oneshot,
    time::{Instant, sleep, timeout_at},
};

/// Time that connecting may take.
const PATIENCE: Duration = Duration::from_millis(CONNECT_MS as u64);
/// What the launcher's answer may take longer than connecting does.
const SLACK: Duration = Duration::from_millis(300);
/// Time after which a launcher that is busy is asked again.
const AGAIN: Duration = Duration::from_millis(10);

/// A connected stream.
#[derive(Debug)]
pub struct Stream(AsyncFd<File>);

/// Watches a descriptor that is owned and non-blocking.
#[expect(deprecated, reason = "the new form is unsafe for types that do not own what they name; these do")]
pub(crate) fn watch<T: std::os::fd::AsRawFd + Into<OwnedFd>>(inner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(inner, interest)
}

impl Stream {
    fn of(fd: OwnedFd) -> io::Result<Self> {
        Ok(Self(watch(File::from(fd), Interest::READABLE | Interest::WRITABLE)?))
    }

    /// Reads what is there; 0 at the end.
    pub fn poll_read(&self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.0.poll_read_ready(cx))?;
            match guard.try_io(|file| file.get_ref().read(into)) {
                Ok(Err(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok(got) => return Poll::Ready(got),
                Err(_empty) => {}
            }
        }
    }

    /// Writes what there is room for.
    pub fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.0.poll_write_ready(cx))?;
            match guard.try_io(|file| file.get_ref().write(bytes)) {
                Ok(Err(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok(put) => return Poll::Ready(put),
                Err(_full) => {}
            }
        }
    }
}

/// Where streams come from. A clone is the same source.
#[derive(Debug, Clone)]
pub enum Source {
    /// This process dials: a thread of a single process.
    Own(Option<SocketAddr>),
    /// The launcher dials, and is asked over this socket.
    Held(Rc<Held>),
}

/// The launcher, and who waits for its answers.
#[derive(Debug)]
pub struct Held {
    socket: AsyncFd<OwnedFd>,
    waiting: RefCell<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    tickets: u64,
    by_ticket: HashMap<u64, oneshot::Sender<Result<OwnedFd, Why>>>,
}

impl Source {
    /// Streams from the launcher behind `socket`. Needs a runtime, and is made before the jail is on.
    ///
    /// # Errors
    /// When the socket cannot be watched.
    pub fn held(socket: OwnedFd) -> io::Result<Self> {
        spawn::set_nonblocking(&socket)?;
        let socket = watch(socket, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Self::Held(Rc::new(Held { socket, waiting: RefCell::default() })))
    }

    /// A new stream, before `deadline` and within the time that connecting may take.
    ///
    /// # Errors
    /// [`NoStream`].
    pub async fn stream(&self, deadline: Instant) -> Result<Stream, NoStream> {
        let until = deadline.min(Instant::now() + PATIENCE);
        let fd = match self {
            Source::Own(None) => return Err(NoStream::Refused),
            Source::Own(Some(address)) => timeout_at(until, own(*address)).await.map_err(|_| NoStream::Late)?,
            Source::Held(held) => {
                let asked = timeout_at(deadline.min(until + SLACK), held.ask(until)).await;
                asked.map_err(|_| NoStream::Late)?
            }
        };
        Stream::of(fd?).map_err(|_| NoStream::Broken)
    }

    /// Passes on what the launcher says, as long as it says something that fits; never ends for the source's own dials.
    pub async fn serve(&self) -> io::Error {
        let Source::Held(held) = self else { return std::future::pending().await };
        loop {
            if let Err(e) = held.hear().await {
                return e;
            }
        }
    }
}

/// Dials, by the same steps as the launcher.
async fn own(address: SocketAddr) -> Result<OwnedFd, NoStream> {
    let refused = |_| NoStream::Refused;
    let dialling = dial::begin(address).map_err(refused)?;
    let probe = dialling.fd().try_clone_to_owned().map_err(refused)?;
    let watched = watch(probe, Interest::WRITABLE).map_err(refused)?;
    watched.writable().await.map_err(refused)?.retain_ready();
    drop(watched);
    dialling.connected().map_err(refused)
}

impl Held {
    /// Asks until there is an answer other than that too many are asked for.
    async fn ask(&self, until: Instant) -> Result<OwnedFd, NoStream> {
        loop {
            match self.once().await {
                Ok(stream) => return Ok(stream),
                Err(Some(Why::Busy)) if Instant::now() + AGAIN < until => sleep(AGAIN).await,
                Err(Some(Why::Busy | Why::Late)) => return Err(NoStream::Late),
                Err(Some(Why::Refused { .. } | Why::Nowhere)) => return Err(NoStream::Refused),
                Err(None) => return Err(NoStream::Broken),
            }
        }
    }

    /// Asks once; `None` where the launcher is gone.
    async fn once(&self) -> Result<OwnedFd, Option<Why>> {
        let (answer, answered) = oneshot::channel();
        let ticket = {
            let mut waiting = self.waiting.borrow_mut();
            // nobody waits any more for those whose time was over before the launcher's answer came
            waiting.by_ticket.retain(|_, answer| !answer.is_closed());
            waiting.tickets += 1;
            let ticket = waiting.tickets;
            waiting.by_ticket.insert(ticket, answer);
            ticket
        };
        let packet = codec::encode(&ToDialler::Dial { ticket }).map_err(|_| None)?;
        loop {
            let mut guard = self.socket.writable().await.map_err(|_| None)?;
            match guard.try_io(|socket| handover::send(socket.get_ref().as_fd(), &packet, &[])) {
                Ok(Ok(())) => break,
                Ok(Err(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok(Err(_)) => return Err(None),
                Err(_full) => {}
            }
        }
        answered.await.map_err(|_| None)?.map_err(Some)
    }

    async fn hear(&self) -> io::Result<()> {
        let mut packet = [0; MAX_PACKET];
        let mut guard = self.socket.readable().await?;
        let (length, streams) = match guard.try_io(|socket| handover::receive(socket.get_ref().as_fd(), &mut packet, 1))
        {
            Ok(Err(e)) if e.kind() == io::ErrorKind::Interrupted => return Ok(()),
            Ok(received) => received?,
            Err(_empty) => return Ok(()),
        };
        if length == 0 {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the launcher is gone"));
        }
        let (ticket, answer) = match codec::decode(&packet[..length]).map_err(io::Error::other)? {
            FromDialler::Stream { ticket } => {
                let stream = streams.into_iter().next();
                (ticket, Ok(stream.ok_or_else(|| io::Error::other("a stream without a descriptor"))?))
            }
            FromDialler::Failed { ticket, why } => (ticket, Err(why)),
        };
        if let Some(waits) = self.waiting.borrow_mut().by_ticket.remove(&ticket) {
            // where the time was over just now, the stream is closed
            let _ = waits.send(answer);
        }
        Ok(())
    }
}
