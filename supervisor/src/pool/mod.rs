//! The pool of read workers: which worker answers which call, and what a call learns when none does.
//! Trust: calls are hostile in number and content, workers are treated as taken over; neither delays another's call.
//!
//! Everything runs on one thread; no state is borrowed across an await.

mod attend;
mod missing;
mod roster;
mod verdict;

pub use roster::{MAX_QUEUE, parts_at_once};

use crate::{
    audit::Audit,
    backoff::{Admission, Backoff},
    carrier::Carrier,
    company::OwnPresence,
    control::{Control, Tick},
    errands::{Comparisons, Errands, RemoteWrites, Scans, Writes},
    gateway::{Bridge, Interrupted},
    log,
    outcome::{Answered, CallError},
    poison::Poison,
    reads::{Client, Question, Reads},
    recent::Recent,
    route::Routes,
    settings::Settings,
    worker::Vigil,
};
use bulkhead_contract::isolation::{Demand, Report};
use bulkhead_ipc::edge::{
    agents::{self, Sources},
    gateway::{Exchange, Outcome},
    read::Ask,
    syntax,
    write::{self, Operation},
};
use roster::Roster;
use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::BTreeSet,
    rc::Rc,
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until, timeout},
};

/// Progress that may wait to be passed on.
const TICKS: usize = 16;
/// Time after which a call past its deadline is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Repositories whose last look at other agents is remembered.
const MAX_SCANNED: usize = 16;
/// Time that [`Pool::close`] takes at most.
const CLOSING: Duration = Duration::from_millis(200);

/// All read workers.
#[derive(Clone)]
pub struct Pool(Rc<Shared>);

struct Shared {
    settings: Rc<Settings>,
    carrier: Rc<dyn Carrier>,
    /// Why every call is refused: this very process is not confined as demanded.
    refusal: Option<CallError>,
    state: RefCell<State>,
    /// Who hears of workers that fell.
    audit: OnceCell<Audit>,
    /// Workers that look for other agents.
    scans: Errands<Scans>,
    /// Workers that parse.
    comparisons: Errands<Comparisons>,
    /// Those that write, without a network.
    writes: Errands<Writes>,
    /// Those that fetch and push.
    remote_writes: Errands<RemoteWrites>,
    /// What others are told of this server.
    presence: OwnPresence,
    /// The way to the gateway.
    bridge: Bridge,
}

struct State {
    roster: Roster,
    routes: Routes,
    backoff: Backoff,
    poison: Poison,
    closing: bool,
    /// What the last look at each repository made of other agents' files.
    scanned: Recent<Vec<u8>, Vec<agents::Known>>,
    /// Capabilities that a warning has named.
    told_missing: BTreeSet<String>,
}

/// One question on its way to a worker.
struct Job {
    path: Rc<str>,
    ask: Ask,
    fingerprint: [u8; 32],
    deadline: Instant,
    /// Time that the call had when it came.
    time: Duration,
    /// It is a part of a larger call.
    part: bool,
    reply: oneshot::Sender<Verdict>,
    ticks: mpsc::Sender<Tick>,
    /// A worker has it: from now on its task watches the deadline.
    begun: Rc<Cell<bool>>,
}

impl Job {
    fn vigil(&mut self) -> Vigil<'_> {
        Vigil::new(self.deadline, self.reply.closed(), &self.ticks)
    }
}

/// What the worker's task says about a job.
enum Verdict {
    Answered(Answered),
    Failed(CallError),
    /// The path leads elsewhere; a new worker will know where.
    Moved,
    /// The worker had ended before it could hear of it; another one will.
    Unheard,
}

