//! Corrections of the recordings of diff.text and commit.details.
//! Trust: constants of the test.

use super::{Correction, Family};
use serde_json::{Value, json};

pub const FAMILY: Family = Family {
    tools: &[("diff.text", 25), ("commit.details", 16)],
    corrections,
    additions: ADDITIONS,
    answered_now: &[],
    refused_now: &[
        ("diff.text", "noindex-same", 10010, "files outside of the repository are never compared"),
        ("commit.details", "range", 10010, "a range is no commit"),
        ("commit.details", "tree", 10010, "a directory is no commit"),
        ("commit.details", "blob", 10010, "a file is no commit"),
        ("commit.details", "msgsearch", 10010, "a search through history is no revision"),
        ("commit.details", "rename", 10010, "a search through history is no revision"),
    ],
    failures: &[
        ("diff.text", "bad", "bad-argument"),
        ("diff.text", "opt", "bad-argument"),
        ("diff.text", "outside", "bad-argument"),
        ("diff.text", "dotdot", "bad-argument"),
        ("diff.text", "noindex-missing", "bad-argument"),
        ("diff.text", "noindex-diff", "bad-argument"),
        ("diff.text", "empty-path", "bad-argument"),
        ("diff.text", "empty-base", "bad-argument"),
        ("commit.details", "bad", "bad-argument"),
        ("commit.details", "option", "bad-argument"),
        ("commit.details", "oddnames", "bad-argument"),
        ("commit.details", "two", "bad-argument"),
    ],
    varying: &[],
};

fn corrections() -> Vec<Correction> {
    let correct = |tool, case, pointer, right, reason| Correction { tool, case, pointer, right, reason };
    let added = |path: &str, lines: u64| json!({"status": "A", "path": path, "added": lines, "removed": 0});
    let odd = json!([
        added("caf\u{e9}.txt", 1),
        added("file with spaces.txt", 1),
        {"status": "A", "path": "latin-\\xE9.txt", "pathEncoding": "escaped", "added": 1, "removed": 0},
        added("tab\tname.txt", 1),
    ]);
    let root = json!([
        added(".github/CODEOWNERS", 5),
        added(".gitignore", 2),
        added("README.md", 1),
        {"status": "A", "path": "blob.bin", "binary": true},
        added("packages/api/index.js", 1),
        added("packages/web/index.js", 1),
        added("shared.txt", 10),
        added("src/main.rs", 3),
    ]);
    let merged = "a merge is compared with its first parent";
    let changed = json!([{"status": "M", "path": "shared.txt", "added": 1, "removed": 0}]);
    let from_root = "a root commit is compared with the empty tree";
    let whole = "paths are whole and not quoted";
    let url = "the submodule of the rebuilt repository is named by a relative url, which is shorter";
    vec![
        correct("diff.text", "base-head", "/data/diff", relative("base-head", ""), url),
        correct("diff.text", "base-head", "/data/totalBytes", json!(1131), url),
        correct("diff.text", "maxbytes", "/data/diff", relative("maxbytes", "+++ b/README.md\n"), url),
        correct("diff.text", "maxbytes", "/data/totalBytes", json!(1131), url),
        correct("diff.text", "maxlines", "/data/diff", relative("maxlines", ""), url),
        correct("diff.text", "maxlines", "/data/totalBytes", json!(1131), url),
        correct("diff.text", "binary", "/data/diff", relative("binary", ""), url),
        correct("diff.text", "binary", "/data/totalBytes", json!(1753), url),
        correct("commit.details", "annotated-tag", "/data/files", odd.clone(), whole),
        correct(
            "commit.details",
            "annotated-tag",
            "/data/commit/hash",
            json!("86366ca678eec5a7c5d3599ded7c62a98ce6c728"),
            "an annotated tag is peeled",
        ),
        correct("commit.details", "light-tag", "/data/files", odd, whole),
        correct("commit.details", "root", "/data/files", root.clone(), from_root),
        correct("commit.details", "short", "/data/files", root, from_root),
        correct("commit.details", "merge", "/data/files", json!([added("topic.txt", 1)]), merged),
        correct("commit.details", "stash", "/data/files", changed, merged),
    ]
}

/// The recorded text of `case` with the url and the id that `.gitmodules` has now, and the line that fits besides.
fn relative(case: &str, more: &str) -> Value {
    let recorded: Value =
        serde_json::from_str(include_str!("../fixtures/recorded/diff.text.json")).expect("the recording is JSON");
    let cases = recorded.as_array().expect("a list of cases");
    let found = cases.iter().find(|found| found["case"] == case).expect("the case was recorded");
    let text = found["response"]["result"]["structuredContent"]["data"]["diff"].as_str().expect("it has a text");
    json!(text.replace("$FX/sub", "../sub").replace("2bbf42c", "4479006") + more)
}

/// Additions to the contract.
const ADDITIONS: &[&str] = &[
    "totalFiles",
    "committerName",
    "committerEmail",
    "committerTime",
    "parentsTotal",
    "signed",
    "comparedWith",
    "truncated",
    "added",
    "removed",
    "binary",
    "nextCursor",
];
