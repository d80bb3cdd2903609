//! Which facts a proposal needs: what its names stand for, how it would end, and what it would take away.
//! Trust: arguments keep their rows and rules; a worker looks the names up.

use super::Proposal;
use bulkhead_contract::rules::paths;
use bulkhead_ipc::edge::asks::{Concerned, Facts, Lost, MAX_REFS, MAX_TRIALS, Trial};
use serde_json::Value;

/// The question to the repository at `path`, which the proposal names.
pub(super) fn of(proposal: &Proposal, path: &str) -> Facts {
    let mut facts = Facts::default();
    let given = &proposal.given;
    match proposal.operation {
        "plan" => {
            for step in given.get("steps").and_then(Value::as_array).into_iter().flatten() {
                let operation = step.get("operationType").and_then(Value::as_str).unwrap_or_default();
                add(&mut facts, operation, step, proposal.asked());
            }
        }
        "branchDelete" => {
            let targets = given.get("targets").and_then(Value::as_array).into_iter().flatten();
            let here = targets.filter(|target| target.get("repoPath").and_then(Value::as_str) == Some(path));
            for branch in
                here.filter_map(|target| target.get("branches")?.as_array()).flatten().filter_map(Value::as_str)
            {
                facts.refs.push(format!("refs/heads/{branch}"));
                let without = vec![format!("{branch}@{{upstream}}"), "HEAD".to_owned()];
                facts.commits.push(Concerned { tip: format!("refs/heads/{branch}"), without });
            }
        }
        operation => add(&mut facts, operation, given, proposal.asked()),
    }
    facts.refs.truncate(MAX_REFS);
    facts.trials.truncate(MAX_TRIALS);
    facts.commits.truncate(MAX_REFS);
    facts
}

fn add(facts: &mut Facts, operation: &str, given: &Value, repository: &str) {
    let text = |name: &str| given.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let head = || "HEAD".to_owned();
    let named = |name: &str| text(name).map_or_else(head, str::to_owned);
    let mut names: Vec<String> = Vec::new();
    match operation {
        "merge" => {
            names.extend([named("sourceRef"), named("targetRef")]);
            facts.trials.push(Trial { current: named("targetRef"), target: named("sourceRef"), rebase: false });
        }
        "rebase" => {
            names.extend([named("currentRef"), named("ontoRef")]);
            facts.trials.push(Trial { current: named("currentRef"), target: named("ontoRef"), rebase: true });
        }
        "reset" => {
            names.push(named("targetRef"));
            facts.commits.push(Concerned { tip: head(), without: vec![named("targetRef")] });
            if text("mode") == Some("hard") {
                lose(facts, vec![".".to_owned()], false);
            }
        }
        "discard" => {
            let items = given.get("paths").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
            lose(facts, items.map(|path| paths::relative(path, repository).to_owned()).collect(), true);
        }
        "push" => {
            let remote = text("remote").unwrap_or("origin");
            let without = match text("branch") {
                Some(branch) => {
                    names.push(format!("refs/heads/{branch}"));
                    vec![format!("refs/remotes/{remote}/{branch}")]
                }
                None => vec!["@{upstream}".to_owned()],
            };
            let tip = text("branch").map_or_else(head, |branch| format!("refs/heads/{branch}"));
            facts.commits.push(Concerned { tip, without });
        }
        "branch" => names.push(named("startPoint")),
        "worktree" => names.extend(text("branch").map(|branch| format!("refs/heads/{branch}"))),
        _ => {}
    }
    for name in names {
        if !facts.refs.contains(&name) {
            facts.refs.push(name);
        }
    }
}

fn lose(facts: &mut Facts, paths: Vec<String>, untracked: bool) {
    match &mut facts.lost {
        Some(lost) => {
            lost.paths.extend(paths);
            lost.untracked |= untracked;
        }
        None => facts.lost = Some(Lost { paths, untracked }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_contract::catalogue;
    use serde_json::json;

    fn asked(operation: &str, mut given: Value) -> Facts {
        given["repoPath"] = json!("/w");
        let tool = catalogue::find(&format!("operation.preview.{operation}")).expect("it has a row");
        of(&Proposal::plan(tool, &given, [0; 32]).expect("it proposes"), "/w")
    }

    #[test]
    fn each_operation_asks_for_what_it_touches() {
        let merge = asked("merge", json!({"sourceRef": "a", "targetRef": "b"}));
        assert_eq!(merge.refs, ["a", "b"]);
        assert_eq!(merge.trials, [Trial { current: "b".into(), target: "a".into(), rebase: false }]);
        let hard = asked("reset", json!({"targetRef": "HEAD~1", "mode": "hard"}));
        assert_eq!(hard.lost, Some(Lost { paths: vec![".".into()], untracked: false }));
        assert!(asked("reset", json!({"targetRef": "HEAD~1"})).lost.is_none(), "nothing is lost");
        let discard = asked("discard", json!({"paths": ["/w/a", "b/"]}));
        assert_eq!(discard.lost, Some(Lost { paths: vec!["a".into(), "b/".into()], untracked: true }));
        let push = asked("push", json!({"branch": "main", "remote": "up"}));
        assert_eq!(push.commits[0].without, ["refs/remotes/up/main"]);
        let targets = json!([{"repoPath": "/w", "branches": ["x"]}, {"repoPath": "/v", "branches": ["y"]}]);
        assert_eq!(asked("branchDelete", json!({ "targets": targets })).refs, ["refs/heads/x"]);
        let steps = json!([
            {"operationType": "merge", "sourceRef": "a", "targetRef": "b"},
            {"operationType": "discard", "paths": ["x"]},
            {"operationType": "reset", "targetRef": "b", "mode": "hard"},
        ]);
        let plan = asked("plan", json!({ "steps": steps }));
        assert_eq!((plan.refs.len(), plan.trials.len(), plan.commits.len()), (2, 1, 1));
        assert_eq!(plan.lost, Some(Lost { paths: vec!["x".into(), ".".into()], untracked: true }));
        assert_eq!(asked("commit", json!({"message": "m"})), Facts::default());
    }
}
