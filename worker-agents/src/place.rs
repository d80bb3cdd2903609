//! Directories and files by handle: every name is taken for itself, and no link is ever followed.
//! Trust: names and contents are other programs'; what is opened is a regular file of bounded length, or nothing.

use bulkhead_contract::results::UnseenReason;
use bulkhead_ipc::edge::agents::Stamp;

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
