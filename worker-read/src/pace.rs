//! How long a call may go on: its deadline, its cancellation, its memory, and the progress it reports meanwhile.
//! Trust: the budget and the cancellation are the supervisor's; both only ever shorten the work.

use crate::{hearing::Hearing, memory};
use std::{
    cell::{Cell, RefCell},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering},
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
    /// Most of the memory that this process may use is used up.
    Memory,
}

/// Least time between two progress messages.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// Units between two looks at the clock.
const LOOK_EVERY: u64 = 64;
/// Least time between two looks at what the supervisor says, in milliseconds.
const LISTEN_EVERY_MS: u32 = 8;
/// Least time between two looks at the memory.
const PROBE_EVERY: Duration = Duration::from_millis(2);

/// The one open call that a walker works for.
pub struct Pace {
    call: Arc<Open>,
    done: Cell<u64>,
    /// How much of it `call` knows.
    told: Cell<u64>,
    next_look: Cell<u64>,
    said: Cell<Instant>,
    probed: Cell<Instant>,
    say: RefCell<Box<dyn FnMut(u64)>>,
    aside: LeftBehind,
}

/// Threads that still work for a call, perhaps one that has ended.
#[derive(Debug, Clone, Default)]
pub struct LeftBehind(Arc<AtomicUsize>);

impl LeftBehind {
    /// Whether there are any.
    #[must_use]
    pub fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// One of them, for as long as this value lives.
#[derive(Debug)]
pub struct Busy(Arc<AtomicUsize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What all threads of one call share.
struct Open {
    id: u64,
    hearing: Arc<Hearing>,
    begun: Instant,
    /// When it was listened last, in milliseconds since then.
    listened: AtomicU32,
    until: Instant,
    done: AtomicU64,
    /// One of those below, once there is a reason.
    stopped: AtomicU8,
    /// Bytes that must be free for the work to go on.
    spare: AtomicUsize,
    /// A thread is looking whether they are. Two at once would find only half of what there is.
    probing: AtomicBool,
}

const DEADLINE: u8 = 1;
const CANCELLED: u8 = 2;
const MEMORY: u8 = 3;

impl Open {
    fn listen(&self, now: Instant) {
        let ms = u32::try_from(now.duration_since(self.begun).as_millis()).unwrap_or(u32::MAX);
        if ms.saturating_sub(self.listened.load(Ordering::Relaxed)) >= LISTEN_EVERY_MS {
            self.listened.store(ms, Ordering::Relaxed);
            self.hearing.listen();
        }
    }

    fn stopped(&self) -> Option<Stopped> {
        match self.stopped.load(Ordering::Relaxed) {
            DEADLINE => Some(Stopped::Deadline),
            CANCELLED => Some(Stopped::Cancelled),
            MEMORY => Some(Stopped::Memory),
            _ => None,
        }
    }
}

/// The same call for another thread, which says nothing itself.
#[derive(Clone)]
pub struct Beside(Arc<Open>);

impl Beside {
    /// A pace for the thread that this was moved to.
    #[must_use]
    pub fn pace(&self) -> Pace {
        Pace::of(Arc::clone(&self.0), |_| {})
    }
}

impl fmt::Debug for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Beside").field(&self.0.id).finish()
    }
}

impl Pace {
    /// Four fifths of `budget_ms` from now; `hearing` is listened to meanwhile. `say` is given the units done, at most four
    /// times a second.
    #[must_use]
    pub fn new(id: u64, hearing: Arc<Hearing>, budget_ms: u32, say: impl FnMut(u64) + 'static) -> Self {
        let begun = Instant::now();
        let until = begun + Duration::from_millis(u64::from(budget_ms)) * 4 / 5;
        let (listened, done, stopped, spare, probing) = Default::default();
        Self::of(Arc::new(Open { id, hearing, begun, listened, until, done, stopped, spare, probing }), say)
    }

    /// That of work that nobody cancels and nobody hears of.
    #[must_use]
    pub fn alone(budget_ms: u32) -> Self {
        Self::new(1, Arc::new(Hearing::deaf()), budget_ms, |_| {})
    }

    /// The same call, which also ends where fewer than `bytes` of memory are left.
    #[must_use]
    pub fn with_spare(self, bytes: usize) -> Self {
        self.call.spare.store(bytes, Ordering::Relaxed);
        self
    }

    fn of(call: Arc<Open>, say: impl FnMut(u64) + 'static) -> Self {
        Self {
            call,
            done: Cell::new(0),
            told: Cell::new(0),
            next_look: Cell::new(LOOK_EVERY),
            said: Cell::new(Instant::now()),
            probed: Cell::new(Instant::now()),
            say: RefCell::new(Box::new(say)),
            aside: LeftBehind::default(),
        }
    }

