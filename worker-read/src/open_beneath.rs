//! Opens a file beneath a directory name by name, so that no link on the way is ever followed.
//! Trust: the directory was canonicalised at discovery; the names below it are the repository's.

use crate::{
    files::{self, NoContents},
    worktree::disk::Dir,
};
use gix::bstr::{BStr, ByteSlice as _};
use std::{fs, path::Path};

/// The regular file at `path` beneath `dir`.
///
/// # Errors
/// See [`NoContents`]; a link anywhere below `dir` is [`NoContents::NotRegular`] or [`NoContents::Absent`].
pub fn open(dir: &Path, path: &[u8]) -> Result<fs::File, NoContents> {
    let failed = |e: std::io::Error| NoContents::of(&e);
    let mut names = path.split(|&byte| byte == b'/').peekable();
    if names.clone().any(|name| name.is_empty() || name == b"." || name == b"..") {
        return Err(NoContents::Absent);
    }
    // most of what is looked for is not there, and an open costs many looks under a jail
    let there = files::bytes_path(path).ok_or(NoContents::Absent)?;
    if let Err(e) = fs::symlink_metadata(dir.join(there))
        && let absent @ NoContents::Absent = NoContents::of(&e)
    {
        return Err(absent);
    }
    let mut dir = Dir::open(dir).map_err(failed)?;
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            return dir.file(name).map_err(failed);
        }
        dir = dir.child(name).map_err(failed)?;
    }
    Err(NoContents::Absent)
}

/// Its contents, at most `max` bytes.
///
/// # Errors
/// As [`open`].
pub fn read(dir: &Path, path: &[u8], max: u64) -> Result<Vec<u8>, NoContents> {
    files::read_open(open(dir, path)?, max)
}

/// Whether a directory on the way to `path` is a link, which was not followed.
#[must_use]
pub fn behind_a_link(dir: &Path, path: &BStr) -> bool {
    let parents = path.find_iter("/").filter_map(|at| files::bytes_path(&path[..at]));
    parents
        .map(|parent| dir.join(parent))
        .any(|parent| fs::symlink_metadata(parent).is_ok_and(|meta| meta.file_type().is_symlink()))
}
