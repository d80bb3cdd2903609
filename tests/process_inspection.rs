//! What can be seen of the live processes from outside: every right that a policy takes away is gone in the kernel's books.
//! Trust: `/proc`, read by the test; nothing that the product says about itself is used.

#![cfg(target_os = "linux")]

mod support;

use std::{collections::BTreeMap, fs};
use support::{
    Place, Repo, Server, Start,
    process::{self, Process},
    server, status, unmet,
};

/// A server with two warm workers. Secrets stand in its environment, as hosts put them there.
fn warm(place: &Place) -> Server {
    let start = Start::new(place).root(place.path()).environment("SECRET_TOKEN", "CANARY-IN-ENVIRONMENT");
    let mut server = start.spawn();
    for name in ["one", "two"] {
        let repo = Repo::honest(place, name);
        assert!(server.read("repo.brief", repo.path()).is_ok());
    }
    assert_eq!(process::workers(server.pid()).len(), 2, "one worker for each repository");
    server
}

fn field(process: Process, name: &str) -> String {
    process.status(name).unwrap_or_else(|| panic!("{name} of {process:?}"))
}

#[test]
fn every_process_has_given_up_its_rights() {
    let place = Place::new();
    let server = warm(&place);
    let launcher = process::launcher(server.pid());
    let supervisor = Process(server.pid());
    let audit = process::of_kind(server.pid(), "audit");
    assert_eq!(audit.len(), 1, "one process records");
    // started by the first call, which did not wait for it
    let note = || process::of_kind(server.pid(), "note");
    assert!(process::until(support::server::PATIENCE, || note().len() == 1), "one process keeps the note");
    let audit = [audit, note()].concat();
    for process in process::workers(server.pid()).into_iter().chain([supervisor, launcher]).chain(audit.clone()) {
        let who = process.arguments().join(" ");
        assert_eq!(field(process, "NoNewPrivs"), "1", "{who}");
        assert_eq!(field(process, "Seccomp"), "2", "{who}: a filter is on");
    }
    for process in process::workers(server.pid()).into_iter().chain([supervisor]).chain(audit.clone()) {
        let who = process.arguments().join(" ");
        for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
            // an ordinary user's bounding set cannot be emptied; it is worth nothing without a privileged exec
            if set != "CapBnd" || support::is_root() {
                assert_eq!(field(process, set), "0".repeat(16), "{who}: {set}");
            }
        }
    }
    for worker in process::workers(server.pid()) {
        let filters = field(worker, "Seccomp_filters").parse::<u32>().expect("a number");
        assert!(filters >= 2, "an allow-list and a kill-list: {filters}");
    }
    let mut known = [process::workers(server.pid()), audit.clone()].concat();
    let mut children = launcher.children();
    known.sort_by_key(|process| process.0);
    children.sort_by_key(|process| process.0);
    assert_eq!(children, known, "the launcher has no other children");
    assert!(server.finish().status.success());
}

#[test]
fn a_worker_holds_its_pipes_and_nothing_else() {
    let place = Place::new();
    let server = warm(&place);
    for worker in process::workers(server.pid()) {
        let Ok(entries) = fs::read_dir(worker.proc("fd")) else {
            // not dumpable: its descriptors can be seen by root alone
            assert!(!support::is_root() && !unmet::unmet("the right to see another process's descriptors"));
            return;
        };
        let held: BTreeMap<u32, String> = entries
            .flatten()
            .filter_map(|entry| {
                let target = fs::read_link(entry.path()).ok()?.display().to_string();
                Some((entry.file_name().to_str()?.parse().ok()?, target))
            })
            .collect();
        let mut rest = held.clone();
        for (number, expected) in [(0, "/dev/null"), (1, "/dev/null"), (2, "pipe:"), (3, "pipe:"), (4, "pipe:")] {
            let target = rest.remove(&number).unwrap_or_default();
            assert!(target.starts_with(expected), "{number} is {target:?}: {held:?}");
        }
        // an open repository keeps descriptors of its own files at most
        let stray: Vec<_> =
            rest.values().filter(|target| !target.starts_with(&*place.path().to_string_lossy())).collect();
        assert!(stray.is_empty(), "stray descriptors: {stray:?}");
        let one = place.at("one").display().to_string();
        let two = place.at("two").display().to_string();
        let sees_both = rest.values().any(|t| t.starts_with(&one)) && rest.values().any(|t| t.starts_with(&two));
        assert!(!sees_both, "a worker holds files of two repositories: {held:?}");
    }
    assert!(server.finish().status.success());
}

