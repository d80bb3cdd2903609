//! Kinds of failure of the direct surface: stable words that programs may depend on (contract `direct/decisions.md`).
//! Trust: constants.

use bincode::{Decode, Encode};
use serde::Serialize;

/// What kind of failure it was; travels as `class` in results with `isError`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// A ref, a path, a remote or an object that is not there.
    NotFound,
    /// The other side has commits that a push would drop.
    RejectedNonFastForward,
    /// Both sides changed the same; or paths are unmerged.
    Conflict,
    /// Uncommitted changes are in the way.
    Dirty,
    /// Another write, here or elsewhere, holds the repository, or left a lock file behind.
    Locked,
    /// The remote could not be reached.
    Network,
    /// The remote wants credentials, or refused them.
    Auth,
    /// `--timeout` passed.
    Timeout,
    /// This backend, or this build, has no such thing.
    Unsupported,
    /// A rule of this server, of the operator or of Git forbids it.
    Refused,
    /// The call was cancelled.
    Cancelled,
    /// More than `--max-output-bytes` came of it.
    TooLarge,
    /// The repository is damaged, or of a kind that cannot be worked on.
    Unusable,
    /// Anything else: a fault of this server, of Git or of the machine.
    Failed,
}

impl Class {
    /// The word as it stands in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::NotFound => "not_found",
            Class::RejectedNonFastForward => "rejected_non_fast_forward",
            Class::Conflict => "conflict",
            Class::Dirty => "dirty",
            Class::Locked => "locked",
            Class::Network => "network",
            Class::Auth => "auth",
            Class::Timeout => "timeout",
            Class::Unsupported => "unsupported",
            Class::Refused => "refused",
            Class::Cancelled => "cancelled",
            Class::TooLarge => "too_large",
            Class::Unusable => "unusable",
            Class::Failed => "failed",
        }
    }
}
