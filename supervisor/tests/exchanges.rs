//! The bridge over workers that are scripted, honest and taken over: what one who waits is told, and what may be tried again.
//! Trust: test code.

mod support;

use bulkhead_contract::isolation::{Demand, Report};
use bulkhead_ipc::{
    chunk::{Joiner, split},
    codec::{decode, decode_answer, encode, encode_answer},
    edge::{
        WorkerKind,
        gateway::{Body, Exchange, Failure, FromGateway, MAX_ANSWERED, Method, Outcome, ToGateway},
    },
};
use bulkhead_supervisor::{
    carrier::{Ended, Local},
    control::Control,
    gateway::{Bridge, Interrupted},
    outcome::CallError,
    settings::Settings,
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
    House::of(scripts, act, true)
}

fn bridge(house: &Started, token: bool) -> Bridge {
    let gateway = Some("127.0.0.1:7777".parse().expect("an address"));
    let settings = Settings { gateway, gateway_token: token, ..settings(Demand::Required) };
    Bridge::new(Rc::new(settings), Rc::new(house.clone()), &report(true))
}

fn answered(bytes: &[u8]) -> Outcome {
    Outcome::Answered { status: 200, body: Body::Whole(bytes.to_vec()), authentic: false }
}

/// One worker by its script.
fn act(
    kind: WorkerKind,
    script: &'static str,
    house: Rc<House>,
    mut heard: mpsc::Receiver<Vec<u8>>,
    said: mpsc::Sender<Vec<u8>>,
) -> Local<Ended> {
    assert_eq!(kind, WorkerKind::Gateway);
    Box::pin(async move { acted(script, &house, &mut heard, &said).await })
}

async fn acted(
    script: &str,
    house: &House,
    heard: &mut mpsc::Receiver<Vec<u8>>,
    said: &mpsc::Sender<Vec<u8>>,
) -> Ended {
    let say = async |message: FromGateway| drop(said.send(encode(&message).expect("small")).await);
    let ready = |sufficient| FromGateway::Ready { report: report(sufficient), token: false, locked: false };
    match script {
        "dies at start" => return Ended::Signal(6),
        "hangs at start" => pending().await,
        "short" => say(FromGateway::Short(report(false))).await,
        "no token" => say(FromGateway::Refused { why: "/t: mode is 644".to_owned() }).await,
        "short and silent of it" => say(ready(false)).await,
        "greets twice" => {
            say(ready(true)).await;
            say(ready(true)).await;
        }
        _ => say(ready(true)).await,
    }
    let mut joiner = Joiner::default();
    while let Some(frame) = heard.recv().await {
        let (id, exchange) = match decode::<ToGateway>(&frame).expect("the supervisor's") {
            ToGateway::Part { id, last, bytes } => match joiner.push(last, bytes).expect("within the limit") {
                Some(whole) => (id, decode_answer::<Exchange>(&whole).expect("the supervisor's")),
                None => continue,
            },
            ToGateway::Cancel { id } => {
                house.cancelled.set(house.cancelled.get() + 1);
                if script == "silent" {
                    tell(&say, id, &Outcome::Failed { why: Failure::Timeout, sent: true }).await;
                }
                continue;
            }
            other => panic!("{other:?}"),
        };
        exchange.check().expect("checked before");
        match script {
            "dies before" => return Ended::Signal(11),
            "forbidden" => return Ended::Signal(31),
            "another's" => tell(&say, id + 1, &answered(b"")).await,
            "never left" => tell(&say, id, &answered(b"")).await,
            "denies" => {
                say(FromGateway::Leaving { id }).await;
                tell(&say, id, &Outcome::Failed { why: Failure::Cut, sent: false }).await;
            }
            "claims" => tell(&say, id, &Outcome::Failed { why: Failure::NotAuthentic, sent: false }).await,
            "starts over" => say(ready(true)).await,
            _ => {}
        }
        if ["another's", "never left", "denies", "claims", "starts over"].contains(&script) {
            continue;
        }
        say(FromGateway::Leaving { id }).await;
        let outcome = match script {
            "dies after" => return Ended::Signal(11),
            "silent" | "silent and deaf" => continue,
            "leaves twice" => {
                say(FromGateway::Leaving { id }).await;
                continue;
            }
            "odd status" => Outcome::Answered { status: 700, body: Body::Cut, authentic: false },
            "too much" => answered(&vec![b'x'; MAX_ANSWERED + 1]),
            "proves" => Outcome::Answered { status: 200, body: Body::Whole(Vec::new()), authentic: true },
            "nonsense" => {
                drop(said.send(vec![250, 3, 3]).await);
                continue;
            }
            "mixes" => {
                say(FromGateway::Part { id, last: false, bytes: vec![1] }).await;
                say(FromGateway::Part { id: id + 1, last: true, bytes: vec![1] }).await;
                continue;
            }
            _ => answered(&exchange.body.map(|body| body.len().to_string()).unwrap_or_default().into_bytes()),
        };
        tell(&say, id, &outcome).await;
    }
    Ended::Exit(0)
}

