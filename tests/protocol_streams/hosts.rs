//! The opening sequences that real hosts send, and every revision of the protocol, mixed in one process.
//! Trust: as any client.

use super::{Session, support::server::meta};
use serde_json::{Value, json};

fn discover(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "server/discover", "params": {"_meta": meta()}})
}

fn initialize(id: i64, version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {"roots": {"listChanged": true}},
        "clientInfo": {"name": "h", "version": "1"},
    }})
}

fn notification(method: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": {}})
}

fn list(id: i64, meta: Option<Value>) -> Value {
    let params = meta.map_or(json!({}), |meta| json!({"_meta": meta}));
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params})
}

#[test]
fn every_known_opening_is_answered() {
    let roots_changed = notification("notifications/roots/list_changed");
    let initialized = notification("notifications/initialized");
    let newest = "2025-11-25";
    for (host, sequence) in [
        (
            "one that probes, says that roots changed, and then initialises",
            vec![discover(1), roots_changed.clone(), initialize(2, newest), initialized.clone(), list(3, None)],
        ),
        (
            "one that initialises after a good probe",
            vec![discover(1), initialize(2, newest), initialized.clone(), list(3, None)],
        ),
        ("a stateless one with a stray notification", vec![discover(1), roots_changed, list(3, Some(meta()))]),
        ("one that waits for nothing", vec![initialize(2, newest), initialized, list(3, None)]),
        ("one that never says initialized", vec![initialize(2, newest), list(3, None)]),
        ("one that only lists", vec![list(3, Some(meta()))]),
        ("one that initialises twice", vec![initialize(1, newest), initialize(2, "2025-06-18"), list(3, None)]),
    ] {
        let mut session = Session::new();
        let ids: Vec<Value> = sequence.iter().filter_map(|message| message.get("id").cloned()).collect();
        sequence.iter().for_each(|message| session.server.send(message));
        for id in ids {
            let message = session.server.answer(&id).message;
            assert!(message.get("result").is_some(), "{host}: {message}");
        }
        session.still_reads();
        session.finish();
    }
}

#[test]
fn every_revision_is_echoed_and_an_unknown_one_gets_the_newest() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        Session::initialized(version).finish();
    }
    for version in ["2026-07-28", "1999-01-01", "2030-01-01"] {
        let mut session = Session::new();
        session.server.send(&initialize(1, version));
        assert_eq!(session.server.answer(&json!(1)).message["result"]["protocolVersion"], "2025-11-25", "{version}");
        session.finish();
    }
}

#[test]
fn an_answer_has_what_its_revision_knows() {
    for (version, structured) in
        [("2024-11-05", false), ("2025-03-26", false), ("2025-06-18", true), ("2025-11-25", true)]
    {
        let mut session = Session::initialized(version);
        let arguments = json!({"name": "repo.status", "arguments": {"repoPath": session.repository}});
        let id = session.server.request("tools/call", arguments);
        let result = session.server.answer(&id).message["result"].clone();
        assert_eq!(result.get("structuredContent").is_some(), structured, "{version}: {result}");
        assert!(result.get("resultType").is_none(), "{version}: {result}");
        let text = result["content"][0]["text"].as_str().expect("text is in every revision");
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON")["tool"], "repo.status");
        // and a stateless request in the same session
        session.still_reads();
        session.finish();
    }
}

#[test]
fn a_stateless_result_has_all_that_it_must() {
    let mut session = Session::new();
    session.server.send(&discover(1));
    let discovered = session.server.answer(&json!(1)).message["result"].clone();
    session.server.send(&list(2, Some(meta())));
    let listed = session.server.answer(&json!(2)).message["result"].clone();
    let called = session.server.call("repo_status", json!({"repoPath": session.repository})).message["result"].clone();
    for result in [&discovered, &listed, &called] {
        assert_eq!(result["resultType"], "complete", "{result}");
        let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(info["name"], "bulkhead", "{result}");
    }
    for result in [&discovered, &listed] {
        assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string(), "{result}");
    }
    assert_eq!(called["isError"], false, "a tool is callable under both spellings");
    let instructions = discovered["instructions"].as_str().expect("a text");
    assert!(!instructions.is_empty() && instructions.chars().count() <= 1500);
    session.finish();
}

#[test]
fn the_list_is_small_flat_and_true() {
    let mut session = Session::new();
    session.server.send(&list(1, Some(meta())));
    let outcome = session.server.answer(&json!(1));
    let result = &outcome.message["result"];
    assert!(outcome.bytes <= 40_000, "{} bytes", outcome.bytes);
    assert!(result.get("nextCursor").is_none(), "hosts read one page");
    let tools = result["tools"].as_array().expect("a list");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    for name in super::support::TOOLS {
        assert!(names.contains(&name), "{name} is listed: {names:?}");
    }
    for tool in tools {
        let annotations = &tool["annotations"];
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(annotations[hint].is_boolean(), "{hint} of {}", tool["name"]);
        }
        let schema = &tool["inputSchema"];
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
        for word in ["$ref", "$defs", "oneOf", "anyOf", "allOf"] {
            assert!(!schema.to_string().contains(&format!("\"{word}\"")), "{word} in {}", tool["name"]);
        }
    }
    session.finish();
}
