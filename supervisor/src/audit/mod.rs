//! What is recorded of every call, and how that stays true: events from our own knowledge, a bounded queue, no silent loss.
//! Trust: tools are looked up and paths digested before they get here; what a worker said is a field of its own.
//!
//! [`Audit`] is the handle: calls take note through it and never wait for the disk. Behind it one task (`scribe`) keeps a
//! worker-audit (`clerk`) alive and hands it events in order. What a worker had not acknowledged when it fell is handed to
//! the next one; what the queue could not hold is counted and told by an entry of its own.

pub(crate) mod clerk;
mod entry;
mod queue;
mod scribe;

pub use entry::Entry;
pub use queue::CAPACITY;

use crate::{carrier::Carrier, log, settings::Settings};
use bulkhead_contract::{
    canonical,
    catalogue::{self, Surface},
    isolation::Demand,
    tool::Tool,
};
use bulkhead_ipc::edge::audit::{Event, Kind, Known, Outcome, Scope, Write};
use queue::Queue;
use serde_json::Value;
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    fmt,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{
    sync::{Notify, oneshot},
    task::spawn_local,
    time::{Instant, timeout},
};

/// How long the end of the server waits for what is still to be recorded.
const CLOSING: Duration = Duration::from_millis(500);
/// How long a call that may not go unrecorded waits for the worker's start.
const STARTING: Duration = Duration::from_secs(10);
/// How long the first answer waits to learn whether there are keys and a jail to record it with.
const KNOWING: Duration = Duration::from_secs(2);
/// How long a proposal or a write waits for the disk at most.
const DURABLE: Duration = Duration::from_secs(10);
/// How long an answer waits for a signed statement of where the ledger ends.
const HEAD: Duration = Duration::from_secs(1);
/// Statements that are asked for at once.
const MAX_HEADS: usize = 256;
/// Characters of a client's name in a session's name.
const MAX_CLIENT: usize = 64;
/// Characters of what a worker said.
const MAX_REPORTED: usize = 300;

/// `--audit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Nothing is recorded.
    #[default]
    Off,
    /// Calls are recorded where that is possible; answers say where it is not.
    BestEffort,
    /// A call that cannot be recorded is refused.
    Required,
}

impl Mode {
    /// The word on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::BestEffort => "best-effort",
            Mode::Required => "required",
        }
    }
}

/// What the operator wants recorded.
#[derive(Debug, Clone, Default)]
pub struct AuditSettings {
    /// `--audit`.
    pub mode: Mode,
    /// The ledger's path, to be shown; `Err` says why there is none.
    pub ledger: Option<Result<String, String>>,
    /// `--audit-compat`.
    pub compat: bool,
    /// The ledger was there at start. Only then does `doctor` look into it: looking must not make one.
    pub exists: bool,
}

/// The handle. Copies are of the same log.
#[derive(Clone)]
pub struct Audit(Option<Rc<Shared>>);

struct Shared {
    carrier: Rc<dyn Carrier>,
    demand: Demand,
    mode: Mode,
    compat: bool,
    /// How long a call waits for the disk: [`DURABLE`], or as long as it may take itself.
    patience: Duration,
    session: String,
    /// Digest of the path that the direct surface serves.
    served: Option<[u8; 32]>,
    /// What was in force at the start; the first event.
    start: RefCell<Option<Event>>,
    state: RefCell<State>,
    running: Cell<bool>,
    /// Something was put into the queue, or it is the end.
    posted: Notify,
    /// The health changed, or something was acknowledged.
    changed: Notify,
}

#[derive(Default)]
struct State {
    queue: Queue,
    health: Health,
    /// The last entry that was acknowledged.
    known: Option<Known>,
    closing: bool,
    /// Who wants a signed statement of where the ledger ends.
    heads: VecDeque<oneshot::Sender<Option<String>>>,
}

/// Whether events reach the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Health {
    /// Nobody asked yet.
    #[default]
    Idle,
    /// A worker is being started.
    Starting,
    /// It has its jail and its keys, and takes the ledger up.
    Opening,
    /// The last that was heard was good.
    Recording,
    /// They do not, and it is tried again.
    Failing(String),
    /// They will not in this server's life.
    Lost(String),
}