impl Pool {
    /// An empty pool. `own` is what the supervisor's own jail is; with `Demand::Required`, one that falls short has
    /// every call refused.
    #[must_use]
    pub fn new(settings: Rc<Settings>, carrier: Rc<dyn Carrier>, own: &Report) -> Self {
        let refusal = refusal(&settings, own);
        let scans = Errands::new(Rc::clone(&settings), Rc::clone(&carrier), own);
        let comparisons = Errands::new(Rc::clone(&settings), Rc::clone(&carrier), own);
        let writes = Errands::new(Rc::clone(&settings), Rc::clone(&carrier), own);
        let remote_writes = Errands::new(Rc::clone(&settings), Rc::clone(&carrier), own);
        let presence = OwnPresence::new(&settings, &carrier, own);
        let bridge = Bridge::new(Rc::clone(&settings), Rc::clone(&carrier), own);
        let state = State {
            roster: Roster::new(settings.max_workers, settings.workers_per_repository),
            routes: Routes::default(),
            backoff: Backoff::default(),
            poison: Poison::default(),
            closing: false,
            scanned: Recent::new(MAX_SCANNED),
            told_missing: BTreeSet::new(),
        };
        let (state, audit) = (RefCell::new(state), OnceCell::new());
        let shared = Shared {
            settings,
            carrier,
            refusal,
            state,
            audit,
            scans,
            comparisons,
            writes,
            remote_writes,
            presence,
            bridge,
        };
        Self(Rc::new(shared))
    }

    /// Tells `audit` of workers that end unasked, from now on; the first one is told alone.
    pub fn tell(&self, audit: Audit) {
        self.0.scans.tell(audit.clone());
        self.0.bridge.tell(audit.clone());
        self.0.comparisons.tell(audit.clone());
        self.0.writes.tell(audit.clone());
        self.0.remote_writes.tell(audit.clone());
        let _ = self.0.audit.set(audit);
    }

    /// Lets writes that nobody waits for any more come to their end, for as long as they are given: what a Git that is ended has
    /// left is undone by then.
    pub async fn settle(&self) {
        self.0.writes.close();
        self.0.remote_writes.close();
        tokio::join!(self.0.writes.settle(), self.0.remote_writes.settle());
    }

    /// Ends all workers and answers what still waits; takes seven tenths of a second at most.
    pub async fn close(&self) {
        let waiting = {
            let mut state = self.0.state.borrow_mut();
            state.closing = true;
            state.roster.close()
        };
        drop(waiting);
        self.0.scans.close();
        self.0.comparisons.close();
        self.0.presence.leave().await;
        self.0.bridge.close();
        if timeout(CLOSING, self.0.carrier.close()).await.is_err() {
            log::warn("workers refuse to end; the kernel ends them with the launcher");
        }
    }

    /// How many workers there are, those that are starting or ending included.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.0.state.borrow().roster.len()
    }
}

impl Reads for Pool {
    async fn read(&self, question: Question, mut control: Control) -> Result<Answered, CallError> {
        if let Some(refusal) = &self.0.refusal {
            return Err(refusal.clone());
        }
        let (most, part) = (self.0.settings.deadline, control.limit().is_some());
        let time = control.limit().map_or(most, |limit| limit.min(most));
        let deadline = Instant::now() + time;
        let Question { path, ask, fingerprint } = question;
        let path: Rc<str> = path.into();
        let mut why = "";
        for _ in 0..2 {
            self.0.admit(&path, fingerprint, deadline, &mut control).await?;
            let (reply, verdict) = oneshot::channel();
            let (ticks, passed) = mpsc::channel(TICKS);
            let begun = Rc::new(Cell::new(false));
            let (path, ask) = (Rc::clone(&path), ask.clone());
            let begun_too = Rc::clone(&begun);
            let job = Job { path, ask, fingerprint, deadline, time, part, reply, ticks, begun: begun_too };
            self.0.place(Box::new(job))?;
            match self.0.wait(verdict, passed, &begun, (deadline, time), &mut control).await? {
                Verdict::Answered(answered) => return Ok(answered),
                Verdict::Failed(error) => return Err(error),
                Verdict::Moved => why = "the path led to another repository each time it was looked at; try again",
                Verdict::Unheard => why = "workers ended before they could hear of the call; try again",
            }
        }
        Err(CallError::Unavailable { why: why.to_owned() })
    }

    fn noted(&self, client: &Client, tool: &str, canonical: &[u8]) {
        self.0.presence.note(client, tool, canonical);
    }

