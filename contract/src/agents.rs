//! Ids of agents: what a client that names itself is taken for, and how its name is shown (contract `agents.md`, `protocol.md`).
//! Trust: names are clients' own words, or other programs'; what comes out is of bounded length and plain characters.

/// Bytes of a client's name.
pub const MAX_CLIENT: usize = 128;
/// Bytes of an agent's id.
pub const MAX_AGENT: usize = 64;
/// The id of a client that does not say who it is.
pub const UNNAMED: &str = "mcp-client";

/// Names of clients, and the agents that they are. One matches where it is the whole name, or its beginning before one of
/// `-`, `_`, `.` and `:`. The first that matches counts.
const CLIENTS: [(&str, &str); 19] = [
    ("claude-code", "claude-code"),
    ("codex", "codex"),
    ("cursor-agent", "cursor-agent"),
    ("cursor", "cursor"),
    ("gemini-cli", "gemini-cli"),
    ("gemini", "gemini-cli"),
    ("opencode", "opencode"),
    ("windsurf", "windsurf"),
    ("vscode", "vscode"),
    ("visual-studio-code", "vscode"),
    ("aider", "aider"),
    ("goose", "goose"),
    ("qwen-code", "qwen-code"),
    ("crush", "crush"),
    ("kilocode", "kilo"),
    ("kilo", "kilo"),
    ("cline", "cline"),
    ("zed", "zed"),
    ("continue", "continue"),
];

/// A client's name as it is shown: letters, digits and `.`, `_`, `:`, `-`; everything else is a `-`. `None` where nothing
/// is left of it.
#[must_use]
pub fn client_name(name: &str) -> Option<String> {
    let mut out = String::new();
    for c in name.trim().chars() {
        let c = if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-') { c } else { '-' };
        if c != '-' || !out.ends_with('-') {
            out.push(c);
        }
        if out.len() == MAX_CLIENT {
            break;
        }
    }
    let name = out.trim_matches('-');
    (!name.is_empty()).then(|| name.to_owned())
}

/// The agent that a client of this name, as [`client_name`] gave it, is taken for.
#[must_use]
pub fn of_client(name: Option<&str>) -> String {
    let Some(name) = name else { return UNNAMED.to_owned() };
    let lower = name.to_ascii_lowercase();
    let is = |known: &str| {
        lower.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_', '.', ':']))
    };
    match CLIENTS.iter().find(|(known, _)| is(known)) {
        Some((_, agent)) => (*agent).to_owned(),
        // ASCII by now, so that every byte is a boundary
        None => name.get(..MAX_AGENT).unwrap_or(name).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_the_contract_has_them() {
        assert_eq!(client_name(" Claude Code (é) v1//x ").as_deref(), Some("Claude-Code-v1-x"));
        assert_eq!(client_name("my weird client!").as_deref(), Some("my-weird-client"));
        for nothing in ["", "  ", "日本", "-", "!!"] {
            assert_eq!(client_name(nothing), None, "{nothing:?}");
        }
        assert_eq!(client_name(&"x".repeat(1_000)).map(|name| name.len()), Some(MAX_CLIENT));
    }

    #[test]
    fn clients_are_the_agents_that_they_say_they_are() {
        for (name, agent) in [
            ("claude-code", "claude-code"),
            ("claude-code-cli", "claude-code"),
            ("codex-mcp-client", "codex"),
            ("codexample", "codexample"),
            ("cursor", "cursor"),
            ("cursor-agent", "cursor-agent"),
            ("gemini", "gemini-cli"),
            ("visual-studio-code", "vscode"),
            ("Visual-Studio-Code", "vscode"),
            ("kilocode", "kilo"),
            ("my-weird-client", "my-weird-client"),
        ] {
            assert_eq!(of_client(Some(name)), agent);
        }
        assert_eq!(of_client(None), UNNAMED);
        assert_eq!(of_client(Some(&"x".repeat(100))).len(), MAX_AGENT);
    }
}
