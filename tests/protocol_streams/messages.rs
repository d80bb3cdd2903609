//! Single messages: each odd one gets one answer, with its id wherever that can be read, and the session goes on.
//! Trust: hostile by construction.

use super::{Session, line, support::server::meta};
use serde_json::{Value, json};

/// What must come back for one message.
#[derive(Debug, Clone)]
enum Back {
    /// A result under this id.
    Result(Value),
    /// An error with this code under this id; under none when it is null.
    Error(Value, i64),
    /// An error of any code, under any id or none.
    Refusal,
    /// Nothing.
    Silence,
    /// Nothing, or an error: both are right.
    Either,
}

use Back::{Either, Error, Refusal, Result, Silence};

fn check(session: &mut Session, what: &str, bytes: &[u8], expected: &Back) -> Option<String> {
    let back = session.exchange(bytes);
    let is_error = |message: &Value| message.get("error").is_some();
    let fine = match (expected, back.as_slice()) {
        (Silence | Either, []) => true,
        (Result(id), [one]) => one["id"] == *id && one.get("result").is_some(),
        (Error(id, code), [one]) => one["error"]["code"] == *code && one["id"] == *id,
        (Refusal | Either, [one]) => is_error(one),
        _ => false,
    };
    (!fine).then(|| format!("{what}: {expected:?} expected, not {back:?}"))
}

fn check_all(session: &mut Session, table: &[(&str, Vec<u8>, Back)]) {
    let faults: Vec<String> =
        table.iter().filter_map(|(what, bytes, expected)| check(session, what, bytes, expected)).collect();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), table.len(), faults.join("\n"));
}

fn text(line: &str) -> Vec<u8> {
    format!("{line}\n").into_bytes()
}

fn ping(id: &str) -> Vec<u8> {
    text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#))
}

fn with_meta(id: i64, method: &str, meta: Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta}}))
}

fn changed(key: &str, value: Option<Value>) -> Value {
    let mut meta = meta();
    let members = meta.as_object_mut().expect("an object");
    match value {
        Some(value) => drop(members.insert(format!("io.modelcontextprotocol/{key}"), value)),
        None => drop(members.remove(&format!("io.modelcontextprotocol/{key}"))),
    }
    meta
}

