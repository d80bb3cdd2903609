//! Deadlines, cancelling, what deaths lead to, and what is demanded of a worker's jail.
//! Trust: test code.

mod support;

use bulkhead_contract::isolation::{Demand, Report};
use bulkhead_supervisor::{
    backoff, carrier::Ending, carrier::StartError, outcome::CallError, poison, pool::Pool, worker::GRACE,
};
use std::{rc::Rc, time::Duration};
use support::*;
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);

fn is_missing(outcome: &Result<bulkhead_supervisor::outcome::Answered, CallError>, wanted: &str) -> bool {
    matches!(outcome, Err(CallError::IsolationMissing { layer, .. }) if layer == wanted)
}

#[test]
fn the_deadline_kills_counts_from_the_start_and_twice_the_same_is_refused() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        for path in ["/hangs/a", "/hangs-at-start/b"] {
            for _ in 0..poison::DEATHS {
                let start = Instant::now();
                let outcome = ask(&pool, path).await;
                assert!(matches!(outcome, Err(CallError::Deadline { seconds: 30 })), "{outcome:?}");
                assert_eq!(start.elapsed(), 30 * SECOND);
                settle().await;
                assert_eq!((fake.alive.get(), pool.workers()), (0, 0));
            }
            let outcome = ask(&pool, path).await;
            assert!(matches!(outcome, Err(CallError::Poisoned { seconds: 600 })), "{outcome:?}");
            assert!(matches!(ask_anew(&pool, path, 1).await, Err(CallError::Deadline { .. })), "another call may try");
        }
        assert!(fake.ends.borrow().iter().all(|end| *end == Ending::Kill));
        sleep(poison::REFUSED_FOR).await;
        assert!(matches!(ask(&pool, "/hangs/a").await, Err(CallError::Deadline { .. })), "not for ever");
    });
}

#[test]
fn no_call_is_to_blame_for_a_worker_that_was_not_started_in_time() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        fake.unstarted.set(true);
        for _ in 0..=poison::DEATHS {
            let outcome = ask(&pool, "/answers/a").await;
            assert!(matches!(outcome, Err(CallError::Deadline { .. })), "{outcome:?}");
        }
        fake.unstarted.set(false);
        assert!(ask(&pool, "/answers/a").await.is_ok());
    });
}

#[test]
fn a_call_that_makes_progress_is_slow_and_not_poison() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        for _ in 0..3 {
            let mut asked = begin(&pool, "/creeps/a");
            let first = asked.ticks.recv().await.expect("progress");
            assert_eq!((first.done, first.total), (1, Some(9)));
            let outcome = asked.outcome.await.expect("no panic");
            assert!(matches!(outcome, Err(CallError::Deadline { .. })), "{outcome:?}");
        }
    });
}

#[test]
fn a_call_that_ends_its_worker_twice_is_refused_and_the_way_it_ended_is_named() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        for _ in 0..poison::DEATHS {
            let Err(CallError::WorkerDied { how }) = ask(&pool, "/dies/a").await else { panic!("it dies") };
            assert_eq!(how, "signal 6");
        }
        assert!(matches!(ask(&pool, "/dies/a").await, Err(CallError::Poisoned { .. })));
        assert_eq!(fake.started.borrow().len(), 2);
        let Err(CallError::WorkerDied { how }) = ask(&pool, "/exits/b").await else { panic!("it leaves") };
        assert_eq!(how, "exit code 101");
    });
}

#[test]
fn deaths_slow_down_starts_for_one_repository_and_then_stop_them() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        let mut waited = Vec::new();
        for n in 0..5 {
            let start = Instant::now();
            let outcome = ask_anew(&pool, "/dies/a", n).await;
            assert!(matches!(outcome, Err(CallError::WorkerDied { .. })), "{outcome:?}");
            waited.push(start.elapsed().as_millis());
        }
        assert_eq!(waited, [0, 0, 100, 400, 1600]);
        let Err(CallError::Unavailable { why }) = ask_anew(&pool, "/dies/a", 9).await else { panic!("it is open") };
        assert!(why.contains("60 s"), "{why}");

        let start = Instant::now();
        ask(&pool, "/answers/b").await.expect("another repository pays nothing");
        assert_eq!(start.elapsed(), Duration::ZERO);
        // back-off is about starts: a worker that was found over another path serves this one too
        ask(&pool, "/answers/a").await.expect("an answer");
        assert_eq!(answered(ask_anew(&pool, "/dies/a", 10).await), "/answers/a");
    });
}

#[test]
fn a_forbidden_system_call_stops_starts_at_once_and_one_probe_a_minute_is_let_through() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        let Err(CallError::WorkerDied { how }) = ask_anew(&pool, "/forbidden/a", 0).await else { panic!("it dies") };
        assert!(how.contains("SIGSYS"), "{how}");
        for n in 1..4 {
            assert!(matches!(ask_anew(&pool, "/forbidden/a", n).await, Err(CallError::Unavailable { .. })));
            sleep(backoff::PROBE).await;
            assert!(matches!(ask_anew(&pool, "/forbidden/a", 10 + n).await, Err(CallError::WorkerDied { .. })));
        }
        assert_eq!(fake.started.borrow().len(), 4);
    });
}

