//! The fuzz target's judgement over stores as programs write them and over mutations of them, on the stable toolchain.
//! Trust: the mutations are what a hostile store might hold.

#[path = "trials/stores.rs"]
mod trial;

use bulkhead_worker_agents::{look::Look, sessions};
use rusqlite::Connection;
use serde_json::json;
use std::{
    fs,
    time::{Duration, Instant},
};
use trial::{NOW, ROOT, trial};

fn lines() -> Vec<Vec<u8>> {
    let at = "2026-11-30T08:38:00Z";
    let uses = json!([{"type": "tool_use", "name": "Edit", "input": {"file_path": format!("{ROOT}/a.rs")}}]);
    let claude = json!({"cwd": ROOT, "timestamp": at, "gitBranch": "main", "message": {"content": uses}});
    let codex = json!({"type": "session_meta", "payload": {"cwd": ROOT}});
    let patch = json!({"timestamp": at, "payload": {"type": "custom_tool_call", "name": "apply_patch", "input": "*** Update File: a\n"}});
    let presence = json!({"schemaVersion": 1, "pid": 7, "client": {"name": "codex", "version": "1"},
        "repos": [{"repoPath": ROOT, "lastTool": "repo.brief", "lastCallMs": NOW}]});
    [
        format!("{claude}\n"),
        format!("{codex}\n{patch}\n"),
        format!("cwd: {ROOT}\nbranch: b\nupdated_at: {at}\n"),
        json!({"directory": ROOT, "time": {"updated": NOW}}).to_string(),
        json!({"workspaceDirectory": format!("file://{ROOT}")}).to_string(),
        json!({"env": {"initial": {"trees": [{"uri": format!("file://{ROOT}")}]}}}).to_string(),
        json!({"folder": format!("file://{ROOT}/%61")}).to_string(),
        json!({"cwd": ROOT, "updatedAtMs": NOW}).to_string(),
        presence.to_string(),
    ]
    .map(String::into_bytes)
    .to_vec()
}

/// Databases with rows, a tree of several pages, a chain of pages in a row, and one whose rows stand in its log.
fn databases() -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let script = "PRAGMA page_size=512; CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);
        CREATE TABLE sessions (id TEXT PRIMARY KEY, cwd TEXT, working_dir TEXT, data BLOB, updated_at INTEGER);
        CREATE TABLE session (directory TEXT, time_updated INTEGER);
        CREATE TABLE threads (data BLOB, updated_at INTEGER, folder_paths TEXT);";
    let fill = |connection: &Connection| {
        for n in 0..120 {
            connection.execute("INSERT INTO t VALUES (?1, ?2)", (n * 3, "x".repeat(n))).expect("a row");
        }
        let row = (ROOT, vec![7_u8; 3_000], NOW - 5);
        connection.execute("INSERT INTO sessions VALUES ('a', ?1, ?1, ?2, ?3)", row).expect("a row");
        connection.execute("INSERT INTO session VALUES (?1, ?2)", (ROOT, NOW - 5)).expect("a row");
        connection
            .execute("INSERT INTO threads VALUES (?1, ?2, ?3)", (vec![7_u8; 9_000], NOW - 5, ROOT))
            .expect("a row");
    };
    let plain = temp.path().join("plain.db");
    let connection = Connection::open(&plain).expect("a database");
    connection.execute_batch(script).expect("tables");
    fill(&connection);
    let logged = temp.path().join("logged.db");
    let logging = Connection::open(&logged).expect("a database");
    logging.execute_batch(&format!("{script} PRAGMA journal_mode=WAL;")).expect("tables");
    fill(&logging);
    let log = fs::read(temp.path().join("logged.db-wal")).expect("it is not merged");
    vec![(fs::read(&plain).expect("there"), None), (fs::read(&logged).expect("there"), Some(log))]
}

#[test]
fn stores_as_programs_write_them_are_read() {
    let look = Look::new(ROOT.as_bytes(), &[], NOW, Instant::now() + Duration::from_secs(3_600));
    let agents: Vec<String> =
        lines().iter().flat_map(|line| sessions::judge_text(line, &look)).map(|finding| finding.agent).collect();
    for agent in
        ["claude-code", "qwen-code", "codex", "copilot-cli", "opencode", "continue", "amp", "vscode", "cursor-agent"]
    {
        assert!(agents.iter().any(|known| known == agent), "{agent}: {agents:?}");
    }
    for (file, log) in databases() {
        let found = sessions::judge_database(&file, log.as_deref(), &look);
        assert_eq!(found.len(), 4, "one of each layout: {found:?}");
        // without its log, a database is as it was before
        assert_eq!(sessions::judge_database(&file, None, &look).is_empty(), log.is_some());
    }
}

#[test]
fn mutated_stores_give_nothing_that_cannot_be_shown_and_end() {
    // a fixed xorshift, so that a failure comes again
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut place = move |length: usize| usize::try_from(next()).unwrap_or(0) % length.max(1);
    let mut seeds = lines();
    for (file, log) in databases() {
        seeds.push(file.clone());
        // the trial takes the second half for the log
        if let Some(log) = log {
            let most = file.len().max(log.len());
            let padded = |bytes: Vec<u8>| [bytes.clone(), vec![0; most - bytes.len()]].concat();
            seeds.push([padded(file), padded(log)].concat());
        }
    }
    for seed in seeds {
        trial(&seed);
        let rounds = if seed.len() > 4_096 { 150 } else { 400 };
        for round in 0..rounds {
            let mut bytes = seed.clone();
            // heads of files and of pages decide most
            let head = if round % 3 == 0 { bytes.len().min(600) } else { bytes.len() };
            for _ in 0..=place(6) {
                let at = place(head.min(bytes.len()));
                match place(4) {
                    0 => bytes[at] = u8::try_from(place(256)).unwrap_or(0),
                    1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][place(5)],
                    2 => bytes.truncate(at.max(1)),
                    _ => bytes.insert(at, b"\n\"\\{"[place(4)]),
                }
            }
            trial(&bytes);
        }
    }
}
