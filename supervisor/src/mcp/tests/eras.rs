//! All five revisions in one process, and the openings that real hosts send.
//! Trust: test code.

use super::*;
use crate::mcp::era::Era;

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn legacy_revisions_are_echoed_and_followed() {
    for (version, result_keys, server_keys) in [
        ("2024-11-05", &["content", "isError"][..], &["name", "version"][..]),
        ("2025-03-26", &["content", "isError"], &["name", "version"]),
        ("2025-06-18", &["content", "isError", "structuredContent"], &["name", "title", "version"]),
        ("2025-11-25", &["content", "isError", "structuredContent"], &["description", "name", "title", "version"]),
    ] {
        with(async |client| {
            let opened = client.ask(initialize(version)).await;
            assert_eq!(
                keys(&opened["result"]),
                ["_meta", "capabilities", "instructions", "protocolVersion", "serverInfo"]
            );
            assert_eq!(opened["result"]["protocolVersion"], version);
            assert_eq!(keys(&opened["result"]["serverInfo"]), server_keys);
            client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
            let list = client.ask(request(1, "tools/list", json!({}))).await;
            assert_eq!(keys(&list["result"]), ["tools"]);
            let called = client.ask(call(2, "/w/app")).await;
            assert_eq!(keys(&called["result"]), result_keys, "{version}");
            assert_eq!(called["result"]["isError"], false);
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_stateless_revision() {
    with(async |client| {
        let found = client.ask(request(1, "server/discover", json!({"_meta": modern_meta()}))).await;
        let result = &found["result"];
        assert_eq!(
            keys(result),
            ["_meta", "cacheScope", "capabilities", "instructions", "resultType", "supportedVersions", "ttlMs"]
        );
        assert_eq!(result["supportedVersions"], json!(Era::ALL.map(Era::version)));
        assert_eq!(result["capabilities"], json!({"tools": {"listChanged": false}}));
        let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(keys(server), ["description", "name", "title", "version"]);
        assert_eq!(server["name"], "bulkhead");

        let list = client.ask(request(2, "tools/list", json!({"_meta": modern_meta()}))).await;
        assert_eq!(keys(&list["result"]), ["_meta", "cacheScope", "resultType", "tools", "ttlMs"]);
        assert_eq!(list["result"]["cacheScope"], "private");

        let params = json!({"name": "repo_brief", "arguments": {"repoPath": "/w/app"}, "_meta": modern_meta()});
        let called = client.ask(request(3, "tools/call", params)).await;
        assert_eq!(keys(&called["result"]), ["_meta", "content", "isError", "resultType", "structuredContent"]);
        assert_eq!(called["result"]["structuredContent"]["tool"], "repo.brief");
        let text = called["result"]["content"][0]["text"].as_str().expect("a text");
        assert_eq!(text, called["result"]["structuredContent"].to_string());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn bare_requests_are_served_as_the_oldest_revision() {
    with(async |client| {
        let list = client.ask(request(1, "tools/list", json!(null))).await;
        assert_eq!(keys(&list["result"]["tools"][0]), ["description", "inputSchema", "name"]);
        assert_eq!(keys(&client.ask(call(2, "/w/app")).await["result"]), ["content", "isError"]);
        client.quiet().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn eras_mix_and_a_modern_request_changes_nothing() {
    with(async |client| {
        client.ask(initialize("2025-06-18")).await;
        let modern = client.ask(request(1, "tools/list", json!({"_meta": modern_meta()}))).await;
        assert!(modern["result"]["ttlMs"].is_u64());
        assert!(client.ask(request(2, "ping", json!({"_meta": modern_meta()}))).await["error"].is_object());
        let legacy = client.ask(call(3, "/w/app")).await;
        assert_eq!(keys(&legacy["result"]), ["content", "isError", "structuredContent"]);
        client.ask(initialize("2024-11-05")).await;
        assert_eq!(keys(&client.ask(call(4, "/w/app")).await["result"]), ["content", "isError"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn openings_of_real_hosts() {
    let discover = request(1, "server/discover", json!({"_meta": modern_meta()}));
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed", "params": {}});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let mut open = initialize("2025-11-25");
    open["id"] = json!(2);
    let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    let modern_list = request(3, "tools/list", json!({"_meta": modern_meta()}));
    for (sent, answers) in [
        (vec![&discover, &changed, &open, &initialized, &list], vec![1, 2, 3]),
        (vec![&discover, &open, &initialized, &list], vec![1, 2, 3]),
        (vec![&discover, &changed, &modern_list], vec![1, 3]),
        (vec![&open, &initialized, &list], vec![2, 3]),
        (vec![&open, &list], vec![2, 3]),
        (vec![&initialized, &open], vec![2]),
        (vec![&modern_list], vec![3]),
    ] {
        with(async |client| {
            let pipelined: String = sent.iter().map(|message| format!("{message}\n")).collect();
            client.raw(pipelined).await;
            for id in &answers {
                let line = client.next().await;
                assert_eq!(line["id"], *id);
                assert!(line["result"].is_object(), "{line}");
            }
            client.quiet().await;
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn batches_exist_in_one_revision() {
    let pings = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "nope"},
        call(3, "/w/app"),
        {"jsonrpc": "2.0", "id": 4, "method": "initialize"},
        5,
    ]);
    for era in [None, Some("2024-11-05"), Some("2025-06-18"), Some("2025-11-25")] {
        with(async |client| {
            if let Some(version) = era {
                client.ask(initialize(version)).await;
            }
            let refused = client.ask(pings.clone()).await;
            assert_eq!((&refused["error"]["code"], refused.get("id")), (&json!(-32600), None));
            client.quiet().await;
        })
        .await;
    }
    with(async |client| {
        client.ask(initialize("2025-03-26")).await;
        let answers = client.ask(pings.clone()).await;
        let outline: Vec<_> = answers
            .as_array()
            .expect("a batch is answered with an array")
            .iter()
            .map(|line| (line.get("id").cloned(), line["error"]["code"].as_i64()))
            .collect();
        assert_eq!(
            outline,
            [
                (Some(json!(1)), None),
                (Some(json!(2)), Some(-32601)),
                (Some(json!(4)), Some(-32600)),
                (None, Some(-32600)),
                (Some(json!(3)), None),
            ]
        );
        client.send(json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}])).await;
        client.quiet().await;
        for bad in [json!([]), json!(vec![json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}); 101])] {
            let refused = client.ask(bad).await;
            assert_eq!((&refused["error"]["code"], refused.get("id")), (&json!(-32600), None));
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn names_follow_the_client() {
    let named = |name: &str| {
        let mut open = initialize("2025-11-25");
        open["params"]["clientInfo"]["name"] = name.into();
        open
    };
    with(async |client| {
        let opened = client.ask(named("claude-ai")).await;
        assert!(
            opened["result"]["instructions"].as_str().is_some_and(|text| text.starts_with("Call `repo_brief` first"))
        );
        let list = client.ask(request(1, "tools/list", json!({}))).await;
        assert_eq!(list["result"]["tools"][1]["name"], "repo_status");
        client.ask(named("codex")).await;
        let list = client.ask(request(2, "tools/list", json!({}))).await;
        assert_eq!(list["result"]["tools"][1]["name"], "repo.status");
        let mut meta = modern_meta();
        meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "Claude Desktop", "version": "1"});
        let list = client.ask(request(3, "tools/list", json!({"_meta": meta}))).await;
        assert_eq!(list["result"]["tools"][1]["name"], "repo_status");
    })
    .await;
}
