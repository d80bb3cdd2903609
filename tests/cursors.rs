//! A cursor is of use to the tool that gave it and to no other, and what nobody gave is refused.
//! Trust: cursors are written by callers; these are taken from one tool to the next, spoiled, and made up.

#[path = "support/mod.rs"]
mod support;

use serde_json::{Value, json};
use std::fs;
use support::{Outcome, Place, Repo, Server, Start, dice::Dice};

/// Every tool that gives pages, asked for a small one.
const PAGES: &[(&str, &str)] = &[
    ("repo.status", r#"{"limit": 1}"#),
    ("worktree.changes", r#"{"limit": 1}"#),
    ("repo.refs", r#"{"limit": 1}"#),
    ("repo.reflog", r#"{"limit": 1}"#),
    ("repo.history", r#"{"limit": 1}"#),
    ("diff.text", r#"{"base": "HEAD~1", "maxBytes": 1024}"#),
    ("diff.text", r#"{"base": "HEAD~1", "stat": true, "limit": 1}"#),
    ("commit.details", r#"{"commit": "HEAD", "limit": 1}"#),
    ("conflict.read", r#"{"maxFiles": 1}"#),
];

fn ask(server: &mut Server, repo: &Repo<'_>, tool: &str, page: &str, cursor: Option<&str>) -> Outcome {
    let mut arguments: Value = serde_json::from_str(page).expect("written here");
    arguments["repoPath"] = json!(repo.path());
    if let Some(cursor) = cursor {
        arguments["cursor"] = json!(cursor);
    }
    server.call(tool, arguments)
}

/// A repository in which every list is longer than one row.
fn repository(place: &Place) -> Repo<'_> {
    let repo = Repo::honest(place, "repo");
    let write = |text: &str| {
        for n in 0..4 {
            repo.write(format!("file-{n}"), format!("{text} {n}\n").repeat(60));
        }
    };
    write("base");
    repo.commit("base");
    repo.git(&["checkout", "-q", "-b", "theirs"]);
    write("theirs");
    repo.commit("theirs");
    repo.git(&["checkout", "-q", "main"]);
    write("ours");
    repo.commit("ours");
    repo.try_git(&["merge", "theirs"]);
    for n in 0..3 {
        repo.write(format!("untracked-{n}"), "x");
    }
    repo
}

#[test]
fn no_tool_takes_the_cursor_of_another() {
    let place = Place::new();
    let repo = repository(&place);
    let mut server = Start::new(&place).root(repo.path()).spawn();
    let cursors: Vec<String> = PAGES
        .iter()
        .map(|(tool, page)| {
            let outcome = ask(&mut server, &repo, tool, page, None);
            let cursor = outcome.data()["nextCursor"].as_str();
            cursor.unwrap_or_else(|| panic!("{tool} has more than one page: {}", outcome.message)).to_owned()
        })
        .collect();
    for ((from, _), cursor) in PAGES.iter().zip(&cursors) {
        for (tool, page) in PAGES {
            let outcome = ask(&mut server, &repo, tool, page, Some(cursor));
            if tool == from {
                continue;
            }
            outcome.expect_refused(&format!("a cursor of {from} for {tool}: {cursor}"), &["bad-argument"]);
        }
    }
}

#[test]
fn spoiled_cursors_are_refused_or_lead_to_a_page_and_hurt_nobody() {
    let place = Place::new();
    let repo = repository(&place);
    let mut server = Start::new(&place).root(repo.path()).spawn();
    let mut dice = Dice::of_run();
    for (tool, page) in PAGES {
        let outcome = ask(&mut server, &repo, tool, page, None);
        let cursor: Vec<char> = outcome.data()["nextCursor"].as_str().expect("as above").chars().collect();
        for _ in 0..60 {
            let mut spoiled = cursor.clone();
            for _ in 0..=dice.below(3) {
                let at = dice.below(spoiled.len().max(1));
                let other = ['0', '9', 'f', 'z', ':', '.', '-', '\\', '\0', '\u{e9}', '/'][dice.below(11)];
                match dice.below(4) {
                    0 => spoiled.insert(at.min(spoiled.len()), other),
                    1 if at < spoiled.len() => spoiled[at] = other,
                    2 => spoiled.truncate(at),
                    _ if at < spoiled.len() => drop(spoiled.remove(at)),
                    _ => {}
                }
            }
            let spoiled: String = spoiled.into_iter().collect();
            let outcome = ask(&mut server, &repo, tool, page, Some(&spoiled));
            let refused = outcome.code() == Some(-32602) || outcome.reason() == Some("bad-argument");
            assert!(refused || outcome.is_ok(), "{tool} {spoiled:?}: {}", outcome.message);
        }
    }
}

#[test]
fn a_page_after_a_change_holds_what_is_there_now() {
    let place = Place::new();
    let repo = repository(&place);
    let mut server = Start::new(&place).root(repo.path()).spawn();
    let cursors: Vec<String> = PAGES
        .iter()
        .map(|(tool, page)| {
            let outcome = ask(&mut server, &repo, tool, page, None);
            outcome.data()["nextCursor"].as_str().expect("as above").to_owned()
        })
        .collect();
    // everything that a cursor may stand at goes away
    repo.git(&["merge", "--abort"]);
    repo.git(&["checkout", "-q", "--detach", "HEAD~1"]);
    repo.git(&["branch", "-q", "-D", "theirs"]);
    for n in 0..3 {
        fs::remove_file(repo.at(format!("untracked-{n}"))).expect("ours");
    }
    for ((tool, page), cursor) in PAGES.iter().zip(&cursors) {
        let outcome = ask(&mut server, &repo, tool, page, Some(cursor));
        if !outcome.is_ok() {
            outcome.expect_refused(tool, &["bad-argument"]);
        } else if ["repo.status", "worktree.changes", "conflict.read"].contains(tool) {
            let text = outcome.data().to_string();
            assert!(!text.contains("file-") && !text.contains("untracked-"), "{tool} shows what is gone: {text}");
        }
    }
}
