//! The way to the application behind the gateway's address: one exchange in, what became of it out.
//! Trust: exchanges are this process's own and are checked again; what comes back was said by whoever listens there.
//!
//! One worker carries all of them, up to [`MAX_OPEN`] at the same time: every stream leads to the same peer, so that a second
//! process would wall off nothing, and the token lies in one memory. Whoever waits for room waits within its own time.
//! Everything runs on one thread; no state is borrowed across an await.

use super::{crew, talk::Talk};
use crate::{
    audit::Audit,
    backoff::{Admission, Backoff},
    carrier::Carrier,
    control::Control,
    log,
    outcome::CallError,
    pool::refusal,
    settings::Settings,
    worker::Fall,
};
use bulkhead_contract::isolation::Report;
use bulkhead_ipc::edge::{
    WorkerKind,
    gateway::{Exchange, Failure, MAX_HELD, MAX_OPEN, Outcome},
};
use std::{
    cell::{Cell, OnceCell, RefCell},
    net::SocketAddr,
    rc::Rc,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot},
    task::{JoinHandle, spawn_local},
    time::{Instant, sleep_until},
};

/// What an outcome may come later than the exchange's own time: the worker watches that itself.
const SLACK: Duration = Duration::from_secs(1);
/// Unit of [`MAX_HELD`] in which room for bodies is counted.
const UNIT: usize = 1 << 10;

/// Carries exchanges. A clone is the same bridge.
#[derive(Clone)]
pub struct Bridge(Rc<Shared>);

pub(super) struct Shared {
    pub(super) settings: Rc<Settings>,
    pub(super) carrier: Rc<dyn Carrier>,
    /// Why nothing is carried: this very process is not confined as demanded.
    refusal: Option<CallError>,
    places: Arc<Semaphore>,
    room: Arc<Semaphore>,
    ids: Cell<u64>,
    /// The task of the worker that is there, or is starting.
    pub(super) crew: RefCell<Option<mpsc::UnboundedSender<Told>>>,
    /// The last task; a new worker waits for the end of the one before it, since the launcher serves one.
    last: RefCell<Option<JoinHandle<()>>>,
    pub(super) backoff: RefCell<Backoff<WorkerKind>>,
    audit: OnceCell<Audit>,
}

/// An exchange that did not come to an outcome, for a reason on this side of the wire.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{why}")]
pub struct Interrupted {
    /// `IsolationMissing`, `Unavailable`, `WorkerDied`, `Cancelled`.
    pub why: CallError,
    /// A byte of the request may have left.
    pub sent: bool,
}

/// What the task of a worker is told.
pub(super) enum Told {
    Ask(Box<Asked>),
    /// Nobody waits for this one any more.
    Leave(u64),
}

/// One exchange on its way.
pub(super) struct Asked {
    pub(super) id: u64,
    pub(super) exchange: Exchange,
    pub(super) deadline: Instant,
    pub(super) sent: Rc<Cell<bool>>,
    pub(super) reply: oneshot::Sender<Verdict>,
    /// Given back when the worker has closed it.
    pub(super) held: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

/// What came of it.
pub(super) enum Verdict {
    Outcome(Outcome),
    Lost(CallError),
    /// The worker had ended before a byte of it could leave; another one may be asked.
    Unsent(CallError),
}

impl Bridge {
    /// Nobody is started yet. `own` is what the supervisor's own jail is.
    #[must_use]
    pub fn new(settings: Rc<Settings>, carrier: Rc<dyn Carrier>, own: &Report) -> Self {
        Self(Rc::new(Shared {
            refusal: refusal(&settings, own),
            settings,
            carrier,
            places: Arc::new(Semaphore::new(MAX_OPEN)),
            room: Arc::new(Semaphore::new(MAX_HELD / UNIT)),
            ids: Cell::new(0),
            crew: RefCell::new(None),
            last: RefCell::new(None),
            backoff: RefCell::new(Backoff::default()),
            audit: OnceCell::new(),
        }))
    }

    /// Tells `audit` of workers that end unasked, from now on; the first one is told alone.
    pub fn tell(&self, audit: Audit) {
        let _ = self.0.audit.set(audit);
    }

    /// Where the application is said to listen; `None` where no gateway is configured.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.0.settings.gateway
    }

    /// Whether a gateway is configured; whether it answers shows only an exchange.
    #[must_use]
    pub fn configured(&self) -> bool {
        self.address().is_some()
    }

    /// Whether the application has to show that it knows the operator's token, so that facts may leave with a proposal. Where
    /// this holds, an exchange that asks for `authentic` is answered authentically or not at all.
    #[must_use]
    pub fn authenticates(&self) -> bool {
        self.configured() && self.0.settings.gateway_token
    }

