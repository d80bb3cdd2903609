//! Texts that take longer to compare than any call has: each call ends in time, says so, and the next one is answered.
//! Trust: hostile by construction.

use super::{
    attack,
    support::{
        hostile::texts::{self as build, incomparable},
        *,
    },
};
use serde_json::{Value, json};

#[test]
fn comparisons_without_end() {
    let place = Place::new();
    let repo = incomparable(&place, "repo", 600_000);
    repo.git(&["config", "diff.algorithm", "minimal"]);
    let mut server = Start::new(&place).root(repo.path()).arguments(&["--deadline", "5"]).spawn();
    let path = repo.path().to_str().expect("places have UTF-8 paths").to_owned();
    let with = |further: Value| {
        let mut arguments = further;
        arguments["repoPath"] = json!(path);
        arguments
    };
    for (tool, arguments) in [
        ("diff.text", with(json!({"base": "base", "head": "main"}))),
        ("diff.text", with(json!({"base": "side", "stat": true}))),
        ("commit.details", with(json!({"commit": "main"}))),
    ] {
        // each call finds a worker that still works for the one before, and gets another
        let outcome = server.call(tool, arguments);
        let data = outcome.data();
        assert_eq!(data["partial"]["reason"], "deadline", "{tool}: {data}");
        assert_eq!(data["truncated"], true, "{tool}: {data}");
        assert_eq!(data["omitted"].as_array().map_or(0, Vec::len), 0, "{tool}: an end is no omission: {data}");
    }
    for (tool, arguments) in [
        ("repo.conflictPreflight", with(json!({"targetRef": "side"}))),
        ("repo.conflictPreflight", with(json!({"targetRef": "side", "operation": "rebase"}))),
    ] {
        server.call(tool, arguments).expect_refused(tool, &["too-large"]);
    }
    assert_eq!(server.read("repo.status", repo.path()).data()["clean"], json!(true), "the next call");
}

#[test]
fn texts_of_more_lines_than_are_compared() {
    let place = Place::new();
    let repo = incomparable(&place, "repo", 1_000_001);
    let memory = super::WORKER_MEMORY.to_string();
    let mut server = Start::new(&place).root(repo.path()).arguments(&["--worker-memory", &memory]).spawn();
    let path = repo.path().to_str().expect("places have UTF-8 paths");
    let outcome = server.call("diff.text", json!({"repoPath": path, "base": "base", "head": "main"}));
    assert_eq!(outcome.data()["omitted"][0]["reason"], "too-large", "{}", outcome.message);
    let outcome = server.call("repo.conflictPreflight", json!({"repoPath": path, "targetRef": "side"}));
    outcome.expect_refused("a merge", &["too-large"]);
    assert!(outcome.message.to_string().contains("lines"), "{}", outcome.message);
}

#[test]
fn texts_that_speak_to_terminals_and_to_agents() {
    attack(build::injection).all_answered("repo");
}

#[test]
fn names_that_are_patterns_and_files_that_are_large() {
    attack(build::names).all_answered("repo");
    attack(build::sizes).all_answered("repo");
}
