//! Questions of diff.text, commit.details, diff.semantic and diff.semanticFallbacks.
//! Trust: arguments within the contract's bounds; texts in them are the caller's.

use crate::edge::read::Page;
use bincode::{Decode, Encode};

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Compared {
    /// A revision or a range.
    pub base: Option<String>,
    /// A revision.
    pub head: Option<String>,
    /// The one path that the contract knows.
    pub path: Option<String>,
    /// The working tree against HEAD, or against nothing on an unborn branch; `base` and `head` are then empty.
    pub uncommitted: bool,
}

/// `diff.text`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TextDiff {
    /// What is compared.
    pub compared: Compared,
    /// The caller's spelling of the repository, which as a path means all of it.
    pub repo_path: String,
    /// More paths.
    pub paths: Vec<String>,
    /// The index instead of the working tree.
    pub staged: bool,
    /// Unchanged lines around changes; where absent, as many as the repository's own `diff.context` says, which is 3 unless it is set.
    pub context: Option<u32>,
    /// White space within lines does not count.
    pub ignore_whitespace: bool,
    /// Rows instead of text.
    pub stat: bool,
    /// Bytes of text at most.
    pub max_bytes: u32,
    /// Lines of text at most.
    pub max_lines: Option<u32>,
    /// Rows at most, and where to go on.
    pub page: Page,
}

/// `commit.details`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CommitDetails {
    /// A revision.
    pub commit: String,
    /// Which rows.
    pub page: Page,
}

/// Both texts of changed files, for `diff.semantic` and `diff.semanticFallbacks`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Sources {
    /// What is compared.
    pub compared: Compared,
    /// Files at most.
    pub files: u32,
    /// Where to go on; from an earlier answer, but written by the caller.
    pub cursor: Option<String>,
}
