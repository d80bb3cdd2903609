//! worktree.list and submodule.status.
//! Trust: see the module above.

use crate::{pace::Pace, repo::Repo};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    results::{Submodules, Worktrees},
};
use bulkhead_ipc::edge::asks;

/// STUB
pub(super) fn submodules(_repo: &Repo, _ask: &asks::Submodules, _pace: &Pace) -> Result<Submodules, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}

/// STUB
pub(super) fn worktrees(_repo: &Repo, _ask: &asks::Worktrees, _pace: &Pace) -> Result<Worktrees, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}
