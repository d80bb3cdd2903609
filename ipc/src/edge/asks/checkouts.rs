//! Questions of worktree.list and submodule.status.
//! Trust: arguments within the contract's bounds; texts in them are the caller's.

use crate::edge::read::Page;
use bincode::{Decode, Encode};

/// `submodule.status`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Submodules {
    /// Only submodules at or below this path; the caller's text.
    pub path: Option<String>,
    /// Which rows.
    pub page: Page,
}

/// `worktree.list`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Worktrees {
    /// Which rows.
    pub page: Page,
}
