//! Long files are taken up by their ends: at one cost at any length, never on a tampered end, and the rest is read behind.
//! Trust: makes its own ledgers on a simulated disk and plays who may write their files.

use crate::{
    simulated::{Disk, Fault, NAME, SimulatedDirectory},
    support::{Steady, event, events, key, signed, strict, verify_disk},
};
use bulkhead_ledger::{
    append::{AppendError, Appender, Settings},
    chain::{ChainFault, Link},
    entry::{self, Position},
    record::{RecordFault, verify_entry},
    signature::SignatureFault,
    uuid::Uuid,
};

type Opened = Result<Appender<SimulatedDirectory, Steady>, AppendError>;

/// A signed ledger of so many entries of some 900 bytes, in one file.
fn long(entries: u64) -> Disk {
    let disk = Disk::default();
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), signed()).expect("a new ledger");
    let mut next = 1;
    while next <= entries {
        let until = (next + 500).min(entries + 1);
        let appended = appender.append(&events(next..until)).expect("appended");
        assert!(appended.results.iter().all(Result::is_ok));
        next = until;
    }
    disk.copy()
}

fn open(disk: &Disk) -> Opened {
    Appender::open(disk.directory(), Steady::new(2), signed()).map(|(appender, _)| appender)
}

/// Reads what was left out; in how many pieces.
fn read_behind(appender: &mut Appender<SimulatedDirectory, Steady>) -> Result<u32, AppendError> {
    let mut pieces = 0;
    while appender.read_behind()? {
        pieces += 1;
    }
    Ok(pieces)
}

fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

#[test]
fn a_start_costs_the_same_at_any_length() {
    let cost = |entries| {
        let disk = long(entries);
        disk.plan(u64::MAX, Fault::CrashBefore);
        let mut appender = open(&disk).expect("a sound ledger");
        let operations = disk.operations();
        assert_eq!(appender.sequence(), entries);
        let appended = appender.append(&[event(9)]).expect("appended");
        assert_eq!(appended.results[0].as_ref().map(|ack| ack.sequence), Ok(entries + 1));
        let pieces = read_behind(&mut appender).expect("a sound ledger");
        assert!(verify_disk(&disk, &strict()).is_sound());
        (operations, pieces)
    };
    let (short, long) = (cost(150), cost(600));
    assert_eq!(short.0, long.0, "operations of a start");
    assert!(short.1 >= 1 && long.1 > 2 * short.1, "and the rest was read behind: {short:?}, {long:?}");
}

#[test]
fn any_change_of_the_last_entry_is_refused() {
    let disk = long(120);
    let sound = disk.content(NAME);
    let last = sound.len() - lines(&sound).last().expect("entries").len();
    for at in last..sound.len() - 1 {
        let mut changed = sound.clone();
        changed[at] ^= 1 << (at % 8);
        disk.put(NAME, &changed);
        assert!(open(&disk).is_err(), "byte {at}: {}", String::from_utf8_lossy(&changed[last..]));
        assert_eq!(disk.content(NAME), changed, "and it is left as it is");
    }
    disk.put(NAME, &sound);
    assert!(open(&disk).is_ok());
}

/// The line that would follow, by another key, made to claim ours; or unsigned.
fn forged(disk: &Disk, previous: Option<Link>, is_signed: bool) -> Vec<u8> {
    let content = disk.content(NAME);
    let (last, _) =
        verify_entry(lines(&content).last().expect("entries"), &crate::support::rules(true)).expect("sound");
    let at = Position {
        sequence: last.sequence + 1,
        previous: previous.unwrap_or(Link::Entry(last.stated)),
        segment: last.segment,
        ledger: last.ledger,
    };
    let own = key();
    let sealed = entry::seal(&event(7), &at, Uuid::v4([7; 16]), is_signed.then_some(&own)).expect("small");
    if !is_signed {
        return sealed.line;
    }
    // whoever has no key can copy a signature from another entry
    let signature = |line: &[u8]| {
        let text = String::from_utf8(line.to_vec()).expect("UTF-8");
        let start = text.find("\"signature\":\"").expect("signed") + 13;
        text[start..start + 86].to_owned()
    };
    let (own, copied) = (signature(&sealed.line), signature(lines(&content)[0]));
    String::from_utf8(sealed.line).expect("UTF-8").replace(&own, &copied).into_bytes()
}

#[test]
fn nothing_is_chained_to_a_forged_end() {
    for entries in [3, 120] {
        let disk = long(entries);
        let sound = disk.content(NAME);
        let refused = |line: Vec<u8>| {
            disk.put(NAME, &[sound.clone(), line].concat());
            let fault = open(&disk).expect_err("refused");
            disk.put(NAME, &sound);
            fault
        };
        let fault = refused(forged(&disk, None, true));
        let wrong = RecordFault::Signature(SignatureFault::Wrong);
        assert_eq!(fault, AppendError::Record { at: sound.len() as u64, fault: wrong }, "{entries}");
        let fault = refused(forged(&disk, Some(Link::Genesis), false));
        assert!(matches!(fault, AppendError::Chain { fault: ChainFault::Forked { .. }, .. }), "{fault}");
        // an unsigned entry that continues the chain is another writer's, as it is for a running writer
        disk.put(NAME, &[sound.clone(), forged(&disk, None, false)].concat());
        assert_eq!(open(&disk).expect("another writer's").sequence(), entries + 1);
        disk.put(NAME, &sound);
    }
}

