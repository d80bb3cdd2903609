//! Every host: what its file says afterwards, that the server starts with it, and that it goes without a trace.
//! Trust: test code.

use crate::world::World;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A host: its name, its file in a home, its file in a project, where servers stand, and what stands for the project.
struct Row(&'static str, &'static str, Option<&'static str>, &'static str, &'static str);

const HOSTS: [Row; 11] = [
    Row("claude-code", ".claude.json", Some(".mcp.json"), "/mcpServers", "${CLAUDE_PROJECT_DIR:-.}"),
    Row("claude-desktop", ".config/Claude/claude_desktop_config.json", None, "/mcpServers", ""),
    Row("cursor", ".cursor/mcp.json", Some(".cursor/mcp.json"), "/mcpServers", "${workspaceFolder}"),
    Row("vscode", ".config/Code/User/mcp.json", Some(".vscode/mcp.json"), "/servers", "${workspaceFolder}"),
    Row("copilot", ".copilot/mcp-config.json", None, "/mcpServers", ""),
    Row("codex", ".codex/config.toml", Some(".codex/config.toml"), "/mcp_servers", "."),
    Row("gemini", ".gemini/settings.json", Some(".gemini/settings.json"), "/mcpServers", "."),
    Row("zed", ".config/zed/settings.json", Some(".zed/settings.json"), "/context_servers", "."),
    Row("windsurf", ".codeium/windsurf/mcp_config.json", None, "/mcpServers", ""),
    Row("opencode", ".config/opencode/opencode.json", Some("opencode.json"), "/mcp", "."),
    Row("junie", ".junie/mcp/mcp.json", Some(".junie/mcp/mcp.json"), "/mcpServers", "."),
];

/// Hosts for which tools are not named with dots.
const UNDERSCORES: [&str; 7] = ["claude-desktop", "cursor", "vscode", "copilot", "zed", "windsurf", "junie"];

/// What a file says: JSON as it is, TOML as the same values.
fn value(world: &World, path: &Path) -> Value {
    let text = world.read(path);
    if path.extension().is_some_and(|extension| extension == "toml") {
        return toml(text.parse::<toml_edit::DocumentMut>().expect("TOML").as_item());
    }
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}\n{text}", path.display()))
}

fn toml(item: &toml_edit::Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return Value::Object(table.iter().map(|(key, item)| (key.to_owned(), toml(item))).collect());
    }
    match item.as_array() {
        Some(array) => array.iter().map(|value| json!(value.as_str().expect("text"))).collect(),
        None => json!(item.as_str().expect("text")),
    }
}

/// The command and its arguments, whatever the form.
fn started(server: &Value) -> (String, Vec<String>) {
    let words = |value: &Value| -> Vec<String> {
        let list = value.as_array().expect("a list");
        list.iter().map(|word| word.as_str().expect("a word").to_owned()).collect()
    };
    match &server["command"] {
        Value::String(command) => (command.clone(), words(&server["args"])),
        list => {
            let mut list = words(list);
            (list.remove(0), list)
        }
    }
}

#[test]
fn every_host_of_a_user_starts_the_server_that_was_asked_for() {
    let world = World::new();
    for Row(host, file, _, servers, _) in HOSTS {
        let path = world.home(file);
        let text = world.connect(&[host, "--root", "..", "--deadline", "9"]).done();
        assert!(text.contains("+++ ") && text.contains("written: ") && text.contains("then say"), "{host}: {text}");
        let server = value(&world, &path).pointer(servers).expect(servers)["bulkhead"].clone();
        let (command, args) = started(&server);
        assert!(Path::new(&command).is_absolute() && Path::new(&command).is_file(), "{host}: {command}");
        let root = world.project("deep").to_str().expect("plain").to_owned();
        let mut expected = vec!["--root".to_owned(), root];
        if UNDERSCORES.contains(&host) {
            expected.extend(["--tool-names".to_owned(), "underscore".to_owned()]);
        }
        expected.extend(["--deadline".to_owned(), "9".to_owned()]);
        assert_eq!(args, expected, "{host}");
        let tools = world.starts(&command, &args, Path::new("/"));
        assert_eq!(tools.contains("repo_status"), UNDERSCORES.contains(&host), "{host}");

        let before = world.files();
        let again = world.connect(&[host, "--root", "..", "--deadline", "9"]).done();
        assert!(again.starts_with("nothing to do"), "{host}: {again}");
        assert_eq!(world.files(), before, "{host}: a second run changes nothing");

        world.connect(&[host, "--remove"]).done();
        let left = world.read(&path);
        assert!(!left.contains("bulkhead"), "{host}: {left}");
        assert!(world.connect(&[host, "--remove"]).done().starts_with("nothing to do"), "{host}");
    }
}

#[test]
fn every_host_of_a_project_names_it_in_its_own_way() {
    let world = World::new();
    for Row(host, _, file, servers, variable) in HOSTS {
        let words = [host, "--scope", "project", "--root", "../..", "--root", ".", "--command", "bulkhead"];
        let Some(file) = file else {
            assert!(world.connect(&words).refused().contains("--scope user"), "{host}");
            continue;
        };
        world.connect(&words).done();
        let server = value(&world, &world.project(file)).pointer(servers).expect(servers)["bulkhead"].clone();
        let (command, args) = started(&server);
        assert_eq!(command, "bulkhead");
        let roots = [variable.to_owned(), format!("{variable}/deep/er")];
        assert_eq!((&args[1], &args[3]), (&roots[0], &roots[1]), "{host}");
        let project = world.project("");
        let told = |word: &String| match word.strip_prefix(variable) {
            Some(rest) if !variable.is_empty() && word.starts_with(variable) => {
                project.to_str().expect("plain").trim_end_matches('/').to_owned() + rest
            }
            _ => word.clone(),
        };
        let expanded: Vec<String> = if variable == "." { args.clone() } else { args.iter().map(told).collect() };
        world.starts(env!("CARGO_BIN_EXE_bulkhead"), &expanded, &project);
    }
    assert!(!world.home(".cursor").exists(), "nothing of the user was touched");
}

