//! The jail of each kind of process, put together from layers and policies.
//! Trust: every layer is asked for and then looked at; what the kernel did not confirm is reported as missing.

pub mod agents;
pub mod audit;
pub mod gateway;
pub mod launcher;
pub mod note;
pub mod read;
mod seen;
mod steps;
pub mod supervisor;
pub mod syntax;
pub mod tried;
pub mod write;

use crate::enforced::Enforced;
use crate::layers::{name, seccomp};
use crate::policy::{Live, Row};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::stat::Mode;
use std::path::Path;

/// A layer is missing without which the process must not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the jail falls short of what is demanded")]
pub struct Short {
    /// Which: the rows that are not sufficient.
    pub enforced: Enforced,
}

/// Puts one filter on.
fn install(compile: seccomp::Compile, tables: Option<&[&[Row]]>) -> seen::Step<usize> {
    seccomp::install_policy(compile, tables.unwrap_or_default(), &Live::worker()).into()
}

/// Tries to open a path for reading. `Ok` with the errno's name when the path is out of reach, `Err` when it opened or
/// failed for another reason, which shows nothing.
fn out_of_reach(path: &Path) -> Result<String, String> {
    match open(path, OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC, Mode::empty()) {
        Ok(_) => Err("opened".into()),
        Err(errno @ (Errno::EACCES | Errno::ENOENT)) => Ok(name(errno)),
        Err(errno) => Err(format!("answered {}", name(errno))),
    }
}

/// Tries to make a socket, which no filter of ours lets through. `Ok` when the filter answered.
fn no_socket() -> Result<String, String> {
    match socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None) {
        Ok(_) => Err("a socket could be made".into()),
        Err(errno @ Errno::ENOSYS) => Ok(format!("socket answers {}", name(errno))),
        Err(errno) => Err(format!("socket answers {}, not the filter's ENOSYS", name(errno))),
    }
}
