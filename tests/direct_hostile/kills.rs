//! Writes whose process is killed at any moment: refs stay whole, restore points can be gone back to, and what is left
//! behind is named by the next call. Trust: test code; moments come from the dice of a fixed seed.

use crate::{
    support::{
        dice::Dice,
        direct::{Came, Served},
        process::{self, Process},
    },
    sweep::{GIVEN, call},
    world::World,
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use sha1::{Digest as _, Sha1};
use std::{fs, path::PathBuf, time::Duration};

/// Lock files of Git in the git directory, at any depth.
pub fn locks(world: &World) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![world.repo.join(".git")];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).expect("it is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "lock") {
                found.push(path);
            }
        }
    }
    found
}

/// What is asked in a round, with work that nobody has committed: text of `a.txt` where the write may replace that file, else
/// of a file that is not tracked.
fn prepared(world: &World, served: &mut Served, round: usize) -> (&'static str, Value, &'static str, String) {
    let text = format!("round {round}\n");
    let file = if matches!(round % 5, 1 | 2) { "unsaved.txt" } else { "a.txt" };
    let (tool, arguments) = match round % 5 {
        0 => ("repo_commit", json!({"paths": ["a.txt"], "message": text.trim()})),
        1 => ("repo_checkout", json!({"reference": "feature"})),
        2 => {
            world.git(&["checkout", "-q", "-f", "-B", "moved", "feature"]);
            ("repo_rebase", json!({"onto": "main"}))
        }
        3 => {
            world.git(&["checkout", "-q", "-f", "-B", "moved", "main~1"]);
            world.write("a.txt", "mine\n");
            world.git(&["commit", "-q", "-a", "-m", "mine"]);
            assert!(!world.try_git(&world.repo, &["merge", "-q", "clash"]).status.success(), "it conflicts");
            ("repo_resolve_conflict", json!({"path": "a.txt", "side": "theirs"}))
        }
        _ => {
            let points = served.value("repo_restore_points", json!({"max": 1}));
            ("repo_restore", json!({"id": points[0]["id"]}))
        }
    };
    world.write(file, &text);
    (tool, arguments, file, text)
}

/// The id of a text as an object of Git.
fn blob_of(text: &str) -> String {
    let hash = Sha1::digest([format!("blob {}\0", text.len()).as_bytes(), text.as_bytes()].concat());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The process beneath a worker that runs Git, where one does: the keeper of its programs has the worker's own words.
fn git_of(worker: Process) -> Option<Process> {
    worker.children().into_iter().find(|child| child.arguments() != worker.arguments())
}

#[test]
fn a_write_that_is_killed_leaves_whole_refs_and_a_way_back() {
    let world = World::new().watched();
    let serve = || Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    let mut served = serve();
    served.value("repo_status", json!({}));
    let mut dice = Dice(20_261_201);
    let rounds = if crate::support::slow() { 500 } else { 40 };
    let tips = world.tips();
    let (mut killed, mut named, mut elsewhere) = (0, 0, 0);
    for round in 0..rounds {
        // a server whose worker ends too often waits before it starts the next
        if round % 5 == 4 {
            world.holds(std::mem::replace(&mut served, serve()));
            served.value("repo_status", json!({}));
        }
        let (tool, arguments, file, text) = prepared(&world, &mut served, round);
        let id = served.0.ask(tool, arguments);
        let pid = served.0.pid();
        let (mut found, mut answer) = (Vec::new(), None);
        // one that was done before it was seen was not met
        let seen = process::until(Duration::from_secs(10), || {
            found = process::of_kind(pid, "write");
            if found.is_empty() {
                answer = served.0.receive(Duration::ZERO);
            }
            !found.is_empty() || answer.is_some()
        });
        assert!(seen, "neither a worker nor an answer was seen");
        // a write takes some twenty milliseconds, more where the disk or a build without optimisation takes its time
        std::thread::sleep(Duration::from_millis(dice.below(40) as u64));
        for worker in found {
            let target = if dice.below(3) == 0 { git_of(worker).unwrap_or(worker) } else { worker };
            // it may have ended by itself in the meantime
            killed +=
                usize::from(nix::sys::signal::kill(nix::unistd::Pid::from_raw(target.0), Signal::SIGKILL).is_ok());
        }
        let answer = answer.unwrap_or_else(|| served.0.answer(&id).message);
        assert_eq!(answer["id"], id, "{answer}");
        let came = crate::support::direct::came(&answer);
        eprintln!("{round} {tool}: {came:?}");
        // every ref is whole, whatever moment it was
        world.git(&["for-each-ref", "--format=%(objectname) %(objecttype)"]);
        world.git(&["fsck", "--connectivity-only", "--no-dangling"]);
        // what nobody had committed is where it was, or a commit or a point has it
        if !fs::read_to_string(world.repo.join(file)).is_ok_and(|content| content == text) {
            let objects = world.git(&["rev-list", "--objects", "--all", "--no-object-names"]);
            let blob = blob_of(&text);
            assert!(objects.lines().any(|id| id == blob), "{round} {tool}: {text:?} of {file} is lost: {came:?}");
            elsewhere += 1;
        }
        // what was left behind is named, and the next write goes on when it is away
        let left = locks(&world);
        if !left.is_empty() {
            let next = call(&mut served, "repo_tag_create", &json!({"name": format!("t{round}")}));
            if let Came::Failure(class, failure) = &next
                && class == "locked"
            {
                let reason = failure["reason"].as_str().expect("a reason");
                let says =
                    left.iter().any(|lock| reason.contains(&*lock.file_name().expect("a name").to_string_lossy()));
                assert!(says, "{left:?}: {reason}");
                named += 1;
            }
            left.iter().for_each(|lock| drop(fs::remove_file(lock)));
        }
        let state = served.value("repo_snapshot", json!({}))["operation"].clone();
        if state != "Clear" {
            let came = call(&mut served, "repo_abort_in_progress", &json!({}));
            eprintln!("{round} abort of {state}: {came:?}");
            // one that is killed while it begins leaves too little to go back by, and says so
            if !matches!(came, Came::Value(_)) {
                world.try_git(&world.repo, &["rebase", "--quit"]);
            }
        }
        world.git(&["reset", "-q", "--hard"]);
        world.git(&["checkout", "-q", "-f", "main"]);
        let _ = fs::remove_file(world.repo.join("unsaved.txt"));
    }
    assert!(killed > 0, "nothing was killed");
    eprintln!("{killed} killed, {named} locks named, {elsewhere} texts kept by a commit or a point alone");
    served = serve();
    // going back makes points as well, for which the oldest give way
    let points = served.value("repo_restore_points", json!({"max": 50}));
    for point in points.as_array().expect("a list").iter().step_by(7) {
        served.value("repo_restore", json!({"id": point["id"]}));
        assert_eq!(json!(world.git(&["rev-parse", "HEAD"])), point["head"]);
    }
    world.lost_nothing(&tips);
    world.holds(served);
}
