//! The jail of each kind of process, put together from layers and policies.
//! Trust: every layer is asked for and then looked at; what the kernel did not confirm is reported as missing.

pub mod audit;
pub mod launcher;
pub mod read;
mod seen;
mod steps;
pub mod supervisor;
pub mod tried;

use crate::layers::name;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::stat::Mode;
use std::path::Path;

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
