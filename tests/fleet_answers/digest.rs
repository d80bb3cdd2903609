//! fleet.digest: every event against git's own reading of the reflogs.
//! Trust: test code.

use crate::{
    support::{Place, Repo, Start},
    world,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};

/// Reference, time in seconds, id after, message.
type Event = (String, i64, String, String);

/// What git lists of all branches and HEAD, and the rows of HEAD that look like one of a branch: they are its movement
/// too, unless they began elsewhere, which git does not list.
fn expected(repo: &Repo<'_>) -> (BTreeSet<Event>, BTreeSet<Event>) {
    let branches = repo.git(&["for-each-ref", "--format=%(refname)", "refs/heads"]);
    let mut all = BTreeSet::new();
    let mut told_twice = BTreeSet::new();
    let mut branch_movements = BTreeSet::new();
    for name in branches.lines().chain(["HEAD"]) {
        let output = repo.try_git(&["reflog", "show", "--date=unix", "--format=%gd%x00%H%x00%gs", name, "--"]);
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let mut words = line.split('\0');
            let selector = words.next().expect("a selector");
            let time: i64 = selector
                .rsplit_once("@{")
                .and_then(|(_, time)| time.trim_end_matches('}').parse().ok())
                .expect("a time");
            let (id, message) = (words.next().expect("an id").to_owned(), words.next().unwrap_or_default().to_owned());
            if name == "HEAD" {
                if branch_movements.contains(&(time, id.clone(), message.clone())) {
                    told_twice.insert((name.to_owned(), time, id, message));
                    continue;
                }
            } else {
                branch_movements.insert((time, id.clone(), message.clone()));
            }
            all.insert((name.to_owned(), time, id, message));
        }
    }
    (all, told_twice)
}

#[test]
fn every_event_is_what_git_lists() {
    let place = Place::new();
    let world = world::build(&place, 1);
    let mut server = Start::new(&place).root(&world.root).spawn();
    for (name, repo) in &world.readable {
        let outcome = server.call("fleet.digest", json!({"sinceMs": 0, "repoPaths": [repo.path()]}));
        let data = outcome.data();
        let events = data["events"].as_array().expect("rows");
        let ours: BTreeSet<Event> = events
            .iter()
            .map(|event| {
                let text = |member: &str| event[member].as_str().unwrap_or_default().to_owned();
                let seconds = event["atMs"].as_i64().expect("a time") / 1_000;
                (text("refName"), seconds, text("newOid"), text("message"))
            })
            .collect();
        let (expected, told_twice) = expected(repo);
        let missing: Vec<_> = expected.difference(&ours).collect();
        assert!(missing.is_empty(), "{name}: {missing:?} are missing in {data}");
        // a row that deletes, as a rename writes them, has no commit that git could list
        let more: Vec<_> =
            ours.difference(&expected).filter(|event| !event.2.is_empty() && !told_twice.contains(event)).collect();
        assert!(more.is_empty(), "{name}: {more:?} are not git's");
        assert!(events.is_sorted_by(|a, b| a["atMs"].as_i64() >= b["atMs"].as_i64()));
        for event in events.iter().filter(|event| event["refName"] != "HEAD") {
            let (Some(old), Some(new)) = (event["oldOid"].as_str(), event["newOid"].as_str()) else { continue };
            let is_ancestor = repo.try_git(&["merge-base", "--is-ancestor", old, new]).status.success();
            assert_eq!(event["rewrote"], json!(!is_ancestor), "{name}: {event}");
        }
    }
    let bad: Vec<_> = world.unreadable.iter().map(|(path, _)| path).collect();
    let outcome = server.call("fleet.digest", json!({"sinceMs": 0, "repoPaths": bad}));
    let repos = outcome.data()["repos"].as_array().expect("rows");
    for ((path, reason), row) in world.unreadable.iter().zip(repos) {
        assert_eq!(row["repoPath"].as_str(), path.to_str());
        // a broken branch breaks no reflog
        let expected = row["error"].as_str().is_some_and(|error| error.starts_with(reason));
        assert!(expected || *reason == "corrupt", "{reason} expected: {row}");
    }
    assert_eq!(outcome.data()["excludedOutsideAllowedRoots"], 1);
    assert!(server.finish().status.success());
}

#[test]
fn clocks_that_jump_hide_nothing_and_ties_keep_their_order() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let head = repo.git(&["rev-parse", "HEAD"]);
    let row = |time: i64, message: &str| format!("{head} {head} A <a@example.org> {time} +0000\t{message}\n");
    let log =
        [row(900, "reset: old clock"), row(100, "reset: jumped back"), row(500, "reset: a"), row(500, "reset: b")];
    fs::write(repo.git_dir().join("logs/HEAD"), log.concat()).expect("the place is ours");
    fs::remove_dir_all(repo.git_dir().join("logs/refs")).expect("the place is ours");
    let mut server = Start::new(&place).root(place.path()).spawn();
    let mut messages = |arguments: Value| {
        let outcome = server.call("fleet.digest", arguments);
        let events = outcome.data()["events"].as_array().expect("rows").clone();
        events.iter().map(|event| event["message"].as_str().expect("a text").to_owned()).collect::<Vec<_>>()
    };
    let path = repo.path();
    assert_eq!(
        messages(json!({"sinceMs": 400_000, "repoPaths": [path]})),
        ["reset: old clock", "reset: b", "reset: a"]
    );
    assert_eq!(messages(json!({"sinceMs": 900_001, "repoPaths": [path]})), [""; 0]);
    assert_eq!(messages(json!({"sinceMs": 0, "maxEvents": 1, "repoPaths": [path]})), ["reset: old clock"]);
}

#[test]
fn a_repository_is_counted_up_to_its_limit_and_all_references_only_when_asked_for() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let head = repo.git(&["rev-parse", "HEAD"]);
    let rows: String = (0..250).map(|n| format!("{head} {head} A <a@example.org> {n} +0000\tcommit: {n}\n")).collect();
    fs::write(repo.git_dir().join("logs/HEAD"), rows).expect("the place is ours");
    fs::remove_dir_all(repo.git_dir().join("logs/refs")).expect("the place is ours");
    repo.append("a.txt", "stashed\n");
    repo.git(&["stash"]);
    let mut server = Start::new(&place).root(place.path()).spawn();
    let arguments = |all: bool| json!({"sinceMs": 0, "repoPaths": [repo.path()], "maxEvents": 1_000, "allRefs": all});
    let outcome = server.call("fleet.digest", arguments(false));
    let repos = &outcome.data()["repos"][0];
    assert_eq!((&repos["eventCount"], &repos["truncated"]), (&json!(200), &json!(true)), "{repos}");
    let stashed =
        |data: &Value| data["events"].as_array().expect("rows").iter().any(|it| it["refName"] == "refs/stash");
    assert!(!stashed(outcome.data()));
    let outcome = server.call("fleet.digest", arguments(true));
    assert!(stashed(outcome.data()));
    assert!(outcome.characters() <= 80_000);
}
