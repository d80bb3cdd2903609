//! Two servers on one ledger: one chain, no entry lost, the same key of fingerprints.
//! Trust: test code.

use crate::{
    support::slow,
    world::{World, utf8},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Calls of each server; `BULKHEAD_SLOW=1` makes ten thousand events of them. They wait for nothing but each other's answers.
const CALLS: [usize; 2] = [150, 5_000];

#[test]
fn two_servers_write_one_chain() {
    let calls = CALLS[usize::from(slow())];
    let world = World::new();
    world.init();
    let mut servers = [world.server(&[]), world.server(&[])];
    let arguments = json!({"repoPath": utf8(&world.repo)});
    for _ in 0..calls {
        let asked = servers.each_mut().map(|server| server.ask("repo.status", arguments.clone()));
        for (server, id) in servers.iter_mut().zip(asked) {
            assert!(server.answer(&id).is_ok());
        }
    }
    for server in servers {
        assert!(server.finish().status.success());
    }
    let exported = world.run(&["audit", "export", "--json"]).stdout;
    let text = String::from_utf8(exported).expect("text");
    let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("an entry")).collect();
    let sequences = entries.iter().map(|entry| entry["sequence"].as_u64());
    assert!(sequences.eq((1..=entries.len() as u64).map(Some)), "contiguous through all files");
    let recorded: Vec<_> = entries.iter().filter(|entry| entry["event_type"] == "tool_call").collect();
    assert_eq!(recorded.len(), 2 * calls, "no entry is lost and none stands twice");
    let words = |name: &str| recorded.iter().map(|entry| entry[name].to_string()).collect::<BTreeSet<_>>();
    assert_eq!(words("session_id").len(), 2);
    assert_eq!(words("fingerprintKeyId").len(), 1, "both key fingerprints alike");
    assert_eq!(words("args_fingerprint").len(), 1, "so that the same arguments are recognised");
    let (code, text) = world.verify(&["--expect-sequence", &entries.len().to_string()]);
    assert_eq!(code, Some(0), "{text}");
}
