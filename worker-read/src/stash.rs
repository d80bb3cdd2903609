//! Stash entries: the lines of the stash's reflog.
//! Trust: the log is the repository's; its lines are counted, at most so many bytes of them.

use crate::{open_beneath, refs::Refs};
use bulkhead_contract::failure::ReadFailure;
use std::io::Read as _;

/// Bytes of the reflog that are counted at most.
const MAX_LOG: u64 = 64 << 20;

/// Number of stash entries.
///
/// # Errors
/// Where the disk fails.
pub fn count(refs: &Refs) -> Result<u64, ReadFailure> {
    if refs.resolve("refs/stash".into())?.is_none() {
        return Ok(0);
    }
    let Ok(log) = open_beneath::open(refs.common_dir(), b"logs/refs/stash") else { return Ok(0) };
    if !log.metadata().is_ok_and(|meta| meta.is_file()) {
        return Ok(0);
    }
    let mut log = log.take(MAX_LOG);
    let (mut buffer, mut lines, mut ends) = ([0u8; 16 * 1024], 0u64, true);
    while let Ok(got @ 1..) = log.read(&mut buffer) {
        lines += buffer[..got].iter().filter(|&&byte| byte == b'\n').count() as u64;
        ends = buffer[got - 1] == b'\n';
    }
    // a last line that was cut off is still an entry
    Ok(lines + u64::from(!ends))
}
