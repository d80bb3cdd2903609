//! After its start a worker executes nothing, opens nothing for writing, makes no socket; nobody else executes anything.
//! Trust: `strace` watches every process of the product from outside. It follows them because it is their parent: a
//! process that made itself undumpable can no longer be attached to, but one that is traced from birth stays traced.

mod support;

use std::collections::HashMap;
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
    let mut server = start.arguments(&["--deadline", "60"]).spawn();
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
    let readable = executions[1..]
        .iter()
        .all(|call| call.rest.contains("\"worker\", \"read\"") || call.rest.contains("\"worker\", \"audit\""));
    let by_descriptor =
        executions[1..].iter().all(|call| call.name == "execveat" && call.rest.contains("AT_EMPTY_PATH"));
    let known = if support::is_root() { readable } else { by_descriptor };
    assert!(known, "something else than workers was executed: {executions:?}");

    let repositories = fixture.directory().to_str().expect("places have UTF-8 paths").to_owned();
    // the one that records opens keys and lock before its jail, beneath the run directory alone
    let records = |call: &&Call| !front.contains(&call.pid) && call.rest.contains(&run_dir);
    let auditors: Vec<i32> = calls.iter().filter(records).map(|call| call.pid).collect();
    let mut faults = Vec::new();
    let mut sockets: HashMap<i32, u32> = HashMap::new();
    let mut opened = 0;
    for (at, call) in calls.iter().enumerate() {
        // between fork and exec a worker is still the launcher, which hands it its descriptors
        let executed = calls[..at].iter().any(|earlier| earlier.pid == call.pid && earlier.name.starts_with("execve"));
        // strace names threads by their own id; only workers have any
        let in_worker = !front.contains(&call.pid) && (executed || !workers.contains(&call.pid));
        opened += u32::from(in_worker && call.name.starts_with("open"));
        let own = auditors.contains(&call.pid) && (call.rest.contains(&run_dir) || call.name == "flock");
        let writes = (opens_for_writing(call) || CHANGES.contains(&call.name.as_str())) && !own;
        let mut fault = writes && (in_worker || call.rest.contains(&repositories));
        // by the one socket that the launcher left it, it asks for descriptors
        let asks = auditors.contains(&call.pid) && ["sendto", "recvmsg"].contains(&call.name.as_str());
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
