//! The official conformance suite of MCP against the server, each scenario of the two revisions that it judges, over a bridge.
//! Trust: the suite is a program of others, run only where `BULKHEAD_CONFORMANCE` names it; its verdicts are read, never obeyed.

#[path = "../support/mod.rs"]
mod support;

#[cfg(feature = "conformance-fixtures")]
mod bridge;
#[cfg(feature = "conformance-fixtures")]
mod http;
#[cfg(feature = "conformance-fixtures")]
mod suite;

use serde_json::{Value, json};
use support::{Place, Server, Start, server::meta};

fn asked(server: &mut Server, method: &str, params: Value) -> Value {
    let id = server.request(method, params);
    server.answer(&id).message
}

/// What both kinds of revisions list and declare: names of tools, and capabilities.
fn shown(server: &mut Server) -> [(Vec<String>, Value); 2] {
    let names = |message: Value| {
        let tools = message["result"]["tools"].as_array().cloned().unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let modern = names(asked(server, "tools/list", json!({"_meta": meta()})));
    let discovered = asked(server, "server/discover", json!({"_meta": meta()}));
    let client = json!({"name": "bulkhead-tests", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    let opened = asked(server, "initialize", params);
    let legacy = names(asked(server, "tools/list", json!({})));
    let capabilities = |message: &Value| message["result"]["capabilities"].clone();
    [(modern, capabilities(&discovered)), (legacy, capabilities(&opened))]
}

/// Names that are the suite's and never the product's.
fn is_fixture(name: &str) -> bool {
    name.starts_with("test_") || name.starts_with("json_schema_")
}

#[test]
#[cfg(not(feature = "conformance-fixtures"))]
fn a_product_has_no_fixture() {
    let place = Place::new();
    let mut server = Start::new(&place).root(place.path()).spawn();
    for (names, capabilities) in shown(&mut server) {
        assert!(names.len() > 30, "the product's own tools are listed: {names:?}");
        assert!(!names.iter().any(|name| is_fixture(name)), "{names:?}");
        assert_eq!(capabilities, json!({"tools": {"listChanged": false}}));
    }
    for method in ["prompts/list", "prompts/get", "resources/list", "resources/read", "completion/complete"] {
        let refused = asked(&mut server, method, json!({"name": "test_simple_prompt", "uri": "test://static-text"}));
        assert_eq!(refused["error"]["code"], -32601, "{method}: {refused}");
    }
    for name in ["test_simple_text", "test_sampling", "test_input_required_result_elicitation"] {
        let refused = asked(&mut server, "tools/call", json!({"name": name, "arguments": {}}));
        assert_eq!(refused["error"]["code"], -32602, "{name}: {refused}");
    }
    assert!(server.finish().status.success());
}

#[test]
#[cfg(feature = "conformance-fixtures")]
fn fixtures_stand_beside_the_product() {
    let place = Place::new();
    let mut server = Start::new(&place).root(place.path()).spawn();
    for (names, capabilities) in shown(&mut server) {
        assert_eq!(names[0], "repo.brief", "the product's own tools come first: {names:?}");
        assert!(names.iter().any(|name| is_fixture(name)), "{names:?}");
        assert!(capabilities["prompts"].is_object(), "{capabilities}");
    }
    assert!(server.finish().status.success());
}

#[test]
#[cfg(feature = "conformance-fixtures")]
fn every_scenario_of_the_suite() {
    use support::unmet::unmet;
    let Some(suite) = suite::Suite::named() else {
        unmet("BULKHEAD_CONFORMANCE, the command of the conformance suite");
        return;
    };
    if !support::slow() {
        unmet("BULKHEAD_SLOW=1, by which the conformance suite is run");
        return;
    }
    let place = Place::new();
    let bridge = bridge::Bridge::start(|| Start::new(&place).root(place.path()).command());
    let verdict = suite.judge(&bridge.url(), place.path());
    eprintln!("{}", verdict.summary());
    assert!(verdict.passed() > 0, "the suite judged something");
    verdict.assert_as_expected();
}

#[test]
#[cfg(not(feature = "conformance-fixtures"))]
fn every_scenario_of_the_suite() {
    support::unmet::unmet(
        "a build with `--features conformance-fixtures`, for which the conformance suite has scenarios",
    );
}
