//! The scope of a path: what `git status -- path` and `git log -- path` say, each row of them.
//! Trust: see the module above.

use super::{expected, generated, support};
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path};
use support::{
    Place, Repo, Server, Start, fixtures,
    rows::{self, Row},
};

fn scope(server: &mut Server, repository: &Path, path: &str) -> Value {
    let outcome = server.call("repo.scope", json!({"repoPath": repository, "path": path, "recentCommits": 20}));
    outcome.data().clone()
}

fn entries(data: &Value) -> Vec<Row> {
    let list = data["workingTree"]["entries"].as_array().expect("entries");
    let as_rows = list.iter().map(|entry| {
        let mut row = entry.clone();
        assert_eq!(
            entry["status"].as_str(),
            entry["columns"].as_str().map(str::trim),
            "the contract's form is the trimmed one"
        );
        row["status"] = entry["columns"].clone();
        row
    });
    rows::from_answer(&Value::Array(as_rows.collect()))
}

fn git_rows(repo: &Repo<'_>, path: &str) -> Vec<Row> {
    let output =
        repo.try_git(&["--no-optional-locks", "--literal-pathspecs", "status", "--porcelain=v1", "-z", "--", path]);
    rows::from_porcelain(&output.stdout)
}

#[test]
fn changes_are_those_of_git() {
    let fixture = fixtures::build(fixtures::RECORDED);
    let repo = Repo::open(&fixture.place, fixture.at("rich"));
    let mut server = Start::new(&fixture.place).root(fixture.directory()).spawn();
    let mut paths: BTreeSet<String> =
        [".", "packages", "packages/", "./packages/api", "untracked-dir", "nope", "docs", "vendor/sub"]
            .map(str::to_owned)
            .into();
    for row in git_rows(&repo, ".") {
        paths
            .extend([Some(row.path), row.orig].into_iter().flatten().filter_map(|path| String::from_utf8(path.0).ok()));
    }
    for path in paths {
        let data = scope(&mut server, repo.path(), &path);
        assert_eq!(entries(&data), git_rows(&repo, &path), "{path}");
        assert_eq!(data["workingTree"]["changed"], json!(git_rows(&repo, &path).len()), "{path}");
    }
    let inside = format!("{}/packages", repo.path().display());
    assert_eq!(scope(&mut server, repo.path(), &inside)["scope"], "packages", "an absolute path in the repository");
    assert_eq!(scope(&mut server, repo.path(), "untracked-\\xFF.bin")["workingTree"]["changed"], 1, "the escaped form");
    assert!(server.finish().status.success());
}

#[test]
fn commits_and_churn_are_those_of_git() {
    let place = Place::new();
    let (repo, paths) = generated(&place, "r", 6, 200);
    // what happened lately, by several people
    repo.git(&["reset", "-q", "--hard"]);
    for (name, days) in [("Three", 500), ("One", 200), ("Two", 20), ("One", 3)] {
        repo.write("lately.md", format!("{name} {days}\n"));
        repo.git(&["add", "lately.md"]);
        commit_at(&repo, name, now() - days * 86_400);
    }
    let mut server = Start::new(&place).root(place.path()).spawn();
    for path in paths.iter().step_by(3).map(String::as_str).chain(["lately.md"]) {
        compare(&mut server, &repo, path, 90);
    }
    assert!(server.finish().status.success());
}

/// Latest commits and churn of one path; gives how many commits were counted.
fn compare(server: &mut Server, repo: &Repo<'_>, path: &str, days: u32) -> usize {
    let arguments = json!({"repoPath": repo.path(), "path": path, "recentCommits": 20, "churnDays": days});
    let outcome = server.call("repo.scope", arguments);
    let data = outcome.data();
    let ours: Vec<&str> =
        data["recentCommits"].as_array().expect("commits").iter().filter_map(|c| c["sha"].as_str()).collect();
    let git = expected(repo, &["-20", "HEAD", "--", path]);
    assert_eq!(ours.len(), git.len(), "{path}");
    assert!(ours.iter().zip(&git).all(|(short, full)| full.starts_with(short)), "{path}");
    let since = format!("--since={days}.days");
    let since = repo.git(&["--literal-pathspecs", "log", &since, "--format=%an", "HEAD", "--", path]);
    let names: BTreeSet<&str> = since.lines().collect();
    assert_eq!(data["churn"]["commits"], json!(since.lines().count()), "{path} in {days} days");
    assert_eq!(data["churn"]["authors"], json!(names.len()), "{path} in {days} days");
    since.lines().count()
}

/// Of a real repository, named by `BULKHEAD_HISTORY_REPOSITORY`, with `BULKHEAD_SLOW=1`.
#[test]
fn commits_and_churn_of_a_real_repository() {
    let Some(path) = std::env::var_os("BULKHEAD_HISTORY_REPOSITORY").filter(|_| support::slow()) else { return };
    let place = Place::new();
    let repo = Repo::open(&place, path.into());
    let mut server = Start::new(&place).root(repo.path()).spawn();
    let files = repo.git(&["ls-tree", "-r", "-t", "--name-only", "HEAD"]);
    let files: Vec<&str> = files.lines().filter(|name| !name.starts_with('"')).collect();
    let mut counted = 0;
    for path in files.iter().step_by((files.len() / 60).max(1)).chain([&"."]) {
        for days in [90, 180, 365] {
            counted += compare(&mut server, &repo, path, days);
        }
    }
    eprintln!("{counted} commits counted");
    assert!(server.finish().status.success());
}

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs()
}

fn commit_at(repo: &Repo<'_>, name: &str, date: u64) {
    let tree = repo.git(&["write-tree"]);
    let text = format!(
        "tree {tree}\nparent {}\nauthor {name} <a@b.c> {date} +0000\ncommitter {name} <a@b.c> {date} +0000\n\nlately\n",
        repo.git(&["rev-parse", "HEAD"])
    );
    repo.write(".git/commit", text);
    let id = repo.git(&["hash-object", "-w", "-t", "commit", ".git/commit"]);
    repo.git(&["reset", "-q", "--soft", &id]);
}
