//! Writers that are killed at any instant, two on one ledger: what they acknowledged is there, and the ledger verifies.
//! Trust: runs this very test program as its own children, and kills those.

use crate::support::{events, open_at, private_directory, signed, strict, verify_at};
use bulkhead_ledger::{append::Settings, record::verify_entry};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

const LEDGER: &str = "BULKHEAD_TEST_LEDGER";
const SEED: &str = "BULKHEAD_TEST_SEED";

fn settings() -> Settings {
    Settings { rotate_at: 64 * 1024, lock_wait: Duration::from_secs(60), ..signed() }
}

#[test]
#[ignore = "the child of the test below, which starts it"]
fn child_appends_and_says_what_was_acknowledged() {
    let (Ok(path), Ok(seed)) = (std::env::var(LEDGER), std::env::var(SEED)) else { return };
    let mut appender = open_at(Path::new(&path), settings(), seed.parse().expect("a number"));
    let mut said = std::io::stdout();
    // the parent ends it long before
    for group in 0..2_000 {
        let appended = appender.append(&events(group * 7..group * 7 + 1 + group % 7)).expect("appended");
        for ack in appended.results.into_iter().flatten() {
            writeln!(said, "ack {} {}", ack.sequence, ack.hash).expect("the parent listens");
        }
    }
}

fn start(path: &Path, seed: u64) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "killed::child_appends_and_says_what_was_acknowledged", "--ignored", "--nocapture"])
        .env(LEDGER, path)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts")
}

/// Lets a child work for a while, kills it, and takes down what it said.
fn kill_after(mut child: Child, acks: u64) -> Vec<(u64, String)> {
    let mut said = BufReader::new(child.stdout.take().expect("piped"));
    let mut heard = Vec::new();
    let mut line = String::new();
    let mut hear = |said: &mut BufReader<_>, heard: &mut Vec<(u64, String)>| {
        line.clear();
        let read = said.read_line(&mut line).expect("a pipe");
        // a line that was torn by the kill says nothing
        if let Some((sequence, hash)) =
            line.strip_suffix('\n').and_then(|line| line.strip_prefix("ack ")?.split_once(' '))
        {
            heard.push((sequence.parse().expect("a number"), hash.to_owned()));
        }
        read > 0
    };
    while (heard.len() as u64) < acks && hear(&mut said, &mut heard) {}
    thread::sleep(Duration::from_micros(acks * 137 % 3000));
    child.kill().expect("it is there");
    child.wait().expect("it ends");
    while hear(&mut said, &mut heard) {}
    heard
}

#[test]
fn killed_writers_lose_nothing_that_they_acknowledged() {
    let base = private_directory();
    let path = base.path().join("run").join("audit.jsonl");
    let mut acks: BTreeMap<u64, String> = BTreeMap::new();
    for round in 0..6_u64 {
        let heard = thread::scope(|scope| {
            let writers = [1, 2].map(|writer| {
                let child = start(&path, round * 2 + writer);
                scope.spawn(move || kill_after(child, 5 + round * 11 + writer * 3))
            });
            writers.map(|writer| writer.join().expect("it ends")).concat()
        });
        for (sequence, hash) in heard {
            assert_eq!(acks.insert(sequence, hash), None, "sequence {sequence} was acknowledged twice");
        }
        // the next start mends what was torn
        let mut next = open_at(&path, settings(), 100 + round);
        let appended = next.append(&events(0..1)).expect("appended");
        let ack = appended.results.into_iter().flatten().next().expect("recorded");
        acks.insert(ack.sequence, ack.hash.to_string());
        let report = verify_at(&path, &strict());
        assert!(report.is_sound(), "round {round}: {:?}", report.findings);
        let mut there: BTreeMap<u64, String> = BTreeMap::new();
        for entry in fs::read_dir(path.parent().expect("it has one")).expect("readable") {
            let file = entry.expect("an entry").path();
            let name = file.file_name().expect("a name").to_string_lossy().into_owned();
            if name.contains("checkpoint") {
                continue;
            }
            for line in fs::read(&file).expect("readable").split_inclusive(|byte| *byte == b'\n') {
                let (chained, _) = verify_entry(line, &strict().rules).expect("sound");
                there.insert(chained.sequence, chained.stated.to_string());
            }
        }
        for (sequence, hash) in acks.range(report.first..) {
            assert_eq!(there.get(sequence), Some(hash), "round {round}: {sequence} was acknowledged");
        }
    }
    assert!(acks.len() > 200, "{}", acks.len());
}
