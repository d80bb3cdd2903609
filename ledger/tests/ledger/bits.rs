//! Any single bit, and any order: in a signed ledger, verified strictly, no change goes unseen.
//! Trust: makes its own ledger on a simulated disk and damages it.

use crate::{
    simulated::Disk,
    support::{Steady, event, events, signed, strict, verify_disk},
};
use bulkhead_ledger::append::{Appender, Settings};

/// A signed ledger that was rotated and pruned, small: checkpoint, four segments of one entry, one active entry.
fn ledger() -> Disk {
    let disk = Disk::default();
    let settings = Settings { rotate_at: 1200, ..signed() };
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), settings).expect("a new ledger");
    let mut last = event(6);
    last.summary = "control \u{1} is a space, é and \u{1f600} stay, / and \" and \\ too".into();
    last.further.insert("control".into(), "\u{1f}\u{1}\n".into());
    last.further.insert("numbers".into(), serde_json::json!([0, -1, u64::MAX, i64::MIN]));
    let all = [events(1..6), vec![last]].concat();
    let acks = appender.append(&all).expect("appended");
    assert!(acks.results.iter().all(Result::is_ok));
    assert_eq!(disk.ledger_files().len(), 5);
    assert!(verify_disk(&disk, &strict()).is_sound(), "{:?}", verify_disk(&disk, &strict()).findings);
    disk
}

#[test]
fn no_single_bit_can_change() {
    let disk = ledger();
    let mut flips = 0;
    // the first segment, the checkpoint and the active file; what lies between is of the same kind
    let mut names: Vec<String> = disk.names().into_iter().filter(|name| name.contains("checkpoint")).collect();
    assert_eq!(names.len(), 1);
    names.extend([disk.ledger_files().swap_remove(0), disk.ledger_files().swap_remove(4)]);
    for name in names {
        let sound = disk.content(&name);
        for at in 0..sound.len() {
            for bit in 0..8 {
                let mut changed = sound.clone();
                changed[at] ^= 1 << bit;
                disk.put(&name, &changed);
                let report = verify_disk(&disk, &strict());
                let text = String::from_utf8_lossy(&changed);
                assert!(!report.is_sound(), "bit {bit} of byte {at} of {name} went unseen: {text}");
                flips += 1;
            }
        }
        disk.put(&name, &sound);
    }
    assert!(flips > 15_000, "{flips}");
    assert!(verify_disk(&disk, &strict()).is_sound(), "put back");
}

#[test]
fn no_byte_can_be_taken_out_or_put_in() {
    let disk = ledger();
    let name = disk.ledger_files().swap_remove(4);
    let sound = disk.content(&name);
    for at in 0..sound.len() {
        let mut changed = sound.clone();
        changed.remove(at);
        disk.put(&name, &changed);
        assert!(!verify_disk(&disk, &strict()).is_sound(), "byte {at} was taken out");
        let mut changed = sound.clone();
        changed.insert(at, b'0');
        disk.put(&name, &changed);
        assert!(!verify_disk(&disk, &strict()).is_sound(), "a digit was put in at {at}");
    }
}

#[test]
fn no_order_but_the_true_one_verifies() {
    let disk = Disk::default();
    let (mut appender, _) = Appender::open(disk.directory(), Steady::new(1), signed()).expect("a new ledger");
    appender.append(&events(1..6)).expect("appended");
    let name = disk.ledger_files().swap_remove(0);
    let sound = disk.content(&name);
    let lines: Vec<&[u8]> = sound.split_inclusive(|byte| *byte == b'\n').collect();
    let mut order: Vec<usize> = (0..lines.len()).collect();
    let mut orders = 0;
    // all permutations, by Heap's rule
    let mut counters = vec![0; order.len()];
    let mut place = 0;
    while place < order.len() {
        if counters[place] < place {
            let other = if place % 2 == 0 { 0 } else { counters[place] };
            order.swap(other, place);
            let changed: Vec<u8> = order.iter().flat_map(|line| lines[*line].iter().copied()).collect();
            disk.put(&name, &changed);
            let sorted = order.is_sorted();
            assert_eq!(verify_disk(&disk, &strict()).is_sound(), sorted, "{order:?}");
            orders += 1;
            counters[place] += 1;
            place = 0;
        } else {
            counters[place] = 0;
            place += 1;
        }
    }
    assert_eq!(orders, 119);
}

#[test]
fn no_bytes_whatever_end_the_reader() {
    let rules = crate::support::rules(true);
    let vector = include_bytes!("../vectors/own-unicode/mcp.jsonl");
    let pieces: &[&[u8]] = &[
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"\\",
        b"\\u",
        b"\\ud83d",
        b":",
        b",",
        b"-",
        b"0",
        b"1e999",
        b".",
        b"e+",
        b"true",
        b"null",
        b"\xff",
        b"\xc3",
        "é".as_bytes(),
        "\u{1f600}".as_bytes(),
        b"\x00",
        b"\n",
        b" ",
        b"\"sequence\"",
        b"18446744073709551616",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    let mut sound = 0;
    for round in 0..20_000 {
        let mut line: Vec<u8> = if round % 3 == 0 { Vec::new() } else { vector[..vector.len() / 2].to_vec() };
        for _ in 0..1 + random(12) {
            let at = random(line.len() + 1);
            let until = (at + random(4)).min(line.len());
            line.splice(at..until, pieces[random(pieces.len())].iter().copied());
        }
        sound += usize::from(bulkhead_ledger::record::judge(&line, &rules).fault.is_none());
    }
    assert!(sound < 100, "{sound} of what was mangled at random passed");
}
