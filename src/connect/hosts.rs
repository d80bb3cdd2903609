//! The hosts that are known: where each keeps its servers, in which form, and what else has to be known of it.
//! Trust: constants. `docs/hosts.md` says how each row was checked; a row without a source may not stand here.

use super::places::{Places, System};
use std::path::PathBuf;

/// A host.
#[derive(Debug)]
pub struct Host {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is called elsewhere.
    pub title: &'static str,
    /// Its files of a user. The first that exists counts, and the last where none does.
    pub user: fn(&Places) -> Vec<PathBuf>,
    /// A directory that shows that the host is here, where its file is not there yet.
    pub sign: fn(&Places) -> PathBuf,
    /// Its file in a project.
    pub project: Option<Project>,
    /// How servers stand in its files.
    pub shape: Shape,
    /// Whether tools are named with underscores for it: it refuses dots, or nobody has shown that it takes them.
    pub underscores: bool,
    /// What makes it look at its file again.
    pub then: &'static str,
}

/// A host's files in a project.
#[derive(Debug)]
pub struct Project {
    /// Relative to the project. The first that exists counts, and the last where none does.
    pub files: &'static [&'static str],
    /// What stands for the project's directory in an argument.
    pub root: &'static str,
}

/// How servers stand in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// JSON, perhaps with comments: an object of servers, at the first of these paths that is there as objects, else the last.
    Json(&'static [&'static [&'static str]], Form),
    /// TOML: a table for each server in `mcp_servers`.
    Toml,
}

/// The members of one server in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `command`, `args`.
    Plain,
    /// The same, and `type` is `stdio`.
    Stdio,
    /// The same, `type` is `local`, and `tools` says which of them are used: all.
    Local,
    /// `type` is `local`, and `command` is one list.
    OneList,
}

const MCP_SERVERS: &[&[&str]] = &[&["mcpServers"]];

/// All of them, in the order in which they are listed.
pub const HOSTS: &[Host] = &[
    Host {
        name: "claude-code",
        title: "Claude Code",
        user: |places| vec![places.claude.as_ref().unwrap_or(&places.home).join(".claude.json")],
        sign: |places| places.claude.clone().unwrap_or_else(|| places.home.join(".claude")),
        project: Some(Project { files: &[".mcp.json"], root: "${CLAUDE_PROJECT_DIR:-.}" }),
        shape: Shape::Json(MCP_SERVERS, Form::Stdio),
        underscores: false,
        then: "start a new session; `/mcp` shows the server, and asks before it trusts one of a project",
    },
    Host {
        name: "claude-desktop",
        title: "Claude Desktop",
        user: |places| vec![places.applications.join("Claude").join("claude_desktop_config.json")],
        sign: |places| places.applications.join("Claude"),
        project: None,
        shape: Shape::Json(MCP_SERVERS, Form::Plain),
        underscores: true,
        then: "quit the application and start it again",
    },
    Host {
        name: "cursor",
        title: "Cursor",
        user: |places| vec![places.home.join(".cursor").join("mcp.json")],
        sign: |places| places.home.join(".cursor"),
        project: Some(Project { files: &[".cursor/mcp.json"], root: "${workspaceFolder}" }),
        shape: Shape::Json(MCP_SERVERS, Form::Plain),
        underscores: true,
        then: "look at Settings, MCP: the server is listed there and may have to be enabled",
    },
    Host {
        name: "vscode",
        title: "VS Code",
        user: |places| vec![places.applications.join("Code").join("User").join("mcp.json")],
        sign: |places| places.applications.join("Code").join("User"),
        project: Some(Project { files: &[".vscode/mcp.json"], root: "${workspaceFolder}" }),
        shape: Shape::Json(&[&["servers"]], Form::Stdio),
        underscores: true,
        then: "run `MCP: List Servers` and start it there",
    },
    Host {
        name: "copilot",
        title: "Copilot CLI",
        user: |places| vec![places.copilot.join("mcp-config.json")],
        sign: |places| places.copilot.clone(),
        project: None,
        shape: Shape::Json(MCP_SERVERS, Form::Local),
        underscores: true,
        then: "start a new session; `/mcp show` lists the server",
    },
    Host {
        name: "codex",
        title: "Codex",
        user: |places| vec![places.codex.join("config.toml")],
        sign: |places| places.codex.clone(),
        project: Some(Project { files: &[".codex/config.toml"], root: "." }),
        shape: Shape::Toml,
        underscores: false,
        then: "start a new session; `/mcp` lists the server. A project's file counts in trusted projects alone",
    },
    Host {
        name: "gemini",
        title: "Gemini CLI",
        user: |places| vec![places.home.join(".gemini").join("settings.json")],
        sign: |places| places.home.join(".gemini"),
        project: Some(Project { files: &[".gemini/settings.json"], root: "." }),
        shape: Shape::Json(MCP_SERVERS, Form::Plain),
        underscores: false,
        then: "start a new session; `/mcp` lists the server. Servers are not started in untrusted folders",
    },
    Host {
        name: "zed",
        title: "Zed",
        user: |places| {
            let directory = match places.system {
                System::Linux => places.config.join("zed"),
                System::MacOs => places.home.join(".config").join("zed"),
                System::Windows => places.applications.join("Zed"),
            };
            vec![directory.join("settings.json")]
        },
        sign: |places| match places.system {
            System::Linux => places.config.join("zed"),
            System::MacOs => places.home.join(".config").join("zed"),
            System::Windows => places.applications.join("Zed"),
        },
        project: Some(Project { files: &[".zed/settings.json"], root: "." }),
        shape: Shape::Json(&[&["context_servers"]], Form::Plain),
        underscores: true,
        then: "look at the agent panel's settings: a dot beside the server says whether it runs",
    },
    Host {
        name: "windsurf",
        title: "Windsurf",
        user: |places| vec![places.home.join(".codeium").join("windsurf").join("mcp_config.json")],
        sign: |places| places.home.join(".codeium").join("windsurf"),
        project: None,
        shape: Shape::Json(MCP_SERVERS, Form::Plain),
        underscores: true,
        then: "refresh the list of servers in Cascade's settings",
    },
    Host {
        name: "opencode",
        title: "opencode",
        user: |places| {
            let directory = places.config.join("opencode");
            vec![directory.join("opencode.jsonc"), directory.join("opencode.json")]
        },
        sign: |places| places.config.join("opencode"),
        project: Some(Project { files: &["opencode.jsonc", "opencode.json"], root: "." }),
        // the second form of the file has `servers` within; the first is read by both versions
        shape: Shape::Json(&[&["mcp", "servers"], &["mcp"]], Form::OneList),
        underscores: false,
        then: "start a new session",
    },
    Host {
        name: "junie",
        title: "Junie (JetBrains)",
        user: |places| vec![places.home.join(".junie").join("mcp").join("mcp.json")],
        sign: |places| places.home.join(".junie"),
        project: Some(Project { files: &[".junie/mcp/mcp.json"], root: "." }),
        shape: Shape::Json(MCP_SERVERS, Form::Plain),
        underscores: true,
        then: "look at Settings, Tools, Junie, MCP Settings",
    },
];

