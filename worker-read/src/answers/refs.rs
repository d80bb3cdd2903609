//! repo.refs, repo.reflog and repo.branchStack.
//! Trust: see the module above.

use crate::{pace::Pace, repo::Repo};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    results::{BranchStack, Reflog, Refs},
};
use bulkhead_ipc::edge::asks;

/// STUB
pub(super) fn refs(_repo: &Repo, _ask: &asks::Refs, _pace: &Pace) -> Result<Refs, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}

/// STUB
pub(super) fn reflog(_repo: &Repo, _ask: &asks::Reflog, _pace: &Pace) -> Result<Reflog, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}

/// STUB
pub(super) fn branch_stack(_repo: &Repo, _ask: &asks::BranchStack, _pace: &Pace) -> Result<BranchStack, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}
