//! The question that a proposal puts to its repository: that it is there, and what a person should know of it.
//! Trust: references and paths passed the contract's rules of syntax; they are still an agent's texts.

use bincode::{Decode, Encode};

/// What a proposal wants to know. Empty, it asks only whether the repository may be read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Facts {
    /// Expressions whose objects are wanted, at most [`MAX_REFS`].
    pub refs: Vec<String>,
    /// Merges and rebases to try in memory, at most [`MAX_TRIALS`].
    pub trials: Vec<Trial>,
    /// Uncommitted changes that would be lost.
    pub lost: Option<Lost>,
    /// Commits that are concerned, at most [`MAX_REFS`].
    pub commits: Vec<Concerned>,
}

/// Expressions of one question: the branches of a deletion, and a few more.
pub const MAX_REFS: usize = 128;
/// Merges and rebases of one question: the steps of a plan.
pub const MAX_TRIALS: usize = 10;

/// A merge or a rebase.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Trial {
    /// The side that stays, or is replayed.
    pub current: String,
    /// The side that is merged in, or replayed onto.
    pub target: String,
    /// A rebase.
    pub rebase: bool,
}

/// Which uncommitted changes.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Lost {
    /// Beneath these repository-relative paths; everywhere where there is `.`.
    pub paths: Vec<String>,
    /// Files that are not tracked are lost, too.
    pub untracked: bool,
}

/// Commits of `tip` that the first of `without` that exists does not have.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Concerned {
    /// A revision.
    pub tip: String,
    /// Revisions, the preferred one first.
    pub without: Vec<String>,
}