#[test]
fn a_worker_that_is_asked_to_stop_and_does_lives_on() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        let asked = begin(&pool, "/stops/a");
        settle().await;
        asked.stopper.stop();
        assert!(matches!(asked.outcome.await.expect("no panic"), Err(CallError::Cancelled)));
        assert_eq!(asked.since.elapsed(), Duration::ZERO, "the caller need not wait for that");
        settle().await;
        ask(&pool, "/stops/a").await.expect_err("it hangs until it is asked to stop");
        assert_eq!(fake.started.borrow().len(), 1);
    });
}

#[test]
fn one_that_does_not_stop_is_killed_after_the_grace_and_so_is_one_whose_caller_vanished() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        for (n, path) in ["/hangs/a", "/hangs-at-start/b", "/hangs/c"].into_iter().enumerate() {
            let asked = begin(&pool, path);
            settle().await;
            if n == 2 {
                asked.outcome.abort()
            } else {
                asked.stopper.stop()
            }
            sleep(GRACE - Duration::from_millis(1)).await;
            assert_eq!(fake.alive.get(), 1, "{path}");
            sleep(Duration::from_millis(2)).await;
            assert_eq!((fake.alive.get(), pool.workers()), (0, 0), "{path}");
        }
        // being told to stop is no death
        for n in 0..5 {
            assert!(matches!(ask_anew(&pool, "/hangs/a", n).await, Err(CallError::Deadline { .. })));
        }
    });
}

#[test]
fn a_second_answer_ends_an_idle_worker_and_costs_no_call() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        ask(&pool, "/twice/a").await.expect("the first answer");
        settle().await;
        assert_eq!((fake.alive.get(), pool.workers()), (0, 0));
        ask(&pool, "/answers/a").await.expect("an answer");
    });
}

#[test]
fn what_is_demanded_of_a_jail_is_measured_from_outside_too() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Required);
        ask(&pool, "/answers/a").await.expect("an answer");
        assert!(is_missing(&ask(&pool, "/short/b").await, "writes"), "the worker says so");
        assert!(is_missing(&ask(&pool, "/lies/b").await, "writes"), "it says ready all the same");
        assert!(is_missing(&ask(&pool, "/mute/b").await, "report"), "a report without rows is none");
        for (line, layer) in [
            ("NoNewPrivs:\t1", "new-privileges"),
            ("Seccomp:\t2", "kernel-surface"),
            ("CapEff:\t0000000000000000", "capabilities"),
        ] {
            fake.status.replace(Some(Ok(JAILED.replace(line, ""))));
            let outcome = ask(&pool, "/answers/c").await;
            assert!(is_missing(&outcome, layer), "{line}: {outcome:?}");
            settle().await;
            assert_eq!(fake.alive.get(), 1, "only the first one lives");
        }
        fake.status.replace(Some(Err("it cannot be read".to_owned())));
        assert!(is_missing(&ask(&pool, "/answers/c").await, "process-status"));
        assert!(matches!(ask(&pool, "/dies/c").await, Err(CallError::WorkerDied { .. })), "a death stays a death");
        fake.status.replace(None);
        let outcome = ask(&pool, "/answers/d").await;
        assert!(matches!(outcome, Err(CallError::Deadline { .. })), "no answer leaves before the look: {outcome:?}");
        ask(&pool, "/answers/a").await.expect("a worker is looked at once");
    });
}

#[test]
fn best_effort_takes_what_there_is() {
    paused(async {
        let fake = Fake::new();
        fake.status.replace(None);
        let pool = pool(&fake, Demand::BestEffort);
        ask(&pool, "/lies/a").await.expect("an answer");
    });
}

#[test]
fn a_supervisor_that_is_not_confined_refuses_every_call() {
    paused(async {
        let fake = Fake::new();
        for own in [report(false), Report::default()] {
            let pool = Pool::new(Rc::new(settings(Demand::Required)), Rc::new(fake.clone()), &own);
            assert!(matches!(ask(&pool, "/answers/a").await, Err(CallError::IsolationMissing { .. })));
        }
        assert!(fake.started.borrow().is_empty());
    });
}

#[test]
fn why_there_is_no_worker_is_said() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        fake.broken.replace(Some(StartError {
            why: "the launcher ended; restart the server".to_owned(),
            too_fast: false,
            for_good: true,
        }));
        let Err(CallError::Gone { why }) = ask(&pool, "/answers/a").await else { panic!("nothing starts") };
        assert_eq!(why, "the launcher ended; restart the server");
        assert_eq!(pool.workers(), 0);
    });
}

#[test]
fn a_call_that_the_end_of_the_server_stops_is_told_so() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        let asked = begin(&pool, "/dies-later/a");
        settle().await;
        pool.close().await;
        assert!(matches!(asked.outcome.await.expect("no panic"), Err(CallError::Stopping)));
    });
}
