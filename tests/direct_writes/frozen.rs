//! A fetch that hangs in the middle, with programs that do not hear that they are to end: taken back, out of time, and with a
//! server that ends in every way. Nobody stays, and the next server finds a repository that goes on.
//! Trust: test code; programs of the fetch are stopped, which is as deaf as a program gets.

use crate::{
    World, git,
    support::{
        dice::Dice,
        direct::Served,
        process::{self, Process},
    },
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::{
    fs,
    io::Write as _,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

/// Far longer than anything here takes, on a machine that does much else.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Files of the remote, each of [`SIZE`] bytes that no compression makes smaller: what takes a fetch long enough to be met.
const FILES: usize = 64;
const SIZE: usize = 1 << 20;

/// A remote that is far from being fetched.
struct Far {
    world: World,
    refs: String,
}

/// A fetch whose programs stand still, and all of them.
struct Frozen {
    id: Value,
    programs: Vec<Process>,
}

impl Far {
    fn new() -> Self {
        let world = World::new();
        far_in(&world, &world.place.at("origin.git"));
        // a pack stays one, however few its objects
        world.git(&["config", "fetch.unpackLimit", "1"]);
        let refs = world.git(&["for-each-ref"]);
        Self { world, refs }
    }

    fn serve(&self, seconds: u32) -> Served {
        let mut served = Served::writing(&self.world.place, &self.world.repo, &["--timeout", &seconds.to_string()]);
        served.value("repo_info", json!({}));
        served
    }

    fn packs(&self) -> PathBuf {
        self.world.repo.join(".git/objects/pack")
    }

    /// Names and sizes of packs that are not finished.
    fn unfinished(&self) -> Vec<(String, u64)> {
        let entries = fs::read_dir(self.packs()).into_iter().flatten().flatten();
        let named = entries.filter_map(|it| Some((it.file_name().into_string().ok()?, it.metadata().ok()?.len())));
        named.filter(|(name, _)| name.starts_with("tmp_")).collect()
    }

    /// Asks for a fetch and stops all that it started while the pack comes in.
    fn freeze(&self, served: &mut Served) -> Frozen {
        let pid = served.0.pid();
        // one that was done before it was met is forgotten again
        for _ in 0..20 {
            let before = self.unfinished().len();
            let id = served.0.ask("repo_fetch", json!({}));
            let since = Instant::now();
            let mut done = false;
            while !done && since.elapsed() < PATIENCE {
                let arriving = self.unfinished().len() > before;
                if arriving {
                    let programs: Vec<_> = process::of_kind(pid, "write-net").into_iter().flat_map(beneath).collect();
                    let stopped = programs.iter().filter(|program| {
                        nix::sys::signal::kill(nix::unistd::Pid::from_raw(program.0), Signal::SIGSTOP).is_ok()
                    });
                    if stopped.count() >= 3 && self.unfinished().len() > before {
                        return Frozen { id, programs };
                    }
                    for program in programs {
                        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(program.0), Signal::SIGCONT);
                    }
                }
                done = served.0.receive(Duration::from_millis(1)).is_some_and(|message| message["id"] == id);
            }
            self.world.git(&["update-ref", "-d", "refs/remotes/origin/far"]);
            self.world.git(&["repack", "-adq"]);
            self.world.git(&["prune", "--expire=now"]);
        }
        panic!("no fetch was met while its pack came in");
    }

    /// Nothing of the fetch is there, and a new server says how things are and goes on.
    fn goes_on(&self, programs: &[Process]) {
        let gone = process::until(PATIENCE, || programs.iter().all(|program| !program.is_alive()));
        let left: Vec<_> = programs.iter().filter(|it| it.is_alive()).map(|it| it.arguments()).collect();
        assert!(gone, "still there: {left:?}");
        assert_eq!(self.world.git(&["for-each-ref"]), self.refs);
        let unfinished = self.unfinished();
        assert!(!unfinished.is_empty(), "git leaves what has arrived");
        let mut served = self.serve(120);
        assert_eq!(served.value("repo_snapshot", json!({}))["operation"], "Clear");
        let fetched = served.value("repo_fetch", json!({}));
        let notes = fetched["notes"].to_string();
        for (name, size) in &unfinished {
            assert!(notes.contains(&format!("{name} ({size} bytes")), "{name} of {size}: {notes}");
        }
        let far = self.world.git(&["rev-parse", "refs/remotes/origin/far"]);
        self.world.git(&["fsck", "--connectivity-only", "--no-dangling"]);
        assert_eq!(self.world.git(&["ls-tree", &far]).lines().count(), FILES);
        // the caller does as is said, and nothing is named any more
        for (name, _) in &unfinished {
            fs::remove_file(self.packs().join(name)).expect("it was named");
        }
        assert_eq!(served.value("repo_create_branch", json!({"name": "after"})).get("notes"), None);
        assert!(served.0.finish().status.success());
    }

    /// What the ledger has of writes: the phases, in order.
    fn phases(&self) -> Vec<String> {
        let ledger = fs::read_dir(self.world.place.home()).map(|_| find(&self.world.place.home(), "mcp.jsonl"));
        let text = ledger.ok().flatten().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let of_fetch = entries.filter(|entry| entry.to_string().contains("repo_fetch"));
        of_fetch.filter_map(|entry| Some(entry["phase"].as_str()?.to_owned())).collect()
    }
}

/// Gives a repository the branch `far`, of [`FILES`] files.
pub fn far_in(world: &World, repository: &Path) {
    // to look for what can be made smaller would take most of the time
    for (key, value) in [("core.compression", "0"), ("core.bigFileThreshold", "1")] {
        git(&world.place, repository, &["config", key, value]);
    }
    let mut import = world.place.command("git");
    import.current_dir(repository).args(["fast-import", "--quiet"]).stdin(Stdio::piped());
    let mut import = import.spawn().expect("git is installed");
    {
        let mut to = import.stdin.take().expect("it is a pipe");
        let mut dice = Dice(20_261_201);
        let mut piece = vec![0; SIZE];
        let mut say = |bytes: &[u8]| to.write_all(bytes).expect("git reads");
        say(b"feature done\ncommit refs/heads/far\ncommitter L <l@example.invalid> 1700000000 +0000\ndata 1\nc\n");
        for number in 0..FILES {
            for bytes in piece.chunks_exact_mut(8) {
                bytes.copy_from_slice(&dice.below(usize::MAX).to_ne_bytes());
            }
            say(format!("M 644 inline {number}\ndata {SIZE}\n").as_bytes());
            say(&piece);
            say(b"\n");
        }
        say(b"\ndone\n");
    }
    assert!(import.wait().expect("it was started").success());
}

/// A file of that name, at any depth.
fn find(beneath: &std::path::Path, name: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(beneath).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| !path.is_symlink()).find_map(|path| match path.is_dir() {
        true => find(&path, name),
        false => (path.file_name()? == name).then_some(path),
    })
}

