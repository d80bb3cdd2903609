//! repo.scope.
//! Trust: see the module above.

use crate::{pace::Pace, repo::Repo};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    results::Scope,
};
use bulkhead_ipc::edge::asks;

/// STUB
pub(super) fn scope(_repo: &Repo, _ask: &asks::Scope, _pace: &Pace) -> Result<Scope, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}
