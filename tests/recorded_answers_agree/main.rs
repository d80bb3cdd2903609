//! Every recorded answer of the review contract comes out again, field by field, but for the corrections named here.
//! Trust: the recordings are data; a field of ours that neither they nor the table of additions know fails the test.

mod checkouts;
mod conflict;
mod diff;
mod fleet;
mod history;
mod inspect;
mod refs;
mod safety;
mod scope;
#[cfg(feature = "grammars")]
mod semantic;
#[path = "../support/mod.rs"]
mod support;

use serde_json::{Value, json};
use std::path::Path;
use support::{Outcome, Start, fixtures, rows};

/// Commits whose ids depend on the recording machine (`fixtures/recorded/README.md`): recorded, rebuilt.
const REBUILT: &[(&str, &str)] = &[
    ("6b9751971f8318fed367092124c2747416b4dd91", "2851145d394c0998a1c485570df1d0287cb854c1"),
    ("ea6e26d3bb622039acb91eb23372fc6ae6a93dc6", "22596b9c22fda41ee70ffeec8d81131890c8f534"),
    ("4476814f987163a1dd78b3df3b3425d990a5c7f4", "55cd8acd49c8eaf5eba81ae0a997a7914f427253"),
    ("87c87acc298d0e84e0d2600aa37965a8a1334326", "8c9b5ce75829123defd4751e89368a47782de29d"),
    ("1fb337f1bdb1b50bc487a0a75789f16c71d1d4d4", "a9289936b59fb8bcf6870dc0dcec66592eb873c7"),
    ("fcd91babf2e892f29f06afdbbdf3d9ad86fb4901", "31dc65cc54b84c52c2a20cfc550e9b7102c2eb9c"),
    ("72a3c01e2306e6cb9712ccfbe743982f1f8a3fbc", "d6e723f08aefcafb219bc461c79c53488a1b1f74"),
    ("1371dd2bd5f05a75bb12e8253d56c7b5016572ab", "5e454004abd340f424b96987a8facfe166fb96fe"),
    ("acdca8d84bf2a482d556e0fb25a8faa61b2041a6", "b12a4da760dc45de34e70fef39d79fb9f1f383e0"),
    ("5fd875489ea2dc9363624b37be5592796ef64fe5", "556859378af00cabb956da695f87ce297c7c9bfd"),
    ("e80bf178f1e23bfcfd00b46df1710913e01c163e", "894f83607f1841dea4bd3fb43a0084a697aa030b"),
    ("52137bbc5b07f3a45697a033638d2947470bdd96", "058eadddf7fabb9d8280cc5bd4467d6f426601b2"),
    ("872dc92b97c4005b7e9f36cd9f9967af82162177", "132e26d25e23039cc32a433d1070a5cedd5b54f8"),
    ("57536657213d35d366f8e8e742c1d758b78b2df3", "ae37460fdefb0b270024161655307a2434c8ac58"),
    ("dbedd5b1f311085b3ede2cb0d234cdea5100b0f4", "d1fbf1c52bf8cfff452be4a0851e8419fda37680"),
    ("3d7932f1c397fd55ced1edf8cc7157de632e2f62", "ec7fd3c3d2285112e07d14fcb03c19d2ddb0a294"),
    ("f5682315118607fce176ac653fbbc068e7d7e4b1", "12e01ba8a0f5db86190beb12dbff9af20e730138"),
    ("d33c17cdde785db9bdc71a1632470c8a4b98397b", "bf197e724afa12d065c1a9cb3cbcf5836b633160"),
];

/// A recorded value that is wrong.
#[derive(Debug)]
pub struct Correction {
    /// The tool.
    pub tool: &'static str,
    /// The recorded case; `*` for all of the tool.
    pub case: &'static str,
    /// JSON pointer into the payload.
    pub pointer: &'static str,
    /// What is right.
    pub right: Value,
    /// Why.
    pub reason: &'static str,
}

/// What one family of tools has to say about its recordings.
#[derive(Debug)]
pub struct Family {
    /// Its tools, each with the number of its recorded cases.
    pub tools: &'static [(&'static str, usize)],
    /// Recorded values that are wrong.
    pub corrections: fn() -> Vec<Correction>,
    /// Fields that answers have beyond the recorded ones, by the last word of their pointer.
    pub additions: &'static [&'static str],
    /// Cases that the recorded program failed and that are answered now: tool, case, why.
    pub answered_now: &'static [(&'static str, &'static str, &'static str)],
    /// Cases that the recorded program answered and that are refused now: tool, case, JSON-RPC or tool error code, why.
    pub refused_now: &'static [(&'static str, &'static str, i64, &'static str)],
    /// What a recorded tool failure is now: tool, case, code or reason (`-32602` or `bare`).
    pub failures: &'static [(&'static str, &'static str, &'static str)],
    /// Pointers whose values differ from run to run, `*` for any one step: only kind and presence are compared.
    pub varying: &'static [&'static str],
}

const FAMILIES: &[&Family] = &[
    &inspect::FAMILY,
    &refs::FAMILY,
    &history::FAMILY,
    &scope::FAMILY,
    &diff::FAMILY,
    #[cfg(feature = "grammars")]
    &semantic::FAMILY,
    &checkouts::FAMILY,
    &conflict::FAMILY,
    &fleet::FAMILY,
    &safety::FAMILY,
];

