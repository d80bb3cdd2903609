//! What is told where something cannot be done, or is done otherwise than it looks: kinds of failures with all of their reason,
//! messages of merges, steps that became empty (contract `direct/corrections.md` B18, B20). Trust: test code.

use crate::{World, git, support::direct::Served};
use serde_json::{Value, json};
use std::{fs, io::Write as _, net::TcpListener};

fn writing(world: &World) -> Served {
    Served::writing(&world.place, &world.repo, &["--timeout", "60"])
}

fn reason(failure: &Value) -> &str {
    failure["reason"].as_str().expect("a reason")
}

#[test]
fn uncommitted_changes_in_the_way_are_named() {
    let world = World::new();
    let mut served = writing(&world);
    world.write("a.txt", "uncommitted\n");
    world.write("dir/b.txt", "uncommitted\n");
    for (tool, arguments) in
        [("repo_checkout", json!({"reference": "clash"})), ("repo_rebase", json!({"onto": "clash"}))]
    {
        let failure = served.fails(tool, arguments, "dirty");
        for path in ["a.txt", "dir/b.txt"] {
            assert!(reason(&failure).contains(path), "{tool}: {failure}");
        }
        assert!(!reason(&failure).contains("hint:") && failure["operation_state"] == "Clear", "{tool}: {failure}");
    }
    assert_eq!(fs::read_to_string(world.repo.join("a.txt")).expect("it is there"), "uncommitted\n");
}

#[test]
fn a_push_that_would_drop_commits_is_told_from_a_remote_that_is_away() {
    let world = World::new();
    let mut served = writing(&world);
    let other = world.place.path().join("other");
    for arguments in [
        &["-c", "user.name=O", "-c", "user.email=o@x", "commit", "-q", "--allow-empty", "-m", "theirs"][..],
        &["push", "-q", "origin", "main"],
    ] {
        git(&world.place, &other, arguments);
    }
    world.write("a.txt", "mine\n");
    served.value("repo_commit", json!({"paths": ["a.txt"], "message": "mine"}));
    let failure = served.fails("repo_push", json!({"branch": "main"}), "rejected_non_fast_forward");
    assert!(reason(&failure).contains("main") && !reason(&failure).contains("hint:"), "{failure}");
    assert!(failure["next"].as_str().is_some_and(|next| next.contains("repo_fetch")), "{failure}");

    // a port that nobody listens at any more
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|it| it.local_addr()).expect("a port").port();
    for url in [format!("https://127.0.0.1:{port}/x.git"), format!("ssh://git@127.0.0.1:{port}/x.git")] {
        world.git(&["remote", "set-url", "origin", &url]);
        let failure = served.fails("repo_fetch", json!({}), "network");
        // all that was said, and no last line alone
        assert!(reason(&failure).contains("onnect") && reason(&failure).contains("127.0.0.1"), "{url}: {failure}");
        assert!(reason(&failure).contains("origin"), "{url}: {failure}");
        // which ports the walls leave, for who looks for the cause there
        let ports = reason(&failure).rsplit_once("no others: ").expect("they are named").1;
        let mut ports = ports.trim_end_matches('.').split(", ");
        assert!(ports.clone().any(|it| it == "53") && ports.any(|it| it == port.to_string()), "{url}: {failure}");
    }
    let nowhere = world.place.at("nowhere.git");
    world.git(&["remote", "set-url", "origin", nowhere.to_str().expect("places have UTF-8 paths")]);
    let failure = served.fails("repo_fetch", json!({}), "not_found");
    assert!(reason(&failure).contains("nowhere.git"), "{failure}");
    assert_eq!(served.value("repo_snapshot", json!({}))["operation"], "Clear");
}

#[test]
fn more_remotes_than_are_opened_are_counted_and_the_first_is_named() {
    let world = World::new();
    let mut config = fs::OpenOptions::new().append(true).open(world.repo.join(".git/config")).expect("ours");
    // `origin` is one of the 64 that are opened
    for number in 1..66 {
        writeln!(config, "[remote \"fork-{number}\"]\n\turl = ../fork-{number}.git").expect("ours");
    }
    let refs = world.git(&["for-each-ref"]);
    let mut served = writing(&world);
    for (tool, arguments) in [("repo_fetch", json!({})), ("repo_push", json!({"branch": "main"}))] {
        let failure = served.fails(tool, arguments, "too_large");
        let said = "There are 2 more, of which remote.fork-64.url is the first.";
        assert!(reason(&failure).contains(said), "{tool}: {failure}");
    }
    assert_eq!(world.git(&["for-each-ref"]), refs);
    for number in [64, 65] {
        world.git(&["remote", "remove", &format!("fork-{number}")]);
    }
    assert_eq!(served.value("repo_fetch", json!({}))["fetched"], true);
}

