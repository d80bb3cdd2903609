//! Figures of the ledger: what an append costs when little and when much is retained, how many durable entries a group
//! commit makes, how fast a ledger is verified and in how much memory.
//! Trust: makes its own ledgers in a temporary directory. Prints figures and never fails on one.
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use bulkhead_ledger::{
    append::{
        Appender, Settings, SystemHost,
        disk::{DiskDirectory, open_directory},
    },
    event::{Approval, Event, Outcome, Risk},
    key::{Keys, PrivateKey},
    names::{self, SegmentName},
    record::Rules,
    verify::{Options, Snapshot, SnapshotFile, verify, verify_path},
};
use serde_json::Map;
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// Appends of one measurement; the two ledgers take turns, so that both see the same weather.
const ROUNDS: usize = 300;

fn key() -> PrivateKey {
    PrivateKey::from_seed(&[7; 32].into())
}

fn event(number: u64) -> Event {
    Event {
        event_type: "tool_call".into(),
        tool: "repo.status".into(),
        risk: Risk::None,
        approval: Approval::NotRequired,
        result: Outcome::Success,
        repo_scope: format!("repoPath:sha256:{}", "0".repeat(64)),
        args_fingerprint: Some(format!("sha256:{}", "1".repeat(64))),
        session_id: "bench".into(),
        duration_ms: 1,
        summary: format!("event {number}"),
        read_only: true,
        timestamp: 1_750_000_000_000 + number,
        further: Map::new(),
    }
}

fn open(path: &Path) -> Appender<DiskDirectory, SystemHost> {
    let directory = open_directory(path).expect("a private directory");
    let settings = Settings { key: Some(key()), ..Settings::default() };
    Appender::open(directory, SystemHost, settings).expect("a sound ledger").0
}

/// Appends groups until no more is kept: four full segments and nearly a fifth.
fn fill(path: &Path) {
    let mut appender = open(path);
    let group: Vec<Event> = (0..500).map(event).collect();
    let directory = path.parent().expect("it has one");
    loop {
        appender.append(&group).expect("appended");
        let names = std::fs::read_dir(directory).expect("readable").flatten();
        let segments = names.filter(|entry| entry.file_name().to_string_lossy().contains(".segment-")).count();
        if segments == 4 && std::fs::metadata(path).expect("facts").len() > 3 * 1024 * 1024 {
            return;
        }
    }
}

/// Segments of a ledger as long as retention never lets one get: each gets a second name before it is deleted.
fn long(path: &Path, kept: &Path, segments: usize) -> Snapshot {
    let mut appender = open(path);
    let group: Vec<Event> = (0..500).map(event).collect();
    let (directory, name) = (path.parent().expect("it has one"), "audit.jsonl");
    std::fs::create_dir_all(kept).expect("made");
    let mut names = std::collections::BTreeSet::new();
    while names.len() < segments {
        appender.append(&group).expect("appended");
        for entry in std::fs::read_dir(directory).expect("readable").flatten() {
            let file = entry.file_name().to_string_lossy().into_owned();
            if let names::Kind::Segment(segment) = names::kind(name, &file)
                && names.insert(segment)
            {
                std::fs::hard_link(entry.path(), kept.join(segment.to_string())).expect("linked");
            }
        }
    }
    let open = |segment: &SegmentName| {
        let file = std::fs::File::open(kept.join(segment.to_string())).expect("it is kept");
        let length = file.metadata().expect("facts").len();
        SnapshotFile { name: Some(*segment), length, reader: Box::new(file) }
    };
    Snapshot { files: names.iter().map(open).collect(), ..Snapshot::default() }
}

fn bytes_beside(path: &Path) -> u64 {
    let entries = std::fs::read_dir(path.parent().expect("it has one")).expect("readable").flatten();
    entries.map(|entry| entry.metadata().map_or(0, |facts| facts.len())).sum()
}

fn percentile(times: &mut [Duration], hundredth: usize) -> f64 {
    times.sort_unstable();
    times[(times.len() - 1) * hundredth / 100].as_secs_f64() * 1e3
}

