//! What a side of a change holds, as far as it may be shown: sizes first, contents after.
//! Trust: blobs are the repository's; one that is too large for text is only looked at for being binary.

use crate::repo::Repo;
use bulkhead_contract::results::Omission;
use gix::{ObjectId, objs::FindExt as _};

/// Bytes of a text that is compared at most.
pub const MAX_TEXT: u64 = 5 << 20;
/// Bytes of a file that is read at all, to tell whether it is binary.
pub const MAX_READ: u64 = 64 << 20;
/// Bytes from which on a version of a file is long.
const LONG: usize = 48 << 10;
/// Bytes at the start in which a NUL makes a file binary.
const BINARY_WINDOW: usize = 8000;

/// The blob `id`, at most `max` bytes.
///
/// # Errors
/// Why it is left out.
pub fn blob(repo: &Repo, id: &ObjectId, max: u64) -> Result<Vec<u8>, Omission> {
    blob_by(repo, &repo.git, id, max)
}

/// The same for a walk that passes by more versions than are worth keeping. Long ones are worth it: each is stored as what
/// differs from another, and the readers of walks hold few bytes.
///
/// # Errors
/// Why it is left out.
pub(crate) fn blob_in_passing(repo: &Repo, id: &ObjectId, like: usize, max: u64) -> Result<Vec<u8>, Omission> {
    blob_by(repo, if like < LONG { repo.passing() } else { &repo.git }, id, max)
}

fn blob_by(repo: &Repo, git: &gix::Repository, id: &ObjectId, max: u64) -> Result<Vec<u8>, Omission> {
    let missing = || {
        repo.doubt();
        Omission::Missing
    };
    if git.find_header(*id).map_err(|_| missing())?.size() > max {
        return Err(Omission::TooLarge);
    }
    let mut bytes = Vec::new();
    git.objects.find_blob(id, &mut bytes).map_err(|_| missing())?;
    Ok(bytes)
}

/// Bytes of a file that is no longer than what is compared, or of a longer one as much as tells whether it is binary. Says
/// whether it was longer.
pub fn shortened(bytes: &mut Vec<u8>) -> bool {
    let long = bytes.len() as u64 > MAX_TEXT;
    if long {
        // both sides are held at once, and a result beside them
        bytes.truncate(BINARY_WINDOW);
        bytes.shrink_to_fit();
    }
    long
}

/// What stands for the commit of a submodule.
#[must_use]
pub fn gitlink(id: &ObjectId, dirty: bool) -> Vec<u8> {
    format!("Subproject commit {id}{}\n", if dirty { "-dirty" } else { "" }).into_bytes()
}

/// Git's test for binary contents.
#[must_use]
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(BINARY_WINDOW)].contains(&0)
}
