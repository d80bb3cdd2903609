//! What holds for every answer, held against the real git: each changed line is told once, with its number and its text.
//! Trust: test code; git's own diff is the judge of which lines changed.

use crate::support::{Repo, Server};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Changed lines of a file by number, old and new.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Lines {
    pub old: BTreeMap<u64, String>,
    pub new: BTreeMap<u64, String>,
}

/// Changed lines by the new path, as `git diff` prints them for these arguments.
pub fn of_git(repo: &Repo<'_>, arguments: &[&str]) -> BTreeMap<String, Lines> {
    let mut all = vec!["-c", "core.quotePath=false", "diff", "--no-color", "--no-ext-diff", "-M", "-U3"];
    all.extend(arguments);
    let output = repo.try_git(&all);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut files: BTreeMap<String, Lines> = BTreeMap::new();
    let (mut from, mut at, mut left) = (String::new(), (0, 0), (0u64, 0u64));
    let mut path = String::new();
    for line in output.stdout.split(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        if left == (0, 0) {
            if let Some(name) = text.strip_prefix("--- ") {
                from = name.trim_end_matches('\t').strip_prefix("a/").unwrap_or_default().to_owned();
            } else if let Some(name) = text.strip_prefix("+++ ") {
                path = name.trim_end_matches('\t').strip_prefix("b/").map_or(from.clone(), str::to_owned);
            } else if let Some(range) = text.strip_prefix("@@ -") {
                let number = |next: &str| next.trim_start_matches('+').parse::<u64>().expect("a number");
                let ranges = range.split(" @@").next().expect("the head of a hunk").split(' ');
                let pairs: Vec<(u64, u64)> = ranges
                    .map(|range| match range.split_once(',') {
                        Some((start, count)) => (number(start), number(count)),
                        None => (number(range), 1),
                    })
                    .collect();
                at = (pairs[0].0.max(1), pairs[1].0.max(1));
                left = (pairs[0].1, pairs[1].1);
            }
            continue;
        }
        let file = files.entry(path.clone()).or_default();
        let content = || String::from_utf8_lossy(&line[1..]).into_owned();
        match line.first() {
            Some(b'-') => {
                file.old.insert(at.0, content());
                (at.0, left.0) = (at.0 + 1, left.0 - 1);
            }
            Some(b'+') => {
                file.new.insert(at.1, content());
                (at.1, left.1) = (at.1 + 1, left.1 - 1);
            }
            Some(b'\\') => {}
            _ => {
                at = (at.0 + 1, at.1 + 1);
                left = (left.0 - 1, left.1 - 1);
            }
        }
    }
    files
}

/// All pages of `diff.semantic` as one list of files; the lines of a file that was cut are put together.
pub fn all_pages(server: &mut Server, arguments: &Value) -> Vec<Value> {
    let mut files: Vec<Value> = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let mut arguments = arguments.clone();
        if !cursor.is_null() {
            arguments["cursor"] = cursor;
        }
        let outcome = server.call("diff.semantic", arguments);
        assert!(outcome.is_ok(), "{}", outcome.message);
        assert!(outcome.characters() <= 2 * 40_000 + 4_000, "a page of {} characters", outcome.characters());
        let data = outcome.data().clone();
        assert!(data.get("partial").is_none(), "{data}");
        for file in data["files"].as_array().cloned().unwrap_or_default() {
            match files.last_mut().filter(|last| last["path"] == file["path"]) {
                Some(last) => {
                    assert_eq!(last["changedLines"], file["changedLines"], "the same file");
                    let more = file["hunks"].as_array().expect("a list").clone();
                    last["hunks"].as_array_mut().expect("a list").extend(more);
                }
                None => files.push(file),
            }
        }
        cursor = data["nextCursor"].clone();
        if cursor.is_null() {
            return files;
        }
        assert_eq!(data["filesTruncated"] == json!(true), !cursor.is_null());
    }
}

fn squeezed(text: &str) -> BTreeMap<char, i64> {
    let mut letters = BTreeMap::new();
    for letter in text.chars().filter(|letter| !letter.is_whitespace()) {
        *letters.entry(letter).or_default() += 1;
    }
    letters
}

/// What is left of a text without these tokens, blanks aside.
fn rest(text: &str, tokens: &Value) -> BTreeMap<char, i64> {
    let mut letters = squeezed(text);
    for token in tokens.as_array().expect("a list of tokens") {
        for (letter, count) in squeezed(token.as_str().expect("a text")) {
            *letters.entry(letter).or_default() -= count;
        }
    }
    letters.retain(|_, count| *count != 0);
    letters
}

/// Fails where a compared file breaks a rule; gives its lines.
pub fn lines_of(file: &Value, what: &str) -> Lines {
    let mut lines = Lines::default();
    let mut count = 0;
    for hunk in file["hunks"].as_array().expect("a list") {
        let all = hunk["lines"].as_array().expect("a list");
        assert!(!all.is_empty() && hunk["header"].is_string(), "{what}: {hunk}");
        for line in all {
            count += 1;
            let (old, new) = (line["oldLine"].as_u64(), line["newLine"].as_u64());
            let content = line["content"].as_str().expect("a text");
            let kind = line["type"].as_str().expect("a word");
            let cut = line["cut"] == json!(true);
            match kind {
                "modified" => {
                    let before = line["oldContent"].as_str().expect("a pair has both texts");
                    if !cut {
                        let (tokens, old_tokens) = (&line["changedTokens"], &line["oldChangedTokens"]);
                        assert_eq!(rest(content, tokens), rest(before, old_tokens), "{what}: {line}");
                    }
                    let twice = lines.old.insert(old.expect("a pair"), before.to_owned());
                    assert!(twice.is_none(), "{what}: told twice: {line}");
                    assert!(lines.new.insert(new.expect("a pair"), content.to_owned()).is_none(), "{what}: {line}");
                }
                "deleted" => {
                    assert!(new.is_none() && lines.old.insert(old.expect("gone"), content.to_owned()).is_none());
                }
                "added" => {
                    assert!(old.is_none() && lines.new.insert(new.expect("new"), content.to_owned()).is_none());
                }
                other => panic!("{what}: {other}"),
            }
            // a cut text stands for the line that it begins
            if cut {
                for (of, number) in [(&mut lines.old, old), (&mut lines.new, new)] {
                    if let Some(text) = number.and_then(|number| of.get_mut(&number)) {
                        text.push('\u{2026}');
                    }
                }
            }
        }
    }
    assert_eq!(file["changedLines"], json!(count), "{what}: all lines are told");
    lines
}

/// Fails where the lines of a file are not those of git.
pub fn same(ours: &Lines, git: &Lines, what: &str) {
    for (ours, git) in [(&ours.old, &git.old), (&ours.new, &git.new)] {
        let (numbers, expected): (Vec<_>, Vec<_>) = (ours.keys().collect(), git.keys().collect());
        assert_eq!(numbers, expected, "{what}: which lines changed");
        for (number, text) in ours {
            let right = &git[number];
            let fine = text == right || text.strip_suffix('\u{2026}').is_some_and(|begun| right.starts_with(begun));
            assert!(fine, "{what}: line {number}: {text:?} instead of {right:?}");
        }
    }
}
