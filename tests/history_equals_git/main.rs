//! History is what `git log` says: by path, through renames, in ranges, by author, message and date, page by page.
//! Trust: the judge is the real git; repositories are generated from a seed, with merges, renames and clocks that lie.

mod details;
mod generated;
mod pages;
mod scope;
#[path = "../support/mod.rs"]
mod support;

use generated::{Graph, Random};
use serde_json::{Value, json};
use std::path::Path;
use support::{Place, Repo, Server, Start, fixtures};

/// What the server lists in all pages of `limit` commits.
fn listed(server: &mut Server, repository: &Path, arguments: &Value, limit: u32) -> Vec<String> {
    let mut ids = Vec::new();
    let mut whole = arguments.clone();
    whole["repoPath"] = json!(repository);
    whole["limit"] = json!(limit);
    loop {
        let outcome = server.call("repo.history", whole.clone());
        let data = outcome.data();
        assert!(data.get("partial").is_none(), "{arguments}: {data}");
        let commits = data["commits"].as_array().expect("a list of commits");
        assert!(commits.len() <= limit as usize, "no page is longer than asked for");
        ids.extend(commits.iter().map(|commit| commit["hash"].as_str().expect("an id").to_owned()));
        match data["nextCursor"].as_str() {
            Some(next) => whole["cursor"] = json!(next),
            None => return ids,
        }
    }
}

/// What git lists.
fn expected(repo: &Repo<'_>, arguments: &[&str]) -> Vec<String> {
    let mut all = vec!["--literal-pathspecs", "log", "--format=%H"];
    all.extend(arguments);
    repo.git(&all).lines().map(str::to_owned).collect()
}

/// Fails where the two differ, naming the first place.
fn same(what: &str, ours: &[String], git: &[String]) {
    let at = ours.iter().zip(git).position(|(a, b)| a != b).unwrap_or(ours.len().min(git.len()));
    assert!(
        ours == git,
        "{what}: {} of ours, {} of git, different from {at} on: {:?} / {:?}",
        ours.len(),
        git.len(),
        ours.get(at),
        git.get(at)
    );
}

fn generated<'p>(place: &'p Place, name: &str, seed: u64, commits: usize) -> (Repo<'p>, Vec<String>) {
    let repo = Repo::init(place, name);
    let paths = generated::fill(&repo, seed, commits);
    (repo, paths)
}

#[test]
fn every_path_with_and_without_filters() {
    let place = Place::new();
    let (repo, paths) = generated(&place, "r", 1, if support::slow() { 3_000 } else { 500 });
    let mut server = Start::new(&place).root(place.path()).spawn();
    for graph in [Graph::None, Graph::Plain, Graph::Filters(1), Graph::Filters(2), Graph::Chain] {
        graph.write(&repo);
        for path in &paths {
            let git = expected(&repo, &["HEAD", "--", path]);
            let ours = listed(&mut server, repo.path(), &json!({"path": path}), 200);
            same(&format!("{graph:?} {path}"), &ours, &git);
        }
        same(&format!("{graph:?}"), &listed(&mut server, repo.path(), &json!({}), 200), &expected(&repo, &["HEAD"]));
    }
    assert!(server.finish().status.success());
}

#[test]
fn files_are_followed_through_renames() {
    let place = Place::new();
    let (repo, paths) = generated(&place, "r", 2, if support::slow() { 2_000 } else { 300 });
    let mut server = Start::new(&place).root(place.path()).spawn();
    let mut renamed = 0;
    for graph in [Graph::None, Graph::Filters(1)] {
        graph.write(&repo);
        for path in paths.iter().filter(|path| path.ends_with(".txt")) {
            let git = expected(&repo, &["--follow", "HEAD", "--", path]);
            renamed += usize::from(git != expected(&repo, &["HEAD", "--", path]));
            for limit in [200, 3] {
                let ours = listed(&mut server, repo.path(), &json!({"path": path, "follow": true}), limit);
                same(&format!("{graph:?} --follow {path} by {limit}"), &ours, &git);
            }
        }
    }
    assert!(renamed > 5, "the repository has renames to follow: {renamed}");
    assert!(server.finish().status.success());
}

