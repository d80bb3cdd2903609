//! safety.*, flux.* and operation.status.
//! Trust: see the module above.

use crate::{pace::Pace, repo::Repo};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    results::{RestorePoints, Timeline, TimelineEvent},
};
use bulkhead_ipc::edge::asks;

/// STUB
pub(super) fn timeline(_repo: &Repo, _ask: &asks::Timeline, _pace: &Pace) -> Result<Timeline, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}

/// STUB
pub(super) fn event(_repo: &Repo, _ask: &asks::TimelineEvent, _pace: &Pace) -> Result<TimelineEvent, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}

/// STUB
pub(super) fn restore_points(
    _repo: &Repo,
    _ask: &asks::RestorePoints,
    _pace: &Pace,
) -> Result<RestorePoints, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}
