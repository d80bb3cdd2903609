//! Questions of repo.conflictPreflight and conflict.read.
//! Trust: arguments within the contract's bounds; texts in them are the caller's.

use bincode::{Decode, Encode};

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Preflight {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Conflict {
    /// STUB
    pub stub: bool,
}
