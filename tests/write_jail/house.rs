//! A place with a repository, a launcher that serves it, and the supervisor's side of the conversation.
//! Trust: test code; what the worker says is held against the edge as the supervisor does it.

use bulkhead_contract::isolation::{Demand, Report};
use bulkhead_ipc::{
    chunk::Joiner,
    codec,
    edge::{
        Inits, WorkerKind, agents, audit,
        errand::{ErrandCall, FromErrand, Phase},
        gateway,
        launcher::{End, FromLauncher, MAX_PACKET, ToLauncher},
        note,
        read::{Init, OwnerTrust},
        syntax,
        write::{self, Allowed, Done, Failed, Operation, Outcome, Programs, ToWrite},
    },
    frame,
};
use bulkhead_launcher::Table;
use bulkhead_sandbox::{fork::Forked, handover};
use bulkhead_worker_write::programs::{self, Surroundings};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::{
    fs::{self, File},
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{
            ffi::OsStrExt,
            fs::{PermissionsExt, chown},
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

/// The word by which the second run is started.
pub const AS_USER: &str = "as-user";
/// Nobody that a system has by default.
const USER: u32 = 12_346;
/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the worker may use: as much as the product gives it.
const MEMORY: u64 = 1 << 30;

/// Starts this program again as an ordinary user, from a copy that every user can reach.
pub fn run_as_user(arguments: &[String]) -> bool {
    let directory = tempfile::Builder::new().prefix("bulkhead-write-").tempdir().expect("a directory");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let (copy, own) = (directory.path().join("write_jail"), directory.path().join("own"));
    fs::copy("/proc/self/exe", &copy).expect("room");
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).expect("ours");
    fs::create_dir(&own).expect("a directory");
    chown(&own, Some(USER), Some(USER)).expect("root may");
    let mut command = Command::new(&copy);
    command.args(arguments).arg(AS_USER).uid(USER).gid(USER).env("TMPDIR", &own).env("HOME", &own).current_dir("/");
    command.stdin(Stdio::null()).status().expect("it can be started").success()
}

/// This machine's git, found once.
pub fn found() -> &'static Programs {
    static FOUND: OnceLock<Programs> = OnceLock::new();
    FOUND.get_or_init(|| {
        programs::find(&Surroundings { path: std::env::var_os("PATH"), ..Surroundings::default() }).expect("a git")
    })
}

/// A directory that is a root, with a repository `repo` in it.
pub struct Place {
    _keep: tempfile::TempDir,
    pub dir: PathBuf,
}

impl Place {
    /// With two commits, `a.txt` and `b.txt` on `main`.
    pub fn new() -> Self {
        let keep = tempfile::tempdir().expect("a directory");
        let dir = keep.path().canonicalize().expect("it is there");
        let place = Self { _keep: keep, dir: dir.join("root") };
        fs::create_dir_all(place.at("repo")).expect("a directory");
        place.git(&["init", "-q", "-b", "main"]);
        for name in ["a.txt", "b.txt"] {
            fs::write(place.at("repo").join(name), "one\n").expect("a file");
            place.git(&["add", name]);
            place.git(&["commit", "-q", "-m", name]);
        }
        place
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.at(name).to_str().expect("plain").to_owned()
    }

    /// The user's own git, outside of every jail.
    pub fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(path(&found().git));
        command.args(arguments).current_dir(self.at("repo")).env("GIT_CONFIG_NOSYSTEM", "1");
        for (name, value) in [("GIT_CONFIG_GLOBAL", "/dev/null"), ("LC_ALL", "C")] {
            command.env(name, value);
        }
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Test").env(format!("GIT_{role}_EMAIL"), "test@example.org");
        }
        let output = command.output().expect("git runs");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// What an operator allows here.
    pub fn allowed(&self) -> Allowed {
        let bytes = |path: PathBuf| path.as_os_str().as_bytes().to_vec();
        let git_dir = bytes(self.at("repo/.git"));
        let identity = [("user.name", "Jailed"), ("user.email", "jailed@example.org")];
        Allowed {
            root: bytes(self.at("repo")),
            git_dir: git_dir.clone(),
            common_dir: git_dir,
            roots: vec![bytes(self.dir.clone())],
            lenders: Vec::new(),
            locks: Some(bytes(self.dir.parent().expect("it has one").join("locks"))),
            programs: found().clone(),
            pinned: identity.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec(),
            hooks_path: None,
            hooks: None,
            filters: false,
            allow_unsigned: false,
            ssh_command: None,
            trust_repo_ssh_command: false,
            log_commands: false,
        }
    }

    /// A launcher that serves it.
    pub fn serve(&self) -> House {
        House::new(Some(self.allowed()))
    }

    /// Runs a script in a fresh worker; the notes that it leaves.
    pub fn run(&self, script: &[&str]) -> Vec<String> {
        self.serve().run(script)
    }
}