#[test]
fn members_are_those_of_each_form() {
    let world = World::new();
    for (host, file, pointer, members) in [
        ("claude-code", ".claude.json", "/mcpServers/bulkhead", json!({"type": "stdio"})),
        ("vscode", ".config/Code/User/mcp.json", "/servers/bulkhead", json!({"type": "stdio"})),
        ("copilot", ".copilot/mcp-config.json", "/mcpServers/bulkhead", json!({"type": "local", "tools": ["*"]})),
        ("opencode", ".config/opencode/opencode.json", "/mcp/bulkhead", json!({"type": "local"})),
        ("cursor", ".cursor/mcp.json", "/mcpServers/bulkhead", json!({})),
    ] {
        world.connect(&[host]).done();
        let mut server = value(&world, &world.home(file)).pointer(pointer).expect(pointer).clone();
        let object = server.as_object_mut().expect("an object");
        assert!(object.remove("command").is_some(), "{host}");
        object.remove("args");
        assert_eq!(server, members, "{host}");
    }
}

#[test]
fn the_direct_surface_is_served_with_its_own_flags() {
    let world = World::new();
    for (directory, text) in [("objects", ""), ("refs", "")] {
        world.write(&world.project(".git").join(directory).join("x"), text);
    }
    world.write(&world.project(".git/HEAD"), "ref: refs/heads/main\n");
    let words = ["cursor", "--surface", "direct", "--repo", ".", "--name", "repo", "--isolation", "best-effort", "--"];
    world.connect(&[&words[..], &["--allow-tools", "repo_commit"]].concat()).done();
    let server = value(&world, &world.home(".cursor/mcp.json"))["mcpServers"]["repo"].clone();
    let (command, args) = started(&server);
    let repo = world.project("deep/er").to_str().expect("plain").to_owned();
    let expected =
        ["--surface", "direct", "--repo", &repo, "--isolation", "best-effort", "--allow-tools", "repo_commit"];
    assert_eq!(args, expected);
    assert!(world.starts(&command, &args, Path::new("/")).contains("repo_commit"));

    world.connect(&["vscode", "--scope", "project", "--surface", "direct"]).done();
    let server = value(&world, &world.project(".vscode/mcp.json"))["servers"]["bulkhead"].clone();
    assert_eq!(started(&server).1, ["--surface", "direct", "--repo", "${workspaceFolder}"]);
}

#[test]
fn flags_that_no_server_takes_are_refused_before_anything_is_written() {
    let world = World::new();
    let before = world.files();
    for (words, why) in [
        (&["cursor", "--", "--bogus"][..], "--bogus"),
        (&["cursor", "--", "call", "repo.status"], "no command"),
        (&["cursor", "--root", "/nonexistent"], "does not exist"),
        (&["cursor", "--root", "/"], "never accepted"),
        (&["cursor", "--repo", "."], "--surface direct"),
        (&["cursor", "--surface", "direct"], "--repo"),
        (&["cursor", "--surface", "both", "--repo", "."], "--toolsets"),
        (&["cursor", "--surface", "direct", "--repo", ".", "--", "--allow-tools", "repo_status"], "repo_status"),
        (&["cursor", "--command", "./nothing"], "no such file"),
        (&["windsurf", "--scope", "project"], "--scope user"),
    ] {
        let said = world.connect(words).refused();
        assert!(said.contains(why), "{words:?}: {said}");
    }
    for words in [&["nothost"][..], &["cursor", "--name", "a b"], &["cursor", "--remove", "--repo", "."], &["--bogus"]]
    {
        assert_eq!(world.connect(words).code, 2, "{words:?}");
    }
    assert_eq!(world.files(), before);
}

#[test]
fn a_name_in_the_search_path_outlives_an_upgrade() {
    let world = World::new();
    let bin: PathBuf = world.at("bin");
    std::fs::create_dir(&bin).expect("the place is ours");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bulkhead"), bin.join("bulkhead")).expect("the place is ours");
    let mut command = world.command(&["cursor"]);
    let output = command.env("PATH", &bin).output().expect("it starts");
    assert!(output.status.success());
    let server = value(&world, &world.home(".cursor/mcp.json"))["mcpServers"]["bulkhead"].clone();
    assert_eq!(started(&server).0, bin.join("bulkhead").to_str().expect("plain"));
}

#[test]
fn variables_that_move_a_hosts_files_are_followed() {
    let world = World::new();
    for (host, variable, file) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("copilot", "COPILOT_HOME", "mcp-config.json"),
        ("zed", "XDG_CONFIG_HOME", "zed/settings.json"),
    ] {
        let moved = world.at(variable);
        let output = world.command(&[host]).env(variable, &moved).output().expect("it starts");
        assert!(output.status.success() && moved.join(file).is_file(), "{host}: {output:?}");
    }
}
