//! Which spelling of tool names a client is shown. Every tool is callable under both.
//! Trust: the client's name only chooses between two constant lists.

use crate::settings::ToolNames;
use bulkhead_contract::{catalogue::Surface, tool::Tool};
use std::borrow::Cow;

/// How a name is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// `repo.status`.
    Dotted,
    /// `repo_status`.
    Underscored,
}

/// Clients that refuse a dot in a tool name, and then the whole server: `clientInfo.name`, lower case.
///
/// Claude Desktop and claude.ai say `claude-ai`; the other names are those of their bridges and earlier builds.
const REFUSE_DOTS: [&str; 6] =
    ["claude-ai", "claude.ai", "claude ai", "claude-desktop", "claude desktop", "anthropic/claudeai"];

impl Spelling {
    /// The spelling for a client of that name.
    #[must_use]
    pub fn of(names: ToolNames, client: Option<&str>) -> Spelling {
        match names {
            ToolNames::Dotted => Spelling::Dotted,
            ToolNames::Underscore => Spelling::Underscored,
            ToolNames::Auto if client.is_some_and(refuses_dots) => Spelling::Underscored,
            ToolNames::Auto => Spelling::Dotted,
        }
    }

    /// The name of `tool` among those of `surface`.
    #[must_use]
    pub fn name(self, tool: &Tool, surface: Surface) -> Cow<'static, str> {
        match self {
            Spelling::Dotted => Cow::Borrowed(tool.name),
            Spelling::Underscored => Cow::Owned(surface.underscored(tool)),
        }
    }
}

/// Bridges append to the name of the client behind them, as in `claude-ai (via mcp-remote 0.1.18)`.
fn refuses_dots(client: &str) -> bool {
    let client = client.trim().as_bytes();
    REFUSE_DOTS.iter().any(|known| {
        client.get(..known.len()).is_some_and(|head| head.eq_ignore_ascii_case(known.as_bytes()))
            && !client.get(known.len()).is_some_and(|next| next.is_ascii_alphanumeric() || matches!(next, b'-' | b'_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_clients_get_underscores() {
        for client in
            ["claude-ai", "Claude Desktop", "claude-desktop", "Claude-AI (via mcp-remote 0.1)", " Anthropic/ClaudeAI"]
        {
            assert_eq!(Spelling::of(ToolNames::Auto, Some(client)), Spelling::Underscored, "{client}");
        }
        for client in ["claude-code", "claude", "claude-ai-sdk", "codex", "", "é", "claude-aiX"] {
            assert_eq!(Spelling::of(ToolNames::Auto, Some(client)), Spelling::Dotted, "{client}");
        }
        assert_eq!(Spelling::of(ToolNames::Auto, None), Spelling::Dotted);
    }

    #[test]
    fn the_operator_decides() {
        assert_eq!(Spelling::of(ToolNames::Dotted, Some("claude-ai")), Spelling::Dotted);
        assert_eq!(Spelling::of(ToolNames::Underscore, None), Spelling::Underscored);
    }
}
