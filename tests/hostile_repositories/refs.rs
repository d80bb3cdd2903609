//! Refs that climb, look like options, are rubbish, or are very many.
//! Trust: hostile by construction.

use super::{
    attack,
    support::{hostile::refs as build, *},
};
use serde_json::json;
use std::fs;

#[test]
fn names_that_climb_and_targets_that_are_rubbish() {
    let report = attack(build::names_and_targets);
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
    let report = attack(build::upstreams);
    for name in ["upstream-circles", "upstream-climbs", "upstream-is-rubbish"] {
        report.answered_or(name, &["corrupt"]);
    }
}

#[test]
fn a_very_long_list_of_packed_refs() {
    attack(build::many_packed).answered_or("repo", &["too-large"]);
}

#[test]
fn very_many_loose_refs() {
    attack(build::many_loose).all_answered("repo");
}

#[test]
fn logs_of_rubbish() {
    attack(build::logs).answered_or("repo", &["corrupt", "too-large"]);
}

#[test]
fn tags_of_tags_and_replacements_in_a_circle() {
    let report = attack(build::tags_and_replacements);
    for name in ["repo", "replaced", "shallow"] {
        report.answered_or(name, &["corrupt", "too-large", "object-missing", "unsupported-format"]);
    }
}

#[test]
fn names_longer_than_a_file_system_takes() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let id = repo.git(&["rev-parse", "HEAD"]);
    let (component, path) = build::long();
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
