//! Starts the processes that the probes run in, hears what they say, and sees how they end.
//! Trust: what runs there may hang, die or answer nonsense; every wait has a deadline.

use crate::{subject, world::Job};
use bulkhead_ipc::{
    codec,
    edge::{
        Inits, WorkerKind,
        agents::{Store, StoreAt},
        launcher::{End, FromLauncher, MAX_PACKET, StatusOf, ToLauncher},
    },
    frame,
};
use bulkhead_launcher::Table;
use bulkhead_sandbox::{fork::Forked, handover};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::{
    fs::File,
    io::{self, Read, Write},
    net::Ipv4Addr,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::process::ExitStatusExt,
    },
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Far longer than anything here takes.
const DEADLINE: Duration = Duration::from_secs(20);
/// How long to wait before asking again when the launcher says that it has started too many.
const PAUSE: Duration = Duration::from_millis(50);

/// What became of one process.
pub struct Heard {
    /// Its frames as text.
    pub said: Vec<String>,
    /// How it ended; `None` when it had to be killed at the deadline.
    pub end: Option<End>,
    /// Its standard error.
    pub errors: String,
}

fn ready(fd: BorrowedFd<'_>, until: Instant) -> io::Result<bool> {
    let left = until.saturating_duration_since(Instant::now());
    let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
    Ok(poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], timeout)? > 0)
}

