//! Heads: handed out, kept elsewhere, and held against the ledger later.
//! Trust: makes its own ledgers on a simulated disk.

use crate::{
    simulated::{Disk, NAME},
    support::{Steady, events, kinds, options, rules, signed, strict, verify_disk},
};
use bulkhead_ledger::{
    append::{AppendError, Appender, Settings},
    head::Head,
    signature::Signed,
    verify::{Kind, Options, Since},
};

fn ledger(seed: u64, entries: u64, rotate_at: u64) -> (Disk, Head) {
    let disk = Disk::default();
    let settings = Settings { rotate_at, ..signed() };
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(seed), settings).expect("a new ledger");
    assert_eq!(appender.head(), None);
    appender.append(&events(0..entries)).expect("appended");
    let text = appender.head().expect("a head");
    let (head, signature) = Head::read(&text, &rules(true)).expect("a sound head");
    assert_eq!(signature, Signed::Yes);
    (disk, head)
}

fn since(disk: &Disk, head: Head, strict_too: bool) -> (Vec<Kind>, Option<Since>) {
    let report = verify_disk(disk, &Options { since: Some(head), ..options(strict_too) });
    (kinds(&report), report.since)
}

#[test]
fn a_head_is_what_the_verifier_says_too() {
    let (disk, head) = ledger(1, 5, u64::MAX);
    let report = verify_disk(&disk, &strict());
    assert_eq!(report.head_statement(head.created_at), Some(head));
    assert_eq!((head.sequence, head.ledger), (5, report.ledger));
}

#[test]
fn a_ledger_that_went_on_holds_its_earlier_heads() {
    let (disk, head) = ledger(1, 5, 2200);
    assert_eq!(since(&disk, head, true), (vec![], Some(Since::Held)));
    let settings = Settings { rotate_at: 2200, at_least: Some(head), ..signed() };
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(2), settings).expect("it holds the head");
    appender.append(&events(5..9)).expect("appended");
    assert_eq!(since(&disk, head, true), (vec![], Some(Since::Held)));
    appender.append(&events(9..60)).expect("appended");
    assert_eq!(since(&disk, head, true), (vec![], Some(Since::BeyondRetention)));
    assert_eq!(since(&disk, head, false), (vec![Kind::BeyondRetention], Some(Since::BeyondRetention)));
    let report = verify_disk(&disk, &Options { since: Some(head), ..strict() });
    assert!(report.lines().contains(&"since: beyond retention".to_owned()));
}

#[test]
fn cut_forked_and_replaced_are_told_apart() {
    let (disk, head) = ledger(1, 5, u64::MAX);
    let content = disk.content(NAME);
    let three: usize = content.split_inclusive(|byte| *byte == b'\n').take(3).map(<[u8]>::len).sum();
    disk.put(NAME, &content[..three]);
    assert_eq!(since(&disk, head, true), (vec![Kind::Cut], Some(Since::Broken)));
    // the same ledger, cut and written on by one who has the key
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(3), signed()).expect("sound in itself");
    appender.append(&events(50..54)).expect("appended");
    assert_eq!(since(&disk, head, true), (vec![Kind::Forked], Some(Since::Broken)));
    let (other, _) = ledger(7, 9, u64::MAX);
    assert_eq!(since(&other, head, true), (vec![Kind::Replaced], Some(Since::Broken)));
    // without an id there is nothing to tell the same ledger from another by
    let unnamed = Head { ledger: None, ..head };
    assert_eq!(since(&other, unnamed, true), (vec![Kind::Replaced], Some(Since::Broken)));
}

#[test]
fn a_writer_that_was_given_a_head_does_not_take_up_a_ledger_without_it() {
    let (disk, head) = ledger(1, 5, u64::MAX);
    let open = |disk: &Disk| {
        let settings = Settings { at_least: Some(head), ..signed() };
        Appender::open(disk.directory(), Steady::new(3), settings).err()
    };
    assert_eq!(open(&disk), None);
    let content = disk.content(NAME);
    let three: usize = content.split_inclusive(|byte| *byte == b'\n').take(3).map(<[u8]>::len).sum();
    disk.put(NAME, &content[..three]);
    assert_eq!(open(&disk), Some(AppendError::Cut { expected: 5, last: 3 }));
    let (other, _) = ledger(7, 9, u64::MAX);
    assert_eq!(open(&other), Some(AppendError::Replaced(5)));
    let (rotated, _) = ledger(7, 9, 2200);
    assert_eq!(open(&rotated), Some(AppendError::Replaced(5)), "also where the entry lies in a segment");
    assert_eq!(open(&Disk::default()), Some(AppendError::Cut { expected: 5, last: 0 }));
}
