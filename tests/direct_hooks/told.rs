//! That hooks run is stated wherever isolation is: `doctor`, the first record of the ledger, the handshake.
//! Trust: test code.

use crate::{
    World,
    support::{Start, direct::identity},
};
use serde_json::{Value, json};
use std::fs;

#[test]
fn doctor_the_ledger_and_the_handshake_say_it() {
    for (words, run) in [
        (&["--allow-write", "--hooks", "run"][..], true),
        (&["--allow-write", "--hooks", "off"], false),
        // nothing is written, so nothing runs
        (&["--hooks", "run"], false),
    ] {
        let world = World::new();
        identity(&world.place);
        let start = || Start::new(&world.place).arguments(&["--surface", "direct", "--repo"]).argument(&world.repo);
        let output = start().arguments(words).arguments(&["doctor", "--json"]).output();
        let doctor: Value = serde_json::from_slice(&output.stdout).expect("doctor writes JSON");
        assert_eq!(doctor["hooks"], json!(run), "{words:?}");
        let writer = doctor["processes"].as_array().expect("a list").iter().find(|of| of["process"] == "worker-write");
        let exec = writer.and_then(|of| of["report"]["rows"].as_array()).into_iter().flatten();
        let evidence = exec.filter(|row| row["capability"] == "exec").map(|row| row["evidence"].to_string());
        assert_eq!(evidence.filter(|text| text.contains("for hooks")).count(), usize::from(run), "{words:?}: {doctor}");
        let text = start().arguments(words).arguments(&["doctor"]).output();
        assert_eq!(String::from_utf8_lossy(&text.stdout).contains("writes run hooks"), run, "{words:?}");

        let mut server = start().arguments(words).spawn();
        let client = json!({"name": "bulkhead-tests", "version": "1"});
        let opening = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let id = server.request("initialize", opening);
        let opened = server.answer(&id).message["result"].clone();
        let stated = opened["_meta"]["bulkhead/isolation"]["hooks"].as_bool().unwrap_or_default();
        assert_eq!(stated, run, "{words:?}: {opened}");
        assert_eq!(opened["instructions"].to_string().contains("Hooks of the repository run"), run, "{opened}");
        server.call("repo_snapshot", json!({}));
        assert!(server.finish().status.success());
        let ledger = world.place.home().join(".local/state/bulkhead/audit/mcp.jsonl");
        let ledger = fs::read_to_string(ledger).expect("a call was recorded");
        let first = ledger.lines().next().expect("a record");
        assert_eq!(first.contains("writes run hooks (--hooks run)"), run, "{words:?}: {first}");
    }
}
