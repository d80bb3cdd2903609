//! What one look tells the next: nothing that changed is missed, and what did not change comes out the same.
//! Trust: test code.

use crate::{
    stores,
    world::{World, agents, ago, ask, misses},
};
use serde_json::json;
use std::{fs, time::Duration};

const NOW: Duration = Duration::ZERO;

#[test]
fn looks_that_follow_one_another_agree_until_something_changes() {
    let world = World::new();
    let minute = Duration::from_secs(60);
    stores::claude(&world, "home/.claude/projects", minute);
    stores::zed(&world);
    stores::editor(&world, "Code", false);
    world.write("home/.continue/sessions/a.json", "{", NOW);
    let mut server = world.server();
    let mut look = || {
        let outcome = ask(&mut server, &world.repo, None);
        assert!(outcome.is_ok(), "{}", outcome.message);
        outcome.payload()["data"].clone()
    };
    // old enough to be kept from the first look on
    std::thread::sleep(Duration::from_millis(1_200));
    let first = look();
    assert_eq!(agents(&first).len(), 3, "{first}");
    for _ in 0..3 {
        // processes of others come and go
        assert_eq!(agents(&look()), agents(&first));
    }
    // the file that was damaged becomes a whole one, under the same name
    stores::continued(&world);
    let second = look();
    assert!(misses(&first, "continue", "damaged") && !misses(&second, "continue", "damaged"), "{second}");
    assert_eq!(agents(&second).len(), 4, "{second}");
    // a line more, of the same session, elsewhere
    let line = json!({"cwd": "/elsewhere", "timestamp": ago(NOW)});
    let path = world.home(".claude/projects/-x-repo/0f3c.jsonl");
    let text = fs::read_to_string(&path).expect("there");
    fs::write(&path, format!("{text}{line}\n")).expect("ours");
    let third = look();
    assert!(agents(&third).iter().all(|row| row["agent"] != "claude-code"), "{third}");
    // a row more, in the log beside the database
    let zed = rusqlite::Connection::open(world.home(".local/share/zed/threads/threads.db")).expect("there");
    zed.execute("UPDATE threads SET folder_paths = '/elsewhere'", ()).expect("a row");
    assert!(agents(&look()).iter().all(|row| row["agent"] != "zed"));
    fs::remove_dir_all(world.home(".config/Code")).expect("ours");
    assert!(agents(&look()).iter().all(|row| row["agent"] != "vscode"));
}

#[test]
fn what_was_learnt_about_one_repository_says_nothing_about_another() {
    let world = World::new();
    stores::claude(&world, "home/.claude/projects", Duration::from_secs(60));
    let other = world.place.directory("other");
    assert!(world.place.command("git").args(["init", "-q"]).arg(&other).status().expect("git is there").success());
    let mut server = world.server();
    for _ in 0..2 {
        assert_eq!(ask(&mut server, &world.repo, None).payload()["data"]["agentCount"], 1);
        assert_eq!(ask(&mut server, &other, None).payload()["data"]["agentCount"], 0);
    }
    // a directory in the repository is in the repository
    let inside = world.place.directory("repo/src");
    let data = ask(&mut server, &inside, None).payload()["data"].clone();
    assert_eq!((&data["agentCount"], &data["repoPath"]), (&json!(1), &json!(world.root())));
}

#[test]
fn the_operator_can_switch_it_off() {
    let mut world = World::new();
    stores::claude(&world, "home/.claude/projects", NOW);
    world.variable("FLUXGIT_MCP_AGENT_DETECTION_DISABLED", "");
    let mut server = world.server();
    let outcome = ask(&mut server, &world.repo, None);
    let error = &outcome.payload()["error"];
    assert_eq!(
        (&error["code"], &error["data"]["environmentVariable"]),
        (&json!(10_011), &json!("FLUXGIT_MCP_AGENT_DETECTION_DISABLED"))
    );
}

#[test]
fn without_isolation_the_same_is_seen() {
    let world = World::new();
    stores::claude(&world, "home/.claude/projects", NOW);
    let mut server =
        crate::support::Start::new(&world.place).root(world.place.path()).arguments(&["--isolation", "off"]).spawn();
    for _ in 0..3 {
        let data = ask(&mut server, &world.repo, None).payload()["data"].clone();
        assert_eq!(agents(&data)[0]["agent"], "claude-code", "{data}");
    }
}

/// The own presence file, once it is there.
fn own_file(world: &World, pid: i32, has: &str) -> Option<(std::path::PathBuf, String)> {
    let path = world.home(&format!(".local/state/bulkhead/presence/mcp/{pid}.json"));
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while std::time::Instant::now() < deadline {
        if let Ok(text) = fs::read_to_string(&path)
            && text.contains(has)
        {
            return Some((path, text));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    None
}

#[test]
fn others_are_told_what_this_server_does_until_it_ends() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut world = World::new();
    world.tell();
    let mut server = world.server();
    assert!(ask(&mut server, &world.repo, Some("codex-mcp-client")).is_ok());
    let (path, text) = own_file(&world, server.pid(), "agents.presence").expect("a note");
    let note: serde_json::Value = serde_json::from_str(&text).expect("the note is JSON");
    assert_eq!(note["client"], json!({"name": "codex-mcp-client", "version": "1"}));
    assert_eq!((&note["pid"], &note["schemaVersion"]), (&json!(server.pid()), &json!(1)));
    assert_eq!(
        (&note["repos"][0]["repoPath"], &note["repos"][0]["lastTool"]),
        (&json!(world.root()), &json!("agents.presence"))
    );
    let mode = |path: &std::path::Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().expect("it lies in one"))), (0o600, 0o700));
    // a second server sees the first, and neither sees itself
    let mut second = world.server();
    let data = ask(&mut second, &world.repo, Some("other")).payload()["data"].clone();
    let row = &agents(&data)[0];
    assert_eq!(
        (&row["agent"], &row["sources"], &row["lastTool"]),
        (&json!("codex"), &json!(["mcp"]), &json!("agents.presence")),
        "{data}"
    );
    assert_eq!(agents(&data).len(), 1, "{data}");
    // calls that follow one another are one note
    for _ in 0..20 {
        assert!(server.read("repo.status", &world.repo).is_ok());
    }
    own_file(&world, server.pid(), "repo.status").expect("a newer note");
    assert!(server.finish().status.success());
    assert!(!path.exists(), "the note outlives its server");
}

#[test]
fn nothing_is_written_where_the_operator_does_not_want_it() {
    let world = World::new();
    let mut server = world.server();
    assert!(ask(&mut server, &world.repo, None).is_ok());
    std::thread::sleep(Duration::from_millis(500));
    assert!(!world.home(".local/state/bulkhead/presence").exists());
}

#[test]
fn calls_are_answered_where_the_note_cannot_be_written() {
    let mut world = World::new();
    world.tell();
    fs::create_dir_all(world.home("elsewhere")).expect("ours");
    fs::create_dir_all(world.home(".local/state/bulkhead")).expect("ours");
    std::os::unix::fs::symlink(world.home("elsewhere"), world.home(".local/state/bulkhead/presence"))
        .expect("links are possible here");
    let mut server = world.server();
    for _ in 0..3 {
        assert!(server.read("repo.status", &world.repo).is_ok());
    }
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(fs::read_dir(world.home("elsewhere")).expect("there").count(), 0, "a link was followed");
    assert!(server.finish().status.success());
}
