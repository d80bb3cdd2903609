//! Answers stay small whatever the repository holds: cut at a row, marked, with the true total and a way to the rest.
//! Trust: the repository is honest and large.

mod support;

use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};
use support::{Place, Repo, Server, Start, rows};

/// Characters of a default answer (contract `limits`).
const DEFAULT_CHARS: usize = bulkhead_contract::limits::DEFAULT_ANSWER_CHARS;

fn large(place: &Place, directories: usize, files: usize) -> Repo<'_> {
    let repo = Repo::honest(place, "repo");
    for directory in 0..directories {
        let path = repo.at(format!("directory-{directory:03}"));
        fs::create_dir(&path).expect("ours");
        // a tracked file, so that the directory is not one row
        fs::write(path.join("tracked"), "x").expect("ours");
    }
    repo.commit("directories");
    for directory in 0..directories {
        for file in 0..files {
            fs::write(repo.at(format!("directory-{directory:03}/untracked-{file:05}")), "").expect("ours");
        }
    }
    repo
}

/// Every page of a tool's list, from the first to the last; each is checked for its size.
fn pages(server: &mut Server, tool: &str, arguments: &Value, lists: &[&str]) -> Vec<Vec<rows::Row>> {
    let mut pages = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut asked = arguments.clone();
        if let Some(cursor) = &cursor {
            asked["cursor"] = json!(cursor);
        }
        let outcome = server.call(tool, asked);
        let data = outcome.data();
        let page: Vec<rows::Row> = lists.iter().flat_map(|list| rows::from_answer(&data[list])).collect();
        assert_eq!(data["truncated"], json!(data["nextCursor"].is_string()), "a cut page says so and leads on");
        assert!(!page.is_empty(), "a page of nothing leads nowhere");
        pages.push(page);
        match data["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return pages,
        }
        assert!(pages.len() < 5_000, "the pages never end");
    }
}

/// What an agent reads first is read in every session: four bytes are taken for a token, of which it may cost 400. Paths are left
/// out of the count, since they are as long as the place is.
#[test]
fn a_brief_is_brief() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    for number in 0..12 {
        repo.write("file", format!("{number}\n"));
        repo.commit(&format!("fix(parser): take number {number:02} for what it is, not text"));
    }
    repo.append("file", "changed\n");
    repo.write("new", "x");
    let mut server = Start::new(&place).root(place.path()).spawn();
    let outcome = server.read("repo.brief", repo.path());
    assert_eq!(outcome.data()["recentCommits"].as_array().map(Vec::len), Some(10));
    let text = outcome.message["result"]["content"][0]["text"].as_str().expect("a text block");
    let bytes = text.len() - repo.path().as_os_str().len();
    assert!(bytes <= 1_600, "{bytes} bytes: {text}");
    assert!(server.finish().status.success());
}

#[test]
fn sixty_thousand_untracked_files() {
    let (directories, files) = (60, 1_000);
    let total = directories * files;
    let place = Place::new();
    let repo = large(&place, directories, files);
    let mut server = Start::new(&place).root(place.path()).spawn();

    let first = server.read("repo.status", repo.path());
    assert!(first.characters() <= DEFAULT_CHARS, "a default answer of {} characters", first.characters());
    assert_eq!(first.data()["changedFiles"], json!(total), "the total is the true one");
    assert_eq!((&first.data()["truncated"], &first.data()["clean"]), (&json!(true), &json!(false)));
    eprintln!("the first answer for {total} untracked files took {:?}", first.elapsed);

    let changes = server.read("worktree.changes", repo.path());
    assert!(changes.characters() <= DEFAULT_CHARS, "{} characters", changes.characters());
    assert_eq!(changes.data()["totals"]["untracked"], json!(total));
    assert_eq!(changes.data()["truncated"], json!(true));

    let brief = server.read("repo.brief", repo.path());
    assert!(brief.characters() <= DEFAULT_CHARS);
    assert_eq!(brief.data()["workingTree"]["untracked"], json!(total));

    let arguments = json!({"repoPath": repo.path(), "limit": 10_000});
    let pages = pages(&mut server, "repo.status", &arguments, &["entries"]);
    let all: Vec<rows::Row> = pages.into_iter().flatten().collect();
    let distinct: BTreeSet<&rows::Row> = all.iter().collect();
    assert_eq!((all.len(), distinct.len()), (total, total), "no row is lost and none comes twice");
    assert!(all.is_sorted_by(|a, b| a.path < b.path), "in the order of paths");
    assert!(server.finish().status.success());
}

