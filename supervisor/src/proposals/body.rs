//! The body of a proposal, exactly as the contract has it (`gateway.md`, *Request bodies*): defaults filled in, blanks left out.
//! Trust: arguments fit their rows and rules; their texts go in as JSON strings, whatever they hold.

use bulkhead_contract::canonical;
use serde_json::{Map, Value, json};

/// What every proposal says beside its operation.
#[derive(Debug)]
pub struct Common<'a> {
    /// Chosen by us.
    pub preview_id: &'a str,
    /// Who proposes.
    pub agent: &'a str,
    /// With its scope before it.
    pub key: &'a str,
    /// When, in UTC.
    pub requested_at: &'a str,
}

/// The members of a proposal of `operation`. `canonical` gives the canonical path of a repository by the caller's.
#[must_use]
pub fn members(
    operation: &str,
    given: &Value,
    common: &Common<'_>,
    canonical: impl Fn(&str) -> String,
) -> Map<String, Value> {
    let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    let flag = |name: &str, default: bool| given.get(name).and_then(Value::as_bool).unwrap_or(default).into();
    // blank is absent
    let filled = |name: &str| Some(text(name)).filter(|text| !text.trim().is_empty()).map(Value::from);
    let same = |name: &str| given.get(name).cloned();
    match operation {
        "merge" => {
            put("sourceRef", text("sourceRef").into());
            put("targetRef", text("targetRef").into());
            put("strategy", filled("strategy").unwrap_or_else(|| "merge".into()));
        }
        "rebase" => {
            put("currentRef", filled("currentRef").unwrap_or_else(|| "HEAD".into()));
            put("ontoRef", text("ontoRef").into());
            put("interactive", false.into());
        }
        "discard" => put("paths", same("paths").unwrap_or_else(|| json!([]))),
        "reset" => {
            put("targetRef", text("targetRef").into());
            put("mode", filled("mode").unwrap_or_else(|| "mixed".into()));
        }
        "patch" => {
            put("patchContent", text("patchContent").into());
            put("applyToIndex", flag("applyToIndex", false));
        }
        // as it came: the gateway fills in a step's defaults
        "plan" => put("steps", same("steps").unwrap_or_else(|| json!([]))),
        "worktree" => {
            put("branch", text("branch").into());
            filled("path").into_iter().for_each(|path| put("path", path));
        }
        "commit" => {
            put("message", text("message").into());
            put("stageAll", flag("stageAll", false));
            same("paths").into_iter().for_each(|paths| put("paths", paths));
        }
        "push" => {
            put("remote", filled("remote").unwrap_or_else(|| "origin".into()));
            put("setUpstream", flag("setUpstream", false));
            put("forceWithLease", flag("forceWithLease", false));
            filled("branch").into_iter().for_each(|branch| put("branch", branch));
        }
        "branch" => {
            put("name", text("name").into());
            put("checkout", flag("checkout", true));
            filled("startPoint").into_iter().for_each(|start| put("startPoint", start));
        }
        "branchDelete" => {
            let targets = given.get("targets").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let target = |target: &Value| {
                let path = target.get("repoPath").and_then(Value::as_str).unwrap_or_default();
                json!({"repoPath": canonical(path), "branches": target.get("branches")})
            };
            put("targets", targets.iter().map(target).collect());
        }
        "submodulePointer" => {
            put("parentPath", text("parentPath").into());
            for name in ["relativePath", "direction", "message", "expectedRecordedOid", "expectedCheckedOutOid"] {
                same(name).into_iter().for_each(|value| put(name, value));
            }
        }
        _ => {}
    }
    put("previewId", common.preview_id.into());
    put("agentId", common.agent.into());
    put("idempotencyKey", common.key.into());
    put("operationType", operation.into());
    put("repoPath", canonical(text("repoPath")).into());
    put("reason", text("reason").into());
    put("requestedAt", common.requested_at.into());
    body
}

/// A proposal as it leaves, and what stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// SHA-256 of the canonical proposal, which is the bytes without `facts.digest`.
    pub digest: [u8; 32],
}

