//! One live worker-read: the conversation with it, and how that can end.
//! Trust: the worker is treated as taken over: what is not legal now, or does not fit the question, ends it.

mod reading;
mod status;
mod vigil;

pub use status::ProcStatus;
pub use vigil::{Alarm, GRACE, Vigil};

use crate::carrier::{Carrier, Ended, Ending, Link, Local, SIGSYS, StartError};
use bulkhead_contract::{
    failure::ReadFailure,
    isolation::{Demand, Report},
    limits::MAX_PATH_BYTES,
};
use bulkhead_ipc::{
    Error,
    edge::{
        WorkerKind,
        launcher::StatusOf,
        read::{Answer, Ask, Call, FromRead, Phase, Place, Ready, ToRead},
    },
};
use reading::{Reading, Said};
use std::{future::pending, rc::Rc, time::Duration};
use tokio::time::{Instant, timeout};

/// Time in which a worker that closed its channel is expected to end by itself, so that its own end can be named.
pub(crate) const LAST_BREATH: Duration = Duration::from_millis(500);

/// Why a worker is of no use any more.
#[derive(Debug)]
pub enum Fall {
    /// There never was one.
    NotStarted(StartError),
    /// It found nothing at its path that may be read.
    Refused(ReadFailure),
    /// Its jail falls short of what is demanded.
    Short {
        /// Capability that nothing takes away.
        layer: String,
        /// Why.
        cause: String,
    },
    /// The path of the call leads elsewhere now.
    Moved,
    /// It died, or broke its protocol and was killed.
    Died {
        /// In our own words.
        how: String,
        /// It tried a system call that its jail forbids.
        forbidden: bool,
    },
    /// It had ended before the question reached it, so that asking another one is safe.
    Unheard {
        /// In our own words.
        how: String,
        /// It tried a system call that its jail forbids.
        forbidden: bool,
    },
    /// The deadline passed.
    Late {
        /// Nothing had moved for a while.
        stuck: bool,
    },
    /// Nobody waits for its answer, and it did not stop when it was asked to.
    Left,
}

/// What a worker did that ends the conversation.
pub(crate) enum Breach {
    /// It closed its channel.
    Closed,
    /// It said what it may not say, or bytes that say nothing.
    Broke(String),
}

impl From<Error> for Breach {
    fn from(e: Error) -> Self {
        Breach::Broke(e.to_string())
    }
}

/// One live worker. Dropping it ends it.
pub struct Worker {
    link: Link,
    carrier: Rc<dyn Carrier>,
    phase: Phase,
    /// It was started for a path, so it must come with a repository.
    for_path: bool,
    calls: u64,
    /// What it said of its own jail.
    report: Option<Report>,
    /// Our own look at its `/proc` status; until it is over, no answer leaves.
    check: Option<Local<Result<(), (String, String)>>>,
}

impl Worker {
    /// Starts a worker for `path`; [`Worker::greet`] comes next.
    ///
    /// # Errors
    /// [`Fall::NotStarted`], [`Fall::Late`], [`Fall::Left`].
    pub async fn start(carrier: &Rc<dyn Carrier>, path: Option<&str>, vigil: &mut Vigil<'_>) -> Result<Self, Fall> {
        let mut start = carrier.start(WorkerKind::Read, path.map(|path| path.as_bytes().to_vec()));
        loop {
            tokio::select! {
                link = &mut start => {
                    let link = link.map_err(Fall::NotStarted)?;
                    let (carrier, for_path) = (Rc::clone(carrier), path.is_some());
                    let phase = Phase::Starting;
                    return Ok(Self { link, carrier, phase, for_path, calls: 0, report: None, check: None });
                }
                alarm = vigil.alarm() => match alarm {
                    Alarm::Leaving => {}
                    Alarm::Left => return Err(Fall::Left),
                    // nothing of the call has reached any process: a machine that is short of time is no call's fault
                    Alarm::Late => return Err(Fall::Late { stuck: false }),
                }
            }
        }
    }

