//! What a merge would do, computed in memory.
//! Trust: every object is the repository's; nothing is written and no driver is run.

use crate::{pace::Pace, repo::Repo};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::ObjectId;

/// How a merge would end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No common ancestor.
    Unrelated,
    /// Theirs is an ancestor of ours.
    UpToDate,
    /// Ours is an ancestor of theirs.
    FastForward,
    /// Git would merge without asking.
    Clean,
    /// These paths would conflict, sorted.
    Conflicts(Vec<Vec<u8>>),
}

/// Merges `theirs` into `ours`, both commits, in memory. Gives the best common ancestor beside the verdict.
///
/// # Errors
/// Where objects are missing or damaged, or the call was stopped.
pub fn preflight(
    _repo: &Repo,
    _ours: ObjectId,
    _theirs: ObjectId,
    _pace: &Pace,
) -> Result<(Option<ObjectId>, Verdict), ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}