/// Writes a proposal, with facts where the other side may have them.
#[must_use]
pub fn sealed(mut members: Map<String, Value>, facts: Option<Value>) -> Sealed {
    if let Some(facts) = facts {
        members.insert("facts".to_owned(), facts);
    }
    let mut proposal = Value::Object(members);
    let digest = canonical::sha256(&proposal);
    if let Some(facts) = proposal.get_mut("facts") {
        facts["digest"] = canonical::hex(&digest).into();
    }
    Sealed { bytes: canonical::text(&proposal).into_bytes(), digest }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(operation: &str, given: Value) -> Value {
        let common = Common { preview_id: "p", agent: "a", key: "k", requested_at: "t" };
        Value::Object(members(operation, &given, &common, |path| format!("/real{path}")))
    }

    #[test]
    fn defaults_are_filled_in_and_blanks_left_out() {
        for (operation, given, right) in [
            (
                "merge",
                json!({"sourceRef": "a", "targetRef": "b"}),
                json!({"sourceRef": "a", "targetRef": "b", "strategy": "merge"}),
            ),
            ("rebase", json!({"ontoRef": "m"}), json!({"ontoRef": "m", "currentRef": "HEAD", "interactive": false})),
            ("reset", json!({"targetRef": "x"}), json!({"targetRef": "x", "mode": "mixed"})),
            ("patch", json!({"patchContent": "x"}), json!({"patchContent": "x", "applyToIndex": false})),
            ("worktree", json!({"branch": "b", "path": "  "}), json!({"branch": "b"})),
            ("commit", json!({"message": "m", "paths": []}), json!({"message": "m", "stageAll": false, "paths": []})),
            ("commit", json!({"message": "m"}), json!({"message": "m", "stageAll": false})),
            (
                "push",
                json!({"remote": " ", "branch": ""}),
                json!({"remote": "origin", "setUpstream": false, "forceWithLease": false}),
            ),
            ("branch", json!({"name": "n", "startPoint": " "}), json!({"name": "n", "checkout": true})),
            (
                "branchDelete",
                json!({"targets": [{"repoPath": "/x", "branches": ["b"]}]}),
                json!({"targets": [{"repoPath": "/real/x", "branches": ["b"]}]}),
            ),
            (
                "submodulePointer",
                json!({"relativePath": "s", "direction": "return"}),
                json!({"parentPath": "", "relativePath": "s", "direction": "return"}),
            ),
            (
                "plan",
                json!({"steps": [{"operationType": "rebase", "ontoRef": "m"}]}),
                json!({"steps": [{"operationType": "rebase", "ontoRef": "m"}]}),
            ),
        ] {
            let mut given = given;
            given["repoPath"] = json!("/w");
            given["repoId"] = json!("never forwarded");
            given["reason"] = json!("r");
            let mut expected = right;
            for (name, value) in [
                ("previewId", "p"),
                ("agentId", "a"),
                ("idempotencyKey", "k"),
                ("operationType", operation),
                ("repoPath", "/real/w"),
                ("reason", "r"),
                ("requestedAt", "t"),
            ] {
                expected[name] = json!(value);
            }
            assert_eq!(made(operation, given), expected);
        }
    }

    #[test]
    fn the_digest_is_over_what_leaves() {
        let members = made("merge", json!({"reason": "r\r\nx"})).as_object().expect("an object").clone();
        let plain = sealed(members.clone(), None);
        let sent: Value = serde_json::from_slice(&plain.bytes).expect("JSON");
        assert_eq!(canonical::text(&sent).as_bytes(), plain.bytes, "compact, and sorted by bytes");
        assert!(!plain.bytes.contains(&b'\n'), "no text splits a line");
        assert_eq!(canonical::sha256(&sent), plain.digest);
        let with = sealed(members, Some(json!({"refs": [1]})));
        let mut sent: Value = serde_json::from_slice(&with.bytes).expect("JSON");
        let told = sent["facts"].as_object_mut().expect("facts").remove("digest");
        assert_eq!(told, Some(canonical::hex(&with.digest).into()));
        assert_eq!(canonical::sha256(&sent), with.digest);
    }
}