#[test]
fn names_that_lead_nowhere_are_told_by_name() {
    let world = World::new();
    let mut served = writing(&world);
    for (tool, arguments, name) in [
        ("repo_checkout", json!({"reference": "nosuch"}), "nosuch"),
        ("repo_rebase", json!({"onto": "nosuch"}), "nosuch"),
        ("repo_delete_branch", json!({"name": "nosuch"}), "nosuch"),
        ("repo_push", json!({"branch": "v1"}), "v1"),
        ("repo_push", json!({"branch": "refs/heads/main"}), "refs/heads/main"),
        ("repo_commit", json!({"paths": ["nosuch.txt"], "message": "x"}), "nosuch.txt"),
    ] {
        let failure = served.fails(tool, arguments.clone(), "not_found");
        assert!(reason(&failure).contains(name), "{tool} {arguments}: {failure}");
    }
    assert!(served.refuses("repo_push", json!({"branch": "HEAD"})).contains("HEAD"));
}

#[test]
fn a_merge_that_is_gone_on_with_has_no_lines_of_comments() {
    let world = World::new();
    let mut merge = std::process::Command::new("git");
    merge.current_dir(&world.repo).args(["merge", "-q", "clash"]).env("HOME", world.place.home());
    merge.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_MERGE_AUTOEDIT", "no")]);
    let merged = merge.output().expect("git is there");
    assert!(!merged.status.success(), "it should stop");
    let message = fs::read_to_string(world.repo.join(".git/MERGE_MSG")).expect("it waits");
    assert!(message.contains("# Conflicts:"), "git has nothing to take away: {message}");
    let mut served = writing(&world);
    assert_eq!(served.value("repo_snapshot", json!({}))["operation"], "Merge");
    for path in served.value("repo_conflicts", json!({})).as_array().expect("a list") {
        served.value("repo_resolve_conflict", json!({"path": path, "side": "theirs"}));
    }
    let done = served.value("repo_continue_in_progress", json!({}));
    assert_eq!(done["operation_state"], "Clear");
    let message = world.git(&["log", "-1", "--format=%B"]);
    assert!(message.starts_with("Merge branch 'clash'") && !message.contains('#'), "{message}");
    assert_eq!(world.git(&["rev-list", "--parents", "-1", "HEAD"]).split(' ').count(), 3);
}

#[test]
fn a_step_of_a_rebase_that_became_empty_is_told() {
    let world = World::new();
    world.git(&["checkout", "-q", "clash"]);
    let mut served = writing(&world);
    served.fails("repo_rebase", json!({"onto": "main"}), "conflict");
    // what it is rebased onto, everywhere: nothing of the step is left
    for path in served.value("repo_conflicts", json!({})).as_array().expect("a list") {
        served.value("repo_resolve_conflict", json!({"path": path, "side": "ours"}));
    }
    let done = served.value("repo_continue_in_progress", json!({}));
    assert_eq!(done["operation_state"], "Clear");
    let notes = done["notes"].to_string();
    assert!(notes.contains("became empty") && notes.contains("k1: clashing edit"), "{done}");
    assert_eq!(world.git(&["rev-parse", "clash"]), world.git(&["rev-parse", "main"]));
}

/// Git leaves the password out of an address that it reads as we do, and shows it where it does not.
#[test]
fn what_git_says_of_an_address_shows_no_password() {
    let world = World::new();
    let mut served = Served::writing(&world.place, &world.repo, &["--log-commands", "--timeout", "20"]);
    for url in [
        "https://ada@example.invalid:TOP-SECRET@127.0.0.1:1/x",
        "https://user:TOP-SECRET/U@127.0.0.1:1/x",
        "https:///user:TOP-SECRET@127.0.0.1:1/x",
        "https://127.0.0.1:1/x?token=TOP-SECRET",
        "ftp://user:TOP-SECRET@127.0.0.1/x",
        "ssh://user:TOP-SECRET@127.0.0.1:1/x",
    ] {
        world.git(&["remote", "set-url", "origin", url]);
        for (tool, arguments) in [("repo_fetch", json!({})), ("repo_push", json!({"branch": "main"}))] {
            let answer = served.0.call(tool, arguments).message;
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            assert!(!answer.to_string().contains("SECRET"), "{url}: {answer}");
        }
    }
    assert!(!served.0.stderr().contains("SECRET"), "{}", served.0.stderr());
}
