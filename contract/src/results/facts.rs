//! What is told to the person who decides on a proposal, as a repository stood when it was made.
//! Trust: see the module above.

use crate::path::PathEncoding;
use bincode::{Decode, Encode};
use serde::Serialize;

/// Member `facts` of a proposal to a gateway that has proved itself, for one repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Facts {
    /// Full id of the commit at HEAD; null before the first.
    pub head: Option<String>,
    /// Branch that HEAD is on; null where it is detached.
    pub branch: Option<String>,
    /// What the names in the proposal stood for, in the order of the question.
    pub refs: Vec<FactRef>,
    /// How merges and rebases would end, in the order of the question.
    pub preflights: Vec<FactPreflight>,
    /// Uncommitted changes that would be lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<FactLost>,
    /// Commits that are concerned, in the order of the question.
    pub commits: Vec<FactCommits>,
}

/// A name and its object.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactRef {
    /// As it stands in the proposal.
    pub name: String,
    /// Full id of the object; null where it names none.
    pub oid: Option<String>,
    /// Full id of the commit that it leads to, where that is another object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// The end of a merge or rebase that was tried in memory.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactPreflight {
    /// `merge` or `rebase`.
    pub operation: String,
    /// The side that stays, or is replayed.
    pub current_ref: String,
    /// The other side.
    pub target_ref: String,
    /// As repo.conflictPreflight says it; `unknown` where it could not be tried.
    pub status: String,
    /// Best common ancestor.
    pub merge_base_oid: Option<String>,
    /// Paths in conflict.
    pub conflict_count: u64,
    /// The first of them.
    pub conflicting_paths: Vec<String>,
    /// Why it could not be tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Uncommitted changes that would be lost.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactLost {
    /// How many paths; a lower bound where `complete` is false.
    pub total: u64,
    /// The first of them.
    pub paths: Vec<FactPath>,
    /// All were counted.
    pub complete: bool,
}

/// A path with an uncommitted change.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactPath {
    /// Repository-relative.
    pub path: String,
    /// Set where `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<PathEncoding>,
    /// The two columns of `git status`.
    pub status: String,
}

/// Commits that are concerned.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactCommits {
    /// Where they are.
    pub tip: String,
    /// Where they are not; null where nothing that was asked for exists, and then none is listed.
    pub without: Option<String>,
    /// How many; null where that could not be counted.
    pub total: Option<u64>,
    /// The newest of them.
    pub newest: Vec<FactCommit>,
}

/// A commit by its id and first line.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FactCommit {
    /// Full id.
    pub sha: String,
    /// First line.
    pub subject: String,
}

impl Facts {
    /// Conflicting paths, lost paths and commits that are named; the numbers beside them are of all.
    pub const MOST: usize = 50;
}
