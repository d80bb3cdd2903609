//! Proposals by the real server to a gateway: what an agent writes arrives as it wrote it and splits nothing, many at once,
//! facts for a gateway that proves itself alone, and who else works there. Trust: test code plays agent and gateway.
#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use support::{
    Place, Repo, Start,
    gateway::{Answer, Gateway},
    process,
};

/// Longest wait for something that takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// What both sides know in these tests.
const TOKEN: &[u8] = b"a token of the tests, 32 bytes at least";

struct World {
    place: Place,
    repo: PathBuf,
    gateway: Gateway,
}

impl World {
    fn new(gateway: Gateway) -> Self {
        let place = Place::new();
        let repo = Repo::honest(&place, "repo").path().to_owned();
        Self { place, repo, gateway }
    }

    fn start(&self) -> Start<'_> {
        Start::new(&self.place).root(self.place.path()).argument("--gateway").argument(self.gateway.address())
    }

    fn with_token(&self) -> Start<'_> {
        let file = self.place.at("token");
        fs::write(&file, TOKEN).expect("the place is ours");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("ours");
        self.start().argument("--gateway-token-file").argument(file)
    }

    fn arguments(&self, further: Value) -> Value {
        let mut arguments = json!({"repoPath": self.repo, "reason": "tests pass"});
        for (name, value) in further.as_object().expect("an object") {
            arguments[name] = value.clone();
        }
        arguments
    }
}

/// Everything that splits lines, heads, quotes or terminals somewhere.
const HOSTILE: &str = "a\r\nhost: evil\r\n\r\nPOST /v1/mcp/x HTTP/1.1\r\n\u{0}\u{1b}[2J\u{7f}\u{85}\u{2028}\u{202e}\"\\/</script>\u{1f600}é";

#[test]
fn what_an_agent_writes_arrives_as_it_is_and_splits_nothing() {
    let world = World::new(Gateway::start());
    let mut server = world.start().spawn();
    let patch = format!("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{}\n+b\r\n", HOSTILE.replace(['\n', '\r'], "~"));
    for (operation, arguments, member) in [
        ("merge", json!({"sourceRef": "é\u{1f600}", "targetRef": "main", "reason": HOSTILE}), "reason"),
        ("commit", json!({"message": HOSTILE, "paths": ["a\nb", "c\r\nd: e"]}), "message"),
        ("patch", json!({ "patchContent": patch }), "patchContent"),
        ("discard", json!({"paths": [HOSTILE.replace('\u{0}', "")]}), "paths"),
    ] {
        let arguments = world.arguments(arguments);
        let answer = server.call(&format!("operation.preview.{operation}"), arguments.clone());
        assert_eq!(answer.payload()["accepted"], true, "{operation}: {}", answer.message);
        let seen = world.gateway.seen();
        assert_eq!(seen.len(), 2, "one request and one look");
        let sent = &seen[0];
        assert_eq!(sent.json()[member], arguments[member], "{operation}");
        // a head of five lines and an empty one, of plain characters
        assert_eq!(
            sent.head.iter().filter(|byte| **byte == b'\n').count(),
            6,
            "{}",
            String::from_utf8_lossy(&sent.head)
        );
        assert!(sent.head.iter().all(|byte| matches!(byte, b'\r' | b'\n' | b' '..=b'~')));
        assert!(!sent.body.contains(&b'\n') && !sent.body.contains(&b'\r'));
        assert!(sent.body.iter().all(|byte| *byte >= b' '), "control characters are escaped");
    }
    // nothing of it stands in the log or in the ledger
    let ended = server.finish();
    let ledger =
        fs::read_to_string(world.place.home().join(".local/state/bulkhead/audit/mcp.jsonl")).expect("a ledger");
    for line in ledger.lines() {
        let entry: Value = serde_json::from_str(line).expect("one line is one entry");
        assert!(!entry.to_string().contains("evil"), "{entry}");
    }
    assert!(ended.status.success());
}

