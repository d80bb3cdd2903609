//! `worktree.list`: locked, prunable, detached, unborn and bare ones, from everywhere, and records that are hostile.
//! Trust: test code.

use crate::support::{Outcome, Place, Repo, Start};
use serde_json::{Map, Value, json};
use std::{fs, os::unix::fs::symlink, path::Path};

/// The rows of git, in the words of the answer.
fn expected(repo: &Repo<'_>) -> Vec<Value> {
    let output = repo.try_git(&["worktree", "list", "--porcelain", "-z"]);
    assert!(output.status.success(), "git worktree list: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("these paths are UTF-8");
    let blocks = text.split("\0\0").filter(|block| !block.is_empty());
    blocks.enumerate().map(|(at, block)| row(at == 0, block)).collect()
}

fn row(is_main: bool, block: &str) -> Value {
    let mut row = Map::new();
    for (key, value) in [("isMain", is_main), ("detached", false), ("locked", false), ("prunable", false)] {
        row.insert(key.to_owned(), json!(value));
    }
    for line in block.split('\0').filter(|line| !line.is_empty()) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "worktree" => drop(row.insert("path".into(), json!(rest))),
            "HEAD" if rest.bytes().all(|byte| byte == b'0') => {}
            "HEAD" => {
                row.insert("head".into(), json!(rest));
                row.insert("headSha".into(), json!(&rest[..12]));
            }
            "branch" => drop(row.insert("branch".into(), json!(rest.strip_prefix("refs/heads/").unwrap_or(rest)))),
            "detached" | "bare" => drop(row.insert(word.into(), json!(true))),
            "locked" | "prunable" => {
                row.insert(word.into(), json!(true));
                if !rest.is_empty() {
                    row.insert(format!("{word}Reason"), json!(rest));
                }
            }
            other => panic!("git says {other}, which nobody knows here"),
        }
    }
    Value::Object(row)
}

/// The rows of an answer without `current`, of which one must be true.
fn answered(outcome: &Outcome) -> Vec<Value> {
    let data = outcome.data();
    let mut rows = data["worktrees"].as_array().expect("a list").clone();
    assert_eq!(rows.iter().filter(|row| row["current"] == json!(true)).count(), 1, "{data}");
    for row in &mut rows {
        row.as_object_mut().expect("a row").remove("current");
    }
    assert_eq!((&data["total"], &data["truncated"]), (&json!(rows.len()), &json!(false)));
    rows
}

fn honest_with_worktrees(place: &Place) -> Repo<'_> {
    let repo = Repo::honest(place, "repo");
    let at = |name: &str| place.at(name).to_str().expect("UTF-8").to_owned();
    repo.git(&["worktree", "add", "-q", "-b", "linked", &at("linked")]);
    repo.git(&["worktree", "add", "-q", "-b", "topic/locked", &at("z locked\nline")]);
    repo.git(&["worktree", "lock", "--reason", "a reason\nof two lines", &at("z locked\nline")]);
    repo.git(&["worktree", "add", "-q", "-b", "silent", &at("silent")]);
    repo.git(&["worktree", "lock", &at("silent")]);
    repo.git(&["worktree", "add", "-q", "--detach", &at("detached"), "HEAD~1"]);
    repo.git(&["worktree", "add", "-q", "-b", "gone", &at("gone")]);
    repo.git(&["worktree", "add", "-q", "-b", "gone-locked", &at("gone-locked")]);
    repo.git(&["worktree", "lock", &at("gone-locked")]);
    for gone in ["gone", "gone-locked"] {
        fs::remove_dir_all(place.at(gone)).expect("it was just made");
    }
    repo.git(&["worktree", "add", "-q", "-b", "unborn-soon", &at("unborn")]);
    Repo::open(place, place.at("unborn")).git(&["symbolic-ref", "HEAD", "refs/heads/never/born"]);
    repo.git(&["worktree", "add", "-q", "-b", "inside", &at("repo/inside")]);
    repo
}

#[test]
fn from_the_main_one_and_from_a_linked_one() {
    let place = Place::new();
    let repo = honest_with_worktrees(&place);
    let mut server = Start::new(&place).root(place.path()).spawn();
    let git = expected(&repo);
    assert_eq!(git.len(), 9);
    assert_eq!(answered(&server.read("worktree.list", repo.path())), git);
    assert_eq!(answered(&server.read("worktree.list", &place.at("linked"))), git);
    assert_eq!(answered(&server.read("worktree.list", &place.at("repo/inside"))), git);
    // packed references and a branch that moved are seen at once
    repo.git(&["pack-refs", "--all"]);
    Repo::open(&place, place.at("linked")).commit("one more");
    assert_eq!(answered(&server.read("worktree.list", repo.path())), expected(&repo));
    repo.git(&["worktree", "prune"]);
    assert_eq!(answered(&server.read("worktree.list", repo.path())), expected(&repo));
}

#[test]
fn of_a_bare_repository_and_of_other_storage() {
    let place = Place::new();
    Repo::honest(&place, "source");
    let bare = Repo::init_with(&place, "bare.git", &["--bare"]);
    bare.git(&["fetch", "-q", place.at("source").to_str().expect("UTF-8"), "main:main"]);
    bare.git(&["worktree", "add", "-q", "../of-bare", "main"]);
    let sha256 = Repo::init_with(&place, "sha256", &["--object-format=sha256"]);
    sha256.commit("one");
    sha256.git(&["worktree", "add", "-q", "-b", "two", "../sha256-linked"]);
    let unborn = Repo::init(&place, "unborn");
    let mut server = Start::new(&place).root(place.path()).spawn();
    for repo in [&bare, &Repo::open(&place, place.at("of-bare")), &sha256, &unborn] {
        assert_eq!(answered(&server.read("worktree.list", repo.path())), expected(repo), "{}", repo.path().display());
    }
}

