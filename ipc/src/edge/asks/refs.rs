//! Questions of repo.refs, repo.reflog and repo.branchStack.
//! Trust: arguments within the contract's bounds; texts in them are the caller's.

use bincode::{Decode, Encode};

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Refs {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Reflog {
    /// STUB
    pub stub: bool,
}

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct BranchStack {
    /// STUB
    pub stub: bool,
}
