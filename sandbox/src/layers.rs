//! The mechanisms, one file each: each puts its layer on and says what the kernel answered.
//! Trust: nothing is assumed to hold because it was asked for; a failure is a text for the report, never a panic.

pub mod capabilities;
pub mod landlock;
pub mod namespaces;
pub mod rlimits;
pub mod seccomp;

use nix::errno::Errno;

/// Why a layer is not on, in words for the report: short, without paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Missing(pub String);

impl Missing {
    /// A step and the name of the errno that it ended with.
    pub(crate) fn step(step: &str, errno: Errno) -> Missing {
        Missing(format!("{step}: {}", name(errno)))
    }
}

/// `EACCES` for `Errno::EACCES`.
pub(crate) fn name(errno: Errno) -> String {
    format!("{errno:?}")
}

/// How many threads this process has, where `/proc` can still be read.
#[must_use]
pub fn threads() -> Option<usize> {
    Some(std::fs::read_dir("/proc/self/task").ok()?.count())
}
