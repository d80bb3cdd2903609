//! What is recorded of a call, what is kept out of it, and what the commands show.
//! Trust: test code.

use crate::{
    support::{Place, Repo, Start, process, server::meta},
    world::{World, said, utf8},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _};

#[test]
fn a_read_leaves_a_signed_entry_and_the_verification_accepts_it() {
    let world = World::new();
    world.init();
    let mut server = world.server(&[]);
    world.read(&mut server);
    let call = world.until("tool_call", 1).remove(0);
    assert_eq!(
        (&call["tool"], &call["result"], &call["risk"]),
        (&json!("repo.status"), &json!("success"), &json!("none"))
    );
    assert!(call["signature"].is_string());
    let start = &world.entries()[0];
    assert_eq!(start["event_type"], "server_start");
    assert!(start["summary"].as_str().is_some_and(|text| text.contains("isolation required")), "{start}");
    #[cfg(target_os = "linux")]
    assert_eq!(process::of_kind(server.pid(), "audit").len(), 1, "a process of its own wrote it");
    assert!(server.finish().status.success());
    let (code, text) = world.verify(&["--expect-sequence", "2"]);
    assert_eq!(code, Some(0), "{text}");
    for line in ["entries:   2", "signed:    2", "unsigned:  0", "sequence:  1..2", "head_sequence: 2"] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn refused_and_failed_calls_are_recorded_and_nothing_that_a_caller_wrote_is() {
    let world = World::new();
    let canary = "CANARY-of-a-caller";
    let mut server = world.server(&[]);
    let outside = format!("/nonexistent/{canary}");
    let _ = server.call("repo.status", json!({"repoPath": outside}));
    let _ = server.call("repo.status", json!({"repoPath": utf8(&world.repo), "limit": canary}));
    let _ = server.call(canary, json!({"repoPath": utf8(&world.repo), "repoId": canary}));
    let _ = server.call("repo.history", json!({"repoPath": utf8(&world.repo), "ref": canary}));
    world.read(&mut server);
    world.until("tool_call", 1);
    assert!(server.finish().status.success());
    let entries = world.entries();
    let shown = |entry: &Value| (entry["event_type"].clone(), entry["tool"].clone(), entry["result"].clone());
    let blocked = entries.iter().filter(|entry| entry["result"] == "blocked").count();
    assert!(blocked >= 3, "{:?}", entries.iter().map(shown).collect::<Vec<_>>());
    assert!(entries.iter().any(|entry| entry["tool"] == "unknown" && entry["approval"] == "denied"));
    let text = fs::read_to_string(world.ledger()).expect("the ledger");
    assert!(!text.contains(canary) && !text.contains(utf8(&world.repo)), "{text}");
    assert!(text.contains("hmac-sha256:") && !text.contains("\"sha256:repo"));
    for entry in entries.iter().filter(|entry| !entry["args_fingerprint"].is_null()) {
        assert!(entry["args_fingerprint"].as_str().is_some_and(|text| text.starts_with("hmac-sha256:")), "{entry}");
        assert!(entry["fingerprintKeyId"].is_string(), "{entry}");
    }
    world.expect_sound();
}

#[test]
fn in_compat_an_entry_is_the_contracts_to_the_member() {
    let world = World::new();
    let mut server = world.server(&["--audit-compat"]);
    world.read(&mut server);
    let call = world.until("tool_call", 1).remove(0);
    assert!(server.finish().status.success());
    let mut names: Vec<&str> = call.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    let contract = [
        "approval",
        "args_fingerprint",
        "auditChainVersion",
        "auditSchemaVersion",
        "duration_ms",
        "entryHash",
        "event_type",
        "id",
        "previousHash",
        "readOnly",
        "repo_scope",
        "result",
        "risk",
        "segmentId",
        "sequence",
        "session_id",
        "sidecarReadOnly",
        "summary",
        "timestamp",
        "tool",
    ];
    assert_eq!(names, contract);
    let arguments = json!({"repoPath": utf8(&world.repo)});
    assert_eq!(call["args_fingerprint"], bulkhead_contract::canonical::label(&arguments));
    let path = bulkhead_contract::canonical::label(&arguments["repoPath"]);
    assert_eq!(call["repo_scope"], format!("repoPath:{path}"));
    assert!(!world.beside(".fingerprint-key").exists(), "no key is made where none is used");
    world.expect_sound();
}

#[test]
fn off_records_nothing_and_the_contracts_switch_means_it() {
    let world = World::new();
    let mut server = world.server(&["--audit", "off"]);
    world.read(&mut server);
    assert!(server.finish().status.success());
    let mut server = world.start().environment("FLUXGIT_MCP_AUDIT_DISABLED", "").spawn();
    world.read(&mut server);
    assert!(server.finish().status.success());
    assert!(!world.place.home().join(".local/state/bulkhead/audit").exists(), "nothing is made");
}

#[test]
fn one_process_records_too() {
    let world = World::new();
    world.init();
    let mut server = world.server(&["--isolation", "off"]);
    world.read(&mut server);
    world.until("tool_call", 1);
    assert!(server.finish().status.success());
    assert!(world.entries()[0]["summary"].as_str().is_some_and(|text| text.contains("isolation off")));
    world.expect_sound();
}

#[test]
fn a_call_from_the_command_line_is_recorded_before_it_returns() {
    let world = World::new();
    for count in 1..=2 {
        let output = world.run(&["call", "repo.status", &format!("repoPath={}", utf8(&world.repo))]);
        assert!(output.status.success(), "{}", said(&output));
        let calls = world.entries().into_iter().filter(|entry| entry["event_type"] == "tool_call").count();
        assert_eq!(calls, count);
    }
    world.expect_sound();
}

#[test]
fn without_a_run_directory_reads_are_answered_and_say_that_they_are_not_recorded() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let start = || Start::new(&place).root(place.path()).environment("HOME", "");
    let mut server = start().spawn();
    let outcome = server.read("repo.status", repo.path());
    assert!(outcome.is_ok(), "{}", outcome.message);
    let why = outcome.message["result"]["_meta"]["bulkhead/unrecorded"].as_str().unwrap_or_default().to_owned();
    assert!(why.contains("run directory"), "{}", outcome.message);
    // an older client is told as well
    let arguments = json!({"repoPath": utf8(repo.path())});
    let id = server.request("tools/call", json!({"name": "repo.status", "arguments": arguments}));
    let answer = server.answer(&id).message;
    assert!(answer["result"]["_meta"]["bulkhead/unrecorded"].is_string(), "{answer}");
    assert!(server.finish().status.success());

    let mut server = start().arguments(&["--audit", "required"]).spawn();
    let refused = server.read("repo.status", repo.path());
    assert_eq!(refused.code(), Some(10026), "{}", refused.message);
    let listed = server.request("tools/list", json!({"_meta": meta()}));
    assert!(server.answer(&listed).message.get("result").is_some());
    assert!(server.finish().status.success());
}

