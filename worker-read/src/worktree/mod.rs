//! The working tree: one walk, directory by directory, that compares tracked files and finds untracked ones in passing.
//! Trust: everything below is on a disk that others write to while we read; only regular files are opened.

pub mod attributes;
pub mod compare;
pub mod disk;
pub mod ignore;
mod untracked;
pub use untracked::Untracked;
pub mod walk;

use crate::index::Snapshot;
use disk::{Dir, Listing};
use std::io;

/// Bytes of one `.gitignore` or `.gitattributes` at most.
const MAX_RULES: u64 = 1 << 20;

/// Contents of a rule file of one directory: from the disk, or from the index where it is not checked out.
enum Rules {
    Absent,
    Bytes(Vec<u8>),
    /// There, and not readable within the limits.
    Unreadable,
}

/// The rule file `name` in `dir`. `indexed` are positions of such entries in the index, by path.
fn rules(
    dir: &Dir,
    listing: &Listing,
    prefix: &[u8],
    name: &[u8],
    indexed: &[usize],
    index: &Snapshot,
    repo: &gix::Repository,
) -> Rules {
    if listing.find(name) == Some(disk::Kind::File) {
        let contents = dir.file(name).map_err(|e| crate::files::NoContents::of(&e));
        return match contents.and_then(|file| crate::files::read_open(file, MAX_RULES)) {
            Ok(bytes) => Rules::Bytes(bytes),
            Err(_) => Rules::Unreadable,
        };
    }
    let Ok(at) = indexed.binary_search_by(|&at| {
        let path = index.path(at);
        path.iter().cmp(prefix.iter().chain(name))
    }) else {
        return Rules::Absent;
    };
    let id = index.state.entry(indexed[at]).id;
    match repo.find_header(id) {
        Ok(header) if header.size() <= MAX_RULES => match repo.find_object(id) {
            Ok(object) => Rules::Bytes(object.detach().data),
            Err(_) => Rules::Unreadable,
        },
        _ => Rules::Unreadable,
    }
}

/// True for the errors that a file gives which went away, or changed its kind, between two looks.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidInput)
        || crate::files::is_link(error)
}
