//! More of one thing than a tool may hold, send or wait for: within the deadline, bounded, and said.
//! Trust: hostile by construction; full sizes with `BULKHEAD_SLOW=1`.

use crate::{
    support::{
        direct::{Came, Served},
        objects::id_of,
        pack::{Pack, copies},
        process, slow,
    },
    sweep::{GIVEN, call, few, reads},
    world::World,
};
use serde_json::json;
use std::{fs, io::Write as _};

/// Bytes of an answer, the envelope and its second copy aside.
const BUDGET: usize = 200_000;
/// KiB that no reader of ours may come to, whatever it reads.
const MOST_KIB: u64 = 700 << 10;

/// A server that reads, asked for a file that is too large; what its workers held at most stays within reason.
fn asked(world: &World, rev: &str, path: &str) {
    let mut served = Served::reading_with(&world.place, &world.repo, &["--timeout", GIVEN]);
    for (tool, arguments, classes) in [
        ("repo_show_file", json!({"rev": rev, "path": path}), &["too_large"][..]),
        ("repo_annotate", json!({"rev": rev, "path": path}), &["too_large"]),
        ("repo_annotate", json!({"path": path}), &["too_large", "not_found"]),
        ("repo_diff", json!({}), &[]),
        ("repo_diff_stat", json!({}), &[]),
        ("repo_status", json!({}), &[]),
    ] {
        let came = call(&mut served, tool, &arguments);
        let said = format!("{came:?}");
        assert!(said.len() < 3 * BUDGET, "{tool}: {} bytes", said.len());
        match &came {
            Came::Value(_) => {}
            Came::Failure(class, failure) => assert!(classes.contains(&class.as_str()), "{tool}: {failure}"),
            Came::Params(message) => panic!("{tool}: {message}"),
        }
    }
    for worker in process::workers(served.0.pid()) {
        let peak = worker.peak_kib().unwrap_or_default();
        assert!(peak < MOST_KIB, "{peak} KiB");
    }
    world.holds(served);
}

#[test]
fn a_file_larger_than_any_answer() {
    // 60 MB, or just beyond what is annotated
    let lines = if slow() { 1_200_000 } else { 360_000 };
    let build = || {
        let world = World::new();
        let mut text = Vec::new();
        (0..lines).for_each(|line| writeln!(text, "line {line:>8} of a file that does not end soon").expect("memory"));
        assert!(text.len() > 16 << 20);
        fs::write(world.repo.join("big.txt"), &text).expect("room");
        world.git(&["-c", "core.looseCompression=1", "add", "big.txt"]);
        world.git(&["commit", "-q", "-m", "big"]);
        text.splice(0..4, *b"LINE");
        fs::write(world.repo.join("big.txt"), &text).expect("room");
        world.watched()
    };
    let world = build();
    asked(&world, "HEAD", "big.txt");
    // it can be committed, gone away from, and come back to
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    served.value("repo_commit", json!({"paths": ["big.txt"], "message": "big again"}));
    served.value("repo_checkout", json!({"reference": "feature"}));
    assert!(!world.repo.join("big.txt").exists());
    served.value("repo_checkout", json!({"reference": "main"}));
    let mut head = vec![0; 4];
    let mut file = fs::File::open(world.repo.join("big.txt")).expect("it is back");
    std::io::Read::read_exact(&mut file, &mut head).expect("it has more");
    assert_eq!(head, b"LINE");
    world.holds(served);
}

