//! fleet.radar and fleet.digest (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use bincode::{Decode, Encode};
use serde::Serialize;

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RadarEntry {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DigestEvents {
    /// STUB
    pub stub: bool,
}
