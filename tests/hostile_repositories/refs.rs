//! Refs that climb, look like options, are rubbish, or are very many.
//! Trust: hostile by construction.

use super::{Attack, support::*};
use serde_json::json;
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

#[test]
fn names_longer_than_a_file_system_takes() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let id = repo.git(&["rev-parse", "HEAD"]);
    let (component, path) = ("c".repeat(300), "d/".repeat(2_000_000) + "x");
    let packed =
        format!("# pack-refs with: peeled fully-peeled sorted \n{id} refs/heads/{component}\n{id} refs/heads/{path}\n");
    fs::write(repo.git_dir().join("packed-refs"), packed).expect("ours");
    let mut server = Start::new(&place).root(repo.path()).spawn();
    for tool in ["repo.refs", "repo.branchStack"] {
        let outcome = server.read(tool, repo.path());
        let data = outcome.data();
        assert_eq!(data["partial"]["reason"], "too-large", "{tool}: what no answer can hold is left out, and told");
        assert!(data.to_string().contains(&component), "{tool}: a name that Git can pack is there");
    }
    // one that is packed can be asked for; one that is nowhere is the caller's mistake and no failure of the disk
    let repo_path = repo.path().to_str().expect("places have UTF-8 paths");
    for (name, there) in [(component.as_str(), true), (&"n".repeat(300), false), (&"n".repeat(5_000), false)] {
        for (tool, arguments) in [
            ("commit.details", json!({"repoPath": repo_path, "commit": name})),
            ("repo.history", json!({"repoPath": repo_path, "range": name})),
            ("repo.conflictPreflight", json!({"repoPath": repo_path, "targetRef": name})),
            ("diff.text", json!({"repoPath": repo_path, "base": name})),
            ("repo.reflog", json!({"repoPath": repo_path, "refName": format!("refs/heads/{name}")})),
        ] {
            let outcome = server.call(tool, arguments);
            if outcome.code() == Some(-32602) || (there && outcome.is_ok()) {
                continue;
            }
            outcome.expect_refused(&format!("{tool} {} letters", name.len()), &["bad-argument"]);
        }
    }
}

#[test]
fn a_head_that_is_broken_in_a_submodule_or_in_a_linked_worktree() {
    let place = Place::new();
    let inner = Repo::honest(&place, "inner");
    let repo = Repo::honest(&place, "repo");
    let from = inner.path().to_str().expect("places have UTF-8 paths");
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "sub"]);
    repo.commit("a submodule");
    repo.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    let read = |tool: &str| {
        // a server of its own each time: what is broken shows in no file that an open repository watches
        let mut server = Start::new(&place).root(place.path()).spawn();
        server.read(tool, repo.path()).data().clone()
    };
    for tool in ["submodule.status", "repo.status", "worktree.list"] {
        assert!(read(tool).get("partial").is_none(), "{tool}: nothing is broken yet");
    }
    fs::write(repo.git_dir().join("modules/sub/refs/heads/main"), "rubbish\n").expect("ours");
    for tool in ["submodule.status", "repo.status"] {
        let data = read(tool);
        assert_eq!(data["partial"]["reason"], "unreadable", "{tool}: {data}");
    }
    assert!(read("worktree.list").get("partial").is_none(), "submodules are none of its business");
    fs::write(repo.git_dir().join("worktrees/linked/HEAD"), "rubbish\n").expect("ours");
    let data = read("worktree.list");
    assert_eq!(data["partial"]["reason"], "unreadable", "{data}");
    assert_eq!(data["worktrees"].as_array().map(Vec::len), Some(2), "its row stands all the same: {data}");
}