    /// Waits until its jail is on and its repository open, and measures both against the demand.
    ///
    /// # Errors
    /// Any [`Fall`] but `NotStarted` and `Moved`.
    pub async fn greet(&mut self, demand: Demand, vigil: &mut Vigil<'_>) -> Result<Ready, Fall> {
        let heard = loop {
            tokio::select! {
                heard = hear(&mut self.link, self.phase) => break heard,
                alarm = vigil.alarm() => match alarm {
                    Alarm::Leaving => {}
                    Alarm::Left => return Err(Fall::Left),
                    Alarm::Late => return Err(Fall::Late { stuck: true }),
                }
            }
        };
        if let Ok(FromRead::Short(report) | FromRead::Refused { report, .. }) = &heard {
            self.report = Some(report.clone());
        }
        match heard {
            Ok(FromRead::Ready(ready)) => {
                self.report = Some(ready.report.clone());
                if ready.repository.is_some() != self.for_path {
                    return Err(self.fall(Breach::Broke("a repository where none belongs, or none".to_owned())).await);
                }
                let canonical = ready.repository.as_ref().map_or(0, |repository| repository.canonical.len());
                if canonical > MAX_PATH_BYTES {
                    return Err(self.fall(Breach::Broke(format!("a repository path of {canonical} bytes"))).await);
                }
                if demand == Demand::Required {
                    if let Some((layer, cause)) = shortfall(&ready.report) {
                        return Err(Fall::Short { layer, cause });
                    }
                    self.check = Some(look(&self.link, &self.carrier));
                }
                self.phase = Phase::Idle;
                Ok(*ready)
            }
            Ok(FromRead::Short(report)) => {
                let unnamed = || ("unknown".to_owned(), "the worker named no row".to_owned());
                let (layer, cause) = shortfall(&report).unwrap_or_else(unnamed);
                Err(Fall::Short { layer, cause })
            }
            Ok(FromRead::Refused { failure, report }) => {
                match shortfall(&report).filter(|_| demand == Demand::Required) {
                    Some((layer, cause)) => Err(Fall::Short { layer, cause }),
                    None => Err(Fall::Refused(failure)),
                }
            }
            Ok(_) => Err(self.fall(Breach::Broke("it greeted with another message".to_owned())).await),
            Err(breach) => Err(self.fall(breach).await),
        }
    }

    /// Asks one question and waits for the whole answer.
    ///
    /// # Errors
    /// `Short`, `Moved`, `Died`, `Unheard`, `Late` and `Left`; the worker must be let go after any of them.
    pub async fn serve(&mut self, place: Option<Place>, ask: Ask, vigil: &mut Vigil<'_>) -> Result<Answer, Fall> {
        self.calls += 1;
        let id = self.calls;
        self.phase = Phase::Serving(id);
        let budget = vigil.deadline().saturating_duration_since(Instant::now()).as_millis();
        let budget_ms = u32::try_from(budget).unwrap_or(u32::MAX);
        let mut reading = Reading::new(ask.clone());
        let call = Call { id, budget_ms, place, ask };
        if let Err(e) = self.link.post(&ToRead::Call(Box::new(call))) {
            return Err(self.fall(e.into()).await);
        }
        let (mut answer, mut cancelled) = (None, false);
        loop {
            if self.check.is_none()
                && let Some(answer) = answer.take()
            {
                self.phase = Phase::Idle;
                return Ok(answer);
            }
            tokio::select! {
                heard = hear(&mut self.link, self.phase), if answer.is_none() => {
                    match heard.and_then(|message| reading.take(message, vigil)) {
                        Ok(Said::More) => {}
                        Ok(Said::All(whole)) => answer = Some(whole),
                        Ok(Said::Moved) => return Err(Fall::Moved),
                        Err(Breach::Closed) if self.link.is_unheard() && !cancelled => {
                            return Err(match self.fall(Breach::Closed).await {
                                Fall::Died { how, forbidden } => Fall::Unheard { how, forbidden },
                                fall => fall,
                            });
                        }
                        Err(breach) => return Err(self.fall(breach).await),
                    }
                }
                checked = async { match &mut self.check { Some(check) => check.await, None => pending().await } } => {
                    self.check = None;
                    if let Err((layer, cause)) = checked {
                        return Err(self.unseen(layer, cause).await);
                    }
                }
                alarm = vigil.alarm() => match alarm {
                    Alarm::Leaving => {
                        cancelled = true;
                        if let Err(e) = self.link.post(&ToRead::Cancel { id }) {
                            return Err(self.fall(e.into()).await);
                        }
                    }
                    Alarm::Left => return Err(Fall::Left),
                    Alarm::Late => return Err(Fall::Late { stuck: reading.is_stuck() }),
                }
            }
        }
    }

