//! A worker in this process, talked to over queues in memory, and the real Git to compare it with.
//! Trust: test support only.
#![allow(dead_code, reason = "each test binary uses its own part")]

use bulkhead_contract::{
    failure::ReadFailure,
    isolation::Demand,
    path::bytes_of,
    results::{Brief, Changes, Status, StatusRow},
};
use bulkhead_ipc::{
    Error,
    channel::{FrameSink, FrameSource, Now, Receiver, Sender, WorkerEnds},
    chunk::Joiner,
    codec,
    edge::{
        FileId,
        read::{Answer, Ask, Call, FromRead, Init, OwnerTrust, Page, Place, Ready, Reply, ToRead},
    },
};
use std::{
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
};

struct Queue(mpsc::Receiver<Vec<u8>>);
struct Tail(mpsc::Sender<Vec<u8>>);

impl FrameSource for Queue {
    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.0.recv().ok())
    }

    fn frame_now(&mut self) -> Result<Now<Vec<u8>>, Error> {
        Ok(match self.0.try_recv() {
            Ok(frame) => Now::Said(frame),
            Err(mpsc::TryRecvError::Empty) => Now::Nothing,
            Err(mpsc::TryRecvError::Disconnected) => Now::End,
        })
    }
}

impl FrameSink for Tail {
    fn put_frame(&mut self, body: &[u8]) -> Result<(), Error> {
        self.0.send(body.to_vec()).map_err(|_| Error::CutFrame)
    }
}

/// What the operator would have said.
#[derive(Debug, Clone, Default)]
pub struct Operator {
    /// More ceilings than the default, which is the path itself.
    pub ceilings: Vec<PathBuf>,
    /// Whose repositories are read.
    pub trust: OwnerTrust,
    /// Their home.
    pub home: Option<PathBuf>,
}

/// A worker on a thread.
pub struct Worker {
    requests: Option<Sender<ToRead>>,
    answers: Receiver<FromRead>,
    thread: Option<thread::JoinHandle<()>>,
    next: u64,
    /// What it said when it was ready.
    pub ready: Ready,
    asked: PathBuf,
}

/// Starts a worker for `path`; the failure is what it refused with.
pub fn start(path: &Path, operator: &Operator) -> Result<Worker, ReadFailure> {
    let (to_worker, hears) = mpsc::channel();
    let (says, from_worker) = mpsc::channel();
    let ends = WorkerEnds { requests: Receiver::new(Queue(hears)), answers: Sender::new(Tail(says)) };
    let thread = thread::spawn(move || bulkhead_worker_read::run(ends, false));
    let mut requests: Sender<ToRead> = Sender::new(Tail(to_worker));
    let mut answers: Receiver<FromRead> = Receiver::new(Queue(from_worker));
    let mut ceilings = operator.ceilings.clone();
    if ceilings.is_empty() {
        ceilings.push(std::fs::canonicalize(path).expect("the fixture is there"));
    }
    let init = Init {
        demand: Demand::Off,
        empty_root: false,
        ceilings: ceilings.iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect(),
        run_dirs: Vec::new(),
        path: Some(path.as_os_str().as_bytes().to_vec()),
        trust: operator.trust.clone(),
        home: operator.home.as_ref().map(|home| home.as_os_str().as_bytes().to_vec()),
        xdg_config_home: None,
        memory: 1 << 30,
        threads: 2,
    };
    requests.send(&ToRead::Init(Box::new(init))).expect("the worker hears");
    match answers.receive().expect("well-formed").expect("an answer") {
        FromRead::Ready(ready) => {
            let asked = path.to_path_buf();
            Ok(Worker { requests: Some(requests), answers, thread: Some(thread), next: 1, ready: *ready, asked })
        }
        FromRead::Refused { failure, .. } => Err(failure),
        other => panic!("not in this phase: {other:?}"),
    }
}

/// Runs `test` with the rights of a user to whom nothing belongs, where we are root; threads it starts have them too.
pub fn without_rights<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let limited = scope.spawn(|| {
            if nix::unistd::geteuid().is_root() {
                nix::unistd::setfsuid(nix::unistd::Uid::from_raw(65_534));
            }
            test()
        });
        limited.join().expect("no panic")
    })
}

impl Worker {
    /// Asks and waits; `None` where the worker says that the path has moved.
    pub fn try_ask(&mut self, ask: Ask) -> Option<Answer> {
        self.ask_within(60_000, ask)
    }

    /// The same with another budget, in milliseconds.
    pub fn ask_within(&mut self, budget_ms: u32, ask: Ask) -> Option<Answer> {
        let id = self.next;
        self.next += 1;
        let asked = self.ready.repository.as_ref().map(|repository| repository.asked);
        let place = asked.map(|asked| Place { path: self.asked.as_os_str().as_bytes().to_vec(), asked });
        let call = Call { id, budget_ms, place, ask };
        self.requests.as_mut()?.send(&ToRead::Call(Box::new(call))).expect("the worker hears");
        let mut joiner = Joiner::default();
        loop {
            match self.answers.receive().expect("well-formed").expect("an answer") {
                FromRead::Part { id: of, last, bytes } => {
                    assert_eq!(of, id);
                    if let Some(whole) = joiner.push(last, bytes).expect("bounded") {
                        return Some(codec::decode_answer(&whole).expect("an answer"));
                    }
                }
                FromRead::Progress { .. } => {}
                FromRead::Moved { .. } => return None,
                other => panic!("not in this phase: {other:?}"),
            }
        }
    }