    /// Carries one exchange to its end. Ends within its budget and the little that asking the worker takes; a call that
    /// is stopped ends at once.
    ///
    /// # Errors
    /// [`Interrupted`]. Never for what the other side did: that is an [`Outcome`].
    pub async fn exchange(&self, exchange: Exchange, mut control: Control) -> Result<Outcome, Interrupted> {
        let unsent = |why| Interrupted { why, sent: false };
        if let Some(refusal) = &self.0.refusal {
            return Err(unsent(refusal.clone()));
        }
        if !self.configured() {
            return Ok(Outcome::Failed { why: Failure::Unreachable, sent: false });
        }
        exchange.check().map_err(|unfit| unsent(CallError::Unavailable { why: unfit.to_string() }))?;
        let deadline = Instant::now() + Duration::from_millis(u64::from(exchange.budget_ms));
        let mut why = CallError::Cancelled;
        // a worker that ended before a byte of this could leave is followed by another one, once
        for _ in 0..2 {
            let sent = Rc::new(Cell::new(false));
            let asked = self.0.ask(&exchange, deadline, &sent, &mut control).await;
            let (id, mut verdict) = match asked {
                Ok(Some(asked)) => asked,
                Ok(None) => return Ok(Outcome::Failed { why: Failure::Timeout, sent: false }),
                Err(why) => return Err(unsent(why)),
            };
            let verdict = tokio::select! {
                biased;
                verdict = &mut verdict => {
                    verdict.unwrap_or_else(|_| Verdict::Lost(ending()))
                }
                () = control.stopped() => {
                    self.0.leave(id);
                    Verdict::Lost(CallError::Cancelled)
                }
                () = sleep_until(deadline + SLACK) => {
                    self.0.leave(id);
                    Verdict::Outcome(Outcome::Failed { why: Failure::Timeout, sent: sent.get() })
                }
            };
            match verdict {
                Verdict::Outcome(outcome) => return Ok(outcome),
                Verdict::Lost(why) => return Err(Interrupted { why, sent: sent.get() }),
                Verdict::Unsent(fallen) => why = fallen,
            }
        }
        Err(unsent(why))
    }

    /// Lets the worker go; what is open ends with it.
    pub fn close(&self) {
        self.0.places.close();
        self.0.crew.borrow_mut().take();
    }
}

fn ending() -> CallError {
    CallError::Unavailable { why: "the server is ending".to_owned() }
}

impl Shared {
    /// Waits for room and for a worker that may be started, and hands the exchange over; `None` where its time was over first.
    async fn ask(
        self: &Rc<Self>,
        exchange: &Exchange,
        deadline: Instant,
        sent: &Rc<Cell<bool>>,
        control: &mut Control,
    ) -> Result<Option<(u64, oneshot::Receiver<Verdict>)>, CallError> {
        let units = exchange.body.as_ref().map_or(0, Vec::len).div_ceil(UNIT);
        let held = async {
            let place = Arc::clone(&self.places).acquire_owned().await;
            let room = Arc::clone(&self.room).acquire_many_owned(u32::try_from(units).unwrap_or(u32::MAX)).await;
            (place, room)
        };
        let held = tokio::select! {
            biased;
            held = held => held,
            () = control.stopped() => return Err(CallError::Cancelled),
            () = sleep_until(deadline) => return Ok(None),
        };
        let (Ok(place), Ok(room)) = held else { return Err(ending()) };
        loop {
            // back-off is about starts; a worker that is there may be asked
            if self.crew.borrow().is_some() {
                break;
            }
            let admission = self.backoff.borrow_mut().admit(&WorkerKind::Gateway, Instant::now());
            let until = match admission {
                Admission::Now => break,
                Admission::At(until) if until < deadline => until,
                Admission::At(until) | Admission::Open(until) => {
                    let seconds = until.saturating_duration_since(Instant::now()).as_secs().max(1);
                    let why =
                        format!("the worker that talks to the gateway ended too often; the next try is in {seconds} s");
                    return Err(CallError::Unavailable { why });
                }
            };
            tokio::select! {
                biased;
                () = control.stopped() => return Err(CallError::Cancelled),
                () = sleep_until(until) => {}
            }
        }
        let id = self.ids.get() + 1;
        self.ids.set(id);
        let (reply, verdict) = oneshot::channel();
        let asked =
            Asked { id, exchange: exchange.clone(), deadline, sent: Rc::clone(sent), reply, held: (place, room) };
        self.hand(Told::Ask(Box::new(asked)));
        Ok(Some((id, verdict)))
    }

    fn leave(&self, id: u64) {
        if let Some(crew) = &*self.crew.borrow() {
            let _ = crew.send(Told::Leave(id));
        }
    }

    /// To the task of the worker, which is started where there is none.
    fn hand(self: &Rc<Self>, mut told: Told) {
        let mut crew = self.crew.borrow_mut();
        if let Some(there) = &*crew {
            match there.send(told) {
                Ok(()) => return,
                Err(mpsc::error::SendError(back)) => told = back,
            }
        }
        let (sender, heard) = mpsc::unbounded_channel();
        // its receiver is here
        let _ = sender.send(told);
        *crew = Some(sender);
        let before = self.last.borrow_mut().take();
        let task = spawn_local(crew::serve(Rc::clone(self), heard, before));
        *self.last.borrow_mut() = Some(task);
    }

    /// Draws the consequences of a fall.
    pub(super) fn report(&self, talk: Option<&Talk>, fall: &Fall) {
        let (how, forbidden) = match fall {
            Fall::Died { how, forbidden } | Fall::Unheard { how, forbidden } => (how.as_str(), *forbidden),
            Fall::Late { .. } => ("it did not greet in time", false),
            Fall::NotStarted(e) => return log::warn(&format!("no worker that talks to the gateway: {e}")),
            Fall::Refused(_) | Fall::Short { .. } | Fall::Moved | Fall::Left => return,
        };
        self.backoff.borrow_mut().died(&WorkerKind::Gateway, Instant::now(), forbidden);
        let (name, words) =
            talk.map_or(("worker-gateway", String::new()), |talk| (talk.link.name(), talk.link.last_words().text()));
        let words = if words.is_empty() { words } else { format!("; its last words: {words}") };
        log::warn(&format!("{name}: {how}{words}"));
        if let Some(audit) = self.audit.get() {
            audit.worker_ended(talk.and_then(|talk| talk.link.pid()), how);
        }
    }
}

impl std::fmt::Debug for Bridge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bridge").field("address", &self.address()).finish_non_exhaustive()
    }
}
