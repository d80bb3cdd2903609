//! Stash entries: the lines of the stash's reflog.
//! Trust: the log is the repository's; its lines are counted, at most so many bytes of them.

use crate::{
    open_beneath,
    refs::{Refs, unless_broken},
};
use bulkhead_contract::{failure::ReadFailure, results::Partial};
use std::io::Read as _;

/// Bytes of the reflog that are counted at most.
const MAX_LOG: u64 = 64 << 20;

/// Whether there are stash entries; `None` where `refs/stash` is broken, so that nobody can tell.
///
/// # Errors
/// Where the disk fails.
pub fn are_there(refs: &Refs) -> Result<Option<bool>, ReadFailure> {
    Ok(unless_broken(refs.resolve("refs/stash".into()))?.map(|id| id.is_some()))
}

/// What an answer says in which [`are_there`] is `None`.
#[must_use]
pub fn unknown() -> Partial {
    Partial { reason: "unreadable".to_owned(), details: "refs/stash is broken, so no stash was counted.".to_owned() }
}

/// Number of stash entries; `None` as in [`are_there`].
///
/// # Errors
/// Where the disk fails.
pub fn count(refs: &Refs) -> Result<Option<u64>, ReadFailure> {
    match are_there(refs)? {
        Some(true) => {}
        Some(false) => return Ok(Some(0)),
        None => return Ok(None),
    }
    let Ok(log) = open_beneath::open(refs.common_dir(), b"logs/refs/stash") else { return Ok(Some(0)) };
    if !log.metadata().is_ok_and(|meta| meta.is_file()) {
        return Ok(Some(0));
    }
    let mut log = log.take(MAX_LOG);
    let (mut buffer, mut lines, mut ends) = ([0u8; 16 * 1024], 0u64, true);
    while let Ok(got @ 1..) = log.read(&mut buffer) {
        lines += buffer[..got].iter().filter(|&&byte| byte == b'\n').count() as u64;
        ends = buffer[got - 1] == b'\n';
    }
    // a last line that was cut off is still an entry
    Ok(Some(lines + u64::from(!ends)))
}
