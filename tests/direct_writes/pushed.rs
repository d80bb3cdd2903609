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
use serde_json::json;
use std::{fs, io::Write as _, path::Path, process::Stdio, time::Duration};

/// Where a push keeps what has not arrived whole.
fn arriving(origin: &Path) -> usize {
    let entries = fs::read_dir(origin.join("objects")).expect("it is there").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().contains("incoming")).count()
}

#[test]
fn one_whose_other_side_stands_still_ends_in_time_and_can_be_done_again() {
    let world = World::new();
    far_in(&world, &world.repo);
    let origin = world.place.at("origin.git");
    let refs_of = |dir: &Path| git(&world.place, dir, &["for-each-ref"]);
    let (there, here) = (refs_of(&origin), refs_of(&world.repo));
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", "10"]);
    served.value("repo_info", json!({}));
    let pid = served.0.pid();
    let mut met = None;
    // one that was done before it was met is taken back
    for _ in 0..20 {
        let before = arriving(&origin);
        let id = served.0.ask("repo_push", json!({"branch": "far"}));
        let mut done = false;
        while !done && met.is_none() {
            if arriving(&origin) > before {
                let programs: Vec<_> = process::of_kind(pid, "write-net").into_iter().flat_map(beneath).collect();
                programs.iter().for_each(|program| program.stop());
                if programs.len() >= 3 && arriving(&origin) > before {
                    met = Some((id.clone(), programs));
                    break;
                }
                programs.iter().for_each(|program| program.signal(Signal::SIGCONT));
            }
            done = served.0.receive(Duration::from_millis(1)).is_some_and(|message| message["id"] == id);
        }
        if met.is_some() {
            break;
        }
        // what of it there is: its time may have been over before it was met
        for (dir, words) in [
            (&origin, &["update-ref", "-d", "refs/heads/far"][..]),
            (&origin, &["gc", "-q", "--prune=now"]),
            (&world.repo, &["update-ref", "-d", "refs/remotes/origin/far"]),
            (&world.repo, &["config", "--remove-section", "branch.far"]),
        ] {
            let _ = world.place.command("git").current_dir(dir).args(words).output().expect("git is installed");
        }
    }
    let (id, programs): (_, Vec<Process>) = met.expect("a push is met while its pack arrives");
    let answer = served.0.answer(&id).message;
    assert_eq!(answer["result"]["structuredContent"]["error"]["class"], "timeout", "{answer}");
    let left = || programs.iter().filter(|it| it.is_alive()).map(|it| it.arguments()).collect::<Vec<_>>();
    assert!(process::until(PATIENCE, || left().is_empty()), "still there: {:?}", left());
    assert_eq!((refs_of(&origin), refs_of(&world.repo)), (there, here));
    for dir in [&origin, &world.repo] {
        git(&world.place, dir, &["fsck", "--connectivity-only", "--no-dangling"]);
    }
    assert!(served.0.finish().status.success());

    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", "120"]);
    assert_eq!(served.value("repo_push", json!({"branch": "far"}))["pushed"], "far");
    assert_eq!(git(&world.place, &origin, &["rev-parse", "far"]), world.git(&["rev-parse", "far"]));
    git(&world.place, &origin, &["fsck", "--connectivity-only", "--no-dangling"]);
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
