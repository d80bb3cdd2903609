//! What a call learns from how its worker fared, and what the supervisor remembers of it.
//! Trust: counts and names what the supervisor saw; a worker's words reach the caller only as a checked answer.

use super::{Job, Shared, Verdict};
use crate::{
    log,
    outcome::{Answered, CallError},
    route::Route,
    worker::{Fall, Worker},
};
use bulkhead_ipc::edge::read::Answer;
use tokio::time::Instant;

impl Shared {
    /// Answers a job and draws the consequences.
    pub(super) fn judge(&self, job: Box<Job>, worker: Option<&Worker>, served: Result<(Route, Answer), Fall>) {
        let verdict = match served {
            Ok((route, answer)) => {
                let state = &mut *self.state.borrow_mut();
                state.backoff.answered(&route.home);
                state.poison.answered(&(job.fingerprint, route.home));
                match answer {
                    Ok(reply) => Verdict::Answered(Answered { canonical: route.canonical.to_vec(), reply }),
                    Err(failure) => Verdict::Failed(CallError::Read(failure)),
                }
            }
            Err(fall) => self.fell(&job, worker, fall),
        };
        // where nobody waits, the answer is dropped
        let _ = job.reply.send(verdict);
    }

    fn fell(&self, job: &Job, worker: Option<&Worker>, fall: Fall) -> Verdict {
        let state = &mut *self.state.borrow_mut();
        let (now, home) = (Instant::now(), state.routes.home(&job.path));
        let error = match fall {
            Fall::NotStarted(e) => {
                log::warn(&format!("no read worker: {e}"));
                e.into()
            }
            Fall::Refused(failure) => {
                state.routes.forget(&job.path);
                CallError::Read(failure)
            }
            Fall::Short { layer, cause } => CallError::IsolationMissing { layer, cause },
            Fall::Moved => {
                state.routes.forget(&job.path);
                return Verdict::Moved;
            }
            // that was us
            Fall::Died { .. } | Fall::Unheard { .. } if state.closing => CallError::Stopping,
            Fall::Unheard { how, forbidden } => {
                state.backoff.died(&home, now, forbidden);
                self.report(worker, &how);
                return Verdict::Unheard;
            }
            Fall::Died { how, forbidden } => {
                state.backoff.died(&home, now, forbidden);
                state.poison.died((job.fingerprint, home), now);
                self.report(worker, &how);
                CallError::WorkerDied { how }
            }
            Fall::Late { stuck } => {
                // a slow disk is no poison; a call that stands still is
                if stuck {
                    state.poison.died((job.fingerprint, home), now);
                }
                self.report(worker, "the deadline passed");
                CallError::Deadline { seconds: job.time.as_secs() }
            }
            Fall::Left => CallError::Cancelled,
        };
        Verdict::Failed(error)
    }

    /// A worker fell that had nothing to do: no call is to blame.
    pub(super) fn fell_idle(&self, id: u64, worker: &Worker, fall: &Fall) {
        let state = &mut *self.state.borrow_mut();
        if let (Fall::Died { how, forbidden }, Some(home)) = (fall, state.roster.home(id))
            && !state.closing
        {
            state.backoff.died(&home, Instant::now(), *forbidden);
            self.report(Some(worker), how);
        }
    }

    fn report(&self, worker: Option<&Worker>, how: &str) {
        let (name, words) = worker.map_or(("a worker", String::new()), |worker| (worker.name(), worker.last_words()));
        let words = if words.is_empty() { words } else { format!("; its last words: {words}") };
        log::warn(&format!("{name}: {how}{words}"));
        if let Some(audit) = self.audit.get() {
            audit.worker_ended(worker.and_then(Worker::pid), how);
        }
    }
}