/// All programs beneath a worker, without the one that ends them where it cannot, which has the worker's own words.
pub fn beneath(of: Process) -> Vec<Process> {
    let mut all = of.children();
    let mut at = 0;
    while let Some(next) = all.get(at).copied() {
        all.extend(next.children());
        at += 1;
    }
    all.retain(|program| program.arguments() != of.arguments());
    all
}

#[test]
fn one_that_is_taken_back() {
    let far = Far::new();
    let mut served = far.serve(120);
    let frozen = far.freeze(&mut served);
    served.0.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": frozen.id},
    }));
    let pid = served.0.pid();
    assert!(process::until(PATIENCE, || process::of_kind(pid, "write-net").is_empty()));
    far.goes_on(&frozen.programs);
    assert!(served.0.finish().status.success());
}

#[test]
fn one_whose_time_is_over() {
    let far = Far::new();
    let mut served = far.serve(20);
    let frozen = far.freeze(&mut served);
    let answer = served.0.answer(&frozen.id).message;
    let failure = &answer["result"]["structuredContent"]["error"];
    assert_eq!(failure["class"], "timeout", "{answer}");
    let reason = failure["reason"].as_str().expect("a reason");
    for (name, size) in far.unfinished() {
        assert!(reason.contains(&format!("{name} ({size} bytes")), "{reason}");
    }
    far.goes_on(&frozen.programs);
    assert!(served.0.finish().status.success());
}