/// Why an event is not in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct NotRecorded {
    /// In words.
    pub why: String,
    /// Nothing will be recorded in this server's life: the ledger was tampered with, there is none, or no worker can be had.
    pub for_good: bool,
}

impl NotRecorded {
    fn now(why: impl Into<String>) -> Self {
        Self { why: why.into(), for_good: false }
    }
}

/// What became of a call, for the log.
#[derive(Debug)]
pub(crate) struct Noted {
    pub kind: Kind,
    pub tool: String,
    pub client: Option<String>,
    pub result: Outcome,
    pub scope: Scope,
    pub arguments: Option<[u8; 32]>,
    pub duration: Duration,
    pub summary: String,
    pub reported: Option<String>,
    pub numbers: Vec<(String, u64)>,
    pub write: Option<Write>,
}

impl Audit {
    /// Records nothing.
    #[must_use]
    pub fn off() -> Self {
        Self(None)
    }

    /// Records as the operator wants it; nothing is started before the first event.
    #[must_use]
    pub fn new(settings: &Settings, carrier: Rc<dyn Carrier>) -> Self {
        let audit = &settings.audit;
        if audit.mode == Mode::Off {
            return Self::off();
        }
        let health = match &audit.ledger {
            Some(Ok(_)) => Health::Idle,
            Some(Err(why)) => Health::Lost(why.clone()),
            None => Health::Lost("no ledger is configured".to_owned()),
        };
        let session = format!("{:016x}", RandomState::new().build_hasher().finish());
        let server = if audit.compat { "bulkhead".to_owned() } else { format!("bulkhead:{session}") };
        let shared = Shared {
            carrier,
            demand: settings.demand,
            mode: audit.mode,
            compat: audit.compat,
            patience: DURABLE.min(settings.deadline),
            session,
            served: (settings.surface != Surface::Review)
                .then(|| canonical::sha256(&Value::from(settings.direct.root.as_str()))),
            start: RefCell::new(Some(Event { session: server.clone(), ..start_of(settings) })),
            state: RefCell::new(State { health, queue: Queue::of(server), ..State::default() }),
            running: Cell::new(false),
            posted: Notify::new(),
            changed: Notify::new(),
        };
        Self(Some(Rc::new(shared)))
    }

    /// Begins the record of one call of `tool`; the arguments are digested here and not kept.
    #[must_use]
    pub fn call(&self, tool: Option<&'static str>, arguments: &Value, client: Option<&str>) -> Entry {
        // the first one starts a worker while its own work begins
        self.0.iter().for_each(|shared| shared.run());
        let direct = tool.and_then(catalogue::row).is_some_and(Tool::is_direct);
        let served = self.0.as_ref().and_then(|shared| shared.served).filter(|_| direct);
        Entry::begin(self.clone(), tool, arguments, served, client)
    }

    /// Whether a call may begin. Where every call must be recorded, this waits until it is known whether that is possible,
    /// and until there is room in the queue: only then does a call wait for the disk.
    ///
    /// # Errors
    /// Why it may not.
    pub async fn admit(&self) -> Result<(), NotRecorded> {
        let Some(shared) = self.0.as_ref().filter(|shared| shared.mode == Mode::Required) else { return Ok(()) };
        shared.run();
        let known = |state: &State| match state.health {
            Health::Idle | Health::Starting | Health::Opening => false,
            Health::Recording => state.queue.has_room(),
            Health::Failing(_) | Health::Lost(_) => true,
        };
        if timeout(STARTING.min(shared.patience), shared.until(known)).await.is_err() {
            return Err(NotRecorded::now("the worker that records is not ready in time"));
        }
        self.not_recorded().map_or(Ok(()), Err)
    }

    /// Waits, at the first answer alone and not for the disk, until it is known whether there is somebody to record it.
    pub async fn settled(&self) {
        if let Some(shared) = &self.0
            && shared.running.get()
        {
            let known = |state: &State| !matches!(state.health, Health::Idle | Health::Starting);
            let _ = timeout(KNOWING, shared.until(known)).await;
        }
    }

    /// Why what is answered now is not known to get recorded; `None` while all is well, and where nothing is to be.
    #[must_use]
    pub fn unrecorded(&self) -> Option<String> {
        let shared = self.0.as_ref()?;
        let state = shared.state.borrow();
        match &state.health {
            Health::Failing(why) | Health::Lost(why) => Some(why.clone()),
            _ if state.queue.is_full() => Some("too many events wait to be recorded".to_owned()),
            _ => None,
        }
    }