#[test]
fn pages_of_every_kind_of_row() {
    let place = Place::new();
    let repo = large(&place, 5, 40);
    for directory in 0..5 {
        repo.append(format!("directory-{directory:03}/tracked"), "changed");
        repo.write(format!("directory-{directory:03}/added"), "new");
        repo.git(&["add", &format!("directory-{directory:03}/added")]);
    }
    repo.append("a.txt", "changed");
    repo.git(&["add", "a.txt"]);
    repo.append("a.txt", "again");
    let expected = rows::sorted(repo.status());
    let mut server = Start::new(&place).root(place.path()).spawn();
    for limit in [1, 7, 100, 1_000] {
        let arguments = json!({"repoPath": repo.path(), "limit": limit});
        let all = pages(&mut server, "repo.status", &arguments, &["entries"]);
        assert!(all.iter().all(|page| page.len() <= limit), "a page holds at most what was asked for");
        assert_eq!(rows::sorted(all.concat()), expected, "limit {limit}");
        let lists = ["staged", "unstaged", "untracked"];
        let all = pages(&mut server, "worktree.changes", &arguments, &lists).concat();
        // a path that is changed in both columns is in two lists, as the contract has it
        let distinct: BTreeSet<rows::Row> = all.into_iter().collect();
        assert_eq!(distinct.into_iter().collect::<Vec<_>>(), expected, "limit {limit}");
    }
    assert!(server.finish().status.success());
}

#[test]
fn a_row_limit_above_the_default_is_honoured_up_to_the_ceiling() {
    let place = Place::new();
    let repo = large(&place, 3, 700);
    let mut server = Start::new(&place).root(place.path()).spawn();
    let rows_of = |server: &mut Server, arguments: Value| {
        let outcome = server.call("repo.status", arguments);
        outcome.data()["entries"].as_array().expect("rows").len()
    };
    let default = rows_of(&mut server, json!({"repoPath": repo.path()}));
    let asked = rows_of(&mut server, json!({"repoPath": repo.path(), "limit": 2_100}));
    assert!(default <= 1_000 && default > 100, "{default} rows by default");
    assert!(asked >= default, "{asked} rows when 2100 were asked for, {default} otherwise");
    for limit in [0, -1, 10_001] {
        let outcome = server.call("repo.status", json!({"repoPath": repo.path(), "limit": limit}));
        assert_eq!(outcome.code(), Some(-32602), "limit {limit}: {}", outcome.message);
    }
    assert!(server.finish().status.success());
}

#[test]
fn a_cursor_of_another_answer_is_refused_or_leads_to_an_honest_page() {
    let place = Place::new();
    let repo = large(&place, 2, 20);
    let mut server = Start::new(&place).root(place.path()).spawn();
    let first = server.call("repo.status", json!({"repoPath": repo.path(), "limit": 3}));
    let cursor = first.data()["nextCursor"].as_str().expect("more rows follow").to_owned();
    for wrong in ["", "x", "0", "-1", "18446744073709551616", "../../etc/passwd", "\u{0}", &"9".repeat(5_000)] {
        let outcome = server.call("repo.status", json!({"repoPath": repo.path(), "cursor": wrong}));
        let refused = outcome.code() == Some(-32602) || outcome.reason() == Some("bad-argument");
        assert!(refused || outcome.is_ok(), "{wrong:?}: {}", outcome.message);
    }
    // the row that the cursor stands at is gone meanwhile: the rest still comes
    let rest_before = server.call("repo.status", json!({"repoPath": repo.path(), "cursor": cursor}));
    fs::remove_file(repo.at("directory-000/untracked-00002")).expect("ours");
    let rest_after = server.call("repo.status", json!({"repoPath": repo.path(), "cursor": cursor}));
    let (before, after) = (&rest_before.data()["entries"], &rest_after.data()["entries"]);
    let (before, after) = (rows::from_answer(before), rows::from_answer(after));
    let lost = before.iter().filter(|row| !after.contains(row) && !row.path.0.ends_with(b"untracked-00002")).count();
    assert_eq!(lost, 0, "a page after a change skips nothing");
    assert!(server.finish().status.success());
}

#[test]
fn long_names_count_by_their_characters() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    for number in 0..400 {
        // control characters take six characters of JSON each
        repo.write(format!("{number:03}{}", "\u{1}".repeat(100)), "");
    }
    let mut server = Start::new(&place).root(place.path()).spawn();
    let outcome = server.read("repo.status", repo.path());
    assert!(outcome.characters() <= DEFAULT_CHARS, "{} characters", outcome.characters());
    assert_eq!(outcome.data()["changedFiles"], json!(400));
    let all = pages(&mut server, "repo.status", &json!({"repoPath": repo.path()}), &["entries"]);
    assert_eq!(all.concat().len(), 400);
    assert!(server.finish().status.success());
}