/// The names of all, as the command line takes them.
pub fn names() -> impl Iterator<Item = &'static str> {
    HOSTS.iter().map(|host| host.name)
}

/// The host of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    #[cfg(unix)]
    use std::path::Path;

    #[test]
    fn names_are_words_and_stand_once() {
        let all: BTreeSet<&str> = names().collect();
        assert_eq!(all.len(), HOSTS.len());
        assert!(all.iter().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')), "{all:?}");
        assert!(HOSTS.iter().all(|host| named(host.name).is_some_and(|found| found.title == host.title)));
    }

    #[cfg(unix)]
    #[test]
    fn files_are_where_each_system_has_them() {
        let home = |name: &str| (name == "HOME" || name == "USERPROFILE").then(|| "/h".into());
        let of = |system, host: &str| {
            let places = Places::of(system, home).expect("there is a home");
            let files = (named(host).expect("it is known").user)(&places);
            files.last().expect("at least one").clone()
        };
        for (host, linux, mac, windows) in [
            ("claude-code", "/h/.claude.json", "/h/.claude.json", "/h/.claude.json"),
            (
                "claude-desktop",
                "/h/.config/Claude/claude_desktop_config.json",
                "/h/Library/Application Support/Claude/claude_desktop_config.json",
                "/h/AppData/Roaming/Claude/claude_desktop_config.json",
            ),
            ("cursor", "/h/.cursor/mcp.json", "/h/.cursor/mcp.json", "/h/.cursor/mcp.json"),
            (
                "vscode",
                "/h/.config/Code/User/mcp.json",
                "/h/Library/Application Support/Code/User/mcp.json",
                "/h/AppData/Roaming/Code/User/mcp.json",
            ),
            ("codex", "/h/.codex/config.toml", "/h/.codex/config.toml", "/h/.codex/config.toml"),
            (
                "zed",
                "/h/.config/zed/settings.json",
                "/h/.config/zed/settings.json",
                "/h/AppData/Roaming/Zed/settings.json",
            ),
            (
                "opencode",
                "/h/.config/opencode/opencode.json",
                "/h/.config/opencode/opencode.json",
                "/h/.config/opencode/opencode.json",
            ),
        ] {
            for (system, file) in [(System::Linux, linux), (System::MacOs, mac), (System::Windows, windows)] {
                assert_eq!(of(system, host), Path::new(file), "{host} {system:?}");
            }
        }
    }

    #[test]
    fn every_row_has_its_place_in_the_document() {
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/hosts.md")).expect("it is there");
        for host in HOSTS {
            assert!(text.contains(&format!("| `{}` |", host.name)), "docs/hosts.md has no row for {}", host.name);
            for file in host.project.iter().flat_map(|project| project.files) {
                assert!(text.contains(&format!("`{file}`")), "docs/hosts.md does not name {file}");
            }
        }
    }
}
