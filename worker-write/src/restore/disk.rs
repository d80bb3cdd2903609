//! What stands at a path of the working tree, and as what a point keeps it.
//! Trust: names are anybody's; no link is followed, neither at the end of a path nor on the way to it.

use crate::store::index::{EXECUTABLE, FILE, LINK};
use std::{
    collections::HashMap,
    ffi::OsStr,
    fs::Metadata,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
};

/// A working tree that is looked at file by file.
#[derive(Debug)]
pub(super) struct Disk<'r> {
    root: &'r Path,
    /// Directories that were met, and whether they are there and no links.
    met: HashMap<Vec<u8>, bool>,
}

impl<'r> Disk<'r> {
    pub(super) fn of(root: &'r Path) -> Self {
        Self { root, met: HashMap::new() }
    }

    pub(super) fn path(&self, path: &[u8]) -> PathBuf {
        self.root.join(OsStr::from_bytes(path))
    }

    /// The thing itself, where all above it are directories.
    pub(super) fn stands(&mut self, path: &[u8]) -> Option<Metadata> {
        let above = path.iter().rposition(|byte| *byte == b'/').map(|end| &path[..end]);
        if above.is_some_and(|above| !self.is_directory(above)) {
            return None;
        }
        self.path(path).symlink_metadata().ok()
    }

    fn is_directory(&mut self, path: &[u8]) -> bool {
        if let Some(known) = self.met.get(path) {
            return *known;
        }
        let above = path.iter().rposition(|byte| *byte == b'/').map(|end| &path[..end]);
        let is = above.is_none_or(|above| self.is_directory(above))
            && self.path(path).symlink_metadata().is_ok_and(|found| found.is_dir());
        self.met.insert(path.to_vec(), is);
        is
    }
}

/// The mode that a point keeps something under; `None` where it is neither a file nor a link.
pub(super) fn mode(found: &Metadata) -> Option<u32> {
    if found.is_symlink() {
        Some(LINK)
    } else if found.is_file() {
        Some(if found.permissions().mode() & 0o100 == 0 { FILE } else { EXECUTABLE })
    } else {
        None
    }
}
