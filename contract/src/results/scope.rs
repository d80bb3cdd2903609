//! `repo.scope` (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use super::Partial;
use crate::path::PathEncoding;
use bincode::{Decode, Encode};
use serde::Serialize;

/// `repo.scope`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// The path, relative to the top of the repository, without slashes around it; `.` for all of it.
    pub scope: String,
    /// Set where `scope` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope_encoding: Option<PathEncoding>,
    /// Changes below the path.
    pub working_tree: ScopeWorkingTree,
    /// Commits that changed the path, as `git log -- path` lists them.
    pub recent_commits: Vec<ScopeCommit>,
    /// Commits of the last days.
    pub churn: Churn,
    /// By `CODEOWNERS`; null where there is no such file.
    pub owners: Option<Owners>,
    /// What to look at, at most three.
    pub hints: Vec<String>,
    /// Set when a part was cut short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// Changes below a path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeWorkingTree {
    /// True number of rows.
    pub changed: u64,
    /// The first twenty.
    pub entries: Vec<ScopeEntry>,
    /// There are more rows than entries.
    pub truncated: bool,
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeEntry {
    /// The columns without blanks, as the contract has them.
    pub status: String,
    /// Both columns: index, worktree (an addition; the trimmed form loses which is which).
    pub columns: String,
    /// Repository-relative path; the new one of a rename.
    pub path: String,
    /// Set where `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<PathEncoding>,
    /// Old path of a rename within the scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orig_path: Option<String>,
    /// Set where `orig_path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orig_path_encoding: Option<PathEncoding>,
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopeCommit {
    /// Abbreviated id.
    pub sha: String,
    /// First paragraph of the message in one line.
    pub subject: String,
    /// Author's name (an addition).
    pub author: String,
    /// Author time, ISO 8601 with offset (an addition).
    pub date: String,
}

/// How much happened below a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Churn {
    /// Days looked back.
    pub days: u32,
    /// Commits by committer date, as `git log --since` counts them.
    pub commits: u64,
    /// Different names of authors among them.
    pub authors: u64,
}

/// Who owns a path.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Owners {
    /// The file, relative to the top.
    pub source: String,
    /// The pattern that decides; null where none matches.
    pub matched_pattern: Option<String>,
    /// Its owners.
    pub owners: Vec<String>,
    /// By whose rules.
    pub matching: String,
}
