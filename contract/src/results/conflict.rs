//! repo.conflictPreflight and conflict.read (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use bincode::{Decode, Encode};
use serde::Serialize;

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preflight {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// STUB
    pub stub: bool,
}
