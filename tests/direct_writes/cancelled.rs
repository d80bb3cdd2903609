//! Writes that nobody waits for any more: what works on them is gone, nothing stays locked, the next write is not held up, and
//! the caller is told where things stand and has the way back. Trust: test code; moments are those that can be seen.

use crate::{
    World,
    support::{
        Start,
        direct::{Came, Served, identity},
        process::{self, Process},
    },
};
use serde_json::{Value, json};
use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Far longer than anything here takes, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(40);
/// Seconds of a call: a write that is held up until another one's time is over fails these tests.
const GIVEN: &str = "120";

/// Everything beneath a process, itself too.
fn tree(of: Process) -> Vec<Process> {
    let mut all = vec![of];
    let mut at = 0;
    while let Some(next) = all.get(at).copied() {
        all.extend(next.children());
        at += 1;
    }
    all
}

/// Lock files of Git in a git directory, at any depth.
fn locks(git_dir: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![git_dir.to_owned()]);
    while let Some(dir) = open.pop() {
        for path in fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
            match path.extension() {
                _ if path.is_dir() => open.push(path),
                Some(extension) if extension == "lock" => found.push(path),
                _ => {}
            }
        }
    }
    found
}

/// Asks for a write, waits until `begun`, and takes the question back. What worked on it must be gone.
fn taken_back(served: &mut Served, ask: (&str, Value), kind: &str, begun: impl Fn(&[Process]) -> bool) {
    let id = served.0.ask(ask.0, ask.1);
    let pid = served.0.pid();
    let mut at_work = Vec::new();
    let seen = process::until(PATIENCE, || {
        at_work = process::of_kind(pid, kind).into_iter().flat_map(tree).collect();
        begun(&at_work)
    });
    assert!(seen, "{} did not begin: {:?}", ask.0, served.0.receive(Duration::ZERO));
    served.0.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    let gone = process::until(PATIENCE, || {
        process::of_kind(pid, kind).is_empty() && at_work.iter().all(|process| !process.is_alive())
    });
    assert!(gone, "{}: {:?} are still there", ask.0, at_work.iter().map(|it| it.arguments()).collect::<Vec<_>>());
    // the protocol wants no answer to it
    assert_eq!(served.0.receive(Duration::from_millis(50)), None, "{}", ask.0);
}

/// Nothing is locked any more by a Git that held a lock when it was told to end.
fn unlocked(world: &World) {
    assert_eq!(locks(&world.repo.join(".git")), Vec::<PathBuf>::new());
}

/// A Git that is told to end in the very moment in which it makes a lock file leaves it. The next write names it then, and the
/// caller does as is said.
fn unlocked_as_told(served: &mut Served, world: &World) {
    let left = locks(&world.repo.join(".git"));
    // what lies with an open rebase goes with it
    let left: Vec<_> = left.iter().filter(|lock| !lock.to_string_lossy().contains("/rebase-merge/")).collect();
    if !left.is_empty() {
        let failure = served.fails("repo_tag_create", json!({"name": "locked"}), "locked");
        for lock in left {
            let shown = lock.to_str().expect("places have UTF-8 paths");
            assert!(failure["reason"].as_str().is_some_and(|reason| reason.contains(shown)), "{shown}: {failure}");
            fs::remove_file(lock).expect("it is there");
        }
    }
}

/// A write that would wait, were anything held.
fn not_held_up(served: &mut Served, world: &World, name: &str) {
    let since = Instant::now();
    served.value("repo_create_branch", json!({ "name": name }));
    assert!(since.elapsed() < PATIENCE, "it waited {:?}", since.elapsed());
    assert_eq!(world.git(&["rev-parse", name]), world.git(&["rev-parse", "HEAD"]));
    world.git(&["fsck", "--connectivity-only", "--no-dangling"]);
}

fn writing(world: &World) -> Served {
    up(Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]))
}

/// With all its processes started.
fn up(mut served: Served) -> Served {
    served.value("repo_info", json!({}));
    served
}

fn points(served: &mut Served) -> Vec<Value> {
    served.value("repo_restore_points", json!({"max": 50})).as_array().expect("a list").clone()
}

