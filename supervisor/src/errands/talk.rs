//! One live worker of an errand: the conversation with it, and how that can end.
//! Trust: the worker is treated as taken over: what is not legal now, or does not fit the question, ends it.

use super::Errand;
use crate::{
    carrier::{Carrier, Ended, Ending, Link, Local},
    worker::{Alarm, Breach, Fall, LAST_BREATH, Vigil, died, look, shortfall},
};
use bulkhead_contract::isolation::{Demand, Report};
use bulkhead_ipc::{
    chunk::Joiner,
    codec::decode,
    edge::errand::{ErrandAnswer, FromErrand, Phase},
};
use std::{collections::VecDeque, future::pending, marker::PhantomData, rc::Rc};
use tokio::time::{Instant, timeout};

/// One live worker. Dropping it ends it.
pub struct Talk<E: Errand> {
    link: Link,
    carrier: Rc<dyn Carrier>,
    phase: Phase,
    asked: u64,
    /// What is still to be said; it leaves as there is room.
    unsaid: VecDeque<Vec<u8>>,
    /// Its jail is finished and was measured.
    closed: bool,
    /// What it said of its own jail, last.
    report: Option<Report>,
    /// Our own look at its `/proc` status; until it is over, no answer leaves.
    check: Option<Local<Result<(), (String, String)>>>,
    errand: PhantomData<fn() -> E>,
}

/// What was heard while something is open.
enum Step<T> {
    More,
    Done(T),
}

impl<E: Errand> Talk<E> {
    /// Starts a worker; [`Talk::greet`] comes next.
    ///
    /// # Errors
    /// [`Fall::NotStarted`], [`Fall::Late`], [`Fall::Left`].
    pub async fn start(carrier: &Rc<dyn Carrier>, vigil: &mut Vigil<'_>) -> Result<Self, Fall> {
        let mut start = carrier.start(E::KIND, None);
        loop {
            tokio::select! {
                link = &mut start => {
                    let link = link.map_err(Fall::NotStarted)?;
                    let (carrier, errand) = (Rc::clone(carrier), PhantomData);
                    let (phase, asked, closed) = (Phase::Starting, 0, false);
                    let unsaid = VecDeque::new();
                    return Ok(Self { link, carrier, phase, asked, unsaid, closed, report: None, check: None, errand });
                }
                alarm = vigil.alarm() => ended_by(alarm)?,
            }
        }
    }

    /// Waits until it can be asked, and measures its jail against the demand, where that is finished by then.
    ///
    /// # Errors
    /// Any [`Fall`] but `NotStarted`, `Refused` and `Moved`.
    pub async fn greet(&mut self, demand: Demand, vigil: &mut Vigil<'_>) -> Result<(), Fall> {
        let heard = loop {
            tokio::select! {
                heard = hear(&mut self.link, &mut self.unsaid, self.phase) => break heard,
                alarm = vigil.alarm() => ended_by(alarm)?,
            }
        };
        match heard {
            Ok(FromErrand::Ready(report)) => {
                if E::CLOSED_AT_START {
                    self.measure(report, demand)?;
                } else {
                    self.report = Some(report);
                }
                if demand == Demand::Required {
                    self.check = Some(look(&self.link, &self.carrier));
                }
                self.phase = Phase::Idle;
                Ok(())
            }
            Ok(FromErrand::Short(report)) => Err(self.short(report)),
            Ok(_) => Err(self.fall(Breach::Broke("it greeted with another message".to_owned())).await),
            Err(breach) => Err(self.fall(breach).await),
        }
    }

    /// Asks one question and waits for the whole answer.
    ///
    /// # Errors
    /// `Short`, `Died`, `Unheard`, `Late` and `Left`; the worker must be let go after any of them.
    pub async fn serve(
        &mut self,
        ask: E::Ask,
        demand: Demand,
        vigil: &mut Vigil<'_>,
    ) -> Result<ErrandAnswer<E::Reply>, Fall> {
        self.asked += 1;
        let id = self.asked;
        self.phase = Phase::Serving { id, closing: !self.closed };
        let budget = vigil.deadline().saturating_duration_since(Instant::now()).as_millis();
        let messages = E::call(id, u32::try_from(budget).unwrap_or(u32::MAX), ask.clone());
        let mut joiner = Joiner::default();
        let step = |talk: &mut Self, heard| match heard {
            FromErrand::Part { last, bytes, .. } => {
                if !talk.closed {
                    return Err(Breach::Broke("it answers before its jail is finished".to_owned()));
                }
                if bytes.is_empty() && !last {
                    return Err(Breach::Broke("an empty piece of an answer".to_owned()));
                }
                let Some(whole) = joiner.push(last, bytes)? else { return Ok(Step::More) };
                let answer = E::answer(&whole)?;
                match &answer {
                    Ok(reply) if !E::fits(&ask, reply) => {
                        Err(Breach::Broke("its answer is to another question, or out of bounds".to_owned()))
                    }
                    _ => Ok(Step::Done(answer)),
                }
            }
            _ => Err(Breach::Broke("it started over".to_owned())),
        };
        self.open(messages, demand, vigil, step).await
    }

