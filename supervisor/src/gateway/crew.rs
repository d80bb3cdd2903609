//! The task of one worker-gateway: what it is asked, what it says, and what becomes of all that is open when it falls.
//! Trust: the worker is treated as taken over: outcomes are held to the exchange that they are of, and to the edge's bounds.

use super::{
    bridge::{Asked, Shared, Told, Verdict},
    talk::{Talk, Unready},
};
use crate::{
    carrier::Ending,
    log,
    outcome::CallError,
    worker::{Breach, Fall},
};
use bulkhead_ipc::{
    chunk::{self, Joiner},
    codec,
    edge::{
        WorkerKind,
        gateway::{Body, Exchange, Failure, FromGateway, MAX_ANSWERED, Outcome, ToGateway},
    },
};
use std::{
    cell::Cell,
    collections::{HashMap, VecDeque},
    future::pending,
    rc::Rc,
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, mpsc, oneshot},
    task::JoinHandle,
    time::{Instant, sleep, sleep_until, timeout},
};

/// Time in which a worker closes an exchange that nobody waits for any more.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time that the worker before has to be gone: the launcher serves one.
const LAST_END: Duration = Duration::from_secs(2);

/// Serves what `told` brings, by a worker of its own, until that idles, falls, or nobody can ask any more.
pub(super) async fn serve(shared: Rc<Shared>, mut told: mpsc::UnboundedReceiver<Told>, before: Option<JoinHandle<()>>) {
    if let Some(before) = before {
        // one that the kernel does not let go shows as a refusal of the launcher
        let _ = timeout(LAST_END, before).await;
    }
    let mut open = Opened::default();
    let (talk, end) = match Talk::start(&shared.carrier, shared.settings.demand).await {
        Ok(mut talk) => {
            log::info(&format!("{} is ready", talk.link.name()));
            let end = work(&shared, &mut talk, &mut told, &mut open).await;
            (Some(talk), end)
        }
        Err((talk, unready)) => (talk, End::Unready(unready)),
    };
    // from here on nothing more comes, and who asks starts another one
    shared.crew.borrow_mut().take();
    told.close();
    let late = std::iter::from_fn(|| told.try_recv().ok()).filter_map(|told| match told {
        Told::Ask(asked) => Some(*asked),
        Told::Leave(_) => None,
    });
    let late: Vec<Asked> = late.collect();
    let ending = match end {
        End::Idle | End::Closed => {
            open.lose(&CallError::Unavailable { why: "the server is ending".to_owned() });
            late.into_iter().for_each(|asked| asked.unsent(&CallError::Cancelled));
            Ending::Dismiss
        }
        End::Fell(fall) => {
            shared.report(talk.as_ref(), &fall);
            let why = told_of(fall);
            open.lose(&why);
            late.into_iter().for_each(|asked| asked.unsent(&why));
            Ending::Kill
        }
        End::Unready(unready) => {
            let why = match unready {
                Unready::Fell(fall) => {
                    shared.report(talk.as_ref(), &fall);
                    told_of(fall)
                }
                Unready::Token(why) => {
                    log::warn(&format!("the token for the gateway cannot be used: {why}"));
                    CallError::Unavailable { why: format!("the token for the gateway cannot be used: {why}") }
                }
            };
            late.into_iter().for_each(|asked| _ = asked.reply.send(Verdict::Lost(why.clone())));
            Ending::Kill
        }
    };
    if let Some(talk) = talk {
        let name = talk.link.name().to_owned();
        let ended = talk.end(ending).await;
        log::info(&format!("{name} is gone: {ended}"));
    }
}

/// Why a worker is let go.
enum End {
    Idle,
    Closed,
    Fell(Fall),
    Unready(Unready),
}