    /// Waits while there is nothing to do: resolves when the worker says something all the same, or dies.
    /// May be dropped and called again.
    pub async fn rest(&mut self) -> Fall {
        let breach = match hear(&mut self.link, self.phase).await {
            Ok(_) => Breach::Broke("nothing is legal while idle".to_owned()),
            Err(breach) => breach,
        };
        self.fall(breach).await
    }

    /// Ends it and waits until it is gone.
    pub async fn end(&mut self, ending: Ending) -> Ended {
        self.link.end(ending);
        self.link.ended().await
    }

    /// True until its end is known.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.link.is_live()
    }

    /// What the log calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.link.name()
    }

    /// Its process id, where it is a process.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.link.pid()
    }

    /// What it said of its own jail, once it said anything.
    #[must_use]
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// The last lines of its standard error, for our own log only.
    #[must_use]
    pub fn last_words(&self) -> String {
        self.link.last_words().text()
    }

    /// What to make of a worker that we could not look at: it may have died before that.
    async fn unseen(&mut self, layer: String, cause: String) -> Fall {
        match timeout(LAST_BREATH, self.link.ended()).await {
            Ok(ended) => died(&ended),
            Err(_) => Fall::Short { layer, cause },
        }
    }

    async fn fall(&mut self, breach: Breach) -> Fall {
        breach.fall(&mut self.link).await
    }
}

impl Breach {
    /// Ends the worker and says how it fell.
    pub(crate) async fn fall(self, link: &mut Link) -> Fall {
        match self {
            Breach::Broke(how) => {
                link.end(Ending::Kill);
                Fall::Died { how: format!("it broke its protocol and was stopped: {how}"), forbidden: false }
            }
            Breach::Closed => match timeout(LAST_BREATH, link.ended()).await {
                Ok(ended) => died(&ended),
                Err(_) => {
                    link.end(Ending::Kill);
                    Fall::Died { how: "it closed its channel and was stopped".to_owned(), forbidden: false }
                }
            },
        }
    }
}

/// Our own look at a worker, through the launcher: what the kernel says that it may still do.
pub(crate) fn look(link: &Link, carrier: &Rc<dyn Carrier>) -> Local<Result<(), (String, String)>> {
    let Some(pid) = link.pid() else {
        let cause = "a worker without a process of its own cannot be confined; --isolation off goes on without";
        return Box::pin(async move { Err(("process".to_owned(), cause.to_owned())) });
    };
    let status = carrier.status(StatusOf::Worker { pid });
    Box::pin(async move {
        let text = status.await.map_err(|why| ("process-status".to_owned(), why))?;
        ProcStatus::parse(&text).shortfall().map_or(Ok(()), Err)
    })
}

pub(crate) fn died(ended: &Ended) -> Fall {
    Fall::Died { how: ended.to_string(), forbidden: *ended == Ended::Signal(SIGSYS) }
}

/// The next message, if it is legal. May be dropped and called again.
async fn hear(link: &mut Link, phase: Phase) -> Result<FromRead, Breach> {
    let message = link.next().await?.ok_or(Breach::Closed)?;
    message.legal(phase)?;
    Ok(message)
}

/// The first row that keeps the demand from being met; a report that says nothing meets none.
#[must_use]
pub fn shortfall(report: &Report) -> Option<(String, String)> {
    match report.missing().next() {
        Some(row) => Some((row.capability.clone(), row.evidence.clone())),
        None if report.rows.is_empty() => Some(("report".to_owned(), "the process reports no layer at all".to_owned())),
        None => None,
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("link", &self.link).field("phase", &self.phase).finish_non_exhaustive()
    }
}
