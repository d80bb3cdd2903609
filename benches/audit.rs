//! What recording costs, through the product's own processes: a start, a durable append, a read, many events, a verification.
//! Trust: makes its own ledgers in a temporary directory. `BULKHEAD_BENCH_ROUNDS=N` changes how often.

#[cfg(target_os = "linux")]
#[path = "../tests/support/auditor.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod auditor;
mod support;

#[cfg(target_os = "linux")]
mod linux {
    use crate::{
        auditor::{Auditor, event},
        support::{self, BINARY, Figures, Server, say},
    };
    use bulkhead_ipc::edge::audit::{FromAudit, MAX_EVENTS, ToAudit};
    use bulkhead_ledger::{
        append::{Appender, Settings, SystemHost, disk},
        event::{Approval, Event, Outcome, Risk},
        key_file,
        limits::{KEEP_SEGMENTS, MAX_GROUP, ROTATE_AT},
    };
    use bulkhead_worker_audit::keys;
    use std::{
        fs,
        path::{Path, PathBuf},
        process::{Command, Stdio},
        time::{Duration, Instant},
    };

    /// Rounds in which two things take turns, unless `BULKHEAD_BENCH_ROUNDS` says otherwise.
    const ROUNDS: usize = 300;
    /// Starts of a whole process take longer.
    const STARTS: usize = 40;
    /// How long events are poured into a worker.
    const POURING: Duration = Duration::from_secs(4);
    /// Groups that are under way: as many as the supervisor allows.
    const UNDER_WAY: u64 = 4;

