//! Every recorded exchange with a gateway comes out again: what leaves, byte for byte but for ids and times, and what is
//! answered, but for the corrections named in one table. Trust: recordings are data.

mod corrections;
mod reference;
#[path = "../support/mod.rs"]
mod support;

use corrections::{ADDED, CORRECTED, Corrected, PROSE, REFUSED_NOW};
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};
use support::{
    Server, Start,
    fixtures::{self, Fixture},
    gateway::{Answer, Gateway, Seen},
};

/// Recordings, each with the number of its cases.
const FILES: [(&str, usize); 15] = [
    ("preview.merge", 2),
    ("preview.rebase", 2),
    ("preview.discard", 1),
    ("preview.reset", 2),
    ("preview.patch", 2),
    ("preview.plan", 1),
    ("preview.worktree", 3),
    ("preview.commit", 3),
    ("preview.push", 3),
    ("preview.branch", 2),
    ("preview.branchDelete", 1),
    ("preview.submodulePointer", 2),
    ("preview.invalid", 20),
    ("preview.lifecycle", 30),
    ("status_cancel", 18),
];
/// Cases in which the gateway is silent for longer than a call waits.
const SLOW: [&str; 3] = ["getslow6s", "post-slow6", "status-slow6"];

/// A server with a gateway, and the repositories of the recordings.
struct World {
    fixture: Fixture,
    gateway: Gateway,
    faults: Vec<String>,
}

impl World {
    fn new() -> Self {
        Self { fixture: fixtures::build(fixtures::RECORDED), gateway: Gateway::start(), faults: Vec::new() }
    }

    fn server(&self) -> Server {
        let start = Start::new(&self.fixture.place).root(self.fixture.directory());
        let start = start.environment("FLUXGIT_MCP_AGENT_DETECTION_DISABLED", "1");
        start.arguments(&["--gateway", &self.gateway.address()]).spawn()
    }

    /// A recorded text as it reads here.
    fn placed(&self, value: &Value) -> Value {
        let directory = self.fixture.directory().to_str().expect("places have UTF-8 paths");
        replaced(value, &[("$FX", directory)])
    }

    fn replay(&mut self, server: &mut Server, file: &str, case: &Value) {
        let name = case["case"].as_str().expect("a name");
        let arguments = self.placed(&case["mcpRequest"]["params"]["arguments"]);
        let tool = case["mcpRequest"]["params"]["name"].as_str().expect("a tool");
        let recorded: Vec<Value> = case["http"].as_array().cloned().unwrap_or_default();
        let refused = REFUSED_NOW.iter().find(|row| row.0 == file && row.1 == name);
        // ours for theirs, as soon as the first request says it
        let ids = Arc::new(Mutex::new(BTreeMap::new()));
        let mut answers = recorded.iter().map(|exchange| answer(exchange, &ids)).collect::<Vec<_>>();
        if SLOW.contains(&name)
            && let Some(Answer::With(last)) = answers.pop()
        {
            // looked at when it comes, answered when nobody waits any more
            answers.push(Answer::With(Box::new(|seen| Answer::After(Duration::from_secs(6), Box::new(last(seen))))));
        }
        self.gateway.script(answers);
        self.gateway.script(corrections::asked_further(file, name).map(|body| Answer::Say(200, body.into())));
        let mut params = json!({"name": tool, "arguments": arguments, "_meta": support::server::meta()});
        params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = "probe-client".into();
        let id = server.request("tools/call", params);
        let message = server.answer(&id).message;
        let (seen, unused) = (self.gateway.seen(), self.gateway.unused());
        let mut fault = |what: String| self.faults.push(format!("{file} {name}: {what}"));
        if let Some((.., reason)) = refused {
            let named = message["error"]["message"]
                .as_str()
                .or(message["result"]["structuredContent"]["error"]["message"].as_str());
            if !seen.is_empty() || !named.is_some_and(|named| named.contains(reason)) {
                fault(format!("should be refused for {reason}: {message}"));
            }
            return;
        }
        if unused > 0 {
            fault(format!("{unused} recorded requests were not made"));
        }
        let ids: Vec<(String, String)> = ids.lock().expect("no holder panics").clone().into_iter().collect();
        let pairs: Vec<(&str, &str)> = ids.iter().map(|(theirs, ours)| (theirs.as_str(), ours.as_str())).collect();
        for (exchange, seen) in recorded.iter().zip(&seen) {
            let right = replaced(&self.placed(&exchange["request"]), &pairs);
            for what in differs(&right, seen, &self.gateway.address()) {
                self.faults.push(format!("{file} {name}: {what}"));
            }
        }
        let right = replaced(&self.placed(&case["mcpResponse"]), &pairs);
        let mut compare = Compare { file, name, tool, faults: &mut self.faults };
        match (&right["result"]["structuredContent"], &right["error"]) {
            (content @ Value::Object(_), _) => {
                compare.value("/isError", &right["result"]["isError"], &message["result"]["isError"]);
                compare.value("", content, &message["result"]["structuredContent"]);
            }
            (_, error @ Value::Object(_)) => compare.value("/error/code", &error["code"], &message["error"]["code"]),
            _ => {}
        }
    }
}

