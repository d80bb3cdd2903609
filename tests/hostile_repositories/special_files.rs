//! FIFOs and devices where Git keeps files, and in the working tree: opening one would wait forever.
//! Trust: hostile by construction.

use super::{
    attack,
    support::{hostile::special_files as build, *},
};
use serde_json::json;
use std::fs;

#[test]
fn a_fifo_in_place_of_every_file_of_git() {
    let report = attack(build::in_place_of_files);
    for place in build::PLACES {
        report.answered_or(&build::name(place), &["special-file", "corrupt"]);
        for outcome in report.on(&build::name(place)) {
            // answered at once, not by the deadline
            assert_ne!(outcome.code(), Some(10021), "{place}: a worker hung: {}", outcome.message);
        }
    }
    for place in ["HEAD", "packed-refs", "config", "index", "objects/info/alternates", "shallow", "refs/heads/main"] {
        report.all_refused(&build::name(place), &["special-file"]);
    }
}

#[test]
fn a_fifo_in_place_of_what_a_revision_names() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    for at in ["refs/heads/fifo", "refs/tags/fifo-tag", "refs/remotes/o/HEAD", "logs/refs/heads/main", "plain"] {
        let path = repo.git_dir().join(at);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().expect("inside the git directory")).expect("ours");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("ours");
    }
    let mut server = Start::new(&place).root(repo.path()).arguments(&["--deadline", "8"]).spawn();
    let path = repo.path().to_str().expect("places have UTF-8 paths");
    for revision in [
        "fifo",
        "heads/fifo",
        "refs/heads/fifo~1",
        "fifo-tag^{}",
        "o",
        "main@{1}",
        "@{1}",
        "main@{yesterday}",
        "fifo@{0}",
        "plain",
        "fifo:a.txt",
        "x-3-gfifo",
    ] {
        for (tool, arguments) in [
            ("commit.details", json!({"repoPath": path, "commit": revision})),
            ("diff.text", json!({"repoPath": path, "base": revision})),
            ("repo.conflictPreflight", json!({"repoPath": path, "targetRef": revision})),
            ("repo.history", json!({"repoPath": path, "range": revision})),
        ] {
            let outcome = server.call(tool, arguments);
            assert!(outcome.elapsed.as_secs() < 6, "{tool} {revision}: it waited {:?}", outcome.elapsed);
            assert!(!outcome.is_ok(), "{tool} {revision}: {}", outcome.message);
            assert_ne!(outcome.code(), Some(10021), "{tool} {revision}: {}", outcome.message);
        }
    }
}

#[test]
fn a_fifo_in_place_of_an_object() {
    let report = attack(build::in_place_of_objects);
    for name in (0..build::OBJECTS.len()).map(|at| format!("object-{at}")).chain(["borrower".to_owned()]) {
        report.all_refused(&name, &["special-file"]);
    }
}

#[test]
fn a_fifo_that_takes_the_place_of_an_object_later() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let mut server = Start::new(&place).root(repo.path()).arguments(&["--deadline", "3"]).spawn();
    assert!(server.read("repo.status", repo.path()).is_ok());
    let id = repo.git(&["rev-parse", "HEAD~1"]);
    let path = repo.git_dir().join("objects").join(&id[..2]).join(&id[2..]);
    fs::remove_file(&path).expect("it is loose");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("ours");
    // A worker that keeps the repository open may wait for it until it is ended, or take it for damaged. Whatever opens the
    // repository anew looks first, which is every call while the configuration is so young that it may change unseen.
    let first = server.read("repo.history", repo.path());
    if first.is_ok() {
        assert_eq!(first.data()["partial"]["reason"], "object-missing", "{}", first.message);
    } else if first.code() != Some(10021) {
        first.expect_refused("the first call", &["special-file"]);
    }
    server.read("repo.history", repo.path()).expect_refused("the next call", &["special-file"]);
}

#[test]
fn special_files_in_the_working_tree() {
    let report = attack(build::in_the_worktree);
    report.answered_or("repo", &["special-file"]);
    for outcome in report.on("repo") {
        assert_ne!(outcome.code(), Some(10021), "a worker hung: {}", outcome.message);
    }
    let report = attack(build::one_in_the_worktree);
    ["untracked", "tracked", "excluding"].iter().for_each(|name| report.all_answered(name));
}

#[test]
fn a_link_in_place_of_an_ignore_file() {
    attack(build::links_for_patterns).all_answered("repo");
}
