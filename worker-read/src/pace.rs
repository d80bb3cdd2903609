//! How long a call may go on: its deadline, its cancellation, and the progress it reports meanwhile.
//! Trust: the budget and the cancellation are the supervisor's; both only ever shorten the work.

use std::{
    cell::{Cell, RefCell},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Why a walker stopped before its end. Not an error: what was found so far is answered, marked as partial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// Most of the call's budget is used up.
    Deadline,
    /// The supervisor no longer wants the answer.
    Cancelled,
}

/// Least time between two progress messages.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// Units between two looks at the clock.
const LOOK_EVERY: u64 = 64;

/// The one open call that a walker works for.
pub struct Pace {
    id: u64,
    cancelled: Arc<AtomicU64>,
    until: Instant,
    done: Cell<u64>,
    next_look: Cell<u64>,
    said: Cell<Instant>,
    say: RefCell<Box<dyn FnMut(u64)>>,
    stopped: Cell<Option<Stopped>>,
}

impl Pace {
    /// Four fifths of `budget_ms` from now; `cancelled` holds the id of the call that was cancelled last. `say` is
    /// given the units done, at most four times a second.
    #[must_use]
    pub fn new(id: u64, cancelled: Arc<AtomicU64>, budget_ms: u32, say: impl FnMut(u64) + 'static) -> Self {
        let now = Instant::now();
        Self {
            id,
            cancelled,
            until: now + Duration::from_millis(u64::from(budget_ms)) * 4 / 5,
            done: Cell::new(0),
            next_look: Cell::new(LOOK_EVERY),
            said: Cell::new(now),
            say: RefCell::new(Box::new(say)),
            stopped: Cell::new(None),
        }
    }

    /// Counts `units` of work and says whether to go on.
    ///
    /// # Errors
    /// [`Stopped`], and the same again at every later call.
    pub fn step(&self, units: u64) -> Result<(), Stopped> {
        let done = self.done.get() + units;
        self.done.set(done);
        if done < self.next_look.get() {
            return self.stopped.get().map_or(Ok(()), Err);
        }
        self.look()
    }

    /// Looks at the clock and at the cancellation now; for work whose units are long.
    ///
    /// # Errors
    /// As [`Pace::step`].
    pub fn look(&self) -> Result<(), Stopped> {
        self.next_look.set(self.done.get() + LOOK_EVERY);
        if let Some(stopped) = self.stopped.get() {
            return Err(stopped);
        }
        let now = Instant::now();
        let stopped = if self.cancelled.load(Ordering::Relaxed) == self.id {
            Stopped::Cancelled
        } else if now >= self.until {
            Stopped::Deadline
        } else {
            if now.duration_since(self.said.get()) >= PROGRESS_EVERY {
                self.said.set(now);
                (self.say.borrow_mut())(self.done.get());
            }
            return Ok(());
        };
        self.stopped.set(Some(stopped));
        Err(stopped)
    }

    /// Whether and why the work was cut short.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        self.stopped.get()
    }
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace").field("id", &self.id).field("done", &self.done.get()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_call_stops_and_stays_stopped() {
        let cancelled = Arc::new(AtomicU64::new(0));
        let pace = Pace::new(7, Arc::clone(&cancelled), 60_000, |_| {});
        assert_eq!(pace.look(), Ok(()));
        cancelled.store(6, Ordering::Relaxed);
        assert_eq!(pace.look(), Ok(()), "another call was meant");
        cancelled.store(7, Ordering::Relaxed);
        assert_eq!(pace.look(), Err(Stopped::Cancelled));
        assert_eq!(pace.step(1), Err(Stopped::Cancelled));
    }

    #[test]
    fn a_budget_of_nothing_stops_at_the_first_look() {
        let cancelled = Arc::new(AtomicU64::new(0));
        let pace = Pace::new(7, cancelled, 0, |_| {});
        assert_eq!(pace.step(LOOK_EVERY), Err(Stopped::Deadline));
        assert_eq!(pace.stopped(), Some(Stopped::Deadline));
    }
}