    /// The same, and whether that is for good.
    fn not_recorded(&self) -> Option<NotRecorded> {
        let for_good = self.0.as_ref().is_some_and(|shared| matches!(shared.state.borrow().health, Health::Lost(_)));
        self.unrecorded().map(|why| NotRecorded { why, for_good })
    }

    /// A worker ended that nobody had told to.
    pub(crate) fn worker_ended(&self, pid: Option<i32>, how: &str) {
        let numbers = pid.and_then(|pid| u64::try_from(pid).ok()).map(|pid| ("workerPid".to_owned(), pid));
        self.note(Noted {
            kind: Kind::WorkerEnded,
            tool: "worker-read".to_owned(),
            client: None,
            result: Outcome::Error,
            scope: Scope::Unknown,
            arguments: None,
            duration: Duration::ZERO,
            summary: "a worker ended that nobody had told to".to_owned(),
            reported: Some(how.to_owned()),
            numbers: numbers.into_iter().collect(),
            write: None,
        });
    }

    /// Puts an event into the queue; never waits.
    pub(crate) fn note(&self, noted: Noted) {
        self.put(noted, None);
    }

    /// Puts an event into the queue and waits until it is on disk; at once where nothing is to be recorded. An event that
    /// fails for now may still come into the ledger: it says what was meant to leave.
    ///
    /// # Errors
    /// Why it is not known to be recorded.
    pub(crate) async fn durable(&self, noted: Noted) -> Result<(), NotRecorded> {
        let Some(shared) = &self.0 else { return Ok(()) };
        shared.run();
        let known = |state: &State| !matches!(state.health, Health::Idle | Health::Starting | Health::Opening);
        if timeout(STARTING.min(shared.patience), shared.until(known)).await.is_err() {
            return Err(NotRecorded::now("the worker that records is not ready in time"));
        }
        if let Some(why) = self.not_recorded() {
            return Err(why);
        }
        let (sender, recorded) = oneshot::channel();
        self.put(noted, Some(sender));
        let broken = |state: &State| matches!(state.health, Health::Failing(_) | Health::Lost(_));
        let recorded = async {
            tokio::select! {
                biased;
                recorded = recorded => recorded == Ok(true),
                () = shared.until(broken) => false,
            }
        };
        match timeout(shared.patience, recorded).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(self.not_recorded().unwrap_or_else(|| NotRecorded::now("the event could not be recorded")))
            }
            Err(_) => {
                Err(NotRecorded::now(format!("the disk did not take the event within {} s", shared.patience.as_secs())))
            }
        }
    }

    /// A signed statement of where the ledger ends now, where one can be had soon.
    pub(crate) async fn checkpoint(&self) -> Option<Value> {
        let shared = self.0.as_ref().filter(|shared| shared.running.get())?;
        let (sender, head) = oneshot::channel();
        {
            let mut state = shared.state.borrow_mut();
            if state.heads.len() >= MAX_HEADS || state.health != Health::Recording {
                return None;
            }
            state.heads.push_back(sender);
        }
        shared.posted.notify_one();
        let text = timeout(HEAD, head).await.ok()?.ok()??;
        serde_json::from_str(&text).ok().filter(Value::is_object)
    }

    fn put(&self, noted: Noted, awaited: Option<oneshot::Sender<bool>>) {
        let Some(shared) = &self.0 else { return };
        let start = shared.start.borrow_mut().take();
        {
            let state = &mut *shared.state.borrow_mut();
            if let Some(start) = start {
                state.queue.put(start, None);
            }
            state.queue.put(shared.event(noted), awaited);
            if let Health::Lost(_) = state.health {
                state.queue.lose_all();
            }
        }
        shared.run();
        shared.posted.notify_one();
    }

    /// Waits until what was noted is recorded, half a second at most, and lets the worker go.
    pub async fn close(&self) {
        let Some(shared) = self.0.as_ref().filter(|shared| shared.running.get()) else { return };
        shared.state.borrow_mut().closing = true;
        shared.posted.notify_one();
        let done = async {
            while shared.running.get() {
                shared.changed.notified().await;
            }
        };
        let left = timeout(CLOSING, done).await.is_err();
        let lost = shared.state.borrow().queue.unrecorded();
        if lost > 0 {
            let why = self.unrecorded().unwrap_or_else(|| "the end came first".to_owned());
            log::warn(&format!("audit: {lost} events are not known to be recorded: {why}"));
        } else if left {
            log::debug("audit: the worker takes long to end and is left to the launcher");
        }
    }
}

