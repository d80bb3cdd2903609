//! Workers that belong to no repository: started on first use, asked one question at a time, dismissed after idling.
//! Trust: questions are checked, workers are treated as taken over; one that falls costs the one call that it served.
//!
//! A kind of errand is a row: it says which worker answers, how many live, how long one of them serves, and what fits as
//! an answer. Everything runs on one thread; no state is borrowed across an await.

mod kinds;
mod talk;

pub use kinds::{Comparisons, Notes, RemoteWrites, Scans, Writes};
pub use talk::Talk;

use crate::{
    audit::Audit,
    backoff::{Admission, Backoff},
    carrier::{Carrier, Ending},
    control::Control,
    log,
    outcome::CallError,
    pool::refusal,
    settings::Settings,
    worker::{Fall, Vigil},
};
use bulkhead_contract::isolation::Report;
use bulkhead_ipc::{
    Error,
    edge::{WorkerKind, errand::ErrandAnswer},
};
use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::VecDeque,
    rc::Rc,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    task::spawn_local,
    time::{Instant, sleep, sleep_until},
};

/// One kind of errand.
pub trait Errand: 'static {
    /// Who answers.
    const KIND: WorkerKind;
    /// What the log calls its workers.
    const NAME: &'static str;
    /// Workers at the same time at most; calls beyond them wait.
    const MOST: usize;
    /// Questions that one worker answers; after the last it is let go.
    const SERVES: u64;
    /// How many are kept started and unasked, once there was a first question: for a kind whose workers serve only once.
    const SPARE: usize;
    /// Time that a worker has to stop by itself where nobody waits for it any more.
    const GRACE: Duration = crate::worker::GRACE;
    /// Whether the jail is finished before the first question; where it is not, that question's answer comes with the report.
    const CLOSED_AT_START: bool;
    /// A question.
    type Ask: Clone + 'static;
    /// A reply.
    type Reply: 'static;

    /// The messages that ask: one, or as many pieces as a long question takes.
    ///
    /// # Errors
    /// Those of the codec.
    fn call(id: u64, budget_ms: u32, ask: Self::Ask) -> Result<VecDeque<Vec<u8>>, Error>;

    /// The message that asks for nothing any more.
    ///
    /// # Errors
    /// Those of the codec.
    fn cancel(id: u64) -> Result<Vec<u8>, Error>;

    /// The message that asks for a self-probe.
    ///
    /// # Errors
    /// Those of the codec.
    fn probe(id: u64) -> Result<Vec<u8>, Error>;

    /// The whole answer, decoded.
    ///
    /// # Errors
    /// Those of the codec.
    fn answer(whole: &[u8]) -> Result<ErrandAnswer<Self::Reply>, Error>;

    /// Whether a reply is one to this question, and within the edge's bounds.
    fn fits(ask: &Self::Ask, reply: &Self::Reply) -> bool;
}

/// All workers of one kind of errand.
pub struct Errands<E: Errand>(Rc<Shared<E>>);

impl<E: Errand> Clone for Errands<E> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

struct Shared<E: Errand> {
    settings: Rc<Settings>,
    carrier: Rc<dyn Carrier>,
    /// Why every question is refused: this very process is not confined as demanded.
    refusal: Option<CallError>,
    places: Arc<Semaphore>,
    idle: RefCell<VecDeque<Resting<E>>>,
    /// Workers that are being started for the next questions.
    spares: Cell<usize>,
    backoff: RefCell<Backoff<WorkerKind>>,
    audit: OnceCell<Audit>,
}

/// A worker that has nothing to do; its task gives it back when it is asked to.
struct Resting<E: Errand>(oneshot::Sender<oneshot::Sender<Talk<E>>>);

/// What came of a question.
type Verdict<E> = Result<<E as Errand>::Reply, CallError>;

/// A question on its way.
struct Job<E: Errand> {
    ask: E::Ask,
    deadline: Instant,
    time: Duration,
    reply: oneshot::Sender<Verdict<E>>,
}

impl<E: Errand> Errands<E> {
    /// Nobody is started yet. `own` is what the supervisor's own jail is.
    #[must_use]
    pub fn new(settings: Rc<Settings>, carrier: Rc<dyn Carrier>, own: &Report) -> Self {
        let refusal = refusal(&settings, own);
        Self(Rc::new(Shared {
            settings,
            carrier,
            refusal,
            places: Arc::new(Semaphore::new(E::MOST)),
            idle: RefCell::new(VecDeque::new()),
            spares: Cell::new(0),
            backoff: RefCell::new(Backoff::default()),
            audit: OnceCell::new(),
        }))
    }

    /// Tells `audit` of workers that end unasked, from now on; the first one is told alone.
    pub fn tell(&self, audit: Audit) {
        let _ = self.0.audit.set(audit);
    }

