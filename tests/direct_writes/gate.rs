//! The gate: what is closed changes nothing and starts nothing, and what is open is open for the tools that are named.
//! Trust: test code.

use crate::{
    World,
    support::{
        Start,
        direct::{Served, identity},
        process,
    },
};
use bulkhead_contract::{
    direct::{TOOLS, gate},
    tool::Kind,
};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Arguments that every tool would take.
fn arguments(tool: &bulkhead_contract::tool::Tool) -> Value {
    let rows = tool.arguments.iter().filter(|row| row.required);
    let value = |kind: &Kind| match kind {
        Kind::Integer { .. } => json!(1),
        Kind::ListOf { .. } => json!(["a.txt"]),
        Kind::OneOf { words, .. } => json!(words[0]),
        _ => json!("main"),
    };
    rows.map(|row| (row.name.to_owned(), value(&row.kind))).collect::<Map<_, _>>().into()
}

#[test]
fn a_closed_gate_lets_nothing_through() {
    let world = World::new();
    let before = world.git(&["for-each-ref"]);
    let mut served = Served::reading(&world.place, &world.repo);
    for tool in TOOLS.iter().filter(|tool| !tool.annotations.read_only) {
        let message = served.refuses(tool.name, arguments(tool));
        assert!(message.contains("--allow-write"), "{message}");
    }
    // what the gate does not let through is not looked at either, but for its types
    assert!(served.refuses("repo_create_branch", json!({"name": "bad..name"})).contains("--allow-write"));
    assert!(served.refuses("repo_create_branch", json!({"name": 5})).contains("arguments.name"));
    assert_eq!(world.git(&["for-each-ref"]), before);
    let children = process::of_kind(served.0.pid(), "write");
    assert!(children.is_empty(), "{children:?}");
    served.value("repo_try_merge", json!({"source": "feature"}));
}

#[test]
fn an_open_gate_is_open_for_what_is_named() {
    let world = World::new();
    identity(&world.place);
    let start =
        Start::new(&world.place).arguments(&["--surface", "direct", "--allow-tools", "repo_create_branch", "--repo"]);
    let mut served = Served(start.argument(&world.repo).spawn());
    served.value("repo_create_branch", json!({"name": "x"}));
    assert!(served.refuses("repo_delete_branch", json!({"name": "x"})).contains("It allows repo_create_branch."));
    assert_eq!(world.git(&["rev-parse", "x"]), world.git(&["rev-parse", "HEAD"]));
}

/// What a server refuses to read it must not write, and the other way round.
#[test]
fn what_is_served_is_read_and_written_whatever_roots_there_are_besides() {
    let world = World::new();
    identity(&world.place);
    let elsewhere = world.place.directory("elsewhere");
    let both = ["--surface", "both", "--toolsets", "repo,write", "--allow-write", "--root"];
    let start = Start::new(&world.place).arguments(&both).argument(elsewhere);
    let mut served = Served(start.argument("--repo").argument(&world.repo).spawn());
    served.value("repo_current_branch", json!({}));
    served.value("repo_create_branch", json!({"name": "x"}));
    assert_eq!(world.git(&["rev-parse", "x"]), world.git(&["rev-parse", "HEAD"]));
}

#[test]
fn the_list_shows_gated_tools_unless_the_operator_hides_them() {
    let world = World::new();
    let names = |more: &[&str]| {
        let start = Start::new(&world.place).arguments(&["--surface", "direct", "--repo"]).argument(&world.repo);
        let mut server = start.arguments(more).spawn();
        let id = server.request("tools/list", json!({"_meta": crate::support::server::meta()}));
        let answer = server.answer(&id).message;
        let tools = answer["result"]["tools"].as_array().expect("a list").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]).len(), TOOLS.len());
    let hidden = names(&["--hide-gated", "--allow-tools", "repo_commit"]);
    let open = TOOLS.iter().filter(|tool| tool.annotations.read_only || tool.name == "repo_commit");
    assert_eq!(hidden, open.map(|tool| tool.name).collect::<Vec<_>>());
    assert!(hidden.iter().all(|name| gate::named(name).is_none() || name == "repo_commit" || name == gate::ALWAYS));
}

#[test]
fn tools_of_forges_are_known_by_name_and_not_there() {
    let world = World::new();
    let mut served = Served::reading(&world.place, &world.repo);
    for name in ["forge_pr_list", "forge_pr_merge"] {
        assert!(served.refuses(name, json!({})).contains("no support for forges"), "{name}");
    }
    assert!(served.refuses("repo_stauts", json!({})).contains("repo_status"));
    assert!(served.refuses("repo_op_log", json!({"max": 3})).contains("not supported with Git"));
}

#[test]
fn commands_are_logged_where_the_operator_wants_them() {
    let world = World::new();
    let log = world.place.at("commands.log");
    let log_flags = ["--log-commands", log.to_str().expect("places have UTF-8 paths")];
    let mut served = Served::writing(&world.place, &world.repo, &log_flags);
    world.write("a.txt", "other\n");
    served.value("repo_commit", json!({"paths": ["a.txt"], "message": "one\nbulkhead: git push --force"}));
    let text = std::fs::read_to_string(&log).expect("it was made");
    assert!(text.lines().all(|line| line.starts_with("bulkhead: git ")), "{text}");
    assert!(text.contains(" commit ") && !text.lines().any(|line| line.contains("git push")), "{text}");
    drop(served);
    let mut served = Served::writing(&world.place, &world.repo, &["--log-commands"]);
    served.value("repo_create_branch", json!({"name": "logged"}));
    // it comes by another way than the answer
    let said = process::until(Duration::from_secs(20), || served.0.stderr().contains("bulkhead: git "));
    assert!(said, "{}", served.0.stderr());
}
