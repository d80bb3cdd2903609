//! Several repositories at once, within one deadline: who is asked next, who is too slow, and when to answer.
//! Trust: readings may hang, fail or panic; each costs its own row, and its own share of the time at most.

use crate::{
    control::{Control, Stopper, Tick},
    outcome::{Answered, CallError},
    pool::parts_at_once,
    reads::{Question, Reads},
    settings::Settings,
};
use bulkhead_ipc::edge::read::Ask;
use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::Poll,
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// Readings beyond one per core: some wait for their worker to start or to end.
const MORE_THAN_CORES: usize = 2;

/// What came of one repository.
pub(super) struct Told {
    /// Its answer, or why there is none.
    pub outcome: Result<Answered, CallError>,
    /// How long that took.
    pub elapsed: Duration,
}

/// One reading under way.
struct Reading<'a> {
    at: usize,
    begun: Instant,
    stopper: Stopper,
    answer: Pin<Box<dyn Future<Output = Result<Answered, CallError>> + 'a>>,
}

/// The same question to all of `paths`. What has not answered when four fifths of the deadline are over stays `None`,
/// so that the answer itself is in time.
///
/// # Errors
/// [`CallError::Cancelled`], and what would be the answer of every repository: the server is stopping, or processes are
/// not confined as demanded.
pub(super) async fn ask_all<R: Reads>(
    reads: &R,
    settings: &Settings,
    mut control: Control,
    paths: &[&str],
    ask: &Ask,
    fingerprint: [u8; 32],
) -> Result<Vec<Option<Told>>, CallError> {
    let until = Instant::now() + settings.deadline * 4 / 5;
    let at_once = (settings.workers_per_repository + MORE_THAN_CORES).min(parts_at_once(settings.max_workers)).max(1);
    let mut told: Vec<Option<Told>> = paths.iter().map(|_| None).collect();
    let mut waiting = paths.iter().enumerate();
    let mut crew: Vec<Reading<'_>> = Vec::with_capacity(at_once);
    let mut done = 0;
    let total = u64::try_from(paths.len()).ok();
    loop {
        while crew.len() < at_once
            && let Some((at, path)) = waiting.next()
        {
            let begun = Instant::now();
            // a third: one that hangs must leave time for the others, and a slow one answers in part before that
            let limit = (settings.deadline / 3).min(until.saturating_duration_since(begun));
            let (stopper, part) = Control::pair(None);
            let question = Question { path: (*path).to_owned(), ask: ask.clone(), fingerprint };
            let answer = Box::pin(reads.read(question, part.as_part(limit)));
            crew.push(Reading { at, begun, stopper, answer });
        }
        if crew.is_empty() {
            return Ok(told);
        }
        tokio::select! {
            biased;
            () = control.stopped() => {
                crew.iter().for_each(|reading| reading.stopper.stop());
                return Err(CallError::Cancelled);
            }
            (index, outcome) = next(&mut crew) => {
                let reading = crew.swap_remove(index);
                if let Err(error @ (CallError::IsolationMissing { .. } | CallError::Stopping)) = outcome {
                    return Err(error);
                }
                told[reading.at] = Some(Told { outcome, elapsed: reading.begun.elapsed() });
                done += 1;
                control.tick(Tick { done, total });
            }
            () = sleep_until(until) => {
                crew.iter().for_each(|reading| reading.stopper.stop());
                return Ok(told);
            }
        }
    }
}

/// The first reading that is done, by its place in `crew`, and what came of it.
fn next(crew: &mut [Reading<'_>]) -> impl Future<Output = (usize, Result<Answered, CallError>)> {
    poll_fn(move |context| {
        for (index, reading) in crew.iter_mut().enumerate() {
            match catch_unwind(AssertUnwindSafe(|| reading.answer.as_mut().poll(context))) {
                Ok(Poll::Pending) => {}
                Ok(Poll::Ready(outcome)) => return Poll::Ready((index, outcome)),
                // a fault of ours in one reading must not cost the others their rows
                Err(_) => {
                    let how = "a fault of this server, which was caught".to_owned();
                    return Poll::Ready((index, Err(CallError::WorkerDied { how })));
                }
            }
        }
        Poll::Pending
    })
}
