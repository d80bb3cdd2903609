//! Questions of fleet.radar and fleet.digest.
//! Trust: arguments within the contract's bounds; texts in them are the caller's.

use bincode::{Decode, Encode};

/// One repository of `fleet.radar`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Radar {
    /// Paths that would conflict are named up to this many; all are counted.
    pub paths: u32,
}

/// One repository of `fleet.digest`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Digest {
    /// Events from this time on, in milliseconds since 1970.
    pub since_ms: i64,
    /// Events that are given at most.
    pub max_events: u32,
    /// Look at the reflogs of all references, not of branches and HEAD alone.
    pub all_refs: bool,
}
