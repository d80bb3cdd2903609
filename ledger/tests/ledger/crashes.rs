//! Crashes, errors and a full disk at every single operation: afterwards the ledger verifies and nothing acknowledged is
//! lost.
//! Trust: makes its own ledgers on a simulated disk that fails where the test says.

use crate::{
    simulated::{Disk, Fault, Leaves},
    support::{Steady, event, events, signed, strict, verify_disk},
};
use bulkhead_ledger::{
    append::{Ack, AppendError, Appender, Notice, Settings, Step, Unrecorded},
    hash::Hash,
    head::Head,
};
use std::{collections::BTreeMap, io, time::Duration};

fn settings() -> Settings {
    Settings { rotate_at: 2200, lock_wait: Duration::from_millis(10), ..signed() }
}

/// Three rotated segments and an active file that is full: what follows rotates, and the next rotation prunes.
fn before() -> Disk {
    let disk = Disk::default();
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), settings()).expect("a new ledger");
    appender.append(&events(1..9)).expect("appended");
    disk.copy()
}

/// Opens and appends groups until something fails; what was acknowledged.
fn work(disk: &Disk, seed: u64) -> Vec<Ack> {
    let mut acks = Vec::new();
    let Ok((mut appender, _)) = Appender::open(disk.directory(), Steady::new(seed), settings()) else { return acks };
    for group in [1..2, 2..5, 5..6, 6..9, 9..10] {
        match appender.append(&events(group)) {
            Ok(appended) => acks.extend(appended.results.into_iter().flatten()),
            Err(_) => return acks,
        }
    }
    acks
}

/// All entries on the disk, and the last pruned sequence.
fn entries(disk: &Disk) -> (BTreeMap<u64, Hash>, u64) {
    let mut entries = BTreeMap::new();
    for file in disk.ledger_files() {
        for line in disk.content(&file).split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let rules = crate::support::rules(true);
            let (chained, _) = bulkhead_ledger::record::verify_entry(line, &rules).expect("a sound entry");
            entries.insert(chained.sequence, chained.stated);
        }
    }
    let pruned = entries.keys().next().map_or(0, |first| first - 1);
    (entries, pruned)
}

/// The ledger can be taken up, holds everything that was acknowledged, goes on, and verifies.
fn recovers(disk: &Disk, acks: &[Ack], what: &str) {
    let last = acks.last().copied();
    let at_least = last.map(|ack| Head { ledger: None, sequence: ack.sequence, hash: ack.hash, created_at: 0 });
    let settings = Settings { at_least, ..settings() };
    let opened = Appender::open(disk.directory(), Steady::new(99), settings);
    let (mut appender, _) = opened.unwrap_or_else(|fault| panic!("{what}: it cannot be taken up: {fault}"));
    let appended = appender.append(&[event(1000)]).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    assert!(appended.results[0].is_ok(), "{what}: {:?}", appended.results);
    let report = verify_disk(disk, &strict());
    assert!(report.is_sound(), "{what}: {:?}", report.findings);
    let (entries, pruned) = entries(disk);
    for ack in acks.iter().filter(|ack| ack.sequence > pruned) {
        assert_eq!(entries.get(&ack.sequence), Some(&ack.hash), "{what}: entry {} was acknowledged", ack.sequence);
    }
    assert!(disk.ledger_files().len() <= 6, "{what}");
}

/// Operations of the whole work without a fault.
fn operations() -> u64 {
    let disk = before();
    disk.plan(u64::MAX, Fault::CrashBefore);
    let acks = work(&disk, 2);
    assert_eq!(acks.len(), 9, "everything is acknowledged where nothing fails");
    let operations = disk.operations();
    assert!(verify_disk(&disk, &strict()).retention_checkpoint_used, "it went through rotation and pruning");
    operations
}

#[test]
fn a_crash_at_any_operation_loses_nothing_that_was_acknowledged() {
    let operations = operations();
    assert!(operations > 60, "{operations}");
    for operation in 1..=operations {
        for fault in [Fault::CrashBefore, Fault::CrashAfter] {
            let disk = before();
            disk.plan(operation, fault);
            let acks = work(&disk, 2);
            for leaves in [Leaves::All, Leaves::Half, Leaves::Nothing] {
                recovers(&disk.after_crash(leaves), &acks, &format!("operation {operation}, {fault:?}, {leaves:?}"));
            }
        }
    }
}

#[test]
fn a_crash_during_recovery_is_recovered_from_as_well() {
    let torn = || {
        let disk = before();
        // the half of a group's write
        let mut operation = 0;
        loop {
            operation += 1;
            let attempt = before();
            attempt.plan(operation, Fault::CrashAfter);
            let acks = work(&attempt, 2);
            let after = attempt.after_crash(Leaves::All);
            let active = after.content(crate::simulated::NAME);
            if !active.is_empty() && !active.ends_with(b"\n") {
                return (after, acks);
            }
            assert!(operation < 1000, "{:?}", disk.names());
        }
    };
    let (disk, acks) = torn();
    let mut recoveries = 0;
    for operation in 1.. {
        let disk = disk.copy();
        disk.plan(operation, Fault::CrashAfter);
        let opened = Appender::open(disk.directory(), Steady::new(3), settings());
        if disk.operations() < operation {
            assert!(opened.is_ok());
            break;
        }
        for leaves in [Leaves::All, Leaves::Half, Leaves::Nothing] {
            recovers(&disk.after_crash(leaves), &acks, &format!("recovery, operation {operation}, {leaves:?}"));
        }
        recoveries += 1;
    }
    assert!(recoveries > 5, "{recoveries}");
}

