//! Writers of stores, one for each layout that is read, to the schema that its program documents.
//! Trust: test code.

use crate::world::{World, ago, ago_ms};
use rusqlite::Connection;
use serde_json::json;
use std::{path::Path, time::Duration};

const NOW: Duration = Duration::ZERO;

/// Claude Code and its kin: lines, of which the newest names the directory.
pub fn claude(world: &World, projects: &str, age: Duration) {
    let root = world.root();
    let use_of =
        |name: &str, input: serde_json::Value| json!({"type": "tool_use", "id": "t", "name": name, "input": input});
    let content = json!([
        use_of("Edit", json!({"file_path": format!("{root}/src/a.rs"), "old_string": "x", "new_string": "y"})),
        use_of("NotebookEdit", json!({"notebook_path": format!("{root}/n.ipynb")})),
        use_of("Read", json!({"file_path": "/etc/passwd"})),
        use_of("Bash", json!({"command": "echo secret-words"})),
    ]);
    let line = |age: Duration, message| json!({"type": "assistant", "cwd": root, "gitBranch": "feat/x", "timestamp": ago(age), "message": message, "version": "2.0"});
    let lines = [
        json!({"type": "summary", "summary": "secret-words"}),
        line(age + Duration::from_secs(5), json!({"role": "user", "content": "secret-words"})),
        line(age, json!({"role": "assistant", "content": content})),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    world.write(format!("{projects}/-x-repo/0f3c.jsonl"), text, age);
}

pub fn qwen(world: &World) {
    let root = world.root();
    let call = json!({"functionCall": {"name": "edit", "args": {"absolute_path": format!("{root}/q.rs")}}});
    let line = json!({"cwd": root, "gitBranch": "q", "timestamp": ago(NOW), "message": {"parts": [{"text": "secret-words"}, call]}});
    world.write("home/.qwen/projects/x/chats/1.jsonl", format!("{line}\n"), NOW);
}

pub fn codex(world: &World, home: &str, finished: bool) {
    let second = Duration::from_secs(1);
    let patch = "*** Begin Patch\n*** Update File: src/m.rs\n*** Add File: new.md\n+secret-words\n*** Delete File: gone.txt\n*** End Patch";
    let mut lines = vec![
        json!({"timestamp": ago(second * 9), "type": "session_meta", "payload": {"id": "u", "cwd": world.root()}}),
        json!({"timestamp": ago(second * 5), "type": "event_msg", "payload": {"type": "task_started"}}),
        json!({"timestamp": ago(second * 3), "type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "{\"command\":[\"ls\"]}"}}),
        json!({"timestamp": ago(second), "type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch", "input": patch}}),
    ];
    if finished {
        lines.push(json!({"timestamp": ago(second), "type": "event_msg", "payload": {"type": "task_complete"}}));
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    world.write(format!("{home}/sessions/2026/11/29/rollout-0.jsonl"), "", NOW);
    world.write(format!("{home}/sessions/2026/11/30/rollout-1.jsonl"), text, NOW);
    world.write(format!("{home}/sessions/2026/12/01/rollout-2.jsonl"), "", NOW);
}

/// Gemini: how the folder says whose it is.
pub enum Gemini {
    ProjectRoot,
    List,
    Digest,
}

pub fn gemini(world: &World, home: &str, how: &Gemini) {
    let root = world.root();
    let folder = match how {
        Gemini::Digest => sha256(root),
        _ => "repo".to_owned(),
    };
    match how {
        Gemini::ProjectRoot => _ = world.write(format!("{home}/tmp/{folder}/.project_root"), format!("{root}\n"), NOW),
        Gemini::List => {
            _ = world.write(format!("{home}/projects.json"), json!({"projects": {root: folder}}).to_string(), NOW)
        }
        Gemini::Digest => {}
    }
    world.write(format!("{home}/tmp/{folder}/chats/session-1.jsonl"), "{\"secret-words\":1}\n", NOW);
}

/// By another program than ours.
fn sha256(text: &str) -> String {
    use std::io::Write as _;
    let mut child = std::process::Command::new("sha256sum")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("sha256sum is there");
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&output.stdout).split(' ').next().unwrap_or_default().to_owned()
}

pub fn opencode_json(world: &World) {
    let session = json!({"id": "s", "directory": world.root(), "title": "secret-words", "time": {"created": 1, "updated": ago_ms(Duration::from_secs(3))}});
    world.write("home/.local/share/opencode/storage/session/p/ses_1.json", session.to_string(), NOW);
}

fn database(world: &World, path: &str, script: &str) -> Connection {
    let path = world.place.at(path);
    std::fs::create_dir_all(path.parent().expect("it lies in the place")).expect("the place is ours");
    let connection = Connection::open(&path).expect("a database");
    connection.execute_batch(&format!("PRAGMA foreign_keys=OFF; {script}")).expect("its tables");
    connection
}

const OPENCODE: &str = "CREATE TABLE `session` (`id` text PRIMARY KEY, `project_id` text NOT NULL, `parent_id` text, `slug` text \
    NOT NULL, `directory` text NOT NULL, `title` text NOT NULL, `version` text NOT NULL, `time_created` integer NOT NULL, \
    `time_updated` integer NOT NULL, `time_archived` integer, CONSTRAINT `fk` FOREIGN KEY (`project_id`) REFERENCES \
    `project`(`id`) ON DELETE CASCADE); CREATE INDEX `i` ON `session` (`project_id`);";

