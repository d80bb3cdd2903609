//! The jailed worker, killed before each of its system calls: the ledger goes on, verifies, and holds what was acknowledged.
//! Trust: `strace` kills the worker as its parent; the test plays launcher and supervisor.

use crate::{
    rotation,
    support::{
        Place,
        auditor::{Auditor, event},
        slow, unmet,
    },
    world::utf8,
};
use bulkhead_ipc::edge::audit::Known;
use bulkhead_ledger::{
    key::{Keys, PublicKey},
    limits::KEEP_SEGMENTS,
    record::{Rules, verify_entry},
    verify::{Options, verify_path},
};
use bulkhead_worker_audit::keys;
use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
};

/// Kills of a run that is to take seconds.
const KILLS: usize = 16;
/// Groups that the worker is given, each of this many events; the file has room for some of them.
const GROUPS: [u64; 5] = [1, 1, 2, 3, 1];

/// What an entry holds that fills the file.
const FILLER: &str = "\"tool\":\"filler\"";

/// A signed ledger whose next rotation also prunes, with a torn last line.
struct Template {
    place: Place,
    ledger: PathBuf,
    public: PublicKey,
}

impl Template {
    fn new() -> Self {
        let place = Place::new();
        let ledger = place.at("template/mcp.jsonl");
        let made = keys::init(&ledger).expect("a key");
        rotation::fill(&ledger, &made.key, 1, 3_500);
        let mut content = fs::read(&ledger).expect("it was filled");
        content.extend_from_slice(b"{\"approval\":\"not_requ");
        fs::write(&ledger, content).expect("ours");
        let public = fs::read_to_string(&made.public).expect("it was made");
        let public = PublicKey::from_pem(&public).expect("it was made");
        // the key of fingerprints is made by the first worker
        Self { place, ledger, public }
    }

    /// A copy; of segments, which nobody writes, only the names.
    fn copy(&self, number: usize) -> PathBuf {
        let to = self.place.at(format!("{number}"));
        fs::create_dir(&to).expect("ours");
        fs::set_permissions(&to, std::os::unix::fs::PermissionsExt::from_mode(0o700)).expect("ours");
        for entry in fs::read_dir(self.ledger.parent().expect("it has one")).expect("ours").flatten() {
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            let is_segment = entry.file_name().to_string_lossy().contains(".segment-");
            if is_segment {
                fs::hard_link(from, to).expect("ours")
            } else {
                fs::copy(from, to).map(drop).expect("ours")
            }
        }
        to.join("mcp.jsonl")
    }

    /// The entries that workers wrote in a ledger that verifies strictly, by their sequence.
    fn entries(&self, ledger: &Path, what: &str) -> BTreeMap<u64, [u8; 32]> {
        let keys = Keys::new(vec![self.public.clone()]).expect("one key");
        let rules = Rules { keys, strict: true };
        let report = verify_path(ledger, &Options { rules: rules.clone(), ..Options::default() }, &mut |_, _| {});
        assert!(report.is_sound(), "{what}: {:?}", report.findings);
        let mut entries = BTreeMap::new();
        for entry in fs::read_dir(ledger.parent().expect("it has one")).expect("ours").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "mcp.jsonl" || name.contains(".segment-") {
                let content = fs::read(entry.path()).expect("ours");
                // what fills the file was there before, and takes long to be taken apart
                let own = |line: &&[u8]| line.len() < 10_000 && !String::from_utf8_lossy(line).contains(FILLER);
                for line in content.split_inclusive(|byte| *byte == b'\n').filter(own) {
                    let (chained, _) = verify_entry(line, &rules).expect("the whole verifies");
                    entries.insert(chained.sequence, chained.stated.0);
                }
            }
        }
        entries
    }
}

