//! diff.semantic and diff.semanticFallbacks through all processes: every language, hostile sources, pages, processes.
//! Trust: test code; the sources of every language are the engine's own pairs, `worker-syntax/tests/golden`.

mod corpus;
mod gateway;
mod hostile;
mod processes;
mod rules;
#[path = "../support/mod.rs"]
mod support;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use support::{Place, Repo, Start};

/// The pairs: name of the language, ending, old text, new text.
pub fn pairs() -> Vec<(String, String, Vec<u8>, Vec<u8>)> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("worker-syntax/tests/golden");
    let mut pairs = Vec::new();
    for directory in std::fs::read_dir(golden).expect("the engine has pairs").flatten() {
        let files: Vec<PathBuf> =
            std::fs::read_dir(directory.path()).expect("readable").flatten().map(|file| file.path()).collect();
        let stem =
            |stem: &str| files.iter().find(|path| path.file_stem().is_some_and(|it| it == stem)).expect("a side");
        let (old, new) = (stem("old"), stem("new"));
        let ending = new.extension().and_then(|it| it.to_str()).expect("an ending").to_owned();
        let read = |path: &Path| std::fs::read(path).expect("readable");
        let name = directory.file_name().into_string().expect("text");
        pairs.push((name, ending, read(old), read(new)));
    }
    pairs.sort();
    assert!(pairs.len() >= 14, "{}", pairs.len());
    pairs
}

#[test]
fn every_language_is_compared_and_every_changed_line_is_told_once() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    for (language, ending, old, _) in pairs() {
        repo.write(format!("{language}/x.{ending}"), old);
    }
    repo.git(&["add", "-A"]);
    let before = repo.commit("old");
    for (language, ending, _, new) in pairs() {
        repo.write(format!("{language}/x.{ending}"), new);
    }
    let mut server = Start::new(&place).root(place.path()).spawn();
    // against the working tree, and then committed
    for (arguments, git) in [
        (json!({"repoPath": repo.path()}), vec![]),
        (json!({"repoPath": repo.path(), "base": before, "head": "HEAD"}), vec![before.as_str(), "HEAD"]),
    ] {
        if git.len() == 2 {
            repo.git(&["add", "-A"]);
            repo.commit("new");
        }
        let expected = rules::of_git(&repo, &git);
        let files = rules::all_pages(&mut server, &arguments);
        assert_eq!(files.len(), pairs().len());
        for file in &files {
            let path = file["path"].as_str().expect("a text");
            assert_eq!(file["fallbackToText"], json!(false), "{file}");
            assert_eq!(path.split('/').next(), file["language"].as_str(), "the directory is named by the language");
            rules::same(&rules::lines_of(file, path), &expected[path], path);
        }
        let outcome = server.call("diff.semanticFallbacks", arguments);
        assert_eq!(outcome.data()["fallbacks"], json!([]), "{}", outcome.message);
        assert_eq!(outcome.data()["analyzedFiles"], json!(pairs().len()));
    }
    let moved =
        server.call("diff.semantic", json!({"repoPath": repo.path(), "base": before, "head": "HEAD", "path": "rust"}));
    let hunks = moved.data()["files"][0]["hunks"].as_array().expect("hunks").clone();
    let helper: Vec<&Value> = hunks.iter().filter(|hunk| hunk["header"] == "fn helper").collect();
    assert_eq!(helper.len(), 2, "where it was and where it is: {hunks:?}");
    for hunk in helper {
        assert_eq!((&hunk["change"], &hunk["moved"]), (&json!("moved"), &json!({"oldLine": 21, "newLine": 11})));
    }
    assert!(server.finish().status.success());
}

#[test]
fn where_nothing_can_be_compared_the_text_diff_is_named() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    repo.write("notes.txt", "one\n");
    repo.write("data.bin", b"\0\x01\x02");
    repo.git(&["add", "-A"]);
    repo.commit("old");
    let mut server = Start::new(&place).root(place.path()).spawn();
    let nothing = server.read("diff.semantic", repo.path());
    assert_eq!(nothing.data()["supported"], json!(true), "nothing differs: {}", nothing.message);
    assert_eq!((&nothing.data()["files"], &nothing.data()["changedFiles"]), (&json!([]), &json!(0)));
    repo.write("notes.txt", "two\n");
    let one = server.call("diff.semantic", json!({"repoPath": repo.path(), "path": "notes.txt"}));
    let arguments = json!({"repoPath": repo.path(), "path": "notes.txt"});
    assert_eq!(one.data()["supported"], json!(false), "{}", one.message);
    assert_eq!((&one.data()["fallback"], &one.data()["textDiffArguments"]), (&json!("diff.text"), &arguments));
    assert!(one.data()["reason"].as_str().is_some_and(|why| why.contains("no grammar")), "{}", one.message);
    assert!(server.call("diff.text", arguments).is_ok(), "the arguments are good ones");
    repo.write("data.bin", b"\0\x01\x03");
    let both = server.read("diff.semantic", repo.path());
    assert_eq!(both.data()["supported"], json!(false));
    let rows = server.read("diff.semanticFallbacks", repo.path());
    let reasons: Vec<_> = rows.data()["fallbacks"].as_array().expect("rows").iter().map(|row| &row["reason"]).collect();
    assert_eq!(reasons, ["binary", "unsupported-language"], "{}", rows.message);
    assert!(server.finish().status.success());
}

