//! Hooks that leave something for the user's own Git to run, and keep whoever looks from looking.
//! Trust: test code; what is planted names a program that is not there.

use crate::{World, reason};
use serde_json::json;
use std::fs;

/// What a hook does to be run again, outside of every wall.
const PLANT: &str =
    "git config core.fsmonitor evil\nprintf '#!/bin/sh\\n' >.git/hooks/post-merge; chmod +x .git/hooks/post-merge";

#[track_caller]
fn nothing_planted(world: &World, config: &str, failure: &serde_json::Value) {
    assert!(reason(failure).contains("fsmonitor") || reason(failure).contains(".git/config"), "{failure}");
    assert!(reason(failure).contains("All of it was put back."), "{failure}");
    assert_eq!(world.text(".git/config"), config);
    assert!(!world.repo.join(".git/hooks/post-merge").exists());
}

#[test]
fn a_hook_that_kills_all_it_may_is_undone_all_the_same() {
    for signal in ["KILL", "STOP"] {
        let world = World::new();
        world.hook(
            "pre-commit",
            &format!("{PLANT}\nperl -e 'kill q({signal}), -1; kill q({signal}), getppid; sleep 1'"),
        );
        let config = world.text(".git/config");
        world.write("a.txt", "changed\n");
        let mut served = world.served(&["--timeout", "20"]);
        let answer = served.0.call("repo_commit", json!({"paths": ["a.txt"], "message": "x"})).message;
        let failure = &answer["result"]["structuredContent"]["error"];
        nothing_planted(&world, &config, failure);
    }
}

#[test]
fn a_hook_that_takes_all_of_the_time_or_breaks_the_configuration_is_undone_all_the_same() {
    for (then, time) in [("exec sleep 600", "5"), ("printf '[broken' >>.git/config", "120")] {
        let world = World::new();
        world.hook("pre-commit", &format!("{PLANT}\n{then}"));
        let config = world.text(".git/config");
        world.write("a.txt", "changed\n");
        let mut served = world.served(&["--timeout", time]);
        let failure = served.fails("repo_commit", json!({"paths": ["a.txt"], "message": "x"}), "refused");
        nothing_planted(&world, &config, &failure);
    }
}

/// A client that goes away while a hook runs takes nothing of the guard with it.
#[test]
fn a_hook_whose_client_goes_away_is_undone_all_the_same() {
    let world = World::new();
    world.hook("pre-commit", &format!("{PLANT}\n: >planted\nexec sleep 600"));
    let config = world.text(".git/config");
    world.write("a.txt", "changed\n");
    let mut served = world.served(&[]);
    let commit = json!({"name": "repo_commit", "arguments": {"paths": ["a.txt"], "message": "x"}});
    served.0.send(&json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": commit}));
    let planted = world.repo.join("planted");
    assert!(crate::support::process::until(std::time::Duration::from_secs(20), || planted.exists()), "the hook began");
    served.0.finish();
    let is_back = || world.text(".git/config") == config && !world.repo.join(".git/hooks/post-merge").exists();
    assert!(
        crate::support::process::until(std::time::Duration::from_secs(10), is_back),
        "{}",
        world.text(".git/config")
    );
}

#[test]
fn a_new_working_tree_runs_no_hook_since_its_neighbours_are_in_reach() {
    let world = World::new();
    fs::create_dir(world.place.path().join("neighbour")).expect("ours");
    world.hook("post-checkout", "echo planted >../neighbour/planted; echo ran >ran.txt");
    let beside = json!({"path": "../wt", "branch": "wt", "base": "main"});
    let answer = world.served(&[]).0.call("repo_create_worktree", beside).message;
    let done = &answer["result"]["structuredContent"];
    assert_eq!(done["hooks_skipped"], json!(["post-checkout"]), "{answer}");
    assert_eq!(done.get("hooks_run"), None, "{answer}");
    assert!(!world.place.path().join("neighbour/planted").exists() && !world.place.path().join("wt/ran.txt").exists());
}

#[test]
fn a_hook_has_no_way_to_the_locks_of_other_repositories() {
    let world = World::new();
    let find = "for dir in $(cat locks); do echo x >$dir/other.write && echo made >>reached; ls $dir >>reached; rm -f $dir/*; done; exit 0";
    world.hook("post-commit", find);
    let mut served = world.served(&[]);
    served.value("repo_create_branch", json!({"name": "x"}));
    // the directory of locks lies in the run directory, wherever that is
    let (mut locks, mut open) = (Vec::new(), vec![world.place.path().to_owned()]);
    while let Some(directory) = open.pop() {
        for path in fs::read_dir(&directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|extension| extension == "write") {
                locks.push(directory.display().to_string());
            } else if path.is_dir() && !path.is_symlink() {
                open.push(path);
            }
        }
    }
    assert!(!locks.is_empty(), "there is a lock");
    world.write("locks", &locks.join("\n"));
    world.write("a.txt", "changed\n");
    let done = served.value("repo_commit", json!({"paths": ["a.txt"], "message": "x"}));
    assert_eq!(done["hooks_run"], json!(["post-commit"]), "{done}");
    assert_eq!(world.text("reached"), "");
}

