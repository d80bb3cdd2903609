//! The contract's protocol probes (`samples/protocol/probes.json`), row by row, with the corrected answers.
//! Trust: test code.

use super::*;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// `id:ok` or `id:code`, `-` for an id that is left out; several answers are joined by spaces.
fn outline(lines: &[Value]) -> String {
    let one = |line: &Value| {
        assert_eq!(line["jsonrpc"], "2.0");
        let id = line.get("id").map_or("-".to_owned(), Value::to_string);
        let short = if id.len() > 40 { "long".to_owned() } else { id };
        line.get("error").map_or(format!("{short}:ok"), |error| format!("{short}:{}", error["code"]))
    };
    lines.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Each probe in a session of its own: input, then the outline of all that comes back before the end.
async fn probe(input: impl AsRef<[u8]>, expected: &str) {
    let input = input.as_ref();
    with(async |client| {
        client.raw(input).await;
        let lines = client.end().await;
        assert_eq!(outline(&lines), expected, "{}", String::from_utf8_lossy(&input[..input.len().min(400)]));
    })
    .await;
}

fn modern(method: &str, params: &str) -> String {
    let comma = if params.is_empty() { "" } else { "," };
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{{params}{comma}{META}}},\"id\":1}}\n")
}

#[tokio::test(start_paused = true)]
async fn discover() {
    probe(modern("server/discover", ""), "1:ok").await;
    for (meta, expected) in [
        ("", "1:-32602"),
        (r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#, "1:-32602"),
        (
            r#""io.modelcontextprotocol/protocolVersion":"2025-06-18","io.modelcontextprotocol/clientCapabilities":{}"#,
            "1:-32022",
        ),
        (
            r#""io.modelcontextprotocol/protocolVersion":"2024-11-05","io.modelcontextprotocol/clientCapabilities":{}"#,
            "1:-32022",
        ),
        (r#""io.modelcontextprotocol/protocolVersion":5,"io.modelcontextprotocol/clientCapabilities":{}"#, "1:-32602"),
        (
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[]"#,
            "1:-32602",
        ),
    ] {
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"server/discover\",\"params\":{{\"_meta\":{{{meta}}}}},\"id\":1}}\n"
        );
        probe(line, expected).await;
    }
    probe("{\"jsonrpc\":\"2.0\",\"method\":\"server/discover\",\"params\":{},\"id\":1}\n", "1:-32602").await;
}

#[tokio::test(start_paused = true)]
async fn client_info() {
    for info in [r#"{"name":"x"}"#, r#"{"name":" ","version":"1"}"#, "null"] {
        let meta = META.replace("}}", &format!("}},\"io.modelcontextprotocol/clientInfo\":{info}}}"));
        let line = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\",\"params\":{{{meta}}},\"id\":1}}\n");
        probe(line, "1:-32602").await;
    }
}

#[tokio::test(start_paused = true)]
async fn pings() {
    // the contract's reference answers a modern ping; the revision removed it
    probe(modern("ping", ""), "1:-32601").await;
    for params in ["", r#","params":{}"#, r#","params":null"#, r#","params":[1]"#, r#","params":"x""#] {
        probe(format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"{params}}}\n"), "1:ok").await;
    }
}

#[tokio::test(start_paused = true)]
async fn initialize_is_always_answered() {
    for params in [
        r#","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}"#,
        "",
        r#","params":{"protocolVersion":5}"#,
        &format!(",\"params\":{{\"protocolVersion\":\"2026-07-28\",{META}}}"),
    ] {
        probe(format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"{params}}}\n"), "1:ok").await;
    }
    probe(modern("initialize", ""), "1:-32601").await;
}

