//! Questions of repo.scope.
//! Trust: arguments within the contract's bounds; texts in them are the caller's.

use bincode::{Decode, Encode};

/// `repo.scope`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Scope {
    /// The path, as the caller wrote it.
    pub path: String,
    /// 1 to 20.
    pub recent_commits: u32,
    /// 1 to 365.
    pub churn_days: u32,
}