pub fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// A script as it travels.
pub fn script(words: &[&str]) -> Operation {
    let paths = words.iter().map(|word| (*word).to_owned()).collect();
    Operation::Commit { paths, message: String::new(), allow_empty: false, include_untracked: false }
}

/// A real launcher.
pub struct House {
    forked: Forked,
}

/// One worker, as the supervisor has it.
pub struct Worker<'h> {
    house: &'h House,
    pub pid: i32,
    requests: File,
    answers: File,
    stderr: File,
    phase: Phase,
}

impl House {
    pub fn new(allowed: Option<Allowed>) -> Self {
        let demand = Demand::Required;
        let table = Table::new(Inits {
            read: Init {
                demand,
                empty_root: false,
                ceilings: Vec::new(),
                run_dirs: Vec::new(),
                path: None,
                trust: OwnerTrust::default(),
                home: None,
                xdg_config_home: None,
                memory: MEMORY,
                threads: 1,
            },
            audit: audit::Init { demand, ledger: None, sign_key: None, compat: false, memory: MEMORY },
            agents: agents::Init { demand, stores: Vec::new(), presence: Vec::new(), pid: 1, memory: MEMORY },
            note: note::Init { demand, dir: None, pid: 1, memory: MEMORY },
            syntax: syntax::Init { demand, memory: MEMORY },
            gateway: gateway::Init { demand, address: None, token: None, memory: MEMORY },
            write: write::Init { demand, memory: MEMORY, allowed: allowed.map(Box::new) },
        });
        let forked = bulkhead_launcher::start(table.expect("short")).expect("a second process");
        Self { forked }
    }

    pub fn ask(&self, request: &ToLauncher) {
        let packet = codec::encode(request).expect("small");
        handover::send(self.forked.socket.as_fd(), &packet, &[]).expect("the launcher listens");
    }

    pub fn hear(&self) -> (FromLauncher, Vec<OwnedFd>) {
        let socket = self.forked.socket.as_fd();
        assert!(ready(socket, Instant::now() + PATIENCE), "the launcher says nothing");
        let mut packet = vec![0; MAX_PACKET];
        let (length, fds) = handover::receive(socket, &mut packet, 3).expect("a packet");
        (codec::decode(&packet[..length]).expect("the launcher's own"), fds)
    }

    pub fn start(&self, kind: WorkerKind) -> Worker<'_> {
        self.ask(&ToLauncher::Spawn { ticket: 1, kind, path: None });
        let (FromLauncher::Spawned { pid, .. }, fds) = self.hear() else { panic!("not started") };
        let [requests, answers, stderr] = <[OwnedFd; 3]>::try_from(fds).expect("three ends").map(File::from);
        let mut worker = Worker { house: self, pid, requests, answers, stderr, phase: Phase::Starting };
        match worker.hear() {
            FromErrand::Ready(_) => worker.phase = Phase::Idle,
            other => panic!("{other:?}"),
        }
        worker
    }

    pub fn run(&self, words: &[&str]) -> Vec<String> {
        self.perform(WorkerKind::Write, script(words)).1
    }

    /// One script in a fresh worker: the report of its finished jail, and the notes.
    pub fn perform(&self, kind: WorkerKind, operation: Operation) -> (Report, Vec<String>) {
        let (report, outcome) = self.outcome(kind, operation);
        (report, notes(outcome))
    }

    /// One operation in a fresh worker.
    pub fn outcome(&self, kind: WorkerKind, operation: Operation) -> (Report, Outcome) {
        let mut worker = self.start(kind);
        worker.call(operation, 60_000);
        let outcome = worker.outcome();
        worker.leave();
        outcome
    }

    /// One operation of the product, which comes to its end.
    pub fn done(&self, operation: Operation) -> Box<Done> {
        let kind = if operation.is_remote() { WorkerKind::WriteNet } else { WorkerKind::Write };
        match self.outcome(kind, operation).1 {
            Outcome::Done(done) => done,
            Outcome::Failed(failed) => panic!("{failed:?}"),
        }
    }

    /// One operation of the product, which does not.
    pub fn failed(&self, operation: Operation) -> Box<Failed> {
        let kind = if operation.is_remote() { WorkerKind::WriteNet } else { WorkerKind::Write };
        match self.outcome(kind, operation).1 {
            Outcome::Failed(failed) => failed,
            Outcome::Done(done) => panic!("{done:?}"),
        }
    }
}

