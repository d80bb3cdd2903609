//! Everything that can be seen of a directory tree, to prove that nothing in it changed.
//! Trust: test code; special files are looked at with `lstat` alone.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

/// One entry of the tree. Access times are left out: a read may change them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    mode: u32,
    inode: u64,
    owner: (u32, u32),
    links: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    content: Content,
}

#[derive(Clone, PartialEq, Eq)]
enum Content {
    File(Vec<u8>),
    Link(PathBuf),
    Other,
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Content::File(bytes) => write!(f, "{} bytes", bytes.len()),
            Content::Link(target) => write!(f, "link to {}", target.display()),
            Content::Other => f.write_str("no content"),
        }
    }
}

/// A directory tree at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<PathBuf, Seen>);

impl Snapshot {
    /// Looks at `root` and at everything beneath it.
    pub fn of(root: &Path) -> Self {
        let mut seen = BTreeMap::new();
        let mut open = vec![root.to_owned()];
        while let Some(path) = open.pop() {
            let meta = fs::symlink_metadata(&path).expect("nothing vanishes while it is looked at");
            let kind = meta.file_type();
            let content = if kind.is_symlink() {
                Content::Link(fs::read_link(&path).expect("it is a link"))
            } else if kind.is_file() && !kind.is_fifo() {
                Content::File(fs::read(&path).expect("the tree is ours"))
            } else {
                Content::Other
            };
            if kind.is_dir() {
                open.extend(
                    fs::read_dir(&path).expect("the tree is ours").map(|entry| entry.expect("an entry").path()),
                );
            }
            let entry = Seen {
                mode: meta.mode(),
                inode: meta.ino(),
                owner: (meta.uid(), meta.gid()),
                links: meta.nlink(),
                size: meta.size(),
                modified: (meta.mtime(), meta.mtime_nsec()),
                changed: (meta.ctime(), meta.ctime_nsec()),
                content,
            };
            seen.insert(path, entry);
        }
        Self(seen)
    }

    /// How many entries were seen.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// What is new, gone or different in `later`, one line each.
    pub fn differences(&self, later: &Snapshot) -> Vec<String> {
        let mut lines = Vec::new();
        for (path, before) in &self.0 {
            match later.0.get(path) {
                None => lines.push(format!("gone: {}", path.display())),
                Some(after) if after != before => {
                    lines.push(format!("changed: {}: {before:?} -> {after:?}", path.display()));
                }
                Some(_) => {}
            }
        }
        let new = later.0.keys().filter(|path| !self.0.contains_key(*path));
        lines.extend(new.map(|path| format!("new: {}", path.display())));
        lines
    }
}
