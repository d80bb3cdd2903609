//! fleet.radar and fleet.digest (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above; of these types, [`RadarEntry`] and [`DigestEvents`] come from workers.

use super::{Operation, Partial};
use crate::path::PathEncoding;
use bincode::{Decode, Encode};
use serde::Serialize;

/// What a worker sees of one repository for `fleet.radar`. The default is what is said of one that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RadarEntry {
    /// Something differs from HEAD or is untracked.
    pub dirty: bool,
    /// True number of status rows.
    pub changed_files: u64,
    /// Commits on HEAD that the upstream lacks, from local refs.
    pub ahead: u64,
    /// Commits on the upstream that HEAD lacks, from local refs.
    pub behind: u64,
    /// An upstream is configured and its ref exists.
    pub has_upstream: bool,
    /// Short name of the upstream, also when it is gone; null when none is configured.
    pub upstream: Option<String>,
    /// The upstream is configured and its ref does not exist (an addition).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub upstream_gone: bool,
    /// Local branch, also an unborn one; null when HEAD is detached.
    pub branch: Option<String>,
    /// HEAD points at a commit, not at a branch (an addition).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
    /// There is no working tree (an addition).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bare: bool,
    /// Full id of HEAD; null on an unborn branch.
    pub head: Option<String>,
    /// The same, abbreviated.
    pub short_head: Option<String>,
    /// Paths are unmerged.
    pub conflict_active: bool,
    /// What left them so, where it is one of the contract's four; null without unmerged paths.
    pub conflict_operation: Option<Operation>,
    /// The operation that waits for its end, with unmerged paths or without (an addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_in_progress: Option<Operation>,
    /// Merging the upstream would conflict.
    pub potential_conflict_active: bool,
    /// True number of paths that would conflict.
    pub potential_conflict_count: u64,
    /// What a merge was tried with; null where none was, because one side has nothing new.
    pub potential_conflict_target: Option<String>,
    /// The first of those paths, sorted.
    pub potential_conflict_paths: Vec<String>,
    /// Marks of those paths in their order, where any is escaped (an addition).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub potential_conflict_path_encodings: Vec<Option<PathEncoding>>,
    /// Committer time of HEAD in seconds since 1970; null on an unborn branch.
    pub last_commit_timestamp: Option<i64>,
    /// Set when something could not be found out: counts are then lower bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// What most deserves attention in a repository: the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RadarStatus {
    /// Paths are unmerged.
    Conflict,
    /// Both sides have commits, and merging them would conflict.
    PotentialConflict,
    /// Both sides have commits.
    Divergent,
    /// Something differs from HEAD, or an operation waits for its end.
    LocalChanges,
    /// The upstream has commits.
    Behind,
    /// HEAD has commits that the upstream lacks.
    Ahead,
    /// There is no upstream to compare with.
    NoUpstream,
    /// It could not be found out.
    Unknown,
    /// None of these.
    Clean,
}

impl RadarStatus {
    /// How urgent it is, by the contract.
    #[must_use]
    pub fn priority(self) -> u32 {
        match self {
            RadarStatus::Conflict => 100,
            RadarStatus::PotentialConflict => 95,
            RadarStatus::Divergent => 90,
            RadarStatus::LocalChanges => 80,
            RadarStatus::Behind => 70,
            RadarStatus::Ahead => 60,
            RadarStatus::NoUpstream => 40,
            RadarStatus::Unknown => 10,
            RadarStatus::Clean => 0,
        }
    }
}

/// What is said of a repository in both lists of `fleet.radar`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attention {
    /// As the caller gave it.
    pub repo_id: Option<String>,
    /// As the caller gave it, else the last name of the path.
    pub label: String,
    /// Canonical path; of a repository that cannot be read, the caller's.
    pub repo_path: String,
    /// Set where `repo_path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo_path_encoding: Option<PathEncoding>,
    /// What most deserves attention.
    pub status: RadarStatus,
    /// How urgent that is.
    pub priority: u32,
    /// One sentence.
    pub summary: String,
    /// What to do about it, most sensible first.
    pub suggested_actions: Vec<String>,
}

/// One repository of `fleet.radar`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RadarRow {
    /// What is said of it.
    #[serde(flatten)]
    pub attention: Attention,
    /// What was seen.
    #[serde(flatten)]
    pub entry: RadarEntry,
    /// Milliseconds that it took.
    pub elapsed_ms: u64,
    /// Why it could not be read, or not in full; empty when all is well.
    pub error: String,
}

