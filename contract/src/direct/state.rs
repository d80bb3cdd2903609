//! The operation that a repository is in the middle of, in the words of the direct surface.
//! Trust: constants; which of them holds is read from a repository by a worker.

use crate::results::Operation;
use bincode::{Decode, Encode};
use serde::Serialize;

/// Result fields `operation` and `operation_state` (contract `direct/results.md` §3, *repo_snapshot*).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
pub enum OperationState {
    /// None.
    Clear,
    /// A merge.
    Merge,
    /// A rebase.
    Rebase,
    /// `git am`.
    ApplyMailbox,
    /// A cherry-pick.
    CherryPick,
    /// A revert.
    Revert,
    /// A bisection.
    Bisect,
    /// Any of these, stopped at paths that are unmerged.
    Conflict,
}

impl From<Option<Operation>> for OperationState {
    fn from(operation: Option<Operation>) -> Self {
        match operation {
            None => OperationState::Clear,
            Some(Operation::Merge) => OperationState::Merge,
            Some(Operation::Rebase) => OperationState::Rebase,
            Some(Operation::Am) => OperationState::ApplyMailbox,
            Some(Operation::CherryPick) => OperationState::CherryPick,
            Some(Operation::Revert) => OperationState::Revert,
            Some(Operation::Bisect) => OperationState::Bisect,
        }
    }
}

/// The words for it while nothing is said about unmerged paths.
pub(super) const OPERATIONS: &[&str] = &["Clear", "Merge", "Rebase", "ApplyMailbox", "CherryPick", "Revert", "Bisect"];

/// All words.
pub(super) const STATES: &[&str] =
    &["Clear", "Merge", "Rebase", "ApplyMailbox", "CherryPick", "Revert", "Bisect", "Conflict"];
