//! The supervisor's side of the socket, blocking with a deadline.
//! Trust: part of the tests.

use bulkhead_contract::isolation::Demand;
use bulkhead_ipc::{
    codec,
    edge::{
        Inits, WorkerKind, agents, audit, gateway,
        launcher::{FromLauncher, MAX_PACKET, ToLauncher},
        note,
        read::{Init, OwnerTrust, ToRead},
        syntax, write,
    },
    frame,
};
use bulkhead_launcher::Table;
use bulkhead_sandbox::{
    children::{Deaths, Ended},
    fork::Forked,
    handover,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::{
    fs::File,
    io::{self, Read},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

/// Far longer than anything here takes.
const DEADLINE: Duration = Duration::from_secs(30);

/// What every worker of these tests is told.
pub fn init() -> Init {
    Init {
        demand: Demand::Required,
        empty_root: false,
        ceilings: vec![b"/one".to_vec(), b"/two".to_vec()],
        run_dirs: Vec::new(),
        path: None,
        trust: OwnerTrust { any: false, uids: vec![7] },
        home: Some(b"/home/someone".to_vec()),
        xdg_config_home: None,
        memory: 1 << 28,
        threads: 1,
    }
}

/// What every worker-audit of these tests is told.
pub fn audit_init() -> audit::Init {
    audit::Init { demand: Demand::Required, ledger: None, sign_key: None, compat: false, memory: 1 << 28 }
}

/// What every worker of these tests is told.
pub fn inits() -> Inits {
    let (stores, presence) = (Vec::new(), Vec::new());
    let agents = agents::Init { demand: Demand::Required, stores, presence, pid: 1, memory: 1 << 28 };
    let note = note::Init { demand: Demand::Required, dir: None, pid: 1, memory: 1 << 28 };
    let syntax = syntax::Init { demand: Demand::Required, memory: 1 << 28 };
    let gateway = gateway::Init { demand: Demand::Required, address: None, token: None, memory: 1 << 28 };
    let write = write::Init::closed(Demand::Required);
    Inits { read: init(), audit: audit_init(), agents, note, gateway, syntax, write }
}

/// A running launcher.
pub struct Side {
    forked: Forked,
    deaths: Deaths,
}

/// A worker that the launcher handed over.
pub struct Worker {
    pub pid: i32,
    pub requests: File,
    pub answers: File,
    pub stderr: File,
}

fn ready(fd: BorrowedFd<'_>, flags: PollFlags) {
    let timeout = PollTimeout::try_from(DEADLINE).expect("a short time");
    let mut fds = [PollFd::new(fd, flags)];
    assert_ne!(poll(&mut fds, timeout).expect("poll"), 0, "nothing came within {DEADLINE:?}");
}

impl Side {
    pub fn start() -> Self {
        let forked = bulkhead_launcher::start(Table::new(inits()).expect("short")).expect("fork");
        // after the fork: what the launcher does for itself must not be done for it here
        Self { forked, deaths: Deaths::watch().expect("signalfd") }
    }

    pub fn launcher_pid(&self) -> i32 {
        self.forked.pid
    }

    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        handover::send(self.forked.socket.as_fd(), packet, &[])
    }

    pub fn ask(&self, request: &ToLauncher) {
        self.send(&codec::encode(request).expect("small")).expect("the socket has room");
    }

    pub fn hear(&self) -> (FromLauncher, Vec<OwnedFd>) {
        let socket = self.forked.socket.as_fd();
        ready(socket, PollFlags::POLLIN);
        let mut packet = vec![0; MAX_PACKET];
        let (len, fds) = handover::receive(socket, &mut packet, 3).expect("a packet");
        assert_ne!(len, 0, "the launcher closed its end");
        (codec::decode(&packet[..len]).expect("the launcher is honest"), fds)
    }

    /// Starts a worker and checks the order and kind of what is handed over.
    pub fn spawn(&self, ticket: u32, path: Option<&[u8]>) -> Worker {
        self.ask(&ToLauncher::Spawn { ticket, kind: WorkerKind::Read, path: path.map(<[u8]>::to_vec) });
        let (FromLauncher::Spawned { ticket: same, pid }, fds) = self.hear() else { panic!("not spawned") };
        assert_eq!(same, ticket);
        let [requests, answers, stderr] = <[OwnedFd; 3]>::try_from(fds).expect("three descriptors").map(File::from);
        Worker { pid, requests, answers, stderr }
    }

    /// Closes the socket and gives the launcher's exit code.
    pub fn close(self) -> Ended {
        let Self { forked: Forked { socket, pid, .. }, deaths } = self;
        drop(socket);
        wait(deaths, pid)
    }

    /// The launcher's exit code, with the socket still open.
    pub fn ended(self) -> Ended {
        wait(self.deaths, self.forked.pid)
    }
}

fn wait(mut deaths: Deaths, pid: i32) -> Ended {
    let deadline = Instant::now() + DEADLINE;
    while Instant::now() < deadline {
        if let Some((_, ended)) = deaths.drain().into_iter().find(|(who, _)| *who == pid) {
            return ended;
        }
        ready(deaths.fd(), PollFlags::POLLIN);
    }
    panic!("the launcher did not end");
}

impl Worker {
    /// One word there, one frame back.
    pub fn ask(&mut self, word: &[u8]) -> Vec<u8> {
        self.say(word);
        self.answer()
    }

    pub fn say(&mut self, word: &[u8]) {
        frame::write(&mut self.requests, word).expect("the pipe has room");
    }

    pub fn answer(&mut self) -> Vec<u8> {
        frame::read(&mut Patient(&self.answers)).expect("whole").expect("an answer")
    }

    /// What the worker was told first; this worker says it back.
    pub fn init(&mut self) -> Init {
        match codec::decode(&self.answer()).expect("the launcher's own frame") {
            ToRead::Init(init) => *init,
            other => panic!("{other:?} instead of Init"),
        }
    }

    /// Blocks until the worker has closed its end, which for these workers is their end.
    pub fn gone(&mut self) {
        io::copy(&mut Patient(&self.answers), &mut io::sink()).expect("closed");
    }

    pub fn errors(&mut self) -> String {
        let mut text = String::new();
        Patient(&self.stderr).read_to_string(&mut text).expect("text");
        text
    }
}

/// Reads a non-blocking end as if it blocked.
struct Patient<'a>(&'a File);

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => ready(self.0.as_fd(), PollFlags::POLLIN),
                done => return done,
            }
        }
    }
}
