//! `repo.history` (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use super::Partial;
use crate::path::PathEncoding;
use bincode::{Decode, Encode};
use serde::Serialize;

/// `repo.history`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct History {
    /// This page, in the order of `git log`.
    pub commits: Vec<HistoryCommit>,
    /// Pass it back as `cursor`, with the same arguments, for what follows; null where nothing does.
    pub next_cursor: Option<String>,
    /// Set when the page ended early, or commits could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryCommit {
    /// Full id.
    pub hash: String,
    /// Abbreviated id.
    pub short_hash: String,
    /// Abbreviated ids of the parents, in order; of a shallow border, none. Absent where the one parent is the commit of
    /// the next row (an addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parents: Option<Vec<String>>,
    /// Author's name.
    pub author_name: String,
    /// Author's mail address.
    pub author_email: String,
    /// Author time in seconds since the epoch.
    pub author_time: i64,
    /// The same in ISO 8601 with the author's own offset, for the direct surface; empty where it cannot be read.
    #[serde(skip)]
    pub author_date: String,
    /// Committer time in seconds since the epoch, by which the list is ordered; absent where it is the author's (an addition).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_time: Option<i64>,
    /// First paragraph of the message in one line.
    pub subject: String,
    /// With `follow`: the file's path as of this commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Set where `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<PathEncoding>,
}
