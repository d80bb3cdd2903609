//! A last line that was torn at any byte: mended where nothing acknowledged is lost, refused where something is.
//! Trust: makes its own ledgers on a simulated disk and cuts them.

use crate::{
    simulated::{Disk, NAME},
    support::{Steady, event, events, signed, strict, verify_disk},
};
use bulkhead_ledger::{
    append::{AppendError, Appender, Notice, Settings},
    head::Head,
};

fn three() -> (Disk, Vec<usize>, Head) {
    let disk = Disk::default();
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), signed()).expect("a new ledger");
    let acks = appender.append(&events(1..4)).expect("appended");
    let ack = acks.results[2].as_ref().expect("recorded");
    let head = Head { ledger: None, sequence: ack.sequence, hash: ack.hash, created_at: 0 };
    let content = disk.content(NAME);
    let ends = (0..content.len()).filter(|at| content[*at] == b'\n').map(|at| at + 1).collect();
    (disk, ends, head)
}

#[test]
fn a_line_torn_at_any_byte_is_mended() {
    let (disk, ends, _) = three();
    let whole = disk.content(NAME);
    for length in 0..whole.len() {
        let disk = Disk::default();
        disk.put(NAME, &whole[..length]);
        disk.world().files.values_mut().for_each(|file| file.synced = 0);
        let (mut appender, notices) = Appender::open(disk.directory(), Steady::new(2), signed())
            .unwrap_or_else(|fault| panic!("cut to {length} bytes: {fault}"));
        let entries = ends.iter().filter(|end| **end <= length).count() as u64;
        let lacks_its_end = ends.contains(&(length + 1));
        let expected = if lacks_its_end {
            vec![Notice::Completed { sequence: entries + 1 }]
        } else if length == 0 || ends.contains(&length) {
            vec![]
        } else {
            let torn = length - ends.iter().rfind(|end| **end <= length).copied().unwrap_or(0);
            vec![Notice::TornTailCut { bytes: torn as u64 }]
        };
        assert_eq!(notices, expected, "cut to {length} bytes");
        assert_eq!(appender.sequence(), entries + u64::from(lacks_its_end));
        appender.append(&[event(9)]).expect("appended");
        let report = verify_disk(&disk, &strict());
        assert!(report.is_sound(), "cut to {length} bytes: {:?}", report.findings);
    }
}

#[test]
fn what_was_acknowledged_is_never_taken_for_torn() {
    let (disk, ends, head) = three();
    let whole = disk.content(NAME);
    for length in 0..whole.len() {
        let disk = Disk::default();
        disk.put(NAME, &whole[..length]);
        let settings = Settings { at_least: Some(head), ..signed() };
        let opened = Appender::open(disk.directory(), Steady::new(2), settings);
        if length + 1 == whole.len() {
            assert!(opened.is_ok(), "only the newline is missing: the entry is there");
            continue;
        }
        let last = ends.iter().filter(|end| **end <= length).count() as u64;
        assert_eq!(opened.err(), Some(AppendError::Cut { expected: 3, last }), "cut to {length} bytes");
        assert_eq!(disk.content(NAME), &whole[..length], "and the file is left as evidence");
    }
}

#[test]
fn what_never_was_an_entry_is_not_cut() {
    for content in ["hello", "[1,2", "\u{0}{", "{ \"tool\""] {
        let disk = Disk::default();
        disk.put(NAME, content.as_bytes());
        let opened = Appender::open(disk.directory(), Steady::new(1), signed());
        assert_eq!(opened.err(), Some(AppendError::NotALedger), "{content}");
        assert_eq!(disk.content(NAME), content.as_bytes());
    }
    // a whole entry of another place is no torn write
    let (disk, ends, _) = three();
    let content = disk.content(NAME);
    let stray = [&content[..ends[1]], &content[..ends[0] - 1]].concat();
    disk.put(NAME, &stray);
    assert_eq!(Appender::open(disk.directory(), Steady::new(1), signed()).err(), Some(AppendError::NotALedger));
}

#[test]
fn damage_before_the_last_line_is_refused_and_left_alone() {
    let (disk, ends, _) = three();
    let sound = disk.content(NAME);
    let refused = |content: &[u8]| {
        disk.put(NAME, content);
        let opened = Appender::open(disk.directory(), Steady::new(1), signed());
        assert_eq!(disk.content(NAME), content);
        opened.expect_err("refused")
    };
    let at = ends[0] as u64;
    let mut changed = sound.clone();
    changed[ends[0]] = b'[';
    assert!(matches!(refused(&changed), AppendError::Record { at: found, .. } if found == at));
    let gone = [&sound[..ends[0]], &sound[ends[1]..]].concat();
    assert!(matches!(refused(&gone), AppendError::Chain { at: found, .. } if found == at));
    let doubled = [&sound[..ends[0]], &sound[..ends[0]]].concat();
    assert!(matches!(refused(&doubled), AppendError::Chain { .. }));
    let blank = [&sound[..ends[0]], b"\n", &sound[ends[0]..]].concat();
    assert!(matches!(refused(&blank), AppendError::Record { .. }));
}
