//! The worker at its edge: what it answers, what shares one sync, and what ends it.
//! Trust: the test plays a supervisor, honest and taken over; the worker runs on this thread over queues.

#[path = "../../tests/support/queue.rs"]
mod queue;

use bulkhead_contract::isolation::Demand;
use bulkhead_ipc::{
    channel::{Receiver, Sender, WorkerEnds},
    codec,
    edge::audit::{Event, FromAudit, Init, Kind, MAX_EVENTS, MAX_TEXT, Outcome, Scope, ToAudit},
};
use bulkhead_ledger::verify::{Options, verify_path};
use bulkhead_worker_audit::{Files, run};
use queue::{Heard, Said};
use std::{path::PathBuf, sync::mpsc};

struct Place {
    _keep: tempfile::TempDir,
    ledger: PathBuf,
}

impl Place {
    fn new() -> Self {
        let keep = tempfile::tempdir().expect("a directory");
        let ledger = keep.path().canonicalize().expect("it is there").join("audit/mcp.jsonl");
        Self { _keep: keep, ledger }
    }

    /// What the worker says when it is told this after its `Init`.
    fn told(&self, messages: Vec<ToAudit>) -> Vec<FromAudit> {
        self.heard(messages.iter().map(|message| codec::encode(message).expect("small")).collect())
    }

    /// What it says when it hears these bytes after its `Init`.
    fn heard(&self, frames: Vec<Vec<u8>>) -> Vec<FromAudit> {
        let ledger = Some(self.ledger.to_str().expect("UTF-8").as_bytes().to_vec());
        let init = Init { demand: Demand::Off, ledger, sign_key: None, compat: false, memory: 0 };
        let init = codec::encode(&ToAudit::Init(Box::new(init))).expect("small");
        let frames = [init].into_iter().chain(frames).collect();
        let (says, heard) = mpsc::channel();
        let answers = Sender::new(Heard(says));
        run(WorkerEnds { requests: Receiver::new(Said::all(frames)), answers }, Files::Own);
        heard.try_iter().map(|frame| codec::decode(&frame).expect("it speaks its edge")).collect()
    }

    /// Sequence of the last entry of a ledger that verifies.
    fn last(&self) -> u64 {
        let report = verify_path(&self.ledger, &Options::default(), &mut |_, _| {});
        assert!(report.is_sound(), "{:?}", report.findings);
        report.last
    }
}

fn event(place: u64) -> Event {
    Event {
        kind: Kind::ToolCall,
        tool: "repo.status".into(),
        result: Outcome::Success,
        scope: Scope::Unknown,
        arguments: None,
        session: "client".into(),
        duration_ms: 0,
        summary: "answered".into(),
        reported: None,
        timestamp: 7,
        place,
        numbers: vec![],
        write: None,
    }
}

fn group(group: u64, count: usize) -> ToAudit {
    ToAudit::Append { group, events: vec![event(group); count] }
}

#[test]
fn groups_that_wait_are_answered_each_in_order() {
    let place = Place::new();
    let said = place.told(vec![
        ToAudit::SelfProbe { id: 3 },
        ToAudit::Open { known: None },
        group(1, 2),
        group(2, MAX_EVENTS),
        ToAudit::Head { id: 4 },
        group(3, 1),
    ]);
    let names: Vec<String> = said
        .iter()
        .map(|message| match message {
            FromAudit::Ready(_) => "ready".to_owned(),
            FromAudit::SelfProbe { id, .. } => format!("probe {id}"),
            FromAudit::Opened(_) => "opened".to_owned(),
            FromAudit::Recorded { group, faults, .. } => format!("group {group}, {} faults", faults.len()),
            FromAudit::Head { id, text } => format!("head {id} {}", text.is_some()),
            other => format!("{other:?}"),
        })
        .collect();
    let expected =
        ["ready", "probe 3", "opened", "group 1, 0 faults", "group 2, 0 faults", "head 4 true", "group 3, 0 faults"];
    assert_eq!(names, expected);
    assert_eq!(place.last(), MAX_EVENTS as u64 + 3);
}

#[test]
fn what_is_out_of_bounds_or_out_of_place_ends_it_and_records_nothing_of_it() {
    let long = ToAudit::Append { group: 2, events: vec![Event { summary: "x".repeat(MAX_TEXT + 1), ..event(2) }] };
    let again = ToAudit::Open { known: None };
    for (what, bad) in [("too long", long), ("too many", group(2, MAX_EVENTS + 1)), ("opened twice", again)] {
        let place = Place::new();
        place.told(vec![ToAudit::Open { known: None }, group(1, 1), ToAudit::Head { id: 1 }, bad, group(3, 1)]);
        assert_eq!(place.last(), 1, "{what}");
    }
    let place = Place::new();
    let said = place.told(vec![group(1, 1)]);
    assert!(matches!(said.as_slice(), [FromAudit::Ready(_)]), "nothing before the ledger is taken up: {said:?}");
    assert!(!place.ledger.exists());
}

