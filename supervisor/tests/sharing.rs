//! Who is served by which worker, in which order, and that no call delays another.
//! Trust: test code.

mod support;

use bulkhead_contract::isolation::Demand;
use bulkhead_supervisor::{
    carrier::{Ending, StartError},
    control::Control,
    outcome::{Answered, CallError},
    pool::{MAX_QUEUE, Pool, parts_at_once},
    reads::Reads as _,
};
use std::{rc::Rc, time::Duration};
use support::*;
use tokio::{
    task::spawn_local,
    time::{Instant, sleep},
};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_worker_stays_for_its_repository_and_serves_every_path_to_it() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        for path in ["/answers/a", "/answers/a", "/answers/a/sub", "/answers/a", "/answers/a/sub"] {
            assert_eq!(
                answered(ask(&pool, path).await),
                if fake.started.borrow().len() == 1 { "/answers/a" } else { "/answers/a/sub" }
            );
        }
        // an unknown path needs a worker of its own to find out where it leads
        assert_eq!(*fake.started.borrow(), ["/answers/a", "/answers/a/sub"]);
        // a third worker would be one too many for the repository; it goes when it has answered
        ask(&pool, "/answers/a/deeper").await.expect("an answer");
        settle().await;
        assert_eq!((fake.alive.get(), pool.workers()), (2, 2));
    });
}

#[test]
fn a_slow_call_delays_neither_its_own_repository_nor_another() {
    paused(async {
        let (fake, start) = (Fake::new(), Instant::now());
        let pool = pool(&fake, Demand::Off);
        let slow = begin(&pool, "/slow/a");
        settle().await;
        ask(&pool, "/answers/a").await.expect("an answer");
        ask(&pool, "/answers/b").await.expect("an answer");
        assert_eq!(start.elapsed(), Duration::ZERO);
        slow.outcome.await.expect("no panic").expect("an answer");
        assert_eq!(start.elapsed(), SECOND);
    });
}

#[test]
fn calls_beyond_the_limit_of_a_repository_wait_their_turn() {
    paused(async {
        let (fake, start) = (Fake::new(), Instant::now());
        let pool = pool(&fake, Demand::Off);
        let calls: Vec<_> = (0..5).map(|_| begin(&pool, "/slow/a")).collect();
        let mut done = Vec::new();
        for call in calls {
            call.outcome.await.expect("no panic").expect("an answer");
            done.push(start.elapsed().as_secs());
        }
        assert_eq!(done, [1, 1, 2, 2, 3], "first come, first served, by two");
        assert_eq!(fake.started.borrow().len(), 2);
    });
}

#[test]
fn one_that_waits_for_its_repository_does_not_hold_up_those_behind_it() {
    paused(async {
        let (fake, start) = (Fake::new(), Instant::now());
        let pool = pool(&fake, Demand::Off);
        let waiting: Vec<_> = (0..4).map(|_| begin(&pool, "/slow/a")).collect();
        settle().await;
        ask(&pool, "/answers/b").await.expect("an answer");
        assert_eq!(start.elapsed(), Duration::ZERO);
        drop(waiting);
    });
}

#[test]
fn the_idle_worker_that_worked_longest_ago_makes_room() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        for path in ["/answers/a", "/answers/b", "/answers/c", "/answers/a", "/answers/d"] {
            ask(&pool, path).await.expect("an answer");
            sleep(SECOND).await;
        }
        assert_eq!(*fake.ends.borrow(), [Ending::Dismiss]);
        assert_eq!((fake.alive.get(), pool.workers()), (3, 3));
        for path in ["/answers/a", "/answers/c", "/answers/d"] {
            ask(&pool, path).await.expect("an answer");
        }
        assert_eq!(fake.started.borrow().len(), 4, "b went");
    });
}

#[test]
fn no_more_workers_than_allowed_live_and_a_call_that_finds_none_until_its_deadline_hears_so() {
    paused(async {
        let (fake, start) = (Fake::new(), Instant::now());
        let pool = pool(&fake, Demand::Off);
        let busy: Vec<_> = ["/hangs/a", "/hangs/b", "/hangs/c"].map(|path| begin(&pool, path)).into();
        settle().await;
        sleep(SECOND).await;
        let waiting = begin(&pool, "/answers/d");
        let patient = begin(&pool, "/hangs/e");
        settle().await;
        assert_eq!(fake.alive.get(), 3);
        for call in busy {
            let outcome = call.outcome.await.expect("no panic");
            assert!(matches!(outcome, Err(CallError::Deadline { seconds: 30 })), "{outcome:?}");
        }
        assert_eq!(start.elapsed(), 30 * SECOND);
        waiting.outcome.await.expect("no panic").expect("the dead make room");
        let outcome = patient.outcome.await.expect("no panic");
        assert!(matches!(outcome, Err(CallError::Deadline { .. })), "waiting counts too: {outcome:?}");
        assert_eq!(start.elapsed(), 31 * SECOND);

        let stuck: Vec<_> = ["/hangs/f", "/hangs/g", "/hangs/h"].map(|path| begin(&pool, path)).into();
        settle().await;
        fake.broken.replace(Some(StartError { why: "never again".to_owned(), too_fast: false, for_good: false }));
        let late = begin(&pool, "/answers/i");
        sleep(29 * SECOND).await;
        late.stopper.stop();
        assert!(matches!(late.outcome.await.expect("no panic"), Err(CallError::Cancelled)), "also while it waits");
        drop(stuck);
    });
}

