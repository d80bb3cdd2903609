//! The task that keeps a worker-audit alive and hands it events: as they come, several at once where several wait.
//! Trust: the worker's answers are checked; whatever it does, events are kept until they are acknowledged or counted as lost.

use super::{
    Health, Pause, Shared,
    clerk::{Clerk, Fall},
};
use crate::log;
use bulkhead_ipc::edge::audit::{Fault, FromAudit, Known, Standing, ToAudit};
use std::{collections::VecDeque, future::pending, rc::Rc, time::Duration};
use tokio::time::{Instant, sleep_until, timeout};

/// How long a group may take: a disk that is slower than that hangs.
const ANSWER: Duration = Duration::from_secs(30);
/// How long a worker may take to end; one whose disk hangs cannot, and is left to the launcher.
const ENDING: Duration = Duration::from_secs(1);

/// How one worker's time ended.
enum End {
    /// The server ends, and nothing is left to record.
    Closed,
    /// Start another one, later.
    Fell(Fall),
}

/// Runs until the server ends or the ledger is lost.
pub(super) async fn serve(shared: Rc<Shared>) {
    let mut pause = Pause(Pause::FIRST);
    loop {
        let end = match Clerk::start(&shared.carrier).await {
            Ok(mut clerk) => {
                let end = live(&shared, &mut clerk, &mut pause).await;
                if let End::Fell(Fall { why, for_good: false }) = &end {
                    shared.set(Health::Failing(why.clone()));
                }
                let name = clerk.name().to_owned();
                match timeout(ENDING, clerk.end()).await {
                    Ok(ended) => log::info(&format!("{name} ended: {ended}")),
                    Err(_) => log::warn(&format!("{name} does not end")),
                }
                end
            }
            Err(fall) => End::Fell(fall),
        };
        shared.state.borrow_mut().queue.take_back();
        let closing = shared.state.borrow().closing;
        match end {
            End::Closed => break,
            End::Fell(Fall { why, for_good: true }) => {
                shared.state.borrow_mut().queue.lose_all();
                shared.set(Health::Lost(why));
                break;
            }
            End::Fell(Fall { why, .. }) => shared.set(Health::Failing(why)),
        }
        // once more at the end: it may have been a single fall
        let again = pause.next();
        tokio::select! {
            () = sleep_until(again) => {}
            () = closing_of(&shared), if !closing => {}
        }
    }
    shared.running.set(false);
    shared.changed.notify_waiters();
}

async fn closing_of(shared: &Shared) {
    while !shared.state.borrow().closing {
        shared.posted.notified().await;
    }
}

async fn live(shared: &Rc<Shared>, clerk: &mut Clerk, pause: &mut Pause) -> End {
    match take_up(shared, clerk).await {
        Ok(()) => {}
        Err(fall) => return End::Fell(fall),
    }
    // after a fault of the disk the worker lives, and the same events are tried again at this time
    let mut again: Option<Instant> = None;
    // by when what is under way must be answered
    let mut answer: Option<Instant> = None;
    // statements that were asked for; dropped with this worker, which tells those who wait
    let (mut heads, mut asked) = (VecDeque::new(), 0);
    let at = async |time: Option<Instant>| match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    };
    loop {
        while again.is_none()
            && let Some((group, events)) = { shared.state.borrow_mut().queue.take() }
        {
            if let Err(fall) = clerk.post(&ToAudit::Append { group, events }) {
                return End::Fell(fall);
            }
            answer.get_or_insert(Instant::now() + ANSWER);
        }
        while let Some(head) = { shared.state.borrow_mut().heads.pop_front() } {
            asked += 1;
            if let Err(fall) = clerk.post(&ToAudit::Head { id: asked }) {
                return End::Fell(fall);
            }
            heads.push_back((asked, head));
        }
        {
            let state = shared.state.borrow();
            if state.closing && state.queue.is_empty() {
                return End::Closed;
            }
        }
        tokio::select! {
            message = clerk.next() => match message {
                Ok(FromAudit::Recorded { group, faults, standing }) => {
                    let under_way = shared.state.borrow().queue.groups_under_way();
                    answer = (under_way > 1).then(|| Instant::now() + ANSWER);
                    match recorded(shared, group, &faults, standing) {
                        Ok(None) => *pause = Pause(Pause::FIRST),
                        Ok(Some(why)) => {
                            again = Some(pause.next());
                            shared.set(Health::Failing(why));
                        }
                        Err(fall) => return End::Fell(fall),
                    }
                }
                Ok(FromAudit::Head { id, text }) if heads.front().is_some_and(|(first, _)| *first == id) => {
                    if let Some((_, head)) = heads.pop_front() {
                        // an answer that does not wait any more goes without
                        let _ = head.send(text);
                    }
                }
                Ok(FromAudit::Lost { why, tampered }) => return End::Fell(Fall { why, for_good: tampered }),
                Ok(_) => {
                    let why = "the worker that records said what nobody asked".to_owned();
                    return End::Fell(Fall { why, for_good: false });
                }
                Err(fall) => return End::Fell(fall),
            },
            () = shared.posted.notified() => {}
            () = at(again) => again = None,
            () = at(answer) => {
                let why = format!("nothing was recorded within {} s", ANSWER.as_secs());
                return End::Fell(Fall { why, for_good: false });
            }
        }
    }
}

async fn take_up(shared: &Rc<Shared>, clerk: &mut Clerk) -> Result<(), Fall> {
    let ready = clerk.greet(&shared.carrier, shared.demand).await?;
    if !matches!(shared.state.borrow().health, Health::Failing(_)) {
        shared.set(Health::Opening);
    }
    let signed = ready.key.map_or_else(|| "entries are not signed".to_owned(), |key| format!("key {key} signs"));
    log::info(&format!("{} is ready; {signed}", clerk.name()));
    let known = shared.state.borrow().known.clone();
    let standing = clerk.open(known).await?;
    note(shared, standing);
    shared.set(Health::Recording);
    Ok(())
}

/// Takes an answer into account; gives the reason where events are to be tried again.
fn recorded(shared: &Rc<Shared>, group: u64, faults: &[Fault], standing: Standing) -> Result<Option<String>, Fall> {
    let places = |again: bool| faults.iter().filter(|fault| fault.again == again).map(|fault| fault.index).collect();
    let (again, gone): (Vec<u32>, Vec<u32>) = (places(true), places(false));
    if !shared.state.borrow_mut().queue.answered(group, &again, &gone) {
        let why = "the worker that records answered what nobody asked".to_owned();
        return Err(Fall { why, for_good: false });
    }
    if let Some(fault) = faults.iter().find(|fault| !fault.again) {
        log::warn(&format!("audit: an event cannot be recorded: {}", fault.why));
    }
    note(shared, standing);
    let why = faults.iter().find(|fault| fault.again).map(|fault| fault.why.clone());
    if why.is_none() {
        shared.set(Health::Recording);
    }
    shared.changed.notify_waiters();
    Ok(why)
}

/// Remembers where the ledger ends, so that a later worker finds out if it ends earlier.
fn note(shared: &Shared, standing: Standing) {
    for notice in &standing.notices {
        log::info(&format!("audit: {notice}"));
    }
    if let Some(last) = standing.last {
        let known = &mut shared.state.borrow_mut().known;
        if known.as_ref().is_none_or(|Known { sequence, .. }| *sequence <= last.sequence) {
            *known = Some(last);
        }
    }
}
