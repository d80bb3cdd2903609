//! Corrections of this family's recordings.
//! Trust: constants of the test.

use super::{Correction, Family};
use serde_json::{Value, json};

pub const FAMILY: Family = Family {
    tools: &[("repo.scope", 16)],
    corrections,
    additions: &[
        "columns",
        "pathEncoding",
        "origPath",
        "origPathEncoding",
        "scopeEncoding",
        "author",
        "date",
        "partial",
    ],
    answered_now: &[("repo.scope", "slash", "`/` alone means the whole repository")],
    refused_now: &[("repo.scope", "abs", 10010, "an absolute path that is not in the repository names nothing in it")],
    failures: &[("repo.scope", "dotdot", "bad-argument"), ("repo.scope", "blank", "bad-argument")],
    // sentences are ours, and there may be more or fewer of them
    varying: &["/data/hints"],
};

fn corrections() -> Vec<Correction> {
    let bytes = "paths are the repository's own bytes, not quoted, and a rename has two";
    let matching = "owners are matched by GitHub's rules";
    let correct = |case, pointer, right: Value, reason| Correction { tool: "repo.scope", case, pointer, right, reason };
    let mut all = vec![
        correct("dot", "/data/workingTree/entries/2/path", json!("renamed with spaces.txt"), bytes),
        correct("dot", "/data/workingTree/entries/5/path", json!("untracked-\u{e9}.txt"), bytes),
        correct("dot", "/data/workingTree/entries/6/path", json!("untracked-\\xFF.bin"), bytes),
        correct("spaces", "/data/workingTree/entries/0/path", json!("renamed with spaces.txt"), bytes),
    ];
    let last = "`*.md` matches, and stands last";
    all.push(correct("file", "/data/owners/matchedPattern", json!("*.md"), last));
    all.push(correct("file", "/data/owners/owners", json!(["@docs-team"]), last));
    let owned =
        ["packages", "api", "api-slash", "file", "nonexistent", "dot", "docs", "days1", "days365", "glob", "spaces"];
    all.extend(owned.map(|case| correct(case, "/data/owners/matching", json!("github (last match wins)"), matching)));
    all
}
