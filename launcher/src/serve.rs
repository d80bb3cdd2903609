//! The launcher's loop: requests of the supervisor in, workers and their ends out.
//! Trust: every packet may come from a taken-over supervisor; whatever is not one of the three small requests ends it all.

use crate::{
    Table,
    dialler::{self, Dialler},
    ledger::{Holder, Over},
    outbox::Outbox,
    rate::Rate,
};
use bulkhead_ipc::{
    codec,
    edge::{
        WorkerKind,
        launcher::{
            CLOSED_GATE, End, FromLauncher, MAX_PACKET, MAX_SPAWN_PATH, MAX_STATUS, StatusOf, TOO_FAST, ToLauncher,
        },
    },
};
use bulkhead_sandbox::{
    children::{self, Deaths, Ended},
    fork::{self, Forked},
    handover,
    image::Image,
    jail,
    spawn::{self, SpawnError},
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::parent_id,
    },
    time::{Duration, Instant},
};

/// Workers that live at the same time. A request beyond it is a violation: the supervisor counts a worker from its
/// request until it has heard [`FromLauncher::Ended`].
pub const MAX_CHILDREN: usize = 32;
/// Exit code after a request that is not legal.
pub const EXIT_VIOLATION: i32 = 80;
/// Exit code when the socket or the watch over the children failed.
pub const EXIT_BROKEN: i32 = 81;
/// How long the launcher waits for killed workers before it leaves them to the kernel.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// Forks the launcher; call it before the first thread exists and before standard input is read. The caller becomes
/// the supervisor.
///
/// # Errors
/// When the own executable cannot be held, or the fork fails.
pub fn start(table: Table) -> io::Result<Forked> {
    let image = Image::hold()?;
    fork::launcher(move |socket| serve(socket, image, table))
}

/// Serves the supervisor at the other end of `socket` until it closes it; all workers have ended after that. The
/// result is the exit code: 0, [`EXIT_VIOLATION`] or [`EXIT_BROKEN`].
#[must_use]
pub fn serve(socket: OwnedFd, image: Image, table: Table) -> i32 {
    // what is missing here is seen by the supervisor, which asks for the status of this process
    let _ = jail::launcher::launcher(table.empty_roots());
    // a worker that writes starts programs, which must not go on when it is gone; on a kernel that cannot, none of them is
    // ours to end, and they end by the loss of their streams
    let _ = children::take_in_orphans();
    let end = match Launcher::new(socket, image, table) {
        Ok(mut launcher) => {
            let end = launcher.run();
            launcher.end_children();
            end
        }
        Err(e) => Stop::Broken(e),
    };
    let (code, why) = match end {
        Stop::Closed => return 0,
        Stop::Violation(why) => (EXIT_VIOLATION, why),
        Stop::Broken(e) => (EXIT_BROKEN, e.to_string()),
    };
    // a closed standard error is no reason to panic
    let _ = writeln!(io::stderr(), "bulkhead launcher: {why}; all workers were ended");
    code
}

/// Why the loop ends.
enum Stop {
    Closed,
    Violation(String),
    Broken(io::Error),
}

impl From<io::Error> for Stop {
    fn from(e: io::Error) -> Self {
        match e.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Stop::Closed,
            _ => Stop::Broken(e),
        }
    }
}

impl From<Errno> for Stop {
    fn from(e: Errno) -> Self {
        Stop::Broken(e.into())
    }
}

/// What serves a worker from here, over a socket of its own.
enum Peer {
    None,
    Holder(Box<Holder>),
    Dialler(Box<Dialler>),
}

struct Launcher {
    socket: OwnedFd,
    image: Image,
    table: Table,
    deaths: Deaths,
    /// Announced and not yet reaped: their process ids cannot have been given to anyone else.
    children: BTreeSet<i32>,
    outbox: Outbox,
    rate: Rate,
    /// The one worker-audit, and what is held for it until it closes its end.
    auditor: Option<(i32, Option<Holder>)>,
    /// The one worker-gateway, and what dials for it until it closes its end.
    caller: Option<(i32, Option<Dialler>)>,
    supervisor: u32,
    packet: Vec<u8>,
}

