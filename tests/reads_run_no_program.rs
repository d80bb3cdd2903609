//! After its start a worker executes nothing, opens nothing for writing, makes no socket; nobody else executes anything.
//! Trust: `strace` watches every process of the product from outside. It follows them because it is their parent: a
//! process that made itself undumpable can no longer be attached to, but one that is traced from birth stays traced.

mod support;

use std::collections::{BTreeSet, HashMap};
use support::{
    Place, Repo, Start, TOOLS, calls, fixtures,
    process::{self, Process},
    unmet,
};

/// One call, as `strace -f` writes it: `PID name(arguments) = result`.
#[derive(Debug)]
struct Call {
    pid: i32,
    name: String,
    rest: String,
}

/// Calls that make or use a socket, or that the kernel offers for the same end.
const SOCKETS: &[&str] = &[
    "socket",
    "socketpair",
    "connect",
    "bind",
    "listen",
    "accept",
    "accept4",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    "io_uring_setup",
];
/// Calls that change a file or a directory.
const CHANGES: &[&str] = &[
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "chmod",
    "fchmod",
    "fchmodat",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "truncate",
    "ftruncate",
    "utime",
    "utimensat",
    "mknod",
    "mknodat",
    "setxattr",
    "creat",
    "flock",
];

/// The calls in the order in which they began, each with its result: strace writes a call that another process
/// interrupted in two lines, the first ending in `<unfinished ...>`.
fn calls(log: &str) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::new();
    let mut unfinished: HashMap<i32, usize> = HashMap::new();
    for line in log.lines() {
        let Some((pid, rest)) = line.trim_start().split_once(' ') else { continue };
        let Ok(pid) = pid.parse() else { continue };
        if let Some((_, result)) = rest.split_once(" resumed>") {
            if let Some(begun) = unfinished.remove(&pid) {
                calls[begun].rest.push_str(result);
            }
            continue;
        }
        let Some((name, rest)) = rest.trim_start().split_once('(') else { continue };
        let begins = rest.strip_suffix(" <unfinished ...>");
        if begins.is_some() {
            unfinished.insert(pid, calls.len());
        }
        calls.push(Call { pid, name: name.to_owned(), rest: begins.unwrap_or(rest).to_owned() });
    }
    calls
}

#[test]
fn a_call_written_in_two_lines_is_read_as_one() {
    let log =
        "11 socket(AF_UNIX, 1, 0 <unfinished ...>\n12 open(\"a\", O_RDONLY) = 3\n11 <... socket resumed>) = -1 E\n";
    let read: Vec<(i32, String)> =
        calls(log).into_iter().map(|call| (call.pid, format!("{}({}", call.name, call.rest))).collect();
    assert_eq!(read, [(11, "socket(AF_UNIX, 1, 0) = -1 E".to_owned()), (12, "open(\"a\", O_RDONLY) = 3".to_owned())]);
}

fn opens_for_writing(call: &Call) -> bool {
    let flags = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "O_TMPFILE"];
    ["open", "openat", "openat2"].contains(&call.name.as_str()) && flags.iter().any(|flag| call.rest.contains(flag))
}

/// Whether a call's first path begins so. Of processes that are not dumpable only root's strace can read what an argument
/// points to, and others see an address.
fn is_at(arguments: &str, path: &str) -> bool {
    arguments.starts_with(path) || !support::is_root() && arguments.starts_with("0x")
}

/// What the process that records changes before its jail is on: it makes its directory, the lock, and the key of
/// fingerprints, which appears under its name when it is whole.
fn makes_its_own(call: &Call, run_dir: &str) -> bool {
    let (name, rest) = (call.name.trim_end_matches('2').trim_end_matches("at"), call.rest.replace("AT_FDCWD, ", ""));
    let at = |path: &str| format!("\"{run_dir}{path}\"");
    let (key, unfinished) = (at("/audit/mcp.jsonl.fingerprint-key"), at("/audit/mcp.jsonl.fingerprint-key.unfinished"));
    match name {
        "mkdir" => is_at(&rest, &at("")) || is_at(&rest, &at("/audit")),
        "open" if rest.contains("O_APPEND") => is_at(&rest, &at("/audit/mcp.jsonl.lock")),
        "open" => is_at(&rest, &unfinished) && rest.contains("O_EXCL"),
        "unlink" => is_at(&rest, &unfinished),
        "rename" => is_at(&rest, &format!("{unfinished}, {key}")),
        "flock" => true,
        _ => false,
    }
}

