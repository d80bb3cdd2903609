//! What becomes of events while workers that record fall, fail, lie or find their ledger tampered with.
//! Trust: test code; the workers are scripted, and time is paused.

mod support;

use bulkhead_contract::isolation::Demand;
use bulkhead_ipc::{
    codec::{decode, encode},
    edge::{
        WorkerKind,
        audit::{Event, Fault, FromAudit, Kind, Known, Ready, Standing, ToAudit},
        launcher::StatusOf,
    },
};
use bulkhead_supervisor::{
    audit::{Audit, AuditSettings, CAPACITY, Mode, NotRecorded},
    carrier::{Carrier, Ended, LastWords, Link, Local, StartError, queues},
    settings::Settings,
    work::Done,
};
use serde_json::json;
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    time::Duration,
};
use support::*;
use tokio::{
    sync::mpsc,
    task::spawn_local,
    time::{sleep, timeout},
};

/// Far longer than any pause between two tries.
const LONG: Duration = Duration::from_secs(120);

/// What a worker does with the groups that it is given.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Plan {
    /// Records them.
    Honest,
    /// Records none and dies at the first.
    Dies,
    /// Records one group, and dies at the next.
    Once,
    /// Records the first and dies before it says so.
    DiesUnheard,
    /// Says that the disk is full, so many times.
    Full(u32),
    /// Finds at its start that the ledger is not what it was.
    Tampered,
    /// Answers a group that nobody sent.
    Lies,
    /// Has no key.
    Refuses,
    /// Takes nothing.
    Stuck,
}

#[derive(Default)]
struct Script {
    plans: RefCell<VecDeque<Plan>>,
    started: Cell<u32>,
    recorded: RefCell<Vec<Event>>,
    known: RefCell<Vec<Option<Known>>>,
}

#[derive(Clone, Default)]
struct Scripted(Rc<Script>);

impl Carrier for Scripted {
    fn start(&self, kind: WorkerKind, path: Option<Vec<u8>>) -> Local<Result<Link, StartError>> {
        assert_eq!((kind, path), (WorkerKind::Audit, None));
        self.0.started.set(self.0.started.get() + 1);
        let plan = self.0.plans.borrow_mut().pop_front().unwrap_or(Plan::Honest);
        let (wire, mut heard, said) = queues::pair();
        let (ended, endings) = mpsc::channel(1);
        let (killer, mut killed) = mpsc::channel::<()>(1);
        let script = Rc::clone(&self.0);
        spawn_local(async move {
            let end = tokio::select! {
                end = run(plan, &script, &mut heard, &said) => end,
                _ = killed.recv() => Ended::Signal(9),
            };
            drop((heard, said));
            let _ = ended.try_send(end);
        });
        let end = move |_| {
            let _ = killer.try_send(());
        };
        let link = Link::new("scripted".into(), Some(42), wire, endings, end, Rc::new(LastWords::default()));
        Box::pin(async { Ok(link) })
    }

    fn status(&self, _of: StatusOf) -> Local<Result<String, String>> {
        Box::pin(async { Err("not asked for".to_owned()) })
    }

    fn close(&self) -> Local<()> {
        Box::pin(async {})
    }
}