#[test]
fn an_event_that_cannot_be_written_costs_no_other() {
    let place = Place::new();
    let forged = Event { numbers: vec![("entryHash".into(), 1)], ..event(1) };
    let events = vec![event(1), forged, event(3)];
    let said = place.told(vec![ToAudit::Open { known: None }, ToAudit::Append { group: 1, events }]);
    let Some(FromAudit::Recorded { faults, standing, .. }) = said.last() else { panic!("{said:?}") };
    assert_eq!(faults.iter().map(|fault| (fault.index, fault.again)).collect::<Vec<_>>(), [(1, false)]);
    assert_eq!(standing.last.as_ref().map(|last| last.sequence), Some(2));
    assert_eq!(place.last(), 2);
}

#[test]
fn a_ledger_that_does_not_hold_what_was_acknowledged_is_lost_and_left_as_it_is() {
    let place = Place::new();
    let said = place.told(vec![ToAudit::Open { known: None }, group(1, 3)]);
    let Some(FromAudit::Recorded { standing, .. }) = said.last() else { panic!("{said:?}") };
    let known = standing.last.clone();
    assert!(matches!(place.told(vec![ToAudit::Open { known: known.clone() }]).last(), Some(FromAudit::Opened(_))));
    let text = std::fs::read_to_string(&place.ledger).expect("the ledger");
    let cut: String = text.lines().take(2).map(|line| format!("{line}\n")).collect();
    std::fs::write(&place.ledger, &cut).expect("ours");
    let said = place.told(vec![ToAudit::Open { known }, group(1, 1)]);
    assert!(matches!(said.last(), Some(FromAudit::Lost { tampered: true, .. })), "{said:?}");
    assert_eq!(std::fs::read_to_string(&place.ledger).expect("the ledger"), cut);
}

#[test]
fn no_head_is_stated_of_a_long_ledger_before_it_was_read() {
    let place = Place::new();
    let groups = (1..=4).map(|number| group(number, MAX_EVENTS / 4));
    place.told([ToAudit::Open { known: None }].into_iter().chain(groups).collect());
    let asked = || vec![ToAudit::Open { known: None }, ToAudit::Head { id: 1 }];
    let sound = std::fs::read(&place.ledger).expect("the ledger");
    assert!(sound.len() > 100_000, "{}", sound.len());
    assert!(matches!(place.told(asked()).last(), Some(FromAudit::Head { text: Some(_), .. })));
    let mut damaged = sound.clone();
    damaged[sound.len() / 2] ^= 1;
    std::fs::write(&place.ledger, damaged).expect("ours");
    let said = place.told(asked());
    let [FromAudit::Ready(_), FromAudit::Opened(_), FromAudit::Lost { tampered: true, .. }] = said.as_slice() else {
        panic!("{said:?}")
    };
}

#[test]
fn bytes_at_random_end_it_or_are_a_request_and_the_ledger_stays_sound() {
    let place = Place::new();
    let mut state = 0x0123_4567_89ab_cdef_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    let honest = [ToAudit::Open { known: None }, group(1, 2), ToAudit::Head { id: 1 }, ToAudit::SelfProbe { id: 2 }];
    let honest = honest.map(|message| codec::encode(&message).expect("small"));
    let (mut refused, mut recorded) = (0, 0);
    for _ in 0..400 {
        let mut frames = vec![honest[0].clone()];
        for _ in 0..4 {
            let mut frame = honest[1 + random(honest.len() - 1)].clone();
            for _ in 0..random(6).saturating_sub(3) {
                let at = random(frame.len());
                frame[at] = random(256) as u8;
            }
            if random(20) == 0 {
                frame.truncate(random(frame.len()));
            }
            frames.push(frame);
        }
        let said = place.heard(frames);
        let groups = said.iter().filter(|said| matches!(said, FromAudit::Recorded { .. })).count();
        assert!(matches!(said.get(1), Some(FromAudit::Opened(_))), "{said:?}");
        recorded += groups;
        refused += usize::from(said.len() < 6);
    }
    assert!(refused > 50 && recorded > 100, "{refused} ended early, {recorded} groups were recorded");
    assert!(place.last() > 0);
}
