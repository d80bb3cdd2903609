//! The recorded cases: the same stores and processes are built anew, and the same rows must come out.
//! Trust: the recording is data; every difference has its reason here.

use crate::{
    stores::{self, Gemini},
    support::unmet::unmet,
    world::{World, agents},
};
use serde_json::{Value, json};
use std::time::Duration;

const NOW: Duration = Duration::ZERO;
/// Times of a case may differ by this much from the recorded age: the server starts in between.
const SLOW_MS: i64 = 30_000;

/// The time of the newest activity, compared in kind only: files are written in the moment of the test.
fn plain(row: &Value, now_ms: i64) -> Value {
    let mut row = row.clone();
    let object = row.as_object_mut().expect("rows are objects");
    if let Some(at) = object.get("lastActivityMs").and_then(Value::as_i64) {
        object.insert("lastActivityAgeMs".to_owned(), json!(now_ms - at));
    }
    let age = object.remove("lastActivityAgeMs").and_then(|age| age.as_i64());
    object.insert("lastActivityMs".to_owned(), json!(age.map(|age| if age < 60_000 { "now" } else { "before" })));
    let pid = object.get("pid").is_some_and(|pid| !pid.is_null());
    object.insert("pid".to_owned(), json!(pid));
    row
}

/// What is right where the recording is not, and why.
fn corrected(case: &str, rows: &mut [Value]) {
    // an editor window that writes its state is open; nobody works in it for that
    if case.starts_with("ide ") && case != "ide chatSessions" {
        rows[0]["state"] = json!("recent");
    }
}

/// Builds the case; the client that asks.
fn build(case: &str, world: &mut World) -> Option<&'static str> {
    let second = Duration::from_secs(1);
    if let Some(name) = case.strip_prefix("process ") {
        // names that other programs bear too are believed where the agent keeps something
        match name {
            "amp" => _ = world.write("home/.local/share/amp/threads/old.json", "{}", second * 9_000),
            "goose" => _ = world.write("home/.config/goose/config.yaml", "", second * 9_000),
            "crush" => _ = world.write("home/.local/share/crush/crush.json", "", second * 9_000),
            "kilo" | "kilocode" => _ = world.write("home/.local/share/kilo/x", "", second * 9_000),
            _ => {}
        }
        let repo = world.repo.clone();
        match name {
            "in subdir" => _ = world.process("claude", &[], &world.place.directory("repo/sub")),
            "with recent child (busy)" => world.busy("claude"),
            name => _ = world.process(name, &[], &repo),
        }
        return None;
    }
    if let Some(line) = case.strip_prefix("cmdline ") {
        let words: Vec<&str> = line.split(' ').collect();
        let repo = world.repo.clone();
        world.process(words[0], &words, &repo);
        return None;
    }
    if let Some(client) = case.strip_prefix("mcp presence client=") {
        let name = Some(client).filter(|client| *client != "None");
        stores::presence(world, std::process::id(), name, second, 1);
        return None;
    }
    let own = std::process::id();
    match case {
        "session claude 121s" => stores::claude(world, "home/.claude/projects", second * 121),
        "session claude 1s" => stores::claude(world, "home/.claude/projects", second),
        "session claude 119s" => stores::claude(world, "home/.claude/projects", second * 110),
        "session claude 16min" => stores::claude(world, "home/.claude/projects", second * 960),
        "session claude CLAUDE_CONFIG_DIR" => {
            world.variable("CLAUDE_CONFIG_DIR", world.place.at("elsewhere"));
            stores::claude(world, "elsewhere/projects", second);
        }
        "session codex" => stores::codex(world, "home/.codex", false),
        "session codex task_complete" => stores::codex(world, "home/.codex", true),
        "session codex CODEX_HOME" => {
            world.variable("CODEX_HOME", world.place.at("elsewhere"));
            stores::codex(world, "elsewhere", false);
        }
        "gemini project_root" => stores::gemini(world, "home/.gemini", &Gemini::ProjectRoot),
        "gemini projects.json" => stores::gemini(world, "home/.gemini", &Gemini::List),
        "gemini sha256 dir" => stores::gemini(world, "home/.gemini", &Gemini::Digest),
        "gemini GEMINI_CLI_HOME" => {
            world.variable("GEMINI_CLI_HOME", world.place.at("elsewhere"));
            stores::gemini(world, "elsewhere/.gemini", &Gemini::ProjectRoot);
        }
        "gemini sandbox cache" => stores::gemini(world, "home/.cache/.gemini", &Gemini::ProjectRoot),
        "opencode json" => stores::opencode_json(world),
        "opencode sqlite" => drop(stores::opencode(world, "home/.local/share/opencode/opencode.db", false)),
        "opencode sqlite archived" => drop(stores::opencode(world, "home/.local/share/opencode/opencode.db", true)),
        "kilo sqlite" => drop(stores::opencode(world, "home/.local/share/kilo/kilo.db", false)),
        "goose sqlite" => stores::goose(world),
        "goose jsonl" => stores::goose_lines(world),
        "cline sqlite" => stores::cline(world, Some(own), false),
        "cline ended" => stores::cline(world, None, true),
        "zed sqlite" => stores::zed(world),
        "qwen" => stores::qwen(world),
        "copilot" => stores::copilot(world),
        "continue" => stores::continued(world),
        "amp" => stores::amp(world),
        "cursor cli" => stores::cursor_cli(world),
        "ide Cursor" => stores::editor(world, "Cursor", false),
        "ide Windsurf" => stores::editor(world, "Windsurf", false),
        "ide Code" => stores::editor(world, "Code", false),
        "ide Code - Insiders" => stores::editor(world, "Code - Insiders", false),
        "ide VSCodium" => stores::editor(world, "VSCodium", false),
        "ide chatSessions" => stores::editor(world, "Code", true),
        "aider trace" => _ = world.write("repo/.aider.chat.history.md", "secret-words", NOW),
        "crush trace" => _ = world.write("repo/.crush/crush.db", "secret-words", NOW),
        "mcp 119s" => stores::presence(world, own, Some("codex"), second * 110, 1),
        "mcp 125s" => stores::presence(world, own, Some("codex"), second * 125, 1),
        "mcp 16min" => stores::presence(world, own, Some("codex"), second * 960, 1),
        "mcp future 2min" => {
            let ahead = json!({
                "client": {"name": "codex", "version": null},
                "pid": own,
                "repos": [{"repoPath": world.root(), "lastTool": "x", "lastCallMs": crate::world::ago_ms(NOW) + 120_000}],
                "schemaVersion": 1,
            });
            let path =
                world.write(format!("home/.local/state/bulkhead/presence/mcp/{own}.json"), ahead.to_string(), NOW);
            stores::private(&path);
        }
        "mcp schema 2" => stores::presence(world, own, Some("codex"), second, 2),
        "caller same agent, session only" => {
            stores::claude(world, "home/.claude/projects", second);
            return Some("claude-code");
        }
        "caller other" => {
            stores::claude(world, "home/.claude/projects", second);
            return Some("codex-cli");
        }
        "caller same agent, other process" => {
            let repo = world.repo.clone();
            world.process("codex", &[], &repo);
            return Some("codex");
        }
        other => panic!("a recorded case that nobody builds: {other}"),
    }
    None
}