impl Launcher {
    fn new(socket: OwnedFd, image: Image, table: Table) -> io::Result<Self> {
        spawn::set_nonblocking(&socket)?;
        Ok(Self {
            socket,
            image,
            table,
            deaths: Deaths::watch()?,
            children: BTreeSet::new(),
            outbox: Outbox::default(),
            rate: Rate::new(Instant::now()),
            auditor: None,
            caller: None,
            supervisor: parent_id(),
            packet: vec![0; MAX_PACKET],
        })
    }

    fn run(&mut self) -> Stop {
        loop {
            if let Err(stop) = self.turn() {
                return stop;
            }
        }
    }

    fn turn(&mut self) -> Result<(), Stop> {
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::POLLIN, !self.outbox.is_full());
        wanted.set(PollFlags::POLLOUT, !self.outbox.is_empty());
        let mut fds = vec![PollFd::new(self.socket.as_fd(), wanted), PollFd::new(self.deaths.fd(), PollFlags::POLLIN)];
        let holder = self.auditor.as_ref().and_then(|(_, holder)| holder.as_ref());
        fds.extend(holder.map(|holder| PollFd::new(holder.fd(), PollFlags::POLLIN)));
        let with_holder = fds.len();
        let calls = self.caller.as_ref().and_then(|(_, dialler)| dialler.as_ref()).map(Dialler::wanted);
        let mut timeout = PollTimeout::NONE;
        if let Some(calls) = &calls {
            let requests = calls.requests.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
            fds.extend(requests.or(calls.answers.map(|fd| PollFd::new(fd, PollFlags::POLLOUT))));
            fds.extend(calls.dials.iter().map(|fd| PollFd::new(*fd, PollFlags::POLLOUT)));
            if let Some(until) = calls.until {
                // rounded up, so that it is over when the wait is
                let left = until.saturating_duration_since(Instant::now()) + Duration::from_millis(1);
                timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            }
        }
        match poll(&mut fds, timeout) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(()),
            Err(e) => return Err(e.into()),
        }
        let seen = |at: usize| fds.get(at).map_or(PollFlags::empty(), |fd| fd.revents().unwrap_or(PollFlags::all()));
        let (socket, deaths) = (seen(0), seen(1));
        let holder = if with_holder > 2 { seen(2) } else { PollFlags::empty() };
        let called = calls.map(|calls| {
            let heard = !seen(with_holder).is_empty() && calls.requests.is_some();
            let ready: Vec<bool> = (1..=calls.dials.len()).map(|at| !seen(with_holder + at).is_empty()).collect();
            (heard, ready)
        });
        if !holder.is_empty() {
            self.hold()?;
        }
        if let Some((heard, ready)) = called {
            self.dial(heard, &ready)?;
        }
        if !deaths.is_empty() {
            self.reap()?;
        }
        if socket.intersects(PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL) {
            return Err(Stop::Closed);
        }
        if socket.contains(PollFlags::POLLIN) {
            self.hear()?;
        }
        Ok(self.outbox.flush(self.socket.as_fd())?)
    }

    fn reap(&mut self) -> Result<(), Stop> {
        let dead = self.deaths.drain();
        // before anybody hears that the worker is gone: the next one may work where its programs did
        let gone = |pid: i32| dead.iter().any(|(dead, _)| *dead == pid);
        children::end_strays(|pid| self.children.contains(&pid) && !gone(pid));
        for (pid, ended) in dead {
            if self.auditor.as_ref().is_some_and(|(auditor, _)| *auditor == pid) {
                self.auditor = None;
            }
            if self.caller.as_ref().is_some_and(|(caller, _)| *caller == pid) {
                self.caller = None;
            }
            // one that was never announced ended while it was being set up; its asker has heard `SpawnFailed`
            if self.children.remove(&pid) {
                let end = match ended {
                    Ended::Exit(code) => End::Exit(code),
                    Ended::Signal(signal) => End::Signal(signal),
                };
                self.say(&FromLauncher::Ended { pid, end }, Vec::new())?;
            }
        }
        Ok(())
    }

    fn hear(&mut self) -> Result<(), Stop> {
        let len = match handover::receive(self.socket.as_fd(), &mut self.packet, 0) {
            Ok((0, _)) => return Err(Stop::Closed),
            Ok((len, _)) => len,
            Err(e) => match e.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => return Ok(()),
                io::ErrorKind::InvalidData => return Err(Stop::Violation(format!("a packet of the supervisor: {e}"))),
                _ => return Err(e.into()),
            },
        };
        let request = codec::decode(&self.packet[..len])
            .map_err(|e| Stop::Violation(format!("a packet of the supervisor: {e}")))?;
        match request {
            ToLauncher::Spawn { ticket, kind, path } => self.spawn(ticket, kind, path),
            ToLauncher::Kill { pid } if pid <= 0 => Err(Stop::Violation(format!("a kill of {pid}"))),
            ToLauncher::Kill { pid } => self.kill(pid),
            ToLauncher::Status { ticket, of } => {
                let text = self.status(of).unwrap_or_default();
                self.say(&FromLauncher::Status { ticket, text }, Vec::new())
            }
        }
    }

    fn spawn(&mut self, ticket: u32, kind: WorkerKind, path: Option<Vec<u8>>) -> Result<(), Stop> {
        if let Some(len) = path.as_ref().map(Vec::len).filter(|len| *len > MAX_SPAWN_PATH) {
            return Err(Stop::Violation(format!("a path of {len} bytes")));
        }
        if !kind.takes_a_path() && path.is_some() {
            return Err(Stop::Violation(format!("a path for a worker-{}", kind.name())));
        }
        if self.children.len() >= MAX_CHILDREN {
            return Err(Stop::Violation(format!("a worker beyond the {MAX_CHILDREN} that may live")));
        }
        let started = if kind.writes() && !self.table.writes() {
            // the gate is closed: nothing that a supervisor says opens it
            Err(SpawnError { step: CLOSED_GATE, errno: Errno::EPERM as i32 })
        } else if self.rate.take(Instant::now()) {
            self.start_worker(kind, path)
        } else {
            Err(SpawnError { step: TOO_FAST, errno: Errno::EAGAIN as i32 })
        };
        match started {
            Ok((pid, ends)) => {
                self.children.insert(pid);
                self.say(&FromLauncher::Spawned { ticket, pid }, ends.into())
            }
            Err(SpawnError { step, errno }) => {
                self.say(&FromLauncher::SpawnFailed { ticket, errno, step: step.to_owned() }, Vec::new())
            }
        }
    }

    /// A running worker whose pipe holds its first frame, and our three ends in the order of [`FromLauncher::Spawned`].
    fn start_worker(&mut self, kind: WorkerKind, path: Option<Vec<u8>>) -> Result<(i32, [OwnedFd; 3]), SpawnError> {
        let frame = self
            .table
            .first_frame(kind, path)
            .map_err(|_| SpawnError { step: "first frame", errno: Errno::EMSGSIZE as i32 })?;
        let (peer, theirs) = self.peer(kind)?;
        let child = spawn::worker(&self.image, kind.name(), theirs.as_ref().map(AsFd::as_fd))?;
        drop(theirs);
        match peer {
            Peer::None => {}
            Peer::Holder(holder) => self.auditor = Some((child.pid, Some(*holder))),
            Peer::Dialler(dialler) => self.caller = Some((child.pid, Some(*dialler))),
        }
        match fill(&child, &frame) {
            Ok(()) => Ok((child.pid, [child.requests, child.answers, child.stderr])),
            Err(e) => {
                // not announced; it is reaped with the others, and nothing is said about it again
                let _ = children::kill_child(child.pid);
                Err(SpawnError { step: "first frame", errno: e.raw_os_error().unwrap_or(Errno::EIO as i32) })
            }
        }
    }

    /// What serves a worker of this kind from here, and its end of the socket to that. There is one of each at a time.
    fn peer(&self, kind: WorkerKind) -> Result<(Peer, Option<OwnedFd>), SpawnError> {
        let (step, taken) = match kind {
            WorkerKind::Audit => ("socket of the ledger", self.auditor.is_some()),
            WorkerKind::Gateway => ("socket of the gateway", self.caller.is_some()),
            WorkerKind::Read
            | WorkerKind::Agents
            | WorkerKind::Note
            | WorkerKind::Syntax
            | WorkerKind::Write
            | WorkerKind::WriteNet => {
                return Ok((Peer::None, None));
            }
        };
        if taken {
            return Err(SpawnError { step, errno: Errno::EBUSY as i32 });
        }
        let failed = |e: io::Error| SpawnError { step, errno: e.raw_os_error().unwrap_or(Errno::EIO as i32) };
        let (ours, theirs) = handover::pair().map_err(failed)?;
        let peer = if kind == WorkerKind::Audit {
            Holder::new(ours, self.table.ledger()).map(|holder| Peer::Holder(Box::new(holder)))
        } else {
            Dialler::new(ours, self.table.gateway(), Instant::now()).map(|dialler| Peer::Dialler(Box::new(dialler)))
        };
        Ok((peer.map_err(failed)?, Some(theirs)))
    }

    /// Answers what the worker-audit asks; ends it where it does not keep to the edge.
    fn hold(&mut self) -> Result<(), Stop> {
        let Some((pid, held)) = &mut self.auditor else { return Ok(()) };
        let Some(Err(over)) = held.as_mut().map(Holder::serve) else { return Ok(()) };
        *held = None;
        if over == Over::Broken {
            children::kill_child(*pid)?;
        }
        Ok(())
    }

    /// Dials for the worker-gateway; ends it where it does not keep to the edge.
    fn dial(&mut self, heard: bool, ready: &[bool]) -> Result<(), Stop> {
        let Some((pid, calls)) = &mut self.caller else { return Ok(()) };
        let turned = calls.as_mut().map(|dialler| dialler.turn(heard, ready, Instant::now()));
        let Some(Err(over)) = turned else { return Ok(()) };
        *calls = None;
        if over == dialler::Over::Broken {
            children::kill_child(*pid)?;
        }
        Ok(())
    }

    fn kill(&self, pid: i32) -> Result<(), Stop> {
        if self.children.contains(&pid) {
            children::kill_child(pid)?;
        }
        Ok(())
    }

    fn status(&self, of: StatusOf) -> Option<Vec<u8>> {
        let whose = match of {
            StatusOf::Worker { pid } => self.children.get(&pid)?.to_string(),
            StatusOf::Launcher => "self".to_owned(),
            StatusOf::Supervisor if parent_id() == self.supervisor => self.supervisor.to_string(),
            StatusOf::Supervisor => return None,
        };
        let mut text = Vec::new();
        File::open(format!("/proc/{whose}/status")).ok()?.take(MAX_STATUS as u64).read_to_end(&mut text).ok()?;
        Some(text)
    }

    fn say(&mut self, message: &FromLauncher, descriptors: Vec<OwnedFd>) -> Result<(), Stop> {
        self.outbox.put(message, descriptors).map_err(|e| Stop::Broken(io::Error::other(e)))
    }

    /// Kills every worker and waits until they are gone, so that none outlives the launcher.
    fn end_children(&mut self) {
        for pid in &self.children {
            let _ = children::kill_child(*pid);
        }
        let deadline = Instant::now() + LAST_WAIT;
        loop {
            for (pid, _) in self.deaths.drain() {
                self.children.remove(&pid);
            }
            let strays = children::end_strays(|pid| self.children.contains(&pid));
            let left = deadline.saturating_duration_since(Instant::now());
            if self.children.is_empty() && strays == 0 || left.is_zero() {
                break;
            }
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO);
            let _ = poll(&mut [PollFd::new(self.deaths.fd(), PollFlags::POLLIN)], timeout);
        }
    }
}

/// Makes our ends non-blocking and puts the first frame into the pipe. A pipe of less than its usual 64 KiB (the user
/// has too many) makes this fail; it must not block, since the worker may never read.
fn fill(child: &spawn::Child, frame: &[u8]) -> io::Result<()> {
    for end in [&child.requests, &child.answers, &child.stderr] {
        spawn::set_nonblocking(end)?;
    }
    // a worker that is already gone answers EPIPE: the runtime ignores SIGPIPE in this process
    File::from(child.requests.try_clone()?).write_all(frame)
}
