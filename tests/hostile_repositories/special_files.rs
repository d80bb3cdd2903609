//! FIFOs and devices where Git keeps files, and in the working tree: opening one would wait forever.
//! Trust: hostile by construction.

use super::{Attack, support::*};
use serde_json::json;
use std::{fs, os::unix::fs::symlink};

/// Where Git keeps a file that a reader opens.
const PLACES: &[&str] = &[
    "HEAD",
    "packed-refs",
    "config",
    "index",
    "objects/info/alternates",
    "info/exclude",
    "info/attributes",
    "logs/HEAD",
    "refs/heads/p",
    "refs/heads/main",
    "shallow",
    "MERGE_HEAD",
    "commondir",
    "config.worktree",
    "info/sparse-checkout",
    "logs/refs/stash",
    "refs/stash",
    "objects/info/commit-graph",
    "objects/pack/multi-pack-index",
    "rebase-merge",
];

#[test]
fn a_fifo_in_place_of_every_file_of_git() {
    let mut attack = Attack::new();
    let name = |place: &str| format!("fifo-{}", place.replace('/', "-"));
    for place in PLACES {
        let repo = Repo::honest(&attack.place, name(place));
        let path = repo.git_dir().join(place);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().expect("inside the git directory")).expect("ours");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("ours");
        if *place == "config.worktree" {
            let config = repo.git_dir().join("config");
            let text = fs::read_to_string(&config).expect("it is there") + "[extensions]\n\tworktreeConfig = true\n";
            fs::write(config, text.replace("repositoryformatversion = 0", "repositoryformatversion = 1"))
                .expect("ours");
        }
        attack.aim(repo.path().to_owned());
    }
    let report = attack.run();
    for place in PLACES {
        report.answered_or(&name(place), &["special-file", "corrupt"]);
        for outcome in report.on(&name(place)) {
            // answered at once, not by the deadline
            assert_ne!(outcome.code(), Some(10021), "{place}: a worker hung: {}", outcome.message);
        }
    }
    for place in ["HEAD", "packed-refs", "config", "index", "objects/info/alternates", "shallow", "refs/heads/main"] {
        report.all_refused(&name(place), &["special-file"]);
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
    let mut attack = Attack::new();
    let revisions = ["HEAD", "HEAD^{tree}", "HEAD:a.txt", "HEAD~1"];
    let name = |at: usize| format!("object-{at}");
    for (at, revision) in revisions.iter().enumerate() {
        let repo = Repo::honest(&attack.place, name(at));
        repo.append("a.txt", "more\n");
        repo.commit("more");
        repo.append("a.txt", "changed\n");
        let id = repo.git(&["rev-parse", revision]);
        let path = repo.git_dir().join("objects").join(&id[..2]).join(&id[2..]);
        fs::remove_file(&path).expect("it is loose");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("ours");
        attack.aim(repo.path().to_owned());
    }
    // of a lender, the same
    let lender = Repo::honest(&attack.place, "lender");
    let id = lender.git(&["rev-parse", "HEAD"]);
    let borrower = Repo::init(&attack.place, "borrower");
    let objects = lender.git_dir().join("objects");
    fs::write(borrower.git_dir().join("objects/info/alternates"), format!("{}\n", objects.display())).expect("ours");
    objects::set_ref(&borrower.git_dir(), "refs/heads/main", format!("{id}\n"));
    let path = objects.join(&id[..2]).join(&id[2..]);
    fs::remove_file(&path).expect("it is loose");
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("ours");
    attack.aim(borrower.path().to_owned());
    attack.allow(attack.place.path().to_owned());
    let report = attack.run();
    for name in (0..revisions.len()).map(name).chain(["borrower".to_owned()]) {
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
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    for name in [".gitignore", "dir/.gitignore", ".gitattributes", "b.txt"] {
        repo.write(name, "x\n");
    }
    repo.write("dir/tracked", "x\n");
    repo.commit("more files");
    for name in ["a.txt", ".gitignore", "dir/.gitignore", ".gitattributes"] {
        fs::remove_file(repo.at(name)).expect("ours");
        nix::unistd::mkfifo(&repo.at(name), nix::sys::stat::Mode::S_IRWXU).expect("ours");
    }
    nix::unistd::mkfifo(&repo.at("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("ours");
    fs::remove_file(repo.at("b.txt")).expect("ours");
    symlink("/dev/zero", repo.at("b.txt")).expect("ours");
    for (name, target) in [
        ("random", "/dev/random"),
        ("tty", "/dev/tty"),
        ("environment", "/proc/self/environ"),
        ("input", "/proc/self/fd/0"),
    ] {
        symlink(target, repo.at(name)).expect("ours");
    }
    attack.aim(repo.path().to_owned());
    let report = attack.run();
    report.answered_or("repo", &["special-file"]);
    for outcome in report.on("repo") {
        assert_ne!(outcome.code(), Some(10021), "a worker hung: {}", outcome.message);
    }
}

#[test]
fn a_link_in_place_of_an_ignore_file() {
    let mut attack = Attack::new();
    let repo = Repo::honest(&attack.place, "repo");
    fs::write(attack.place.at("outside"), "a-CANARY-line\n").expect("ours");
    symlink("/dev/zero", repo.at(".gitignore")).expect("ours");
    symlink(attack.place.at("outside"), repo.at(".gitattributes")).expect("ours");
    attack.aim(repo.path().to_owned());
    attack.run().all_answered("repo");
}