    /// Notes one more thread that works for this call and cannot be interrupted.
    #[must_use]
    pub fn aside(&self) -> Busy {
        self.aside.0.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(&self.aside.0))
    }

    /// The threads of this call that cannot be interrupted.
    #[must_use]
    pub fn left_behind(&self) -> LeftBehind {
        self.aside.clone()
    }

    /// Ends the call where it cannot go on: as at its deadline, unless there was another reason before.
    #[must_use]
    pub fn end(&self) -> Stopped {
        let _ = self.call.stopped.compare_exchange(0, DEADLINE, Ordering::Relaxed, Ordering::Relaxed);
        self.call.stopped().unwrap_or(Stopped::Deadline)
    }

    /// The same call for another thread: it stops when this one does, and the other way round.
    #[must_use]
    pub fn beside(&self) -> Beside {
        Beside(Arc::clone(&self.call))
    }

    /// Counts `units` of work and says whether to go on.
    ///
    /// # Errors
    /// [`Stopped`], and the same again at every later call.
    pub fn step(&self, units: u64) -> Result<(), Stopped> {
        let done = self.done.get() + units;
        self.done.set(done);
        if done < self.next_look.get() {
            return self.call.stopped().map_or(Ok(()), Err);
        }
        self.look()
    }

    /// Looks at the clock and at the cancellation now; for work whose units are long.
    ///
    /// # Errors
    /// As [`Pace::step`].
    pub fn look(&self) -> Result<(), Stopped> {
        let mine = self.done.get();
        self.next_look.set(mine + LOOK_EVERY);
        self.call.done.fetch_add(mine - self.told.replace(mine), Ordering::Relaxed);
        if let Some(stopped) = self.call.stopped() {
            return Err(stopped);
        }
        let now = Instant::now();
        self.call.listen(now);
        let stopped = if !self.call.hearing.wants(self.call.id) {
            CANCELLED
        } else if now >= self.call.until {
            DEADLINE
        } else if self.is_short(now) {
            MEMORY
        } else {
            if now.duration_since(self.said.get()) >= PROGRESS_EVERY {
                self.said.set(now);
                (self.say.borrow_mut())(self.call.done.load(Ordering::Relaxed));
            }
            return Ok(());
        };
        // whichever thread finds a reason first has it
        let _ = self.call.stopped.compare_exchange(0, stopped, Ordering::Relaxed, Ordering::Relaxed);
        self.call.stopped().map_or(Ok(()), Err)
    }

    fn is_short(&self, now: Instant) -> bool {
        if now.duration_since(self.probed.get()) < PROBE_EVERY {
            return false;
        }
        self.probed.set(now);
        if self.call.probing.swap(true, Ordering::Acquire) {
            return false;
        }
        let there = memory::is_there(self.call.spare.load(Ordering::Relaxed));
        self.call.probing.store(false, Ordering::Release);
        !there
    }

    /// Whether and why the work was cut short.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        self.call.stopped()
    }
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace").field("id", &self.call.id).field("done", &self.done.get()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_call_stops_and_stays_stopped() {
        let hearing = Arc::new(Hearing::deaf());
        let pace = Pace::new(7, Arc::clone(&hearing), 60_000, |_| {});
        assert_eq!(pace.look(), Ok(()));
        hearing.cancel(6);
        assert_eq!(pace.look(), Ok(()), "another call was meant");
        hearing.cancel(7);
        assert_eq!(pace.look(), Err(Stopped::Cancelled));
        assert_eq!(pace.step(1), Err(Stopped::Cancelled));
    }

    #[test]
    fn threads_of_one_call_stop_together_and_count_together() {
        let hearing = Arc::new(Hearing::deaf());
        let said = std::rc::Rc::new(Cell::new(0));
        let heard = std::rc::Rc::clone(&said);
        let pace = Pace::new(7, Arc::clone(&hearing), 60_000, move |done| heard.set(done));
        let beside = pace.beside();
        let other = std::thread::spawn(move || {
            let pace = beside.pace();
            let walked = pace.step(1_000);
            hearing.cancel(7);
            walked.and_then(|()| pace.step(1_000))
        });
        assert_eq!(other.join().expect("it does not panic"), Err(Stopped::Cancelled));
        assert_eq!(pace.step(1), Err(Stopped::Cancelled), "without a look of its own");
        assert_eq!(pace.call.done.load(Ordering::Relaxed), 2_000);
        assert_eq!(said.get(), 0, "the other thread says nothing");
    }

    #[test]
    fn a_call_ends_where_memory_does() {
        let pace = Pace::alone(600_000).with_spare(usize::MAX / 4);
        let beside = pace.beside().pace();
        std::thread::sleep(PROBE_EVERY);
        assert_eq!(beside.look(), Err(Stopped::Memory));
        assert_eq!(pace.step(1), Err(Stopped::Memory), "for all its threads");
    }

    #[test]
    fn a_budget_of_nothing_stops_at_the_first_look() {
        let pace = Pace::alone(0);
        assert_eq!(pace.step(LOOK_EVERY), Err(Stopped::Deadline));
        assert_eq!(pace.stopped(), Some(Stopped::Deadline));
    }
}
