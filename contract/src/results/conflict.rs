//! repo.conflictPreflight and conflict.read (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use crate::path::PathEncoding;
use bincode::{Decode, Encode};
use serde::Serialize;

/// `repo.conflictPreflight`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preflight {
    /// `merge` or `rebase` (an addition to the contract).
    pub operation: PreflightOperation,
    /// The side that stays, as the caller named it.
    pub current_ref: String,
    /// The side that would be merged in or rebased onto, as the caller named it.
    pub target_ref: String,
    /// Full id of the current commit.
    pub current_oid: String,
    /// Full id of the target commit.
    pub target_oid: String,
    /// Best common ancestor; null when there is none.
    pub merge_base_oid: Option<String>,
    /// How it would end.
    pub status: PreflightStatus,
    /// Paths that would be left unmerged, sorted, each once; as many as fit.
    pub conflicting_paths: Vec<String>,
    /// The same paths with what is the matter with each (an addition to the contract).
    pub conflicts: Vec<PreflightConflict>,
    /// True number of unmerged paths.
    pub conflict_count: u64,
    /// The two lists are shorter than the number.
    pub truncated: bool,
    /// Of a rebase, what would be replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebase: Option<RebasePreflight>,
    /// Always true.
    pub read_only: bool,
    /// Always false.
    pub network_fetch_performed: bool,
    /// Always false.
    pub working_tree_mutated: bool,
    /// Always true.
    pub approval_required_for_merge: bool,
    /// What to do next.
    pub guidance: String,
}

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PreflightOperation {
    /// `git merge TARGET` on the current side.
    Merge,
    /// `git rebase TARGET` on the current side.
    Rebase,
}

/// How it would end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreflightStatus {
    /// No common ancestor.
    UnrelatedHistories,
    /// Nothing to do.
    AlreadyUpToDate,
    /// The current side would only move forward.
    FastForward,
    /// Git would do it without asking.
    CleanMerge,
    /// Paths would be left unmerged.
    Conflicts,
}

impl PreflightStatus {
    /// As it stands in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PreflightStatus::UnrelatedHistories => "unrelated-histories",
            PreflightStatus::AlreadyUpToDate => "already-up-to-date",
            PreflightStatus::FastForward => "fast-forward",
            PreflightStatus::CleanMerge => "clean-merge",
            PreflightStatus::Conflicts => "conflicts",
        }
    }
}

/// One path that would be left unmerged.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PreflightConflict {
    /// Repository-relative path.
    pub path: String,
    /// Set where `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<PathEncoding>,
    /// Git's word for the conflict, for example `content` or `modify/delete`.
    pub kind: String,
    /// Other paths of the same conflict, for example where the file was before a rename.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub involved: Vec<InvolvedPath>,
}

/// A path beside the one that conflicts.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InvolvedPath {
    /// Repository-relative path.
    pub path: String,
    /// Set where `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<PathEncoding>,
}

/// What a rebase would replay.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RebasePreflight {
    /// Commits that would be replayed.
    pub commits: u64,
    /// Of these, how many are replayed before the first conflict.
    pub replayed: u64,
    /// Commits left out because the target has the same change.
    pub already_upstream: u64,
    /// Merges left out, as a rebase does by default.
    pub merges_dropped: u64,
    /// Replayed commits that would be left out because nothing of them remains.
    pub became_empty: u64,
    /// Where the rebase would stop first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<RebaseStop>,
}

/// The commit at which a rebase would stop.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RebaseStop {
    /// Full id.
    pub sha: String,
    /// Subject.
    pub subject: String,
    /// Its place among the commits that would be replayed, counted from 1.
    pub step: u64,
}

/// `conflict.read`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// Some path is unmerged.
    pub in_conflict: bool,
    /// What to look at instead, when nothing is unmerged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Everything else, when something is.
    #[serde(flatten)]
    pub active: Option<ActiveConflict>,
}