/// Resident memory in KiB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Seconds of processor time of all threads, where the system tells; it counts in hundredths.
fn processor_time() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|ticks| ticks.parse::<f64>().ok());
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

fn main() {
    let base = tempfile::tempdir().expect("a directory");
    let at = |name: &str| base.path().join(name).join("audit.jsonl");

    let full = at("full");
    fill(&full);
    println!("retained in the full ledger: {:.1} MiB", bytes_beside(&full) as f64 / 1_048_576.0);

    // verification first, so that its memory is what the process peaks at
    let rules = Rules { keys: Keys::new(vec![key().public()]).expect("one key"), strict: true };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for threads in [1, cores] {
        let options = Options { rules: rules.clone(), threads, ..Options::default() };
        let (begin, before) = (Instant::now(), processor_time());
        let report = verify_path(&full, &options, &mut |_, _| {});
        let seconds = begin.elapsed().as_secs_f64();
        assert!(report.is_sound(), "{:?}", report.findings);
        let rate = report.entries as f64 / seconds;
        println!(
            "verify, strict, {threads} thread(s): {} entries in {seconds:.2} s, {rate:.0} a second",
            report.entries
        );
        if let Some(busy) = processor_time().zip(before).map(|(after, before)| after - before) {
            // on a machine that does other work as well, the wall clock says less than this
            println!("    {busy:.2} s of processor time, {:.0} a second and core", report.entries as f64 / busy);
        }
    }
    let snapshot = long(&at("long"), &base.path().join("kept"), 52);
    let length: u64 = snapshot.files.iter().map(|file| file.length).sum();
    let begin = Instant::now();
    let report = verify(snapshot, &Options { rules, ..Options::default() }, &mut |_, _| {});
    assert!(report.is_sound(), "{:?}", report.findings);
    println!(
        "verify, strict, {:.0} MiB: {} entries in {:.2} s",
        length as f64 / 1_048_576.0,
        report.entries,
        begin.elapsed().as_secs_f64()
    );
    if let Some(kib) = peak_memory() {
        println!("peak memory until here: {:.1} MiB", kib as f64 / 1024.0);
    }

    let (mut empty, mut filled) = (open(&at("empty")), open(&full));
    let (mut of_empty, mut of_filled) = (Vec::new(), Vec::new());
    for number in 0..ROUNDS as u64 {
        // a sync pays for what the one before left to the journal, so that neither may always be the second
        let mut pair = [(&mut empty, &mut of_empty), (&mut filled, &mut of_filled)];
        if number % 2 == 1 {
            pair.reverse();
        }
        for (appender, times) in pair {
            let begin = Instant::now();
            let appended = appender.append(&[event(number)]).expect("appended");
            times.push(begin.elapsed());
            assert!(appended.results[0].is_ok());
        }
    }
    let (small, large) = (percentile(&mut of_empty, 50), percentile(&mut of_filled, 50));
    println!("append, durable, empty ledger: p50 {small:.3} ms, p99 {:.3} ms", percentile(&mut of_empty, 99));
    println!("append, durable, full ledger:  p50 {large:.3} ms, p99 {:.3} ms", percentile(&mut of_filled, 99));
    println!("ratio of the medians: {:.2}", large / small);

    for size in [10, 100, 500] {
        let mut appender = open(&at(&format!("group-{size}")));
        let group: Vec<Event> = (0..size).map(event).collect();
        let begin = Instant::now();
        let mut entries = 0;
        while begin.elapsed() < Duration::from_secs(2) {
            entries += appender.append(&group).expect("appended").results.iter().flatten().count();
        }
        let rate = entries as f64 / begin.elapsed().as_secs_f64();
        println!("group commit of {size}: {rate:.0} durable entries a second");
    }

    let path = at("raw");
    std::fs::create_dir_all(path.parent().expect("it has one")).expect("made");
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(&path).expect("opened");
    let mut raw = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        std::io::Write::write_all(&mut file, &[b'x'; 900]).expect("written");
        file.sync_data().expect("synced");
        raw.push(begin.elapsed());
    }
    println!("for comparison, 900 bytes and a sync: p50 {:.3} ms", percentile(&mut raw, 50));
}