#[test]
fn a_fetch_and_a_push_whose_other_side_is_silent() {
    let world = World::new();
    // it takes calls and says nothing, for as long as anybody waits
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    silent.set_nonblocking(true).expect("it is ours");
    let port = silent.local_addr().expect("it is bound").port();
    let there = world.git(&["remote", "get-url", "origin"]);
    world.git(&["remote", "set-url", "origin", &format!("https://127.0.0.1:{port}/x.git")]);
    let before = world.git(&["for-each-ref"]);
    let mut served = writing(&world);
    let held = std::cell::RefCell::new(Vec::new());
    for ask in [("repo_fetch", json!({})), ("repo_push", json!({"branch": "main"}))] {
        held.borrow_mut().clear();
        taken_back(&mut served, ask, "write-net", |_| {
            held.borrow_mut().extend(silent.accept().ok());
            !held.borrow().is_empty()
        });
        unlocked(&world);
        assert_eq!(world.git(&["for-each-ref"]), before);
        assert_eq!(served.value("repo_snapshot", json!({}))["operation"], "Clear");
    }
    // neither the other kind of writer nor the same one is held up
    not_held_up(&mut served, &world, "after");
    world.git(&["remote", "set-url", "origin", &there]);
    assert_eq!(served.value("repo_fetch", json!({}))["fetched"], true);
    assert!(served.0.finish().status.success());
}

#[test]
fn a_commit_whose_filter_takes_its_time() {
    let world = World::new();
    identity(&world.place);
    let config = world.place.home().join(".gitconfig");
    let own = fs::read_to_string(&config).expect("it was written");
    fs::write(config, format!("{own}[filter \"slow\"]\n\tclean = sleep 600\n")).expect("ours");
    fs::create_dir_all(world.repo.join(".git/info")).expect("ours");
    fs::write(world.repo.join(".git/info/attributes"), "a.txt filter=slow\n").expect("ours");
    let head = world.git(&["rev-parse", "HEAD"]);
    world.write("a.txt", "to be committed\n");
    world.write("unsaved.txt", "not tracked\n");
    let start = Start::new(&world.place).arguments(&["--surface", "direct", "--allow-write", "--filters", "user"]);
    let mut served = up(Served(start.arguments(&["--timeout", GIVEN, "--repo"]).argument(&world.repo).spawn()));
    let ask = ("repo_commit", json!({"paths": ["a.txt"], "message": "slow"}));
    let sleeps = |process: &Process| process.arguments().first().is_some_and(|word| word.ends_with("sleep"));
    taken_back(&mut served, ask, "write", |at_work| at_work.iter().any(sleeps));
    unlocked(&world);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(served.value("repo_snapshot", json!({}))["operation"], "Clear");
    assert_eq!(fs::read_to_string(world.repo.join("a.txt")).expect("it is there"), "to be committed\n");
    not_held_up(&mut served, &world, "after");
    // without the filter the same call does what was meant
    fs::remove_file(world.repo.join(".git/info/attributes")).expect("it was made");
    let done = served.value("repo_commit", json!({"paths": ["a.txt"], "message": "quick"}));
    served.value("repo_restore", json!({"id": done["restore_point"]}));
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert!(served.0.finish().status.success());
}