async fn run(
    mut plan: Plan,
    script: &Script,
    heard: &mut mpsc::Receiver<Vec<u8>>,
    said: &mpsc::Sender<Vec<u8>>,
) -> Ended {
    let say = async |message: FromAudit| drop(said.send(encode(&message).expect("small")).await);
    if plan == Plan::Refuses {
        say(FromAudit::Refused { why: "no key".to_owned() }).await;
        return Ended::Exit(0);
    }
    say(FromAudit::Ready(Box::new(Ready { report: report(true), key: None, locked: false }))).await;
    while let Some(frame) = heard.recv().await {
        match decode(&frame).expect("the supervisor's") {
            ToAudit::Open { known } => {
                script.known.borrow_mut().push(known);
                if plan == Plan::Tampered {
                    say(FromAudit::Lost { why: "it was cut".to_owned(), tampered: true }).await;
                    return Ended::Exit(0);
                }
                say(FromAudit::Opened(Standing::default())).await;
            }
            ToAudit::Append { group, events } => {
                let mut faults = Vec::new();
                match plan {
                    Plan::Dies => return Ended::Signal(9),
                    Plan::Stuck => continue,
                    Plan::Lies => {
                        say(FromAudit::Recorded { group: group + 7, faults, standing: Standing::default() }).await;
                        continue;
                    }
                    Plan::Full(left) => {
                        plan = if left > 1 { Plan::Full(left - 1) } else { Plan::Honest };
                        let all = 0..u32::try_from(events.len()).expect("few");
                        faults.extend(all.map(|index| Fault {
                            index,
                            why: "the disk is full".to_owned(),
                            again: true,
                        }));
                    }
                    _ => script.recorded.borrow_mut().extend(events),
                }
                if plan == Plan::Once {
                    plan = Plan::Dies;
                }
                if plan == Plan::DiesUnheard {
                    return Ended::Signal(9);
                }
                let sequence = script.recorded.borrow().len() as u64;
                let last = (sequence > 0).then_some(Known { sequence, hash: [1; 32], ledger: None });
                say(FromAudit::Recorded { group, faults, standing: Standing { last, notices: vec![] } }).await;
            }
            other => panic!("{other:?}"),
        }
    }
    Ended::Exit(0)
}

fn audit(scripted: &Scripted, mode: Mode, plans: &[Plan]) -> Audit {
    scripted.0.plans.borrow_mut().extend(plans);
    let audit = AuditSettings { mode, ledger: Some(Ok("/ledger".to_owned())), compat: false, exists: true };
    let settings = Settings { audit, ..settings(Demand::Off) };
    Audit::new(&settings, Rc::new(scripted.clone()))
}

fn note(audit: &Audit, calls: usize) {
    for _ in 0..calls {
        let done = Done::of(None, json!({}));
        audit.call(Some("repo.status"), &json!({"repoPath": "/w"}), None).ended(&Ok(done));
    }
}

/// Places of the events that were recorded.
fn places(scripted: &Scripted) -> Vec<u64> {
    scripted.0.recorded.borrow().iter().map(|event| event.place).collect()
}

#[test]
fn nothing_starts_before_the_first_call_and_then_the_server_is_told_of_first() {
    paused(async {
        let scripted = Scripted::default();
        let audit = audit(&scripted, Mode::BestEffort, &[]);
        settle().await;
        assert_eq!(scripted.0.started.get(), 0);
        note(&audit, 3);
        audit.close().await;
        assert_eq!(places(&scripted), [1, 2, 3, 4]);
        assert_eq!(scripted.0.recorded.borrow()[0].kind, Kind::Start);
        assert_eq!(audit.unrecorded(), None);
    });
}

#[test]
fn what_a_worker_had_not_acknowledged_is_handed_to_the_next_which_must_find_the_last_entry() {
    for fall in [Plan::Dies, Plan::DiesUnheard, Plan::Lies] {
        paused(async {
            let scripted = Scripted::default();
            let audit = audit(&scripted, Mode::BestEffort, &[fall, Plan::Honest]);
            note(&audit, 2);
            sleep(LONG).await;
            note(&audit, 1);
            audit.close().await;
            let mut seen = places(&scripted);
            seen.dedup();
            let twice = if fall == Plan::DiesUnheard { vec![1, 2, 3, 1, 2, 3, 4] } else { vec![1, 2, 3, 4] };
            assert_eq!(seen, twice, "{fall:?}");
            assert_eq!(scripted.0.started.get(), 2, "{fall:?}");
        });
    }
    paused(async {
        let scripted = Scripted::default();
        let audit = audit(&scripted, Mode::BestEffort, &[Plan::Once, Plan::Honest]);
        note(&audit, 1);
        sleep(LONG).await;
        note(&audit, 1);
        sleep(LONG).await;
        assert_eq!(places(&scripted), [1, 2, 3]);
        let acknowledged = Known { sequence: 2, hash: [1; 32], ledger: None };
        assert_eq!(*scripted.0.known.borrow(), [None, Some(acknowledged)], "the ledger must hold what it held");
        audit.close().await;
    });
}

