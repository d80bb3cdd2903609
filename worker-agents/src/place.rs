//! Directories and files by handle: every name is taken for itself, and no link is ever followed.
//! Trust: names and contents are other programs'; what is opened is a regular file of bounded length, or nothing.

use bulkhead_contract::results::UnseenReason;
use bulkhead_ipc::edge::agents::Stamp;
use std::{
    path::{Component, Path, PathBuf},
    rc::Rc,
};

#[cfg(unix)]
mod by_handle;
#[cfg(not(unix))]
mod by_path;

#[cfg(unix)]
pub use by_handle::{Dir, Handle};
#[cfg(not(unix))]
pub use by_path::{Dir, Handle};

/// Names of one directory that are looked at; a longer one is looked at as far as this.
pub const MAX_NAMES: usize = 4_096;

/// Why a name leads to nothing that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// There is nothing of that name.
    #[error("absent")]
    Absent,
    /// It is a link.
    #[error("a link")]
    Link,
    /// It is neither a directory nor a regular file, as was asked for.
    #[error("of another kind")]
    Kind,
    /// The system refuses it.
    #[error("refused")]
    Refused,
}

impl Closed {
    /// How an answer says it; `None` where there is nothing to say.
    #[must_use]
    pub fn unseen(self) -> Option<UnseenReason> {
        match self {
            Closed::Absent => None,
            Closed::Link => Some(UnseenReason::Link),
            Closed::Kind => Some(UnseenReason::NotAFile),
            Closed::Refused => Some(UnseenReason::Unreadable),
        }
    }
}

/// What was found on the ways to places, so that those that lie together are walked to once: most of an agent's places are
/// not there, and most of those that are not lie in the same directory, which is not there either.
#[derive(Debug, Default)]
pub struct Ways(Vec<(PathBuf, Result<Rc<Dir>, Closed>)>);

impl Ways {
    /// Walks an absolute path, from the nearest directory above it that was reached before.
    ///
    /// # Errors
    /// Where it ends.
    pub fn walk(&mut self, path: &Path) -> Result<Rc<Dir>, Closed> {
        if let Some((_, known)) = self.0.iter().find(|(known, _)| known == path) {
            return known.clone();
        }
        let found = self.step(path);
        self.0.push((path.to_path_buf(), found.clone()));
        found
    }

    fn step(&mut self, path: &Path) -> Result<Rc<Dir>, Closed> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Dir::walk(path).map(Rc::new) };
        if path.components().any(|part| matches!(part, Component::ParentDir | Component::CurDir)) {
            return Err(Closed::Refused);
        }
        self.walk(parent)?.child(name.as_encoded_bytes()).map(Rc::new)
    }
}

/// What a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A link.
    Link,
    /// Something else: a pipe, a socket, a device.
    Other,
}

/// What the system says of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// What it is.
    pub kind: Kind,
    /// The file in its present state, with way 0.
    pub stamp: Stamp,
    /// Its owner.
    pub uid: u32,
    /// Its permissions.
    pub mode: u32,
}

impl Facts {
    /// Whether the user of this process owns it. Systems without numeric users have no other.
    #[must_use]
    pub fn is_own(&self) -> bool {
        #[cfg(unix)]
        {
            self.uid == rustix::process::geteuid().as_raw()
        }
        #[cfg(not(unix))]
        {
            true
        }
    }

    /// Milliseconds since 1970 of the last modification.
    #[must_use]
    pub fn modified_ms(&self) -> i64 {
        self.stamp.modified.div_euclid(1_000_000)
    }
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What it is, where the listing says so.
    pub kind: Option<Kind>,
}

impl Name {
    /// Whether it ends so.
    #[must_use]
    pub fn ends_with(&self, end: &str) -> bool {
        self.bytes.ends_with(end.as_bytes())
    }
}
