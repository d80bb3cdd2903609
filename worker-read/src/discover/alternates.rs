//! Object directories of other repositories that this one borrows from (`objects/info/alternates`).
//! Trust: written by whoever made the repository; each must lie beneath a ceiling, or the whole is refused.

use super::{Bounds, refused};
use crate::files::{self, Links, NoContents};
use bulkhead_contract::failure::{ReadFailure, Reason};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Bytes of one `alternates` file at most.
const MAX_BYTES: u64 = 64 * 1024;
/// Longest chain of alternates of alternates, as in Git.
const MAX_DEPTH: usize = 5;
/// Alternates in all at most.
const MAX_COUNT: usize = 16;

/// All object directories that `objects` borrows from, nearest first.
///
/// # Errors
/// [`Reason::Redirected`] where one lies outside the ceilings, [`Reason::Corrupt`] where they lead back,
/// [`Reason::TooLarge`] over the limits above.
pub(super) fn find(objects: &Path, bounds: Bounds<'_>) -> Result<Vec<PathBuf>, ReadFailure> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut level = vec![objects.to_path_buf()];
    let own = fs::canonicalize(objects).ok();
    for depth in 0.. {
        let mut next = Vec::new();
        for dir in &level {
            for path in listed(dir)? {
                // Git skips what is not there, and what it has seen
                let Ok(path) = fs::canonicalize(path) else { continue };
                if !bounds.hold(&path) {
                    return Err(refused(
                        Reason::Redirected,
                        "objects/info/alternates names an object directory outside the allowed roots.",
                    )
                    .at(b".git/objects/info/alternates"));
                }
                if Some(&path) == own.as_ref() || found.contains(&path) && level.contains(&path) {
                    // Git passes over it; the object library does not open such a repository
                    return Err(refused(Reason::Corrupt, "objects/info/alternates leads back to itself.")
                        .at(b".git/objects/info/alternates"));
                }
                if !path.is_dir() {
                    return Err(refused(Reason::Corrupt, "objects/info/alternates names a file.")
                        .at(b".git/objects/info/alternates"));
                }
                if !found.contains(&path) {
                    found.push(path.clone());
                    next.push(path);
                }
            }
        }
        if next.is_empty() {
            return Ok(found);
        }
        if depth >= MAX_DEPTH || found.len() > MAX_COUNT {
            return Err(refused(Reason::TooLarge, "objects/info/alternates names too many object directories.")
                .at(b".git/objects/info/alternates"));
        }
        level = next;
    }
    Ok(found)
}

fn listed(objects: &Path) -> Result<Vec<PathBuf>, ReadFailure> {
    let text = match files::read(&objects.join("info/alternates"), MAX_BYTES, Links::Refuse) {
        Ok(text) => text,
        Err(NoContents::Absent) => return Ok(Vec::new()),
        Err(e) => return Err(e.failure(super::OPERATION, ".git/objects/info/alternates")),
    };
    let mut paths = Vec::new();
    for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && line[0] != b'#') {
        let line = if line[0] == b'"' {
            gix::quote::ansi_c::undo(line.into()).map(|(text, _)| text.into_owned().into()).unwrap_or(line.to_vec())
        } else {
            line.to_vec()
        };
        if line.contains(&0) {
            continue;
        }
        paths.extend(files::bytes_path(&line).map(|path| objects.join(path)));
    }
    Ok(paths)
}
