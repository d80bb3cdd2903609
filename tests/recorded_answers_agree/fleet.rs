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
        let path = format!("$FX/{name}");
        let right = [
            ("label", json!(name)),
            ("repoPath", json!(path)),
            ("status", json!("no_upstream")),
            ("priority", json!(40)),
        ];
        let stacked = right.map(|(field, right)| radar("many", pointer("attentionStack", at, field), right, BARE));
        all.extend(stacked);
    }
    let merged =
        [("repositories", 0, 0), ("max1", 0, 0), ("both", 0, 0), ("both", 1, 1), ("dups", 0, 0), ("dups", 1, 1)];
    for (case, row, stacked) in [("many", 0, 3)].into_iter().chain(merged) {
        let status = [("status", json!("divergent")), ("priority", json!(90))];
        let verdict = [
            ("potentialConflictActive", json!(false)),
            ("potentialConflictCount", json!(0)),
            ("potentialConflictPaths", json!([])),
        ];
        for (field, right) in status.clone().into_iter().chain(verdict) {
            all.push(radar(case, pointer("entries", row, field), right, CLEAN_MERGE));
        }
        let stacked =
            status.map(|(field, right)| radar(case, pointer("attentionStack", stacked, field), right, CLEAN_MERGE));
        all.extend(stacked);
    }
    all.push(digest("all", "/data/repos/7/error", Value::Null, BARE));
    for case in ["all", "rich", "dups"] {
        all.push(digest(case, "/data/events", in_order(case), TIES));
    }
    all
}

/// A member of a row. Tables of corrections are made once, and their pointers live as long as the test.
fn pointer(list: &str, at: usize, field: &str) -> &'static str {
    format!("/data/{list}/{at}/{field}").leak()
}

/// HEAD of `bare.git`, as it was recorded elsewhere.
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
