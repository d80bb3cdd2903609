//! What a proposal must keep beyond its tool's rows, and what rows cannot say: references, paths, patches, steps of a plan.
//! Trust: nothing; values are an agent's and may be of any kind, since rows and rules are held against them together.

pub mod patch;
pub mod paths;
pub mod refs;

use crate::{
    args::{Violation, shown},
    limits::{BRANCH_TARGETS, MAX_VIOLATIONS},
    tool::Tool,
};
use serde_json::{Map, Value};

/// What is wrong with the arguments of a proposal, values of the wrong kind left aside; nothing for other tools. At most
/// [`MAX_VIOLATIONS`].
#[must_use]
pub fn check(tool: &Tool, arguments: &Value) -> Vec<Violation> {
    let (Some(operation), Some(given)) = (tool.proposes(), arguments.as_object()) else { return Vec::new() };
    let mut rules = Rules { repository: text(given, "repoPath").unwrap_or_default(), found: Vec::new() };
    if text(given, "reason").is_some_and(|reason| !reason.is_empty() && reason.trim().is_empty()) {
        rules.add("arguments.reason", "must not be blank: the person who decides reads it");
    }
    rules.operation(operation, given, "arguments");
    match operation {
        "plan" => rules.plan(given),
        "worktree" => {
            rules.branch(given, "branch");
            if let Some(path) = text(given, "path").filter(|path| !path.trim().is_empty())
                && let Err(problem) = paths::target(path)
            {
                rules.add("arguments.path", problem);
            }
        }
        "commit" => rules.paths(given, "paths", "arguments"),
        "push" => {
            rules.branch(given, "branch");
            if let Some(remote) = named(given, "remote")
                && let Err(problem) = refs::remote(remote)
            {
                rules.add("arguments.remote", problem);
            }
        }
        "branch" => {
            rules.branch(given, "name");
            rules.revision(given, "startPoint", "arguments");
        }
        "branchDelete" => rules.targets(given),
        "submodulePointer" => rules.submodule(given),
        _ => {}
    }
    rules.found.truncate(MAX_VIOLATIONS);
    rules.found
}

/// Arguments that an operation has, as a tool and as a step of a plan: those that it needs, and those that it may have.
const OPERATIONS: [(&str, &[&str], &[&str]); 5] = [
    ("merge", &["sourceRef", "targetRef"], &["strategy"]),
    ("rebase", &["ontoRef"], &["currentRef", "interactive"]),
    ("discard", &["paths"], &[]),
    ("reset", &["targetRef"], &["mode"]),
    ("patch", &["patchContent"], &["applyToIndex"]),
];

struct Rules<'a> {
    /// As the caller wrote it.
    repository: &'a str,
    found: Vec<Violation>,
}