/// OpenCode and its fork, in a log that is not merged yet, as the programs leave them while they run.
pub fn opencode(world: &World, path: &str, archived: bool) -> Connection {
    let connection = database(world, path, &format!("PRAGMA journal_mode=WAL; {OPENCODE}"));
    let insert = "INSERT INTO session VALUES (?1, 'p', NULL, 's', ?2, 'secret-words', '1', 1, ?3, ?4)";
    for n in 0..40 {
        let row = (format!("old{n}"), "/elsewhere".to_owned(), 1_i64, None::<i64>);
        connection.execute(insert, row).expect("a row");
    }
    let row = ("new".to_owned(), world.root().to_owned(), ago_ms(Duration::from_secs(2)), archived.then_some(5_i64));
    connection.execute(insert, row).expect("a row");
    connection
}

pub fn goose(world: &World) {
    let connection = database(
        world,
        "home/.local/share/goose/sessions/sessions.db",
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, description TEXT NOT NULL DEFAULT '', working_dir TEXT NOT NULL, \
         created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, extension_data TEXT);",
    );
    let at = ago(Duration::from_secs(1)).replace('T', " ");
    let at = at.split('.').next().expect("seconds");
    connection
        .execute("INSERT INTO sessions VALUES ('a', 'secret-words', ?1, ?2, ?2, '{}')", (world.root(), at))
        .expect("a row");
}

pub fn goose_lines(world: &World) {
    let first = json!({"working_dir": world.root(), "description": "secret-words"});
    world.write("home/.local/share/goose/sessions/a.jsonl", format!("{first}\n{{\"role\":\"user\"}}\n"), NOW);
}

pub fn cline(world: &World, pid: Option<u32>, ended: bool) {
    let connection = database(
        world,
        "home/.cline/data/db/sessions.db",
        "CREATE TABLE sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, cwd TEXT, workspace_root TEXT, updated_at TEXT, ended_at TEXT, pid INTEGER);",
    );
    let at = ago(Duration::from_secs(3));
    connection
        .execute(
            "INSERT INTO sessions VALUES (NULL, ?1, ?1, ?2, ?3, ?4)",
            (world.root(), &at, ended.then_some(&at), pid),
        )
        .expect("a row");
}

/// Zed: the row's data is a large blob, and the column that names the folders was added after it.
pub fn zed(world: &World) {
    let connection = database(
        world,
        "home/.local/share/zed/threads/threads.db",
        "CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL, data_type TEXT NOT NULL, \
         data BLOB NOT NULL); ALTER TABLE threads ADD COLUMN folder_paths TEXT;",
    );
    let folders = format!("/elsewhere\n{}", world.root());
    connection
        .execute(
            "INSERT INTO threads VALUES ('a', 'secret-words', ?1, 'zstd', ?2, ?3)",
            (ago(Duration::from_secs(3)), vec![7_u8; 300_000], folders),
        )
        .expect("a row");
}

pub fn copilot(world: &World) {
    let dir = "home/.copilot/session-state/7d";
    let yaml = format!(
        "id: 7d\ncwd: {}\ngit_root: {}\nbranch: b1\nsummary: secret-words\nupdated_at: {}\n",
        world.root(),
        world.root(),
        ago(Duration::from_secs(9))
    );
    world.write(format!("{dir}/workspace.yaml"), yaml, NOW);
    let lines = [
        json!({"type": "user.message", "timestamp": ago(Duration::from_secs(5)), "data": {"content": "secret-words"}}),
        json!({"type": "tool.execution_start", "timestamp": ago(Duration::from_millis(900)), "data": {"toolName": "bash"}}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    world.write(format!("{dir}/events.jsonl"), text, NOW);
}

pub fn continued(world: &World) {
    let session = json!({"sessionId": "a", "title": "secret-words", "workspaceDirectory": format!("file://{}", world.root()), "history": [{"message": {"content": "x"}}]});
    world.write("home/.continue/sessions/a.json", session.to_string(), NOW);
    world.write("home/.continue/sessions/sessions.json", "[]", NOW);
}

pub fn amp(world: &World) {
    let thread = json!({"id": "T-1", "messages": [{"secret-words": 1}], "env": {"initial": {"trees": [{"displayName": "r", "uri": format!("file://{}", world.root())}]}}});
    world.write("home/.local/share/amp/threads/T-1.json", thread.to_string(), NOW);
}

pub fn cursor_cli(world: &World) {
    let meta = json!({"cwd": world.root(), "updatedAtMs": ago_ms(NOW), "title": "secret-words"});
    world.write("home/.cursor/chats/h/u/meta.json", meta.to_string(), NOW);
}

pub fn editor(world: &World, name: &str, chat: bool) {
    let dir = format!("home/.config/{name}/User/workspaceStorage/9f");
    world.write(
        format!("{dir}/workspace.json"),
        json!({"folder": format!("file://{}", world.root())}).to_string(),
        Duration::from_secs(9_000),
    );
    world.write(format!("{dir}/state.vscdb"), "secret-words", NOW);
    if chat {
        world.write(format!("{dir}/chatSessions/c.json"), "{\"secret-words\":1}", NOW);
    }
}

/// A presence file of another server, by the process `pid`.
pub fn presence(world: &World, pid: u32, client: Option<&str>, age: Duration, schema: u64) {
    let text = json!({
        "client": {"name": client, "version": "3.1"},
        "pid": pid,
        "repos": [
            {"repoPath": "/elsewhere", "lastTool": "diff.text", "lastCallMs": ago_ms(NOW)},
            {"repoPath": world.root(), "lastTool": "repo.brief", "lastCallMs": ago_ms(age)},
        ],
        "schemaVersion": schema,
    });
    let path = world.write(format!("home/.local/state/bulkhead/presence/mcp/{pid}.json"), text.to_string(), NOW);
    private(&path);
}

pub fn private(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("the file is ours");
}