    /// Asks, and waits for the answer until the deadline.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn ask(&self, ask: E::Ask, mut control: Control) -> Result<E::Reply, CallError> {
        if let Some(refusal) = &self.0.refusal {
            return Err(refusal.clone());
        }
        let most = self.0.settings.deadline;
        let time = control.limit().map_or(most, |limit| limit.min(most));
        let deadline = Instant::now() + time;
        let place = self.0.admit(deadline, time, &mut control).await?;
        let (reply, mut verdict) = oneshot::channel();
        let job = Job { ask, deadline, time, reply };
        drop(spawn_local(attend(Rc::clone(&self.0), job, place)));
        tokio::select! {
            biased;
            verdict = &mut verdict => {
                verdict.unwrap_or_else(|_| Err(CallError::Unavailable { why: "the server is ending".to_owned() }))
            }
            () = control.stopped() => Err(CallError::Cancelled),
        }
    }

    /// Lets all idle workers go.
    pub fn close(&self) {
        self.0.places.close();
        self.0.idle.borrow_mut().clear();
    }

    /// Waits until no worker is at work any more, for as long as one may take to stop by itself. Only after those who wait for
    /// answers have left.
    pub async fn settle(&self) {
        let until = Instant::now() + E::GRACE;
        while self.0.places.available_permits() < E::MOST && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl<E: Errand> Shared<E> {
    /// Waits until the kind may be started again, and for a place.
    async fn admit(
        &self,
        deadline: Instant,
        time: Duration,
        control: &mut Control,
    ) -> Result<OwnedSemaphorePermit, CallError> {
        let seconds = time.as_secs();
        let busy = || CallError::Unavailable { why: format!("all of {} were busy for {seconds} s", E::NAME) };
        let place = tokio::select! {
            biased;
            place = Arc::clone(&self.places).acquire_owned() => place,
            () = control.stopped() => return Err(CallError::Cancelled),
            () = sleep_until(deadline) => return Err(busy()),
        };
        let place = place.map_err(|_| CallError::Unavailable { why: "the server is ending".to_owned() })?;
        loop {
            // back-off is about starts; a worker that is there may be asked
            if !self.idle.borrow().is_empty() {
                return Ok(place);
            }
            let admission = self.backoff.borrow_mut().admit(&E::KIND, Instant::now());
            let until = match admission {
                Admission::Now => return Ok(place),
                Admission::At(until) if until < deadline => until,
                Admission::At(until) | Admission::Open(until) => {
                    let seconds = until.saturating_duration_since(Instant::now()).as_secs().max(1);
                    let why = format!("{} ended too often; the next try is in {seconds} s", E::NAME);
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

    /// A worker that rests, where one still lives.
    async fn rested(&self) -> Option<Talk<E>> {
        loop {
            // the one that worked last: the others grow old enough to be dismissed
            let resting = self.idle.borrow_mut().pop_back()?;
            let (give, given) = oneshot::channel();
            if resting.0.send(give).is_ok()
                && let Ok(talk) = given.await
            {
                return Some(talk);
            }
        }
    }

    /// Starts one and waits until it can be asked.
    async fn started(&self, vigil: &mut Vigil<'_>) -> Result<Talk<E>, (Option<Talk<E>>, Fall)> {
        let mut talk = Talk::start(&self.carrier, vigil).await.map_err(|fall| (None, fall))?;
        match talk.greet(self.settings.demand, vigil).await {
            Ok(()) => {
                log::info(&format!("{} is ready", talk.name()));
                Ok(talk)
            }
            Err(fall) => Err((Some(talk), fall)),
        }
    }

    /// Has a worker wait for its next question; lets it go when it idles for long, and takes note when it falls.
    fn rest(self: &Rc<Self>, mut talk: Talk<E>) {
        let (ask, asked) = oneshot::channel();
        self.idle.borrow_mut().push_back(Resting(ask));
        let shared = Rc::clone(self);
        drop(spawn_local(async move {
            tokio::select! {
                biased;
                fall = talk.rest() => shared.report(Some(&talk), &fall),
                wanted = asked => if let Ok(wanted) = wanted {
                    match wanted.send(talk) {
                        Ok(()) => return,
                        Err(unwanted) => talk = unwanted,
                    }
                },
                () = sleep(shared.settings.idle_stop) => {}
            }
            shared.let_go(talk, Ending::Dismiss).await;
            // what rests is found dead by its closed channel; none of them stays in the list for long
            shared.idle.borrow_mut().retain(|resting| !resting.0.is_closed());
        }));
    }

    async fn let_go(&self, mut talk: Talk<E>, ending: Ending) {
        let ended = talk.end(ending).await;
        log::info(&format!("{} is gone: {ended}", talk.name()));
    }

    /// Draws the consequences of a fall.
    fn report(&self, talk: Option<&Talk<E>>, fall: &Fall) {
        // that was us
        if self.places.is_closed() {
            return;
        }
        let (how, forbidden) = match fall {
            Fall::Died { how, forbidden } | Fall::Unheard { how, forbidden } => (how.as_str(), *forbidden),
            Fall::Late { .. } => ("the deadline passed", false),
            Fall::NotStarted(e) => return log::warn(&format!("no {}: {e}", E::NAME)),
            Fall::Refused(_) | Fall::Short { .. } | Fall::Moved | Fall::Left => return,
        };
        self.backoff.borrow_mut().died(&E::KIND, Instant::now(), forbidden);
        let (name, words) = talk.map_or((E::NAME, String::new()), |talk| (talk.name(), talk.last_words()));
        let words = if words.is_empty() { words } else { format!("; its last words: {words}") };
        log::warn(&format!("{name}: {how}{words}"));
        if let Some(audit) = self.audit.get() {
            audit.worker_ended(talk.and_then(Talk::pid), how);
        }
    }
}

/// Between two looks whether a worker is still at work.
const LOOK: Duration = Duration::from_millis(10);

/// Serves one question, by a worker that rests or a new one, and has the worker rest or leave.
async fn attend<E: Errand>(shared: Rc<Shared<E>>, job: Job<E>, place: OwnedSemaphorePermit) {
    let Job { ask, deadline, time, mut reply } = job;
    let (ticks, _heard) = mpsc::channel(1);
    let (mut left, mut place) = (None, Some(place));
    let outcome = {
        let mut vigil = Vigil::new(deadline, reply.closed(), &ticks).with_grace(E::GRACE);
        serve(&shared, ask, &mut vigil, &mut left).await
    };
    let verdict = match outcome {
        Ok(answer) => {
            shared.backoff.borrow_mut().answered(&E::KIND);
            answer.map_err(CallError::Read)
        }
        Err(fall) => {
            shared.report(left.as_ref(), &fall);
            if let Some(fallen) = left.take() {
                // it counts until it is gone: what it does until then must not meet the next one's work
                let (shared, place) = (Rc::clone(&shared), place.take());
                drop(spawn_local(async move {
                    shared.let_go(fallen, Ending::Kill).await;
                    drop(place);
                }));
            }
            Err(told(fall, time))
        }
    };
    // where nobody waits, the answer is dropped
    let _ = reply.send(verdict);
    match left {
        Some(talk) if talk.served() < E::SERVES => shared.rest(talk),
        Some(talk) => shared.let_go(talk, Ending::Dismiss).await,
        None => {}
    }
    drop(place);
    while shared.idle.borrow().len() + shared.spares.get() < E::SPARE && !shared.places.is_closed() {
        shared.spares.set(shared.spares.get() + 1);
        let ready = spare(&shared).await;
        shared.spares.set(shared.spares.get() - 1);
        if !ready {
            break;
        }
    }
}

/// Asks a worker that rests, or a new one where none does or it had ended unheard. `left` is whoever was asked.
async fn serve<E: Errand>(
    shared: &Rc<Shared<E>>,
    ask: E::Ask,
    vigil: &mut Vigil<'_>,
    left: &mut Option<Talk<E>>,
) -> Result<ErrandAnswer<E::Reply>, Fall> {
    if let Some(talk) = shared.rested().await {
        match left.insert(talk).serve(ask.clone(), shared.settings.demand, vigil).await {
            // it had ended before it could hear of this: a new one is asked, once
            Err(fall @ Fall::Unheard { .. }) => shared.report(left.take().as_ref(), &fall),
            outcome => return outcome,
        }
    }
    let talk = shared.started(vigil).await.map_err(|(talk, fall)| {
        *left = talk;
        fall
    })?;
    left.insert(talk).serve(ask, shared.settings.demand, vigil).await
}

/// Starts one for the next question, and says whether it is ready. Where that fails, the next question starts its own and says
/// why it cannot.
async fn spare<E: Errand>(shared: &Rc<Shared<E>>) -> bool {
    let admission = shared.backoff.borrow_mut().admit(&E::KIND, Instant::now());
    if admission != Admission::Now {
        return false;
    }
    let (ticks, _heard) = mpsc::channel(1);
    let mut vigil = Vigil::new(Instant::now() + shared.settings.deadline, std::future::pending(), &ticks);
    match shared.started(&mut vigil).await {
        Ok(talk) if shared.places.is_closed() => shared.let_go(talk, Ending::Dismiss).await,
        Ok(talk) => {
            shared.rest(talk);
            return true;
        }
        Err((talk, fall)) => shared.report(talk.as_ref(), &fall),
    }
    false
}

fn told(fall: Fall, time: Duration) -> CallError {
    match fall {
        Fall::NotStarted(e) => e.into(),
        Fall::Refused(failure) => CallError::Read(failure),
        Fall::Short { layer, cause } => CallError::IsolationMissing { layer, cause },
        Fall::Moved => CallError::WorkerDied { how: "it speaks of a path that nobody named".to_owned() },
        Fall::Died { how, .. } | Fall::Unheard { how, .. } => CallError::WorkerDied { how },
        Fall::Late { .. } => CallError::Deadline { seconds: time.as_secs() },
        Fall::Left => CallError::Cancelled,
    }
}

impl<E: Errand> std::fmt::Debug for Errands<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Errands")
            .field("of", &E::NAME)
            .field("idle", &self.0.idle.borrow().len())
            .finish_non_exhaustive()
    }
}