impl Rules<'_> {
    fn add(&mut self, path: &str, problem: impl Into<String>) {
        if self.found.len() < MAX_VIOLATIONS {
            self.found.push(Violation { path: path.to_owned(), problem: problem.into() });
        }
    }

    /// Rules of an operation that may also be a step.
    fn operation(&mut self, operation: &str, given: &Map<String, Value>, at: &str) {
        match operation {
            "merge" => {
                self.revision(given, "sourceRef", at);
                self.revision(given, "targetRef", at);
            }
            "rebase" => {
                self.revision(given, "ontoRef", at);
                self.revision(given, "currentRef", at);
                if given.get("interactive") == Some(&Value::Bool(true)) {
                    self.add(&format!("{at}.interactive"), "must be false: nobody edits a proposal on its way");
                }
            }
            "discard" => self.paths(given, "paths", at),
            "reset" => self.revision(given, "targetRef", at),
            "patch" => {
                if let Some(content) = text(given, "patchContent").filter(|content| !content.is_empty())
                    && let Err(problem) = patch::read(content)
                {
                    self.add(&format!("{at}.patchContent"), problem.to_string());
                }
            }
            _ => {}
        }
    }

    fn plan(&mut self, given: &Map<String, Value>) {
        let steps = given.get("steps").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (number, step) in steps.iter().enumerate() {
            let Some(step) = step.as_object() else { continue };
            let at = format!("arguments.steps[{number}]");
            let kind = text(step, "operationType").unwrap_or_default();
            let Some((operation, needed, allowed)) = OPERATIONS.iter().find(|(name, ..)| *name == kind) else {
                continue;
            };
            for name in needed.iter().filter(|name| !step.contains_key(**name)) {
                self.add(&format!("{at}.{name}"), format!("is required in a step `{operation}`"));
            }
            // members that no step has are named by the rows
            let foreign = OPERATIONS.iter().flat_map(|(_, needed, allowed)| needed.iter().chain(*allowed));
            let foreign = foreign.filter(|name| !needed.contains(name) && !allowed.contains(name));
            for name in foreign.filter(|name| step.contains_key(**name)) {
                let problem = format!("does not belong to a step `{operation}`");
                if !self.found.iter().any(|found| found.path == format!("{at}.{name}")) {
                    self.add(&format!("{at}.{name}"), problem);
                }
            }
            self.operation(operation, step, &at);
        }
    }

    fn targets(&mut self, given: &Map<String, Value>) {
        let targets = given.get("targets").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut total = 0;
        for (number, target) in targets.iter().enumerate() {
            let branches = target.get("branches").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            total += branches.len();
            for (at, branch) in branches.iter().take(BRANCH_TARGETS.1).enumerate() {
                let path = format!("arguments.targets[{number}].branches[{at}]");
                if branches[..at].contains(branch) {
                    self.add(&path, "stands there twice");
                }
                if let Some(branch) = branch.as_str().filter(|branch| !branch.is_empty())
                    && let Err(problem) = refs::branch(branch)
                {
                    self.add(&path, problem);
                }
            }
        }
        if total > BRANCH_TARGETS.2 {
            let most = BRANCH_TARGETS.2;
            self.add("arguments.targets", format!("must name at most {most} branches in all, not {total}"));
        }
    }

    fn submodule(&mut self, given: &Map<String, Value>) {
        for name in ["relativePath", "parentPath"] {
            if let Some(path) = text(given, name).filter(|path| !path.is_empty())
                && let Err(problem) = paths::inside(path)
            {
                self.add(&format!("arguments.{name}"), problem);
            }
        }
        match (text(given, "direction"), given.contains_key("message")) {
            (Some("record"), false) => {
                self.add("arguments.message", "is required with direction `record`: it is the commit's message");
            }
            (Some("return"), true) => self.add("arguments.message", "has no meaning with direction `return`"),
            _ => {}
        }
        for name in ["expectedRecordedOid", "expectedCheckedOutOid"] {
            let hex = |id: &str| id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            if text(given, name).is_some_and(|id| !matches!(id.len(), 40 | 64) || !hex(id)) {
                self.add(&format!("arguments.{name}"), "must be a full object id: 40 or 64 hex digits in lower case");
            }
        }
    }

    fn branch(&mut self, given: &Map<String, Value>, name: &str) {
        if let Some(branch) = named(given, name)
            && let Err(problem) = refs::branch(branch)
        {
            self.add(&format!("arguments.{name}"), problem);
        }
    }

    fn revision(&mut self, given: &Map<String, Value>, name: &str, at: &str) {
        if let Some(revision) = named(given, name)
            && let Err(problem) = refs::revision(revision)
        {
            self.add(&format!("{at}.{name}"), problem);
        }
    }

    fn paths(&mut self, given: &Map<String, Value>, name: &str, at: &str) {
        let items = given.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (number, item) in items.iter().enumerate() {
            let Some(path) = item.as_str().filter(|path| !path.is_empty()) else { continue };
            if let Err(problem) = paths::inside(paths::relative(path, self.repository)) {
                self.add(&format!("{at}.{name}[{number}]"), format!("{problem}: `{}`", shown(path)));
            }
        }
    }
}

fn text<'a>(given: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    given.get(name).and_then(Value::as_str)
}