#[test]
fn sixty_four_at_once_do_not_wait_for_one_that_hangs() {
    let world = World::new(Gateway::start());
    world.gateway.always(|seen| match seen.method.as_str() {
        "GET" => Answer::Say(200, br#"{"status":"pending"}"#.to_vec()),
        _ if seen.json()["reason"] == "hangs" => {
            Answer::After(Duration::from_secs(20), Box::new(Answer::Say(202, b"{}".to_vec())))
        }
        _ => Answer::Say(202, json!({"previewId": seen.json()["previewId"]}).to_string().into_bytes()),
    });
    let mut server = world.start().environment("FLUXGIT_MCP_AGENT_DETECTION_DISABLED", "1").spawn();
    let merge = |reason: &str| world.arguments(json!({"sourceRef": "a", "targetRef": "b", "reason": reason}));
    let hanging = server.ask("operation.preview.merge", merge("hangs"));
    let others: Vec<_> = (1..64).map(|n| server.ask("operation.preview.merge", merge(&format!("r{n}")))).collect();
    let mut ids = HashSet::new();
    for id in &others {
        let answer = server.answer(id);
        assert_eq!(answer.payload()["accepted"], true, "{}", answer.message);
        ids.insert(answer.payload()["previewId"].to_string());
    }
    assert_eq!(ids.len(), 63);
    // and a read in between
    assert!(server.read("repo.status", &world.repo).is_ok());
    let late = server.answer(&hanging);
    assert_eq!(late.payload()["error"]["code"], 10003, "{}", late.message);
    assert!(late.payload()["previewId"].is_string(), "to reconcile by");
    assert!(server.finish().status.success());
}

#[test]
fn a_gateway_that_proves_itself_is_told_what_the_repository_knows() {
    let world = World::new(Gateway::authentic(TOKEN));
    let repo = Repo::open(&world.place, world.repo.clone());
    repo.git(&["branch", "older", "HEAD~1"]);
    let mut server = world.with_token().spawn();
    let answer =
        server.call("operation.preview.merge", world.arguments(json!({"sourceRef": "older", "targetRef": "HEAD"})));
    assert_eq!(
        (&answer.payload()["accepted"], &answer.payload()["bridgeAuthenticated"]),
        (&json!(true), &json!(true)),
        "{}",
        answer.message
    );
    let body = world.gateway.seen()[0].json();
    let facts = &body["facts"]["repositories"][0];
    assert_eq!(facts["refs"][0]["oid"], repo.git(&["rev-parse", "older"]));
    assert_eq!(
        (&facts["preflights"][0]["status"], &facts["repoPath"]),
        (&json!("already-up-to-date"), &body["repoPath"])
    );
    assert_eq!(body["facts"]["digest"], answer.payload()["proposalDigest"]);
    let id = answer.payload()["previewId"].as_str().expect("an id").to_owned();
    world.gateway.desk().decide(&id, "completed", None);
    let answer = server.call("operation.status", json!({ "previewId": id }));
    assert!(answer.data()["result"]["message"].as_str().expect("words").starts_with("Nothing was executed"));
    assert!(server.finish().status.success());
}

#[test]
fn whoever_does_not_know_the_token_learns_nothing() {
    for gateway in [Gateway::start(), Gateway::authentic(b"another token of at least thirty-two bytes")] {
        let world = World::new(gateway);
        let mut server = world.with_token().spawn();
        let answer =
            server.call("operation.preview.merge", world.arguments(json!({"sourceRef": "a", "targetRef": "b"})));
        let error = &answer.payload()["error"];
        assert_eq!((&error["code"], &error["data"]["sent"]), (&json!(10003), &json!(false)), "{}", answer.message);
        assert!(error["data"]["reason"].as_str().expect("words").starts_with("Bridge not authentic"), "{error}");
        let seen = world.gateway.seen();
        assert!(seen.iter().all(|seen| seen.method == "GET" && seen.path == "/v1/mcp/hello"), "{seen:?}");
        assert!(world.gateway.desk().cards.is_empty());
    }
}

#[test]
fn a_worker_that_is_killed_in_the_middle_costs_its_call_and_opens_no_second_card() {
    let world = World::new(Gateway::start());
    let mut server = world.start().spawn();
    let key = || world.arguments(json!({"sourceRef": "a", "targetRef": "b", "idempotencyKey": "k"}));
    world.gateway.script([Answer::With(Box::new(|_| Answer::After(Duration::from_secs(3), Box::new(Answer::Desk))))]);
    let id = server.ask("operation.preview.merge", key());
    assert!(process::until(PATIENCE, || !world.gateway.seen().is_empty()), "it arrived");
    for worker in process::of_kind(server.pid(), "gateway") {
        worker.signal(Signal::SIGKILL);
    }
    let answer = server.answer(&id);
    assert_eq!(answer.payload()["error"]["code"], 10003, "{}", answer.message);
    assert_eq!(answer.payload()["error"]["data"]["sent"], true);
    // the desk takes it although nobody hears the answer
    assert!(process::until(PATIENCE, || world.gateway.desk().cards.len() == 1), "one card");
    let again = server.call("operation.preview.merge", key());
    assert_eq!(
        (&again.payload()["accepted"], &again.payload()["previewId"]),
        (&json!(true), &answer.payload()["previewId"]),
        "{}",
        again.message
    );
    assert_eq!(world.gateway.desk().cards.len(), 1);
    assert!(server.finish().status.success());
}

#[test]
fn others_who_work_on_the_same_files_are_named() {
    let world = World::new(Gateway::start());
    let root = world.repo.to_str().expect("places have UTF-8 paths").to_owned();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_secs();
    let time = |ago: u64| {
        let out =
            world.place.command("date").args(["-u", "-d", &format!("@{}", now - ago), "+%Y-%m-%dT%H:%M:%SZ"]).output();
        String::from_utf8_lossy(&out.expect("date is there").stdout).trim().to_owned()
    };
    let lines = [
        json!({"timestamp": time(9), "type": "session_meta", "payload": {"id": "u", "cwd": root}}),
        json!({"timestamp": time(3), "type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch",
            "input": "*** Begin Patch\n*** Update File: src/m.rs\n*** End Patch"}}),
    ];
    let sessions = world.place.home().join(".codex/sessions/2026/11/30");
    fs::create_dir_all(&sessions).expect("the place is ours");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(sessions.join("rollout-1.jsonl"), text).expect("the place is ours");
    let mut server = world.start().spawn();
    for (operation, arguments, overlapping, known) in [
        ("discard", json!({"paths": ["src/"]}), 1, true),
        ("discard", json!({"paths": ["other"]}), 0, true),
        ("merge", json!({"sourceRef": "a", "targetRef": "b"}), 0, false),
    ] {
        let answer = server.call(&format!("operation.preview.{operation}"), world.arguments(arguments));
        let others = &answer.payload()["otherAgents"];
        assert_eq!(others["informational"], true, "{}", answer.message);
        assert_eq!(others["agents"][0]["agent"], "codex", "{others}");
        assert_eq!(
            (&others["overlappingAgentCount"], &others["proposalPathsKnown"]),
            (&json!(overlapping), &json!(known))
        );
    }
    assert!(server.finish().status.success());
}

#[test]
fn where_nobody_was_seen_the_note_says_so() {
    let world = World::new(Gateway::start());
    let mut server = world.start().spawn();
    let merge = world.arguments(json!({"sourceRef": "a", "targetRef": "b"}));
    let answer = server.call("operation.preview.merge", merge);
    let others = &answer.payload()["otherAgents"];
    assert_eq!((&others["agentCount"], &answer.payload()["accepted"]), (&json!(0), &json!(true)));
    assert!(others["note"].as_str().expect("a text").starts_with("No other agent"), "{others}");
    assert!(server.finish().status.success());
}
