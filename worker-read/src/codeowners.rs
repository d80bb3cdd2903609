//! Who owns a path by GitHub's rules for CODEOWNERS.
//! Trust: the file is the repository's: bounded, never followed through a link, never a FIFO; patterns cost linear time.

use crate::repo::Repo;
use bulkhead_contract::failure::{ReadFailure, Reason};

/// What the file says of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    /// The file, relative to the top.
    pub source: &'static str,
    /// The pattern that decides, as it is written; `None` where none matches.
    pub pattern: Option<String>,
    /// Its owners; none where the line names none, which takes ownership away.
    pub owners: Vec<String>,
}

/// Owners of `path`, relative to the top, by the file in the working tree (in the commit at HEAD for a bare
/// repository). `None` where there is no such file.
///
/// # Errors
/// Where the file is too large or no regular file.
pub fn owners(_repo: &Repo, _path: &[u8]) -> Result<Option<Owned>, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}
