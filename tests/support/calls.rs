//! Every read tool with arguments that make it look at all it can of one repository.
//! Trust: test code; names of references and paths are those that hostile repositories hold most often.

use bulkhead_contract::catalogue;
use serde_json::{Value, json};
use std::path::Path;

/// Calls of every listed tool about the repository at `path`, some of them in several forms.
pub fn on(path: &Path) -> Vec<(&'static str, Value)> {
    let path = path.to_str().expect("places have UTF-8 paths");
    let with = |further: Value| {
        let mut arguments = json!({ "repoPath": path });
        for (key, value) in further.as_object().expect("an object") {
            arguments[key] = value.clone();
        }
        arguments
    };
    let alone = || with(json!({}));
    let calls = [
        ("repo.brief", alone()),
        ("repo.status", alone()),
        ("worktree.changes", alone()),
        ("repo.refs", alone()),
        ("repo.refs", with(json!({"limit": 1}))),
        ("repo.reflog", alone()),
        ("repo.reflog", with(json!({"refName": "refs/stash", "limit": 100}))),
        ("repo.branchStack", alone()),
        ("repo.branchStack", with(json!({"maxRelated": 50}))),
        ("repo.history", alone()),
        ("repo.history", with(json!({"path": "a", "limit": 200}))),
        ("repo.history", with(json!({"path": "a.txt", "follow": true, "author": "a", "grep": "x"}))),
        ("repo.scope", with(json!({"path": "."}))),
        ("repo.scope", with(json!({"path": "a", "churnDays": 365}))),
        ("diff.text", alone()),
        ("diff.text", with(json!({"base": "HEAD"}))),
        ("diff.text", with(json!({"base": "HEAD~1", "head": "HEAD"}))),
        ("commit.details", with(json!({"commit": "HEAD"}))),
        ("commit.details", with(json!({"commit": "HEAD^{tree}"}))),
        ("diff.semantic", alone()),
        ("diff.semanticFallbacks", with(json!({"base": "HEAD"}))),
        ("worktree.list", alone()),
        ("submodule.status", alone()),
        ("submodule.status", with(json!({"path": "sub"}))),
        ("repo.conflictPreflight", with(json!({"targetRef": "HEAD"}))),
        ("repo.conflictPreflight", with(json!({"targetRef": "HEAD~1", "operation": "rebase"}))),
        ("repo.conflictPreflight", with(json!({"currentRef": "HEAD~1", "targetRef": "main"}))),
        ("conflict.read", alone()),
        ("conflict.read", with(json!({"maxFiles": 200, "maxBytesPerSide": 1_048_576}))),
        ("fleet.radar", json!({"repoPaths": [path, path]})),
        ("fleet.digest", json!({"repoPaths": [path], "sinceMs": 0, "maxEvents": 1000})),
        ("safety.timeline", with(json!({"limit": 200, "reflogLimit": 100}))),
        ("safety.eventDetails", alone()),
        ("flux.latestRestorePoint", alone()),
        ("flux.restorePoints", alone()),
        ("flux.restorePointDetails", with(json!({"restorePointId": "x"}))),
        ("agents.presence", alone()),
    ];
    calls.into_iter().filter(|(tool, _)| catalogue::find(tool).is_some()).collect()
}

/// Whether `tool` answers about many repositories, so that one that cannot be read is a row and not an error.
pub fn is_fleet(tool: &str) -> bool {
    tool.starts_with("fleet.")
}