/// Gives up what is open. A Git that is ended between a file and the index that knows of it leaves the file untracked, and
/// then it is in the way: it is named, and the caller does as is said.
fn given_up(served: &mut Served, world: &World) -> Value {
    match served.call("repo_abort_in_progress", json!({})) {
        Came::Value(value) => value,
        Came::Failure(class, failure) => {
            let reason = failure["reason"].as_str().unwrap_or_default();
            let named =
                reason.lines().filter_map(|line| line.strip_prefix('\t')).filter(|path| path.starts_with("many/"));
            let named: Vec<_> = named.map(str::to_owned).collect();
            assert!(
                class == "dirty" && !named.is_empty() && failure["restore_point"].is_string(),
                "{class}: {failure}"
            );
            named.iter().for_each(|path| fs::remove_file(world.repo.join(path)).expect("it was named"));
            served.value("repo_abort_in_progress", json!({}))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_rebase_of_many_commits() {
    let world = World::new();
    // commits upon an old one, made by the stream that git takes fastest
    let mut stream = String::from("feature done\n");
    for number in 1..=400 {
        let from = if number == 1 { "from refs/heads/feature\n" } else { "" };
        stream += &format!(
            "commit refs/heads/long\ncommitter L <l@example.invalid> {} +0000\ndata 2\nc\n{from}M 644 inline many/{number}\n\
             data 2\nx\n\n",
            1_700_000_000 + number
        );
    }
    stream += "done\n";
    let file = world.place.at("stream");
    fs::write(&file, stream).expect("ours");
    let mut import = world.place.command("git");
    import.current_dir(&world.repo).args(["fast-import", "--quiet"]).stdin(fs::File::open(&file).expect("it was made"));
    assert!(import.status().expect("git is installed").success());
    world.git(&["checkout", "-q", "long"]);
    let tip = world.git(&["rev-parse", "long"]);
    world.write("unsaved.txt", "not tracked\n");

    let mut served = writing(&world);
    let done = world.repo.join(".git/rebase-merge/msgnum");
    let some = || fs::read_to_string(&done).ok().and_then(|text| text.trim().parse::<u32>().ok()) >= Some(3);
    taken_back(&mut served, ("repo_rebase", json!({"onto": "main"})), "write", |_| some());
    unlocked_as_told(&mut served, &world);
    // how things stand is said, by reads and by the next write
    assert_eq!(served.value("repo_snapshot", json!({}))["operation"], "Rebase");
    let refused = served.fails("repo_rebase", json!({"onto": "clash"}), "refused");
    assert_eq!(refused["operation_state"], "Rebase");
    assert_eq!(world.git(&["rev-parse", "long"]), tip, "the branch is moved at the end");
    let point = points(&mut served)[0].clone();
    assert_eq!((&point["before"], &point["head"]), (&json!("repo_rebase"), &json!(tip)));
    not_held_up(&mut served, &world, "after");
    let given_up = given_up(&mut served, &world);
    assert_eq!(given_up["operation_state"], "Clear");
    assert_eq!(world.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "long");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), tip);
    // gone on from there, and back to the point of the one that was taken back
    served.value("repo_checkout", json!({"reference": "main"}));
    served.value("repo_restore", json!({"id": point["id"]}));
    assert_eq!(world.git(&["rev-parse", "HEAD"]), tip);
    assert_eq!(world.git(&["status", "--porcelain"]), "?? unsaved.txt");
    assert!(served.0.finish().status.success());
}

/// At whatever moment: the repository is whole, and either all was done or it can be begun again.
#[test]
fn writes_taken_back_at_any_moment() {
    let world = World::new();
    let mut served = writing(&world);
    let mut dice = crate::support::dice::Dice(20_261_202);
    for round in 0..10 {
        let before = world.git(&["rev-parse", "HEAD"]);
        world.write("a.txt", &format!("round {round}\n"));
        let id = served.0.ask("repo_commit", json!({"paths": ["a.txt"], "message": format!("round {round}")}));
        std::thread::sleep(Duration::from_millis(dice.below(150) as u64));
        served.0.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
        let pid = served.0.pid();
        assert!(process::until(PATIENCE, || process::of_kind(pid, "write").is_empty()), "round {round}");
        unlocked_as_told(&mut served, &world);
        not_held_up(&mut served, &world, &format!("after-{round}"));
        let head = world.git(&["rev-parse", "HEAD"]);
        assert!(head == before || world.git(&["rev-parse", "HEAD~1"]) == before, "round {round}: {head}");
        assert_eq!(served.value("repo_snapshot", json!({}))["operation"], "Clear");
        assert_eq!(fs::read_to_string(world.repo.join("a.txt")).expect("it is there"), format!("round {round}\n"));
        world.git(&["reset", "-q", "--hard"]);
    }
    assert!(served.0.finish().status.success());
}
