//! worktree.list and submodule.status (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use super::{Partial, SubmoduleState};
use crate::path::PathEncoding;
use bincode::{Decode, Encode};
use serde::Serialize;

/// `worktree.list`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Worktrees {
    /// True number of working trees, whatever the page holds.
    pub total: u64,
    /// This page: the main one, then the linked ones by path.
    pub worktrees: Vec<WorktreeRow>,
    /// Rows follow after this page.
    pub truncated: bool,
    /// Pass it back as `cursor` to get the rows after this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Set when some were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// One working tree.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorktreeRow {
    /// Its directory; of a bare repository the git directory.
    pub path: String,
    /// Set where `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<PathEncoding>,
    /// The one that `git init` or `git clone` made; the first row.
    pub is_main: bool,
    /// The one that was asked about.
    pub current: bool,
    /// Short name of the branch; absent when detached or bare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// HEAD points at a commit, not at a branch.
    pub detached: bool,
    /// First twelve digits of `head`; absent on an unborn branch and when bare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_sha: Option<String>,
    /// Full id of the commit; absent on an unborn branch and when bare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Locked against removal.
    pub locked: bool,
    /// Why, where a reason was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_reason: Option<String>,
    /// `git worktree prune` would remove its records.
    pub prunable: bool,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prunable_reason: Option<String>,
    /// Its directory lies where the server may not look, so whether it is prunable is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
    /// The repository is bare.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bare: bool,
}

/// `submodule.status`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Submodules {
    /// Number of submodules at or below `path`, nested ones included, whatever the page holds.
    pub total: u64,
    /// This page, in the order of the index, nested ones after the one that holds them.
    pub submodules: Vec<SubmoduleStatusRow>,
    /// Rows follow after this page, or submodules are nested too deeply.
    pub truncated: bool,
    /// Pass it back as `cursor` to get the rows after this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Set when some were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// One submodule.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubmoduleStatusRow {
    /// State letter.
    pub state: SubmoduleState,
    /// Recorded commit; of an unmerged one, our side's.
    pub commit: String,
    /// Path relative to the top of the superproject.
    pub path: String,
    /// Set where `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<PathEncoding>,
    /// Always empty, as in the contract.
    pub description: String,
    /// Commit that is checked out; absent where none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked_out: Option<String>,
    /// What differs inside: `C` other commit, `M` modified content, `U` untracked content, in this order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty: Option<String>,
    /// Its name in `.gitmodules`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its address in `.gitmodules`, without user, password and query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}