    fn rounds(usual: usize) -> usize {
        std::env::var("BULKHEAD_BENCH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
    }

    pub fn main() {
        let (_keep, root) = support::fixture();
        let base = root.parent().expect("it has one").to_owned();
        let [empty, full] = ["empty", "full"].map(|name| base.join(name).join("mcp.jsonl"));
        keys::init(&empty).expect("a key");
        let made = keys::init(&full).expect("a key");
        fill(&full, &made.key);
        say(&format!("full: {:.1} MiB in {} files, signed", bytes(&full) as f64 / 1_048_576.0, KEEP_SEGMENTS + 1));
        start(&root, &empty, &full);
        append(&empty, &full);
        read(&root, &base);
        pour(&base);
        verify(&full, &made.public);
    }

    /// Fills a ledger with usual entries: four segments, and all but some 400 KiB of the active file.
    fn fill(ledger: &Path, key: &Path) {
        let key = Some(key_file::load(key).expect("just made"));
        let directory = disk::open_directory(ledger).expect("it is there");
        let settings = Settings { key, ..Settings::default() };
        let (mut appender, _) = Appender::open(directory, SystemHost, settings).expect("an empty ledger");
        let group = |length| vec![usual(); length];
        while bytes(ledger) < (KEEP_SEGMENTS as u64 + 1) * ROTATE_AT - 400 * 1024 {
            appender.append(&group(200)).expect("there is room");
        }
    }

    fn usual() -> Event {
        Event {
            event_type: "tool_call".into(),
            tool: "repo.status".into(),
            risk: Risk::None,
            approval: Approval::NotRequired,
            result: Outcome::Success,
            repo_scope: format!("repoPath:hmac-sha256:{}", "0".repeat(64)),
            args_fingerprint: Some(format!("hmac-sha256:{}", "1".repeat(64))),
            session_id: "client:0123456789abcdef".into(),
            duration_ms: 1,
            summary: "answered".into(),
            read_only: true,
            timestamp: 1_750_000_000_000,
            further: serde_json::Map::from_iter([("sessionEvent".to_owned(), 1_000.into())]),
        }
    }

    fn bytes(ledger: &Path) -> u64 {
        let beside = fs::read_dir(ledger.parent().expect("it has one")).expect("it is there").flatten();
        beside.map(|entry| entry.metadata().map_or(0, |facts| facts.len())).sum()
    }

    /// Two things in turns, so that both see the same weather, and neither is always the second.
    fn in_turns(rounds: usize, mut one: impl FnMut(), mut other: impl FnMut()) -> [Figures; 2] {
        let mut figures = [Figures::default(), Figures::default()];
        for round in 0..rounds {
            if round % 2 == 0 {
                figures[0].take(&mut one);
                figures[1].take(&mut other);
            } else {
                figures[1].take(&mut other);
                figures[0].take(&mut one);
            }
        }
        figures
    }

    fn compare(what: [&str; 2], figures: &[Figures; 2]) {
        for (what, figures) in what.iter().zip(figures) {
            say(&format!("{what:<44} {}", figures.line()));
        }
        let [one, other] = figures.each_ref().map(|figures| figures.at(0.5));
        say(&format!("    {:+.3} ms, {:.2} of the first", other - one, other / one));
    }

    /// A process that records one call: its start, and the ledger's being taken up, are in it.
    fn start(root: &Path, empty: &Path, full: &Path) {
        let repository = root.join("rich");
        let call = |ledger: &Path| {
            let status = Command::new(BINARY)
                .arg("--root")
                .arg(root)
                .arg("--audit-ledger")
                .arg(ledger)
                .args(["call", "repo.status"])
                .arg(format!("repoPath={}", repository.display()))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            assert!(status.is_ok_and(|status| status.success()));
        };
        call(empty);
        let figures = in_turns(rounds(STARTS), || call(empty), || call(full));
        compare(["bulkhead call, empty ledger", "bulkhead call, full ledger"], &figures);
    }

    /// One event, handed to the jailed worker, until it says that it is on the disk.
    fn append(empty: &Path, full: &Path) {
        let mut workers = [empty, full].map(|ledger| {
            let mut worker = Auditor::start(BINARY, ledger, &[]);
            worker.open(None).expect("a sound ledger");
            worker
        });
        let [small, large] = &mut workers;
        let record = |worker: &mut Auditor| {
            worker.append(1, vec![event(1)]).expect("recorded");
        };
        // no more than the full one has room for
        let figures = in_turns(rounds(ROUNDS).min(ROUNDS), || record(small), || record(large));
        compare(["durable append, empty ledger", "durable append, full ledger"], &figures);
    }

    /// What a warm read pays for being recorded.
    fn read(root: &Path, base: &Path) {
        let repository = root.join("rich");
        let mut servers = ["off", "best-effort"].map(|mode| {
            let ledger = base.join(format!("read-{mode}")).join("mcp.jsonl");
            keys::init(&ledger).expect("a key");
            let ledger = ledger.display().to_string();
            let command = support::ours(&["--audit", mode, "--audit-ledger", &ledger], root);
            let mut server = Server::start(&command, root);
            server.initialize();
            for _ in 0..20 {
                server.call("worktree.list", &repository);
            }
            server
        });
        let [off, on] = &mut servers;
        let call = |server: &mut Server| {
            server.call("worktree.list", &repository);
        };
        let figures = in_turns(rounds(5 * ROUNDS), || call(off), || call(on));
        compare(["worktree.list, --audit off", "worktree.list, recorded and signed"], &figures);
    }

    /// As many events as a worker makes durable.
    fn pour(base: &Path) {
        for size in [1, 10, 100, MAX_EVENTS as u64] {
            let ledger: PathBuf = base.join(format!("pour-{size}")).join("mcp.jsonl");
            keys::init(&ledger).expect("a key");
            let mut worker = Auditor::start(BINARY, &ledger, &[]);
            worker.open(None).expect("an empty ledger");
            let (began, mut said, mut heard) = (Instant::now(), 0, 0);
            while began.elapsed() < POURING {
                while said < heard + UNDER_WAY {
                    said += 1;
                    worker.say(&ToAudit::Append { group: said, events: (0..size).map(event).collect() });
                }
                let Some(FromAudit::Recorded { faults, .. }) = worker.hear() else { panic!("the worker ended") };
                assert!(faults.is_empty(), "{faults:?}");
                heard += 1;
            }
            let rate = (heard * size) as f64 / began.elapsed().as_secs_f64();
            say(&format!("{UNDER_WAY} groups of {size} under way: {rate:.0} durable entries a second"));
        }
        debug_assert!(UNDER_WAY as usize * MAX_EVENTS <= MAX_GROUP);
    }

    /// A strict verification as a program of its own, by its time, its processor time and its largest memory.
    fn verify(full: &Path, public: &Path) {
        let entries: u64 = fs::read_dir(full.parent().expect("it has one"))
            .expect("it is there")
            .flatten()
            .filter(|entry| entry.metadata().is_ok_and(|facts| facts.len() > 100_000))
            .map(|entry| fs::read(entry.path()).map_or(0, |text| text.iter().filter(|b| **b == b'\n').count() as u64))
            .sum();
        let (mut wall, mut peak) = (Figures::default(), 0);
        for _ in 0..rounds(5) {
            wall.take(|| {
                let mut child = Command::new(BINARY)
                    .arg("verify-audit")
                    .arg(full)
                    .arg("--pubkey")
                    .arg(public)
                    .arg("--require-signed")
                    .stdout(Stdio::null())
                    .spawn()
                    .expect("it starts");
                let status = loop {
                    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
                    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
                    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0);
                    peak = peak.max(kib);
                    match child.try_wait().expect("it is a child") {
                        Some(status) => break status,
                        None => std::thread::sleep(Duration::from_millis(2)),
                    }
                };
                assert!(status.success());
            });
        }
        let seconds = wall.at(0.5) / 1e3;
        say(&format!(
            "verify-audit, strict, {entries} entries: {seconds:.2} s, {:.0} a second; at most {:.1} MiB resident",
            entries as f64 / seconds,
            f64::from(peak) / 1024.0
        ));
    }
}

#[cfg(target_os = "linux")]
fn main() {
    linux::main();
}

#[cfg(not(target_os = "linux"))]
fn main() {
    support::say("the processes of this benchmark exist on Linux alone");
}