#[test]
fn ids_and_shapes() {
    let (at_limit, over) = ("a".repeat(1024), "a".repeat(1025));
    let none = Value::Null;
    let table = [
        ("an id of zero", ping("0"), Result(json!(0))),
        ("a negative id", ping("-7"), Result(json!(-7))),
        ("the largest id", ping("18446744073709551615"), Result(json!(u64::MAX))),
        ("an empty id", ping("\"\""), Result(json!(""))),
        ("an id of 1024 bytes", ping(&format!("{at_limit:?}")), Result(json!(at_limit))),
        ("an id of 1025 bytes", ping(&format!("{over:?}")), Error(none.clone(), -32600)),
        ("an id that is null", ping("null"), Error(none.clone(), -32600)),
        ("a fractional id", ping("1.5"), Error(none.clone(), -32600)),
        ("an id of 1.0", ping("1.0"), Error(none.clone(), -32600)),
        ("an id that is true", ping("true"), Error(none.clone(), -32600)),
        ("an id that is a list", ping("[1]"), Error(none.clone(), -32600)),
        ("an id that is an object", ping("{}"), Error(none.clone(), -32600)),
        ("an id beyond 64 bits", ping("1180591620717411303424"), Error(none.clone(), -32600)),
        ("another jsonrpc", text(r#"{"jsonrpc":"1.0","id":9,"method":"ping"}"#), Error(json!(9), -32600)),
        ("no jsonrpc", text(r#"{"id":9,"method":"ping"}"#), Error(json!(9), -32600)),
        ("another jsonrpc, no id", text(r#"{"jsonrpc":"1.0","method":"ping"}"#), Silence),
        ("no method", text(r#"{"jsonrpc":"2.0","id":9}"#), Error(json!(9), -32600)),
        ("a method that is a number", text(r#"{"jsonrpc":"2.0","id":9,"method":5}"#), Error(json!(9), -32600)),
        ("an answer from the client", text(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#), Either),
        ("members nobody knows", text(r#"{"jsonrpc":"2.0","id":9,"method":"ping","foo":1}"#), Result(json!(9))),
        ("a batch", text(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#), Error(none.clone(), -32600)),
        ("an empty batch", text("[]"), Error(none.clone(), -32600)),
        ("a number", text("42"), Error(none.clone(), -32600)),
        ("a string", text("\"x\""), Error(none.clone(), -32600)),
        ("no JSON", text("hello"), Error(none.clone(), -32700)),
        ("JSON and more", text(r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#), Error(json!(1), -32700)),
        ("a NUL byte", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\0\n".to_vec(), Error(json!(1), -32700)),
        ("NUL bytes alone", b"\0\x01\x02\n".to_vec(), Error(none.clone(), -32700)),
        (
            "a byte order mark",
            text("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
            Error(none.clone(), -32700),
        ),
        ("half a surrogate", text(r#"{"jsonrpc":"2.0","id":"\ud800","method":"ping"}"#), Error(none.clone(), -32700)),
        ("bytes that are not UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}\n".to_vec(), Refusal),
        (
            "the same key twice",
            text(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping","method":"tools/list"}"#),
            Refusal,
        ),
        (
            "the same key twice, inside",
            text(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}"#),
            Refusal,
        ),
        ("empty lines", b"\n  \r\n\n".to_vec(), Silence),
        (
            "a line that ends in CR LF",
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n".to_vec(),
            Result(json!(1)),
        ),
        ("a request in two lines", b"{\"jsonrpc\":\"2.0\",\"id\":1,\r\n".to_vec(), Refusal),
        ("its second line", b"\"method\":\"ping\"}\n".to_vec(), Refusal),
    ];
    let mut session = Session::new();
    check_all(&mut session, &table);
    session.still_reads();
    session.finish();
}

#[test]
fn nesting_and_size() {
    let nested = |levels: usize| {
        // the message itself and `params` are two levels
        let (open, close) = ("[".repeat(levels - 1), "]".repeat(levels - 1));
        text(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{open}{close}}}"#))
    };
    let sized = |bytes: usize| {
        let (head, tail) = (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":""#, "\"}}");
        let mut line = head.as_bytes().to_vec();
        line.resize(bytes - tail.len(), b'a');
        line.extend_from_slice(tail.as_bytes());
        line.push(b'\n');
        line
    };
    let most = 8 << 20;
    let table = [
        ("127 levels", nested(127), Result(json!(1))),
        ("128 levels", nested(128), Refusal),
        ("200 levels", nested(200), Refusal),
        ("200 000 levels", nested(200_000), Refusal),
        ("a line of 8 MiB", sized(most), Result(json!(1))),
        ("one byte more", sized(most + 1), Refusal),
        ("64 MiB", sized(64 << 20), Refusal),
    ];
    let mut session = Session::new();
    check_all(&mut session, &table);
    session.still_reads();
    session.finish();
}

#[test]
fn methods_and_eras() {
    let parameters = |json: &str| text(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{json}}}"#));
    let mut table = vec![
        ("discover", with_meta(1, "server/discover", meta()), Result(json!(1))),
        ("discover without _meta", with_meta(1, "server/discover", json!({})), Error(json!(1), -32602)),
        (
            "discover without capabilities",
            with_meta(1, "server/discover", changed("clientCapabilities", None)),
            Error(json!(1), -32602),
        ),
        (
            "capabilities that are a list",
            with_meta(1, "server/discover", changed("clientCapabilities", Some(json!([])))),
            Error(json!(1), -32602),
        ),
        (
            "a version that is a number",
            with_meta(1, "server/discover", changed("protocolVersion", Some(json!(5)))),
            Error(json!(1), -32602),
        ),
        (
            "an older version in _meta",
            with_meta(1, "server/discover", changed("protocolVersion", Some(json!("2025-06-18")))),
            Error(json!(1), -32022),
        ),
        (
            "an unknown version and method",
            with_meta(1, "nope", changed("protocolVersion", Some(json!("1999-01-01")))),
            Error(json!(1), -32022),
        ),
        ("ping of the stateless era", with_meta(1, "ping", meta()), Error(json!(1), -32601)),
        ("ping without params", ping("1"), Result(json!(1))),
        ("ping with null", parameters("null"), Result(json!(1))),
        ("ping with a list", parameters("[1]"), Result(json!(1))),
        ("ping with a string", parameters("\"x\""), Result(json!(1))),
        (
            "a list before initialize",
            line(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})),
            Result(json!(1)),
        ),
        (
            "an unknown cursor",
            line(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "zzz"}})),
            Error(json!(1), -32602),
        ),
        (
            "a cursor that is a number",
            line(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": 5}})),
            Error(json!(1), -32602),
        ),
        (
            "a call without params",
            line(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})),
            Error(json!(1), -32602),
        ),
        (
            "a call with null",
            line(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": null})),
            Error(json!(1), -32602),
        ),
        (
            "a call without a name",
            line(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"_meta": meta()}})),
            Error(json!(1), -32602),
        ),
        (
            "a name that is a number",
            line(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5, "_meta": meta()}})),
            Error(json!(1), -32602),
        ),
        (
            "arguments that are a list",
            line(
                &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "repo.status", "arguments": [], "_meta": meta()}}),
            ),
            Error(json!(1), -32602),
        ),
        (
            "an unknown tool",
            line(
                &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "zzz", "arguments": {}, "_meta": meta()}}),
            ),
            Error(json!(1), -32602),
        ),
        (
            "a call without an id",
            line(
                &json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "repo.status", "arguments": {}}}),
            ),
            Silence,
        ),
        ("an unknown notification", line(&json!({"jsonrpc": "2.0", "method": "notifications/nope"})), Silence),
        ("initialized", line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}})), Silence),
    ];
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
    ] {
        table.push(("a method that is not there", with_meta(1, method, meta()), Error(json!(1), -32601)));
    }
    for id in [json!(1), json!("x"), Value::Null, json!(1u64 << 62), json!([1])] {
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        table.push(("a cancellation of nothing", line(&cancel), Silence));
    }
    let mut session = Session::new();
    check_all(&mut session, &table);
    session.still_reads();
    session.finish();
}

#[test]
fn errors_say_what_they_are_about() {
    let mut session = Session::new();
    let version = session.exchange(with_meta(1, "tools/list", changed("protocolVersion", Some(json!("2027-01-01")))));
    let data = &version[0]["error"]["data"];
    assert_eq!(data["requested"], "2027-01-01");
    let supported: Vec<&str> = data["supported"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(supported, ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);
    let method = session.exchange(with_meta(2, "resources/list", meta()));
    assert_eq!(method[0]["error"]["data"]["method"], "resources/list");
    let outcome = session.server.call("repo.stauts", json!({}));
    let message = outcome.error().expect("there is no such tool")["message"].as_str().expect("a sentence").to_owned();
    assert!(message.contains("repo.stauts"), "the name stands in the message: {message}");
    let outcome = session.server.call("repo.status", json!({"repoPath": 5, "limit": "many", "colour": true}));
    let shown = outcome.message.to_string();
    for violation in ["repoPath", "limit", "colour"] {
        assert!(shown.contains(violation), "every violation is named, {violation} too: {shown}");
    }
    session.finish();
}
