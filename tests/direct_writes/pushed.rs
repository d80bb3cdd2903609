//! Pushes to a `file` remote that take long, or meet very many refs: they end in time, and both repositories are whole.
//! Trust: test code; programs are stopped while the pack arrives at the other side.

use crate::{
    World,
    frozen::{PATIENCE, beneath, far_in},
    git,
    support::{
        direct::Served,
        process::{self, Process},
    },
};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::{
    fs,
    io::Write as _,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

/// Where a push keeps what has not arrived whole: the names.
fn arriving(origin: &Path) -> Vec<String> {
    let entries = fs::read_dir(origin.join("objects")).expect("it is there").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("incoming")).collect()
}

/// Asks for a push of `far` and stops all that it started while its pack arrives.
fn stopped_amid(served: &mut Served, world: &World, origin: &Path) -> (Value, Vec<Process>) {
    let pid = served.0.pid();
    // one that was done before it was met is taken back
    for _ in 0..20 {
        let before = arriving(origin).len();
        let id = served.0.ask("repo_push", json!({"branch": "far"}));
        let mut done = false;
        while !done {
            if arriving(origin).len() > before {
                let programs: Vec<_> = process::of_kind(pid, "write-net").into_iter().flat_map(beneath).collect();
                programs.iter().for_each(|program| program.stop());
                if programs.len() >= 3 && arriving(origin).len() > before {
                    return (id, programs);
                }
                programs.iter().for_each(|program| program.signal(Signal::SIGCONT));
            }
            done = served.0.receive(Duration::from_millis(1)).is_some_and(|message| message["id"] == id);
        }
        // what of it there is: its time may have been over before it was met
        for (dir, words) in [
            (origin, &["update-ref", "-d", "refs/heads/far"][..]),
            (origin, &["gc", "-q", "--prune=now"]),
            (&world.repo, &["update-ref", "-d", "refs/remotes/origin/far"]),
            (&world.repo, &["config", "--remove-section", "branch.far"]),
        ] {
            let _ = world.place.command("git").current_dir(dir).args(words).output().expect("git is installed");
        }
    }
    panic!("no push was met while its pack arrived")
}

#[test]
fn one_whose_other_side_stands_still_ends_in_time_and_can_be_done_again() {
    for taken_back in [false, true] {
        let world = World::new();
        far_in(&world, &world.repo);
        let origin = world.place.at("origin.git");
        git(&world.place, &origin, &["config", "core.compression", "0"]);
        let refs_of = |dir: &Path| git(&world.place, dir, &["for-each-ref"]);
        let (there, here) = (refs_of(&origin), refs_of(&world.repo));
        let time = if taken_back { "120" } else { "10" };
        let mut served = Served::writing(&world.place, &world.repo, &["--timeout", time]);
        served.value("repo_info", json!({}));
        let (id, programs) = stopped_amid(&mut served, &world, &origin);
        let since = Instant::now();
        let mut reason = None;
        if taken_back {
            served.0.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
        } else {
            let failure = served.0.answer(&id).message["result"]["structuredContent"]["error"].clone();
            assert_eq!(failure["class"], "timeout", "{failure}");
            reason = Some(failure["reason"].as_str().expect("a reason").to_owned());
        }
        let left = || programs.iter().filter(|it| it.is_alive()).map(|it| it.arguments()).collect::<Vec<_>>();
        assert!(process::until(PATIENCE, || left().is_empty()), "still there: {:?}", left());
        assert!(since.elapsed() < PATIENCE, "it took {:?}", since.elapsed());
        assert_eq!((refs_of(&origin), refs_of(&world.repo)), (there, here));
        for dir in [&origin, &world.repo] {
            git(&world.place, dir, &["fsck", "--connectivity-only", "--no-dangling"]);
        }
        // what is stopped cannot take away what it has begun, so that is there, and is told: here, or by the next push
        let arrived = arriving(&origin);
        assert!(!arrived.is_empty());
        if let Some(reason) = reason {
            for name in &arrived {
                assert!(reason.contains(name) && reason.contains(&*origin.to_string_lossy()), "{name}: {reason}");
            }
        }
        assert!(served.0.finish().status.success());

        let mut served = Served::writing(&world.place, &world.repo, &["--timeout", "120"]);
        let pushed = served.value("repo_push", json!({"branch": "far"}));
        assert_eq!(pushed["pushed"], "far");
        let notes = pushed["notes"].to_string();
        for name in &arrived {
            assert!(notes.contains(name), "{name}: {notes}");
        }
        assert_eq!(git(&world.place, &origin, &["rev-parse", "far"]), world.git(&["rev-parse", "far"]));
        git(&world.place, &origin, &["fsck", "--connectivity-only", "--no-dangling"]);
        // the caller does as is said, and nothing is named any more
        for name in &arrived {
            fs::remove_dir_all(origin.join("objects").join(name)).expect("it was named");
        }
        assert_eq!(served.value("repo_push", json!({"branch": "far"})).get("notes"), None);
        assert!(served.0.finish().status.success());
    }
}

#[test]
fn one_to_a_remote_of_very_many_refs() {
    let refs = if crate::support::slow() { 100_000 } else { 5_000 };
    let world = World::new();
    let origin = world.place.at("origin.git");
    let tip = git(&world.place, &origin, &["rev-parse", "main"]);
    let mut update = world.place.command("git");
    update.current_dir(&origin).args(["update-ref", "--stdin"]).stdin(Stdio::piped());
    let mut update = update.spawn().expect("git is installed");
    let orders: String = (0..refs).map(|number| format!("create refs/heads/many/{number} {tip}\n")).collect();
    update.stdin.take().expect("a pipe").write_all(orders.as_bytes()).expect("git reads");
    assert!(update.wait().expect("it was started").success());
    git(&world.place, &origin, &["pack-refs", "--all"]);
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", "120"]);
    served.value("repo_create_branch", json!({"name": "topic"}));
    assert_eq!(served.value("repo_push", json!({"branch": "topic"}))["pushed"], "topic");
    assert_eq!(git(&world.place, &origin, &["rev-parse", "topic"]), world.git(&["rev-parse", "topic"]));
    served.value("repo_fetch", json!({}));
    let listed = world.git(&["for-each-ref", "refs/remotes/origin/many"]);
    assert_eq!(listed.lines().count(), refs);
    // and reads of so many say how many there are
    let answer = served.0.call("repo_snapshot", json!({})).message;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}