#[test]
fn as_strace_sees_it() {
    if !unmet::has_program("strace") {
        return;
    }
    let fixture = fixtures::build(fixtures::STATES);
    let place = Place::new();
    let log = place.at("strace.log");
    let log_text = log.to_str().expect("places have UTF-8 paths");
    let names = ["execve", "execveat", "open", "openat", "openat2"];
    // a question mark lets strace pass over a call that this machine does not have
    let names: Vec<String> = names.iter().chain(SOCKETS).chain(CHANGES).map(|name| format!("?{name}")).collect();
    let watched = format!("trace={}", names.join(","));
    let probe = place.command("strace").args(["-f", "-o", log_text, "-e", &watched, "true"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        unmet::unmet("the right to trace processes");
        return;
    }
    let wrapper = ["strace", "-f", "-qq", "-s", "256", "-e", &watched, "-o", log_text];
    let run_dir = place.at("run").display().to_string();
    let start =
        Start::new(&fixture.place).root(fixture.directory()).wrapper(&wrapper).arguments(&["--run-dir", &run_dir]);
    // the note that a server leaves about itself is written by a process of its own, beneath the run directory
    let mut server = start.arguments(&["--deadline", "60"]).environment("FLUXGIT_MCP_PRESENCE_DISABLED", "").spawn();
    let mut answers = 0;
    for name in ["columns", "conflicts", "configured", "partial", "sha256", "sparse", "packs", "linked"] {
        for tool in TOOLS {
            let outcome = server.read(tool, &fixture.at(name));
            assert!(outcome.is_ok(), "{tool} on {name}: {}", outcome.message);
            answers += 1;
        }
        for (tool, arguments) in calls::on(&fixture.at(name)) {
            server.call(tool, arguments);
        }
    }
    let supervisor = Process(server.pid()).children()[0];
    let front = [supervisor.0, process::launcher(supervisor.0).0];
    let ended = server.finish();
    assert!(ended.status.success(), "{}", ended.said);
    assert_eq!(answers, 24);

    let text = std::fs::read_to_string(&log).expect("strace wrote it");
    let calls = calls(&text);
    let executions: Vec<&Call> = calls.iter().filter(|call| call.name.starts_with("execve")).collect();
    // the product itself, and one for every worker that was ever started
    let mut per_process: HashMap<i32, u32> = HashMap::new();
    for call in &executions {
        *per_process.entry(call.pid).or_default() += 1;
    }
    assert!(per_process.values().all(|count| *count == 1), "a process executed twice: {executions:?}");
    assert_eq!(executions[0].pid, front[0], "the product is executed first");
    let workers: Vec<i32> = executions[1..].iter().map(|call| call.pid).collect();
    assert!(!workers.is_empty() && workers.iter().all(|pid| !front.contains(pid)), "{executions:?}");
    // the launcher is not dumpable, so only root's strace can read what its arguments point to
    let readable = executions[1..].iter().all(|call| {
        ["read", "audit", "agents", "syntax"].iter().any(|kind| call.rest.contains(&format!("\"worker\", \"{kind}\"")))
    });
    let by_descriptor =
        executions[1..].iter().all(|call| call.name == "execveat" && call.rest.contains("AT_EMPTY_PATH"));
    let known = if support::is_root() { readable } else { by_descriptor };
    assert!(known, "something else than workers was executed: {executions:?}");

    let repositories = fixture.directory().to_str().expect("places have UTF-8 paths").to_owned();
    // the one that records asks for descriptors by the socket that the launcher left it, which nobody else has
    let asks = |call: &Call| call.name == "sendto" && call.rest.starts_with("5,") && !front.contains(&call.pid);
    let auditors: BTreeSet<i32> = calls.iter().filter(|call| asks(call)).map(|call| call.pid).collect();
    assert_eq!(auditors.len(), 1, "{auditors:?}");
    let speaks = |call: &&Call| call.rest.contains(&run_dir) && workers.contains(&call.pid);
    let speak: BTreeSet<i32> = calls.iter().filter(speaks).map(|call| call.pid).collect();
    assert!(speak.is_subset(&auditors), "no other worker speaks of the run directory: {speak:?}");
    // the socket that it tries in vain is its first act within
    let tries = |call: &Call| auditors.contains(&call.pid) && call.name == "socket";
    let jailed = calls.iter().position(tries).expect("it tries a socket");
    let mut faults = Vec::new();
    let mut sockets: HashMap<i32, u32> = HashMap::new();
    let mut opened = 0;
    for (at, call) in calls.iter().enumerate() {
        // between fork and exec a worker is still the launcher, which hands it its descriptors
        let executed = calls[..at].iter().any(|earlier| earlier.pid == call.pid && earlier.name.starts_with("execve"));
        // strace names threads by their own id; only workers have any
        let in_worker = !front.contains(&call.pid) && (executed || !workers.contains(&call.pid));
        opened += u32::from(in_worker && call.name.starts_with("open"));
        let is_auditor = auditors.contains(&call.pid);
        let changes = opens_for_writing(call) || CHANGES.contains(&call.name.as_str());
        // within, it locks and unlocks what it was handed, and opens nothing at all
        let own = is_auditor && if at < jailed { makes_its_own(call, &run_dir) } else { call.name == "flock" };
        let mut fault = in_worker && changes && !own || is_auditor && at > jailed && call.name.starts_with("open");
        // the launcher holds the ledger's directory; std opens /dev/null where a standard stream is closed
        let path = call.rest.strip_prefix("AT_FDCWD, ").unwrap_or(&call.rest);
        let holds = is_at(path, &format!("\"{run_dir}/audit")) || is_at(path, "\"/dev/null\"");
        fault |= changes && (call.rest.contains(&repositories) || front.contains(&call.pid) && !holds);
        // by the one socket that the launcher left it, it asks for descriptors
        let asks = is_auditor && at > jailed && ["sendto", "recvmsg"].contains(&call.name.as_str());
        let asks = asks && call.rest.starts_with("5,");
        if in_worker && !asks && SOCKETS.contains(&call.name.as_str()) {
            // once, at its start, a worker tries a socket to see that it is refused: evidence for its report
            let tries = sockets.entry(call.pid).or_default();
            *tries += 1;
            fault |=
                *tries > 1 || call.name != "socket" || !call.rest.ends_with("= -1 ENOSYS (Function not implemented)");
        }
        if fault {
            faults.push(format!("{} {}({}", call.pid, call.name, call.rest));
        }
    }
    assert!(opened > 500, "the log shows the workers at work: {opened} files opened");
    assert!(faults.is_empty(), "{} calls that may not be:\n{}", faults.len(), faults.join("\n"));
    assert!(!fixture.at("CANARY").exists());
}

#[test]
fn not_even_for_a_repository_that_names_programs_everywhere() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let marker = place.at("RAN");
    for key in ["core.fsmonitor", "filter.x.clean", "filter.x.process", "diff.external", "core.pager", "gpg.program"] {
        repo.git(&["config", key, &format!("touch {}", marker.display())]);
    }
    repo.write(".gitattributes", "* filter=x\n");
    repo.append("a.txt", "changed\n");
    let mut server = Start::new(&place).root(place.path()).spawn();
    for tool in TOOLS {
        assert!(server.read(tool, repo.path()).is_ok());
    }
    for (tool, arguments) in calls::on(repo.path()) {
        server.call(tool, arguments);
    }
    assert!(server.finish().status.success());
    assert!(!marker.exists(), "a program was run");
}