/// Texts with replacements, at every depth.
fn replaced(value: &Value, pairs: &[(&str, &str)]) -> Value {
    match value {
        Value::String(text) => pairs.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to)).into(),
        Value::Array(items) => items.iter().map(|item| replaced(item, pairs)).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), replaced(value, pairs))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// The recorded answer to a request, with our ids in place of the recorded ones.
fn answer(exchange: &Value, ids: &Arc<Mutex<BTreeMap<String, String>>>) -> Answer {
    let (exchange, ids) = (exchange.clone(), Arc::clone(ids));
    Answer::With(Box::new(move |seen: &Seen| {
        let mut ids = ids.lock().expect("no holder panics");
        if let (Some(theirs), Ok(ours)) =
            (exchange["request"]["body"]["previewId"].as_str(), serde_json::from_slice::<Value>(&seen.body))
        {
            ids.insert(theirs.to_owned(), ours["previewId"].as_str().unwrap_or_default().to_owned());
        }
        let pairs: Vec<(&str, &str)> = ids.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
        let response = replaced(&exchange["response"], &pairs);
        let status = response["status"].as_u64().and_then(|status| u16::try_from(status).ok()).expect("a status");
        let body = match &response["body"] {
            Value::String(text) => text.clone(),
            // recorded in short
            body if body["pad"].is_string() => {
                let mut body = body.clone();
                body["pad"] = "x".repeat(2_900_000).into();
                body.to_string()
            }
            body => body.to_string(),
        };
        Answer::Say(status, body.into_bytes())
    }))
}

/// What is wrong with a request.
fn differs(right: &Value, seen: &Seen, address: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for (what, right, ours) in [
        ("method", &right["method"], &seen.method),
        ("path", &right["path"], &seen.path),
        ("version", &right["version"], &seen.version),
    ] {
        if right != ours {
            faults.push(format!("{what} {ours}, not {right}"));
        }
    }
    let mut names: Vec<_> = right["headers"].as_array().into_iter().flatten().map(|pair| pair[0].clone()).collect();
    let mut ours: Vec<Value> = seen.headers.iter().map(|(name, _)| name.as_str().into()).collect();
    names.sort_by_key(Value::to_string);
    ours.sort_by_key(Value::to_string);
    if names != ours {
        faults.push(format!("headers {ours:?}, not {names:?}"));
    }
    for (name, right) in [("accept", "*/*"), ("host", address)] {
        if seen.header(name) != Some(right) {
            faults.push(format!("{name}: {:?}", seen.header(name)));
        }
    }
    if seen.method == "POST" && seen.header("content-type") != Some("application/json") {
        faults.push("content-type".to_owned());
    }
    let Value::Object(right) = &right["body"] else {
        if !seen.body.is_empty() {
            faults.push("a body where none was".to_owned());
        }
        return faults;
    };
    let ours = seen.json();
    // compact, keys sorted by bytes: what a map without insertion order writes
    if ours.to_string().as_bytes() != seen.body {
        faults.push(format!("not compact or not sorted: {}", String::from_utf8_lossy(&seen.body)));
    }
    let mut right = right.clone();
    if let Some(key) = right.get_mut("idempotencyKey")
        && let Some((before, _)) = key.as_str().unwrap_or_default().split_once(":call:")
        && ours["idempotencyKey"].as_str().is_some_and(|ours| {
            ours.len() == key.as_str().map_or(0, str::len) && ours.starts_with(&format!("{before}:call:"))
        })
    {
        *key = ours["idempotencyKey"].clone();
    }
    if let Some(time) = right.get_mut("requestedAt") {
        let shape =
            |text: &str| text.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte }).collect::<Vec<_>>();
        if shape(time.as_str().unwrap_or_default()) == shape(ours["requestedAt"].as_str().unwrap_or_default()) {
            *time = ours["requestedAt"].clone();
        }
    }
    if Value::Object(right.clone()) != ours {
        faults.push(format!("body {ours}, not {}", Value::Object(right)));
    }
    faults
}

struct Compare<'a> {
    file: &'a str,
    name: &'a str,
    tool: &'a str,
    faults: &'a mut Vec<String>,
}