    /// Asks and waits for a good answer or a failure.
    pub fn ask(&mut self, ask: Ask) -> Answer {
        self.try_ask(ask).expect("the repository has not moved")
    }

    /// `repo.status` in one page.
    pub fn status(&mut self) -> Result<Status, ReadFailure> {
        self.status_page(10_000, u32::MAX, None)
    }

    /// A page of `repo.status`.
    pub fn status_page(&mut self, limit: u32, chars: u32, cursor: Option<String>) -> Result<Status, ReadFailure> {
        match self.ask(Ask::Status(Page { limit, chars, cursor }))? {
            Reply::Status(status) => Ok(*status),
            other => panic!("another answer: {other:?}"),
        }
    }

    /// `worktree.changes` in one page.
    pub fn changes(&mut self) -> Result<Changes, ReadFailure> {
        match self.ask(Ask::Changes(Page { limit: 10_000, chars: u32::MAX, cursor: None }))? {
            Reply::Changes(changes) => Ok(*changes),
            other => panic!("another answer: {other:?}"),
        }
    }

    /// `repo.brief`.
    pub fn brief(&mut self) -> Result<Brief, ReadFailure> {
        match self.ask(Ask::Brief { recent_commits: 20 })? {
            Reply::Brief(brief) => Ok(*brief),
            other => panic!("another answer: {other:?}"),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the worker's own thread never panics");
        }
    }
}

/// A row as Git's `--porcelain=v1 -z` has it.
pub type Porcelain = (String, Vec<u8>, Option<Vec<u8>>);

/// The rows of our answer in that form.
pub fn porcelain(rows: &[StatusRow]) -> Vec<Porcelain> {
    let bytes = |text: &str, encoding| bytes_of(text, encoding).expect("escaped by us");
    rows.iter()
        .map(|row| {
            let from = row.orig_path.as_deref().map(|path| bytes(path, row.orig_path_encoding));
            (row.status.clone(), bytes(&row.path, row.path_encoding), from)
        })
        .collect()
}

/// Git's own rows.
pub fn git_rows(dir: &Path) -> Vec<Porcelain> {
    let out = git(dir, &["-c", "core.fsmonitor=false", "status", "--porcelain=v1", "-z"]);
    let mut fields = out.split(|&byte| byte == 0).filter(|field| !field.is_empty());
    let mut rows = Vec::new();
    while let Some(field) = fields.next() {
        let status = String::from_utf8(field[..2].to_vec()).expect("two letters");
        let from = status.contains('R').then(|| fields.next().expect("the old path").to_vec());
        rows.push((status, field[3..].to_vec(), from));
    }
    rows
}

/// What Git prints.
pub fn git(dir: &Path, args: &[&str]) -> Vec<u8> {
    let (out, fine) = try_git(dir, args);
    assert!(fine, "git {args:?} in {}", dir.display());
    out
}

/// What Git prints, and whether it was content.
pub fn try_git(dir: &Path, args: &[&str]) -> (Vec<u8>, bool) {
    let out = command("git")
        .arg("-C")
        .arg(dir)
        .args(args)
        .stderr(Stdio::null())
        .output()
        .expect("git is installed where the tests run");
    (out.stdout, out.status.success())
}

/// One line of it as text.
pub fn git_line(dir: &Path, args: &[&str]) -> Option<String> {
    let (out, fine) = try_git(dir, args);
    fine.then(|| String::from_utf8_lossy(&out).trim_end_matches('\n').to_owned())
}

/// A command in a surrounding without configuration, and with fixed people and times.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_AUTHOR_NAME", "Ada Example")
        .env("GIT_AUTHOR_EMAIL", "ada@example.org")
        .env("GIT_COMMITTER_NAME", "Ada Example")
        .env("GIT_COMMITTER_EMAIL", "ada@example.org")
        .env("HOME", "/nonexistent")
        .env("LC_ALL", "C");
    command
}

/// Runs `tests/fixtures/NAME DIR`.
pub fn build(name: &str, dir: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    let out = command("bash").arg(script).arg(dir).output().expect("bash is installed where the tests run");
    assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
}

/// Runs lines of shell in `dir`.
pub fn shell(dir: &Path, lines: &str) {
    let out = command("bash").arg("-ec").arg(lines).current_dir(dir).output().expect("bash is installed");
    assert!(out.status.success(), "{lines}: {}", String::from_utf8_lossy(&out.stderr));
}

/// Device and inode of a directory.
pub fn id_of(dir: &Path) -> FileId {
    let meta = std::fs::metadata(dir).expect("it is there");
    FileId { dev: meta.dev(), ino: meta.ino() }
}