impl Shared {
    /// Starts the task, once, unless there is nothing that it could do.
    fn run(self: &Rc<Self>) {
        let hopeless = matches!(self.state.borrow().health, Health::Lost(_));
        if !hopeless && !self.running.replace(true) {
            self.set(Health::Starting);
            spawn_local(scribe::serve(Rc::clone(self)));
        }
    }

    async fn until(&self, holds: impl Fn(&State) -> bool) {
        while !holds(&self.state.borrow()) {
            self.changed.notified().await;
        }
    }

    /// Takes note of how it stands, and says once what the operator should know.
    fn set(&self, health: Health) {
        let before = std::mem::replace(&mut self.state.borrow_mut().health, health.clone());
        match (&before, &health) {
            (before, health) if before == health => {}
            (_, Health::Failing(why)) => log::warn(&format!("audit: calls are not recorded for now: {why}")),
            (_, Health::Lost(why)) => log::warn(&format!("audit: calls are not recorded: {why}")),
            (Health::Failing(_), Health::Recording) => log::warn("audit: calls are recorded again"),
            _ => {}
        }
        self.changed.notify_waiters();
    }

    fn event(&self, noted: Noted) -> Event {
        let client = noted.client.as_deref().map(printable).filter(|name| !name.is_empty());
        let client = client.unwrap_or_else(|| "mcp-client".to_owned());
        // the contract's program writes the agent's name alone
        let session = if self.compat { client } else { format!("{client}:{}", self.session) };
        Event {
            kind: noted.kind,
            tool: noted.tool,
            result: noted.result,
            scope: noted.scope,
            arguments: noted.arguments,
            session,
            duration_ms: u64::try_from(noted.duration.as_millis()).unwrap_or(u64::MAX),
            summary: noted.summary,
            reported: noted.reported.map(|text| text.chars().take(MAX_REPORTED).collect()),
            timestamp: now(),
            place: 0,
            numbers: noted.numbers,
            write: noted.write,
        }
    }
}

/// A client's name as far as it is one: letters, digits and a few signs.
fn printable(name: &str) -> String {
    let fine = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | '/');
    name.chars().filter(fine).take(MAX_CLIENT).collect::<String>().trim().to_owned()
}

/// The first event: what was in force, in the words of `doctor` and of the handshake. The roots are digested like arguments.
fn start_of(settings: &Settings) -> Event {
    let isolation = format!("{}: {}", settings.demand.name(), settings.standing.text());
    let gateway = settings.gateway.map_or_else(|| "none".to_owned(), |address| address.to_string());
    Event {
        kind: Kind::Start,
        tool: "bulkhead".to_owned(),
        result: Outcome::Success,
        scope: Scope::Unknown,
        arguments: Some(canonical::sha256(&Value::from(settings.roots_text.clone()))),
        session: String::new(),
        duration_ms: 0,
        summary: format!(
            "isolation {isolation}; audit {}; roots {}; gateway {gateway}{}",
            settings.audit.mode.name(),
            settings.roots_text.len(),
            match settings.surface {
                Surface::Review => String::new(),
                Surface::Direct | Surface::Both => format!("; writes {}", settings.direct.gate),
            }
        ),
        reported: None,
        timestamp: now(),
        place: 0,
        numbers: Vec::new(),
        write: None,
    }
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A time to wait before the next try, growing from a tenth of a second to half a minute.
#[derive(Debug)]
struct Pause(Duration);

impl Pause {
    const FIRST: Duration = Duration::from_millis(100);
    const LAST: Duration = Duration::from_secs(30);

    fn next(&mut self) -> Instant {
        let pause = self.0;
        self.0 = (pause * 4).min(Self::LAST);
        Instant::now() + pause
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let health = self.0.as_ref().map(|shared| shared.state.borrow().health.clone());
        f.debug_tuple("Audit").field(&health).finish()
    }
}