#[test]
fn ranges_dates_authors_and_messages() {
    let place = Place::new();
    let (repo, paths) = generated(&place, "r", 3, 400);
    let mut server = Start::new(&place).root(place.path()).spawn();
    let all = expected(&repo, &["--all"]);
    let mut random = Random(99);
    for graph in [Graph::None, Graph::Filters(2)] {
        graph.write(&repo);
        for _ in 0..if support::slow() { 300 } else { 25 } {
            let (from, to) = (random.of(&all), random.of(&all));
            let path = random.of(&paths);
            for dots in ["..", "..."] {
                let range = format!("{from}{dots}{to}");
                let ours = listed(&mut server, repo.path(), &json!({"range": range}), 200);
                same(&range, &ours, &expected(&repo, &[&range]));
                let ours = listed(&mut server, repo.path(), &json!({"range": range, "path": path}), 7);
                same(&format!("{range} -- {path}"), &ours, &expected(&repo, &[&range, "--", path]));
            }
        }
        for (key, value) in [
            ("author", "Ada"),
            ("author", "^Bob .*example\\.org>$"),
            ("author", "nobody"),
            ("grep", "^fix"),
            ("grep", "number [0-9]*7$"),
            ("grep", "body of \\(1\\|2\\)"),
            ("since", "2023-11-15T01:00:00Z"),
            ("until", "2023-11-15T01:00:00Z"),
        ] {
            let option = format!("--{key}={value}");
            let ours = listed(&mut server, repo.path(), &json!({key: value}), 200);
            same(&option, &ours, &expected(&repo, &[&option, "HEAD"]));
            let path = random.of(&paths);
            let ours = listed(&mut server, repo.path(), &json!({key: value, "path": path}), 5);
            same(&format!("{option} -- {path}"), &ours, &expected(&repo, &[&option, "HEAD", "--", path]));
        }
    }
    assert!(server.finish().status.success());
}

/// Which of several files that are just as like a new one is taken for its source depends on what stands between them.
#[test]
fn the_source_among_equals_is_that_of_git() {
    let place = Place::new();
    let repo = Repo::init(&place, "r");
    let shared: String = (0..20).map(|line| format!("a line that all have, number {line}\n")).collect();
    let sizes = ["unlike", "equal", "equal", "unlike", "equal", "half", "equal", "equal", "half", "equal"];
    for (number, kind) in sizes.iter().enumerate() {
        let own: String = (0..4).map(|line| format!("of file {number} alone, {line}\n")).collect();
        let text = match *kind {
            "equal" => format!("{shared}{own}"),
            "half" => format!("{}{own}", &shared[..shared.len() * 3 / 4]),
            _ => own,
        };
        repo.write(format!("source-{number}"), text);
        repo.commit(&format!("source {number}"));
    }
    for round in 0..3 {
        let name = format!("copy-{round}");
        repo.write(&name, format!("{shared}of the copy {round}\n"));
        repo.commit(&name);
        let mut server = Start::new(&place).root(place.path()).spawn();
        let ours = listed(&mut server, repo.path(), &json!({"path": name, "follow": true}), 50);
        same(&name, &ours, &expected(&repo, &["--follow", "HEAD", "--", &name]));
        repo.git(&["rm", "-q", &format!("source-{}", [0, 3, 5][round]), &name]);
        repo.commit("fewer");
    }
}

