//! Reads beside writes: neither holds up the other, and lock files of others are named (contract `direct/corrections.md` B9).
//! Trust: test code.

use crate::{World, support::direct::Served};
use serde_json::{Value, json};
use std::{
    fs,
    time::{Duration, SystemTime},
};

/// Reads that look at the working tree or the index.
fn reads() -> [(&'static str, Value); 7] {
    [
        ("repo_snapshot", json!({})),
        ("repo_status", json!({})),
        ("repo_diff", json!({})),
        ("repo_diff_stat", json!({})),
        ("repo_conflicts", json!({})),
        ("repo_list_files", json!({})),
        ("repo_try_merge", json!({"source": "clash"})),
    ]
}

#[test]
fn reads_take_no_lock_and_need_none() {
    let world = World::new();
    let mut served = Served::writing(&world.place, &world.repo, &[]);
    // what is racy would be written by a git that refreshes
    world.write("a.txt", "touched\n");
    let index = world.repo.join(".git/index");
    let before = (fs::read(&index).expect("it is there"), fs::metadata(&index).and_then(|it| it.modified()).ok());
    let lock = world.repo.join(".git/index.lock");
    fs::write(&lock, "").expect("ours");
    let old = SystemTime::now() - Duration::from_secs(3 * 3_600);
    fs::File::options().write(true).open(&lock).and_then(|file| file.set_modified(old)).expect("ours");
    for (tool, arguments) in reads() {
        served.value(tool, arguments);
    }
    let after = (fs::read(&index).expect("it is there"), fs::metadata(&index).and_then(|it| it.modified()).ok());
    assert_eq!(before, after);
    // whoever writes names it, with its age, and takes it away for nobody
    for (tool, arguments) in [
        ("repo_commit", json!({"paths": ["a.txt"], "message": "x"})),
        ("repo_checkout", json!({"reference": "feature"})),
        ("repo_rebase", json!({"onto": "clash"})),
    ] {
        let failure = served.fails(tool, arguments, "locked");
        let reason = failure["reason"].as_str().expect("a reason");
        assert!(reason.contains("/.git/index.lock") && reason.contains("3 h old"), "{tool}: {failure}");
        assert!(lock.exists(), "{tool}");
    }
    fs::remove_file(&lock).expect("it is there");
    served.value("repo_commit", json!({"paths": ["a.txt"], "message": "x"}));
}

#[test]
fn writes_and_reads_of_several_servers_at_a_time() {
    let world = World::new();
    let mut writer = Served::writing(&world.place, &world.repo, &[]);
    let mut readers = [(); 2].map(|()| Served::reading(&world.place, &world.repo));
    let rounds = 12;
    for round in 0..rounds {
        world.write("a.txt", &format!("round {round}\n"));
        let id = writer.0.ask("repo_commit", json!({"paths": ["a.txt"], "message": format!("round {round}")}));
        let asked: Vec<_> = readers
            .iter_mut()
            .enumerate()
            .flat_map(|(at, reader)| reads().map(|(tool, arguments)| (at, tool, reader.0.ask(tool, arguments))))
            .collect();
        for (at, tool, id) in asked {
            let answer = readers[at].0.answer(&id).message;
            assert_eq!(answer["result"]["isError"], false, "{tool} in round {round}: {answer}");
        }
        let answer = writer.0.answer(&id).message;
        assert_eq!(answer["result"]["isError"], false, "round {round}: {answer}");
    }
    assert_eq!(world.git(&["rev-list", "--count", "origin/main..main"]), rounds.to_string());
    world.git(&["fsck", "--strict", "--no-dangling"]);
}
