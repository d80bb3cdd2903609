//! Writes whose process is killed at any moment: refs stay whole, restore points can be gone back to, and what is left
//! behind is named by the next call. Trust: test code; moments come from the dice of a fixed seed.

use crate::{
    support::{
        dice::Dice,
        direct::{Came, Served},
        process,
    },
    sweep::{GIVEN, call},
    world::World,
};
use nix::sys::signal::Signal;
use serde_json::json;
use std::{fs, path::PathBuf, time::Duration};

/// Lock files of Git in the git directory, at any depth.
fn locks(world: &World) -> Vec<PathBuf> {
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

#[test]
fn a_write_that_is_killed_leaves_whole_refs_and_a_way_back() {
    let world = World::new().watched();
    let serve = || Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    let mut served = serve();
    served.value("repo_status", json!({}));
    let mut dice = Dice(20_261_201);
    let tips = world.tips();
    let (mut killed, mut named) = (0, 0);
    for round in 0..25 {
        // a server whose worker ends too often waits before it starts the next
        if round % 5 == 4 {
            world.holds(std::mem::replace(&mut served, serve()));
            served.value("repo_status", json!({}));
        }
        let (tool, arguments) = if round % 3 == 2 {
            world.git(&["checkout", "-q", "-f", "-B", "moved", "feature"]);
            ("repo_rebase", json!({"onto": "main"}))
        } else {
            world.write("a.txt", format!("round {round}\n"));
            ("repo_commit", json!({"paths": ["a.txt"], "message": format!("round {round}")}))
        };
        let id = served.0.ask(tool, arguments);
        let pid = served.0.pid();
        let mut found = Vec::new();
        let started = process::until(Duration::from_secs(10), || {
            found = process::of_kind(pid, "write");
            !found.is_empty()
        });
        assert!(started, "no worker was seen: {:?}", served.0.answer(&id).message);
        std::thread::sleep(Duration::from_millis(dice.below(250) as u64));
        for worker in found {
            let gits = worker.children();
            let target = if dice.below(3) == 0 { gits.first().copied().unwrap_or(worker) } else { worker };
            // it may have ended by itself in the meantime
            killed +=
                usize::from(nix::sys::signal::kill(nix::unistd::Pid::from_raw(target.0), Signal::SIGKILL).is_ok());
        }
        let came = crate::support::direct::came(&served.0.answer(&id).message);
        eprintln!("{round} {tool}: {came:?}");
        // every ref is whole, whatever moment it was
        world.git(&["for-each-ref", "--format=%(objectname) %(objecttype)"]);
        world.git(&["fsck", "--connectivity-only", "--no-dangling"]);
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
            if !matches!(came, Came::Value(_)) {
                world.try_git(&world.repo, &["rebase", "--quit"]);
            }
        }
        world.git(&["reset", "-q", "--hard"]);
    }
    assert!(killed > 0, "nothing was killed");
    eprintln!("{killed} killed, {named} locks named");
    served = serve();
    for point in served.value("repo_restore_points", json!({"max": 200})).as_array().expect("a list").iter().step_by(6)
    {
        served.value("repo_restore", json!({"id": point["id"]}));
        assert_eq!(json!(world.git(&["rev-parse", "HEAD"])), point["head"]);
    }
    world.lost_nothing(&tips);
    world.holds(served);
}
