//! Every way in which a call can end, the same over both kinds of carrier.
//! Trust: test code.

mod support;

use bulkhead_contract::isolation::{Demand, Report};
use bulkhead_ipc::edge::read::{Ask, Page};
use bulkhead_supervisor::{
    carrier::{
        Carrier,
        threads::{MAX_ABANDONED, Threads, WorkerTable},
    },
    control::Control,
    outcome::CallError,
    pool::Pool,
    reads::{Question, Reads},
};
use std::rc::Rc;
use support::*;

/// What the caller sees, in a word or two.
fn ending(outcome: &Result<bulkhead_supervisor::outcome::Answered, CallError>) -> String {
    match outcome {
        Ok(answered) => format!("answer of {}", String::from_utf8_lossy(&answered.canonical)),
        Err(CallError::Read(failure)) => failure.reason.name().to_owned(),
        Err(CallError::IsolationMissing { layer, .. }) => format!("{layer} missing"),
        Err(CallError::Deadline { seconds }) => format!("late after {seconds} s"),
        Err(CallError::WorkerDied { how }) if how.starts_with("it broke its protocol") => {
            "broke its protocol".to_owned()
        }
        Err(CallError::WorkerDied { .. }) => "died".to_owned(),
        Err(CallError::Unavailable { .. }) => "unavailable".to_owned(),
        Err(CallError::Gone { .. }) => "gone".to_owned(),
        Err(CallError::Poisoned { .. }) => "poisoned".to_owned(),
        Err(CallError::Stopping) => "stopping".to_owned(),
        Err(CallError::Incomplete { .. }) => "incomplete".to_owned(),
        Err(CallError::Cancelled) => "cancelled".to_owned(),
        Err(
            other @ (CallError::DetectionOff
            | CallError::Direct(_)
            | CallError::Forbidden { .. }
            | CallError::GatewayNeeded
            | CallError::GatewaySilent { .. }
            | CallError::Unrecorded { .. }),
        ) => other.to_string(),
    }
}

const ENDINGS: [(&str, &str); 18] = [
    ("/answers/a", "answer of /canonical/a"),
    ("/answers/a/beneath", "answer of /canonical/a"),
    ("/big/a", "answer of /canonical/a"),
    ("/progresses/a", "answer of /canonical/a"),
    ("/moves-later/a", "answer of /canonical/a"),
    ("/twice/a", "answer of /canonical/a"),
    ("/fails/a", "bare"),
    ("/refused/a", "not-a-repository"),
    ("/short/a", "writes missing"),
    ("/dies/b", "died"),
    ("/exits/b", "died"),
    ("/dies-at-start/b", "died"),
    ("/nonsense/c", "broke its protocol"),
    ("/other-id/c", "broke its protocol"),
    ("/backwards/d", "broke its protocol"),
    ("/early/d", "broke its protocol"),
    ("/lost/d", "broke its protocol"),
    ("/moves/e", "unavailable"),
];

async fn each_ends_as_expected(carrier: impl Fn() -> Rc<dyn Carrier>) {
    for (path, expected) in ENDINGS {
        // one pool each: what one repository's deaths do to the next call is told elsewhere
        let pool = Pool::new(Rc::new(settings(Demand::Off)), carrier(), &Report::default());
        assert_eq!(ending(&ask(&pool, path).await), expected, "{path}");
        assert_eq!(ending(&ask(&pool, "/answers/other").await), "answer of /canonical/other", "after {path}");
    }
    let pool = Pool::new(Rc::new(settings(Demand::Off)), carrier(), &Report::default());
    let (_stopper, control) = Control::pair(None);
    let page = Page { limit: 1, chars: 1, cursor: None };
    let outcome = pool.read(Question { ask: Ask::Status(page), ..question("/answers/a") }, control).await;
    assert_eq!(ending(&outcome), "broke its protocol", "a reply to another question");
}

fn threads() -> Rc<dyn Carrier> {
    Rc::new(Threads::new(
        WorkerTable {
            read: thread_main,
            audit: drop,
            agents: drop,
            note: drop,
            gateway: drop,
            syntax: drop,
            write: drop,
        },
        inits(),
    ))
}

#[test]
fn over_processes() {
    paused(each_ends_as_expected(|| Rc::new(Fake::new())));
}

#[test]
fn over_threads() {
    unpaused(each_ends_as_expected(threads));
}

#[test]
fn a_thread_that_hangs_is_late_and_one_that_listens_stops() {
    unpaused(async {
        let pool = Pool::new(Rc::new(settings(Demand::Off)), threads(), &Report::default());
        let mut asked = begin(&pool, "/stops-short/a");
        asked.ticks.recv().await.expect("it works on it");
        tokio::time::pause();
        assert_eq!(ending(&asked.outcome.await.expect("no panic")), "late after 30 s");
        tokio::time::resume();

        let mut asked = begin(&pool, "/stops-short/a");
        asked.ticks.recv().await.expect("it works on it");
        asked.stopper.stop();
        assert_eq!(ending(&asked.outcome.await.expect("no panic")), "cancelled");
    });
}

#[test]
fn threads_that_cannot_be_ended_are_counted_and_at_last_none_is_started() {
    unpaused(async {
        let pool = Pool::new(Rc::new(settings(Demand::Off)), threads(), &Report::default());
        for n in 0..MAX_ABANDONED {
            let mut asked = begin(&pool, &format!("/stuck/{n}"));
            asked.ticks.recv().await.expect("it works on it");
            tokio::time::pause();
            assert_eq!(ending(&asked.outcome.await.expect("no panic")), "late after 30 s");
            tokio::time::resume();
        }
        let Err(CallError::Unavailable { why }) = ask(&pool, "/answers/a").await else { panic!("no thread is left") };
        assert!(why.contains("restart the server"), "{why}");
    });
}

#[test]
fn single_process_mode_never_meets_the_demand() {
    unpaused(async {
        let pool = Pool::new(Rc::new(settings(Demand::Required)), threads(), &report(true));
        assert_eq!(ending(&ask(&pool, "/answers/a").await), "process missing");
    });
}
