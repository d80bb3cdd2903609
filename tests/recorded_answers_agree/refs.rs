//! Corrections of this family's recordings.
//! Trust: constants of the test.

use super::{Correction, Family};
use serde_json::{Value, json};

pub const FAMILY: Family = Family {
    tools: &[("repo.refs", 6), ("repo.reflog", 12), ("repo.branchStack", 7)],
    corrections,
    additions: &[
        "detached",
        "headId",
        "refs",
        "totals",
        "truncated",
        "nextCursor",
        "ref",
        "totalEntries",
        "relatedTotal",
        "relatedTruncated",
    ],
    answered_now: &[
        ("repo.refs", "empty", "an unborn repository has a HEAD and no references"),
        ("repo.refs", "bare.git", "a bare repository has references"),
        ("repo.reflog", "empty", "an unborn HEAD has no entries"),
        ("repo.reflog", "bare", "a bare repository has references, if no reflogs"),
        ("repo.branchStack", "empty", "an unborn branch has a place"),
    ],
    refused_now: &[("repo.branchStack", "base-injection", 10010, "a candidate is a name, never an expression")],
    failures: &[("repo.reflog", "bad", "bad-argument"), ("repo.reflog", "opt", "bad-argument")],
    varying: &[],
};

fn corrections() -> Vec<Correction> {
    let correct = |case, pointer: String, right, reason| Correction {
        tool: "repo.reflog",
        case,
        // the table lives as long as the test
        pointer: pointer.leak(),
        right,
        reason,
    };
    let mut all = Vec::new();
    let unique = "a selector counts, so that it names one entry";
    let selectors = [
        ("head", "HEAD", 12),
        ("limit2", "HEAD", 2),
        ("main", "main", 11),
        ("stash", "stash", 2),
        ("remote", "origin/main", 2),
        ("rebased", "rebased", 3),
    ];
    for (case, name, entries) in selectors {
        all.extend((0..entries).map(|n| {
            let right = json!(format!("{name}@{{{n}}}"));
            correct(case, format!("/data/entries/{n}/selector"), right, unique)
        }));
    }
    let known = "the log itself says where the reference was, on every row";
    let old = |case, n: usize, id: &str| correct(case, format!("/data/entries/{n}/oldCommit"), json!(id), known);
    all.push(old("limit2", 1, "52137bbc5b07f3a45697a033638d2947470bdd96"));
    all.push(old("head", 11, "4476814f987163a1dd78b3df3b3425d990a5c7f4"));
    all.push(correct("head", "/data/entries/11/canCompare".to_owned(), Value::Bool(true), known));
    all.push(old("sel", 11, "87c87acc298d0e84e0d2600aa37965a8a1334326"));
    let times = [1980, 1980, 1920, 1860, 1860, 1800, 1740, 1680, 960, 900, 900, 840];
    all.extend(times.into_iter().enumerate().map(|(n, time)| {
        let right = json!(1_700_000_000 + time);
        correct("sel", format!("/data/entries/{n}/timestamp"), right, "an entry has a time, however it is addressed")
    }));
    all
}
