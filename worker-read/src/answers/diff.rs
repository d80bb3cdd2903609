//! diff.text, commit.details, diff.semantic and diff.semanticFallbacks.
//! Trust: see the module above.

use crate::{pace::Pace, repo::Repo};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    results::{CommitDetails, Semantic, TextDiff},
};
use bulkhead_ipc::edge::asks;

/// STUB
pub(super) fn text(_repo: &Repo, _ask: &asks::TextDiff, _pace: &Pace) -> Result<TextDiff, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}

/// STUB
pub(super) fn details(_repo: &Repo, _ask: &asks::CommitDetails, _pace: &Pace) -> Result<CommitDetails, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}

/// STUB
pub(super) fn semantic(_repo: &Repo, _ask: &asks::Semantic, _pace: &Pace) -> Result<Semantic, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}