/// Lets a worker work until it is done or killed; what it acknowledged last, if anything, and how many groups.
fn work(ledger: &Path, tracer: &[String]) -> (Option<Known>, usize) {
    let mut auditor = Auditor::start(env!("CARGO_BIN_EXE_bulkhead"), ledger, tracer);
    let mut known = None;
    let mut groups = 0;
    if auditor.open(None).is_ok() {
        for (group, events) in (1..).zip(GROUPS) {
            let Some(standing) = auditor.append(group, (1..=events).map(event).collect()) else { break };
            known = standing.last;
            groups += 1;
        }
    }
    auditor.end();
    (known, groups)
}

fn tracer(log: &Path, further: &[&str]) -> Vec<String> {
    let words = ["strace", "-qq", "-o", utf8(log)].into_iter().chain(further.iter().copied());
    words.map(str::to_owned).collect()
}

/// The calls that a worker makes, in order, each with how often it was made by then; from the `Ready` on, or all of them.
fn calls(log: &str, all: bool) -> Vec<(String, u32)> {
    let mut counts: HashMap<&str, u32> = HashMap::new();
    let mut ready = all;
    let mut calls = Vec::new();
    for line in log.lines() {
        let Some((name, rest)) = line.split_once('(') else { continue };
        let count = counts.entry(name).or_default();
        *count += 1;
        // the first execution is the tracer's own doing
        if ready && name != "execve" {
            calls.push((name.to_owned(), *count));
        }
        ready |= name.starts_with("write") && rest.starts_with("4,");
    }
    calls
}

#[test]
fn killed_before_any_system_call_it_loses_nothing_that_it_acknowledged() {
    if !unmet::has_program("strace") {
        return;
    }
    let template = Template::new();
    let log = template.place.at("strace.log");
    let whole = template.copy(0);
    let (known, groups) = work(&whole, &tracer(&log, &[]));
    if known.is_none() {
        unmet::unmet("the right to trace a process");
        return;
    }
    assert_eq!(groups, GROUPS.len(), "nothing is killed, everything is acknowledged");
    assert_eq!(template.entries(&whole, "no kill").len() as u64, GROUPS.iter().sum::<u64>());
    let after = rotation::segments(&whole);
    assert_eq!(after.len(), KEEP_SEGMENTS);
    assert_eq!(
        after[..KEEP_SEGMENTS - 1],
        rotation::segments(&template.ledger)[1..],
        "it rotated, and the oldest gave way"
    );

    let text = fs::read_to_string(&log).expect("strace wrote it");
    let calls = calls(&text, slow());
    assert!(calls.len() > 2 * KILLS, "{calls:?}");
    let chosen: Vec<usize> = match slow() {
        true => (0..calls.len()).collect(),
        false => (0..KILLS).map(|at| at * calls.len() / KILLS).collect(),
    };
    let mut acknowledged = vec![0; GROUPS.len() + 1];
    for at in chosen {
        let (name, count) = &calls[at];
        let what = format!("before call {at}, {name} number {count}");
        let ledger = template.copy(at + 1);
        let inject = format!("inject={name}:signal=SIGKILL:when={count}");
        let (known, groups) = work(&ledger, &tracer(&log, &["-e", &format!("trace={name}"), "-e", &inject]));
        acknowledged[groups] += 1;
        // the next worker is told what was acknowledged, as a supervisor would
        let mut next = Auditor::start(env!("CARGO_BIN_EXE_bulkhead"), &ledger, &[]);
        next.open(known.clone()).unwrap_or_else(|fault| panic!("{what}: {fault}"));
        let standing = next.append(1, vec![event(1)]).unwrap_or_else(|| panic!("{what}: it ended"));
        next.end();
        let entries = template.entries(&ledger, &what);
        for known in known.into_iter().chain(standing.last) {
            assert_eq!(entries.get(&known.sequence), Some(&known.hash), "{what}: entry {}", known.sequence);
        }
        fs::remove_dir_all(ledger.parent().expect("it has one")).expect("ours");
    }
    assert!(acknowledged.iter().take(GROUPS.len()).filter(|kills| **kills > 0).count() > 2, "{acknowledged:?}");
    if slow() {
        eprintln!("killed before each of {} calls; by groups acknowledged: {acknowledged:?}", calls.len());
    }
}