#[test]
fn the_one_that_records_holds_one_ledger_and_no_key_file() {
    let place = Place::new();
    let server = warm(&place);
    let ledger = place.home().join(".local/state/bulkhead/audit/mcp.jsonl").display().to_string();
    let recorded = || std::fs::read_to_string(&ledger).is_ok_and(|text| text.contains("tool_call"));
    assert!(process::until(server::PATIENCE, recorded), "a call is recorded");
    let worker = process::of_kind(server.pid(), "audit").remove(0);
    let Ok(entries) = fs::read_dir(worker.proc("fd")) else {
        assert!(!support::is_root() && !unmet::unmet("the right to see another process's descriptors"));
        return;
    };
    let targets = entries.flatten().filter_map(|e| Some(fs::read_link(e.path()).ok()?.display().to_string()));
    let mut files: Vec<String> = targets.filter(|target| target.starts_with('/') && target != "/dev/null").collect();
    files.sort();
    assert_eq!(files, [ledger.clone(), ledger.clone(), format!("{ledger}.lock")], "to append, to read, to lock");
    assert_eq!(field(worker, "Threads"), "1");
    assert!(server.finish().status.success());
}

#[test]
fn a_worker_knows_nothing_of_the_environment() {
    let place = Place::new();
    let server = warm(&place);
    for worker in process::workers(server.pid()) {
        let arguments = worker.arguments();
        let shown = arguments.join(" ");
        assert!(!shown.contains(&*place.path().to_string_lossy()), "argv is public and names no path: {shown}");
        let Ok(environment) = fs::read(worker.proc("environ")) else {
            assert!(!support::is_root() && !unmet::unmet("the right to see another process's environment"));
            return;
        };
        let text = String::from_utf8_lossy(&environment).into_owned();
        assert!(!text.contains("CANARY"), "{text:?}");
        let allowed = ["HOME=/nonexistent", "TZ=UTC0", "LC_ALL=C"];
        let stray: Vec<_> = text.split('\0').filter(|word| !word.is_empty() && !allowed.contains(word)).collect();
        assert!(stray.is_empty(), "{stray:?}");
        let cwd = fs::read_link(worker.proc("cwd")).expect("as readable as the environment");
        assert_eq!(cwd.to_str(), Some("/"));
    }
    assert!(server.finish().status.success());
}

#[test]
fn limits_are_set_and_memory_is_private() {
    let place = Place::new();
    let mut start = Start::new(&place).root(place.path());
    start = start.arguments(&["--worker-memory", "128"]);
    let mut server = start.spawn();
    let repo = Repo::honest(&place, "repo");
    assert!(server.read("repo.brief", repo.path()).is_ok());
    for worker in process::workers(server.pid()) {
        let limits = fs::read_to_string(worker.proc("limits")).expect("everybody may read limits");
        let soft = |name: &str| {
            let line = limits.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {limits}"));
            line[name.len()..].split_whitespace().next().expect("a value").to_owned()
        };
        assert_eq!(soft("Max core file size"), "0");
        assert_eq!(soft("Max data size"), (128u64 << 20).to_string());
        let most = if worker.arguments().iter().any(|word| word == "read") { 4_096 } else { 512 };
        assert!(soft("Max open files").parse::<u32>().expect("a number") <= most);
        // a process that is not dumpable belongs to root in /proc, whoever runs it
        if !support::is_root() {
            use std::os::unix::fs::MetadataExt as _;
            assert_eq!(fs::metadata(worker.proc("status")).expect("it runs").uid(), 0, "it is not dumpable");
        }
    }
    assert!(server.finish().status.success());
}

#[test]
fn directories_stay_open_only_where_the_host_lets_them() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    for number in 0..400 {
        repo.write(format!("d{number}/f"), "text\n");
    }
    repo.commit("many directories");
    // a directory that changed just now is not kept
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    for (limit, held) in [(300, 0..50), (700, 100..200), (8_192, 400..500)] {
        let line = format!("ulimit -n {limit} 2>&- ; exec \"$0\" \"$@\"");
        let start = Start::new(&place).root(place.path());
        let mut server = start.wrapper(&["sh", "-c", &line]).spawn();
        for _ in 0..3 {
            status::agree(&format!("{limit} descriptors"), &repo, &mut server);
        }
        for worker in process::workers(server.pid()) {
            let Ok(open) = fs::read_dir(worker.proc("fd")) else {
                assert!(!support::is_root() && !unmet::unmet("the right to see another process's descriptors"));
                continue;
            };
            if worker.arguments().iter().any(|word| word == "read") {
                let open = open.count();
                assert!(held.contains(&open), "{open} of {limit} descriptors are open");
            }
        }
        assert!(server.finish().status.success());
    }
}

#[test]
fn the_supervisor_holds_no_file_and_no_directory() {
    let place = Place::new();
    let server = warm(&place);
    let Ok(entries) = fs::read_dir(Process(server.pid()).proc("fd")) else {
        assert!(!support::is_root() && !unmet::unmet("the right to see another process's descriptors"));
        return;
    };
    let fine = ["pipe:", "socket:", "anon_inode:", "/dev/null"];
    let held: Vec<String> =
        entries.flatten().filter_map(|e| Some(fs::read_link(e.path()).ok()?.display().to_string())).collect();
    let stray: Vec<_> = held.iter().filter(|target| !fine.iter().any(|kind| target.starts_with(kind))).collect();
    assert!(stray.is_empty(), "{stray:?}");
    assert!(server.finish().status.success());
}