/// A name; one that may be left out may also be blank.
fn named<'a>(given: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    const OPTIONAL: [&str; 4] = ["branch", "remote", "startPoint", "currentRef"];
    text(given, name)
        .filter(|name| !name.is_empty())
        .filter(|text| !(OPTIONAL.contains(&name) && text.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wrong(operation: &str, mut arguments: Value) -> Vec<String> {
        let tool = crate::catalogue::find(&format!("operation.preview.{operation}")).expect("it has a row");
        arguments["repoPath"] = json!("/w");
        if arguments.get("reason").is_none() {
            arguments["reason"] = json!("r");
        }
        check(tool, &arguments).into_iter().map(|violation| violation.path).collect()
    }

    #[test]
    fn every_rule_names_its_argument() {
        for (operation, arguments, right) in [
            ("merge", json!({"sourceRef": "a", "targetRef": "b"}), vec![]),
            (
                "merge",
                json!({"sourceRef": "-a", "targetRef": "b..c", "reason": " \n"}),
                vec!["reason", "sourceRef", "targetRef"],
            ),
            ("rebase", json!({"ontoRef": "m", "interactive": true, "currentRef": " "}), vec!["interactive"]),
            (
                "discard",
                json!({"paths": [".", "src/", "/w/a", "/x", "a/../b", ".git/config"]}),
                vec!["paths[3]", "paths[4]", "paths[5]"],
            ),
            ("reset", json!({"targetRef": "HEAD~1"}), vec![]),
            ("reset", json!({"targetRef": "a b"}), vec!["targetRef"]),
            ("patch", json!({"patchContent": "x"}), vec!["patchContent"]),
            ("worktree", json!({"branch": "a..b", "path": "x"}), vec!["branch", "path"]),
            ("worktree", json!({"branch": "agent/x", "path": "  "}), vec![]),
            ("commit", json!({"message": "m", "paths": ["a", "../b"]}), vec!["paths[1]"]),
            ("push", json!({"remote": "ext::sh -c x", "branch": "--force"}), vec!["branch", "remote"]),
            ("push", json!({"remote": " ", "branch": ""}), vec![]),
            ("branch", json!({"name": "HEAD", "startPoint": "v1.0^{}"}), vec!["name"]),
            ("submodulePointer", json!({"relativePath": "x", "direction": "record"}), vec!["message"]),
            (
                "submodulePointer",
                json!({"relativePath": "../x", "direction": "return", "message": "m", "expectedRecordedOid": "ABC"}),
                vec!["relativePath", "message", "expectedRecordedOid"],
            ),
        ] {
            let right: Vec<_> = right.into_iter().map(|name| format!("arguments.{name}")).collect();
            assert_eq!(wrong(operation, arguments.clone()), right, "{operation} {arguments}");
        }
    }

    #[test]
    fn steps_hold_their_own_fields_alone() {
        let steps = json!([
            {"operationType": "reset", "targetRef": "x", "patchContent": "zz"},
            {"operationType": "merge", "sourceRef": "a"},
            {"operationType": "rebase", "ontoRef": "m", "interactive": true, "targetRef": "b"},
            {"operationType": "patch", "patchContent": "z"},
            {"operationType": "push"},
            7,
        ]);
        assert_eq!(
            wrong("plan", json!({ "steps": steps })),
            [
                "arguments.steps[0].patchContent",
                "arguments.steps[1].targetRef",
                "arguments.steps[2].targetRef",
                "arguments.steps[2].interactive",
                "arguments.steps[3].patchContent",
            ]
        );
    }

    #[test]
    fn branches_are_counted_over_all_targets() {
        let branches: Vec<_> = (0..20).map(|n| format!("b{n}")).collect();
        let target = json!({"repoPath": "/w", "branches": branches});
        let targets = |count| json!({"targets": vec![target.clone(); count]});
        assert!(wrong("branchDelete", targets(5)).is_empty());
        assert_eq!(wrong("branchDelete", targets(6)), ["arguments.targets"]);
        let twice = json!({"targets": [{"repoPath": "/w", "branches": ["a", "-b", "a"]}]});
        assert_eq!(
            wrong("branchDelete", twice),
            ["arguments.targets[0].branches[1]", "arguments.targets[0].branches[2]"]
        );
    }

    #[test]
    fn values_of_the_wrong_kind_are_left_to_the_rows() {
        for operation in ["merge", "plan", "branchDelete", "commit", "submodulePointer", "patch", "push"] {
            let arguments = json!({"sourceRef": 5, "steps": 1, "targets": {"a": 1}, "paths": "x", "message": [], "patchContent": {}});
            assert!(wrong(operation, arguments).is_empty(), "{operation}");
        }
        let status = crate::catalogue::find("operation.status").expect("it has a row");
        assert!(check(status, &json!({"reason": " "})).is_empty(), "it proposes nothing");
    }
}
