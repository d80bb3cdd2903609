//! repo.history.
//! Trust: see the module above.

use crate::{pace::Pace, repo::Repo};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    results::History,
};
use bulkhead_ipc::edge::asks;

/// STUB
pub(super) fn history(_repo: &Repo, _ask: &asks::History, _pace: &Pace) -> Result<History, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}
