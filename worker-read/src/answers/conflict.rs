//! repo.conflictPreflight and conflict.read.
//! Trust: see the module above.

use crate::{pace::Pace, repo::Repo};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    results::{Conflict, Preflight},
};
use bulkhead_ipc::edge::asks;

/// STUB
pub(super) fn preflight(_repo: &Repo, _ask: &asks::Preflight, _pace: &Pace) -> Result<Preflight, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}

/// STUB
pub(super) fn read(_repo: &Repo, _ask: &asks::Conflict, _pace: &Pace) -> Result<Conflict, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}