#[test]
fn one_whose_server_ends_in_order() {
    for order in [None, Some(Signal::SIGTERM)] {
        let far = Far::new();
        let mut served = far.serve(120);
        let frozen = far.freeze(&mut served);
        let ended = match order {
            None => served.0.finish(),
            Some(signal) => {
                Process(served.0.pid()).signal(signal);
                served.0.ended()
            }
        };
        assert_eq!(ended.status.code(), Some(0), "{order:?}: {}", ended.said);
        // fetches that were done before they were met stand there too
        let phases = far.phases();
        let count = |phase: &str| phases.iter().filter(|found| *found == phase).count();
        assert!(count("intent") > 0 && count("intent") == count("outcome"), "{order:?}: {phases:?}");
        far.goes_on(&frozen.programs);
    }
}

#[test]
fn one_whose_server_is_killed() {
    for launcher in [false, true] {
        let far = Far::new();
        let mut served = far.serve(120);
        let frozen = far.freeze(&mut served);
        let supervisor = Process(served.0.pid());
        let front = process::launcher(supervisor.0);
        if launcher {
            front.signal(Signal::SIGKILL);
            let failure = served.0.answer(&frozen.id).message;
            assert_eq!(failure["result"]["isError"], true, "{failure}");
        } else {
            supervisor.signal(Signal::SIGKILL);
            served.0.ended();
        }
        assert!(process::until(PATIENCE, || launcher || !front.is_alive()), "the launcher stayed");
        assert_eq!(far.phases().first().map(String::as_str), Some("intent"), "launcher killed: {launcher}");
        far.goes_on(&frozen.programs);
    }
}

/// A transport that waits for a host hears of no end but the connection's, and that host says nothing.
#[test]
fn one_whose_launcher_is_killed_while_a_host_is_silent() {
    let world = World::new();
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = silent.local_addr().expect("it is bound").port();
    world.git(&["remote", "set-url", "origin", &format!("https://127.0.0.1:{port}/x.git")]);
    let refs = world.git(&["for-each-ref"]);
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", "120"]);
    served.value("repo_info", json!({}));
    let id = served.0.ask("repo_fetch", json!({}));
    silent.set_nonblocking(true).expect("it is ours");
    let mut held = None;
    let called = process::until(PATIENCE, || {
        held = silent.accept().ok();
        held.is_some()
    });
    assert!(called, "the transport does not call: {:?}", served.0.receive(Duration::ZERO));
    let pid = served.0.pid();
    let programs: Vec<_> = process::of_kind(pid, "write-net").into_iter().flat_map(beneath).collect();
    let waits = |program: &Process| program.arguments().first().is_some_and(|word| word.contains("remote-http"));
    assert!(programs.iter().any(waits), "{:?}", programs.iter().map(|it| it.arguments()).collect::<Vec<_>>());
    process::launcher(pid).signal(Signal::SIGKILL);
    let failure = served.0.answer(&id).message;
    assert_eq!(failure["result"]["isError"], true, "{failure}");
    let gone = process::until(PATIENCE, || programs.iter().all(|program| !program.is_alive()));
    let left: Vec<_> = programs.iter().filter(|it| it.is_alive()).map(|it| it.arguments()).collect();
    assert!(gone, "still there: {left:?}");
    // up to here the host was there
    drop(held);
    assert_eq!(world.git(&["for-each-ref"]), refs);
}
