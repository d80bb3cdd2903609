//! Hooks that say no, that take too long, and that change what is not theirs.
//! Trust: test code.

use crate::{World, reason, support::process};
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn a_hook_that_refuses_leaves_everything_as_it_was() {
    let world = World::new();
    world.hook("pre-commit", "echo 'a.txt: line 1 is too long, and that does not exist' >&2; exit 1");
    world.write("a.txt", "changed\n");
    world.write("new.txt", "new\n");
    let (head, index) = (world.git(&["rev-parse", "HEAD"]), world.git(&["ls-files", "--stage"]));
    let mut served = world.served(&[]);
    let arguments = json!({"paths": ["a.txt", "new.txt"], "message": "x", "include_untracked": true});
    let failure = served.fails("repo_commit", arguments.clone(), "refused");
    assert!(reason(&failure).contains("line 1 is too long") && reason(&failure).contains("pre-commit"), "{failure}");
    assert!(failure["restore_point"].is_string() && failure["operation_state"] == "Clear", "{failure}");
    assert_eq!((world.git(&["rev-parse", "HEAD"]), world.git(&["ls-files", "--stage"])), (head, index));
    assert_eq!((world.text("a.txt"), world.text("new.txt")), ("changed\n".to_owned(), "new\n".to_owned()));
    for (hook, tool, arguments) in [
        ("commit-msg", "repo_commit", arguments),
        ("reference-transaction", "repo_create_branch", json!({"name": "kept-out"})),
    ] {
        let _ = std::fs::remove_file(world.repo.join(".git/hooks/pre-commit"));
        world.hook(hook, "echo not like this >&2; exit 1");
        let failure = served.call(tool, arguments);
        let told = format!("{failure:?}");
        assert!(told.contains("not like this") && told.contains(hook), "{hook}: {told}");
        std::fs::remove_file(world.repo.join(".git/hooks").join(hook)).expect("it is there");
    }
    assert_eq!(world.git(&["for-each-ref", "refs/heads/kept-out"]), "");
    world.write("a.txt", world.git(&["show", "HEAD:a.txt"]).as_str());
    world.git(&["checkout", "-q", "--", "a.txt"]);
    world.hook("pre-rebase", "echo not now >&2; exit 1");
    let failure = served.fails("repo_rebase", json!({"onto": "feature"}), "refused");
    assert!(reason(&failure).contains("not now") && failure["operation_state"] == "Clear", "{failure}");
}

#[test]
fn a_hook_that_hangs_is_ended_with_all_that_it_started() {
    let world = World::new();
    world.hook("pre-commit", "sleep 6421 & sleep 6421");
    world.write("a.txt", "changed\n");
    let mut served = world.served(&["--timeout", "5"]);
    let since = Instant::now();
    let failure = served.fails("repo_commit", json!({"paths": ["a.txt"], "message": "x"}), "timeout");
    assert!(since.elapsed() < Duration::from_secs(30), "{:?}: {failure}", since.elapsed());
    assert_eq!(sleeping("6421"), 0);
    world.hook("pre-commit", "exit 0");
    served.value("repo_commit", json!({"paths": ["a.txt"], "message": "x"}));
    assert_eq!(world.git(&["show", "HEAD:a.txt"]), "changed");
}

#[test]
fn nothing_that_a_hook_started_outlives_the_call() {
    let world = World::new();
    world.hook(
        "post-commit",
        "nohup sleep 6422 >/dev/null 2>&1 &\n(setsid sleep 6422 >/dev/null 2>&1 || sleep 6422) >/dev/null 2>&1 &\n\
         perl -MPOSIX -e 'fork and exit; POSIX::setsid(); exec qw(sleep 6422)' >/dev/null 2>&1",
    );
    world.write("a.txt", "changed\n");
    let done = world.served(&[]).value("repo_commit", json!({"paths": ["a.txt"], "message": "x"}));
    assert_eq!(done["hooks_run"], json!(["post-commit"]));
    assert!(process::until(Duration::from_secs(5), || sleeping("6422") == 0), "{}", sleeping("6422"));
}

/// Processes that sleep for this long.
fn sleeping(seconds: &str) -> usize {
    let all = std::fs::read_dir("/proc").expect("it is there").flatten();
    let lines = all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.starts_with(b"sleep\0") && line.windows(4).any(|at| at == seconds.as_bytes())).count()
}

#[test]
fn what_a_hook_writes_into_settings_and_hooks_is_undone() {
    let world = World::new();
    world.hook(
        "pre-commit",
        "git config core.sshCommand evil\necho '#!/bin/sh' >.git/hooks/pre-push && chmod +x .git/hooks/pre-push\n\
         echo '* filter=evil' >>.git/info/attributes",
    );
    world.write("a.txt", "changed\n");
    let config = world.text(".git/config");
    let mut served = world.served(&[]);
    let failure = served.fails("repo_commit", json!({"paths": ["a.txt"], "message": "x"}), "refused");
    for name in ["core.sshcommand", "pre-push", "info/attributes", "put back"] {
        assert!(reason(&failure).contains(name), "{name}: {failure}");
    }
    assert_eq!(world.text(".git/config"), config);
    // an agent that does not know that it was done asks for it again; what stood there is kept for a person
    assert!(reason(&failure).contains(&format!("HEAD is at {}", world.git(&["rev-parse", "HEAD"]))), "{failure}");
    assert!(world.text(".git/bulkhead-aside-0/0-config").contains("evil"), "{failure}");
    for path in [".git/hooks/pre-push", ".git/info/attributes"] {
        assert!(!world.repo.join(path).exists(), "{path}");
    }
}