#[test]
fn what_lies_outside_the_roots_is_not_looked_for() {
    let place = Place::new();
    let repo = Repo::honest(&place, "inside/repo");
    for (name, branch) in [("outside/there", "one"), ("outside/gone", "two"), ("inside/gone", "three")] {
        let at = place.at(name);
        repo.git(&["worktree", "add", "-q", "-b", branch, at.to_str().expect("UTF-8")]);
    }
    fs::remove_dir_all(place.at("outside/gone")).expect("it was just made");
    fs::remove_dir_all(place.at("inside/gone")).expect("it was just made");
    // a link beneath the root that leads out of it
    symlink(place.at("outside"), place.at("inside/link")).expect("links are possible here");
    let gitdir = repo.git_dir().join("worktrees/there/gitdir");
    let said = |server: &mut crate::support::Server| {
        let outcome = server.read("worktree.list", repo.path());
        let rows = outcome.data()["worktrees"].as_array().expect("a list").clone();
        let of = |end: &str| {
            let row = rows.iter().find(|row| row["path"].as_str().expect("text").ends_with(end)).expect("a row");
            (row["prunable"].clone(), row.get("unseen").cloned())
        };
        [of("there"), of("outside/gone"), of("inside/gone")]
    };
    let mut server = Start::new(&place).root(place.at("inside")).spawn();
    let unseen = (json!(false), Some(json!(true)));
    let gone = (json!(true), None);
    assert_eq!(said(&mut server), [unseen.clone(), unseen.clone(), gone.clone()]);
    fs::write(&gitdir, format!("{}/.git\n", place.at("inside/link/there").display())).expect("writable");
    assert_eq!(said(&mut server), [unseen.clone(), unseen.clone(), gone.clone()]);
    fs::write(&gitdir, format!("{}/../outside/there/.git\n", place.at("inside").display())).expect("writable");
    assert_eq!(said(&mut server), [unseen.clone(), unseen, gone]);
}

#[test]
fn hostile_records_are_left_out_and_said_to_be() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    repo.git(&["worktree", "add", "-q", "-b", "good", "../good"]);
    let records = repo.git_dir().join("worktrees");
    let record = |name: &str, write: &dyn Fn(&Path)| {
        fs::create_dir(records.join(name)).expect("writable");
        write(&records.join(name));
    };
    let secret = place.at("secret");
    fs::write(&secret, "/a/secret/path\n").expect("writable");
    record("link", &|dir| symlink(&secret, dir.join("gitdir")).expect("links are possible here"));
    record("fifo", &|dir| {
        nix::unistd::mkfifo(&dir.join("gitdir"), nix::sys::stat::Mode::S_IRWXU).expect("FIFOs are possible here");
    });
    record("large", &|dir| fs::write(dir.join("gitdir"), "x".repeat(1 << 20)).expect("writable"));
    record("empty", &|dir| fs::write(dir.join("gitdir"), "").expect("writable"));
    record("none", &|_| {});
    symlink(place.path(), records.join("elsewhere")).expect("links are possible here");
    record("odd", &|dir| {
        fs::write(dir.join("gitdir"), format!("{}/odd/.git\n", place.path().display())).expect("writable");
        symlink(&secret, dir.join("locked")).expect("links are possible here");
        symlink(&secret, dir.join("HEAD")).expect("links are possible here");
    });
    let mut server = Start::new(&place).root(place.path()).spawn();
    let outcome = server.read("worktree.list", repo.path());
    let data = outcome.data();
    let paths: Vec<_> = data["worktrees"].as_array().expect("a list").iter().map(|row| row["path"].clone()).collect();
    let at = |name: &str| json!(place.at(name));
    assert_eq!(paths, [at("repo"), at("good"), at("odd")], "{data}");
    assert_eq!(data["partial"]["reason"], "unreadable");
    assert!(!data.to_string().contains("secret"), "{data}");
}

#[test]
fn many_are_given_in_pages() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let head = repo.git(&["rev-parse", "HEAD"]);
    for n in 0..1_500 {
        let dir = repo.git_dir().join(format!("worktrees/w{n}"));
        fs::create_dir_all(&dir).expect("writable");
        fs::write(dir.join("gitdir"), format!("{}/{n:04}/.git\n", place.path().display())).expect("writable");
        fs::write(dir.join("HEAD"), &head).expect("writable");
        fs::write(dir.join("commondir"), "../..\n").expect("writable");
    }
    let mut server = Start::new(&place).root(place.path()).spawn();
    let mut seen = Vec::new();
    let mut arguments = json!({"repoPath": repo.path()});
    loop {
        let outcome = server.call("worktree.list", arguments.clone());
        assert!(outcome.characters() <= 40_000);
        let data = outcome.data();
        assert_eq!(data["total"], json!(1_501));
        seen.extend(data["worktrees"].as_array().expect("a list").iter().map(|row| row["path"].clone()));
        match data.get("nextCursor") {
            Some(next) => arguments["cursor"] = next.clone(),
            None => break,
        }
    }
    let git: Vec<_> = expected(&repo).into_iter().map(|row| row["path"].clone()).collect();
    assert_eq!(seen, git);
    for cursor in ["", "wp:nobody", "sp:a", "x"] {
        let outcome = server.call("worktree.list", json!({"repoPath": repo.path(), "cursor": cursor}));
        outcome.expect_refused(cursor, &["bad-argument"]);
    }
}
