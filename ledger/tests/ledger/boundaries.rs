//! A writer on real files, killed before each of its system calls: it is the same code that holds a directory for a jailed one.
//! Trust: runs this very test program under `strace`, which kills it.

use crate::support::{event, events, open_at, private_directory, signed, strict, verify_at};
use bulkhead_ledger::{append::Settings, record::verify_entry};
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const LEDGER: &str = "BULKHEAD_TEST_LEDGER";
/// Kills of a run that is to take seconds.
const KILLS: usize = 40;

fn settings() -> Settings {
    Settings { rotate_at: 2200, ..signed() }
}

#[test]
#[ignore = "the child of the test below, which starts it"]
fn child_mends_rotates_and_prunes() {
    use std::io::Write as _;
    let Ok(path) = std::env::var(LEDGER) else { return };
    let mut said = std::io::stdout();
    writeln!(said, "begin").expect("the parent listens");
    let mut appender = open_at(Path::new(&path), settings(), 7);
    for group in [1..2, 2..3, 3..6, 6..7] {
        let appended = appender.append(&events(group)).expect("appended");
        for ack in appended.results.into_iter().flatten() {
            writeln!(said, "ack {} {}", ack.sequence, ack.hash).expect("the parent listens");
        }
    }
}

/// Runs the child under strace; what it said that it acknowledged.
fn run(ledger: &Path, log: &Path, further: &[&str]) -> BTreeMap<u64, String> {
    let output = Command::new("strace")
        .args(["-f", "-qq", "-o"])
        .arg(log)
        .args(further)
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "boundaries::child_mends_rotates_and_prunes"])
        .args(["--ignored", "--nocapture", "--test-threads=1"])
        .env(LEDGER, ledger)
        .stderr(Stdio::null())
        .output()
        .expect("strace is there");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let acks = said.split_inclusive('\n').filter_map(|line| {
        let (sequence, hash) = line.strip_suffix('\n')?.strip_prefix("ack ")?.split_once(' ')?;
        Some((sequence.parse().expect("a number"), hash.to_owned()))
    });
    acks.collect()
}

/// Three segments, an active file that is full, and a torn line in it.
fn template(base: &Path) -> PathBuf {
    let ledger = base.join("template").join("audit.jsonl");
    open_at(&ledger, settings(), 1).append(&events(1..9)).expect("appended");
    let torn = [fs::read(&ledger).expect("ours"), b"{\"approval\":\"not".to_vec()].concat();
    fs::write(&ledger, torn).expect("ours");
    ledger
}

fn copy(template: &Path, to: &Path) -> PathBuf {
    fs::create_dir(to).expect("ours");
    fs::set_permissions(to, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("ours");
    for entry in fs::read_dir(template.parent().expect("it has one")).expect("ours").flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).expect("ours");
    }
    to.join("audit.jsonl")
}

/// Goes on after a kill, verifies, and gives all entries.
fn recovered(ledger: &Path, what: &str) -> BTreeMap<u64, String> {
    let mut next = open_at(ledger, settings(), 9);
    let appended = next.append(&[event(100)]).unwrap_or_else(|fault| panic!("{what}: {fault}"));
    assert!(appended.results[0].is_ok(), "{what}: {:?}", appended.results);
    let report = verify_at(ledger, &strict());
    assert!(report.is_sound(), "{what}: {:?}", report.findings);
    let mut entries = BTreeMap::new();
    for entry in fs::read_dir(ledger.parent().expect("it has one")).expect("ours").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "audit.jsonl" || name.contains(".segment-") {
            for line in fs::read(entry.path()).expect("ours").split_inclusive(|byte| *byte == b'\n') {
                let (chained, _) = verify_entry(line, &strict().rules).expect("the whole verifies");
                entries.insert(chained.sequence, chained.stated.to_string());
            }
        }
    }
    entries
}

/// The calls from `begin` on of the thread that says it, each with how often that thread had made it by then.
fn calls(log: &str) -> Vec<(String, u32)> {
    let mut counts: HashMap<(&str, &str), u32> = HashMap::new();
    let mut begun = None;
    let mut calls = Vec::new();
    for line in log.lines() {
        let Some((pid, call)) = line.split_once(char::is_whitespace) else { continue };
        let Some((name, rest)) = call.trim_start().split_once('(') else { continue };
        let count = counts.entry((pid, name)).or_default();
        *count += 1;
        if begun == Some(pid) {
            calls.push((name.to_owned(), *count));
        } else if name == "write" && rest.contains("begin") {
            begun = Some(pid);
        }
    }
    calls
}

#[test]
fn killed_before_any_system_call_it_loses_nothing_that_it_acknowledged() {
    let base = private_directory();
    let can_trace = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status();
    if !can_trace.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: this machine lacks strace, or the right to trace a process");
        return;
    }
    let slow = std::env::var_os("BULKHEAD_SLOW").is_some_and(|value| value == "1");
    let template = template(base.path());
    let log = base.path().join("strace.log");
    let whole = copy(&template, &base.path().join("whole"));
    assert_eq!(run(&whole, &log, &[]).len(), 6, "nothing is killed, everything is acknowledged");
    let text = fs::read_to_string(&log).expect("strace wrote it");
    for step in ["ftruncate", "rename", "unlink", "fdatasync", "flock"] {
        assert!(text.contains(&format!(" {step}(")), "{step} is among the calls");
    }
    let calls = calls(&text);
    assert!(calls.len() > 2 * KILLS, "{calls:?}");
    let chosen = if slow { calls.len() } else { KILLS };
    let mut killed = 0;
    for at in (0..chosen).map(|at| at * calls.len() / chosen) {
        let (name, count) = &calls[at];
        let what = format!("before call {at}, {name} number {count}");
        let ledger = copy(&template, &base.path().join(format!("{at}")));
        let inject = format!("inject={name}:signal=SIGKILL:when={count}");
        let acks = run(&ledger, &log, &["-e", &format!("trace={name}"), "-e", &inject]);
        killed += usize::from(acks.len() < 6);
        let entries = recovered(&ledger, &what);
        let first = *entries.keys().next().expect("entries");
        for (sequence, hash) in acks.range(first..) {
            assert_eq!(entries.get(sequence), Some(hash), "{what}: entry {sequence}");
        }
        fs::remove_dir_all(ledger.parent().expect("it has one")).expect("ours");
    }
    assert!(killed * 2 > chosen, "{killed} of {chosen} runs were cut short");
    if slow {
        eprintln!("killed before each of {} calls, {killed} times before the last acknowledgement", calls.len());
    }
}
