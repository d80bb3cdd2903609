//! Refs that climb, look like options, are rubbish, or are very many.
//! Trust: hostile by construction.

use super::{Attack, support::*};
use std::fs;

#[test]
fn names_that_climb_and_targets_that_are_rubbish() {
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    let git = repo.git_dir();
    let main = fs::read_to_string(git.join("refs/heads/main")).expect("it is there");
    for name in ["-x", "--output=PWNED", "$(touch PWNED)", ";touch PWNED", "`id`", "\u{202e}gnp"] {
        fs::write(git.join("refs/heads").join(name), &main).expect("ours");
    }
    objects::set_ref(&git, "refs/heads/climb", "ref: refs/heads/../../../../../../etc/passwd\n");
    objects::set_ref(&git, "refs/heads/absolute", "ref: /etc/passwd\n");
    objects::set_ref(&git, "refs/heads/circle", "ref: refs/heads/circle\n");
    let id = main.trim();
    let packed =
        format!("{id} refs/heads/../../config\n{id} refs/heads/a..b\n{id} refs/heads/.lock\nnothex refs/heads/z\n");
    fs::write(git.join("packed-refs"), packed).expect("ours");
    attack.aim(repo.path().to_owned());
    let rubbish: Vec<u8> = (0..1_000_000u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    for (name, head) in [
        ("head-climbs", &b"ref: ../../../../../etc/passwd\n"[..]),
        ("head-climbs-later", b"ref: refs/heads/../../../../../../etc/passwd\n"),
        ("head-is-absolute", b"ref: /etc/passwd\n"),
        ("head-is-rubbish", &rubbish),
        ("head-is-empty", b""),
        ("head-is-endless", &[b'a'; 3_000_000]),
        ("head-circles", b"ref: HEAD\n"),
    ] {
        let repo = Repo::honest(&attack.place, name);
        fs::write(repo.git_dir().join("HEAD"), head).expect("ours");
        attack.aim(repo.path().to_owned());
    }
    let report = attack.run();
    report.answered_or("repo", &["corrupt"]);
    for name in [
        "head-climbs",
        "head-climbs-later",
        "head-is-absolute",
        "head-is-rubbish",
        "head-is-empty",
        "head-is-endless",
        "head-circles",
    ] {
        report.all_refused(name, &["corrupt", "not-a-repository", "too-large"]);
    }
}

#[test]
fn an_upstream_that_circles_or_climbs() {
    let mut attack = Attack::new();
    for (name, merge, target) in [
        ("circles", "refs/heads/one", "ref: refs/heads/one\n"),
        ("climbs", "refs/heads/../../../../etc/passwd", "ref: refs/heads/x\n"),
        ("is-rubbish", "refs/heads/one", "rubbish\n"),
    ] {
        let repo = Repo::honest(&attack.place, format!("upstream-{name}"));
        repo.git(&["config", "branch.main.remote", "."]);
        repo.git(&["config", "branch.main.merge", merge]);
        objects::set_ref(&repo.git_dir(), "refs/heads/one", target);
        attack.aim(repo.path().to_owned());
    }
    let report = attack.run();
    for name in ["upstream-circles", "upstream-climbs", "upstream-is-rubbish"] {
        report.answered_or(name, &["corrupt"]);
    }
}

#[test]
fn a_very_long_list_of_packed_refs() {
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    let id = repo.git(&["rev-parse", "HEAD"]);
    let count = if slow() { 1_000_000 } else { 100_000 };
    let mut text = String::from("# pack-refs with: peeled fully-peeled sorted \n");
    for number in 0..count {
        text.push_str(&format!("{id} refs/heads/b{number:08}\n"));
    }
    fs::write(repo.git_dir().join("packed-refs"), text).expect("ours");
    attack.aim(repo.path().to_owned());
    attack.run().answered_or("repo", &["too-large"]);
}

#[test]
fn very_many_loose_refs() {
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    let content = fs::read(repo.git_dir().join("refs/heads/main")).expect("it is there");
    let count = if slow() { 100_000 } else { 5_000 };
    for number in 0..count {
        objects::set_ref(&repo.git_dir(), &format!("refs/heads/x/{}/{number}", number / 1000), &content);
    }
    attack.aim(repo.path().to_owned());
    attack.run().all_answered("repo");
}