#[test]
fn every_recorded_answer_comes_out_again() {
    let fixture = fixtures::build(fixtures::RECORDED);
    let mut server = Start::new(&fixture.place).root(fixture.directory()).spawn();
    let mut faults = Vec::new();
    for (family, &(tool, recorded_cases)) in
        FAMILIES.iter().flat_map(|family| family.tools.iter().map(move |tool| (family, tool)))
    {
        let mut cases = 0;
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/recorded/{tool}.json"));
        let recorded: Value =
            serde_json::from_slice(&std::fs::read(path).expect("it is in the repository")).expect("it is JSON");
        for case in recorded.as_array().expect("a list of cases") {
            let mut params = placed(&case["request"]["params"], fixture.directory());
            rebuild(&mut params);
            let mut whole = json!({"name": tool, "_meta": support::server::meta()});
            if let Some(arguments) = params.get("arguments") {
                whole["arguments"] = arguments.clone();
            }
            let id = server.request("tools/call", whole);
            let outcome = server.answer(&id);
            let case_name = case["case"].as_str().expect("a name");
            let mut check =
                Check { family, tool, case: case_name, directory: fixture.directory(), faults: &mut faults };
            check.response(&case["response"], &outcome);
            cases += 1;
        }
        assert_eq!(cases, recorded_cases, "no recording of {tool} may get lost");
    }
    assert!(faults.is_empty(), "{} differences:\n{}", faults.len(), faults.join("\n"));
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
    family: &'a Family,
    tool: &'static str,
    case: &'a str,
    directory: &'a Path,
    faults: &'a mut Vec<String>,
}

impl Check<'_> {
    fn fault(&mut self, what: &str) {
        self.faults.push(format!("{} {}: {what}", self.tool, self.case));
    }

    /// Whether a row of one of the family's tables is about this case.
    fn is(&self, tool: &str, case: &str) -> bool {
        tool == self.tool && (case == self.case || case == "*")
    }

    fn response(&mut self, recorded: &Value, outcome: &Outcome) {
        if let Some((.., code, why)) = self.family.refused_now.iter().find(|row| self.is(row.0, row.1)) {
            if outcome.code() != Some(*code) && outcome.message["error"]["code"] != json!(code) {
                self.fault(&format!("{why}: {code} expected, not {}", outcome.message));
            }
            return;
        }
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
        for row in (self.family.corrections)() {
            if self.is(row.tool, row.case) {
                *expected.pointer_mut(row.pointer).expect("the table of corrections names recorded fields") = row.right;
            }
        }
        rebuild(&mut expected);
        let expected = placed(&expected, self.directory);
        self.value("", &expected, outcome.payload());
    }

    /// Recorded failures have codes; what a caller may rely on now is the code or the reason.
    fn failure(&mut self, outcome: &Outcome) {
        if let Some((.., why)) = self.family.answered_now.iter().find(|row| self.is(row.0, row.1)) {
            if !outcome.is_ok() {
                self.fault(&format!("{why}: {}", outcome.message));
            }
            return;
        }
        let now = self.family.failures.iter().find(|row| self.is(row.0, row.1)).map(|row| row.2);
        // with a ceiling always there, a path that is nowhere is first of all outside of it
        let fine = match now.unwrap_or(self.case) {
            "bare.git" | "bare" => outcome.reason() == Some("bare"),
            "notrepo" => outcome.reason() == Some("not-a-repository"),
            "missing-dir" => outcome.code() == Some(-32011) || outcome.reason() == Some("no-such-path"),
            now => match now.parse::<i64>() {
                Ok(code) => outcome.code() == Some(code),
                Err(_) => outcome.reason() == Some(now),
            },
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
        if self.family.varying.iter().any(|pattern| matches(pattern, pointer)) {
            if std::mem::discriminant(expected) != std::mem::discriminant(ours) {
                self.fault(&format!("{pointer}: something like {expected} expected, not {ours}"));
            }
            return;
        }
        match (expected, ours) {
            (Value::String(prose), Value::String(text)) if prose.starts_with("<prose ") => {
                if text.is_empty() {
                    self.fault(&format!("{pointer}: a sentence expected"));
                }
            }
            (Value::Array(expected), Value::Array(ours)) if is_rows(self.tool, pointer) => {
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
                    if !self.family.additions.contains(&key.as_str()) {
                        self.fault(&format!("{pointer}/{key} is neither recorded nor a known addition"));
                    }
                }
            }
            (expected, ours) if expected == ours => {}
            (expected, ours) => self.fault(&format!("{pointer}: {expected} expected, not {ours}")),
        }
    }
}

/// Whether `pointer` fits `pattern`, in which `*` stands for any one step.
fn matches(pattern: &str, pointer: &str) -> bool {
    let (mut pattern, mut pointer) = (pattern.split('/'), pointer.split('/'));
    loop {
        match (pattern.next(), pointer.next()) {
            (None, None) => return true,
            (Some(expected), Some(step)) if expected == "*" || expected == step => {}
            _ => return false,
        }
    }
}

/// Lists of changed paths: their paths were recorded quoted, and renames as one text.
fn is_rows(tool: &str, pointer: &str) -> bool {
    ["repo.status", "worktree.changes"].contains(&tool)
        && ["/data/entries", "/data/staged", "/data/unstaged", "/data/untracked"].contains(&pointer)
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

/// Puts rebuilt ids in place of the recorded ones, whole or abbreviated.
fn rebuild(value: &mut Value) {
    match value {
        Value::String(text) => *text = rebuilt(text),
        Value::Array(values) => values.iter_mut().for_each(rebuild),
        Value::Object(members) => members.values_mut().for_each(rebuild),
        _ => {}
    }
}

fn rebuilt(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(|c: char| !c.is_ascii_hexdigit()) {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_hexdigit());
        match REBUILT.iter().find(|(recorded, _)| word.len() >= 7 && recorded.starts_with(word)) {
            Some((_, id)) => out.extend([&id[..word.len()], &piece[word.len()..]]),
            None => out.push_str(piece),
        }
    }
    out
}
