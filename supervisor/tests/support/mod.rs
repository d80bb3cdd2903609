//! Scripted workers, the same script over both kinds of carrier, and what the tests of the pool share.
//! Trust: test code.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod house;

use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    isolation::{Demand, Report, Row},
};
use bulkhead_ipc::{
    channel::WorkerEnds,
    chunk::split,
    codec::{decode, encode, encode_answer},
    edge::{
        FileId, Inits, WorkerKind, agents, audit, gateway,
        launcher::StatusOf,
        note,
        read::{Answer, Ask, Call, FromRead, Init, OwnerTrust, Ready, Reply, Repository, ToRead},
        syntax, write,
    },
};
use bulkhead_supervisor::{
    carrier::{Carrier, Ended, Ending, LastWords, Link, Local, StartError, queues},
    control::{Control, Stopper, Tick},
    outcome::{Answered, CallError},
    pool::Pool,
    reads::{Question, Reads},
    settings::{LogLevel, OutputSchemas, Settings, ToolNames},
};
use std::{
    cell::{Cell, RefCell},
    future::pending,
    rc::Rc,
    time::Duration,
};
use tokio::{
    sync::mpsc,
    task::{JoinHandle, LocalSet, spawn_local},
    time::{Instant, sleep},
};

/// What a scripted worker does next.
pub enum Act {
    Say(FromRead),
    Raw(Vec<u8>),
    Wait(Duration),
    /// Ends: as a process like this, as a thread by returning.
    Die(Ended),
}

/// A path is `/behaviour/repository/anything`.
fn part(path: &str, n: usize) -> &str {
    path.split('/').nth(n).unwrap_or_default()
}

fn number(text: &str) -> u64 {
    text.bytes().fold(7, |sum, byte| sum * 131 % 1_000_003 + u64::from(byte))
}

pub fn report(sufficient: bool) -> Report {
    let row = Row {
        capability: "writes".to_owned(),
        enforcer: "landlock".to_owned(),
        sufficient,
        evidence: "scripted".to_owned(),
    };
    Report { process: "worker-read".to_owned(), rows: vec![row] }
}

fn answer(id: u64, answer: &Answer) -> Vec<Act> {
    let whole = encode_answer(answer).expect("within the limit");
    split(&whole).map(|(last, bytes)| Act::Say(FromRead::Part { id, last, bytes: bytes.to_vec() })).collect()
}

fn good(id: u64, path: &str) -> Vec<Act> {
    answer(id, &Ok(Reply::SelfProbe(Report { process: path.to_owned(), rows: Vec::new() })))
}

/// What the worker for `path` does when it has started.
pub fn greeting(path: &str) -> Vec<Act> {
    let repository = Repository {
        canonical: format!("/canonical/{}", part(path, 2)).into_bytes(),
        asked: FileId { dev: 1, ino: number(path) },
        git_dir: FileId { dev: 2, ino: number(part(path, 2)) },
        worktree: None,
    };
    let ready = |report| FromRead::Ready(Box::new(Ready { report, repository: Some(repository.clone()) }));
    match part(path, 1) {
        "hangs-at-start" => vec![],
        "dies-at-start" => vec![Act::Die(Ended::Signal(6))],
        "short" => vec![Act::Say(FromRead::Short(report(false)))],
        "lies" => vec![Act::Say(ready(report(false)))],
        "mute" => vec![Act::Say(ready(Report::default()))],
        "early" => vec![Act::Say(FromRead::Moved { id: 1 })],
        "lost" => vec![Act::Say(FromRead::Ready(Box::new(Ready { report: report(true), repository: None })))],
        "refused" => {
            let failure = ReadFailure::new(Reason::NotARepository, "open", "no repository here");
            vec![Act::Say(FromRead::Refused { failure, report: report(true) })]
        }
        _ => vec![Act::Say(ready(report(true)))],
    }
}

/// What it does when it hears its `n`th call.
pub fn reaction(path: &str, n: u32, call: &Call) -> Vec<Act> {
    let id = call.id;
    let progress = |done| Act::Say(FromRead::Progress { id, done, total: Some(9) });
    match part(path, 1) {
        "hangs" | "stops" => vec![],
        "stuck" => vec![progress(1), Act::Wait(Duration::MAX)],
        "stops-short" => vec![progress(1)],
        "dies" => vec![Act::Die(Ended::Signal(6))],
        "dies-later" => vec![Act::Wait(Duration::from_secs(1)), Act::Die(Ended::Signal(9))],
        "forbidden" => vec![Act::Die(Ended::Signal(31))],
        "exits" => vec![Act::Die(Ended::Exit(101))],
        "nonsense" => vec![Act::Raw(vec![250, 1, 2])],
        "other-id" => vec![Act::Say(FromRead::Moved { id: id + 1 })],
        "backwards" => vec![progress(5), progress(3)],
        "moves" => vec![Act::Say(FromRead::Moved { id })],
        "moves-later" if n > 1 => vec![Act::Say(FromRead::Moved { id })],
        "twice" => good(id, path).into_iter().chain(good(id, path)).collect(),
        "fails" => answer(id, &Err(ReadFailure::new(Reason::Bare, "status", "bare"))),
        "slow" => [Act::Wait(Duration::from_secs(1))].into_iter().chain(good(id, path)).collect(),
        "creeps" => (1..100).flat_map(|done| [progress(done), Act::Wait(Duration::from_secs(1))]).collect(),
        "progresses" => [progress(1), progress(4)].into_iter().chain(good(id, path)).collect(),
        "big" => {
            let row = Row { evidence: "x".repeat(100_000), ..report(true).rows.remove(0) };
            answer(id, &Ok(Reply::SelfProbe(Report { process: path.to_owned(), rows: vec![row; 50] })))
        }
        _ => good(id, path),
    }
}

