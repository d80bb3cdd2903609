//! safety.*, flux.* and operation.status (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use bincode::{Decode, Encode};
use serde::Serialize;

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TimelineEvent {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RestorePoints {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Records {
    /// STUB
    pub stub: bool,
}
