//! safety.* and flux.* (contract `results.md`, corrected by `corrections.md`), and what a run directory holds.
//! Trust: see the module above; records come from files that other programs wrote.

use super::Partial;
use bincode::{Decode, Encode};
use serde::{Serialize, Serializer};

/// `safety.timeline`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// Newest first.
    pub events: Vec<SafetyEvent>,
    /// Events listed.
    pub event_count: u64,
    /// All events there are (an addition).
    pub total_events: u64,
    /// Older events are left out (an addition).
    pub truncated: bool,
    /// True.
    pub read_only: bool,
    /// True.
    pub approval_required: bool,
    /// What a write would need.
    pub approval_message: String,
    /// False.
    pub network_fetch_performed: bool,
    /// Files of the run directory that could not be used (an addition).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Set when counting stopped early: the total is then a lower bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// `safety.eventDetails`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TimelineEvent {
    /// The event; null where there is none of that id.
    pub event: Option<SafetyEvent>,
    /// There is one.
    pub event_found: bool,
    /// True.
    pub read_only: bool,
    /// True.
    pub approval_required: bool,
    /// What a write would need.
    pub approval_message: String,
    /// Files of the run directory that could not be used (an addition).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// Set when the search stopped early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// Something that happened to a repository.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SafetyEvent {
    /// Finds the event again, also when others came after it.
    pub id: String,
    /// Name of the repository's directory.
    pub repo_label: String,
    /// Where it was found.
    pub source: EventSource,
    /// What it is.
    pub kind: EventKind,
    /// How much attention it deserves.
    pub severity: Severity,
    /// A few words.
    pub title: String,
    /// A sentence, or the reflog's message.
    pub summary: String,
    /// Seconds since 1970.
    pub occurred_at_unix: i64,
    /// Commit before it.
    pub head_before: Option<String>,
    /// Commit after it.
    pub head_after: Option<String>,
    /// Of a restore point.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restore_point: Option<RestorePoint>,
    /// Of a reflog entry: `HEAD@{n}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reflog_selector: Option<String>,
    /// Of a reflog entry: there are two different commits to compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_compare: Option<bool>,
    /// Of a reflog entry: name and address of who moved it (an addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// What a person could do with it in an application that offers it.
    pub actions: Vec<Action>,
    /// True.
    pub approval_required: bool,
    /// False.
    pub network_fetch_performed: bool,
}

/// Where an event was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventSource {
    /// A file of a run directory.
    RestorePoint,
    /// The reflog of HEAD.
    Reflog,
}

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A restore point was made.
    RestoreCreated,
    /// HEAD moved.
    RefMove,
}

/// How much attention an event deserves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Ordinary.
    Info,
    /// History may have been rewritten or joined.
    Warning,
}

/// What a person could do with an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Look at the restore point.
    OpenRestorePoint,
    /// Look at the reflog entry.
    OpenReflogEntry,
    /// Compare both commits.
    CompareBeforeAfter,
    /// Make a branch at the commit.
    CreateRescueBranch,
    /// Copy the summary without private parts.
    CopyRedactedSummary,
}

/// The answers about restore points, of which each tool has its own.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(untagged)]
pub enum RestorePoints {
    /// `flux.latestRestorePoint`.
    Latest(LatestRestorePoint),
    /// `flux.restorePoints`.
    All(RestorePointList),
    /// `flux.restorePointDetails`.
    One(RestorePointDetails),
}

/// `flux.latestRestorePoint`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LatestRestorePoint {
    /// The newest one, or null.
    pub latest_restore_point: Option<RestorePoint>,
    /// The list that it heads.
    #[serde(flatten)]
    pub list: RestorePointList,
}

