//! Corrections of this family's recordings.
//! Trust: constants of the test.

use super::{Correction, Family};
use serde_json::json;

pub const FAMILY: Family = Family {
    tools: &[("repo.conflictPreflight", 15), ("conflict.read", 11)],
    corrections,
    additions: &["operation", "conflicts", "truncated", "mode", "progress", "nextCursor", "worktreeFile"],
    answered_now: &[],
    refused_now: &[],
    failures: &[
        ("repo.conflictPreflight", "badref", "bad-argument"),
        ("repo.conflictPreflight", "option", "bad-argument"),
        ("repo.conflictPreflight", "range", "bad-argument"),
        ("repo.conflictPreflight", "tree", "bad-argument"),
        ("repo.conflictPreflight", "blank", "bad-argument"),
    ],
    varying: &[],
};

fn corrections() -> Vec<Correction> {
    let clean = "a file that only one side added, or that both sides changed in different places, does not conflict";
    let tool = "repo.conflictPreflight";
    let correct = |case, pointer, right| Correction { tool, case, pointer, right, reason: clean };
    let mut all = vec![
        correct("feature", "/data/conflictingPaths", json!(["src/main.rs"])),
        correct("feature", "/data/conflictCount", json!(1)),
    ];
    for case in ["cleanmerge", "upstream"] {
        all.push(correct(case, "/data/conflictingPaths", json!([])));
        all.push(correct(case, "/data/conflictCount", json!(0)));
        all.push(correct(case, "/data/status", json!("clean-merge")));
    }
    all
}