async fn work(
    shared: &Rc<Shared>,
    talk: &mut Talk,
    told: &mut mpsc::UnboundedReceiver<Told>,
    open: &mut Opened,
) -> End {
    loop {
        let overdue = open.by_id.values().filter_map(|open| open.overdue).min();
        let idle = open.by_id.is_empty() && open.lane.is_empty();
        let Opened { lane, .. } = open;
        let breach = tokio::select! {
            biased;
            told = told.recv() => match told {
                Some(Told::Ask(asked)) => open.take(*asked),
                Some(Told::Leave(id)) => open.left(id),
                None => return End::Closed,
            },
            heard = talk.hear(|| lane.pop_front().map(|frame| frame.body)) => match heard {
                Ok(message) => open.heard(message, shared),
                Err(breach) => Err(breach),
            },
            () = async { match overdue { Some(at) => sleep_until(at).await, None => pending().await } } => {
                Err(Breach::Broke("it does not close what nobody waits for".to_owned()))
            }
            () = sleep(shared.settings.idle_stop), if idle => return End::Idle,
        };
        if let Err(breach) = breach {
            if matches!(breach, Breach::Broke(_)) {
                // whoever breaks the protocol may have done anything with what it was given
                open.doubt();
            }
            return End::Fell(talk.fall(breach).await);
        }
    }
}

/// What a fall is to one who waits.
fn told_of(fall: Fall) -> CallError {
    match fall {
        Fall::NotStarted(e) => e.into(),
        Fall::Short { layer, cause } => CallError::IsolationMissing { layer, cause },
        Fall::Died { how, .. } | Fall::Unheard { how, .. } => CallError::WorkerDied { how },
        Fall::Late { .. } => {
            CallError::Unavailable { why: "the worker that talks to the gateway did not greet in time".to_owned() }
        }
        Fall::Refused(failure) => CallError::Read(failure),
        Fall::Moved | Fall::Left => CallError::Unavailable { why: "the server is ending".to_owned() },
    }
}

impl Asked {
    fn unsent(self, why: &CallError) {
        let _ = self.reply.send(Verdict::Unsent(why.clone()));
    }
}

/// What waits to be posted.
struct Framed {
    id: u64,
    body: Vec<u8>,
}

/// An exchange that the worker has, or will have.
struct Open {
    sent: Rc<Cell<bool>>,
    reply: oneshot::Sender<Verdict>,
    /// Its answer must be authentic.
    authentic: bool,
    /// Frames that it is made of.
    frames: usize,
    /// Nobody waits any more; until then it must be closed.
    overdue: Option<Instant>,
    /// Given back with it.
    _held: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

#[derive(Default)]
struct Opened {
    by_id: HashMap<u64, Open>,
    lane: VecDeque<Framed>,
    /// Whose outcome is coming in pieces.
    coming: Option<u64>,
    pieces: Joiner,
}

impl Opened {
    fn take(&mut self, asked: Asked) -> Result<(), Breach> {
        let Asked { id, exchange, deadline, sent, reply, held } = asked;
        let left = deadline.saturating_duration_since(Instant::now()).as_millis();
        let budget_ms = u32::try_from(left).unwrap_or(u32::MAX).min(exchange.budget_ms);
        if budget_ms == 0 || reply.is_closed() {
            let _ = reply.send(Verdict::Outcome(Outcome::Failed { why: Failure::Timeout, sent: false }));
            return Ok(());
        }
        let authentic = exchange.authentic;
        let whole = match codec::encode_answer(&Exchange { budget_ms, ..exchange }) {
            Ok(whole) => whole,
            Err(e) => {
                let why = format!("the exchange cannot be put into words: {e}");
                let _ = reply.send(Verdict::Lost(CallError::Unavailable { why }));
                return Ok(());
            }
        };
        let mut frames = 0;
        for (last, bytes) in chunk::split(&whole) {
            let body = codec::encode(&ToGateway::Part { id, last, bytes: bytes.to_vec() })?;
            self.lane.push_back(Framed { id, body });
            frames += 1;
        }
        self.by_id.insert(id, Open { sent, reply, authentic, frames, overdue: None, _held: held });
        Ok(())
    }

