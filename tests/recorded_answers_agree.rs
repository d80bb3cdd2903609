//! Every recorded answer of the review contract comes out again, field by field, but for the corrections named here.
//! Trust: the recordings are data; a field of ours that neither they nor the table of additions know fails the test.

mod support;

use serde_json::{Value, json};
use std::path::Path;
use support::{Outcome, Start, fixtures, rows};

/// Commits whose ids depend on the recording machine (`fixtures/recorded/README.md`): recorded, rebuilt.
const REBUILT: &[(&str, &str)] = &[
    ("6b97519", "2851145"),
    ("ea6e26d", "22596b9"),
    ("4476814", "55cd8ac"),
    ("87c87ac", "8c9b5ce"),
    ("1fb337f", "a928993"),
    ("fcd91ba", "31dc65c"),
    ("72a3c01", "d6e723f"),
];

/// Where the recorded value is wrong: tool, case, JSON pointer into the payload, right value, reason.
fn corrections() -> Vec<(&'static str, &'static str, &'static str, Value, &'static str)> {
    let unborn = "an unborn branch is named, its commit is null";
    let detached = "detached: no branch";
    let absent = "a submodule that is not checked out is uninitialised, never drifted, and has no second row";
    let top = "the repository that a subdirectory is in is what answers, and all of it";
    let row = json!([{"state": "-", "commit": SUBMODULE, "path": "vendor/sub", "description": ""}]);
    let drifted = json!([{"state": "+", "commit": SUBMODULE, "path": "vendor/sub", "description": ""}]);
    vec![
        ("repo.status", "empty", "/data/branch", json!("main"), unborn),
        ("repo.status", "detached", "/data/branch", Value::Null, detached),
        ("repo.status", "rebase", "/data/branch", Value::Null, detached),
        ("repo.brief", "linkedwt", "/data/submodules/attention", row, absent),
        ("repo.brief", "linkedwt", "/data/submodules/drifted", json!(0), absent),
        ("repo.brief", "linkedwt", "/data/submodules/total", json!(1), absent),
        ("repo.brief", "linkedwt", "/data/submodules/uninitialized", json!(1), absent),
        ("repo.brief", "subdir", "/repoPath", json!("$FX/rich"), top),
        ("repo.brief", "subdir", "/data/hints", json!(["<prose >", "<prose >"]), top),
        ("repo.brief", "subdir", "/data/submodules/attention", drifted, top),
        ("repo.brief", "subdir", "/data/submodules/drifted", json!(1), top),
        ("repo.brief", "subdir", "/data/submodules/total", json!(1), top),
    ]
}

/// The commit of the submodule that `rich` records; checked out is the one before it.
const SUBMODULE: &str = "88ea5aae6456dd2d07261eeeb89fed5a4fa8ea00";

/// Fields that answers have beyond the recorded ones, by the last word of their pointer.
const ADDITIONS: &[&str] = &[
    "detached",
    "head",
    "upstream",
    "upstreamGone",
    "truncated",
    "nextCursor",
    "partial",
    "conflicted",
    "totals",
    "pathEncoding",
    "origPath",
    "origPathEncoding",
    "filtered",
    "submodule",
    "author",
    "date",
    "bare",
];

/// Cases that the recorded program could not answer, and how they end now.
const ANSWERED_NOW: &[(&str, &str, &str)] = &[("repo.brief", "bare.git", "a bare repository has a brief")];

#[test]
fn every_recorded_answer_comes_out_again() {
    let fixture = fixtures::build(fixtures::RECORDED);
    let mut server = Start::new(&fixture.place).root(fixture.directory()).spawn();
    let mut faults = Vec::new();
    let mut cases = 0;
    for tool in support::TOOLS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/recorded/{tool}.json"));
        let recorded: Value =
            serde_json::from_slice(&std::fs::read(path).expect("it is in the repository")).expect("it is JSON");
        for case in recorded.as_array().expect("a list of cases") {
            let params = placed(&case["request"]["params"], fixture.directory());
            let mut whole = json!({"name": tool, "_meta": support::server::meta()});
            if let Some(arguments) = params.get("arguments") {
                whole["arguments"] = arguments.clone();
            }
            let id = server.request("tools/call", whole);
            let outcome = server.answer(&id);
            let case_name = case["case"].as_str().expect("a name");
            let mut check = Check { tool, case: case_name, directory: fixture.directory(), faults: &mut faults };
            check.response(&case["response"], &outcome);
            cases += 1;
        }
    }
    assert!(faults.is_empty(), "{} differences:\n{}", faults.len(), faults.join("\n"));
    assert_eq!(cases, 45, "no recording may get lost");
    assert!(server.finish().status.success());
}

/// `$FX` in every text replaced by the directory.
fn placed(value: &Value, directory: &Path) -> Value {
    match value {
        Value::String(text) => json!(text.replace("$FX", directory.to_str().expect("places have UTF-8 paths"))),
        Value::Array(values) => values.iter().map(|value| placed(value, directory)).collect(),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(key, value)| (key.clone(), placed(value, directory))).collect())
        }
        other => other.clone(),
    }
}

struct Check<'a> {
    tool: &'static str,
    case: &'a str,
    directory: &'a Path,
    faults: &'a mut Vec<String>,
}

