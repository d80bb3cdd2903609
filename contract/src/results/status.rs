//! `repo.status` and `worktree.changes` (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use crate::path::PathEncoding;
use bincode::{Decode, Encode};
use serde::Serialize;

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusRow {
    /// Two columns as in `git status --porcelain=v1`: index, worktree; `??` untracked; unmerged pairs such as `UU`.
    pub status: String,
    /// Repository-relative path; directories of untracked files end in `/`. The new path of a rename.
    pub path: String,
    /// Set where `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<PathEncoding>,
    /// Old path of a rename.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orig_path: Option<String>,
    /// Set where `orig_path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orig_path_encoding: Option<PathEncoding>,
    /// True where a `filter` attribute applies: no filter was run, the row rests on size and times alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub filtered: bool,
    /// For a submodule, what differs: `C` other commit, `M` modified content, `U` untracked content, in this order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submodule: Option<String>,
}

/// Why an answer is not complete although it is not an error.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Partial {
    /// Stable name, for example `deadline` or `unreadable`.
    pub reason: String,
    /// What was left out and how to get it.
    pub details: String,
}

/// `repo.status`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Local branch; null when HEAD is detached.
    pub branch: Option<String>,
    /// HEAD points at a commit, not at a branch.
    pub detached: bool,
    /// Full id of HEAD; null on an unborn branch.
    pub head: Option<String>,
    /// Short name of the upstream, also when it is gone; null when none is configured.
    pub upstream: Option<String>,
    /// The upstream is configured and its ref does not exist.
    pub upstream_gone: bool,
    /// Commits on HEAD that the upstream lacks, from local refs.
    pub ahead: u64,
    /// Commits on the upstream that HEAD lacks, from local refs.
    pub behind: u64,
    /// No rows at all.
    pub clean: bool,
    /// True number of rows, whatever the page holds.
    pub changed_files: u64,
    /// This page: tracked changes by path, then untracked by path.
    pub entries: Vec<StatusRow>,
    /// Rows follow after this page.
    pub truncated: bool,
    /// Pass it back as `cursor` to get the rows after this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Set when counting stopped early: totals are then lower bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// `worktree.changes`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Changes {
    /// Rows whose index column is not blank; unmerged paths are in it as the contract has them.
    pub staged: Vec<StatusRow>,
    /// Rows whose worktree column is not blank; unmerged paths are in it as the contract has them.
    pub unstaged: Vec<StatusRow>,
    /// Untracked paths; a directory without tracked files counts once.
    pub untracked: Vec<StatusRow>,
    /// Unmerged paths alone (an addition to the contract).
    pub conflicted: Vec<StatusRow>,
    /// True sizes of the four lists, in their order above.
    pub totals: ChangesTotals,
    /// Rows follow after this page.
    pub truncated: bool,
    /// Pass it back as `cursor` to get the rows after this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Set when counting stopped early: totals are then lower bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// True sizes of the lists of [`Changes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangesTotals {
    /// Rows with an index column.
    pub staged: u64,
    /// Rows with a worktree column.
    pub unstaged: u64,
    /// Untracked rows.
    pub untracked: u64,
    /// Unmerged rows.
    pub conflicted: u64,
}