#[test]
fn the_agent_that_started_the_server_is_probably_the_caller() {
    let mut world = match World::ordinary() {
        Ok(world) => world,
        Err(why) => {
            unmet(&why);
            return;
        }
    };
    world.under("codex");
    let data = world.look(Some("codex-mcp-client"));
    let rows = agents(&data);
    assert_eq!(rows.len(), 1, "{data}");
    let row = &rows[0];
    assert_eq!(
        (&row["agent"], &row["sameAgentAsCaller"], &row["likelyCaller"]),
        (&json!("codex"), &json!(true), &json!(true)),
        "{data}"
    );
    assert!(row["pid"].is_u64(), "{data}");
    // the same process is nobody's caller to a client of another kind
    let data = world.look(Some("claude-code"));
    assert_eq!(agents(&data)[0]["likelyCaller"], false, "{data}");
}

#[test]
fn every_recorded_case_comes_out_again() {
    let text = include_str!("../fixtures/recorded/agents.presence.json");
    let cases: Vec<Value> = serde_json::from_str(text).expect("the recording is JSON");
    assert!(cases.len() > 80, "{}", cases.len());
    let (mut faults, mut skipped) = (Vec::new(), 0);
    for recorded in &cases {
        let case = recorded["case"].as_str().expect("cases have names");
        if matches!(case, "disabled" | "likelyCaller via ancestor") {
            // an error and a tree of processes: in tests of their own
            continue;
        }
        let with_processes =
            case.starts_with("process ") || case.starts_with("cmdline ") || case.ends_with("other process");
        let mut world = if with_processes {
            match World::ordinary() {
                Ok(world) => world,
                Err(why) => {
                    skipped += 1;
                    unmet(&why);
                    continue;
                }
            }
        } else {
            World::new()
        };
        let client = build(case, &mut world);
        let data = world.look(client);
        let now_ms = crate::world::ago_ms(NOW);
        let rows: Vec<Value> = agents(&data).iter().map(|row| plain(row, now_ms)).collect();
        let mut expected: Vec<Value> =
            recorded["agents"].as_array().into_iter().flatten().map(|row| plain(row, 0)).collect();
        corrected(case, &mut expected);
        if rows != expected {
            faults.push(format!("{case}:\n  {rows:?}\n  {expected:?}\n  {}", data["partialReasons"]));
        }
        if data["caller"] != recorded["caller"] {
            faults.push(format!("{case}: caller {} and not {}", data["caller"], recorded["caller"]));
        }
        let age = agents(&data).iter().filter_map(|row| row["lastActivityMs"].as_i64()).map(|at| now_ms - at).max();
        let wanted = recorded["agents"][0]["lastActivityAgeMs"].as_i64();
        if let (Some(age), Some(wanted)) = (age, wanted)
            && (age - wanted).abs() > SLOW_MS
        {
            faults.push(format!("{case}: {age} ms and not {wanted} ms ago"));
        }
        if data.to_string().contains("secret-words") {
            faults.push(format!("{case}: text from inside: {data}"));
        }
    }
    assert!(faults.is_empty(), "{} of {} cases differ:\n{}", faults.len(), cases.len(), faults.join("\n"));
    eprintln!("{} recorded cases, {skipped} skipped", cases.len());
}