    /// Has it try, from inside, what its finished jail should refuse.
    ///
    /// # Errors
    /// As [`Talk::serve`].
    pub async fn probe(&mut self, demand: Demand, vigil: &mut Vigil<'_>) -> Result<Report, Fall> {
        self.asked += 1;
        let id = self.asked;
        self.phase = Phase::Probing { id, closing: !self.closed };
        let step = |_: &mut Self, heard| match heard {
            FromErrand::SelfProbe { report, .. } => Ok(Step::Done(report)),
            _ => Err(Breach::Broke("it started over".to_owned())),
        };
        self.open(E::probe(id).map(|message| VecDeque::from([message])), demand, vigil, step).await
    }

    /// Asks and hears until `step` is done.
    async fn open<T>(
        &mut self,
        messages: Result<VecDeque<Vec<u8>>, bulkhead_ipc::Error>,
        demand: Demand,
        vigil: &mut Vigil<'_>,
        mut step: impl FnMut(&mut Self, FromErrand) -> Result<Step<T>, Breach>,
    ) -> Result<T, Fall> {
        let id = self.asked;
        match messages {
            Ok(messages) => self.unsaid = messages,
            Err(e) => return Err(self.fall(e.into()).await),
        }
        let (mut done, mut cancelled) = (None, false);
        loop {
            if self.check.is_none()
                && let Some(done) = done.take()
            {
                self.phase = Phase::Idle;
                return Ok(done);
            }
            tokio::select! {
                heard = hear(&mut self.link, &mut self.unsaid, self.phase), if done.is_none() => match heard {
                    Ok(FromErrand::Short(report)) => return Err(self.short(report)),
                    Ok(FromErrand::Closed { report, .. }) => {
                        self.measure(report, demand)?;
                        self.phase = match self.phase {
                            Phase::Serving { id, .. } => Phase::Serving { id, closing: false },
                            Phase::Probing { id, .. } => Phase::Probing { id, closing: false },
                            other => other,
                        };
                    }
                    Ok(heard) => match step(self, heard) {
                        Ok(Step::More) => {}
                        Ok(Step::Done(all)) => done = Some(all),
                        Err(breach) => return Err(self.fall(breach).await),
                    },
                    // that is what it was asked for
                    Err(Breach::Closed) if cancelled => return Err(Fall::Left),
                    Err(Breach::Closed) if self.link.is_unheard() => {
                        return Err(match self.fall(Breach::Closed).await {
                            Fall::Died { how, forbidden } => Fall::Unheard { how, forbidden },
                            fall => fall,
                        });
                    }
                    Err(breach) => return Err(self.fall(breach).await),
                },
                checked = async { match &mut self.check { Some(check) => check.await, None => pending().await } } => {
                    self.check = None;
                    if let Err((layer, cause)) = checked {
                        return Err(self.unseen(layer, cause).await);
                    }
                }
                alarm = vigil.alarm() => match alarm {
                    Alarm::Leaving => {
                        cancelled = true;
                        if let Err(e) = E::cancel(id).and_then(|message| self.link.post_frame(message)) {
                            return Err(self.fall(e.into()).await);
                        }
                    }
                    Alarm::Left => return Err(Fall::Left),
                    Alarm::Late => return Err(Fall::Late { stuck: true }),
                }
            }
        }
    }

    /// Waits while there is nothing to do: resolves when the worker says something all the same, or dies.
    /// May be dropped and called again.
    pub async fn rest(&mut self) -> Fall {
        let breach = match hear(&mut self.link, &mut self.unsaid, self.phase).await {
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

    /// Questions that it was asked.
    #[must_use]
    pub fn served(&self) -> u64 {
        self.asked
    }

    /// What it said of its own jail last.
    #[must_use]
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// The last lines of its standard error, for our own log only.
    #[must_use]
    pub fn last_words(&self) -> String {
        self.link.last_words().text()
    }

    /// Holds a finished jail against the demand.
    fn measure(&mut self, report: Report, demand: Demand) -> Result<(), Fall> {
        let short = shortfall(&report).filter(|_| demand == Demand::Required);
        self.report = Some(report);
        self.closed = true;
        match short {
            Some((layer, cause)) => Err(Fall::Short { layer, cause }),
            None => Ok(()),
        }
    }

    fn short(&mut self, report: Report) -> Fall {
        let unnamed = || ("unknown".to_owned(), "the worker named no row".to_owned());
        let (layer, cause) = shortfall(&report).unwrap_or_else(unnamed);
        self.report = Some(report);
        Fall::Short { layer, cause }
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

/// Whether waiting goes on.
fn ended_by(alarm: Alarm) -> Result<(), Fall> {
    match alarm {
        Alarm::Leaving => Ok(()),
        Alarm::Left => Err(Fall::Left),
        Alarm::Late => Err(Fall::Late { stuck: true }),
    }
}

/// The next message, if it is legal, while what is still to be said leaves. May be dropped and called again.
async fn hear(link: &mut Link, further: &mut VecDeque<Vec<u8>>, phase: Phase) -> Result<FromErrand, Breach> {
    let body = link.frame_while_posting(|| further.pop_front()).await?.ok_or(Breach::Closed)?;
    let message: FromErrand = decode(&body)?;
    message.legal(phase)?;
    Ok(message)
}

impl<E: Errand> std::fmt::Debug for Talk<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Talk").field("link", &self.link).field("phase", &self.phase).finish_non_exhaustive()
    }
}
