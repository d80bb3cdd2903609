//! What can go wrong when a process sets itself up.
//! Trust: texts name our own steps and the system's error, never a path or a byte from a peer.

use std::io;

/// A step of a process's set-up that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call refused.
    #[error("{step}: {source}")]
    Call {
        /// Which step.
        step: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The pipes of this process were taken before; a second owner would close them under the first.
    #[error("the pipes of this process were taken before")]
    PipesTaken,
    /// A descriptor that the launcher places is missing or of another kind.
    #[error("descriptor {fd} is not the pipe end that a launcher leaves there")]
    NotAPipe {
        /// Its number.
        fd: i32,
    },
}

#[cfg(unix)]
impl Error {
    pub(crate) fn call(step: &'static str, source: io::Error) -> Error {
        Error::Call { step, source }
    }
}
