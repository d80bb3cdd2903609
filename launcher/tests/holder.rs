//! Whatever a taken-over worker-audit asks of who holds the ledger's directory, in whatever order: nothing that stands changes.
//! Trust: the test plays the worker; requests are drawn at random, near what is allowed.
#![cfg(target_os = "linux")]

use bulkhead_ipc::{
    codec,
    edge::{
        FileId,
        ledger::{FromHolder, MAX_DESCRIPTORS, MAX_PACKET, Segment, ToHolder},
    },
};
use bulkhead_launcher::{Holder, Over};
use bulkhead_ledger::{
    append::{Appender, Settings, SystemHost, disk},
    event::{Approval, Event, Outcome, Risk},
    limits::{KEEP_SEGMENTS, ROTATE_AT},
    names::{self, Kind, SegmentName},
};
use bulkhead_sandbox::handover;
use std::{
    collections::BTreeMap,
    fs,
    os::fd::{AsFd as _, OwnedFd},
    path::{Path, PathBuf},
};

/// Requests of one attack.
const REQUESTS: usize = 1_500;

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

/// As many segments as are kept, and an active file that is full.
fn ledger(at: &Path) -> PathBuf {
    let path = at.join("audit/mcp.jsonl");
    let event = |length: usize| Event {
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
    };
    let fill = |rotate_at: u64, count: usize, length: usize| {
        let settings = Settings { rotate_at, ..Settings::default() };
        let directory = disk::open_directory(&path).expect("it is ours");
        let (mut appender, _) = Appender::open(directory, SystemHost, settings).expect("a sound ledger");
        for _ in 0..count {
            appender.append(&[event(length)]).expect("there is room");
        }
    };
    fill(1, KEEP_SEGMENTS + 1, 10);
    fill(ROTATE_AT, 20, 200_000);
    path
}

/// Every file of the directory, by its name.
fn files(ledger: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(ledger.parent().expect("it has one")).expect("it is there").flatten();
    let named = |entry: fs::DirEntry| (entry.file_name().into_string().expect("UTF-8"), fs::read(entry.path()));
    entries.map(named).map(|(name, bytes)| (name, bytes.expect("a file"))).collect()
}

fn request(dice: &mut Dice, active: FileId, segments: &[SegmentName], length: u64) -> ToHolder {
    let near = |dice: &mut Dice, number: u64| match dice.below(4) {
        0 => number.saturating_sub(dice.below(3) as u64),
        1 => number.saturating_add(dice.below(3) as u64),
        2 => dice.one(&[0, 1, u64::MAX, u64::MAX - 1, ROTATE_AT]),
        _ => number,
    };
    let odd = |dice: &mut Dice, (first, last, id): (u64, u64, String)| match dice.below(2) {
        0 => Segment { first, last, id },
        _ => Segment {
            first: near(dice, first),
            last: near(dice, last),
            id: dice.one(&[id, "../x".into(), String::new(), "00000000-0000-4000-8000-000000000000".into()]),
        },
    };
    let segment = |dice: &mut Dice| {
        let known = dice.one(segments);
        odd(dice, (known.first, known.last, known.id.to_string()))
    };
    let next = |dice: &mut Dice| {
        let newest = segments.last().map_or(0, |newest| newest.last);
        odd(dice, (newest + 1, newest + 20, "00000000-0000-4000-8000-000000000001".into()))
    };
    let file = |dice: &mut Dice| match dice.below(3) {
        0 => FileId { dev: active.dev, ino: near(dice, active.ino) },
        _ => active,
    };
    let name = |dice: &mut Dice| {
        let next = dice.one(segments).last + 1;
        let names = [
            format!("mcp.jsonl.checkpoint-{next:020}-00000000-0000-4000-8000-000000000000.json"),
            "mcp.jsonl".into(),
            "mcp.jsonl.lock".into(),
            "../audit/mcp.jsonl".into(),
            "mcp.jsonl.checkpoint-/../mcp.jsonl".into(),
            "mcp.jsonl.checkpoint-x".into(),
            "/etc/passwd".into(),
            "\0".into(),
            dice.one(segments).file_name("mcp.jsonl"),
        ];
        dice.one(&names)
    };
    match dice.below(11) {
        0 => ToHolder::Lock,
        1 => ToHolder::Active,
        2 => ToHolder::OpenActive,
        3 => ToHolder::List,
        4 => ToHolder::OpenSegment(segment(dice)),
        5 => ToHolder::ReadCheckpoint(name(dice)),
        6 => ToHolder::Rename { file: file(dice), to: next(dice) },
        7 => {
            ToHolder::Cut { file: file(dice), from: near(dice, length), to: near(dice, length.saturating_sub(200_900)) }
        }
        8 => {
            let next = near(dice, after_oldest(segments));
            let content = vec![b'x'; dice.one(&[0, 10, 16 * 1024, 16 * 1024 + 1])];
            ToHolder::WriteCheckpoint {
                next,
                id: dice.one(&["00000000-0000-4000-8000-000000000000".into(), "../x".into()]),
                content,
            }
        }
        9 => ToHolder::RemoveSegment(segment(dice)),
        _ => ToHolder::RemoveCheckpoint(name(dice)),
    }
}

/// The first sequence after the oldest segment.
fn after_oldest(segments: &[SegmentName]) -> u64 {
    segments.first().map_or(1, |oldest| oldest.last + 1)
}