#[test]
fn the_queue_is_bounded() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        let mut calls: Vec<_> = (0..MAX_QUEUE + 2).map(|_| begin(&pool, "/hangs/a")).collect();
        settle().await;
        let Err(CallError::Unavailable { why }) = ask(&pool, "/hangs/a").await else { panic!("the queue is full") };
        assert!(why.contains("too many"), "{why}");
        calls.pop().expect("there are some").stopper.stop();
        settle().await;
        begin(&pool, "/hangs/a");
        settle().await;
        pool.close().await;
        for call in calls {
            assert!(call.outcome.await.expect("no panic").is_err(), "nobody is left waiting");
        }
    });
}

#[test]
fn an_idle_worker_is_stopped_after_a_while() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        ask(&pool, "/answers/a").await.expect("an answer");
        sleep(299 * SECOND).await;
        assert_eq!(fake.alive.get(), 1);
        ask(&pool, "/answers/a").await.expect("an answer");
        sleep(301 * SECOND).await;
        assert_eq!((fake.alive.get(), pool.workers()), (0, 0));
        assert_eq!(*fake.ends.borrow(), [Ending::Dismiss]);
    });
}

#[test]
fn a_path_that_moved_is_looked_at_anew_once() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        for _ in 0..2 {
            assert_eq!(answered(ask(&pool, "/moves-later/a").await), "/moves-later/a");
        }
        assert_eq!(fake.started.borrow().len(), 2, "the second call moved and was served by a new worker");
        assert!(matches!(ask(&pool, "/moves/b").await, Err(CallError::Unavailable { .. })));
        assert_eq!(fake.started.borrow().len(), 4, "tried twice");
        settle().await;
        assert_eq!(fake.alive.get(), 1);
    });
}

/// Asks as one of many parts of a larger call.
async fn ask_part(pool: &Pool, path: &str, limit: Duration) -> Result<Answered, CallError> {
    let (_stopper, control) = Control::pair(None);
    pool.read(question(path), control.as_part(limit)).await
}

#[test]
fn workers_of_parts_make_room_before_those_that_calls_keep_warm() {
    paused(async {
        let fake = Fake::new();
        let pool = pool(&fake, Demand::Off);
        ask(&pool, "/answers/warm").await.expect("an answer");
        for n in 0..20 {
            sleep(SECOND).await;
            ask_part(&pool, &format!("/answers/part{n}"), 10 * SECOND).await.expect("an answer");
        }
        let started = fake.started.borrow().len();
        ask(&pool, "/answers/warm").await.expect("an answer");
        assert_eq!(fake.started.borrow().len(), started, "it was still there");
    });
}

#[test]
fn a_part_has_its_own_time_and_says_so() {
    paused(async {
        let (fake, start) = (Fake::new(), Instant::now());
        let pool = pool(&fake, Demand::Off);
        let outcome = ask_part(&pool, "/hangs/a", 3 * SECOND).await;
        assert!(matches!(outcome, Err(CallError::Deadline { seconds: 3 })), "{outcome:?}");
        assert_eq!(start.elapsed(), 3 * SECOND);
    });
}

#[test]
fn parts_leave_a_place_for_calls_of_their_own() {
    paused(async {
        let fake = Fake::new();
        let mut settings = settings(Demand::Off);
        settings.max_workers = 4;
        let pool = Pool::new(Rc::new(settings), Rc::new(fake.clone()), &report(true));
        let parts: Vec<_> = (0..6)
            .map(|n| {
                let pool = pool.clone();
                spawn_local(async move { ask_part(&pool, &format!("/hangs/{n}"), 10 * SECOND).await })
            })
            .collect();
        settle().await;
        assert_eq!((pool.workers(), parts_at_once(4)), (3, 3));
        let start = Instant::now();
        ask(&pool, "/answers/own").await.expect("there is a place");
        assert_eq!(start.elapsed(), Duration::ZERO);
        drop(parts);
    });
}