#[tokio::test(start_paused = true)]
async fn cursors() {
    probe("{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\",\"params\":{\"cursor\":\"zzz\"},\"id\":1}\n", "1:-32602")
        .await;
    probe(modern("tools/list", r#""cursor":5"#), "1:-32602").await;
    probe(modern("tools/list", r#""cursor":"""#), "1:ok").await;
    probe(modern("tools/list", r#""cursor":null"#), "1:ok").await;
    probe("{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\",\"id\":1}\n", "1:ok").await;
}

#[tokio::test(start_paused = true)]
async fn methods_that_do_not_exist() {
    for method in [
        "resources/list",
        "prompts/list",
        "logging/setLevel",
        "completion/complete",
        "roots/list",
        "tools/unknown",
        "",
        "notifications/initialized",
        "subscriptions/listen",
        "tasks/list",
        "resources/subscribe",
    ] {
        probe(modern(method, ""), "1:-32601").await;
        probe(format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\"}}\n"), "1:-32601").await;
    }
    probe(modern("nope", "").replace("2026-07-28", "1999-01-01"), "1:-32022").await;
}

#[tokio::test(start_paused = true)]
async fn notifications_are_silent() {
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"repo.status","arguments":{"repoPath":"/panic"}}}"#,
        r#"{"jsonrpc":"2.0","method":"initialize"}"#,
        r#"{"jsonrpc":"1.0","method":"ping"}"#,
    ] {
        probe(format!("{line}\n{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}}\n"), "2:ok").await;
    }
}

#[tokio::test(start_paused = true)]
async fn ids() {
    let text = |length| format!("\"{}\"", "a".repeat(length));
    for (id, expected) in [
        ("null", "-:-32600"),
        ("1.5", "-:-32600"),
        ("true", "-:-32600"),
        ("{}", "-:-32600"),
        ("[1]", "-:-32600"),
        ("-7", "-7:ok"),
        ("18446744073709551615", "18446744073709551615:ok"),
        ("18446744073709551616", "-:-32600"),
        ("1.0", "-:-32600"),
        ("\"\"", "\"\":ok"),
        (&text(1024), "long:ok"),
        (&text(1025), "-:-32600"),
    ] {
        probe(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n"), expected).await;
    }
}

#[tokio::test(start_paused = true)]
async fn shapes_that_are_no_request() {
    for (line, expected) in [
        (r#"{"jsonrpc":"1.0","id":9,"method":"ping"}"#, "9:-32600"),
        (r#"{"id":9,"method":"ping"}"#, "9:-32600"),
        (r#"{"jsonrpc":"1.0","id":{"a":1},"method":"ping"}"#, "-:-32600"),
        (r#"{"jsonrpc":"2.0","id":9}"#, "9:-32600"),
        (r#"{"jsonrpc":"2.0","id":9,"method":5}"#, "9:-32600"),
        (r#"{"jsonrpc":"2.0","id":9,"result":{}}"#, "-:-32600"),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, "-:-32600"),
        (r#"{"jsonrpc":"2.0","id":9,"method":"ping","foo":1}"#, "9:ok"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "-:-32600"),
        ("[]", "-:-32600"),
        ("42", "-:-32600"),
        ("\"x\"", "-:-32600"),
        ("hello", "-:-32700"),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#, "1:-32700"),
        ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "-:-32700"),
        (r#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#, "-:-32700"),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\0", "1:-32700"),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r", "1:ok"),
        ("\n  \r\n\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "1:ok"),
    ] {
        probe(format!("{line}\n"), expected).await;
    }
    let mut bad_utf8 = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xffng\"}\n".to_vec();
    bad_utf8.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n");
    probe(bad_utf8, "1:-32700 2:ok").await;
    let nested = format!("{}{}", "[".repeat(200), "]".repeat(200));
    probe(format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{nested}}}\n"), "1:-32700").await;
}

#[tokio::test(start_paused = true)]
async fn content_length() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let after = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n";
    for (input, expected) in [
        (format!("Content-Length: 40\r\n\r\n{ping}"), "1:ok"),
        (format!("content-length: 40\nContent-Type: x\n\n{ping}"), "1:ok"),
        (format!("Content-Length: 40\r\nContent-Length: 40\r\n\r\n{ping}"), "-:-32700 1:ok"),
        (format!("Content-Length: x\r\n\r\n{after}"), "-:-32700 2:ok"),
        (format!("Content-Length: 8388609\r\n\r\n{after}"), "-:-32600 2:ok"),
        ("Content-Length: 400\r\n\r\n{}".to_owned(), "-:-32700"),
        (format!("Content-Length: 0\r\n\r\n{after}"), "-:-32700 2:ok"),
    ] {
        probe(input, expected).await;
    }
    probe(ping, "1:ok").await;
}

#[tokio::test(start_paused = true)]
async fn the_bound_of_a_frame() {
    const MAX: usize = bulkhead_contract::limits::MAX_REQUEST_BYTES;
    let (head, tail) = (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":""#, r#""}}"#);
    for (length, expected) in [(MAX, "1:ok"), (MAX + 1, "1:-32600"), (MAX + 2, "1:-32600")] {
        let filling = "a".repeat(length - head.len() - tail.len());
        probe(format!("{head}{filling}{tail}\n"), expected).await;
    }
}

#[tokio::test(start_paused = true)]
async fn tool_calls() {
    probe(modern("tools/call", ""), "1:-32602").await;
    probe(modern("tools/call", r#""name":5"#), "1:-32602").await;
    probe("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":null}\n", "1:-32602").await;
    probe(modern("tools/call", r#""name":"repo.status","arguments":[]"#), "1:-32602").await;
    probe(modern("tools/call", r#""name":"zzz","arguments":{}"#), "1:-32602").await;
    probe(modern("tools/call", r#""name":"repo.status","arguments":{"repoPath":"/outside"}"#), "1:-32011").await;
    probe(modern("tools/call", r#""name":"repo.status","arguments":{"repoPath":"/w"},"task":{"ttl":1}"#), "1:ok").await;
}
