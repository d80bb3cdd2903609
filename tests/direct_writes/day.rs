//! A day's work through MCP alone: branch, edit, commit, conflict, resolve, rebase, push, and back again.
//! Trust: test code.

use crate::{World, git, support::direct::Served};
use serde_json::json;

#[test]
fn a_day_of_work() {
    let world = World::new();
    let run = world.place.directory("run");
    let run = run.to_str().expect("places have UTF-8 paths");
    let mut served = Served::writing(&world.place, &world.repo, &["--run-dir", run]);

    // a branch with two commits, the second of which will conflict
    served.value("repo_create_branch", json!({"name": "topic"}));
    assert_eq!(served.value("repo_checkout", json!({"reference": "topic"}))["checked_out"], "topic");
    world.write("empty.txt", "no longer\n");
    let first = served.value("repo_commit", json!({"paths": ["empty.txt"], "message": "t1: something"}));
    assert_eq!(first["committed_paths"], 1);
    assert_eq!(first["id"], world.git(&["rev-parse", "HEAD"]));
    assert_eq!(world.git(&["log", "-1", "--format=%an <%ae>"]), "Ada Fixture <ada@example.invalid>");
    world.write("a.txt", "one\nTWO\nTHREE-topic\nfour\nfive\n");
    served.value("repo_commit", json!({"paths": ["a.txt"], "message": "t2: will conflict"}));
    assert_eq!(served.value("repo_status", json!({})), json!([]));

    // it would conflict with what another branch did, says the trial, and so it does
    let tried = served.value("repo_try_merge", json!({"source": "clash"}));
    assert_eq!(tried, json!({"outcome": "Conflicts", "files": ["a.txt", "dir/b.txt"]}));
    world.write("unsaved.txt", "not tracked\n");
    let stopped = served.fails("repo_rebase", json!({"onto": "clash"}), "conflict");
    assert_eq!(stopped["operation_state"], "Rebase");
    let unmerged = served.value("repo_conflicts", json!({}));
    assert_eq!(stopped["unmerged"], unmerged);

    // resolved path by path until nothing is left
    for _ in 0..4 {
        let paths = served.value("repo_conflicts", json!({}));
        for path in paths.as_array().expect("a list") {
            let resolved = served.value("repo_resolve_conflict", json!({"path": path, "side": "theirs"}));
            assert_eq!((&resolved["resolved"], &resolved["side"]), (path, &json!("theirs")));
        }
        let went_on = served.value("repo_continue_in_progress", json!({}));
        if went_on["operation_state"] == "Clear" {
            break;
        }
        assert_eq!(went_on["operation_state"], "Conflict");
    }
    let snapshot = served.value("repo_snapshot", json!({}));
    assert_eq!((&snapshot["operation"], &snapshot["branch"]), (&json!("Clear"), &json!("topic")));
    assert_eq!(world.git(&["merge-base", "topic", "clash"]), world.git(&["rev-parse", "clash"]));
    assert_eq!(world.git(&["show", "HEAD:a.txt"]), "one\nTWO\nTHREE-topic\nfour\nfive");
    assert_eq!(std::fs::read_to_string(world.repo.join("unsaved.txt")).expect("it is there"), "not tracked\n");

    // to the other side and back
    assert_eq!(served.value("repo_push", json!({"branch": "topic"}))["pushed"], "topic");
    let there = world.place.path().join("origin.git");
    assert_eq!(git(&world.place, &there, &["rev-parse", "topic"]), world.git(&["rev-parse", "topic"]));
    assert_eq!(world.git(&["rev-parse", "--abbrev-ref", "topic@{upstream}"]), "origin/topic");
    let other = world.place.path().join("other");
    git(&world.place, &other, &["fetch", "-q"]);
    git(&world.place, &other, &["-c", "user.name=O", "-c", "user.email=o@x", "checkout", "-q", "topic"]);
    git(
        &world.place,
        &other,
        &["-c", "user.name=O", "-c", "user.email=o@x", "commit", "-q", "--allow-empty", "-m", "o"],
    );
    git(&world.place, &other, &["push", "-q", "origin", "topic"]);
    world.write("empty.txt", "again\n");
    served.value("repo_commit", json!({"paths": ["empty.txt"], "message": "t3"}));
    served.fails("repo_push", json!({"branch": "topic"}), "rejected_non_fast_forward");
    assert_eq!(served.value("repo_fetch", json!({}))["fetched"], true);
    let snapshot = served.value("repo_snapshot", json!({}));
    assert_eq!(snapshot["tracking"], json!({"branch": "origin/topic", "ahead": 1, "behind": 1}));
    served.value("repo_rebase", json!({"onto": "origin/topic"}));
    served.value("repo_push", json!({"branch": "topic"}));

    // a tag, a further working tree, and everything away again
    let tag = served.value("repo_tag_create", json!({"name": "t-1", "message": "first"}));
    assert_eq!((&tag["created"], &tag["annotated"]), (&json!("t-1"), &json!(true)));
    let tree = served.value("repo_create_worktree", json!({"path": "../side", "branch": "side", "base": "main"}));
    assert_eq!(tree, json!("Plain"));
    assert!(world.place.path().join("side/a.txt").is_file());
    served.value("repo_remove_worktree", json!({"path": "../side"}));
    served.value("repo_tag_delete", json!({"name": "t-1"}));
    served.value("repo_delete_branch", json!({"name": "side", "force": true}));
    served.value("repo_rename_branch", json!({"old": "topic", "new": "done"}));
    assert_eq!(served.value("repo_current_branch", json!({})), json!("done"));
    assert!(!world.place.path().join("side").exists());

    // and the way back to before the first of it that could lose something
    let points = served.value("repo_restore_points", json!({"max": 200}));
    let oldest = points.as_array().expect("a list").last().expect("points were made").clone();
    served.value("repo_restore", json!({"id": oldest["id"]}));
    assert_eq!(json!(world.git(&["rev-parse", "HEAD"])), oldest["head"]);
    world.git(&["fsck", "--strict"]);
}
