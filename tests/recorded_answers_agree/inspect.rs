//! Corrections of the recordings of repo.brief, repo.status and worktree.changes.
//! Trust: constants of the test.

use super::{Correction, Family};
use serde_json::{Value, json};

pub const FAMILY: Family = Family {
    tools: &[("repo.brief", 25), ("repo.status", 14), ("worktree.changes", 6)],
    corrections,
    additions: ADDITIONS,
    answered_now: &[("repo.brief", "bare.git", "a bare repository has a brief")],
    refused_now: &[],
    failures: &[],
    varying: &[],
};

fn corrections() -> Vec<Correction> {
    let unborn = "an unborn branch is named, its commit is null";
    let detached = "detached: no branch";
    let absent = "a submodule that is not checked out is uninitialised, never drifted, and has no second row";
    let top = "the repository that a subdirectory is in is what answers, and all of it";
    let row = json!([{"state": "-", "commit": SUBMODULE, "path": "vendor/sub", "description": ""}]);
    let drifted = json!([{"state": "+", "commit": SUBMODULE, "path": "vendor/sub", "description": ""}]);
    let correct = |tool, case, pointer, right, reason| Correction { tool, case, pointer, right, reason };
    vec![
        correct("repo.status", "empty", "/data/branch", json!("main"), unborn),
        correct("repo.status", "detached", "/data/branch", Value::Null, detached),
        correct("repo.status", "rebase", "/data/branch", Value::Null, detached),
        correct("repo.brief", "linkedwt", "/data/submodules/attention", row, absent),
        correct("repo.brief", "linkedwt", "/data/submodules/drifted", json!(0), absent),
        correct("repo.brief", "linkedwt", "/data/submodules/total", json!(1), absent),
        correct("repo.brief", "linkedwt", "/data/submodules/uninitialized", json!(1), absent),
        correct("repo.brief", "subdir", "/repoPath", json!("$FX/rich"), top),
        correct("repo.brief", "subdir", "/data/hints", json!(["<prose >", "<prose >"]), top),
        correct("repo.brief", "subdir", "/data/submodules/attention", drifted, top),
        correct("repo.brief", "subdir", "/data/submodules/drifted", json!(1), top),
        correct("repo.brief", "subdir", "/data/submodules/total", json!(1), top),
    ]
}

/// The commit of the submodule that `rich` records; checked out is the one before it.
const SUBMODULE: &str = "88ea5aae6456dd2d07261eeeb89fed5a4fa8ea00";

/// Additions to the contract.
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
    "bare",
];
