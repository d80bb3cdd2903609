//! Corrections of this family's recordings.
//! Trust: constants of the test.

use super::{Correction, Family};
use serde_json::json;

pub const FAMILY: Family = Family {
    tools: &[("worktree.list", 5), ("submodule.status", 5)],
    corrections,
    additions: &[
        "current",
        "head",
        "pathEncoding",
        "prunableReason",
        "unseen",
        "truncated",
        "nextCursor",
        "partial",
        "total",
        "checkedOut",
        "dirty",
        "name",
        "url",
    ],
    answered_now: &[("worktree.list", "bare.git", "a bare repository has working trees, or at least itself")],
    refused_now: &[],
    failures: &[],
    varying: &[],
};

fn corrections() -> Vec<Correction> {
    let unborn = json!({
        "path": "$FX/empty", "isMain": true, "branch": "main", "detached": false, "locked": false, "prunable": false,
    });
    vec![
        Correction {
            tool: "worktree.list",
            case: "empty",
            pointer: "/data/worktrees/0",
            right: unborn,
            reason: "an unborn branch has no commit, and zeros are the id of nothing",
        },
        Correction {
            tool: "submodule.status",
            case: "path-filter",
            pointer: "/data/submodules",
            right: json!([]),
            reason: "`path` narrows the list; nothing is at or below this one",
        },
    ]
}
