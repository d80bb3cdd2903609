//! Supervisor ⇄ the worker that keeps the own presence file, the second kind of process of worker-agents.
//! Trust: both sides treat the other as taken over; where the file lies and what it is called is the launcher's word.

use super::errand::{ErrandAnswer, ToErrand};
use bincode::{Decode, Encode};
use bulkhead_contract::isolation::Demand;

/// What it hears.
pub type ToNote = ToErrand<Init, Ask>;
/// The whole answer to a question.
pub type Answer = ErrandAnswer<Noted>;

/// Repositories that a note names.
pub const MAX_NOTED: usize = 16;

/// What the operator allows. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Init {
    /// What `--isolation` demands.
    pub demand: Demand,
    /// Directory of the file, made where it is missing; `None` starts a worker that only reports its jail.
    pub dir: Option<Vec<u8>>,
    /// Process id of the supervisor, which names the file.
    pub pid: u32,
    /// Private writable memory in bytes (`RLIMIT_DATA`).
    pub memory: u64,
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Ask {
    /// Say this in place of what was said before.
    Note(Note),
    /// Remove the file.
    Leave,
}

/// The answer to both: why it could not be done, in our own words.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Noted {
    /// `None`: it was.
    pub failed: Option<String>,
}

/// What this server does.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Note {
    /// Name of the client, unless it gave none.
    pub client: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Newest first, at most [`MAX_NOTED`].
    pub repos: Vec<NotedRepo>,
}

/// A repository that a call was about.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct NotedRepo {
    /// Canonical path.
    pub path: String,
    /// Name of the tool.
    pub tool: String,
    /// Milliseconds since 1970.
    pub at_ms: i64,
}
