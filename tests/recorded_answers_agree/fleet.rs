//! Corrections of the recordings of fleet.radar and fleet.digest.
//! Trust: constants of the test.

use super::{Correction, Family};
use serde_json::{Value, json};
use std::path::Path;

pub const FAMILY: Family = Family {
    tools: &[("fleet.radar", 9), ("fleet.digest", 8)],
    corrections,
    additions: &["detached", "bare", "operationInProgress", "upstreamGone"],
    answered_now: &[],
    refused_now: &[],
    failures: &[("fleet.digest", "registry-none", "-32602")],
    varying: &["/data/elapsedMs", "/data/entries/*/elapsedMs"],
};

const CLEAN_MERGE: &str = "the upstream merges without a conflict: it only adds a file";
const BARE: &str = "a bare repository answers; there is no working tree that could be dirty";
const DETACHED: &str = "detached: no branch";
const UNBORN: &str = "an unborn branch is named";
const TIES: &str = "what happened within one second stands in the order of HEAD's own log";

fn corrections() -> Vec<Correction> {
    let radar = |case, pointer, right, reason| Correction { tool: "fleet.radar", case, pointer, right, reason };
    let digest = |case, pointer, right, reason| Correction { tool: "fleet.digest", case, pointer, right, reason };
    let mut all = vec![
        radar("many", "/data/entries/2/branch", Value::Null, DETACHED),
        radar("many", "/data/entries/4/branch", Value::Null, DETACHED),
        radar("many", "/data/entries/5/branch", json!("main"), UNBORN),
        radar("many", "/data/failedCount", json!(1), BARE),
        radar("many", "/data/entries/7/branch", json!("main"), BARE),
        radar("many", "/data/entries/7/head", json!(BARE_HEAD), BARE),
        radar("many", "/data/entries/7/shortHead", json!(&BARE_HEAD[..7]), BARE),
        radar("many", "/data/entries/7/lastCommitTimestamp", json!(BARE_TIME), BARE),
        radar("many", "/data/entries/7/error", json!(""), BARE),
        radar("many", "/data/entries/7/status", json!("no_upstream"), BARE),
        radar("many", "/data/entries/7/priority", json!(40), BARE),
    ];
    for (at, name) in [(7, "bare.git"), (8, "linkedwt")] {
        let pointers: [&str; 4] = match at {
            7 => [
                "/data/attentionStack/7/label",
                "/data/attentionStack/7/repoPath",
                "/data/attentionStack/7/status",
                "/data/attentionStack/7/priority",
            ],
            _ => [
                "/data/attentionStack/8/label",
                "/data/attentionStack/8/repoPath",
                "/data/attentionStack/8/status",
                "/data/attentionStack/8/priority",
            ],
        };
        let right = [json!(name), json!(format!("$FX/{name}")), json!("no_upstream"), json!(40)];
        all.extend(pointers.into_iter().zip(right).map(|(pointer, right)| radar("many", pointer, right, BARE)));
    }
    for case in ["many", "repositories", "max1", "both", "dups"] {
        let stacked: &[[&str; 2]] = match case {
            "many" => &[["/data/attentionStack/3/status", "/data/attentionStack/3/priority"]],
            "both" | "dups" => &[
                ["/data/attentionStack/0/status", "/data/attentionStack/0/priority"],
                ["/data/attentionStack/1/status", "/data/attentionStack/1/priority"],
            ],
            _ => &[["/data/attentionStack/0/status", "/data/attentionStack/0/priority"]],
        };
        let second = matches!(case, "both" | "dups");
        let rows: &[&[[&str; 2]]] = &[stacked, FIRST, if second { SECOND } else { &[] }];
        for [status, priority] in rows.concat() {
            let (status_is, priority_is) = match status.rsplit('/').next() {
                Some("status") => (json!("divergent"), json!(90)),
                Some("potentialConflictActive") => (json!(false), json!(0)),
                _ => (json!([]), json!("origin/main")),
            };
            all.push(radar(case, status, status_is, CLEAN_MERGE));
            all.push(radar(case, priority, priority_is, CLEAN_MERGE));
        }
    }
    all.push(digest("all", "/data/repos/7/error", Value::Null, BARE));
    for case in ["all", "rich", "dups"] {
        all.push(digest(case, "/data/events", in_order(case), TIES));
    }
    all
}

/// Pointers that the merge decides, in the first row and in the second.
const FIRST: &[[&str; 2]] = &[
    ["/data/entries/0/status", "/data/entries/0/priority"],
    ["/data/entries/0/potentialConflictActive", "/data/entries/0/potentialConflictCount"],
    ["/data/entries/0/potentialConflictPaths", "/data/entries/0/potentialConflictTarget"],
];
const SECOND: &[[&str; 2]] = &[
    ["/data/entries/1/status", "/data/entries/1/priority"],
    ["/data/entries/1/potentialConflictActive", "/data/entries/1/potentialConflictCount"],
    ["/data/entries/1/potentialConflictPaths", "/data/entries/1/potentialConflictTarget"],
];

const BARE_HEAD: &str = "6b9751971f8318fed367092124c2747416b4dd91";
const BARE_TIME: i64 = 1_700_001_740;

/// The recorded events of a case, those of one second put in the order in which they were made, newest first. Of the
/// linked worktree only HEAD's own rows have one: its branches moved elsewhere.
fn in_order(case: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recorded/fleet.digest.json");
    let recorded: Value = serde_json::from_slice(&std::fs::read(path).expect("it is in the repository")).expect("JSON");
    let of_case = recorded.as_array().expect("cases").iter().find(|it| it["case"] == case).expect("it was recorded");
    let events = of_case.pointer("/response/result/structuredContent/data/events").and_then(Value::as_array);
    let mut events = events.expect("it was answered").clone();
    let rank = |event: &Value| {
        let message = event["message"].as_str().expect("a text");
        if event["repoPath"] == "$FX/linkedwt" {
            return usize::from(event["refName"] != "HEAD");
        }
        let newest_first = [
            "checkout:",
            "rebase (finish): returning",
            "rebase (finish)",
            "rebase (pick)",
            "rebase (start)",
            "branch:",
        ];
        newest_first.iter().position(|begin| message.starts_with(begin)).unwrap_or(newest_first.len())
    };
    // stable, and by what the recording itself is ordered by
    events.sort_by(|a, b| {
        let time = |event: &Value| event["atMs"].as_i64().expect("a time");
        let place = |event: &Value| event["repoPath"].as_str().expect("a path").to_owned();
        time(b).cmp(&time(a)).then_with(|| place(a).cmp(&place(b))).then_with(|| rank(a).cmp(&rank(b)))
    });
    events.into()
}
