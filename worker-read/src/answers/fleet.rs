//! fleet.radar and fleet.digest.
//! Trust: see the module above.

use crate::{pace::Pace, repo::Repo};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    results::{DigestEvents, RadarEntry},
};
use bulkhead_ipc::edge::asks;

/// STUB
pub(super) fn radar(_repo: &Repo, _ask: &asks::Radar, _pace: &Pace) -> Result<RadarEntry, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}

/// STUB
pub(super) fn digest(_repo: &Repo, _ask: &asks::Digest, _pace: &Pace) -> Result<DigestEvents, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}
