//! What hooks do where nothing keeps them from it, and what results say of them.
//! Trust: test code.

use crate::World;
use serde_json::{Value, json};

fn notes(done: &Value) -> String {
    done["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

#[test]
fn hooks_of_a_commit_run_in_their_order_and_are_told() {
    let world = World::new();
    // one that formats, as many do, and takes what it made into the commit
    world.hook("pre-commit", "tr a-z A-Z <a.txt >\"$TMPDIR/new\" && cp \"$TMPDIR/new\" a.txt && git add a.txt");
    world.hook("prepare-commit-msg", "echo 'Prepared: yes' >>\"$1\"");
    world.hook("commit-msg", "sed -i '1s/^/[T-1] /' \"$1\"");
    world.hook("post-commit", "git log -1 --format='made %h' >made.txt; echo all is well");
    world.write("a.txt", "formatted\n");
    let mut served = world.served(&[]);
    let done = served.value("repo_commit", json!({"paths": ["a.txt"], "message": "a change"}));
    assert_eq!(done["hooks_run"], json!(["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"]), "{done}");
    assert_eq!(done.get("hooks_skipped"), None, "{done}");
    assert_eq!(world.git(&["log", "-1", "--format=%B"]), "[T-1] a change\nPrepared: yes");
    assert_eq!(world.git(&["show", "HEAD:a.txt"]), "FORMATTED");
    assert_eq!(world.text("made.txt"), format!("made {}\n", world.git(&["rev-parse", "--short", "HEAD"])));
    assert!(notes(&done).contains("all is well"), "{done}");
    assert_eq!(world.git(&["status", "--porcelain"]), "?? made.txt");
    assert!(!world.repo.join(".git/bulkhead-hooks").exists());

    // without any, the result says so
    for hook in ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"] {
        std::fs::remove_file(world.repo.join(".git/hooks").join(hook)).expect("it is there");
    }
    world.write("a.txt", "as it is\n");
    let done = served.value("repo_commit", json!({"paths": ["a.txt"], "message": "plain"}));
    assert_eq!(done["hooks_run"], json!([]), "{done}");
}

#[test]
fn every_operation_has_its_hooks_and_restore_points_have_none() {
    let world = World::new();
    // asked about each change of a ref: what it is told, it notes
    world.hook("reference-transaction", "while read -r old new ref; do echo \"$1 $ref\" >>refs.log; done");
    world.hook("post-checkout", "echo \"$@\" >>checkouts.log");
    world.hook("pre-rebase", "echo \"$@\" >>rebases.log");
    world.hook("post-rewrite", "cat >>rewritten.log");
    world.git(&["config", "core.excludesFile", ".git/ignored"]);
    world.write(".git/ignored", "*.log\n");
    let mut served = world.served(&[]);
    let ran = |done: &Value, hook: &str| {
        assert!(done["hooks_run"].to_string().contains(hook), "{hook}: {done}");
    };
    ran(&served.value("repo_create_branch", json!({"name": "topic"})), "reference-transaction");
    ran(&served.value("repo_checkout", json!({"reference": "topic"})), "post-checkout");
    let (main, topic) = (world.git(&["rev-parse", "main"]), world.git(&["rev-parse", "topic"]));
    assert_eq!(world.text("checkouts.log"), format!("{main} {topic} 1\n"));
    world.write("b.txt", "new\n");
    let commit = json!({"paths": ["b.txt"], "message": "on topic", "include_untracked": true});
    ran(&served.value("repo_commit", commit), "reference-transaction");
    let done = served.value("repo_rebase", json!({"onto": "feature"}));
    ["pre-rebase", "post-rewrite", "reference-transaction"].iter().for_each(|hook| ran(&done, hook));
    assert!(!world.text("rebases.log").is_empty() && !world.text("rewritten.log").is_empty());
    ran(&served.value("repo_tag_create", json!({"name": "t1"})), "reference-transaction");
    ran(&served.value("repo_tag_create", json!({"name": "t2", "message": "two"})), "reference-transaction");
    ran(&served.value("repo_tag_delete", json!({"name": "t1"})), "reference-transaction");
    ran(&served.value("repo_rename_branch", json!({"old": "merged-old", "new": "older"})), "reference-transaction");
    ran(&served.value("repo_delete_branch", json!({"name": "older", "force": true})), "reference-transaction");
    let beside = json!({"path": "../beside", "branch": "beside", "base": "main"});
    // the value is a word alone, so it stands beside that
    let answer = served.0.call("repo_create_worktree", beside).message;
    assert_eq!(answer["result"]["structuredContent"]["result"], "Plain", "{answer}");
    let skipped = json!(["post-checkout", "reference-transaction"]);
    assert_eq!(answer["result"]["structuredContent"]["hooks_skipped"], skipped, "it reaches beyond the repository");

    let refs = world.text("refs.log");
    for name in ["refs/heads/topic", "HEAD", "refs/tags/t2", "refs/heads/older"] {
        assert!(refs.contains(&format!("committed {name}\n")), "{name}: {refs}");
    }
    let points = world.git(&["for-each-ref", "--format=%(refname)", "refs/bulkhead"]);
    assert!(points.lines().count() > 3 && !refs.contains("refs/bulkhead"), "{points}\n{refs}");
}

#[test]
fn an_open_merge_is_gone_on_with_by_its_hooks() {
    let world = World::new();
    let mut merge = std::process::Command::new("git");
    merge.current_dir(&world.repo).args(["merge", "-q", "clash"]).env("HOME", world.place.home());
    merge.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_MERGE_AUTOEDIT", "no")]);
    assert!(!merge.output().expect("git is there").status.success(), "it should stop");
    world.hook("pre-commit", "echo no >&2; exit 1");
    world.hook("commit-msg", "echo 'Checked: yes' >>\"$1\"");
    let mut served = world.served(&[]);
    for path in served.value("repo_conflicts", json!({})).as_array().expect("a list") {
        served.value("repo_resolve_conflict", json!({"path": path, "side": "theirs"}));
    }
    let failure = served.fails("repo_continue_in_progress", json!({}), "refused");
    assert_eq!(failure["operation_state"], "Merge", "{failure}");
    world.hook("pre-commit", "exit 0");
    let done = served.value("repo_continue_in_progress", json!({}));
    assert_eq!(done["hooks_run"], json!(["pre-commit", "commit-msg"]), "{done}");
    assert!(world.git(&["log", "-1", "--format=%B"]).ends_with("Checked: yes"));
    assert_eq!(world.git(&["rev-list", "--parents", "-1", "HEAD"]).split(' ').count(), 3);
}

#[test]
fn a_hook_that_comes_last_takes_nothing_back() {
    let world = World::new();
    world.hook("post-checkout", "echo too late >&2; exit 3");
    let mut served = world.served(&[]);
    let done = served.value("repo_checkout", json!({"reference": "feature"}));
    assert!(notes(&done).contains("failed") && notes(&done).contains("too late"), "{done}");
    assert_eq!(world.git(&["symbolic-ref", "--short", "HEAD"]), "feature");
    // where Git did not get there, it is a failure all the same
    world.write("a.txt", "uncommitted\n");
    served.fails("repo_checkout", json!({"reference": "clash"}), "dirty");
}

#[test]
fn a_loud_hook_is_heard_to_its_end() {
    let world = World::new();
    world.hook("pre-commit", "head -c 10000000 /dev/zero | tr '\\0' x; head -c 10000000 /dev/zero | tr '\\0' y >&2");
    world.write("a.txt", "loud\n");
    let done = world.served(&[]).value("repo_commit", json!({"paths": ["a.txt"], "message": "loud"}));
    assert_eq!(done["hooks_run"], json!(["pre-commit"]));
    assert!(notes(&done).len() < 3_000 && notes(&done).contains("characters in all"), "{}", notes(&done).len());
}
