//! Questions of diff.text, commit.details, diff.semantic and diff.semanticFallbacks.
//! Trust: arguments within the contract's bounds; texts in them are the caller's.

use bincode::{Decode, Encode};

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TextDiff {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct CommitDetails {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Semantic {
    /// STUB
    pub stub: bool,
}