#[test]
fn pages_put_together_are_the_whole() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let source = |word: &str, count: usize| -> String {
        (0..count).map(|n| format!("fn f{n}(a: u32) -> u32 {{\n    {word}(a, {n})\n}}\n\n")).collect()
    };
    for file in 0..70 {
        repo.write(format!("src/f{file:02}.rs"), source("one", if file == 30 { 900 } else { 3 }));
    }
    repo.write("src/z\u{e9} :x.rs", source("one", 3));
    repo.git(&["add", "-A"]);
    repo.commit("old");
    for file in 0..70 {
        repo.write(format!("src/f{file:02}.rs"), source("two", if file == 30 { 900 } else { 3 }));
    }
    repo.write("src/z\u{e9} :x.rs", source("two", 3));
    let mut server = Start::new(&place).root(place.path()).spawn();
    let first = server.read("diff.semantic", repo.path());
    assert_eq!(first.data()["changedFiles"], json!(71), "the true number: {}", first.message);
    assert_eq!(first.data()["filesTruncated"], json!(true));
    let files = rules::all_pages(&mut server, &json!({"repoPath": repo.path()}));
    assert_eq!(files.len(), 71);
    let expected = rules::of_git(&repo, &[]);
    for file in &files {
        let path = file["path"].as_str().expect("a text");
        rules::same(&rules::lines_of(file, path), &expected[path], path);
    }
    // fifty at a time, all of them compared
    let mut analyzed = 0;
    let mut arguments = json!({"repoPath": repo.path()});
    loop {
        let page = server.call("diff.semanticFallbacks", arguments.clone());
        assert_eq!(page.data()["fallbacks"], json!([]), "{}", page.message);
        analyzed += page.data()["analyzedFiles"].as_u64().expect("a number");
        match page.data()["nextCursor"].as_str() {
            Some(cursor) => arguments["cursor"] = json!(cursor),
            None => break,
        }
    }
    assert_eq!(analyzed, 71);
    for cursor in ["", "x", "sap:", "s1p:", "fr:a"] {
        let refused = server.call("diff.semantic", json!({"repoPath": repo.path(), "cursor": cursor}));
        refused.expect_refused("a cursor of nobody", &["bad-argument"]);
    }
    // of a file that is no longer there, what follows it
    let gone = server.call("diff.semantic", json!({"repoPath": repo.path(), "cursor": "s7p:src/f68x.rs"}));
    assert_eq!(gone.data()["files"][0]["path"], json!("src/f69.rs"), "{}", gone.message);
    assert!(server.finish().status.success());
}

#[test]
fn renames_additions_deletions_and_kinds_of_files() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let source = "fn one() {\n    work(1);\n    work(2);\n    work(3);\n}\n";
    repo.write("old.rs", source);
    repo.write("gone.rs", "fn gone() {\n    leave();\n}\n");
    repo.write("filtered.rs", "fn f() {}\n");
    repo.write("attributed.rs", "fn f() {}\n");
    repo.write(".gitattributes", "filtered.rs filter=x\nattributed.rs -diff\n");
    repo.git(&["add", "-A"]);
    std::os::unix::fs::symlink("old.rs", repo.at("link.rs")).expect("a link");
    repo.git(&["add", "-A"]);
    let before = repo.commit("old");
    repo.git(&["mv", "old.rs", "new.rs"]);
    repo.write("new.rs", source.replace("work(2)", "work(22)"));
    repo.git(&["rm", "-q", "gone.rs"]);
    repo.write("made.rs", "impl A {\n    fn made() {}\n}\n");
    repo.git(&["add", "-A"]);
    repo.write("attributed.rs", "fn g() {}\n");
    repo.write("filtered.rs", "fn g() {}\n");
    std::fs::remove_file(repo.at("link.rs")).expect("a link");
    std::os::unix::fs::symlink("new.rs", repo.at("link.rs")).expect("a link");
    let mut server = Start::new(&place).root(place.path()).spawn();
    let outcome = server.call("diff.semantic", json!({"repoPath": repo.path(), "base": before}));
    let files = outcome.data()["files"].as_array().expect("files").clone();
    let told: Vec<(String, String)> = files
        .iter()
        .map(|file| {
            let what = match (&file["reason"], file["hunks"][0]["header"].as_str()) {
                (Value::String(reason), _) => reason.clone(),
                (_, header) => header.unwrap_or_default().to_owned(),
            };
            (file["path"].as_str().expect("a text").to_owned(), what)
        })
        .collect();
    let expected = [
        ("attributed.rs", "binary"),
        ("filtered.rs", "filtered"),
        ("gone.rs", "fn gone"),
        ("link.rs", "not-a-file"),
        ("made.rs", "impl A"),
        ("new.rs", "fn one"),
    ];
    let expected: Vec<_> = expected.iter().map(|(path, what)| ((*path).to_owned(), (*what).to_owned())).collect();
    assert_eq!(told, expected, "{}", outcome.message);
    let renamed = &files[5];
    assert_eq!((&renamed["oldPath"], &renamed["changedLines"]), (&json!("old.rs"), &json!(1)));
    assert_eq!(files[4]["hunks"][1]["within"], json!(["impl A"]), "{}", files[4]);
    assert!(server.finish().status.success());
}