#[test]
fn where_the_record_of_what_ran_is_gone_nothing_is_claimed() {
    let world = World::new();
    world.hook("pre-commit", "rm -f \"$GIT_TRACE2_EVENT\"");
    world.hook("post-commit", "true");
    world.write("a.txt", "changed\n");
    let done = world.served(&[]).value("repo_commit", json!({"paths": ["a.txt"], "message": "x"}));
    assert_eq!(done.get("hooks_run"), None, "{done}");
    assert!(done["notes"].to_string().contains("Which hooks ran is not known"), "{done}");
}

#[test]
fn the_index_holds_all_that_a_hook_added_to_the_commit() {
    let world = World::new();
    world.hook(
        "pre-commit",
        "echo formatted >>a.txt; echo beside >beside.txt; git add a.txt beside.txt; git rm -q --cached b.txt",
    );
    world.write("a.txt", "changed\n");
    world.write("b.txt", "b\n");
    world.git(&["add", "b.txt"]);
    world.git(&["commit", "-qm", "b", "--no-verify"]);
    world.served(&[]).value("repo_commit", json!({"paths": ["a.txt"], "message": "x"}));
    assert_eq!(world.git(&["show", "HEAD:a.txt"]), "changed\nformatted");
    assert_eq!(world.git(&["show", "HEAD:beside.txt"]), "beside");
    assert_eq!(world.git(&["status", "--porcelain", "a.txt", "b.txt", "beside.txt"]), "?? b.txt");
}

#[test]
fn a_hook_that_moves_head_away_from_what_was_made_is_told() {
    let world = World::new();
    world.hook("post-commit", "git reset -q --soft HEAD~1");
    world.write("a.txt", "changed\n");
    let before = world.git(&["rev-parse", "HEAD"]);
    let done = world.served(&[]).value("repo_commit", json!({"paths": ["a.txt"], "message": "x"}));
    assert_eq!(world.git(&["rev-parse", "HEAD"]), before);
    assert!(done["notes"].to_string().contains("a hook has moved it"), "{done}");
}

/// Git would run it by its name, which no list of steps shows.
#[test]
fn a_way_of_merging_that_is_a_program_is_refused() {
    let world = World::new();
    let mut rebase = std::process::Command::new("git");
    rebase.current_dir(&world.repo).args(["rebase", "-q", "main", "clash"]).env("HOME", world.place.home());
    assert!(!rebase.output().expect("git is there").status.success(), "it should stop");
    world.write(".git/rebase-merge/strategy", "x/y\n");
    world.program("git-merge-x/y", "#!/bin/sh\necho ran >ran.txt\n");
    let mut served = world.served(&[]);
    for path in served.value("repo_conflicts", json!({})).as_array().expect("a list") {
        served.value("repo_resolve_conflict", json!({"path": path, "side": "theirs"}));
    }
    let failure = served.fails("repo_continue_in_progress", json!({}), "refused");
    assert!(reason(&failure).contains("x/y"), "{failure}");
    assert!(!world.repo.join("ran.txt").exists());
    served.value("repo_abort_in_progress", json!({}));
}
