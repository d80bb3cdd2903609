//! diff.text, commit.details, diff.semantic and diff.semanticFallbacks (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use bincode::{Decode, Encode};
use serde::Serialize;

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextDiff {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitDetails {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Semantic {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SemanticFallbacks {
    /// STUB
    pub stub: bool,
}