async fn tell(say: &impl AsyncFn(FromGateway), id: u64, outcome: &Outcome) {
    for (last, bytes) in split(&encode_answer(outcome).expect("within the limit")) {
        say(FromGateway::Part { id, last, bytes: bytes.to_vec() }).await;
    }
}

fn post(length: usize) -> Exchange {
    Exchange {
        method: Method::Post,
        path: "/v1/mcp/x".to_owned(),
        body: Some(vec![b'x'; length]),
        budget_ms: 5_000,
        authentic: true,
    }
}

async fn carry(bridge: &Bridge, exchange: Exchange) -> Result<Outcome, Interrupted> {
    let (_stopper, control) = Control::pair(None);
    bridge.exchange(exchange, control).await
}

#[test]
fn one_worker_carries_many_and_bodies_larger_than_its_wire() {
    paused(async {
        let house = house(&["good"]);
        let bridge = bridge(&house, false);
        assert!(bridge.configured() && !bridge.authenticates());
        assert_eq!(house.0.started.get(), 0, "nobody is started before the first");
        let lengths = [0, 1, 4 << 20, 3 << 20, 7];
        let tasks: Vec<_> = lengths
            .into_iter()
            .map(|length| {
                let bridge = bridge.clone();
                spawn_local(async move { carry(&bridge, post(length)).await })
            })
            .collect();
        for (task, length) in tasks.into_iter().zip(lengths) {
            let outcome = task.await.expect("no panic").expect("carried");
            assert_eq!(outcome, answered(length.to_string().as_bytes()));
        }
        assert_eq!((house.0.started.get(), house.0.alive.get()), (1, 1));
        sleep(Duration::from_secs(301)).await;
        settle().await;
        assert_eq!(house.0.alive.get(), 0, "it idled for long");
        assert_eq!(carry(&bridge, post(2)).await.expect("carried"), answered(b"2"));
        bridge.close();
        settle().await;
        assert_eq!(house.0.alive.get(), 0);
        let after = carry(&bridge, post(2)).await.expect_err("the end");
        assert!(matches!(after.why, CallError::Unavailable { .. }) && !after.sent);
    });
}

#[test]
fn nothing_is_started_for_what_may_not_leave_or_leads_nowhere() {
    paused(async {
        let house = house(&["good"]);
        let odd = Exchange { path: "/v1/mcp/x y".to_owned(), ..post(1) };
        let refused = carry(&bridge(&house, false), odd).await.expect_err("refused");
        assert!(matches!(refused.why, CallError::Unavailable { .. }) && !refused.sent);
        let nowhere = Bridge::new(Rc::new(settings(Demand::Required)), Rc::new(house.clone()), &report(true));
        let outcome = carry(&nowhere, post(1)).await.expect("carried");
        assert_eq!(outcome, Outcome::Failed { why: Failure::Unreachable, sent: false });
        let gateway = Some("127.0.0.1:7777".parse().expect("an address"));
        let settings = Settings { gateway, ..settings(Demand::Required) };
        let unconfined = Bridge::new(Rc::new(settings), Rc::new(house.clone()), &Report::default());
        let refused = carry(&unconfined, post(1)).await.expect_err("refused");
        assert!(matches!(refused.why, CallError::IsolationMissing { .. }) && !refused.sent);
        assert_eq!(house.0.started.get(), 0);
    });
}

#[test]
fn a_worker_that_cannot_be_asked_is_told_by_its_reason_and_nothing_is_sent() {
    for (script, layer) in
        [("short", true), ("short and silent of it", true), ("no token", false), ("unstartable", false)]
    {
        paused(async {
            let house = house(&[script]);
            let interrupted = carry(&bridge(&house, true), post(1)).await.expect_err(script);
            let isolation = matches!(interrupted.why, CallError::IsolationMissing { .. });
            let unavailable = matches!(interrupted.why, CallError::Unavailable { .. });
            assert!(!interrupted.sent && isolation == layer && unavailable != layer, "{script}: {interrupted:?}");
            settle().await;
            assert_eq!(house.0.alive.get(), 0, "{script}");
        });
    }
    paused(async {
        let house = house(&["good"]);
        house.0.status.replace(Some("NoNewPrivs:\t1\nSeccomp:\t0\nCapEff:\t0000000000000000\n"));
        let interrupted = carry(&bridge(&house, false), post(1)).await.expect_err("the kernel's word counts");
        assert!(matches!(interrupted.why, CallError::IsolationMissing { .. }), "{interrupted:?}");
    });
    paused(async {
        let since = Instant::now();
        let outcome = carry(&bridge(&house(&["hangs at start"]), false), post(1)).await.expect("its time is over");
        assert_eq!(outcome, Outcome::Failed { why: Failure::Timeout, sent: false });
        assert!(since.elapsed() <= Duration::from_secs(6), "{:?}", since.elapsed());
    });
}

