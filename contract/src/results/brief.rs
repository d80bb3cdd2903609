//! `repo.brief`: one aggregated snapshot (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use super::Partial;
use crate::path::PathEncoding;
use bincode::{Decode, Encode};
use serde::Serialize;

/// `repo.brief`.
#[derive(Debug, Clone, PartialEq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Brief {
    /// Where HEAD is.
    pub head: BriefHead,
    /// The operation that waits for its end, or null.
    pub operation_in_progress: Option<Operation>,
    /// Counters over the status rows.
    pub working_tree: BriefWorkingTree,
    /// Stash entries.
    pub stashes: u64,
    /// Submodules, nested ones included.
    pub submodules: BriefSubmodules,
    /// Newest first.
    pub recent_commits: Vec<RecentCommit>,
    /// Habits of this repository.
    pub conventions: Conventions,
    /// What to look at first, at most three.
    pub hints: Vec<String>,
    /// Set when a part was cut short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// Where HEAD is.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BriefHead {
    /// Local branch; null when detached.
    pub branch: Option<String>,
    /// HEAD points at a commit, not at a branch.
    pub detached: bool,
    /// Abbreviated id; null on an unborn branch.
    pub sha: Option<String>,
    /// Full id, for the direct surface.
    #[serde(skip)]
    pub id: Option<String>,
    /// Short name of the upstream, also when it is gone; null when none is configured.
    pub upstream: Option<String>,
    /// The upstream is configured and its ref does not exist (an addition, left out where it is there: 0/0 alone cannot say it).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub upstream_gone: bool,
    /// Commits on HEAD that the upstream lacks.
    pub ahead: u64,
    /// Commits on the upstream that HEAD lacks.
    pub behind: u64,
}

/// An operation that waits for its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// `git merge`.
    Merge,
    /// `git rebase`.
    Rebase,
    /// `git am` (the contract's reference calls it a rebase).
    Am,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
    /// `git bisect`.
    Bisect,
}

impl Operation {
    /// What a sentence calls it.
    #[must_use]
    pub fn spoken(self) -> &'static str {
        match self {
            Operation::Merge => "merge",
            Operation::Rebase => "rebase",
            Operation::Am => "git am",
            Operation::CherryPick => "cherry-pick",
            Operation::Revert => "revert",
            Operation::Bisect => "bisect",
        }
    }
}

/// Counters over the status rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BriefWorkingTree {
    /// No rows at all. True for a bare repository, which has no working tree.
    pub clean: bool,
    /// Rows with an index column, unmerged ones excluded.
    pub staged: u64,
    /// Rows with a worktree column, unmerged ones excluded.
    pub unstaged: u64,
    /// Untracked rows; a directory without tracked files counts once.
    pub untracked: u64,
    /// Unmerged rows.
    pub conflicted: u64,
    /// Rows in all, for the direct surface; one may count as staged and as unstaged.
    #[serde(skip)]
    pub rows: u64,
    /// True for a bare repository (an addition).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bare: bool,
}

/// Submodules, nested ones included.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BriefSubmodules {
    /// Gitlinks in the index.
    pub total: u64,
    /// Checked out at the recorded commit.
    pub clean: u64,
    /// Checked out at another commit.
    pub drifted: u64,
    /// Not checked out.
    pub uninitialized: u64,
    /// Unmerged gitlinks.
    pub conflicts: u64,
    /// The first ten that are not clean.
    pub attention: Vec<SubmoduleRow>,
    /// More than ten are not clean.
    pub attention_truncated: bool,
}

/// State letter of `git submodule status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
pub enum SubmoduleState {
    /// At the recorded commit.
    #[serde(rename = " ")]
    Clean,
    /// Not checked out.
    #[serde(rename = "-")]
    Uninitialized,
    /// At another commit.
    #[serde(rename = "+")]
    Drifted,
    /// Unmerged.
    #[serde(rename = "U")]
    Conflicted,
}

/// One submodule.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubmoduleRow {
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
}

/// One commit, by no more than its name: every brief is paid for in an agent's context, and whoever wants to know more of
/// commits asks `repo.history`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecentCommit {
    /// Abbreviated id.
    pub sha: String,
    /// First paragraph of the message in one line, as `%s` of `git log`.
    pub subject: String,
}

/// Habits of this repository.
#[derive(Debug, Clone, PartialEq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Conventions {
    /// Share, in hundredths, of the last 50 subjects of the form `type(scope)!: text`; null without commits.
    pub conventional_commit_ratio: Option<f64>,
    /// Target of `refs/remotes/origin/HEAD`, or null.
    pub default_branch: Option<String>,
}