#[test]
fn a_full_disk_is_told_while_it_lasts_and_what_waited_is_recorded_after_it() {
    paused(async {
        let scripted = Scripted::default();
        let audit = audit(&scripted, Mode::BestEffort, &[Plan::Full(3)]);
        note(&audit, 2);
        settle().await;
        assert_eq!(audit.unrecorded().as_deref(), Some("the disk is full"));
        note(&audit, 1);
        sleep(LONG).await;
        assert_eq!(audit.unrecorded(), None);
        assert_eq!(places(&scripted), [1, 2, 3, 4]);
        assert_eq!(scripted.0.started.get(), 1, "the worker is not to blame");
        audit.close().await;
    });
}

#[test]
fn a_ledger_that_was_tampered_with_is_given_up_and_said_so() {
    paused(async {
        let scripted = Scripted::default();
        let audit = audit(&scripted, Mode::Required, &[Plan::Tampered]);
        let refused = audit.admit().await.expect_err("it may not go unrecorded");
        assert!(refused.why.contains("cut") && refused.for_good, "{refused:?}");
        note(&audit, 5);
        sleep(LONG).await;
        assert!(audit.admit().await.is_err());
        assert_eq!((scripted.0.started.get(), places(&scripted)), (1, vec![]), "nothing is tried again");
    });
}

#[test]
fn required_waits_for_the_first_worker_and_refuses_while_there_is_none() {
    paused(async {
        let scripted = Scripted::default();
        let required = audit(&scripted, Mode::Required, &[Plan::Refuses, Plan::Honest]);
        assert_eq!(required.admit().await, Err(NotRecorded { why: "no key".to_owned(), for_good: false }));
        sleep(LONG).await;
        assert_eq!(required.admit().await, Ok(()));
        let easy = audit(&Scripted::default(), Mode::BestEffort, &[Plan::Refuses]);
        assert_eq!(easy.admit().await, Ok(()), "a read goes on");
        note(&easy, 1);
        easy.settled().await;
        assert_eq!(easy.unrecorded().as_deref(), Some("no key"), "and its answer says so");
    });
}

#[test]
fn a_queue_that_nobody_empties_is_bounded_and_the_gap_is_told() {
    paused(async {
        let scripted = Scripted::default();
        let audit = audit(&scripted, Mode::BestEffort, &[Plan::Stuck, Plan::Honest]);
        note(&audit, CAPACITY + 10);
        settle().await;
        assert!(audit.unrecorded().is_some_and(|why| why.contains("too many")));
        assert!(places(&scripted).is_empty());
        // a worker that records nothing for so long is replaced
        sleep(LONG).await;
        assert_eq!(audit.unrecorded(), None);
        let recorded = scripted.0.recorded.borrow();
        let gap = recorded.iter().find(|event| event.kind == Kind::Gap).expect("it is told");
        let lost = gap.numbers.iter().find(|(name, _)| name == "lost").map(|(_, count)| *count);
        // the start of the server took a place, too
        assert_eq!(lost, Some(11));
        assert_eq!(recorded.len(), CAPACITY + 1);
    });
    paused(async {
        let scripted = Scripted::default();
        let audit = audit(&scripted, Mode::Required, &[]);
        for _ in 0..CAPACITY {
            assert_eq!(audit.admit().await, Ok(()), "there is room in time");
            note(&audit, 3);
        }
        sleep(LONG).await;
        assert_eq!(places(&scripted).len(), 3 * CAPACITY + 1, "whoever must be recorded waits for room");
    });
    paused(async {
        let scripted = Scripted::default();
        let audit = audit(&scripted, Mode::BestEffort, &[Plan::Stuck]);
        note(&audit, 1);
        assert!(timeout(LONG, audit.close()).await.is_ok(), "the end does not wait for it");
    });
}
