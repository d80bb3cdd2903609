//! Two servers on one ledger: one chain, no entry lost, the same key of fingerprints.
//! Trust: test code.

use crate::world::{World, utf8};
use serde_json::json;
use std::collections::BTreeSet;

/// Calls of each server. They wait for nothing but each other's answers.
const CALLS: usize = 150;

#[test]
fn two_servers_write_one_chain() {
    let world = World::new();
    world.init();
    let mut servers = [world.server(&[]), world.server(&[])];
    let arguments = json!({"repoPath": utf8(&world.repo)});
    for _ in 0..CALLS {
        let asked = servers.each_mut().map(|server| server.ask("repo.status", arguments.clone()));
        for (server, id) in servers.iter_mut().zip(asked) {
            assert!(server.answer(&id).is_ok());
        }
    }
    world.until("tool_call", 2 * CALLS);
    for server in servers {
        assert!(server.finish().status.success());
    }
    let entries = world.entries();
    let calls: Vec<_> = entries.iter().filter(|entry| entry["event_type"] == "tool_call").collect();
    assert_eq!(calls.len(), 2 * CALLS, "no entry is lost and none stands twice");
    let words = |name: &str| calls.iter().map(|entry| entry[name].to_string()).collect::<BTreeSet<_>>();
    assert_eq!(words("session_id").len(), 2);
    assert_eq!(words("fingerprintKeyId").len(), 1, "both key fingerprints alike");
    assert_eq!(words("args_fingerprint").len(), 1, "so that the same arguments are recognised");
    let (code, text) = world.verify(&["--expect-sequence", &entries.len().to_string()]);
    assert_eq!(code, Some(0), "{text}");
}
