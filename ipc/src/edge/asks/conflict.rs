//! Questions of repo.conflictPreflight and conflict.read.
//! Trust: arguments within the contract's bounds; texts in them are the caller's.

use bincode::{Decode, Encode};

/// `repo.conflictPreflight`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Preflight {
    /// The side that stays.
    pub current: String,
    /// The side that is merged in or rebased onto.
    pub target: String,
    /// Predict a rebase, not a merge.
    pub rebase: bool,
    /// Characters of JSON that the lists of paths may take.
    pub chars: u32,
}

/// `conflict.read`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Conflict {
    /// Files at most.
    pub max_files: u32,
    /// Bytes of one side of a file at most.
    pub max_bytes_per_side: u32,
    /// Characters of JSON that the files may take.
    pub chars: u32,
    /// Continue after this position; from an earlier answer, but written by the caller.
    pub cursor: Option<String>,
}
