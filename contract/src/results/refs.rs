//! repo.refs, repo.reflog and repo.branchStack (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use bincode::{Decode, Encode};
use serde::Serialize;

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refs {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reflog {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchStack {
    /// STUB
    pub stub: bool,
}
