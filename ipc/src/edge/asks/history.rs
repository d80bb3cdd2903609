//! Questions of repo.history.
//! Trust: arguments within the contract's bounds; texts in them are the caller's.

use crate::edge::read::Page;
use bincode::{Decode, Encode};

/// `repo.history`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct History {
    /// Which commits of a long list.
    pub page: Page,
    /// Which commits at all.
    pub only: Box<Commits>,
}

/// Which commits a history lists.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Commits {
    /// One revision, `a..b` or `a...b`; HEAD where absent.
    pub range: Option<String>,
    /// Only commits that change this path.
    pub path: Option<String>,
    /// Follow the file at `path` through renames.
    pub follow: bool,
    /// Pattern for authors.
    pub author: Option<String>,
    /// Pattern for lines of messages.
    pub grep: Option<String>,
    /// Earliest committer date.
    pub since: Option<String>,
    /// Latest committer date.
    pub until: Option<String>,
}