/// Between two ends, each commit is listed once, whatever the clocks of its parents said.
#[test]
fn a_parent_that_is_younger_than_its_child() {
    let place = Place::new();
    let repo = Repo::init(&place, "r");
    let tree = repo.git(&["hash-object", "-w", "-t", "tree", "/dev/null"]);
    let commit = |parents: &[&str], date: u64| {
        let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
        let who = format!("A <a@b.c> {date} +0000");
        repo.write(".git/commit", format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\n{date}\n"));
        repo.git(&["hash-object", "-w", "-t", "commit", ".git/commit"])
    };
    let root = commit(&[], 1_000);
    let (left, young) = (commit(&[&root], 2_000), commit(&[&root], 9_000));
    let merge = commit(&[&left, &young], 3_000);
    let (one, two) = (commit(&[&merge], 4_000), commit(&[&merge], 5_000));
    let tip = commit(&[&one, &two], 6_000);
    repo.git(&["update-ref", "HEAD", &tip]);
    let mut server = Start::new(&place).root(place.path()).spawn();
    for range in [format!("{root}..HEAD"), format!("{left}..HEAD"), format!("{young}...{tip}"), "HEAD".to_owned()] {
        for limit in [200, 1] {
            let ours = listed(&mut server, repo.path(), &json!({"range": range}), limit);
            same(&range, &ours, &expected(&repo, &[&range]));
        }
    }
}

#[test]
fn every_page_of_the_fixtures() {
    for script in [fixtures::RECORDED, fixtures::STATES] {
        let fixture = fixtures::build(script);
        let mut server = Start::new(&fixture.place).root(fixture.directory()).spawn();
        let mut compared = 0;
        for entry in std::fs::read_dir(fixture.directory()).expect("the fixture is a directory").flatten() {
            if !entry.path().is_dir() {
                continue;
            }
            let repo = Repo::open(&fixture.place, entry.path());
            let outcome = server.read("repo.history", repo.path());
            let git = repo.try_git(&["log", "--format=%H|%h|%p|%an|%ae|%at|%ct|%s"]);
            if !git.status.success() || !outcome.is_ok() {
                continue;
            }
            compared += 1;
            let text = String::from_utf8_lossy(&git.stdout).into_owned();
            let rows = outcome.data()["commits"].as_array().expect("commits");
            let ours: Vec<String> = (0..rows.len()).map(|at| line(&rows[at], rows.get(at + 1))).collect();
            let git: Vec<&str> = text.lines().take(ours.len()).collect();
            assert_eq!(ours, git, "{}", repo.path().display());
            let ours = listed(&mut server, repo.path(), &json!({}), 1);
            same(&repo.path().display().to_string(), &ours, &expected(&repo, &["HEAD"]));
        }
        assert!(compared >= 5, "{script}: only {compared} repositories could be compared");
        assert!(server.finish().status.success());
    }
}

/// A row in the form of git's `--format` above. What is absent is what the row, or the one after it, says already.
fn line(commit: &Value, next: Option<&Value>) -> String {
    let text = |key: &str| commit[key].as_str().expect("a text").to_owned();
    let parents: Vec<&str> = match commit.get("parents") {
        Some(parents) => parents.as_array().expect("a list").iter().filter_map(Value::as_str).collect(),
        None => vec![next.expect("the last row says its parents")["shortHash"].as_str().expect("a text")],
    };
    let when = commit.get("commitTime").unwrap_or(&commit["authorTime"]);
    assert!(commit.get("commitTime") != Some(&commit["authorTime"]), "it says nothing: {commit}");
    if let (Some(next), [one]) = (next, parents.as_slice()) {
        let said = commit.get("parents").is_some();
        assert!(!said || next["shortHash"] != *one, "the next row says it: {commit}");
    }
    [
        text("hash"),
        text("shortHash"),
        parents.join(" "),
        text("authorName"),
        text("authorEmail"),
        commit["authorTime"].to_string(),
        when.to_string(),
        text("subject"),
    ]
    .join("|")
}

/// A real repository, named by `BULKHEAD_HISTORY_REPOSITORY`, with `BULKHEAD_SLOW=1`: hundreds of its paths.
#[test]
fn a_real_repository() {
    let Some(path) = std::env::var_os("BULKHEAD_HISTORY_REPOSITORY").filter(|_| support::slow()) else { return };
    let place = Place::new();
    let repo = Repo::open(&place, path.into());
    let mut server = Start::new(&place).root(repo.path()).spawn();
    let files = repo.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    let files: Vec<&str> = files.lines().filter(|name| !name.starts_with('"')).collect();
    let mut random = Random(5);
    for _ in 0..300 {
        let file = *random.of(&files);
        let path = match (random.next() % 3, file.rsplit_once('/')) {
            (0, Some((directory, _))) => directory,
            _ => file,
        };
        let skip = expected(&repo, &["-60", "HEAD", "--", path]);
        let ours = listed_at_most(&mut server, repo.path(), &json!({"path": path}), 20, 60);
        same(path, &ours, &skip);
        if random.next().is_multiple_of(4) {
            let git = expected(&repo, &["-40", "--follow", "HEAD", "--", file]);
            let ours = listed_at_most(&mut server, repo.path(), &json!({"path": file, "follow": true}), 20, 40);
            same(&format!("--follow {file}"), &ours, &git);
        }
    }
    assert!(server.finish().status.success());
}

/// Ranges, authors, messages and dates of the same repository.
#[test]
fn a_real_repository_with_filters() {
    let Some(path) = std::env::var_os("BULKHEAD_HISTORY_REPOSITORY").filter(|_| support::slow()) else { return };
    let place = Place::new();
    let repo = Repo::open(&place, path.into());
    let mut server = Start::new(&place).root(repo.path()).spawn();
    let all = expected(&repo, &["--all"]);
    let files = repo.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    let files: Vec<&str> = files.lines().filter(|name| !name.starts_with('"')).collect();
    let mut random = Random(11);
    for _ in 0..100 {
        let from = usize::try_from(random.next()).unwrap_or(0) % all.len();
        let to = (from + 1 + usize::try_from(random.next()).unwrap_or(0) % 3_000).min(all.len() - 1);
        for range in [format!("{}..{}", all[to], all[from]), format!("{}...{}", all[to], all[from])] {
            let ours = listed_at_most(&mut server, repo.path(), &json!({"range": range}), 200, 400);
            same(&range, &ours, &expected(&repo, &["-400", &range]));
            let path = random.of(&files);
            let ours = listed_at_most(&mut server, repo.path(), &json!({"range": range, "path": path}), 7, 21);
            same(&format!("{range} -- {path}"), &ours, &expected(&repo, &["-21", &range, "--", path]));
        }
    }
    let people = repo.git(&["log", "--format=%an", "--max-count=4000", "HEAD"]);
    let people: Vec<&str> =
        people.lines().filter(|name| name.bytes().all(|b| b.is_ascii_alphabetic() || b == b' ')).collect();
    let dates = repo.git(&["log", "--format=%cI", "HEAD"]);
    let dates: Vec<&str> = dates.lines().collect();
    let words = ["fix", "^Merge", "test.*s$", "\\(add\\|remove\\)", "[0-9][0-9][0-9]", "docs\\?:", "Signed-off-by"];
    for _ in 0..40 {
        let path = random.of(&files);
        for (key, value) in [
            ("author", *random.of(&people)),
            ("grep", *random.of(&words)),
            ("since", *random.of(&dates)),
            ("until", *random.of(&dates)),
        ] {
            let option = format!("--{key}={value}");
            let ours = listed_at_most(&mut server, repo.path(), &json!({key: value}), 50, 100);
            same(&option, &ours, &expected(&repo, &["-100", &option, "HEAD"]));
            let ours = listed_at_most(&mut server, repo.path(), &json!({key: value, "path": path}), 5, 15);
            same(&format!("{option} -- {path}"), &ours, &expected(&repo, &["-15", &option, "HEAD", "--", path]));
        }
    }
    assert!(server.finish().status.success());
}

fn listed_at_most(server: &mut Server, repository: &Path, arguments: &Value, limit: u32, most: usize) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    let mut whole = arguments.clone();
    whole["repoPath"] = json!(repository);
    whole["limit"] = json!(limit);
    while ids.len() < most {
        let outcome = server.call("repo.history", whole.clone());
        let commits = outcome.data()["commits"].as_array().expect("a list of commits");
        ids.extend(commits.iter().map(|commit| commit["hash"].as_str().expect("an id").to_owned()));
        match outcome.data()["nextCursor"].as_str() {
            Some(next) => whole["cursor"] = json!(next),
            None => break,
        }
    }
    ids.truncate(most);
    ids
}
