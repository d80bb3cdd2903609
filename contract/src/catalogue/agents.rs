//! Row of agents.presence (contract `tools.json`, `agents.md`, corrected by `corrections.md`).
//! Trust: constants.

use super::shared::*;
use crate::tool::{Annotations, Field, Shape, Tool, Toolset};

/// This family.
pub(super) const TOOLS: &[Tool] = &[PRESENCE];

/// `agents.presence`.
pub const PRESENCE: Tool = Tool {
    name: "agents.presence",
    title: "Other agents",
    description: "Call this before changing files or branches to see which other agents and editors work in the repository: \
        state, branch, last tool, files.",
    toolset: Toolset::Agents,
    annotations: Annotations::LOCAL_READ,
    source: "local-agent-detector",
    arguments: &[REPO_PATH, REPO_ID],
    data: &[
        field("agents", Shape::List(&Shape::Object(AGENT)), "Working first, then open, then recent."),
        field("agentCount", Shape::Count, "How many there are, at most 32."),
        field("truncated", Shape::Boolean, "There are more than rows."),
        field("caller", Shape::Object(CALLER), "Whom this server takes the caller for."),
        field("partial", Shape::Boolean, "Something could not be looked at: another agent may be there."),
        field("partialReasons", Shape::List(&Shape::Object(UNSEEN)), "What, and why."),
        field("repoPath", Shape::Text, "Canonical path of the repository."),
        field("privacy", Shape::Text, "What was looked at, and what never is."),
        field("guidance", Shape::Text, "What to do with it."),
    ],
};

const AGENT: &[Field] = &[
    field("agent", Shape::Text, "Id of the agent or editor."),
    field("state", Shape::OneOf(&["working", "open", "recent"]), "What it does."),
    field(
        "sources",
        Shape::List(&Shape::OneOf(&["process", "session", "repo-trace", "ide", "mcp"])),
        "Where this comes from.",
    ),
    field("pid", Shape::Nullable("Its process."), "Set where one lives."),
    field("lastActivityMs", Shape::Nullable("Milliseconds since 1970."), "When it last did something."),
    field("branch", Shape::Nullable("A branch's name."), "Branch that it works on."),
    field("lastTool", Shape::Nullable("A tool's name."), "Tool that it used last."),
    field("files", Shape::List(&Shape::Text), "Files that it touched, at most eight, relative to the repository."),
    field("mcpClient", Shape::NullableObject(CLIENT), "Where it asks a server like this one."),
    field("sameAgentAsCaller", Shape::Boolean, "It is of the caller's kind."),
    field("likelyCaller", Shape::Boolean, "It is probably the caller itself."),
];

const CLIENT: &[Field] =
    &[field("name", Shape::Text, "Name of the client."), field("version", Shape::Nullable("Text."), "Its version.")];

const CALLER: &[Field] = &[
    field("clientName", Shape::Nullable("Text."), "Name that the client gave."),
    field("agent", Shape::Nullable("Text."), "Agent that it is taken for."),
    field("ownMcpPresenceExcluded", Shape::Boolean, "This server's own presence file is not among the rows."),
];

const UNSEEN: &[Field] = &[
    field("what", Shape::Text, "`processes`, `presence`, or the agent whose store it is."),
    field("reason", Shape::Text, "Why, as a stable name."),
    field("count", Shape::Count, "How many."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalogue::agreement::both,
        results::{Agent, AgentSource, AgentState, Caller, McpClient, Presence, Unseen, UnseenReason},
    };

    #[test]
    fn rows_and_type_agree() {
        let agent = Agent {
            agent: "codex".into(),
            state: AgentState::Working,
            sources: vec![AgentSource::Session, AgentSource::RepoTrace],
            pid: Some(7),
            last_activity_ms: Some(1),
            branch: Some("main".into()),
            last_tool: Some("edit".into()),
            files: vec!["a".into()],
            mcp_client: Some(McpClient { name: "codex".into(), version: Some("1".into()) }),
            same_agent_as_caller: true,
            likely_caller: false,
        };
        let rich = Presence {
            agents: vec![agent],
            agent_count: 1,
            truncated: false,
            caller: Caller { client_name: Some("x".into()), agent: Some("x".into()), own_mcp_presence_excluded: true },
            partial: true,
            partial_reasons: vec![Unseen { what: "codex".into(), reason: UnseenReason::Link, count: 1 }],
            repo_path: "/r".into(),
            privacy: "p".into(),
            guidance: "g".into(),
        };
        both(&PRESENCE, &rich, &rich);
    }
}
