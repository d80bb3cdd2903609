//! Questions of repo.scope.
//! Trust: arguments within the contract's bounds; texts in them are the caller's.

use bincode::{Decode, Encode};

/// STUB
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Scope {
    /// STUB
    pub stub: bool,
}
