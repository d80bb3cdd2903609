//! Every tool that reads, and every tool that writes, one after another, with arguments that mean something in the world.
//! Trust: test code; an answer is a value, a refusal of arguments or a failure of a known class, in time.

use crate::{
    support::direct::{Came, Served, came, questions},
    world::World,
};
use serde_json::{Value, json};
use std::time::Duration;

/// Seconds that a call is given.
pub const GIVEN: &str = "40";
/// Longer than any call may take: what it is given, and what a loaded machine adds.
const PATIENCE: Duration = Duration::from_secs(55);
/// All words for failures (`docs/direct.md`).
const CLASSES: &[&str] = &[
    "not_found",
    "conflict",
    "dirty",
    "locked",
    "rejected_non_fast_forward",
    "network",
    "auth",
    "timeout",
    "cancelled",
    "refused",
    "unsupported",
    "too_large",
    "unusable",
    "failed",
];

/// What came of a sweep, call by call.
pub struct Swept(pub Vec<(&'static str, Value, Came)>);

impl Swept {
    /// Every call to this tool.
    fn of(&self, tool: &str) -> impl Iterator<Item = &(&'static str, Value, Came)> {
        let found: Vec<_> = self.0.iter().filter(|(name, ..)| *name == tool).collect();
        assert!(!found.is_empty(), "{tool} was not called");
        found.into_iter()
    }

    /// Every call to these tools gave a value.
    pub fn values(&self, tools: &[&str]) {
        for call in tools.iter().flat_map(|tool| self.of(tool)) {
            assert!(matches!(call.2, Came::Value(_)), "{call:?}");
        }
    }

    /// Every call to these tools was refused, in words that hold `why`.
    pub fn refused(&self, tools: &[&str], why: &str) {
        for call in tools.iter().flat_map(|tool| self.of(tool)) {
            let said = matches!(&call.2, Came::Failure(class, failure) if class == "refused"
                && failure["reason"].as_str().is_some_and(|reason| reason.to_lowercase().contains(&why.to_lowercase())));
            assert!(said, "{why} should be why: {call:?}");
        }
    }

    /// Every call to these tools failed in a way that has a name.
    pub fn failed(&self, tools: &[&str], classes: &[&str]) {
        for call in tools.iter().flat_map(|tool| self.of(tool)) {
            assert!(matches!(&call.2, Came::Failure(class, _) if classes.contains(&class.as_str())), "{call:?}");
        }
    }
}

/// Calls a tool, and looks at how its answer comes.
pub fn call(served: &mut Served, tool: &str, arguments: &Value) -> Came {
    let outcome = served.0.call(tool, arguments.clone());
    assert!(outcome.elapsed < PATIENCE, "{tool} {arguments}: silence past the deadline: {:?}", outcome.elapsed);
    let came = came(&outcome.message);
    if let Came::Failure(class, failure) = &came {
        assert!(CLASSES.contains(&class.as_str()), "{tool} {arguments}: {failure}");
    }
    came
}

fn all(served: &mut Served, calls: Vec<(&'static str, Value)>) -> Swept {
    let calls = calls.into_iter().map(|(tool, arguments)| {
        let came = call(served, tool, &arguments);
        eprintln!("{tool} {arguments}: {}", shown(&came));
        (tool, arguments, came)
    });
    Swept(calls.collect())
}

fn shown(came: &Came) -> String {
    match came {
        Came::Value(value) => value.to_string().chars().take(120).collect(),
        other => format!("{other:?}"),
    }
}

/// A server that reads, asked everything, a file of the world among it.
pub fn reads(world: &World, path: &str) -> Swept {
    let mut served = Served::reading_with(&world.place, &world.repo, &["--timeout", GIVEN]);
    let calls = questions(path);
    // what is warm the second time answers from what was kept
    let swept = all(&mut served, [calls.clone(), calls].concat());
    for tool in bulkhead_contract::direct::TOOLS.iter().filter(|tool| tool.annotations.read_only) {
        assert!(tool.name == "repo_op_log" || swept.0.iter().any(|(name, ..)| *name == tool.name), "{}", tool.name);
    }
    world.holds(served);
    swept
}

/// A server with the gate open, and these calls alone: for what concerns few tools.
pub fn calls(world: &World, calls: Vec<(&'static str, Value)>) -> Swept {
    let tips = world.tips();
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    let swept = all(&mut served, calls);
    world.holds(served);
    world.lost_nothing(&tips);
    swept
}

/// A server with the gate open, on which one of each kind of write is done: for traps that differ from one that went through all
/// of them in where they stand and not in what runs into them.
pub fn few(world: &World, path: &str) -> Swept {
    world.write(path, "one\ntwo\nthree\nfour\nfive\nsix\n");
    let listed = vec![
        ("repo_commit", json!({"paths": [path], "message": "one of a few"})),
        ("repo_create_branch", json!({"name": "nb"})),
        ("repo_checkout", json!({"reference": "feature"})),
        ("repo_rebase", json!({"onto": "main"})),
        ("repo_tag_create", json!({"name": "nt", "message": "noted"})),
        ("repo_create_worktree", json!({"path": "../side", "branch": "side", "base": "feature"})),
        ("repo_fetch", json!({})),
    ];
    calls(world, listed)
}

/// A server with the gate open, on which everything is done that can be, a conflict and the way back among it.
pub fn writes(world: &World, path: &str) -> Swept {
    let tips = world.tips();
    world.write(path, "one\ntwo\nthree\nfour\nfive\nsix\n");
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    let calls = vec![
        ("repo_commit", json!({"paths": [path], "message": "by the sweep"})),
        ("repo_create_branch", json!({"name": "nb"})),
        ("repo_checkout", json!({"reference": "feature"})),
        ("repo_rebase", json!({"onto": "main"})),
        ("repo_new_child", json!({"reference": "nb"})),
        ("repo_rebase", json!({"onto": "clash"})),
        ("repo_conflict_regions", json!({"path": "a.txt"})),
        ("repo_resolve_conflict", json!({"path": "a.txt", "side": "ours"})),
        ("repo_continue_in_progress", json!({})),
        ("repo_resolve_conflict", json!({"path": "dir/b.txt", "side": "theirs"})),
        ("repo_abort_in_progress", json!({})),
        ("repo_checkout", json!({"reference": "main"})),
        ("repo_tag_create", json!({"name": "nt", "message": "noted"})),
        ("repo_tag_delete", json!({"name": "nt"})),
        ("repo_create_worktree", json!({"path": "../side", "branch": "side", "base": "feature"})),
        ("repo_remove_worktree", json!({"path": "../side", "force": true})),
        ("repo_fetch", json!({})),
        ("repo_push", json!({"branch": "main"})),
        ("repo_rename_branch", json!({"old_name": "nb", "new_name": "nc"})),
        ("repo_delete_branch", json!({"name": "nc", "force": true})),
        ("repo_undo", json!({})),
    ];
    let mut swept = all(&mut served, calls);
    let points = match call(&mut served, "repo_restore_points", &json!({"max": 100})) {
        Came::Value(points) => points,
        other => panic!("restore points are listed whatever there is: {other:?}"),
    };
    let oldest = points.as_array().expect("a list").last().map(|point| point["id"].clone());
    let id = oldest.unwrap_or_else(|| json!("20200101T000000.000000Z-0"));
    swept.0.extend(all(&mut served, vec![("repo_restore", json!({"id": id}))]).0);
    for tool in bulkhead_contract::direct::TOOLS.iter().filter(|tool| !tool.annotations.read_only) {
        assert!(swept.of(tool.name).count() > 0);
    }
    world.holds(served);
    world.lost_nothing(&tips);
    swept
}