impl Compare<'_> {
    fn value(&mut self, at: &str, right: &Value, ours: &Value) {
        let is_here = |row: &&Corrected| {
            (row.case == self.name || row.case == "*")
                && row.pointer == at
                && (row.file == self.file || row.file == "*")
        };
        if let Some(row) = CORRECTED.iter().find(is_here) {
            if *ours != (row.right)() {
                self.faults.push(format!(
                    "{} {}: {at} is {ours}, corrected is {} ({})",
                    self.file,
                    self.name,
                    (row.right)(),
                    row.reason
                ));
            }
            return;
        }
        match (right, ours) {
            (Value::Object(right), Value::Object(ours)) => {
                for name in right.keys().chain(ours.keys()).collect::<std::collections::BTreeSet<_>>() {
                    let at = format!("{at}/{name}");
                    match (right.get(name), ours.get(name)) {
                        (Some(right), Some(ours)) => self.value(&at, right, ours),
                        // a correction may take a member away or bring it
                        (Some(right), None) => self.value(&at, right, &Value::Null),
                        (None, Some(_)) if ADDED.contains(&at.as_str()) => {}
                        (None, Some(ours)) => self.value(&at, &Value::Null, ours),
                        (None, None) => {}
                    }
                }
            }
            (Value::String(text), Value::String(ours)) if text.starts_with("<prose ") || PROSE.contains(&at) => {
                if ours.trim().is_empty() {
                    self.faults.push(format!("{} {}: {at} is blank", self.file, self.name));
                }
            }
            (right, ours) if right == ours => {}
            _ => self
                .faults
                .push(format!("{} {} ({}): {at} is {ours}, recorded is {right}", self.file, self.name, self.tool)),
        }
    }
}

fn recorded(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/recorded_gateway/{file}.json"));
    let cases: Value = serde_json::from_slice(&std::fs::read(path).expect("it is in the repository")).expect("JSON");
    cases.as_array().expect("a list of cases").clone()
}

fn replay(wanted: impl Fn(&str) -> bool) {
    let mut world = World::new();
    let mut server = world.server();
    let mut replayed = 0;
    for (file, count) in FILES {
        let cases = recorded(file);
        assert_eq!(cases.len(), count, "no recording of {file} may get lost");
        for case in cases.iter().filter(|case| wanted(case["case"].as_str().expect("a name"))) {
            world.replay(&mut server, file, case);
            replayed += 1;
        }
    }
    eprintln!("{replayed} recorded cases");
    assert!(world.faults.is_empty(), "{} differences:\n{}", world.faults.len(), world.faults.join("\n"));
    assert!(server.finish().status.success());
}

#[test]
fn every_recorded_exchange_comes_out_again() {
    replay(|case| !SLOW.contains(&case));
}

#[test]
fn recorded_silences_come_out_again() {
    replay(|case| SLOW.contains(&case));
}

#[test]
fn a_gateway_that_is_silent_for_longer_than_a_call_waits() {
    let mut world = World::new();
    let mut server = world.server();
    let slow = |body: &str| Answer::After(Duration::from_secs(6), Box::new(Answer::Say(200, body.into())));
    let merge = || {
        let path = world.fixture.at("rich");
        json!({"repoPath": path, "reason": "r", "sourceRef": "a", "targetRef": "b"})
    };
    // the three at once: each waits its own five seconds
    world.gateway.script([slow("{}")]);
    let silent = server.call("operation.preview.merge", merge());
    let payload = silent.payload();
    assert_eq!(
        (&payload["error"]["code"], &payload["error"]["data"]["sent"]),
        (&json!(10003), &json!(true)),
        "{payload}"
    );
    assert!(payload["previewId"].is_string() && payload["idempotencyKey"].is_string(), "to reconcile by: {payload}");
    world.gateway.script([Answer::Desk, slow(r#"{"status":"completed"}"#)]);
    let late = server.call("operation.preview.merge", merge());
    let (accepted, status) = (&late.payload()["accepted"], &late.payload()["status"]);
    assert_eq!((accepted, status), (&json!(true), &json!("pending")));
    assert!(world.faults.is_empty() && world.gateway.seen().len() == 3);
    world.faults.clear();
    assert!(server.finish().status.success());
}

#[test]
fn agents_are_named_as_recorded() {
    let world = World::new();
    let cases = recorded("agent_id");
    assert_eq!(cases.len(), 10, "no recording may get lost");
    let merge = json!({"repoPath": world.fixture.at("rich"), "reason": "r", "sourceRef": "a", "targetRef": "b"});
    let agent = |world: &World| world.gateway.seen().first().map(|seen| seen.json()["agentId"].clone());
    for case in &cases {
        let (name, mut server) = (case["case"].as_str().expect("a name"), world.server());
        let right = match case["http"].as_array().and_then(|http| http.first()) {
            Some(exchange) => exchange["request"]["body"]["agentId"].clone(),
            None => case["agentId"].clone(),
        };
        if let Some(client) = name.strip_prefix("modern ") {
            let mut params =
                json!({"name": "operation.preview.merge", "arguments": merge, "_meta": support::server::meta()});
            params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = client.into();
            let id = server.request("tools/call", params);
            server.answer(&id);
        } else {
            if name != "legacy-uninitialized" {
                let info = json!({"name": " Claude Code (é) v1//x ", "version": "1"});
                let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": info});
                let id = server.request("initialize", params);
                server.answer(&id);
            }
            let params = match name {
                "legacy-cancel" => json!({"name": "operation.cancel", "arguments": {"previewId": "p1"}}),
                _ => json!({"name": "operation.preview.merge", "arguments": merge}),
            };
            let id = server.request("tools/call", params);
            server.answer(&id);
        }
        assert_eq!(agent(&world), Some(right), "{name}");
    }
}
