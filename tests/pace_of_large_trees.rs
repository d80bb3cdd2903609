//! A walk that takes long says so, ends in time with what it has, and stops when it is told to, with the worker alive.
//! Trust: the repository is honest and slow: no stat data, so that every large file is hashed at every call.

mod support;

use serde_json::{Value, json};
use std::{
    fs,
    time::{Duration, Instant},
};
use support::{Place, Repo, Server, Start, process};

/// Large files, which are holes on the disk, and their size.
const LARGE: (usize, u64) = (600, 16 << 20);
/// Small files, so that more than one thread walks.
const SMALL: usize = 2_400;

fn slow(place: &Place) -> Repo<'_> {
    let repo = Repo::init(place, "repo");
    let size = LARGE.1;
    for number in 0..SMALL {
        repo.write(format!("small/{}/f{number}", number % 40), format!("{number}\n"));
    }
    repo.commit("small");
    for number in 0..LARGE.0 {
        let path = repo.at(format!("large/{}/f{number}", number % 20));
        fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
        fs::File::create(path).and_then(|file| file.set_len(size)).expect("ours");
    }
    let id = repo.git(&["hash-object", "-w", "large/0/f0"]);
    let lines: String =
        (0..LARGE.0).map(|number| format!("100644 {id} 0\tlarge/{}/f{number}\n", number % 20)).collect();
    repo.write(".git/entries", lines);
    repo.git(&["-c", "alias.enter=!git update-index --index-info < .git/entries", "enter"]);
    repo
}

/// The workers of the server, by process id.
fn workers(server: &Server) -> Vec<i32> {
    process::workers(server.pid()).into_iter().map(|worker| worker.0).collect()
}

/// Ticks of the processor that each worker has used.
fn work(server: &Server) -> Vec<(i32, u64)> {
    let ticks = |worker: &process::Process| {
        let stat = fs::read_to_string(worker.proc("stat")).expect("it is alive");
        let after_name = stat.rsplit(')').next().expect("a name in brackets");
        after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
    };
    process::workers(server.pid()).iter().map(|worker| (worker.0, ticks(worker))).collect()
}

/// A question that the worker refuses before it walks anything, once it is free.
fn is_free(server: &mut Server, repo: &Repo<'_>) -> Duration {
    let outcome = server.call("repo.status", json!({"repoPath": repo.path(), "cursor": "none of ours"}));
    assert_eq!(outcome.reason(), Some("bad-argument"), "{}", outcome.message);
    outcome.elapsed
}

fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[test]
fn a_partial_answer_at_the_deadline() {
    let place = Place::new();
    let repo = slow(&place);
    let mut server = Start::new(&place).root(place.path()).arguments(&["--deadline", "1"]).spawn();
    // the start of the worker belongs to no walk
    is_free(&mut server, &repo);
    let before = workers(&server);
    for tool in ["repo.status", "worktree.changes", "repo.brief"] {
        let outcome = server.read(tool, repo.path());
        let data = outcome.data();
        assert_eq!(data["partial"]["reason"], json!("deadline"), "{tool}: {data}");
        assert!(outcome.elapsed >= Duration::from_millis(700), "{tool} gave up after {:?}", outcome.elapsed);
        assert!(outcome.elapsed <= Duration::from_millis(1_900), "{tool}: {:?}", outcome.elapsed);
        if tool == "repo.status" {
            assert_eq!(data["clean"], json!(false), "what was not looked at is not clean");
        }
    }
    assert_eq!(workers(&server), before, "a walk that keeps its time costs no worker");
    assert!(server.finish().status.success());
}

#[test]
fn a_cancelled_walk_stops_and_leaves_the_worker() {
    let place = Place::new();
    let repo = slow(&place);
    let mut server = Start::new(&place).root(place.path()).arguments(&["--deadline", "60"]).spawn();
    is_free(&mut server, &repo);
    let before = workers(&server);
    for tool in ["repo.status", "worktree.changes", "repo.brief"] {
        let id = server.ask(tool, json!({"repoPath": repo.path()}));
        std::thread::sleep(Duration::from_millis(250));
        let cancelled = Instant::now();
        server.send(&notification("notifications/cancelled", json!({"requestId": id})));
        std::thread::sleep(Duration::from_millis(500).saturating_sub(cancelled.elapsed()));
        let stopped = work(&server);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(work(&server), stopped, "{tool} goes on half a second after it was cancelled");
        is_free(&mut server, &repo);
    }
    let after = workers(&server);
    assert!(before.iter().all(|worker| after.contains(worker)), "a cancellation costs no worker: {before:?} {after:?}");
    assert!(server.finish().status.success());
}

#[test]
fn progress_is_told_of_a_long_walk() {
    let place = Place::new();
    let repo = slow(&place);
    let mut server = Start::new(&place).root(place.path()).arguments(&["--deadline", "3"]).spawn();
    is_free(&mut server, &repo);
    let mut meta = support::server::meta();
    meta["progressToken"] = json!("token");
    let arguments = json!({"repoPath": repo.path()});
    let id = server.request("tools/call", json!({"name": "repo.status", "arguments": arguments, "_meta": meta}));
    let mut told = Vec::new();
    loop {
        let message = server.receive(support::server::PATIENCE).expect("an answer");
        if message["id"] == id {
            break;
        }
        assert_eq!(message["method"], json!("notifications/progress"), "{message}");
        assert_eq!(message["params"]["progressToken"], json!("token"));
        told.push(message["params"]["progress"].as_f64().expect("a number"));
    }
    assert!(told.len() >= 2, "in more than a second: {told:?}");
    assert!(told.is_sorted_by(|a, b| a < b), "it never goes back: {told:?}");
    assert!(server.finish().status.success());
}