    async fn scan(
        &self,
        root: Vec<u8>,
        traced: Vec<String>,
        control: Control,
    ) -> Result<[agents::Found; 2], CallError> {
        let known = self.0.state.borrow_mut().scanned.get(&root).cloned().unwrap_or_default();
        let ask = |at: Sources| self.0.scans.ask(agents::Scan { root: root.clone(), at }, control.clone());
        let (processes, mut stores) =
            tokio::try_join!(ask(Sources::Processes { traced }), ask(Sources::Stores { known }))?;
        self.0.state.borrow_mut().scanned.put(root, std::mem::take(&mut stores.known));
        Ok([processes, stores])
    }

    async fn exchange(&self, exchange: Exchange, control: Control) -> Result<Outcome, Interrupted> {
        self.0.bridge.exchange(exchange, control).await
    }

    async fn write(&self, operation: Operation, control: Control) -> Result<write::Outcome, CallError> {
        match operation.is_remote() {
            true => self.0.remote_writes.ask(operation, control).await,
            false => self.0.writes.ask(operation, control).await,
        }
    }

    async fn syntax(&self, ask: syntax::Ask, control: Control) -> Result<syntax::Reply, CallError> {
        self.0.comparisons.ask(ask, control).await
    }
}

/// Why every call is refused: with `Demand::Required`, the supervisor's own jail falls short.
pub(crate) fn refusal(settings: &Settings, own: &Report) -> Option<CallError> {
    match settings.demand {
        Demand::Required => crate::worker::shortfall(own)
            .map(|(layer, cause)| CallError::IsolationMissing { layer, cause: format!("{}: {cause}", own.process) }),
        Demand::BestEffort | Demand::Off => None,
    }
}

impl Shared {
    /// Holds a call back while its home is poisoned or backing off.
    async fn admit(
        &self,
        path: &Rc<str>,
        fingerprint: [u8; 32],
        deadline: Instant,
        control: &mut Control,
    ) -> Result<(), CallError> {
        loop {
            let admission = {
                let state = &mut *self.state.borrow_mut();
                let home = state.routes.home(path);
                let call = (fingerprint, home);
                if let Some(left) = state.poison.refused(&call, Instant::now()) {
                    return Err(CallError::Poisoned { seconds: left.as_secs().max(1) });
                }
                // back-off is about starts; a worker that is there may be asked
                if state.roster.has_idle(&call.1) {
                    Admission::Now
                } else {
                    state.backoff.admit(&call.1, Instant::now())
                }
            };
            let until = match admission {
                Admission::Now => return Ok(()),
                Admission::At(until) if until < deadline => until,
                Admission::At(until) | Admission::Open(until) => {
                    let seconds = until.saturating_duration_since(Instant::now()).as_secs().max(1);
                    let why = format!("workers for this repository ended too often; the next try is in {seconds} s");
                    return Err(CallError::Unavailable { why });
                }
            };
            tokio::select! {
                biased;
                () = control.stopped() => return Err(CallError::Cancelled),
                () = sleep_until(until) => {}
            }
        }
    }

    /// Waits for the verdict, passing progress on. Leaving by any other way drops the receiver, which tells the worker's
    /// task that nobody waits.
    async fn wait(
        &self,
        mut verdict: oneshot::Receiver<Verdict>,
        mut passed: mpsc::Receiver<Tick>,
        begun: &Cell<bool>,
        (deadline, time): (Instant, Duration),
        control: &mut Control,
    ) -> Result<Verdict, CallError> {
        let (mut ticking, mut look) = (true, deadline);
        loop {
            tokio::select! {
                biased;
                verdict = &mut verdict => {
                    return verdict.map_err(|_| CallError::Unavailable { why: "the server is ending".to_owned() });
                }
                tick = passed.recv(), if ticking => match tick {
                    Some(tick) => control.tick(tick),
                    None => ticking = false,
                },
                () = control.stopped() => return Err(CallError::Cancelled),
                () = sleep_until(look) => {
                    if !begun.get() {
                        let seconds = time.as_secs();
                        let why = format!("all workers that this call may use were busy for {seconds} s");
                        return Err(CallError::Unavailable { why });
                    }
                    // a worker's task has it and watches the same deadline, but it may yet hand it back
                    look += LOOK_AGAIN;
                }
            }
        }
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("workers", &self.workers()).finish_non_exhaustive()
    }
}