impl Check<'_> {
    fn fault(&mut self, what: &str) {
        self.faults.push(format!("{} {}: {what}", self.tool, self.case));
    }

    fn response(&mut self, recorded: &Value, outcome: &Outcome) {
        if let Some(error) = recorded.get("error") {
            // the codes are the contract's, the sentences are ours
            if outcome.message["error"]["code"] != error["code"] {
                self.fault(&format!("{error} expected, not {}", outcome.message));
            }
            return;
        }
        let result = &recorded["result"];
        if result["isError"] == json!(true) {
            return self.failure(outcome);
        }
        if !outcome.is_ok() {
            return self.fault(&format!("an answer expected, not {}", outcome.message));
        }
        let mut expected = result["structuredContent"].clone();
        for (tool, case, pointer, right, _reason) in corrections() {
            if tool == self.tool && case == self.case {
                *expected.pointer_mut(pointer).expect("the table of corrections names recorded fields") = right;
            }
        }
        for (recorded_id, rebuilt) in REBUILT {
            replace(&mut expected, recorded_id, rebuilt);
        }
        let expected = placed(&expected, self.directory);
        self.value("", &expected, outcome.payload());
    }

    /// All recorded failures of reads have code 10010; what a caller may rely on now is the reason.
    fn failure(&mut self, outcome: &Outcome) {
        if let Some((.., why)) = ANSWERED_NOW.iter().find(|(tool, case, _)| *tool == self.tool && *case == self.case) {
            if !outcome.is_ok() {
                self.fault(&format!("{why}: {}", outcome.message));
            }
            return;
        }
        // with a ceiling always there, a path that is nowhere is first of all outside of it
        let fine = match self.case {
            "bare.git" => outcome.reason() == Some("bare"),
            "notrepo" => outcome.reason() == Some("not-a-repository"),
            "missing-dir" => outcome.code() == Some(-32011) || outcome.reason() == Some("no-such-path"),
            _ => false,
        };
        if !fine {
            self.fault(&format!("a failed read expected, not {}", outcome.message));
        }
        if outcome.code() == Some(10010) {
            let error = outcome.error().expect("it has a code");
            let data = &error["data"];
            if !data["operation"].is_string() || !data["details"].is_string() || data.get("command").is_some() {
                self.fault(&format!("operation and details, and no command, expected: {data}"));
            }
        }
    }

    fn value(&mut self, pointer: &str, expected: &Value, ours: &Value) {
        match (expected, ours) {
            (Value::String(prose), Value::String(text)) if prose.starts_with("<prose ") => {
                if text.is_empty() {
                    self.fault(&format!("{pointer}: a sentence expected"));
                }
            }
            (Value::Array(expected), Value::Array(ours)) if is_rows(pointer) => {
                let expected: Vec<_> = expected.iter().map(recorded_row).collect();
                let ours = rows::from_answer(&Value::Array(ours.clone()));
                if expected != ours {
                    self.fault(&format!("{pointer}:\n  {expected:?}\n  {ours:?}"));
                }
            }
            (Value::Array(expected), Value::Array(ours)) if expected.len() == ours.len() => {
                for (at, (expected, ours)) in expected.iter().zip(ours).enumerate() {
                    self.value(&format!("{pointer}/{at}"), expected, ours);
                }
            }
            (Value::Object(expected), Value::Object(members)) => {
                for (key, value) in expected {
                    self.value(&format!("{pointer}/{key}"), value, members.get(key).unwrap_or(&Value::Null));
                    if !members.contains_key(key) {
                        self.fault(&format!("{pointer}/{key} is missing"));
                    }
                }
                for key in members.keys().filter(|key| !expected.contains_key(*key)) {
                    if !ADDITIONS.contains(&key.as_str()) {
                        self.fault(&format!("{pointer}/{key} is neither recorded nor a known addition"));
                    }
                }
            }
            (expected, ours) if expected == ours => {}
            (expected, ours) => self.fault(&format!("{pointer}: {expected} expected, not {ours}")),
        }
    }
}

/// Lists of changed paths: their paths were recorded quoted, and renames as one text.
fn is_rows(pointer: &str) -> bool {
    ["/data/entries", "/data/staged", "/data/unstaged", "/data/untracked"].contains(&pointer)
}

/// A recorded row in the corrected form: bytes of the path as they are, a rename with both of its paths.
fn recorded_row(row: &Value) -> rows::Row {
    let text = row["path"].as_str().expect("a path");
    let status = row["status"].as_str().expect("a status").to_owned();
    let (orig, path) = match text.split_once(" -> ") {
        Some((old, new)) if status.contains('R') => (Some(unquoted(old)), unquoted(new)),
        _ => (None, unquoted(text)),
    };
    rows::Row { path, status, orig }
}

/// The bytes of a path in Git's quoted form.
fn unquoted(text: &str) -> rows::Bytes {
    let Some(inner) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
        return rows::Bytes(text.as_bytes().to_vec());
    };
    let mut bytes = Vec::new();
    let mut rest = inner.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'\\' {
            let digits = std::str::from_utf8(&tail[..3]).expect("an octal escape");
            bytes.push(u8::from_str_radix(digits, 8).expect("the recordings hold no other escape"));
            rest = &tail[3..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    rows::Bytes(bytes)
}

fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text == from => *text = to.to_owned(),
        Value::Array(values) => values.iter_mut().for_each(|value| replace(value, from, to)),
        Value::Object(members) => members.values_mut().for_each(|value| replace(value, from, to)),
        _ => {}
    }
}
