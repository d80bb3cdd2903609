//! Records of before the chain, entries of other writers, and ledgers that became signed later.
//! Trust: makes its own ledgers on a simulated disk.

use crate::{
    simulated::{Disk, NAME},
    support::{Steady, events, kinds, options, signed, strict, verify_disk},
};
use bulkhead_ledger::{
    append::{AppendError, Appender, Settings},
    chain::{Anchor, Link},
    verify::Kind,
};
use serde_json::json;

#[test]
fn a_chain_goes_on_from_records_of_before_it_and_covers_them() {
    let disk = Disk::default();
    let old = "{\"tool\": \"repo.status\", \"timestamp\": 1}\r\n{\"timestamp\":2,\"tool\":\"repo.brief\"}\n";
    disk.put(NAME, old.as_bytes());
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), signed()).expect("a legacy ledger");
    appender.append(&events(1..4)).expect("appended");
    let report = verify_disk(&disk, &options(false));
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!((report.entries, report.chained, report.legacy, report.signed, report.unsigned), (5, 3, 2, 3, 2));
    let mut anchor = Anchor::start();
    anchor.add(b"{\"timestamp\":1,\"tool\":\"repo.status\"}");
    anchor.add(b"{\"timestamp\":2,\"tool\":\"repo.brief\"}");
    let text = String::from_utf8(disk.content(NAME)).expect("UTF-8");
    let Link::Legacy(_) = anchor.link() else { panic!("an anchor") };
    assert!(text.contains(&format!("\"previousHash\":\"{}\"", anchor.link())));
    assert_eq!(kinds(&verify_disk(&disk, &strict())), [Kind::Unsigned], "strict asks for signatures on them, too");
    for (from, to) in [("brief", "other"), ("{\"timestamp\":2,\"tool\":\"repo.brief\"}\n", "")] {
        disk.put(NAME, text.replacen(from, to, 1).as_bytes());
        assert_eq!(kinds(&verify_disk(&disk, &options(false))), [Kind::Forked], "{from}");
    }
}

#[test]
fn a_ledger_of_legacy_records_alone_is_counted() {
    let disk = Disk::default();
    disk.put(NAME, b"{\"tool\":\"x\"}\n");
    let report = verify_disk(&disk, &options(false));
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!((report.entries, report.legacy, report.last, report.head), (1, 1, 0, None));
    disk.put(NAME, b"{\"tool\":\"x\"");
    assert!(!verify_disk(&disk, &options(false)).is_sound());
}

#[test]
fn unknown_event_types_of_other_writers_verify_like_any_other() {
    let disk = Disk::default();
    let plain = || Settings { ledger_id: false, ..signed() };
    let (mut ours, _) = Appender::open(disk.directory(), Steady::new(1), signed()).expect("a new ledger");
    let (mut gateway, _) = Appender::open(disk.directory(), Steady::new(2), plain()).expect("the same ledger");
    ours.append(&events(1..3)).expect("appended");
    let mut decision = events(3..4);
    decision[0].event_type = "human_decision".into();
    decision[0].further.insert("decision".into(), json!({"approved": true, "by": "a person"}));
    gateway.append(&decision).expect("appended");
    ours.append(&events(4..6)).expect("appended");
    let report = verify_disk(&disk, &strict());
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(report.last, 5);
}

#[test]
fn the_ledgers_id_outlives_rotation_by_a_writer_who_does_not_record_it() {
    let disk = Disk::default();
    let ours = || Settings { rotate_at: 2200, ..signed() };
    let (mut one, _) = Appender::open(disk.directory(), Steady::new(1), ours()).expect("a new ledger");
    one.append(&events(1..2)).expect("appended");
    let id = verify_disk(&disk, &strict()).ledger;
    drop(one);
    let plain = Settings { ledger_id: false, ..ours() };
    let (mut gateway, _) = Appender::open(disk.directory(), Steady::new(2), plain).expect("the same ledger");
    gateway.append(&events(2..6)).expect("appended");
    drop(gateway);
    let (mut again, _) = Appender::open(disk.directory(), Steady::new(3), ours()).expect("the same ledger");
    again.append(&events(6..8)).expect("appended");
    let report = verify_disk(&disk, &strict());
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(report.ledger, id);
    assert!(id.is_some());
}

#[test]
fn a_ledger_may_become_signed_and_says_which_entries_are_not() {
    let disk = Disk::default();
    let unsigned = Settings { key: None, ..Settings::default() };
    let (mut before, _) = Appender::open(disk.directory(), Steady::new(1), unsigned).expect("a new ledger");
    before.append(&events(1..4)).expect("appended");
    drop(before);
    let (mut after, _) = Appender::open(disk.directory(), Steady::new(2), signed()).expect("the same ledger");
    after.append(&events(4..7)).expect("appended");
    let report = verify_disk(&disk, &options(false));
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!((report.signed, report.unsigned), (3, 3));
    assert!(report.lines().contains(&"unsigned_ranges: 1..3".to_owned()), "{:?}", report.lines());
    assert_eq!(kinds(&verify_disk(&disk, &strict())), [Kind::Unsigned]);
}

#[test]
fn a_ledger_without_its_segments_is_not_taken_up() {
    let disk = Disk::default();
    let settings = || Settings { rotate_at: 2200, ..signed() };
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), settings()).expect("a new ledger");
    appender.append(&events(1..8)).expect("appended");
    drop(appender);
    let files = disk.ledger_files();
    let mut gone = disk.copy();
    gone.world().names.remove(&files[1]);
    let open = |disk: &Disk| Appender::open(disk.directory(), Steady::new(2), settings()).err();
    assert_eq!(open(&gone), Some(AppendError::Segments), "one in the middle");
    gone = disk.copy();
    for file in &files[..files.len() - 1] {
        gone.world().names.remove(file);
    }
    assert_eq!(open(&gone), Some(AppendError::Segments), "all of them, and no checkpoint stands for them");
    assert_eq!(open(&disk), None);
}
