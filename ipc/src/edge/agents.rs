//! Supervisor ⇄ worker-agents: who else works in a repository.
//! Trust: both sides treat the other as taken over; paths and names in findings were read from other programs' files.

use super::errand::{ErrandAnswer, ToErrand};
use bincode::{Decode, Encode};
use bulkhead_contract::{
    isolation::Demand,
    results::{AgentSource, McpClient, Unseen},
};

/// What a worker-agents hears.
pub type ToAgents = ToErrand<Init, Scan>;
/// The whole answer to a question.
pub type Answer = ErrandAnswer<Found>;

/// Files that one scan knows from the one before at most.
pub const MAX_KNOWN: usize = 512;
/// Findings of one scan at most.
pub const MAX_FINDINGS: usize = 256;
/// Characters of each text of a finding.
pub const MAX_TEXT: usize = 512;
/// Files that a finding names.
pub const MAX_FILES: usize = 8;

/// What the operator allows. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Init {
    /// What `--isolation` demands.
    pub demand: Demand,
    /// Where other programs keep what they work on.
    pub stores: Vec<StoreAt>,
    /// Directories with presence files of servers like this one, in the order in which they count.
    pub presence: Vec<Vec<u8>>,
    /// Process id of the supervisor: keeps its own presence file out of what is found.
    pub pid: u32,
    /// Private writable memory in bytes (`RLIMIT_DATA`).
    pub memory: u64,
}

/// One place of a store.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct StoreAt {
    /// What lies there.
    pub store: Store,
    /// A directory, or the one file for a store that is one file.
    pub path: Vec<u8>,
}

/// The stores that are known: whose, and in which layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub enum Store {
    /// `*/*.jsonl` beneath the directory.
    ClaudeProjects,
    /// `**/*.jsonl`, three levels deep.
    CodexSessions,
    /// `opencode*.db` in the directory.
    OpencodeDatabases,
    /// One database of OpenCode.
    OpencodeDatabase,
    /// `**/*.json`, two levels deep.
    OpencodeSessions,
    /// `tmp/*/chats/*.jsonl`, and `projects.json`.
    Gemini,
    /// `*/*/meta.json`.
    CursorChats,
    /// `kilo*.db` in the directory.
    KiloDatabases,
    /// `*.json` in the directory, without `sessions.json`.
    ContinueSessions,
    /// One database of Cline.
    ClineDatabase,
    /// `T-*.json` in the directory.
    AmpThreads,
    /// One database of goose.
    GooseDatabase,
    /// `*.jsonl` in the directory.
    GooseSessions,
    /// `*/workspace.yaml` and `*/events.jsonl`.
    CopilotSessions,
    /// `**/*.jsonl`, two levels deep.
    QwenProjects,
    /// `*/workspace.json` of Cursor.
    CursorWorkspaces,
    /// `*/workspace.json` of Windsurf.
    WindsurfWorkspaces,
    /// `*/workspace.json` of Visual Studio Code and its kin.
    VscodeWorkspaces,
    /// One database of Zed.
    ZedDatabase,
    /// A directory whose being there confirms that a program is goose, and nothing is read of it.
    GooseHome,
    /// The same for Crush.
    CrushHome,
}

/// The one question: who works in a repository, as far as one source knows. The worker ends after the answer.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Scan {
    /// Canonical directory of the repository.
    pub root: Vec<u8>,
    /// Where this one looks.
    pub at: Sources,
}

/// Where a scan looks. Each of them is a process of its own, so that they work side by side and neither is given what the
/// other one reads.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Sources {
    /// At the system's processes.
    Processes {
        /// Agents that a file in the repository speaks for, so that a program's name need not.
        traced: Vec<String>,
    },
    /// At what other programs keep, presence files included.
    Stores {
        /// What the scan of this repository before this one made of files; valid for a file that is still the same.
        known: Vec<Known>,
    },
}

/// A store's file as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Known {
    /// Which file, in which state.
    pub stamp: Stamp,
    /// What it said of the repository; empty: nothing.
    pub said: Vec<Finding>,
    /// Why it could not be used, if so.
    pub unseen: Option<Unseen>,
}

/// A file in one state: whatever is written to it, or put in its place, changes this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub struct Stamp {
    /// Device and inode.
    pub file: (u64, u64),
    /// Bytes.
    pub size: u64,
    /// Time of the last modification, in nanoseconds since 1970.
    pub modified: i64,
    /// Time of the last change of anything, in nanoseconds since 1970.
    pub changed: i64,
    /// Which reading of it this is about; one file can be read in two ways.
    pub way: u32,
}

/// What one source says of one agent in the repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Finding {
    /// Its id, as the contract has it.
    pub agent: String,
    /// Where this comes from.
    pub source: AgentSource,
    /// The process, where one lives.
    pub pid: Option<u32>,
    /// The process is one of those that this server was started by.
    pub ancestor: bool,
    /// Something that the process started lately still runs.
    pub busy: bool,
    /// The source says that nothing is being done.
    pub idle: bool,
    /// Milliseconds since 1970 of what was last done.
    pub last_activity_ms: Option<i64>,
    /// Branch.
    pub branch: Option<String>,
    /// Tool that was used last.
    pub last_tool: Option<String>,
    /// Files that were touched, relative to the repository.
    pub files: Vec<String>,
    /// Client of another server like this one.
    pub mcp_client: Option<McpClient>,
}

/// Who works in a repository, as far as the sources know that were looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Found {
    /// At most [`MAX_FINDINGS`].
    pub findings: Vec<Finding>,
    /// What could not be looked at, and why.
    pub unseen: Vec<Unseen>,
    /// For the next scan of this repository.
    pub known: Vec<Known>,
    /// Milliseconds since 1970 at which the worker looked.
    pub at_ms: i64,
}
