//! Reflogs from their newest line backwards, in bounded memory.
//! Trust: every byte is the repository's; a line that does not parse is passed over and hides no other.

use crate::repo::Repo;
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{
    ObjectId,
    bstr::{BStr, BString},
};
use std::ops::ControlFlow;

/// One line of a reflog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where the reference was; null where it was nowhere.
    pub old: ObjectId,
    /// Where it went; null where it was deleted.
    pub new: ObjectId,
    /// Name of who moved it.
    pub name: BString,
    /// Their address.
    pub email: BString,
    /// Seconds since 1970.
    pub time: i64,
    /// What was done.
    pub message: BString,
}

/// Gives the lines of the reflog of `name`, a full reference name or `HEAD`, newest first, with their index `n` of
/// `name@{n}`, until `each` breaks. At most the last `max_bytes` of the file are read; gives whether more were left.
/// `None` where there is no reflog.
///
/// # Errors
/// Where the disk fails or something else than a file stands there.
pub fn backwards(
    _repo: &Repo,
    _name: &BStr,
    _max_bytes: u64,
    _each: impl FnMut(usize, Line) -> ControlFlow<()>,
) -> Result<Option<bool>, ReadFailure> {
    Err(ReadFailure::new(Reason::Internal, "stub", "stub"))
}
