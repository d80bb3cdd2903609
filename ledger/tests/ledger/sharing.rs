//! Several writers on one ledger, and what a writer does when somebody else changes the files beneath it.
//! Trust: makes its own ledgers, on a simulated disk and on a real one.

use crate::{
    simulated::{Disk, NAME},
    support::{Steady, event, events, open_at, private_directory, signed, strict, verify_at, verify_disk},
};
use bulkhead_ledger::append::{AppendError, Appender, Notice, Settings};
use std::{thread, time::Duration};

#[test]
fn two_writers_in_turn_make_one_chain_of_ten_thousand() {
    let disk = Disk::default();
    let settings = || Settings { rotate_at: 1024 * 1024, ..signed() };
    let (mut one, _) = Appender::open(disk.directory(), Steady::new(1), settings()).expect("a new ledger");
    let (mut other, _) = Appender::open(disk.directory(), Steady::new(2), settings()).expect("the same ledger");
    let mut sequence = 0;
    let mut number = 0;
    while sequence < 10_000 {
        // turns and groups of uneven length
        number += 1;
        let writer = if number % 5 < 3 { &mut one } else { &mut other };
        let length = (1 + number % 7).min(10_000 - sequence);
        let appended = writer.append(&events(sequence..sequence + length)).expect("appended");
        for result in appended.results {
            sequence += 1;
            assert_eq!(result.expect("recorded").sequence, sequence);
        }
    }
    let report = verify_disk(&disk, &strict());
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(report.last, 10_000);
    assert!(report.retention_checkpoint_used, "they rotated and pruned in turn");
}

#[test]
fn two_writers_at_once_on_real_files_make_one_chain() {
    let base = private_directory();
    let path = base.path().join("shared").join("audit.jsonl");
    let settings = || Settings { rotate_at: 64 * 1024, lock_wait: Duration::from_secs(60), ..signed() };
    let write = |seed: u64| {
        let mut appender = open_at(&path, settings(), seed);
        let mut acks = Vec::new();
        for group in 0..20 {
            let appended = appender.append(&events(group * 10..group * 10 + 10)).expect("appended");
            acks.extend(appended.results.into_iter().map(|result| result.expect("recorded").sequence));
        }
        acks
    };
    drop(open_at(&path, settings(), 9));
    let mut acks = thread::scope(|scope| {
        let writers: Vec<_> = [1, 2].map(|seed| scope.spawn(move || write(seed))).into_iter().collect();
        writers.into_iter().flat_map(|writer| writer.join().expect("it ends")).collect::<Vec<u64>>()
    });
    acks.sort_unstable();
    assert_eq!(acks, (1..=400).collect::<Vec<u64>>(), "every sequence was acknowledged once");
    let report = verify_at(&path, &strict());
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(report.last, 400);
}

#[test]
fn an_append_reads_what_others_added_and_no_more() {
    let disk = Disk::default();
    let (mut one, _) = Appender::open(disk.directory(), Steady::new(1), signed()).expect("a new ledger");
    let (mut other, _) = Appender::open(disk.directory(), Steady::new(2), signed()).expect("the same ledger");
    let cost = |writer: &mut Appender<_, _>, number| {
        disk.plan(u64::MAX, crate::simulated::Fault::CrashBefore);
        let appended = writer.append(&[event(number)]).expect("appended");
        (disk.operations(), appended.notices)
    };
    one.append(&[event(0)]).expect("appended");
    let (first, _) = cost(&mut one, 1);
    for number in 2..200 {
        one.append(&[event(number)]).expect("appended");
    }
    assert_eq!(cost(&mut one, 200).0, first, "as many operations as at the beginning");
    let (_, notices) = cost(&mut other, 201);
    assert_eq!(notices, [Notice::OthersAdded { entries: 201 }]);
    assert_eq!(cost(&mut other, 202).0, first, "and none that reads what was looked at");
    assert_eq!(cost(&mut one, 203).1, [Notice::OthersAdded { entries: 2 }]);
}

