//! The same reads to the direct surface and to its reference, over repositories in many states: they agree member by member,
//! but for corrections that one table names. `BULKHEAD_DIRECT_REFERENCE` names the reference's command, without which the test says
//! that it is skipped; `BULKHEAD_PARITY_REPOS=DIR[,DIR…]` adds clones of these. Trust: test code; both are children, with deadlines.
#![cfg(unix)]

mod calls;
mod corrections;
mod peer;
mod states;
#[path = "../support/mod.rs"]
mod support;

use corrections::{Answers, Table};
use peer::{Answer, Peer};
use serde_json::Value;
use std::path::{Path, PathBuf};
use support::{
    Place, Start,
    direct::{Came, Served},
};

/// Disagreements that are shown at most; all are counted.
const SHOWN: usize = 60;
/// Characters of one answer that are shown at most.
const SHOWN_OF_ONE: usize = 600;

/// What was found so far.
#[derive(Debug, Default)]
struct Findings {
    calls: usize,
    faults: Vec<String>,
    table: Table,
}

/// Our answer, in the three forms that count.
fn ours(came: Came) -> Answer {
    match came {
        Came::Value(value) => Answer::Value(value),
        Came::Params(_) => Answer::Params,
        Came::Failure(_, failure) => Answer::Failure(failure.to_string()),
    }
}

/// Asks both the same about the repository around `dir`.
fn compare(state: &str, place: &Place, dir: &Path, reference: &Path, findings: &mut Findings) {
    // the budget is tried elsewhere (disagreements 10): here everything is wanted that the reference gives
    let start = Start::new(place).arguments(&["--surface", "direct", "--output-budget", "0", "--repo"]);
    let mut served = Served(start.argument(dir).spawn());
    let mut peer = Peer::start(reference, place, dir);
    for (tool, arguments) in calls::of(place, dir) {
        // ours first: the reference writes the index, and a trial of a merge is a merge there
        let own = ours(served.call(tool, arguments.clone()));
        let theirs = peer.call(tool, &arguments);
        findings.calls += 1;
        let mut answers = Answers { ours: own, theirs };
        findings.table.apply(state, tool, &mut answers);
        if !same(&answers) {
            let show = |answer: &Answer| format!("{answer:?}").chars().take(SHOWN_OF_ONE).collect::<String>();
            let place = first_difference(&answers);
            let (own, theirs) = (show(&answers.ours), show(&answers.theirs));
            findings.faults.push(format!("{state}: {tool} {arguments}{place}\n  ours   {own}\n  theirs {theirs}"));
        }
    }
}

fn same(answers: &Answers) -> bool {
    match (&answers.ours, &answers.theirs) {
        (Answer::Value(ours), Answer::Value(theirs)) => differs(ours, theirs).is_none(),
        (Answer::Params, Answer::Params) | (Answer::Failure(_), Answer::Failure(_)) => true,
        _ => false,
    }
}

fn first_difference(answers: &Answers) -> String {
    match (&answers.ours, &answers.theirs) {
        (Answer::Value(ours), Answer::Value(theirs)) => {
            format!(" at {}", differs(ours, theirs).unwrap_or_default())
        }
        _ => String::new(),
    }
}

/// Where ours lacks a member of theirs, or has another value; it may have more members.
fn differs(ours: &Value, theirs: &Value) -> Option<String> {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => theirs.iter().find_map(|(name, theirs)| {
            let found = ours.get(name).unwrap_or(&Value::Null);
            differs(found, theirs).map(|place| format!("/{name}{place}"))
        }),
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            let mut pairs = ours.iter().zip(theirs).enumerate();
            pairs.find_map(|(at, (ours, theirs))| differs(ours, theirs).map(|place| format!("/{at}{place}")))
        }
        (Value::Array(ours), Value::Array(theirs)) => Some(format!(": {} items, not {}", ours.len(), theirs.len())),
        (ours, theirs) if ours == theirs => None,
        (ours, theirs) => Some(format!(": {ours:.200} is not {theirs:.200}")),
    }
}

#[test]
fn reads_agree_with_the_reference() {
    let Some(reference) = std::env::var_os("BULKHEAD_DIRECT_REFERENCE").map(PathBuf::from) else {
        support::unmet::unmet("the reference of the direct surface: BULKHEAD_DIRECT_REFERENCE names its command");
        return;
    };
    let mut findings = Findings::default();
    for (state, build) in states::STATES {
        let place = Place::new();
        let dir = build(&place);
        compare(state, &place, &dir, &reference, &mut findings);
    }
    let unused = findings.table.unused();
    for named in std::env::var("BULKHEAD_PARITY_REPOS").unwrap_or_default().split(',').filter(|name| !name.is_empty()) {
        for (state, build) in states::OF_CLONES {
            let place = Place::new();
            let dir = build(&place, Path::new(named));
            compare(&format!("{named} {state}"), &place, &dir, &reference, &mut findings);
        }
    }
    let Findings { calls, faults, .. } = findings;
    eprintln!("{calls} calls, {} of them answered otherwise", faults.len());
    let shown = faults.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
    assert!(faults.is_empty(), "{} of {calls}:\n{shown}", faults.len());
    assert!(unused.is_empty(), "rows of the table that nothing needs: {unused:?}");
}