fn segments(files: &BTreeMap<String, Vec<u8>>) -> Vec<SegmentName> {
    let names = files.keys().filter_map(|name| match names::kind("mcp.jsonl", name) {
        Kind::Segment(segment) => Some(segment),
        _ => None,
    });
    let mut segments: Vec<SegmentName> = names.collect();
    segments.sort_unstable();
    segments
}

#[test]
fn requests_at_random_change_nothing_that_stands() {
    for seed in [0x9e37_79b9_7f4a_7c15, 0x0123_4567_89ab_cdef, 0xdead_beef_0bad_cafe] {
        let keep = tempfile::tempdir().expect("a directory");
        let path = ledger(&keep.path().canonicalize().expect("it is there"));
        let outside = files_outside(keep.path());
        let before = files(&path);
        assert_eq!(segments(&before).len(), KEEP_SEGMENTS);
        let (ours, theirs) = handover::pair().expect("a pair");
        let mut holder = Holder::new(ours, Some(path.clone())).expect("a socket");
        let mut dice = Dice(seed);
        let ask = |holder: &mut Holder, request: &ToHolder| -> (FromHolder, Vec<OwnedFd>) {
            handover::send(theirs.as_fd(), &codec::encode(request).expect("small"), &[]).expect("there is room");
            assert_eq!(holder.serve(), Ok(()), "{request:?}");
            let mut packet = vec![0; MAX_PACKET];
            let (length, fds) = handover::receive(theirs.as_fd(), &mut packet, MAX_DESCRIPTORS).expect("an answer");
            (codec::decode(&packet[..length]).expect("the product's own"), fds)
        };
        let (mut renamed, mut removed) = (0, 0);
        for _ in 0..REQUESTS {
            let (FromHolder::Opened(active), _) = ask(&mut holder, &ToHolder::OpenActive) else { panic!("not opened") };
            let now = files_names(&path);
            let request = request(&mut dice, active, &segments(&now), length(&path));
            let (answer, _) = ask(&mut holder, &request);
            if answer == FromHolder::Done {
                removed += usize::from(matches!(request, ToHolder::RemoveSegment(_)));
                renamed += usize::from(matches!(request, ToHolder::Rename { .. }));
            }
        }
        assert_eq!((renamed, removed), (1, 1), "there was one full file, and it made one segment expendable");
        let after = files(&path);
        // what stood there stands, under its name or as a segment; the oldest may have given way to a full file
        let holds = |bytes: &Vec<u8>| after.values().any(|there| there == bytes);
        let gone: Vec<_> = before.iter().filter(|(_, bytes)| !holds(bytes)).collect();
        let oldest = segments(&before)[0].file_name("mcp.jsonl");
        let checkpoint = |name: &str| names::kind("mcp.jsonl", name) == Kind::Checkpoint;
        for (name, _) in gone {
            assert!(*name == oldest || checkpoint(name), "{name} is gone or has changed");
        }
        assert_eq!(segments(&after).len(), KEEP_SEGMENTS);
        assert_eq!(files_outside(keep.path()), outside, "and nothing was made elsewhere");
    }
}

/// Names alone.
fn files_names(ledger: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(ledger.parent().expect("it has one")).expect("it is there").flatten();
    entries.map(|entry| (entry.file_name().into_string().expect("UTF-8"), Vec::new())).collect()
}

fn length(ledger: &Path) -> u64 {
    fs::metadata(ledger).map_or(0, |facts| facts.len())
}

fn files_outside(base: &Path) -> Vec<String> {
    let entries = fs::read_dir(base).expect("it is there").flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn bytes_at_random_end_it_or_are_a_request() {
    let keep = tempfile::tempdir().expect("a directory");
    let path = keep.path().canonicalize().expect("it is there").join("audit/mcp.jsonl");
    let mut dice = Dice(0x5eed_5eed_5eed_5eed);
    let mut broken = 0;
    for _ in 0..3_000 {
        let (ours, theirs) = handover::pair().expect("a pair");
        let mut holder = Holder::new(ours, Some(path.clone())).expect("a socket");
        let length = 1 + dice.below(60);
        let mut packet: Vec<u8> = (0..length).map(|_| dice.below(256) as u8).collect();
        // most begin like a request
        if dice.below(4) > 0 {
            packet[0] = dice.below(12) as u8;
        }
        handover::send(theirs.as_fd(), &packet, &[]).expect("there is room");
        broken += usize::from(holder.serve() == Err(Over::Broken));
    }
    assert!(broken > 1_000, "{broken}");
    // longer than any request
    let (ours, theirs) = handover::pair().expect("a pair");
    let mut holder = Holder::new(ours, Some(path.clone())).expect("a socket");
    handover::send(theirs.as_fd(), &vec![0; MAX_PACKET + 1], &[]).expect("there is room");
    assert_eq!(holder.serve(), Err(Over::Broken));
    // with a descriptor
    let (ours, theirs) = handover::pair().expect("a pair");
    let mut holder = Holder::new(ours, Some(path)).expect("a socket");
    handover::send(theirs.as_fd(), &codec::encode(&ToHolder::List).expect("small"), &[theirs.as_fd()]).expect("room");
    assert_eq!(holder.serve(), Err(Over::Broken));
}