/// `fleet.radar`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Radar {
    /// In the order of the arguments. Where not all fit, the least urgent are left out.
    pub entries: Vec<RadarRow>,
    /// Those that are not clean, most urgent first.
    pub attention_stack: Vec<Attention>,
    /// How many of those did not fit (an addition).
    #[serde(skip_serializing_if = "is_zero")]
    pub attention_omitted: u64,
    /// Repositories that were named.
    pub requested_count: u64,
    /// Of those, how many were looked at, failed ones included.
    pub scanned_count: u64,
    /// Of those, how many could not be read, or not in full.
    pub failed_count: u64,
    /// How many have changes.
    pub dirty_count: u64,
    /// How many have unmerged paths.
    pub conflict_count: u64,
    /// How many of `requested_count` have no row in `entries`.
    pub truncated_count: u64,
    /// How many had not answered when the time was up (an addition).
    #[serde(skip_serializing_if = "is_zero")]
    pub unanswered_count: u64,
    /// Milliseconds in all.
    pub elapsed_ms: u64,
    /// Where remote states come from.
    pub network: RadarNetwork,
    /// How to read this.
    pub guidance: String,
    /// Set when the time was up before all had answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// Where remote states come from: never from the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RadarNetwork {
    /// Always false.
    pub fetch_performed: bool,
    /// Always the same words.
    pub remote_state_source: &'static str,
}

impl Default for RadarNetwork {
    fn default() -> Self {
        Self { fetch_performed: false, remote_state_source: "cached local refs only" }
    }
}

/// What kind of movement a reflog row tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DigestKind {
    /// A commit.
    Commit,
    /// The last commit was replaced.
    Amend,
    /// A merge.
    Merge,
    /// Another branch or commit was checked out.
    Checkout,
    /// A pull.
    Pull,
    /// A reset.
    Reset,
    /// A step of a rebase.
    Rebase,
    /// A cherry-pick.
    CherryPick,
    /// A revert.
    Revert,
    /// A branch was created, moved or renamed.
    Branch,
    /// A fetch.
    Fetch,
    /// Anything else.
    Other,
}

/// Who wrote a reflog row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DigestSource {
    /// Git, for whoever ran it.
    Git,
    /// The contract's application, by the words that its messages begin with.
    Fluxgit,
}

/// One movement of one reference.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DigestEvent {
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// Full name of the reference, or `HEAD`.
    pub ref_name: String,
    /// Set where `ref_name` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ref_name_encoding: Option<PathEncoding>,
    /// What kind of movement.
    pub kind: DigestKind,
    /// Full id before; null where the reference was created.
    pub old_oid: Option<String>,
    /// Full id after; null where it was deleted.
    pub new_oid: Option<String>,
    /// The row's own words, cut.
    pub message: String,
    /// `Name <address>` of the row, cut.
    pub identity: String,
    /// What the reference held before is no ancestor of what it holds now.
    pub rewrote: bool,
    /// Who wrote it.
    pub source: DigestSource,
}

/// What a worker sees of one repository for `fleet.digest`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DigestEvents {
    /// The newest events, newest first.
    pub events: Vec<DigestEvent>,
    /// How many there are in all, as far as rows of one repository are counted.
    pub event_count: u64,
    /// There are more than were counted, or some reflog was not read in full.
    pub truncated: bool,
    /// Set when a part could not be read.
    pub partial: Option<Partial>,
}

/// One event of `fleet.digest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DigestRow {
    /// Canonical path of its repository.
    pub repo_path: String,
    /// Set where `repo_path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo_path_encoding: Option<PathEncoding>,
    /// The event.
    #[serde(flatten)]
    pub event: DigestEvent,
}

/// One repository of `fleet.digest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DigestRepository {
    /// Canonical path; of a repository that cannot be read, the caller's.
    pub repo_path: String,
    /// Set where `repo_path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo_path_encoding: Option<PathEncoding>,
    /// Why it could not be read, or not in full.
    pub error: Option<String>,
    /// There are more events than were counted.
    pub truncated: bool,
    /// Events since the time, at most as many as are counted of one repository.
    pub event_count: u64,
}

/// Where the repositories of `fleet.digest` were named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepoSource {
    /// In the call.
    Arguments,
    /// In the run directory of the contract's application.
    FluxgitRegistry,
}

/// `fleet.digest`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Digest {
    /// As asked.
    pub since_ms: i64,
    /// Newest first.
    pub events: Vec<DigestRow>,
    /// How many are listed.
    pub event_count: u64,
    /// In the order of the arguments. Where not all fit, those without events and errors are left out.
    pub repos: Vec<DigestRepository>,
    /// How many repositories have no row (an addition).
    #[serde(skip_serializing_if = "is_zero")]
    pub repos_omitted: u64,
    /// Where the repositories were named.
    pub repo_source: RepoSource,
    /// How many were named, each counted once.
    pub requested_repo_count: u64,
    /// How many of them lie outside the allowed roots.
    pub excluded_outside_allowed_roots: u64,
    /// Events are left out.
    pub truncated: bool,
    /// How many repositories had not answered when the time was up (an addition).
    #[serde(skip_serializing_if = "is_zero")]
    pub unanswered_count: u64,
    /// Milliseconds in all.
    pub elapsed_ms: u64,
    /// What the rows say about who did it, and what not.
    pub attribution: String,
    /// How to read this.
    pub guidance: String,
    /// Set when the time was up before all had answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