#[test]
fn a_writer_finds_its_way_when_others_rotated_and_pruned() {
    let disk = Disk::default();
    let settings = || Settings { rotate_at: 2200, ..signed() };
    let (mut one, _) = Appender::open(disk.directory(), Steady::new(1), settings()).expect("a new ledger");
    let (mut other, _) = Appender::open(disk.directory(), Steady::new(2), settings()).expect("the same ledger");
    one.append(&[event(1)]).expect("appended");
    other.append(&events(2..6)).expect("appended");
    let appended = one.append(&[event(6)]).expect("appended");
    assert_eq!(appended.results[0].as_ref().map(|ack| ack.sequence), Ok(6));
    assert!(appended.notices.contains(&Notice::OthersAdded { entries: 4 }), "{:?}", appended.notices);
    other.append(&events(7..40)).expect("appended");
    let appended = one.append(&[event(40)]).expect("appended");
    assert_eq!(appended.results[0].as_ref().map(|ack| ack.sequence), Ok(40));
    assert!(appended.notices.iter().any(|notice| matches!(notice, Notice::LostSight { known: 6, .. })));
    assert!(verify_disk(&disk, &strict()).is_sound());
}

#[test]
fn a_ledger_that_changed_beneath_a_writer_is_refused_by_name() {
    let start = || {
        let disk = Disk::default();
        let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), signed()).expect("a new ledger");
        appender.append(&events(1..4)).expect("appended");
        (disk, appender)
    };
    let with_content = |disk: &Disk, change: &dyn Fn(&mut Vec<u8>)| {
        let mut world = disk.world();
        let inode = world.names[NAME];
        change(&mut world.files.get_mut(&inode).expect("the active file").bytes);
    };

    let (disk, mut appender) = start();
    with_content(&disk, &|bytes| bytes.truncate(bytes.len() - 1));
    assert!(matches!(appender.append(&[event(4)]), Err(AppendError::Truncated { .. })));

    let (disk, mut appender) = start();
    with_content(&disk, &|bytes| {
        let at = bytes.len() - 5;
        bytes[at] ^= 1;
    });
    assert_eq!(appender.append(&[event(4)]).err(), Some(AppendError::Rewritten));

    // a copy in its place, as long as it was
    let (disk, mut appender) = start();
    let content = disk.content(NAME);
    disk.put(NAME, &content);
    assert_eq!(appender.append(&[event(4)]).err(), Some(AppendError::Swapped));
    assert_eq!(disk.content(NAME), content, "and nothing was written to it");

    let (disk, mut appender) = start();
    disk.world().names.remove(NAME);
    assert_eq!(appender.append(&[event(4)]).err(), Some(AppendError::Swapped));
    assert!(disk.ledger_files().is_empty(), "no new ledger was begun in its place");

    // somebody without the key adds an entry that continues the chain
    let (disk, mut appender) = start();
    let settings = Settings { key: None, ..Settings::default() };
    let (mut other, _) = Appender::open(disk.directory(), Steady::new(5), settings).expect("the same ledger");
    other.append(&[event(4)]).expect("appended");
    assert!(appender.append(&[event(5)]).is_ok(), "unsigned entries are other writers'");
    // and one that claims the key
    with_content(&disk, &|bytes| {
        let line = String::from_utf8(bytes.clone()).expect("UTF-8").lines().last().expect("a line").to_owned();
        bytes.extend_from_slice((line + "\n").as_bytes());
    });
    assert!(matches!(appender.append(&[event(6)]), Err(AppendError::Chain { .. })));
}

#[test]
fn a_lock_that_is_never_given_back_ends_the_wait() {
    let disk = Disk::default();
    let settings = || Settings { lock_wait: Duration::from_millis(20), ..signed() };
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), settings()).expect("a new ledger");
    let mut holder = disk.directory();
    assert!(bulkhead_ledger::append::Directory::try_lock(&mut holder).expect("no fault"));
    assert!(matches!(appender.append(&[event(1)]), Err(AppendError::LockTimeout(_))));
    bulkhead_ledger::append::Directory::unlock(&mut holder).expect("no fault");
    assert!(appender.append(&[event(1)]).is_ok());
}