#[test]
fn tail_export_and_head_show_what_stands_there() {
    let world = World::new();
    world.init();
    let mut server = world.server(&[]);
    world.read(&mut server);
    let _ = server.call("no.such.tool", json!({}));
    world.until("tool_call", 1);
    world.until("write_block", 1);
    assert!(server.finish().status.success());
    let text = |arguments: &[&str]| {
        let output = world.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    let tail = text(&["audit", "tail", "-n", "2"]);
    assert_eq!(tail.lines().count(), 2, "{tail}");
    assert!(tail.contains("repo.status") && tail.contains("answered"), "{tail}");
    let csv = text(&["audit", "export", "--csv", "--tool", "repo.status"]);
    assert_eq!(csv.lines().count(), 2, "a header and one call: {csv}");
    let lines = text(&["audit", "export", "--json", "--result", "blocked"]);
    let entry: Value = serde_json::from_str(lines.trim()).expect("one object");
    assert_eq!(entry["event_type"], "write_block");
    assert_eq!(text(&["audit", "export", "--json", "--since", "2"]).lines().count(), 1);

    let head = text(&["audit", "head"]);
    let stated: Value = serde_json::from_str(&head).expect("an object");
    assert_eq!(stated["sequence"], 3);
    assert!(stated["signature"].is_string() && head.len() < 500, "{head}");
    let kept = world.place.at("head.json");
    fs::write(&kept, &head).expect("the place is ours");
    let since = ["--since", utf8(&kept)];
    let (code, said) = world.verify(&since);
    assert_eq!(code, Some(0), "{said}");
    // the last entry is gone: nothing but the head can tell
    let whole = fs::read_to_string(world.ledger()).expect("the ledger");
    let shorter: String = whole.lines().take(2).map(|line| format!("{line}\n")).collect();
    fs::write(world.ledger(), shorter).expect("ours");
    assert_eq!(world.verify(&[]).0, Some(0));
    let (code, said) = world.verify(&since);
    assert!(code == Some(3) && said.contains("cut"), "{code:?} {said}");
    let (code, said) = world.verify(&["--expect-sequence", "3"]);
    assert!(code == Some(3) && said.contains("cut"), "{code:?} {said}");
    fs::remove_file(world.ledger()).expect("ours");
    let (code, said) = world.verify(&[]);
    assert!(code == Some(3) && said.contains("missing"), "{code:?} {said}");
    let usage = world.run(&["verify-audit", utf8(&world.ledger()), "--pubkey", utf8(&kept)]);
    assert_eq!(usage.status.code(), Some(2), "a key that is none");
}

#[test]
fn doctor_shows_the_process_that_records_and_a_head_to_keep_and_makes_no_ledger() {
    let world = World::new();
    let doctor = || {
        let output = world.start().cwd(&world.repo).arguments(&["doctor", "--json"]).output();
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)))
    };
    let report = doctor();
    assert_eq!((&report["audit"]["mode"], &report["audit"]["facts"]["head"]), (&json!("best-effort"), &Value::Null));
    assert_eq!(report["audit"]["facts"]["problem"], Value::Null, "{report}");
    assert!(!world.place.home().join(".local").exists(), "looking makes nothing");
    let processes = report["processes"].as_array().expect("a list");
    let records = processes.iter().find(|of| of["process"] == "worker-audit").expect("it is looked at");
    #[cfg(target_os = "linux")]
    for of in [&records["report"]["rows"], &records["probe"]["rows"]] {
        let rows = of.as_array().expect("rows");
        assert!(!rows.is_empty() && rows.iter().all(|row| row["sufficient"] == true), "{rows:?}");
    }
    world.init();
    let mut server = world.server(&[]);
    world.read(&mut server);
    world.until("tool_call", 1);
    assert!(server.finish().status.success());
    let facts = doctor()["audit"]["facts"].clone();
    let head: Value = serde_json::from_str(facts["head"].as_str().expect("a head")).expect("an object");
    assert_eq!((&head["sequence"], &head["signatureKeyId"]), (&json!(2), &facts["key"]));
    let kept = world.place.at("head.json");
    fs::write(&kept, head.to_string()).expect("ours");
    let (code, said) = world.verify(&["--since", utf8(&kept)]);
    assert_eq!(code, Some(0), "{said}");
}

