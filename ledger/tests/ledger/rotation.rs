//! Rotation and retention on real files, with the contract's sizes; oversized events; clocks that go back.
//! Trust: makes its own ledgers.

use crate::support::{event, events, open_at, private_directory, signed, strict, verify_at};
use bulkhead_ledger::{
    append::{AppendError, Notice, Settings, Unrecorded},
    event::EventFault,
    limits::{MAX_LINE, ROTATE_AT},
};

fn names(path: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(path.parent().expect("a directory")).expect("readable");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

/// An event whose line is near 200 000 bytes.
fn large(number: u64) -> bulkhead_ledger::event::Event {
    let mut event = event(number);
    event.further.insert("padding".into(), "x".repeat(199_000).into());
    event
}

#[test]
fn files_rotate_at_four_mebibytes_and_five_are_kept() {
    let base = private_directory();
    let path = base.path().join("run").join("audit.jsonl");
    let mut appender = open_at(&path, signed(), 1);
    let all: Vec<_> = (0..130).map(large).collect();
    let mut pruned = Vec::new();
    for group in all.chunks(10) {
        let appended = appender.append(group).expect("appended");
        assert!(appended.results.iter().all(Result::is_ok));
        pruned.extend(appended.notices.into_iter().filter_map(|notice| match notice {
            Notice::Pruned { through } => Some(through),
            _ => None,
        }));
    }
    // 20 lines of near 200 000 bytes are less than 4 MiB, 21 are more
    assert_eq!(pruned, [20, 40]);
    let names = names(&path);
    let count = |part: &str| names.iter().filter(|name| name.contains(part)).count();
    assert_eq!((count(".segment-"), count(".checkpoint-"), count(".lock"), names.len()), (4, 1, 1, 7), "{names:?}");
    for name in names.iter().filter(|name| name.contains(".segment-")) {
        let length = std::fs::metadata(path.with_file_name(name)).expect("facts").len();
        assert!(length <= ROTATE_AT, "{name}: {length}");
    }
    assert!(names.iter().any(|name| name.contains(".segment-00000000000000000041-00000000000000000060-")), "{names:?}");
    let report = verify_at(&path, &strict());
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!((report.first, report.last, report.segments), (41, 130, 5));
}

#[test]
fn an_oversized_event_is_refused_and_keeps_nothing_else_from_being_recorded() {
    let base = private_directory();
    let path = base.path().join("audit.jsonl");
    let mut appender = open_at(&path, signed(), 1);
    let mut oversized = event(2);
    oversized.further.insert("padding".into(), "x".repeat(MAX_LINE).into());
    let appended = appender.append(&[event(1), oversized, event(3)]).expect("appended");
    assert_eq!(appended.results[0].as_ref().map(|ack| ack.sequence), Ok(1));
    let refused = appended.results[1].as_ref().expect_err("refused");
    assert!(matches!(refused, Unrecorded::Event(EventFault::Oversize { bound: MAX_LINE, .. })), "{refused}");
    assert_eq!(appended.results[2].as_ref().map(|ack| ack.sequence), Ok(2), "no sequence was spent on it");
    let mut longest = event(4);
    longest.further.insert("padding".into(), "x".into());
    let without = std::fs::read(&path).expect("readable");
    appender.append(&[longest.clone()]).expect("appended");
    let line = std::fs::read(&path).expect("readable").len() - without.len();
    for (more, fits) in [(MAX_LINE - line, true), (MAX_LINE - line + 1, false)] {
        longest.further.insert("padding".into(), "x".repeat(1 + more).into());
        assert_eq!(appender.append(&[longest.clone()]).expect("an answer").results[0].is_ok(), fits, "{more}");
    }
    assert!(verify_at(&path, &strict()).is_sound());
    let group = events(0..1025);
    assert_eq!(appender.append(&group).err(), Some(AppendError::Group(1025)));
}

#[test]
fn a_clock_that_goes_back_is_recorded_as_it_went() {
    let base = private_directory();
    let path = base.path().join("audit.jsonl");
    let mut appender = open_at(&path, signed(), 1);
    let mut back = event(2);
    back.timestamp = 5;
    appender.append(&[event(1), back, event(3)]).expect("appended");
    let report = verify_at(&path, &strict());
    assert!(report.is_sound());
    assert_eq!((report.last, report.clock_steps_back), (3, 1), "order is the sequence's; the step is counted");
}

#[test]
fn exactly_the_contracts_members_are_written_where_asked() {
    let base = private_directory();
    let path = base.path().join("audit.jsonl");
    let mut appender = open_at(&path, Settings { ledger_id: false, ..signed() }, 1);
    appender.append(&events(1..3)).expect("appended");
    let text = std::fs::read_to_string(&path).expect("readable");
    let line: serde_json::Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    let names: Vec<&str> = line.as_object().expect("an object").keys().map(String::as_str).collect();
    let contract = [
        "approval",
        "args_fingerprint",
        "auditChainVersion",
        "auditSchemaVersion",
        "duration_ms",
        "entryHash",
        "event_type",
        "id",
        "previousHash",
        "readOnly",
        "repo_scope",
        "result",
        "risk",
        "segmentId",
        "sequence",
        "session_id",
        "sidecarReadOnly",
        "signature",
        "signatureKeyId",
        "signatureVersion",
        "summary",
        "timestamp",
        "tool",
    ];
    assert_eq!(names, contract);
    let (again, _) = (open_at(&path, signed(), 2), ());
    assert_eq!(again.sequence(), 2);
}