#[test]
fn an_error_at_any_operation_is_reported_and_the_ledger_stays_sound() {
    let operations = operations();
    let mut reported = 0;
    for operation in 1..=operations {
        for (kind, taken) in [
            (io::ErrorKind::StorageFull, 0),
            (io::ErrorKind::StorageFull, 100),
            (io::ErrorKind::PermissionDenied, 1500),
        ] {
            let what = format!("operation {operation}, {kind:?}, {taken} bytes");
            let disk = before();
            disk.plan(operation, Fault::Error(kind, taken));
            let mut acks = Vec::new();
            let Ok((mut appender, _)) = Appender::open(disk.directory(), Steady::new(2), settings()) else {
                recovers(&disk, &acks, &what);
                continue;
            };
            for group in [1..2, 2..5, 5..6, 6..9, 9..10] {
                match appender.append(&events(group)) {
                    Ok(appended) => {
                        reported += appended.results.iter().filter(|result| result.is_err()).count();
                        acks.extend(appended.results.into_iter().flatten());
                    }
                    Err(_) => reported += 1,
                }
            }
            let sequences: Vec<u64> = acks.iter().map(|ack| ack.sequence).collect();
            assert!(sequences.is_sorted(), "{what}: {sequences:?}");
            drop(appender);
            recovers(&disk.copy(), &acks, &what);
        }
    }
    assert!(reported > 20, "{reported}");
}

#[test]
fn a_full_disk_acknowledges_the_whole_entries_that_fit_and_no_other() {
    let disk = Disk::default();
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), signed()).expect("a new ledger");
    appender.append(&events(1..3)).expect("appended");
    let mut writes = 0;
    for operation in 1..20 {
        let disk = disk.copy();
        let (mut appender, _) = Appender::open(disk.directory(), Steady::new(2), signed()).expect("a sound ledger");
        // one whole line and some of the next
        disk.plan(operation, Fault::Error(io::ErrorKind::StorageFull, 1400));
        let Ok(appended) = appender.append(&events(3..6)) else { continue };
        let results: Vec<bool> = appended.results.iter().map(Result::is_ok).collect();
        if results != [true, false, false] {
            continue;
        }
        writes += 1;
        let Err(Unrecorded::Storage(AppendError::Io(fault))) = &appended.results[1] else {
            panic!("{:?}", appended.results);
        };
        assert_eq!((fault.step, fault.kind), (Step::Write, io::ErrorKind::StorageFull));
        assert!(disk.content(crate::simulated::NAME).ends_with(b"\n"), "the torn line was cut at once");
        let report = verify_disk(&disk, &strict());
        assert_eq!((report.is_sound(), report.last), (true, 3));
        // there is room again
        let appended = appender.append(&events(6..8)).expect("appended");
        assert_eq!(appended.results.iter().flatten().map(|ack| ack.sequence).collect::<Vec<_>>(), [4, 5]);
        assert!(verify_disk(&disk, &strict()).is_sound());
    }
    assert_eq!(writes, 1, "one of the operations is the write");
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged_until_the_ledger_is_opened_anew() {
    let mut syncs = 0;
    for operation in 1..20 {
        let disk = Disk::default();
        let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), signed()).expect("a new ledger");
        disk.plan(operation, Fault::Error(io::ErrorKind::Other, 0));
        let first = appender.append(&events(1..3));
        let second = appender.append(&events(3..4));
        if let Err(AppendError::Broken(fault)) = &second {
            if fault.step != Step::Sync {
                continue;
            }
            syncs += 1;
            assert!(first.expect("an answer").results.iter().all(Result::is_err));
            drop(appender);
            let (mut again, _) = Appender::open(disk.directory(), Steady::new(2), signed()).expect("taken up");
            assert_eq!(again.append(&events(3..4)).expect("appended").results.len(), 1);
            assert!(verify_disk(&disk, &strict()).is_sound());
        }
    }
    assert_eq!(syncs, 1, "one of the operations is the sync");
}

#[test]
fn a_segment_that_cannot_be_deleted_is_tolerated_once_and_then_refused() {
    let disk = Disk::default();
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), settings()).expect("a new ledger");
    disk.world().keeps_segments = true;
    let mut notices = Vec::new();
    let mut number = 0;
    let refused = loop {
        number += 1;
        let appended = appender.append(&[event(number)]).expect("an answer");
        notices.extend(appended.notices);
        match appended.results.into_iter().next().expect("one event") {
            Ok(ack) => assert_eq!(ack.sequence, number),
            Err(refused) => break refused,
        }
    };
    assert!(matches!(refused, Unrecorded::Storage(AppendError::Retention(_))), "{refused}");
    assert_eq!(disk.ledger_files().len(), 6, "five segments and the active file");
    assert!(notices.iter().any(|notice| matches!(notice, Notice::PruneFailed(_))), "{notices:?}");
    let report = verify_disk(&disk, &strict());
    assert!(report.is_sound(), "{:?}", report.findings);
    assert_eq!(report.last, number - 1);
    disk.world().keeps_segments = false;
    let appended = appender.append(&[event(number)]).expect("an answer");
    assert_eq!(appended.results[0].as_ref().map(|ack| ack.sequence), Ok(number));
    assert_eq!(disk.ledger_files().len(), 5);
    let report = verify_disk(&disk, &strict());
    assert!(report.is_sound() && report.retention_checkpoint_used, "{:?}", report.findings);
    assert_eq!(report.ledger, appender.ledger());
}
