//! Result of `agents.presence`: who else works in the repository.
//! Trust: names, branches and paths were read from other programs' files and processes; they are data.

use bincode::{Decode, Encode};
use serde::Serialize;

/// `agents.presence`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Presence {
    /// Working first, then open, then recent; within each, the newest activity first.
    pub agents: Vec<Agent>,
    /// How many there are in all.
    pub agent_count: u64,
    /// There are more than rows.
    pub truncated: bool,
    /// Whoever asked.
    pub caller: Caller,
    /// Something could not be looked at, so that another agent may be there.
    pub partial: bool,
    /// What, and why.
    pub partial_reasons: Vec<Unseen>,
    /// Canonical path of the repository.
    pub repo_path: String,
    /// What was looked at and what never is.
    pub privacy: String,
    /// What to do with it.
    pub guidance: String,
}

/// Another agent in the repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// Its id.
    pub agent: String,
    /// What it does.
    pub state: AgentState,
    /// Where this comes from; each once.
    pub sources: Vec<AgentSource>,
    /// Its process, where one lives.
    pub pid: Option<u32>,
    /// Milliseconds since 1970.
    pub last_activity_ms: Option<i64>,
    /// Branch that it works on.
    pub branch: Option<String>,
    /// Tool that it used last.
    pub last_tool: Option<String>,
    /// Files that it touched, at most eight, relative to the repository.
    pub files: Vec<String>,
    /// Its client name and version, where it speaks MCP to a server like this one.
    pub mcp_client: Option<McpClient>,
    /// It is an agent of the caller's kind.
    pub same_agent_as_caller: bool,
    /// It is probably the caller itself.
    pub likely_caller: bool,
}

/// What an agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Encode, Decode)]
#[serde(rename_all = "camelCase")]
pub enum AgentState {
    /// Something runs, or was done within two minutes.
    Working,
    /// Its process lives.
    Open,
    /// Something was done within fifteen minutes.
    Recent,
}

/// Where a finding comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Encode, Decode)]
#[serde(rename_all = "kebab-case")]
pub enum AgentSource {
    /// A process whose directory is in the repository.
    #[default]
    Process,
    /// The agent's own store.
    Session,
    /// A file in the repository.
    RepoTrace,
    /// An editor's workspace.
    Ide,
    /// A presence file of a server like this one.
    Mcp,
}

/// A client of a server like this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Encode, Decode)]
pub struct McpClient {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

/// Whoever asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Caller {
    /// Name that the client gave.
    pub client_name: Option<String>,
    /// Id of the agent that it is.
    pub agent: Option<String>,
    /// The presence file of this server is not among the rows.
    pub own_mcp_presence_excluded: bool,
}

/// Something that could not be looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Encode, Decode)]
#[serde(rename_all = "camelCase")]
pub struct Unseen {
    /// `processes`, `presence`, or the id of an agent whose store it is.
    pub what: String,
    /// Why.
    pub reason: UnseenReason,
    /// How many.
    pub count: u32,
}

/// Why something could not be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Encode, Decode)]
#[serde(rename_all = "camelCase")]
pub enum UnseenReason {
    /// Programs of agents that run as another user, or whose directory the system does not show.
    OtherUser,
    /// The system has no list of processes that can be read here.
    NoProcessList,
    /// It is a link, which is never followed.
    Link,
    /// It is no regular file.
    NotAFile,
    /// The system refused.
    Unreadable,
    /// It is longer than is read.
    TooLarge,
    /// There are more than are looked at.
    TooMany,
    /// Its text or pages are not what they should be.
    Damaged,
    /// It changed while it was read.
    Changing,
    /// Its layout is one that this program does not know.
    UnknownSchema,
    /// There was no time left.
    OutOfTime,
}