#[test]
fn a_delta_that_grows_a_thousandfold() {
    // 400 MB, or 64, out of one
    let times = if slow() { 400 } else { 64 };
    let world = World::new();
    let base = vec![0; 1 << 20];
    let mut pack = Pack::new();
    let (_, offset) = pack.add("blob", &base);
    // the name is that of the text, as everybody reckons it who reads it
    let name = id_of("blob", &base.repeat(times));
    pack.offset_delta(&name, offset.try_into().expect("small"), &copies(base.len(), times));
    pack.write(&world.repo.join(".git"));
    world.git(&["checkout", "-q", "-b", "bomb"]);
    world.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{name},bomb.bin")]);
    world.git(&["commit", "-q", "-m", "bomb"]);
    assert_eq!(world.git(&["cat-file", "-s", &name]), (times << 20).to_string(), "a trap that git does not know");
    world.git(&["checkout", "-q", "-f", "main"]);
    let world = world.watched();
    asked(&world, "bomb", "bomb.bin");
    let mut served = Served::reading_with(&world.place, &world.repo, &["--timeout", GIVEN]);
    for (tool, arguments) in [
        ("repo_try_merge", json!({"source": "bomb"})),
        ("repo_list_files", json!({"rev": "bomb"})),
        ("repo_log", json!({"revspec_or_revset": "bomb", "max": 5})),
    ] {
        let came = call(&mut served, tool, &arguments);
        assert!(matches!(came, Came::Value(_) | Came::Failure(..)), "{tool}: {came:?}");
    }
    world.holds(served);
    // a write that does not touch it is not held up, and one that does ends in time
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    world.write("a.txt", "one\n");
    served.value("repo_commit", json!({"paths": ["a.txt"], "message": "x"}));
    let came = call(&mut served, "repo_checkout", &json!({"reference": "bomb"}));
    if matches!(came, Came::Value(_)) {
        let length = fs::metadata(world.repo.join("bomb.bin")).expect("it is there").len();
        assert_eq!(length, (times as u64) << 20);
        asked(&world, "HEAD", "bomb.bin");
    }
    served.value("repo_checkout", json!({"reference": "main"}));
    world.holds(served);
}

#[test]
fn very_many_untracked_files_are_counted_and_kept() {
    // more than a restore point holds, either way
    let count = if slow() { 60_000 } else { 6_000 };
    let world = World::new();
    let dir = world.repo.join("many-files-of-somebody");
    fs::create_dir(&dir).expect("ours");
    // beside a tracked one, else the directory is one row
    world.write("many-files-of-somebody/tracked.txt", "t\n");
    world.git(&["add", "many-files-of-somebody"]);
    world.git(&["commit", "-q", "-m", "one of them"]);
    for number in 0..count {
        fs::write(dir.join(format!("untracked file number {number:06}")), "mine\n").expect("room");
    }
    let world = world.watched();
    let total = json!(count + 1);
    let mut served = Served::reading_with(&world.place, &world.repo, &["--timeout", GIVEN]);
    for _ in 0..2 {
        let status = served.value("repo_status", json!({}));
        let items = status["items"].as_array().expect("it was cut");
        assert_eq!((&status["truncated"], &status["total"], items.len()), (&json!(true), &total, shown(&status)));
        assert!(!items.is_empty() && status.to_string().len() <= BUDGET, "{} rows", items.len());
    }
    assert_eq!(served.value("repo_snapshot", json!({}))["change_count"], total);
    world.holds(served);
    reads(&world, "a.txt").values(&["repo_status", "repo_snapshot", "repo_diff", "repo_list_files"]);

    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    world.write("a.txt", "one\n");
    let done = served.value("repo_commit", json!({"paths": ["a.txt"], "message": "x"}));
    let notes = done["notes"].to_string();
    assert!(notes.contains("untracked"), "what the point lacks is said: {done}");
    // going back must not take what no point holds
    served.value("repo_restore", json!({"id": done["restore_point"]}));
    assert_eq!(fs::read_dir(&dir).expect("it is there").count(), count + 1);
    world.holds(served);
    few(&world, "a.txt").values(&["repo_commit", "repo_create_branch", "repo_checkout", "repo_tag_create"]);
    assert_eq!(fs::read_dir(&dir).expect("it is there").count(), count + 1);
}

fn shown(cut: &serde_json::Value) -> usize {
    cut["shown"].as_u64().and_then(|shown| usize::try_from(shown).ok()).expect("a count")
}
