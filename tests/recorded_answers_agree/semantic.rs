//! Corrections of the recordings of diff.semantic and diff.semanticFallbacks, which were made where no engine was: what the
//! engine says of the same changes. The recorded fallback still answers where nothing can be compared (`tests/semantic`).
//! Trust: constants of the test.

use super::{Correction, Family};
use serde_json::{Value, json};

pub const FAMILY: Family = Family {
    tools: &[("diff.semantic", 5), ("diff.semanticFallbacks", 5)],
    corrections,
    additions: &[],
    answered_now: &[],
    refused_now: &[
        ("diff.semantic", "bad", 10010, "a revision that names nothing gives no arguments for another tool"),
        ("diff.semanticFallbacks", "bad", 10010, "a revision that names nothing is an error"),
    ],
    failures: &[],
    varying: &[],
};

const LANGUAGE: (&str, &str) = ("unsupported-language", "There is no grammar for files of this name.");
const ERRORS: (&str, &str) =
    ("too-many-errors", "Large parts of it are not understood by the grammar of its language.");
const MODULE: (&str, &str) = ("not-a-file", "It is or was a submodule or a symbolic link.");

/// Files that fall back: path and why.
const PLAIN: &[(&str, (&str, &str))] = &[("packages/api/index.js", ERRORS), ("vendor/sub", MODULE)];
const REFS: &[(&str, (&str, &str))] =
    &[(".gitmodules", LANGUAGE), ("shared.txt", LANGUAGE), ("topic.txt", LANGUAGE), ("vendor/sub", MODULE)];

fn corrections() -> Vec<Correction> {
    let reason = "there is an engine now, and these are files that it can compare and such that it cannot";
    let correct = |tool, case, right| Correction { tool, case, pointer: "/data", right, reason };
    vec![
        correct("diff.semantic", "plain", diff(None, plain())),
        correct("diff.semantic", "refs", diff(Some(("v1.0", "HEAD")), refs())),
        correct("diff.semantic", "path", {
            let mut nothing = diff(None, Vec::new());
            nothing["path"] = json!("src");
            nothing
        }),
        correct("diff.semanticFallbacks", "plain", fallbacks(3, PLAIN)),
        correct("diff.semanticFallbacks", "refs", fallbacks(7, REFS)),
        correct("diff.semanticFallbacks", "path", fallbacks(0, &[])),
    ]
}

fn diff(revisions: Option<(&str, &str)>, mut files: Vec<Value>) -> Value {
    files.sort_by_key(|file| file["path"].to_string());
    json!({
        "supported": true,
        "engine": "tree-sitter",
        "base": revisions.map(|revisions| revisions.0),
        "head": revisions.map(|revisions| revisions.1),
        "path": null,
        "changedFiles": files.len(),
        "files": files,
        "filesTruncated": false,
    })
}

fn fallbacks(analyzed: u64, rows: &[(&str, (&str, &str))]) -> Value {
    let row = |(path, (reason, details)): &(&str, (&str, &str))| {
        json!({
            "from": "diff.semantic",
            "to": "diff.text",
            "supported": false,
            "path": path,
            "reason": reason,
            "details": details,
            "repoPath": "$FX/rich",
        })
    };
    json!({
        "engine": "tree-sitter",
        "analyzedFiles": analyzed,
        "changedFiles": analyzed,
        "filesTruncated": false,
        "fallbacks": rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn text(rows: &[(&str, (&str, &str))], revisions: Option<(&str, &str)>) -> Vec<Value> {
    let row = |(path, (reason, details)): &(&str, (&str, &str))| {
        let mut arguments = json!({"repoPath": "$FX/rich", "path": path});
        if let Some((base, head)) = revisions {
            (arguments["base"], arguments["head"]) = (json!(base), json!(head));
        }
        json!({
            "path": path,
            "fallbackToText": true,
            "hunks": [],
            "reason": reason,
            "details": details,
            "textDiffArguments": arguments,
        })
    };
    rows.iter().map(row).collect()
}

fn compared(path: &str, language: &str, lines: u64, hunks: Value) -> Value {
    json!({
        "path": path,
        "language": language,
        "fallbackToText": false,
        "hunks": hunks,
        "changedLines": lines,
        "linesTruncated": false,
    })
}

fn added(number: u64, content: &str) -> Value {
    json!({"type": "added", "newLine": number, "content": content})
}

fn plain() -> Vec<Value> {
    let mut files = text(PLAIN, None);
    let hunk = json!([{"header": "# Readme", "lines": [added(5, "unstaged")]}]);
    files.push(compared("README.md", "markdown", 1, hunk));
    files
}

fn refs() -> Vec<Value> {
    let mut files = text(REFS, Some(("v1.0", "HEAD")));
    let readme = json!([{"header": "# Readme", "lines": [added(2, "amend"), added(3, "amend2")]}]);
    files.push(compared("README.md", "markdown", 2, readme));
    let mut renamed = compared("packages/web/app.js", "javascript", 0, json!([]));
    renamed["oldPath"] = json!("packages/web/index.js");
    files.push(renamed);
    let line = json!({
        "type": "modified",
        "oldLine": 2,
        "newLine": 2,
        "content": "    println!(\"main side\");",
        "oldContent": "    println!(\"one\");",
        "changedTokens": ["main", " ", "side"],
        "oldChangedTokens": ["one"],
    });
    files.push(compared("src/main.rs", "rust", 1, json!([{"header": "fn main", "lines": [line]}])));
    files
}