/// Everything that comes until the end of the stream; false at the deadline.
fn drain(stream: &mut (impl Read + AsFd), into: &mut Vec<u8>) -> io::Result<bool> {
    let until = Instant::now() + DEADLINE;
    let mut piece = [0; 4096];
    while ready(stream.as_fd(), until)? {
        match stream.read(&mut piece) {
            Ok(0) => return Ok(true),
            Ok(n) => into.extend_from_slice(&piece[..n]),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
    Ok(false)
}

fn frames(bytes: &[u8]) -> Vec<String> {
    let mut rest = bytes;
    let mut said = Vec::new();
    while let Ok(Some(body)) = frame::read(&mut rest) {
        said.push(String::from_utf8_lossy(&body).into_owned());
    }
    said
}

/// Runs this program in a role that no launcher starts.
pub fn started(role: &str, job: &Job) -> io::Result<Heard> {
    let mut child = Command::new("/proc/self/exe")
        .arg(role)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(mut stdin), Some(mut stdout), Some(mut stderr)) = (stdin, stdout, stderr) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    stdin.write_all(&frame::with_length(job.to_text().as_bytes()).map_err(io::Error::other)?)?;
    drop(stdin);
    let (mut said, mut errors) = (Vec::new(), Vec::new());
    let whole = drain(&mut stdout, &mut said)?;
    if !whole {
        child.kill()?;
    }
    let status = child.wait()?;
    drain(&mut stderr, &mut errors)?;
    let end = match (status.code(), status.signal()) {
        (Some(code), _) => End::Exit(code),
        (None, signal) => End::Signal(signal.unwrap_or(0)),
    };
    let errors = String::from_utf8_lossy(&errors).into_owned();
    Ok(Heard { said: frames(&said), end: whole.then_some(end), errors })
}

/// A real launcher, with workers of this program.
pub struct Launcher {
    forked: Forked,
    /// Which workers it starts.
    kind: WorkerKind,
    /// What they are for, where they are for a path.
    repository: Option<String>,
}

struct Worker {
    pid: i32,
    requests: File,
    answers: File,
    stderr: File,
}

impl Launcher {
    /// Must come before any thread.
    pub fn start(ceiling: &str, repository: &str, empty_root: bool) -> io::Result<Self> {
        let inits = subject::inits(subject::init(ceiling, None, empty_root));
        Self::told(inits, WorkerKind::Read, Some(repository))
    }

    /// The same with workers for the run directory `run_dir`.
    pub fn start_for_records(ceiling: &str, run_dir: &str) -> io::Result<Self> {
        let inits = subject::inits(subject::init(ceiling, Some(run_dir), false));
        Self::told(inits, WorkerKind::Read, Some(run_dir))
    }

    /// The same with workers that record.
    pub fn start_for_audit(ceiling: &str) -> io::Result<Self> {
        Self::told(subject::inits(subject::init(ceiling, None, false)), WorkerKind::Audit, None)
    }

    /// The same with workers that look for agents, in the store `store`.
    pub fn start_for_agents(ceiling: &str, store: &str) -> io::Result<Self> {
        let mut inits = subject::inits(subject::init(ceiling, None, false));
        inits.agents.stores = vec![StoreAt { store: Store::AmpThreads, path: store.as_bytes().to_vec() }];
        Self::told(inits, WorkerKind::Agents, None)
    }

    /// The same with workers that keep a note in the directory `dir`.
    pub fn start_for_note(ceiling: &str, dir: &str) -> io::Result<Self> {
        let mut inits = subject::inits(subject::init(ceiling, None, false));
        inits.note.dir = Some(dir.as_bytes().to_vec());
        Self::told(inits, WorkerKind::Note, None)
    }

    /// The same with workers that talk to whoever listens at this port.
    pub fn start_for_gateway(ceiling: &str, port: u16) -> io::Result<Self> {
        let mut inits = subject::inits(subject::init(ceiling, None, false));
        inits.gateway.address = Some((Ipv4Addr::LOCALHOST, port).into());
        Self::told(inits, WorkerKind::Gateway, None)
    }

    /// The same with workers that parse.
    pub fn start_for_syntax(ceiling: &str) -> io::Result<Self> {
        Self::told(subject::inits(subject::init(ceiling, None, false)), WorkerKind::Syntax, None)
    }

    /// The same with workers that write in `repository`; with `network`, they may connect to `port`.
    pub fn start_for_writes(ceiling: &str, repository: &str, port: u16, network: bool) -> io::Result<Self> {
        let mut inits = subject::inits(subject::init(ceiling, None, false));
        inits.write = subject::write_init(ceiling, repository, port);
        Self::told(inits, if network { WorkerKind::WriteNet } else { WorkerKind::Write }, None)
    }

    /// The same with workers that write there and run hooks.
    pub fn start_for_hooks(ceiling: &str, repository: &str) -> io::Result<Self> {
        let mut inits = subject::inits(subject::init(ceiling, None, false));
        inits.write = subject::hooks_init(ceiling, repository);
        Self::told(inits, WorkerKind::Write, None)
    }

    fn told(inits: Inits, kind: WorkerKind, path: Option<&str>) -> io::Result<Self> {
        let table = Table::new(inits).map_err(io::Error::other)?;
        Ok(Self { forked: bulkhead_launcher::start(table)?, kind, repository: path.map(str::to_owned) })
    }

    fn ask(&self, request: &ToLauncher) -> io::Result<()> {
        let packet = codec::encode(request).map_err(io::Error::other)?;
        handover::send(self.forked.socket.as_fd(), &packet, &[])
    }

    fn hear(&self) -> io::Result<(FromLauncher, Vec<OwnedFd>)> {
        let socket = self.forked.socket.as_fd();
        if !ready(socket, Instant::now() + DEADLINE)? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut packet = vec![0; MAX_PACKET];
        let (len, fds) = handover::receive(socket, &mut packet, 3)?;
        Ok((codec::decode(&packet[..len]).map_err(io::Error::other)?, fds))
    }

    fn spawn(&self) -> io::Result<Worker> {
        loop {
            let path = self.repository.clone().map(String::into_bytes);
            self.ask(&ToLauncher::Spawn { ticket: 1, kind: self.kind, path })?;
            match self.hear()? {
                (FromLauncher::Spawned { pid, .. }, fds) => {
                    let fds = <[OwnedFd; 3]>::try_from(fds).map_err(|_| io::Error::other("no descriptors"))?;
                    let [requests, answers, stderr] = fds.map(File::from);
                    return Ok(Worker { pid, requests, answers, stderr });
                }
                // its answer to too many in a second; nothing else comes meanwhile
                (FromLauncher::SpawnFailed { step, .. }, _) if step == "rate" => {
                    ready(self.forked.socket.as_fd(), Instant::now() + PAUSE)?;
                }
                (other, _) => return Err(io::Error::other(format!("{other:?}"))),
            }
        }
    }

    /// Runs one job in a fresh worker.
    pub fn run(&self, job: &Job) -> io::Result<Heard> {
        let mut worker = self.spawn()?;
        worker.requests.write_all(&frame::with_length(job.to_text().as_bytes()).map_err(io::Error::other)?)?;
        self.finish(worker)
    }

    /// The status of a worker in its finished jail, as the supervisor would see it.
    pub fn look(&self, job: &Job) -> io::Result<(String, Heard)> {
        let mut worker = self.spawn()?;
        worker.requests.write_all(&frame::with_length(job.to_text().as_bytes()).map_err(io::Error::other)?)?;
        // its first words come when the jail is on
        ready(worker.answers.as_fd(), Instant::now() + DEADLINE)?;
        self.ask(&ToLauncher::Status { ticket: 2, of: StatusOf::Worker { pid: worker.pid } })?;
        let status = match self.hear()?.0 {
            FromLauncher::Status { text, .. } => String::from_utf8_lossy(&text).into_owned(),
            other => return Err(io::Error::other(format!("{other:?}"))),
        };
        Ok((status, self.finish(worker)?))
    }

    fn finish(&self, mut worker: Worker) -> io::Result<Heard> {
        drop(worker.requests);
        let (mut said, mut errors) = (Vec::new(), Vec::new());
        let whole = drain(&mut worker.answers, &mut said)?;
        if !whole {
            self.ask(&ToLauncher::Kill { pid: worker.pid })?;
        }
        let end = match self.hear()?.0 {
            FromLauncher::Ended { pid, end } if pid == worker.pid => end,
            other => return Err(io::Error::other(format!("{other:?}"))),
        };
        drain(&mut worker.stderr, &mut errors)?;
        let errors = String::from_utf8_lossy(&errors).into_owned();
        Ok(Heard { said: frames(&said), end: whole.then_some(end), errors })
    }
}
