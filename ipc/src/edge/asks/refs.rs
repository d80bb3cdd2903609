//! Questions of repo.refs, repo.reflog and repo.branchStack.
//! Trust: arguments within the contract's bounds; texts in them are the caller's.

use crate::edge::read::Page;
use bincode::{Decode, Encode};

/// What `repo.refs` asks.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Refs {
    /// One of the words of the argument; branches and tags where it is absent.
    pub kind: Option<String>,
    /// Glob on short names.
    pub pattern: Option<String>,
    /// Rows with details.
    pub details: bool,
    /// Which page.
    pub page: Page,
}

/// What `repo.reflog` asks.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Reflog {
    /// As the caller wrote it.
    pub ref_name: String,
    /// Which page.
    pub page: Page,
}

/// What `repo.branchStack` asks.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct BranchStack {
    /// Names of branches; none for the usual ones.
    pub base_candidates: Vec<String>,
    /// Related branches to list.
    pub max_related: u32,
    /// Characters that rows may take.
    pub chars: u32,
}
