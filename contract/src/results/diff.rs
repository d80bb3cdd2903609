//! diff.text and commit.details (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use super::Partial;
use crate::path::PathEncoding;
use bincode::{Decode, Encode};
use serde::Serialize;

/// `diff.text`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextDiff {
    /// Always `text`.
    pub format: DiffFormat,
    /// As it was asked, or null.
    pub base: Option<String>,
    /// As it was asked, or null.
    pub head: Option<String>,
    /// As it was asked, or null where it does not narrow.
    pub path: Option<String>,
    /// What `git diff` prints, cut at a line; empty where rows were asked for.
    pub diff: String,
    /// Something follows: text, or rows.
    pub truncated: bool,
    /// Bytes of the whole text that was scanned: all of it, or after a cursor the rest of it.
    pub total_bytes: u64,
    /// Its lines.
    pub total_lines: u64,
    /// The limit that applied.
    pub max_bytes: u32,
    /// Changed files in what was scanned.
    pub total_files: u64,
    /// The rows that were asked for, by path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<FileChange>>,
    /// Changed files whose text is not shown, at most a hundred; `omittedTotal` counts them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<OmittedFile>,
    /// How many there are in what was scanned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted_total: Option<u64>,
    /// Set where another algorithm than Git's default was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
    /// Bytes that are not UTF-8 stand as U+FFFD in `diff`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
    /// Pass it back as `cursor` to go on: at the hunk that was cut, or at the next row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Set where the scan stopped early: totals are then lower bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// The one form of a text diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DiffFormat {
    /// Git's unified text.
    Text,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// `A`, `D`, `M`, `R`, `T` as in `git diff --name-status`; `U` for an unmerged path.
    pub status: String,
    /// Repository-relative path; the new one of a rename.
    pub path: String,
    /// Set where `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<PathEncoding>,
    /// Old path of a rename.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Set where `old_path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path_encoding: Option<PathEncoding>,
    /// Likeness of a rename in per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub similarity: Option<u32>,
    /// Added lines; absent where lines were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Removed lines; absent where lines were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
    /// The file is binary, so it has no lines.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub binary: bool,
    /// Why lines were not counted, where the file is not binary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted: Option<Omission>,
}

/// A changed file whose text is not shown.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OmittedFile {
    /// Repository-relative path.
    pub path: String,
    /// Set where `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<PathEncoding>,
    /// Why.
    pub reason: Omission,
}

/// Why the text of a changed file is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Omission {
    /// Text over the size limit.
    TooLarge,
    /// A filter attribute applies to the file on disk, and no filter is run.
    Filtered,
    /// The file on disk cannot be read, or is no file.
    Unreadable,
    /// The blob is not in this clone, or is damaged.
    Missing,
}

/// `commit.details`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitDetails {
    /// The commit.
    pub commit: DetailedCommit,
    /// This page of changed files, by path.
    pub files: Vec<FileChange>,
    /// True number of changed files.
    pub total_files: u64,
    /// Id of the parent that the files are compared with; null for the empty tree.
    pub compared_with: Option<String>,
    /// Files follow after this page.
    pub truncated: bool,
    /// Pass it back as `cursor` to get the files after this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Set where counting stopped early: files or their lines are then missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// A commit in full.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DetailedCommit {
    /// Full id.
    pub hash: String,
    /// Abbreviated id.
    pub short_hash: String,
    /// Author's name.
    pub author_name: String,
    /// Author's address.
    pub author_email: String,
    /// Author time in seconds since the epoch.
    pub author_time: i64,
    /// Committer's name.
    pub committer_name: String,
    /// Committer's address.
    pub committer_email: String,
    /// Committer time in seconds since the epoch.
    pub committer_time: i64,
    /// Full ids of the parents, at most a hundred.
    pub parents: Vec<String>,
    /// True number of parents.
    pub parents_total: u64,
    /// The message without the line ends behind it.
    pub message: String,
    /// The message is cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub message_truncated: bool,
    /// A signature is there; it was not verified.
    pub signed: bool,
    /// The history of this clone ends here: the parents are not in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shallow: bool,
}