/// Unmerged paths and where they come from.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveConflict {
    /// The operation that stopped.
    pub operation: ConflictOperation,
    /// How far a sequence of commits has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<OperationProgress>,
    /// HEAD; null on an unborn branch. In a rebase this is the target with what was replayed so far.
    pub ours: Option<ConflictHead>,
    /// The commit that is being merged, picked, replayed or reverted; null where none is known.
    pub theirs: Option<ConflictHead>,
    /// Of an octopus merge all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all_theirs: Vec<ConflictHead>,
    /// True number of unmerged paths.
    pub conflicted_file_count: u64,
    /// This page, by path.
    pub files: Vec<ConflictFile>,
    /// More unmerged paths follow.
    pub file_list_truncated: bool,
    /// Pass it back as `cursor` to get the files after this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// As asked for; a side may be cut earlier where several files share the room of one answer.
    pub max_bytes_per_side: u32,
    /// What to do next.
    pub guidance: String,
}

/// The operation that stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConflictOperation {
    /// `git merge`.
    Merge,
    /// `git rebase`.
    Rebase,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
    /// `git am` (an addition to the contract).
    Am,
    /// None that left its traces, for example `git stash apply`.
    Unknown,
}

/// One commit of the two sides.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConflictHead {
    /// Full id.
    pub sha: String,
    /// Subject; empty where the commit cannot be read.
    pub subject: String,
}

/// How far a sequence of commits or patches has come.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationProgress {
    /// The step that stopped, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// Steps in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// Commands of a sequence that are not done, the one that stopped included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// The branch that is being rebased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Set where `branch` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_encoding: Option<PathEncoding>,
    /// Full id of the commit that it is rebased onto.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub onto: Option<String>,
    /// Full id of where the branch was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orig_head: Option<String>,
}

/// One unmerged path.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConflictFile {
    /// Repository-relative path.
    pub path: String,
    /// Set where `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<PathEncoding>,
    /// Which sides have it.
    pub kind: ConflictKind,
    /// What each side has.
    pub sides: ConflictSides,
    /// Unmerged path that holds what this one was, where a side renamed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<InvolvedPath>,
    /// Regions between conflict markers in the file of the working tree.
    pub regions: Vec<ConflictRegion>,
    /// The file holds more regions, or was not looked at to its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub regions_truncated: bool,
    /// Why no regions were looked for: `absent`, `not-a-file` or `unreadable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree_file: Option<String>,
    /// Length of the markers, where it is not seven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marker_size: Option<u32>,
}

/// Which sides have the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConflictKind {
    /// Base, ours and theirs.
    BothModified,
    /// Base and ours.
    DeletedByThem,
    /// Base and theirs.
    DeletedByUs,
    /// Ours and theirs.
    BothAdded,
    /// Ours alone.
    AddedByUs,
    /// Theirs alone.
    AddedByThem,
    /// Base alone.
    BothDeleted,
    /// None of these.
    Unknown,
}

/// What each side has; null where it has nothing.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConflictSides {
    /// Stage 1.
    pub base: Option<ConflictSide>,
    /// Stage 2.
    pub ours: Option<ConflictSide>,
    /// Stage 3.
    pub theirs: Option<ConflictSide>,
}

/// What one side has.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConflictSide {
    /// Full id.
    pub sha: String,
    /// As in a tree: `100644`, `100755`, `120000` for a link, `160000` for a submodule.
    pub mode: String,
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// `content` is not all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// The text, cut at a character; of a submodule the line that Git shows for its commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Bytes that are not UTF-8 were replaced in `content`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
    /// It is not text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
    /// It is a submodule: `sha` is a commit of another repository.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub submodule: bool,
    /// Why there is no content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Lines between markers, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConflictRegion {
    /// The marker before ours.
    pub start_line: u64,
    /// The marker before the base, where the file shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_line: Option<u64>,
    /// The marker between the sides.
    pub sep_line: u64,
    /// The marker after theirs.
    pub end_line: u64,
}
