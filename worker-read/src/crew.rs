//! Threads that work on one call beside the one that serves: started when first needed, kept, each on its own processors.
//! Trust: no input. Work that panics ends the call, not the thread.

use bulkhead_sandbox::processors::Share;
use rayon_core::{ThreadPool, ThreadPoolBuilder};
use std::sync::OnceLock;

/// Threads of one call at most, the one that serves among them; each holds descriptors of directories that it is in.
const MAX_THREADS: usize = 4;
/// Stack of a thread, as that of the one that serves.
const STACK: usize = 8 << 20;

/// The threads of one worker.
#[derive(Debug, Default)]
pub struct Crew {
    hands: Vec<Hand>,
}

/// A thread that waits for work, or will.
#[derive(Debug)]
struct Hand {
    share: Share,
    /// `None` once it could not be started; it is done without then.
    pool: OnceLock<Option<ThreadPool>>,
}

impl Crew {
    /// At most `threads` work at a time, the one that serves among them.
    #[must_use]
    pub fn of(threads: usize) -> Self {
        let shares = Share::split(threads.min(MAX_THREADS));
        Self { hands: shares.into_iter().map(|share| Hand { share, pool: OnceLock::new() }).collect() }
    }

    /// Threads beside the calling one.
    #[must_use]
    pub fn others(&self) -> usize {
        self.hands.len().saturating_sub(1)
    }

    /// Runs `here` on the calling thread and each of `there` on another of its own, and returns when all have ended. There are
    /// as many others as [`others`](Self::others) says; what is beyond that, or whose thread could not be started, is
    /// dropped without being run.
    pub fn beside<T>(&self, there: Vec<impl FnOnce() + Send>, here: impl FnOnce() -> T) -> T {
        let most = self.others();
        let away = self.hands.iter().filter(|hand| !hand.share.is_here()).take(most);
        let pools: Vec<&ThreadPool> = away.filter_map(Hand::pool).collect();
        on(&pools, &mut there.into_iter(), here)
    }
}

impl Hand {
    fn pool(&self) -> Option<&ThreadPool> {
        let start = || {
            let share = self.share;
            let builder = ThreadPoolBuilder::new().num_threads(1).stack_size(STACK);
            builder.thread_name(|_| "beside".into()).start_handler(move |_| share.stay()).build().ok()
        };
        self.pool.get_or_init(start).as_ref()
    }
}

fn on<T>(pools: &[&ThreadPool], there: &mut dyn Iterator<Item = impl FnOnce() + Send>, here: impl FnOnce() -> T) -> T {
    let Some((pool, rest)) = pools.split_first() else { return here() };
    let Some(work) = there.next() else { return here() };
    pool.in_place_scope(|scope| {
        scope.spawn(|_| work());
        on(rest, there, here)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        collections::HashSet,
        panic::{AssertUnwindSafe, catch_unwind},
        sync::{Barrier, Mutex},
        thread,
    };

    #[test]
    fn all_work_at_the_same_time_and_the_threads_stay() {
        let crew = Crew::of(2);
        let seen = Mutex::new(HashSet::new());
        for round in 0..20 {
            let meeting = Barrier::new(crew.others() + 1);
            let meet = || {
                meeting.wait();
                seen.lock().expect("nobody panics").insert(thread::current().id());
            };
            let there = (0..crew.others()).map(|_| meet).collect();
            let result = crew.beside(there, || {
                meet();
                round
            });
            assert_eq!(result, round);
        }
        // one hand for each share of the processors, and the caller
        assert!((1 + crew.others()..=1 + crew.hands.len()).contains(&seen.lock().expect("nobody panics").len()));
    }

    #[test]
    fn nobody_is_there_to_help_with_one_thread_or_none() {
        for threads in [0, 1] {
            let crew = Crew::of(threads);
            assert_eq!(crew.others(), 0);
            assert_eq!(crew.beside(vec![|| unreachable!("there is no other thread")], || 7), 7);
        }
    }

    #[test]
    fn a_panic_anywhere_is_the_callers_and_ends_no_thread() {
        let crew = Crew::of(2);
        for _ in 0..3 {
            let there = (0..crew.others()).map(|_| || std::panic::resume_unwind(Box::new("there"))).collect::<Vec<_>>();
            let ended = catch_unwind(AssertUnwindSafe(|| crew.beside(there, || 1)));
            assert_eq!(ended.is_err(), crew.others() > 0);
            let there = (0..crew.others()).map(|_| || ()).collect::<Vec<_>>();
            let ended = catch_unwind(AssertUnwindSafe(|| {
                crew.beside(there, || std::panic::resume_unwind(Box::new("here")));
            }));
            assert!(ended.is_err());
            let there = (0..crew.others()).map(|_| || ()).collect::<Vec<_>>();
            assert_eq!(crew.beside(there, || 2), 2);
        }
    }
}