/// `flux.restorePoints`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestorePointList {
    /// Newest first.
    pub restore_points: Vec<RestorePoint>,
    /// All there are.
    pub restore_count: u64,
    /// Some are left out (an addition).
    pub truncated: bool,
    /// True.
    pub approval_required: bool,
    /// What a write would need.
    pub approval_message: String,
    /// Files of the run directory that could not be used (an addition).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// `flux.restorePointDetails`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestorePointDetails {
    /// The one asked for, or null.
    pub restore_point: Option<RestorePoint>,
    /// All there are of this repository.
    pub restore_count: u64,
    /// True.
    pub approval_required: bool,
    /// What a write would need.
    pub approval_message: String,
    /// Files of the run directory that could not be used (an addition).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A restore point, held against where the repository is now.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestorePoint {
    /// Finds it again (an addition).
    pub id: String,
    /// The run directory's name for the repository.
    pub repo_id: String,
    /// Commit before the operation.
    pub before: Option<String>,
    /// Commit after it.
    pub after: Option<String>,
    /// The operation, for example `rebase`.
    pub operation: Option<String>,
    /// The repository stands where the operation left it.
    pub can_undo: bool,
    /// It was undone, and the repository stands where that left it.
    pub can_redo: bool,
    /// True.
    pub approval_required: bool,
    /// What a write would need.
    pub approval_message: String,
    /// The rest of the record, and where HEAD is.
    pub metadata: RestoreMetadata,
}

/// The rest of a restore point.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestoreMetadata {
    /// Path of the record's file.
    pub checkpoint_path: String,
    /// Seconds since 1970.
    pub created_at: Option<i64>,
    /// Full name of the branch.
    pub branch_ref: Option<String>,
    /// The operation was undone.
    pub undone: bool,
    /// Reference that keeps the commit before.
    pub before_ref: Option<String>,
    /// Reference that keeps the commit after.
    pub after_ref: Option<String>,
    /// Upstream of the branch.
    pub upstream_ref: Option<String>,
    /// Of a reset: soft, mixed or hard.
    pub reset_mode: Option<String>,
    /// JSON text of whatever the writer planned.
    #[serde(serialize_with = "parsed")]
    pub plan: Option<String>,
    /// Characters of a plan that is too long to be shown; `plan` is null then (an addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_characters: Option<u64>,
    /// Full name of the branch that HEAD is on.
    pub current_branch_ref: Option<String>,
    /// Commit that HEAD is at.
    pub current_head: Option<String>,
}

/// Parses once more what a process handed over as JSON, so that it is a value and nothing else that is written out.
fn parsed<S: Serializer>(text: &Option<String>, out: S) -> Result<S::Ok, S::Error> {
    let value = text.as_deref().and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    value.unwrap_or_default().serialize(out)
}

/// What a run directory holds, as far as it was asked for. No tool answers it as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Records {
    /// The path that the question came with names this run directory.
    pub named: bool,
    /// Registered repositories, by id.
    pub registry: Vec<RegistryEntry>,
    /// Restore records of the repository.
    pub restore: Vec<RestoreRecord>,
    /// A record is there for the repository, though perhaps not one that can be read.
    pub any: bool,
    /// More entries or records than are handed out.
    pub truncated: bool,
    /// Files that could not be used, in our own words.
    pub problems: Vec<String>,
}

/// One repository that a run directory knows.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct RegistryEntry {
    /// Stem of the file's name.
    pub id: String,
    /// Contents: an absolute path.
    pub path: Vec<u8>,
}

/// A restore record as its file has it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct RestoreRecord {
    /// Stem of the file's name.
    pub repo_id: String,
    /// Path of the file.
    pub checkpoint_path: String,
    /// Seconds since 1970 at which the file was last written.
    pub written: i64,
    /// Member `operation`.
    pub operation: Option<String>,
    /// Member `before_commit`.
    pub before_commit: Option<String>,
    /// Member `after_commit`.
    pub after_commit: Option<String>,
    /// Member `branch_ref`.
    pub branch_ref: Option<String>,
    /// Member `undone`.
    pub undone: bool,
    /// Member `created_at`.
    pub created_at: Option<i64>,
    /// Member `before_ref`.
    pub before_ref: Option<String>,
    /// Member `after_ref`.
    pub after_ref: Option<String>,
    /// Member `upstream_ref`.
    pub upstream_ref: Option<String>,
    /// Member `reset_mode`.
    pub reset_mode: Option<String>,
    /// Member `plan` as JSON text.
    pub plan: Option<String>,
    /// Characters of a plan that was too long to be handed over.
    pub plan_characters: Option<u64>,
}

impl RestoreRecord {
    /// What the restore point is known by.
    #[must_use]
    pub fn id(&self) -> String {
        format!("restore:{}:{}", self.repo_id, self.created_at.unwrap_or_default())
    }

    /// Seconds since 1970 by which it is sorted.
    #[must_use]
    pub fn time(&self) -> i64 {
        self.created_at.unwrap_or(self.written)
    }
}