/// What keeps calls from being recorded is said before the first call, too, and still nothing is made.
#[test]
fn doctor_names_a_key_or_a_directory_that_the_first_call_would_fail_at() {
    let world = World::new();
    let key = world.place.at("key.pem");
    fs::write(&key, "no key").expect("ours");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("ours");
    let open = world.place.at("open");
    fs::create_dir(&open).expect("ours");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).expect("ours");
    for (flag, value, word) in [
        ("--audit-sign-key", key.clone(), "not a PEM"),
        ("--audit-ledger", open.join("mcp.jsonl"), "755"),
        ("--audit-ledger", key.join("below/mcp.jsonl"), "is no directory"),
    ] {
        for (mode, status) in [("required", 2), ("best-effort", 1), ("off", 0)] {
            let arguments = ["doctor", "--json", "--audit", mode, flag, utf8(&value)];
            let output = world.start().cwd(&world.repo).arguments(&arguments).output();
            let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            assert_eq!(output.status.code(), Some(status), "{flag} {mode}: {}", report["reasons"]);
            let problem = report["audit"]["facts"]["problem"].as_str().unwrap_or_default();
            assert_eq!(problem.contains(word), mode != "off", "{flag} {mode}: {problem}");
        }
    }
    assert!(fs::read_dir(&open).expect("ours").next().is_none() && !world.place.home().join(".local").exists());
}

#[test]
fn empty_names_of_files_are_mistakes() {
    let world = World::new();
    for variable in ["BULKHEAD_AUDIT_LEDGER", "FLUXGIT_MCP_AUDIT_LOG", "FLUXGIT_MCP_AUDIT_SIGN_KEY"] {
        let output = world.start().environment(variable, "").output();
        assert_eq!(output.status.code(), Some(2), "{variable}");
        assert!(said(&output).contains(variable), "{}", said(&output));
    }
}