    /// How many frames of it still wait here.
    fn waiting(&self, id: u64) -> usize {
        self.lane.iter().filter(|frame| frame.id == id).count()
    }

    fn left(&mut self, id: u64) -> Result<(), Breach> {
        let Some(frames) = self.by_id.get(&id).map(|open| open.frames) else { return Ok(()) };
        if self.waiting(id) == frames {
            // the worker has not heard of it, and never will
            self.lane.retain(|frame| frame.id != id);
            self.by_id.remove(&id);
            return Ok(());
        }
        let body = codec::encode(&ToGateway::Cancel { id })?;
        if let Some(open) = self.by_id.get_mut(&id) {
            open.overdue = Some(Instant::now() + PATIENCE);
        }
        self.lane.push_back(Framed { id: 0, body });
        Ok(())
    }

    fn heard(&mut self, message: FromGateway, shared: &Shared) -> Result<(), Breach> {
        let stranger = || Breach::Broke("it speaks of an exchange that is not open".to_owned());
        match message {
            FromGateway::Leaving { id } => {
                let open = self.by_id.get(&id).ok_or_else(stranger)?;
                if open.sent.replace(true) {
                    return Err(Breach::Broke("a request that leaves twice".to_owned()));
                }
                Ok(())
            }
            FromGateway::Part { id, last, bytes } => {
                if !self.by_id.contains_key(&id) || self.waiting(id) > 0 {
                    return Err(stranger());
                }
                if *self.coming.get_or_insert(id) != id || (bytes.is_empty() && !last) {
                    return Err(Breach::Broke("pieces of two outcomes at once, or an empty one".to_owned()));
                }
                let Some(whole) = self.pieces.push(last, bytes)? else { return Ok(()) };
                self.coming = None;
                let outcome: Outcome = codec::decode_answer(&whole)?;
                let open = self.by_id.remove(&id).ok_or_else(stranger)?;
                let outcome = fitted(outcome, &open, shared.settings.gateway_token);
                let Some(outcome) = outcome else {
                    // it is among what was open when the worker fell
                    self.by_id.insert(id, open);
                    return Err(Breach::Broke("an outcome that does not fit its exchange".to_owned()));
                };
                shared.backoff.borrow_mut().answered(&WorkerKind::Gateway);
                let _ = open.reply.send(Verdict::Outcome(outcome));
                Ok(())
            }
            _ => Err(Breach::Broke("it started over".to_owned())),
        }
    }

    /// Everything that the worker was given may have left.
    fn doubt(&self) {
        for (id, open) in &self.by_id {
            if self.waiting(*id) < open.frames {
                open.sent.set(true);
            }
        }
    }

    /// Tells all who wait that nothing comes any more. What has not begun to leave, which a worker says before it does, may be
    /// given to another one.
    fn lose(&mut self, why: &CallError) {
        for open in std::mem::take(&mut self.by_id).into_values() {
            let why = why.clone();
            let _ = open.reply.send(if open.sent.get() { Verdict::Lost(why) } else { Verdict::Unsent(why) });
        }
        self.lane.clear();
    }
}

/// The outcome, if it is one of this exchange; what is known to have left stays known.
fn fitted(outcome: Outcome, open: &Open, token: bool) -> Option<Outcome> {
    let proven = open.authentic && token;
    match outcome {
        Outcome::Answered { status, body, authentic } => {
            let whole = match &body {
                Body::Whole(bytes) => Some(bytes.len()),
                Body::TooLong | Body::Cut => None,
            };
            let fits = (200..=599).contains(&status)
                && authentic == proven
                && whole.is_none_or(|length| length <= MAX_ANSWERED)
                && (whole.is_some() || !authentic)
                && open.sent.get();
            fits.then_some(Outcome::Answered { status, body, authentic })
        }
        Outcome::Failed { why, sent } => {
            let fits = sent == open.sent.get() && (why != Failure::NotAuthentic || proven);
            fits.then_some(Outcome::Failed { why, sent })
        }
    }
}
