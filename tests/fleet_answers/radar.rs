//! fleet.radar: every row against git.
//! Trust: test code.

use crate::{
    support::{Place, Repo, Start},
    world,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The row that git's answers make of `repo`.
fn expected(repo: &Repo<'_>) -> Value {
    let say = |arguments: &[&str]| {
        let output = repo.try_git(arguments);
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let branch = say(&["symbolic-ref", "-q", "--short", "HEAD"]);
    let head = say(&["rev-parse", "-q", "--verify", "HEAD"]);
    let bare = say(&["rev-parse", "--is-bare-repository"]).as_deref() == Some("true");
    let changed = if bare { 0 } else { repo.status().len() };
    let unmerged = say(&["ls-files", "-u"]).is_some_and(|rows| !rows.is_empty());
    let upstream = say(&["rev-parse", "--abbrev-ref", "--symbolic-full-name", "@{u}"]);
    let counts = say(&["rev-list", "--left-right", "--count", "HEAD...@{u}"]);
    let counts: Vec<u64> =
        counts.iter().flat_map(|text| text.split_whitespace()).map(|word| word.parse().expect("a count")).collect();
    let (ahead, behind) = (counts.first().copied().unwrap_or(0), counts.get(1).copied().unwrap_or(0));
    let diverged = ahead > 0 && behind > 0;
    let merged =
        diverged.then(|| repo.try_git(&["merge-tree", "--write-tree", "--name-only", "--no-messages", "HEAD", "@{u}"]));
    let clashes: Vec<String> = match merged {
        Some(output) if output.status.code() == Some(1) => {
            String::from_utf8_lossy(&output.stdout).lines().skip(1).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    json!({
        "ahead": ahead,
        "behind": behind,
        "branch": branch,
        "changedFiles": changed,
        "conflictActive": unmerged,
        "dirty": changed > 0,
        "error": "",
        "hasUpstream": upstream.is_some(),
        "head": head,
        "lastCommitTimestamp": say(&["log", "-1", "--format=%ct"]).and_then(|time| time.parse::<i64>().ok()),
        "potentialConflictActive": !clashes.is_empty(),
        "potentialConflictCount": clashes.len(),
        "potentialConflictPaths": clashes,
        "potentialConflictTarget": if diverged { upstream } else { None },
        "shortHead": say(&["rev-parse", "-q", "--short", "HEAD"]).filter(|_| head.is_some()),
    })
}

#[test]
fn every_row_is_what_git_says_and_unreadable_ones_say_why() {
    let place = Place::new();
    let world = world::build(&place, 3);
    let mut server = Start::new(&place).root(&world.root).spawn();
    let paths: Vec<_> = world.readable.iter().map(|(_, repo)| repo.path().to_owned()).collect();
    let bad: Vec<_> = world.unreadable.iter().map(|(path, _)| path.clone()).collect();
    let all: Vec<_> = paths.iter().chain(&bad).collect();
    let outcome = server.call("fleet.radar", json!({"repoPaths": all, "maxRepos": 500}));
    let data = outcome.data();
    assert!(outcome.characters() <= 80_000, "{}", outcome.characters());
    assert_eq!((&data["requestedCount"], &data["scannedCount"]), (&json!(all.len()), &json!(all.len())));
    assert_eq!((&data["failedCount"], &data["truncatedCount"]), (&json!(bad.len()), &json!(0)), "{data}");
    let rows: BTreeMap<_, _> = data["entries"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| (row["repoPath"].as_str().expect("a path"), row))
        .collect();

    for (name, repo) in &world.readable {
        let row = rows[repo.path().to_str().expect("places have UTF-8 paths")];
        let expected = expected(repo);
        for (member, value) in expected.as_object().expect("an object") {
            assert_eq!(&row[member], value, "{name}: {member} of {row}");
        }
        let state = name.rsplit_once('-').map_or(name.as_str(), |(state, _)| state);
        let (status, operation) = match state {
            "clean" => ("clean", None),
            "ahead" => ("ahead", None),
            "behind" => ("behind", None),
            "diverged" => ("divergent", None),
            "clashing" | "clashing-dirty" => ("potential_conflict", None),
            "dirty" | "unborn" => ("local_changes", None),
            "detached" | "gone" | "unset" | "remote.git" | "amended" => ("no_upstream", None),
            "merging" => ("conflict", Some("merge")),
            "merge-resolved" => ("ahead", Some("merge")),
            "rebasing" => ("conflict", Some("rebase")),
            "picking" => ("conflict", Some("cherry-pick")),
            "bisecting" => ("local_changes", Some("bisect")),
            other => panic!("{other} is a new state"),
        };
        let status = if state == "merge-resolved" { "local_changes" } else { status };
        assert_eq!(row["status"], status, "{name}: {row}");
        assert_eq!(row["operationInProgress"].as_str(), operation, "{name}");
        let left_by = operation.filter(|_| row["conflictActive"] == true);
        assert_eq!(row["conflictOperation"].as_str(), left_by, "{name}");
        assert_eq!(row["upstreamGone"] == true, state == "gone", "{name}");
    }
    for (path, reason) in &world.unreadable {
        let row = rows[path.to_str().expect("places have UTF-8 paths")];
        assert_eq!(row["status"], "unknown", "{row}");
        let error = row["error"].as_str().expect("a text");
        assert!(error.starts_with(&format!("{reason}: ")), "{reason} expected: {row}");
        assert!(!error.contains(world.root.to_str().expect("UTF-8")), "no absolute path: {error}");
    }
    let priorities: Vec<_> =
        data["attentionStack"].as_array().expect("rows").iter().map(|row| row["priority"].as_u64()).collect();
    assert!(priorities.is_sorted_by(|a, b| a >= b) && !priorities.contains(&Some(0)), "{priorities:?}");
    assert!(server.finish().status.success());
}

#[test]
fn a_fleet_call_leaves_workers_for_others_and_is_stopped_by_its_caller() {
    let place = Place::new();
    let world = world::build(&place, 1);
    let mut server = Start::new(&place).root(&world.root).spawn();
    let one = world.readable[0].1.path().to_owned();
    server.read("repo.status", &one);
    let paths: Vec<_> = world.readable.iter().map(|(_, repo)| repo.path().to_owned()).collect();
    let fleet = server.ask("fleet.radar", json!({ "repoPaths": paths }));
    let single = server.read("repo.status", &one);
    assert!(single.is_ok(), "{}", single.message);
    assert!(server.answer(&fleet).is_ok());
    let cancelled = server.ask("fleet.radar", json!({ "repoPaths": paths }));
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": cancelled}}));
    assert!(server.read("repo.status", &one).is_ok());
    assert!(server.finish().status.success());
}