/// The notes of a script that came to its end.
pub fn notes(outcome: Outcome) -> Vec<String> {
    match outcome {
        Outcome::Done(done) => done.notes,
        Outcome::Failed(failed) => panic!("{failed:?}"),
    }
}

impl Worker<'_> {
    fn say(&mut self, message: &ToWrite) {
        let body = codec::encode(message).expect("short");
        self.requests.write_all(&frame::with_length(&body).expect("short")).expect("the worker reads");
    }

    pub fn call(&mut self, ask: Operation, budget_ms: u32) {
        self.phase = Phase::Serving { id: 1, closing: true };
        self.say(&ToWrite::Call(Box::new(ErrandCall { id: 1, budget_ms, ask })));
    }

    pub fn cancel(&mut self) {
        self.say(&ToWrite::Cancel { id: 1 });
    }

    pub fn probe(&mut self) -> (Report, Report) {
        self.phase = Phase::Probing { id: 1, closing: true };
        self.say(&ToWrite::SelfProbe { id: 1 });
        let FromErrand::Closed { report, .. } = self.hear() else { panic!("not closed") };
        let FromErrand::SelfProbe { report: tried, .. } = self.hear() else { panic!("nothing tried") };
        (report, tried)
    }

    fn hear(&mut self) -> FromErrand {
        if !ready(self.answers.as_fd(), Instant::now() + PATIENCE) {
            panic!("the worker says nothing");
        }
        let Ok(Some(body)) = frame::read(&mut self.answers) else {
            let mut words = String::new();
            let _ = self.stderr.read_to_string(&mut words);
            panic!("the worker is gone: {words}")
        };
        let message: FromErrand = codec::decode(&body).expect("within the edge");
        message.legal(self.phase).expect("legal");
        message
    }

    /// The report of the finished jail.
    pub fn closed(&mut self) -> Report {
        let report = match self.hear() {
            FromErrand::Closed { report, .. } => report,
            other => panic!("{other:?}"),
        };
        self.phase = Phase::Serving { id: 1, closing: false };
        report
    }

    /// Hears the answer to its end.
    pub fn answer(&mut self) -> Outcome {
        let mut joiner = Joiner::default();
        loop {
            let FromErrand::Part { last, bytes, .. } = self.hear() else { panic!("no answer") };
            if let Some(whole) = joiner.push(last, bytes).expect("whole") {
                let answer: write::Answer = codec::decode_answer(&whole).expect("within the edge");
                let outcome = answer.expect("an outcome");
                assert!(outcome.is_bounded(), "{outcome:?}");
                return outcome;
            }
        }
    }

    pub fn outcome(&mut self) -> (Report, Outcome) {
        (self.closed(), self.answer())
    }

    /// Kills it, as the supervisor does at the deadline.
    pub fn kill(self) {
        self.house.ask(&ToLauncher::Kill { pid: self.pid });
        self.gone(End::Signal(9));
    }

    /// Lets it go; it leaves by itself.
    pub fn leave(self) {
        self.gone(End::Exit(0));
    }

    fn gone(self, wanted: End) {
        let Self { house, pid, requests, .. } = self;
        drop(requests);
        match house.hear().0 {
            FromLauncher::Ended { pid: ended, end } => assert_eq!((ended, end), (pid, wanted)),
            other => panic!("{other:?}"),
        }
    }
}

fn ready(fd: BorrowedFd<'_>, until: Instant) -> bool {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
            Ok(count) => return count > 0,
            Err(nix::errno::Errno::EINTR) => {}
            Err(e) => panic!("{}", io::Error::from(e)),
        }
    }
}

/// Whether it becomes so before anybody's patience ends.
pub fn becomes(mut holds: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

/// Ids of processes of this user that hash a file in a directory, as `/proc` shows them.
pub fn hashing_in(dir: &Path) -> Vec<i32> {
    let processes = fs::read_dir("/proc").expect("it is there").flatten();
    let numbered = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(|pid: i32| (pid, entry)));
    let here = numbered.filter(|(_, entry)| {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let hashes = words.split(|byte| *byte == 0).any(|word| word == b"hash-object" || word == b"twice");
        hashes && fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == dir)
    });
    here.map(|(pid, _)| pid).collect()
}
