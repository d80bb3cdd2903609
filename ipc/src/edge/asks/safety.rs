//! Questions of safety.*, flux.* and operation.status.
//! Trust: arguments within the contract's bounds; texts in them are the caller's.

use bincode::{Decode, Encode};

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Timeline {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TimelineEvent {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct RestorePoints {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Records {
    /// STUB
    pub stub: bool,
}