/// What it does when it is asked to stop.
pub fn on_cancel(path: &str, id: u64) -> Vec<Act> {
    if part(path, 1) == "stops" { good(id, path) } else { vec![] }
}

/// Workers as tasks; time may be paused.
#[derive(Clone, Default)]
pub struct Fake(Rc<FakeState>);

#[derive(Default)]
pub struct FakeState {
    pub started: RefCell<Vec<String>>,
    pub alive: Cell<usize>,
    pub ends: Rc<RefCell<Vec<Ending>>>,
    /// What the launcher says of every process; `None` never answers.
    pub status: RefCell<Option<Result<String, String>>>,
    /// No start comes to an end.
    pub unstarted: Cell<bool>,
    /// Every start fails with this.
    pub broken: RefCell<Option<StartError>>,
}

pub const JAILED: &str = "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t2\nCapEff:\t0000000000000000\n";

impl Fake {
    pub fn new() -> Self {
        let fake = Self::default();
        fake.0.status.replace(Some(Ok(JAILED.to_owned())));
        fake
    }
}

impl std::ops::Deref for Fake {
    type Target = FakeState;

    fn deref(&self) -> &FakeState {
        &self.0
    }
}

impl Carrier for Fake {
    fn start(&self, kind: WorkerKind, path: Option<Vec<u8>>) -> Local<Result<Link, StartError>> {
        assert_eq!(kind, WorkerKind::Read, "the pool starts nothing else");
        if let Some(error) = self.broken.borrow().clone() {
            return Box::pin(async { Err(error) });
        }
        if self.unstarted.get() {
            return Box::pin(pending());
        }
        let path = String::from_utf8(path.unwrap_or_default()).expect("tests use UTF-8");
        self.started.borrow_mut().push(path.clone());
        self.alive.set(self.alive.get() + 1);
        let (wire, mut heard, said) = queues::pair();
        let (ended, endings) = mpsc::channel(1);
        let (killer, mut killed) = mpsc::channel::<()>(1);
        let state = Rc::clone(&self.0);
        spawn_local(async move {
            let end = tokio::select! {
                end = run(&path, &mut heard, &said) => end,
                _ = killed.recv() => Ended::Signal(9),
            };
            drop((heard, said));
            state.alive.set(state.alive.get() - 1);
            let _ = ended.try_send(end);
        });
        let ends = Rc::clone(&self.ends);
        let end = move |ending| {
            ends.borrow_mut().push(ending);
            let _ = killer.try_send(());
        };
        let link = Link::new("scripted".into(), Some(42), wire, endings, end, Rc::new(LastWords::default()));
        Box::pin(async { Ok(link) })
    }

    fn status(&self, _of: StatusOf) -> Local<Result<String, String>> {
        match self.status.borrow().clone() {
            Some(status) => Box::pin(async { status }),
            None => Box::pin(pending()),
        }
    }

    fn close(&self) -> Local<()> {
        Box::pin(async {})
    }
}

async fn run(path: &str, heard: &mut mpsc::Receiver<Vec<u8>>, said: &mpsc::Sender<Vec<u8>>) -> Ended {
    let (mut acts, mut calls) = (greeting(path), 0);
    loop {
        for act in acts {
            match act {
                Act::Say(message) => drop(said.send(encode(&message).expect("small")).await),
                Act::Raw(bytes) => drop(said.send(bytes).await),
                Act::Wait(Duration::MAX) => pending().await,
                Act::Wait(time) => sleep(time).await,
                Act::Die(end) => return end,
            }
        }
        let Some(frame) = heard.recv().await else { return Ended::Exit(0) };
        acts = match decode(&frame).expect("the supervisor's") {
            ToRead::Init(_) => panic!("the launcher's business"),
            ToRead::Call(call) => {
                calls += 1;
                reaction(path, calls, &call)
            }
            ToRead::Cancel { id } => on_cancel(path, id),
        };
    }
}