#[test]
fn what_had_not_begun_to_leave_is_given_to_another_worker_once_and_the_rest_is_doubt() {
    paused(async {
        let it = house(&["dies before", "good"]);
        assert_eq!(carry(&bridge(&it, false), post(3)).await.expect("carried"), answered(b"3"));
        assert_eq!(it.0.started.get(), 2);
        let it = house(&["dies before"]);
        let interrupted = carry(&bridge(&it, false), post(3)).await.expect_err("twice");
        assert!(matches!(interrupted.why, CallError::WorkerDied { .. }) && !interrupted.sent, "{interrupted:?}");
        assert_eq!(it.0.started.get(), 2);
        let it = house(&["dies after", "good"]);
        let interrupted = carry(&bridge(&it, false), post(3)).await.expect_err("never again");
        assert!(matches!(interrupted.why, CallError::WorkerDied { .. }) && interrupted.sent, "{interrupted:?}");
        assert_eq!(it.0.started.get(), 1);
        let it = house(&["forbidden"]);
        let bridge = bridge(&it, false);
        assert!(carry(&bridge, post(3)).await.is_err());
        let refused = carry(&bridge, post(3)).await.expect_err("at once, after SIGSYS");
        assert!(matches!(refused.why, CallError::Unavailable { .. }) && !refused.sent);
        assert_eq!(it.0.started.get(), 1);
    });
}

#[test]
fn a_worker_that_breaks_its_protocol_is_ended_and_everything_it_had_is_doubt() {
    let scripts = [
        "another's",
        "never left",
        "denies",
        "claims",
        "starts over",
        "leaves twice",
        "odd status",
        "too much",
        "proves",
        "nonsense",
        "mixes",
    ];
    for script in scripts {
        paused(async {
            let house = house(&[script]);
            let interrupted = carry(&bridge(&house, false), post(1)).await.expect_err(script);
            let CallError::WorkerDied { how } = &interrupted.why else { panic!("{script}: {interrupted:?}") };
            assert!(how.contains("protocol") && interrupted.sent, "{script}: {how}");
            assert_eq!(house.0.started.get(), 1, "{script}: it was tried again");
            settle().await;
            assert_eq!(house.0.alive.get(), 0, "{script}");
        });
    }
    // with a token, what was asked for authentically must be so
    paused(async {
        assert!(carry(&bridge(&house(&["good"]), true), post(1)).await.is_err());
        let proven = carry(&bridge(&house(&["proves"]), true), post(1)).await.expect("carried");
        assert!(matches!(proven, Outcome::Answered { authentic: true, .. }));
    });
}

#[test]
fn silence_ends_with_the_budget_and_a_deaf_worker_with_it() {
    paused(async {
        let house = house(&["silent"]);
        let bridge = bridge(&house, false);
        let since = Instant::now();
        let outcome = carry(&bridge, post(1)).await.expect("carried");
        assert_eq!(outcome, Outcome::Failed { why: Failure::Timeout, sent: true });
        assert_eq!(since.elapsed(), Duration::from_secs(6));
        settle().await;
        assert_eq!((house.0.cancelled.get(), house.0.alive.get()), (1, 1), "it closed what it was told to");
        let (stopper, control) = Control::pair(None);
        let task = spawn_local({
            let bridge = bridge.clone();
            async move { bridge.exchange(post(1), control).await }
        });
        sleep(Duration::from_millis(10)).await;
        stopper.stop();
        let interrupted = task.await.expect("no panic").expect_err("it was stopped");
        assert!(matches!(interrupted.why, CallError::Cancelled) && interrupted.sent);
        sleep(Duration::from_secs(60)).await;
        assert_eq!((house.0.cancelled.get(), house.0.alive.get()), (2, 1));
    });
    paused(async {
        let house = house(&["silent and deaf", "good"]);
        let bridge = bridge(&house, false);
        assert!(carry(&bridge, post(1)).await.is_ok());
        sleep(Duration::from_secs(20)).await;
        settle().await;
        assert_eq!(house.0.alive.get(), 0, "what nobody waits for stays open for a while, not for ever");
        assert_eq!(carry(&bridge, post(1)).await.expect("carried"), answered(b"1"));
    });
}

#[test]
fn places_are_given_back_however_an_exchange_ends() {
    paused(async {
        let house = house(&["silent"]);
        let bridge = bridge(&house, false);
        for _ in 0..3 {
            let tasks: Vec<_> = (0..100)
                .map(|_| {
                    let bridge = bridge.clone();
                    spawn_local(async move { carry(&bridge, post(1 << 20)).await })
                })
                .collect();
            for task in tasks {
                let outcome = task.await.expect("no panic").expect("carried");
                assert!(matches!(outcome, Outcome::Failed { why: Failure::Timeout, .. }), "{outcome:?}");
            }
        }
        settle().await;
        assert_eq!((house.0.started.get(), house.0.alive.get()), (1, 1));
    });
}
