//! Rotation and retention as the jailed worker does them: the next file is handed over, the oldest segment gives way.
//! Trust: test code fills the ledger by the library that the worker uses, too.

use crate::world::{World, utf8};
use bulkhead_ledger::{
    append::{Appender, Settings, SystemHost, disk},
    event::{Approval, Event, Outcome, Risk},
    key_file,
    limits::{KEEP_SEGMENTS, ROTATE_AT},
};
use std::{fs, path::Path};

/// Bytes of one long entry's text.
const LONG: usize = 200_000;

/// An event with so many bytes of filling.
fn event_of(length: usize) -> Event {
    Event {
        event_type: "tool_call".into(),
        tool: "filler".into(),
        risk: Risk::None,
        approval: Approval::NotRequired,
        result: Outcome::Success,
        repo_scope: "unknown".into(),
        args_fingerprint: None,
        session_id: "filler".into(),
        duration_ms: 0,
        summary: "long".into(),
        read_only: true,
        timestamp: 1,
        further: [("filling".to_owned(), "x".repeat(length).into())].into_iter().collect(),
    }
}

/// Segments beside the ledger.
pub fn segments(ledger: &Path) -> Vec<String> {
    let entries = fs::read_dir(ledger.parent().expect("it has one")).expect("it is there");
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.contains(".segment-")).collect();
    names.sort();
    names
}

/// Fills a ledger until no more segments are kept, which are rotated at so many bytes, and some `room` bytes are left in
/// the active file.
pub fn fill(ledger: &Path, key: &Path, rotate_at: u64, room: u64) {
    let open = |rotate_at| {
        let key = key_file::load(key).expect("just made");
        let directory = disk::open_directory(ledger).expect("it is there");
        let settings = Settings { key: Some(key), rotate_at, ..Settings::default() };
        Appender::open(directory, SystemHost, settings).expect("a sound ledger").0
    };
    let append = |appender: &mut Appender<_, _>, length| {
        let appended = appender.append(&[event_of(length)]).expect("there is room");
        assert!(appended.results.iter().all(Result::is_ok));
    };
    let mut appender = open(rotate_at);
    while segments(ledger).len() < KEEP_SEGMENTS {
        append(&mut appender, LONG);
    }
    let mut appender = open(ROTATE_AT);
    let left = || ROTATE_AT - fs::metadata(ledger).expect("it is there").len();
    while left() > room.max(LONG as u64) {
        append(&mut appender, LONG);
    }
    if left() > room {
        // an entry is longer than its filling
        append(&mut appender, (left() - room) as usize);
    }
}

#[test]
fn the_next_file_is_handed_over_and_the_oldest_segment_gives_way_to_a_checkpoint() {
    let world = World::new();
    world.init();
    let ledger = world.ledger();
    fill(&ledger, &world.beside(".signing-key.pem"), ROTATE_AT, LONG as u64);
    // the last of the room is taken by calls of a server, whose worker may open nothing
    let before = segments(&ledger);
    assert_eq!(before.len(), KEEP_SEGMENTS);
    let mut server = world.server(&["--audit", "required"]);
    let mut calls = 0;
    while segments(&ledger) == before {
        world.read(&mut server);
        calls += 1;
        assert!(calls < 2_000, "the file is never rotated");
    }
    for _ in 0..3 {
        world.read(&mut server);
        calls += 1;
    }
    assert!(server.finish().status.success());
    let after = segments(&ledger);
    assert_eq!(after.len(), KEEP_SEGMENTS, "no more are kept: {after:?}");
    assert_eq!(after[..KEEP_SEGMENTS - 1], before[1..], "the oldest gave way");
    let (code, text) = world.verify(&[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("retention_checkpoint_used: true"), "{text}");
    let exported = world.run(&["audit", "export", "--json", "--tool", "repo.status"]);
    let rows = String::from_utf8_lossy(&exported.stdout).lines().count();
    assert_eq!(rows, calls, "every call is there, across the rotation in {}", utf8(&ledger));
}