#[test]
fn nothing_is_chained_to_a_forged_segment() {
    let disk = Disk::default();
    let settings = || Settings { rotate_at: 2200, ..signed() };
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), settings()).expect("a new ledger");
    appender.append(&events(1..4)).expect("appended");
    let name = disk.ledger_files().swap_remove(0);
    let text = String::from_utf8(disk.content(&name)).expect("UTF-8");
    let mut signatures = text.match_indices("\"signature\":\"").map(|(at, _)| &text[at + 13..at + 99]);
    let (one, other) = (signatures.next().expect("signed"), signatures.next().expect("signed"));
    disk.put(&name, text.replace(other, one).as_bytes());
    disk.put(NAME, b"");
    let opened = Appender::open(disk.directory(), Steady::new(2), settings());
    assert!(matches!(opened, Err(AppendError::Record { .. })), "{opened:?}");
}

#[test]
fn damage_in_the_middle_of_a_long_file_is_found_behind() {
    let disk = long(300);
    let sound = disk.content(NAME);
    let all = lines(&sound);
    let middle: usize = all[..100].iter().map(|line| line.len()).sum();
    let damaged = |content: Vec<u8>| {
        disk.put(NAME, &content);
        let mut appender = open(&disk).expect("its end is sound");
        let fault = read_behind(&mut appender).expect_err("found");
        assert_eq!(read_behind(&mut appender).err(), Some(fault.clone()), "and not forgotten");
        assert_eq!(disk.content(NAME), content, "nothing was changed");
        assert!(!verify_disk(&disk, &strict()).is_sound());
        fault
    };
    let mut changed = sound.clone();
    changed[middle + 300] ^= 1;
    assert!(matches!(
        damaged(changed),
        AppendError::Chain { at, fault: ChainFault::Altered(101) } if at == middle as u64
    ));
    let without = [all[..100].concat(), all[101..].concat()].concat();
    assert!(matches!(damaged(without), AppendError::Chain { fault: ChainFault::Gap { expected: 101, .. }, .. }));
    let mut blank = sound.clone();
    blank[middle..middle + all[100].len() - 1].fill(b' ');
    assert_eq!(damaged(blank), AppendError::Record { at: middle as u64, fault: RecordFault::Blank });
    // the first entry is read at the start
    let mut first = sound.clone();
    first[300] ^= 1;
    disk.put(NAME, &first);
    assert!(matches!(open(&disk), Err(AppendError::Chain { at: 0, fault: ChainFault::Altered(1) })));
    // and so is everything before a head that the ledger must hold
    let (chained, _) = verify_entry(all[50], &crate::support::rules(true)).expect("sound");
    let head = bulkhead_ledger::head::Head { ledger: None, sequence: 51, hash: chained.stated, created_at: 0 };
    let mut changed = sound;
    changed[middle + 300] ^= 1;
    disk.put(NAME, &changed);
    let settings = Settings { at_least: Some(head), ..signed() };
    let opened = Appender::open(disk.directory(), Steady::new(2), settings);
    assert!(matches!(opened, Err(AppendError::Chain { fault: ChainFault::Altered(101), .. })), "{opened:?}");
}

#[test]
fn a_file_whose_end_is_all_of_other_writers_is_read_whole() {
    let disk = long(60);
    let settings = || Settings { key: None, ledger_id: true, ..Settings::default() };
    let (mut other, _) = Appender::open(disk.directory(), Steady::new(5), settings()).expect("a sound ledger");
    other.append(&events(61..161)).expect("appended");
    let mut appender = open(&disk).expect("a sound ledger");
    assert_eq!((appender.sequence(), appender.read_behind()), (160, Ok(false)), "nothing is left to be read");
    // for the unsigned writer itself there is nothing that more reading would prove
    let (mut other, _) = Appender::open(disk.directory(), Steady::new(6), settings()).expect("a sound ledger");
    assert_eq!(other.read_behind(), Ok(true));
}

#[test]
fn a_torn_line_after_a_long_file_is_mended() {
    let disk = long(120);
    let sound = disk.content(NAME);
    for torn in [1, 40, 700] {
        let line = lines(&sound)[3];
        disk.put(NAME, &[&sound[..], &line[..torn]].concat());
        disk.world().files.values_mut().for_each(|file| file.synced = file.synced.min(sound.len()));
        let mut appender = open(&disk).expect("mended");
        assert_eq!(disk.content(NAME), sound, "{torn}");
        assert!(read_behind(&mut appender).is_ok());
    }
}
