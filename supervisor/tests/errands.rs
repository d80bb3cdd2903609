//! Workers that belong to no repository: started on first use, asked, dismissed after idling, replaced when they fall.
//! Trust: test code.

mod support;

use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    isolation::{Demand, Report},
    results::AgentSource,
};
use bulkhead_ipc::{
    chunk::split,
    codec::{self, decode, encode, encode_answer},
    edge::{
        WorkerKind,
        agents::{self, Found, Scan, Sources, ToAgents},
        errand::{FromErrand, ToErrand},
        note::{self, Noted, ToNote},
        write::{self, Done, Operation, Outcome, Resolved, ToWrite},
    },
};
use bulkhead_supervisor::{
    carrier::{Ended, Local},
    control::Control,
    errands::{Errand, Errands, Notes, Scans, Writes},
    outcome::CallError,
};
use std::{future::pending, rc::Rc, time::Duration};
use support::{
    house::{House, Started},
    paused, report, settings, settle,
};
use tokio::{
    sync::mpsc,
    task::spawn_local,
    time::{Instant, sleep},
};

fn house(scripts: &[&'static str]) -> Started {
    House::of(scripts, act, false)
}

fn errands<E: Errand>(house: &Started, demand: Demand) -> Errands<E> {
    Errands::new(Rc::new(settings(demand)), Rc::new(house.clone()), &report(true))
}

/// One worker by its script.
fn act(
    kind: WorkerKind,
    script: &'static str,
    house: Rc<House>,
    mut heard: mpsc::Receiver<Vec<u8>>,
    said: mpsc::Sender<Vec<u8>>,
) -> Local<Ended> {
    Box::pin(async move { acted(kind, script, &house, &mut heard, &said).await })
}

async fn acted(
    kind: WorkerKind,
    script: &str,
    house: &House,
    heard: &mut mpsc::Receiver<Vec<u8>>,
    said: &mpsc::Sender<Vec<u8>>,
) -> Ended {
    let say = async |message: FromErrand| drop(said.send(encode(&message).expect("small")).await);
    match script {
        "dies at start" => return Ended::Signal(6),
        "short at start" => say(FromErrand::Short(report(false))).await,
        "hangs at start" => pending().await,
        "greets twice" => {
            say(FromErrand::Ready(report(true))).await;
            say(FromErrand::Ready(report(true))).await;
        }
        // one whose jail is finished later may say what it likes of it before
        "short at last" => say(FromErrand::Ready(report(true))).await,
        _ => say(FromErrand::Ready(report(kind == WorkerKind::Note))).await,
    }
    let mut closed = false;
    while let Some(frame) = heard.recv().await {
        let (id, length) = match call(kind, &frame) {
            Heard::Question(id, length) => (id, length),
            Heard::Piece(length) => {
                house.pieces.set(house.pieces.get() + length);
                continue;
            }
            Heard::Cancel => {
                house.cancelled.set(house.cancelled.get() + 1);
                if script == "slow and obedient" {
                    return Ended::Exit(0);
                }
                continue;
            }
        };
        let closes = kind != WorkerKind::Note && script != "never closes";
        if !std::mem::replace(&mut closed, true) && (closes || script == "closes unasked") {
            say(FromErrand::Closed { id, report: report(script != "short at last") }).await;
        }
        match script {
            "dies" => return Ended::Signal(11),
            "forbidden" => return Ended::Signal(31),
            "slow" => sleep(Duration::from_secs(3_600)).await,
            "slow and obedient" => continue,
            "takes a while" => sleep(Duration::from_secs(2)).await,
            "nonsense" => drop(said.send(vec![250, 3, 3]).await),
            _ => {}
        }
        let failure = || ReadFailure::new(Reason::Corrupt, "scan", "as it was told to");
        let noted = |failed| encode_answer::<note::Answer>(&Ok(Noted { failed }));
        let mut found = Found { at_ms: length as i64, ..Found::default() };
        if script == "speaks of stores" {
            found.findings.push(agents::Finding { source: AgentSource::Session, ..agents::Finding::default() });
        }
        let whole = match kind {
            _ if script == "fails" => encode_answer::<note::Answer>(&Err(failure())),
            _ if script == "answers another" => noted(Some("x".repeat(1_000_000))),
            WorkerKind::Agents => encode_answer::<agents::Answer>(&Ok(found)),
            WorkerKind::Write => {
                // a note too long for the edge, where it is to babble
                let notes = vec!["x".repeat(if script == "babbles" { 100_000 } else { 1 })];
                encode_answer::<write::Answer>(&Ok(Outcome::Done(Box::new(Done { notes, ..Done::default() }))))
            }
            _ => noted(None),
        };
        let whole = whole.expect("within the limit");
        for (last, bytes) in split(&whole) {
            say(FromErrand::Part { id, last, bytes: bytes.to_vec() }).await;
        }
    }
    Ended::Exit(0)
}

/// What a frame is.
enum Heard {
    /// The call of that id, whole, with the length of what a scan is about.
    Question(u64, usize),
    /// Bytes of a call that goes on.
    Piece(usize),
    Cancel,
}

fn call(kind: WorkerKind, frame: &[u8]) -> Heard {
    fn of<I, A>(message: ToErrand<I, A>, length: impl FnOnce(&A) -> usize) -> Heard {
        match message {
            ToErrand::Call(call) => Heard::Question(call.id, length(&call.ask)),
            ToErrand::Part { id, last: true, bytes } => Heard::Question(id, bytes.len()),
            ToErrand::Part { last: false, bytes, .. } => Heard::Piece(bytes.len()),
            _ => Heard::Cancel,
        }
    }
    match kind {
        WorkerKind::Agents => of(decode::<ToAgents>(frame).expect("the supervisor's"), |scan: &Scan| scan.root.len()),
        WorkerKind::Write => of(decode::<ToWrite>(frame).expect("the supervisor's"), |_| 0),
        _ => of(decode::<ToNote>(frame).expect("the supervisor's"), |_| 0),
    }
}

fn scan() -> Scan {
    Scan { root: b"/srv".to_vec(), at: Sources::Processes { traced: Vec::new() } }
}

fn note() -> note::Ask {
    note::Ask::Note(note::Note { client: None, version: None, repos: Vec::new() })
}

async fn ask<E: Errand>(errands: &Errands<E>, ask: E::Ask) -> Result<E::Reply, CallError> {
    let (_stopper, control) = Control::pair(None);
    errands.ask(ask, control).await
}

#[test]
fn nobody_is_started_before_the_first_question_and_one_serves_many() {
    paused(async {
        let house = house(&["good"]);
        let notes = errands::<Notes>(&house, Demand::Required);
        settle().await;
        assert_eq!(house.0.started.get(), 0);
        for _ in 0..5 {
            assert_eq!(ask(&notes, note()).await.expect("noted"), Noted { failed: None });
        }
        assert_eq!((house.0.started.get(), house.0.alive.get()), (1, 1));
    });
}

#[test]
fn one_that_idles_is_dismissed_and_the_next_question_starts_another() {
    paused(async {
        let house = house(&["good"]);
        let notes = errands::<Notes>(&house, Demand::Required);
        ask(&notes, note()).await.expect("noted");
        sleep(settings(Demand::Required).idle_stop + Duration::from_secs(1)).await;
        settle().await;
        assert_eq!((house.0.started.get(), house.0.alive.get()), (1, 0));
        ask(&notes, note()).await.expect("noted");
        assert_eq!((house.0.started.get(), house.0.alive.get()), (2, 1));
    });
}

#[test]
fn a_kind_that_serves_once_has_spares_ready_and_no_more_than_it_wants() {
    paused(async {
        let house = house(&["good"]);
        let scans = errands::<Scans>(&house, Demand::Required);
        for n in 1..4 {
            let found = ask(&scans, scan()).await.expect("found");
            assert_eq!(found.at_ms, 4);
            settle().await;
            let expected = (n + Scans::SPARE, Scans::SPARE);
            assert_eq!((house.0.started.get(), house.0.alive.get()), expected, "so many served, so many wait");
        }
        let both = tokio::join!(ask(&scans, scan()), ask(&scans, scan()), ask(&scans, scan()));
        assert!(both.0.is_ok() && both.1.is_ok() && both.2.is_ok());
        settle().await;
        assert_eq!(house.0.alive.get(), Scans::SPARE, "whoever ends together makes no more of them");
        scans.close();
        settle().await;
        assert_eq!(house.0.alive.get(), 0);
        assert!(matches!(ask(&scans, scan()).await, Err(CallError::Unavailable { .. })));
    });
}

#[test]
fn calls_beyond_the_workers_wait_and_are_answered() {
    paused(async {
        let house = house(&["takes a while"]);
        let scans = errands::<Scans>(&house, Demand::Required);
        let since = Instant::now();
        let asked: Vec<_> = (0..3 * Scans::MOST)
            .map(|_| {
                let scans = scans.clone();
                spawn_local(async move { ask(&scans, scan()).await.is_ok() })
            })
            .collect();
        sleep(Duration::from_secs(1)).await;
        assert!(house.0.alive.get() <= Scans::MOST + Scans::SPARE, "{}", house.0.alive.get());
        for asked in asked {
            assert!(asked.await.expect("no panic"));
        }
        let took = since.elapsed().as_secs();
        assert!((6..20).contains(&took), "{took} s for three questions to each of the workers, of two seconds");
    });
}

#[test]
fn what_a_worker_may_not_say_costs_it_its_life_and_the_call_one_error() {
    for script in ["nonsense", "answers another", "closes unasked", "greets twice", "dies"] {
        paused(async {
            let house = house(&[script, "good"]);
            let notes = errands::<Notes>(&house, Demand::Required);
            let first = ask(&notes, note()).await;
            assert!(matches!(first, Err(CallError::WorkerDied { .. })), "{script}: {first:?}");
            settle().await;
            assert_eq!(house.0.alive.get(), 0, "{script}");
            assert!(ask(&notes, note()).await.is_ok(), "{script}: the next one serves");
        });
    }
    paused(async {
        let house = house(&["never closes"]);
        let first = ask(&errands::<Scans>(&house, Demand::Off), scan()).await;
        assert!(matches!(first, Err(CallError::WorkerDied { .. })), "an answer before the jail is finished: {first:?}");
    });
    paused(async {
        let house = house(&["speaks of stores", "good"]);
        let scans = errands::<Scans>(&house, Demand::Required);
        let first = ask(&scans, scan()).await;
        assert!(
            matches!(first, Err(CallError::WorkerDied { .. })),
            "whoever looks at processes has seen no store: {first:?}"
        );
        assert!(ask(&scans, scan()).await.is_ok());
    });
}

#[test]
fn an_answer_that_is_an_error_is_no_fall() {
    paused(async {
        let house = house(&["fails"]);
        let notes = errands::<Notes>(&house, Demand::Required);
        for _ in 0..8 {
            assert!(matches!(ask(&notes, note()).await, Err(CallError::Read(_))));
        }
        assert_eq!((house.0.started.get(), house.0.alive.get()), (1, 1));
    });
}

#[test]
fn a_jail_that_falls_short_is_measured_when_it_is_finished() {
    for script in ["short at start", "short at last"] {
        paused(async {
            let house = house(&[script]);
            let scans = errands::<Scans>(&house, Demand::Required);
            let refused = ask(&scans, scan()).await;
            assert!(matches!(refused, Err(CallError::IsolationMissing { .. })), "{script}: {refused:?}");
            scans.close();
            settle().await;
            assert_eq!(house.0.alive.get(), 0, "{script}");
        });
    }
    paused(async {
        let house = house(&["short at last"]);
        let scans = errands::<Scans>(&house, Demand::BestEffort);
        assert!(ask(&scans, scan()).await.is_ok(), "it was not demanded");
    });
}

#[test]
fn the_kernels_word_is_waited_for_and_counts() {
    paused(async {
        let house = house(&["good"]);
        house.0.status.replace(Some("NoNewPrivs:\t1\nSeccomp:\t0\nCapEff:\t0000000000000000\n"));
        let refused = ask(&errands::<Notes>(&house, Demand::Required), note()).await;
        let Err(CallError::IsolationMissing { layer, .. }) = refused else { panic!("{refused:?}") };
        assert_eq!(layer, "kernel-surface");
    });
    paused(async {
        let own = Errands::<Notes>::new(Rc::new(settings(Demand::Required)), Rc::new(house(&["good"])), &report(false));
        assert!(matches!(ask(&own, note()).await, Err(CallError::IsolationMissing { .. })), "the supervisor's own");
        let mute = Report::default();
        let own = Errands::<Notes>::new(Rc::new(settings(Demand::Required)), Rc::new(house(&["good"])), &mute);
        assert!(matches!(ask(&own, note()).await, Err(CallError::IsolationMissing { .. })));
    });
}

#[test]
fn the_deadline_holds_at_every_stage() {
    for script in ["hangs at start", "slow"] {
        paused(async {
            let house = house(&[script]);
            let notes = errands::<Notes>(&house, Demand::Required);
            let since = Instant::now();
            assert!(matches!(ask(&notes, note()).await, Err(CallError::Deadline { seconds: 30 })), "{script}");
            assert_eq!(since.elapsed().as_secs(), 30, "{script}");
            settle().await;
            assert_eq!(house.0.alive.get(), 0, "{script}");
        });
    }
}

#[test]
fn a_call_that_is_cancelled_returns_at_once_and_its_worker_is_asked_then_ended() {
    for (script, lives_on) in [("slow", Duration::from_millis(400)), ("slow and obedient", Duration::ZERO)] {
        paused(async {
            let house = house(&[script]);
            let notes = errands::<Notes>(&house, Demand::Required);
            let (stopper, control) = Control::pair(None);
            let asking = spawn_local({
                let notes = notes.clone();
                async move { notes.ask(note(), control).await }
            });
            sleep(Duration::from_secs(1)).await;
            let since = Instant::now();
            stopper.stop();
            assert!(matches!(asking.await.expect("no panic"), Err(CallError::Cancelled)), "{script}");
            assert_eq!(since.elapsed(), Duration::ZERO, "{script}");
            sleep(lives_on).await;
            settle().await;
            assert_eq!(house.0.alive.get(), usize::from(script == "slow"), "{script}");
            sleep(Duration::from_millis(200)).await;
            settle().await;
            assert_eq!(house.0.alive.get(), 0, "{script}");
        });
    }
}

#[test]
fn workers_that_keep_dying_are_started_ever_later_and_then_not_at_all() {
    paused(async {
        let house = house(&["dies at start"]);
        let notes = errands::<Notes>(&house, Demand::Required);
        let since = Instant::now();
        for _ in 0..5 {
            assert!(matches!(ask(&notes, note()).await, Err(CallError::WorkerDied { .. })));
        }
        assert!(since.elapsed() >= Duration::from_secs(2), "{:?}", since.elapsed());
        assert!(matches!(ask(&notes, note()).await, Err(CallError::Unavailable { .. })));
        assert_eq!(house.0.started.get(), 5);
    });
    paused(async {
        let house = house(&["forbidden"]);
        let notes = errands::<Notes>(&house, Demand::Required);
        assert!(matches!(ask(&notes, note()).await, Err(CallError::WorkerDied { .. })));
        assert!(matches!(ask(&notes, note()).await, Err(CallError::Unavailable { .. })), "at once, after SIGSYS");
    });
    paused(async {
        let house = house(&["unstartable"]);
        let why = ask(&errands::<Notes>(&house, Demand::Required), note()).await;
        assert!(matches!(why, Err(CallError::Unavailable { why }) if why == "no processes left"));
    });
}

fn resolution(length: usize) -> Operation {
    let becomes = Resolved::Content { bytes: vec![b'x'; length], mode_of: 2, conflicts: 1 };
    Operation::Resolve { path: "a".to_owned(), becomes, stages: [None, None, None] }
}

#[test]
fn a_long_question_leaves_in_pieces_as_there_is_room() {
    paused(async {
        let house = house(&["good"]);
        let writes = errands::<Writes>(&house, Demand::Required);
        for (length, pieces) in [(1_000, 0), (7 << 20, 7)] {
            house.0.pieces.set(0);
            let done = ask(&writes, resolution(length)).await.expect("an answer");
            assert!(matches!(done, Outcome::Done(_)), "{length} bytes");
            assert_eq!(house.0.pieces.get().div_ceil(1 << 20), pieces, "{length} bytes");
        }
        // one beyond all limits is our own fault, and costs nothing but itself
        ask(&writes, resolution(codec::MAX_ANSWER)).await.expect_err("too long");
        ask(&writes, resolution(10)).await.expect("the next one");
        writes.close();
    });
}

#[test]
fn writes_take_turns_and_each_has_a_worker_of_its_own() {
    paused(async {
        let house = house(&["takes a while"]);
        let writes = errands::<Writes>(&house, Demand::Required);
        let [one, two, three] = [(); 3].map(|()| ask(&writes, resolution(10)));
        let begun = Instant::now();
        let (one, two, three) = tokio::join!(one, two, three);
        assert!([one, two, three].iter().all(Result::is_ok));
        assert!(begun.elapsed() >= Duration::from_secs(6), "one after the other");
        assert_eq!(house.0.started.get(), 3);
        writes.close();
    });
}

#[test]
fn an_outcome_that_is_out_of_bounds_ends_its_worker() {
    paused(async {
        let house = house(&["babbles", "good"]);
        let writes = errands::<Writes>(&house, Demand::Required);
        ask(&writes, resolution(10)).await.expect_err("a note that is too long");
        ask(&writes, resolution(10)).await.expect("the next worker");
        writes.close();
    });
}
