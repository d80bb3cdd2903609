//! Much of everything: endless lines, many requests at once, cancellations that race, a client that never reads.
//! Trust: hostile by construction; what is checked is that memory and queues stay bounded and each id is answered once.

use super::{
    Session, line,
    support::{self, process::Process, server::meta},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};

/// Resident memory that the supervisor may ever have, in KiB: a request of 8 MiB, its parsed form, and the answers.
const SUPERVISOR_KIB: u64 = 192 * 1024;

fn call(session: &Session, id: Value) -> Value {
    let arguments = json!({"repoPath": session.repository});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "repo.status", "arguments": arguments, "_meta": meta(),
    }})
}

fn stays_small(session: &Session) {
    let peak = Process(session.server.pid()).peak_kib().expect("it runs");
    assert!(peak < SUPERVISOR_KIB, "the supervisor grew to {peak} KiB");
}

#[test]
fn a_line_without_end() {
    let mut session = Session::new();
    let piece = vec![b'x'; 1 << 20];
    for _ in 0..if support::slow() { 512 } else { 96 } {
        assert!(session.server.write(&piece), "it must read on");
    }
    let back = session.exchange("\n");
    assert_eq!(back.len(), 1, "one error for the whole line: {back:?}");
    assert!(back[0].get("error").is_some() && back[0].get("id").is_none());
    stays_small(&session);
    session.still_reads();
    session.finish();
}

#[test]
fn a_line_that_comes_byte_by_byte() {
    let mut session = Session::new();
    for byte in br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"# {
        assert!(session.server.write(&[*byte]));
    }
    let back = session.exchange("\n");
    assert_eq!(back.len(), 1);
    assert_eq!(back[0]["result"], json!({}));
    session.finish();
}

#[test]
fn a_batch_of_many() {
    let mut session = Session::new();
    let calls: Vec<Value> = (0..20_000).map(|id| call(&session, json!(id))).collect();
    let back = session.exchange(line(&Value::Array(calls)));
    assert_eq!(back.len(), 1, "a batch is refused as a whole");
    assert!(back[0].get("error").is_some());
    // the one revision that has batches bounds them, too
    let mut session = Session::initialized("2025-03-26");
    let pings = |count: usize| -> Value {
        (0..count).map(|id| json!({"jsonrpc": "2.0", "id": format!("b{id}"), "method": "ping"})).collect()
    };
    let back = session.server.write(&line(&pings(100_000)));
    assert!(back, "it must read on");
    session.server.send(&json!({"jsonrpc": "2.0", "id": "after", "method": "ping"}));
    stays_small(&session);
}

#[test]
fn many_calls_at_once_are_each_answered_once() {
    let mut session = Session::new();
    let count = if support::slow() { 20_000 } else { 3_000 };
    let mut bytes = Vec::new();
    for id in 1..=count {
        bytes.extend(line(&call(&session, json!(id))));
    }
    let mut answered: BTreeMap<i64, Value> = BTreeMap::new();
    // written in pieces while answers are read: a client that only writes is another test
    for piece in bytes.chunks(32 << 10) {
        assert!(session.server.write(piece), "it must read on");
        while let Some(message) = session.server.receive(Duration::ZERO) {
            note(&mut answered, message);
        }
    }
    while answered.len() < count {
        let message = session.server.receive(support::server::PATIENCE);
        note(&mut answered, message.expect("every call is answered"));
    }
    let busy = answered.values().filter(|message| message.to_string().contains("10025")).count();
    eprintln!("{count} calls at once: {busy} were told that the server is busy");
    stays_small(&session);
    assert!(support::process::workers(session.server.pid()).len() <= 8, "workers are bounded");
    session.still_reads();
    session.finish();
}

fn note(answered: &mut BTreeMap<i64, Value>, message: Value) {
    let Some(id) = message["id"].as_i64() else { panic!("an answer to nobody: {message}") };
    assert!(answered.insert(id, message).is_none(), "{id} was answered twice");
}

#[test]
fn cancellations_that_race_with_answers() {
    let mut session = Session::new();
    for number in 1..500 {
        // not one that the client uses for a call of its own while this one may still be worked on
        let id = format!("race {number}");
        let request = call(&session, json!(id));
        session.server.send(&request);
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
        session.server.send(&cancel);
    }
    // the client fails the test on a second answer to any of them
    session.until_mark();
    session.still_reads();
    stays_small(&session);
    session.finish();
}

#[test]
fn the_same_id_again_and_again() {
    let mut session = Session::new();
    for _ in 0..20 {
        let back = session.exchange(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned() + "\n");
        assert_eq!(back.len(), 1);
    }
    session.finish();
}

#[test]
fn a_slow_call_does_not_hold_up_a_ping() {
    let mut session = Session::new();
    for id in 0..64 {
        let request = call(&session, json!(format!("call {id}")));
        session.server.send(&request);
    }
    session.server.send(&json!({"jsonrpc": "2.0", "id": "ping", "method": "ping"}));
    let mut before = 0;
    loop {
        let message = session.server.receive(support::server::PATIENCE).expect("a ping is answered");
        if message["id"] == "ping" {
            break;
        }
        before += 1;
    }
    assert!(before < 64, "the ping was answered after every call");
    session.finish();
}
