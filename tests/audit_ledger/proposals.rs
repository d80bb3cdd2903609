//! What asks for a write is on disk before it leaves, and what became of it stands beside it; unrecorded, nothing leaves.
//! Trust: test code. The gateway's address leads nowhere here: what is recorded does not depend on who listens.

use crate::world::World;
use serde_json::{Value, json};
use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt as _};

/// An address of this machine at which nobody listens.
fn nowhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

fn arguments(world: &World) -> Value {
    json!({"repoPath": world.repo, "reason": "tests pass", "targetRef": "HEAD", "mode": "hard"})
}

#[test]
fn a_proposal_has_an_intent_and_an_outcome() {
    let world = World::new();
    world.init();
    let mut server = world.server(&["--gateway", &nowhere()]);
    let answer = server.call("operation.preview.reset", arguments(&world));
    let payload = answer.payload();
    assert_eq!(payload["error"]["code"], 10003, "{payload}");
    let digest = payload["proposalDigest"].as_str().expect("it was made").to_owned();
    let checkpoint = &payload["auditCheckpoint"];
    server.call("operation.cancel", json!({"previewId": "p"}));
    server.call("operation.preview.reset", json!({"repoPath": world.repo, "reason": " ", "targetRef": "-x"}));
    let proposals = world.until("write_proposal", 2);
    let phases: Vec<_> = proposals.iter().map(|entry| entry["phase"].as_str()).collect();
    assert_eq!(phases, [Some("intent"), Some("outcome")]);
    for entry in &proposals {
        assert_eq!((&entry["risk"], &entry["approval"]), (&json!("high"), &json!("ui_handshake")));
        assert_eq!((&entry["readOnly"], &entry["tool"]), (&json!(false), &json!("operation.preview.reset")));
        assert_eq!(entry["proposalDigest"], format!("sha256:{digest}"));
        assert!(entry["summary"].as_str().expect("words").contains(payload["proposalShort"].as_str().expect("short")));
    }
    assert_eq!((&proposals[0]["result"], &proposals[1]["result"]), (&json!("success"), &json!("error")));
    // the statement in the answer is of a ledger that holds the intent
    assert_eq!(checkpoint["entryHash"], proposals[0]["entryHash"], "{checkpoint}");
    let cancels = world.until("proposal_cancel", 2);
    assert_eq!((&cancels[0]["risk"], &cancels[0]["approval"]), (&json!("none"), &json!("not_required")));
    let blocked = world.until("write_block", 1);
    assert_eq!((&blocked[0]["result"], &blocked[0]["proposalDigest"]), (&json!("blocked"), &Value::Null));
    assert!(server.finish().status.success());
    world.expect_sound();
}

#[test]
fn what_cannot_be_recorded_is_not_proposed_and_reads_go_on() {
    let world = World::new();
    world.read(&mut world.server(&[]));
    let ledger = world.ledger();
    let directory = ledger.parent().expect("it lies in a directory");
    // open to others: nothing is recorded there
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).expect("ours");
    let mut server = world.server(&["--gateway", &nowhere()]);
    let answer = server.call("operation.preview.reset", arguments(&world));
    let error = &answer.payload()["error"];
    assert_eq!((&error["code"], &error["data"]["flag"]), (&json!(10026), &json!("--audit off")), "{error}");
    assert!(answer.payload().get("proposalDigest").is_none());
    assert_eq!(server.call("operation.cancel", json!({"previewId": "p"})).payload()["error"]["code"], 10026);
    world.read(&mut server);
    drop(server);
    let mut server = world.server(&["--gateway", &nowhere(), "--audit", "off"]);
    let answer = server.call("operation.preview.reset", arguments(&world));
    assert_eq!(answer.payload()["error"]["code"], 10003, "nobody wants a record");
    assert!(answer.payload().get("auditCheckpoint").is_none());
}
