//! Questions that the direct surface alone asks, and the one answer among theirs that a write takes.
//! Trust: arguments passed the contract's rules of syntax; texts in them are the caller's.

use crate::edge::write::Resolved;
use bincode::{Decode, Encode};

/// `repo_annotate`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Annotate {
    /// Relative to the top.
    pub path: String,
    /// The version; the file in the working tree where absent.
    pub revision: Option<String>,
    /// Bytes of JSON that the lines may take.
    pub bytes: u32,
}

/// `repo_show_file`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ShowFile {
    /// A revision, or `:0` to `:3` for a stage of the index.
    pub revision: String,
    /// Relative to the top.
    pub path: String,
    /// Bytes of text at most.
    pub bytes: u32,
}

/// `repo_list_files`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ListFiles {
    /// Whose tree; the index where absent.
    pub revision: Option<String>,
    /// Characters of JSON that the paths may take.
    pub chars: u32,
}

/// `repo_merge_base`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct MergeBase {
    /// A revision.
    pub a: String,
    /// Another.
    pub b: String,
}

/// `repo_conflict_regions`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ConflictRegions {
    /// Relative to the top.
    pub path: String,
    /// Bytes of the file at most; a longer one is refused.
    pub bytes: u32,
}

/// What `repo_resolve_conflict` would make of an unmerged path.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Resolve {
    /// Relative to the top.
    pub path: String,
    /// Which side decides every conflict.
    pub side: ConflictChoice,
}

/// A side of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum ConflictChoice {
    /// Stage 1.
    Base,
    /// Stage 2.
    Ours,
    /// Stage 3.
    Theirs,
}

impl ConflictChoice {
    /// The stage of the index that holds it.
    #[must_use]
    pub fn stage(self) -> u8 {
        match self {
            ConflictChoice::Base => 1,
            ConflictChoice::Ours => 2,
            ConflictChoice::Theirs => 3,
        }
    }
}

/// The answer to [`Resolve`].
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Resolution {
    /// What the path becomes.
    pub becomes: Resolved,
    /// Full ids of stages 1 to 3 that it was made of.
    pub stages: [Option<String>; 3],
}