/// The same script as the main function of a thread.
pub fn thread_main(mut ends: WorkerEnds<ToRead, FromRead>) {
    let Ok(Some(ToRead::Init(init))) = ends.requests.receive() else { panic!("the first message is Init") };
    let path = String::from_utf8(init.path.expect("a path")).expect("tests use UTF-8");
    let (mut acts, mut calls) = (greeting(&path), 0);
    loop {
        for act in acts {
            let sent = match act {
                Act::Say(message) => ends.answers.send(&message),
                // a thread's end is typed; this is the nearest to nonsense that it can say
                Act::Raw(_) => ends.answers.send(&FromRead::Short(Report::default())),
                Act::Wait(_) => loop {
                    std::thread::park();
                },
                Act::Die(_) => return,
            };
            if sent.is_err() {
                return;
            }
        }
        acts = match ends.requests.receive() {
            Ok(Some(ToRead::Call(call))) => {
                calls += 1;
                reaction(&path, calls, &call)
            }
            Ok(Some(ToRead::Cancel { id })) => on_cancel(&path, id),
            _ => return,
        };
    }
}

pub fn audit_init() -> audit::Init {
    audit::Init { demand: Demand::Off, ledger: None, sign_key: None, compat: false, memory: 0 }
}

pub fn inits() -> Inits {
    let (stores, presence) = (Vec::new(), Vec::new());
    let agents = agents::Init { demand: Demand::Off, stores, presence, pid: 1, memory: 0 };
    let note = note::Init { demand: Demand::Off, dir: None, pid: 1, memory: 0 };
    let syntax = syntax::Init { demand: Demand::Off, memory: 0 };
    let gateway = gateway::Init { demand: Demand::Off, address: None, token: None, memory: 0 };
    let write = write::Init::closed(Demand::Off);
    Inits { read: init(), audit: audit_init(), agents, note, gateway, syntax, write }
}

pub fn init() -> Init {
    Init {
        demand: Demand::Off,
        empty_root: false,
        ceilings: vec![],
        run_dirs: Vec::new(),
        path: None,
        trust: OwnerTrust::default(),
        home: None,
        xdg_config_home: None,
        memory: 0,
        threads: 1,
    }
}

/// A pool over scripted workers.
pub fn pool(fake: &Fake, demand: Demand) -> Pool {
    Pool::new(Rc::new(settings(demand)), Rc::new(fake.clone()), &report(true))
}

pub fn settings(demand: Demand) -> Settings {
    Settings {
        demand,
        standing: Default::default(),
        empty_root: false,
        deadline: Duration::from_secs(30),
        surface: Default::default(),
        direct: Default::default(),
        tool_names: ToolNames::Auto,
        output_schemas: OutputSchemas::Brief,
        listed_tools: None,
        workers_per_repository: 2,
        max_workers: 3,
        idle_stop: Duration::from_secs(300),
        roots_text: vec![],
        roots_invalid: None,
        run_dirs: vec![],
        gateway: None,
        agents: Default::default(),
        gateway_token: false,
        audit: Default::default(),
        log: LogLevel::Warn,
        log_json: false,
    }
}

/// Runs on one thread, as the supervisor does, with time paused.
pub fn paused<T>(test: impl Future<Output = T>) -> T {
    on_one_thread(true, test)
}

/// The same in real time: the clock of a paused runtime would run on while threads work.
pub fn unpaused<T>(test: impl Future<Output = T>) -> T {
    on_one_thread(false, test)
}

fn on_one_thread<T>(paused: bool, test: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(paused).build().expect("a runtime");
    LocalSet::new().block_on(&runtime, test)
}

pub fn question(path: &str) -> Question {
    Question { path: path.to_owned(), ask: Ask::SelfProbe, fingerprint: [number(path) as u8; 32] }
}

/// Asks and waits.
pub async fn ask(pool: &Pool, path: &str) -> Result<Answered, CallError> {
    let (_stopper, control) = Control::pair(None);
    pool.read(question(path), control).await
}

/// Asks as another call than the `n` before it: poison memory does not know it.
pub async fn ask_anew(pool: &Pool, path: &str, n: u8) -> Result<Answered, CallError> {
    let (_stopper, control) = Control::pair(None);
    pool.read(Question { fingerprint: [n; 32], ..question(path) }, control).await
}

/// A call under way.
pub struct Asked {
    pub stopper: Stopper,
    pub ticks: mpsc::Receiver<Tick>,
    pub outcome: JoinHandle<Result<Answered, CallError>>,
    pub since: Instant,
}

/// Asks without waiting.
pub fn begin(pool: &Pool, path: &str) -> Asked {
    let (sender, ticks) = mpsc::channel(8);
    let (stopper, control) = Control::pair(Some(sender));
    let (pool, question, since) = (pool.clone(), question(path), Instant::now());
    let outcome = spawn_local(async move { pool.read(question, control).await });
    Asked { stopper, ticks, outcome, since }
}

/// Lets everything that can run now run.
pub async fn settle() {
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
}

/// The path that the scripted answer names.
pub fn answered(outcome: Result<Answered, CallError>) -> String {
    match outcome.expect("an answer").reply {
        Reply::SelfProbe(report) => report.process,
        other => panic!("{other:?}"),
    }
}
