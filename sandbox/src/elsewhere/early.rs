//! What a process gives up first, on systems whose layers this crate does not know.
//! Trust: no input from outside.

use crate::Error;
use std::ffi::CStr;

/// Forbids core dumps where the system has such a limit; nothing else is confined, and nothing says that it is. Gives back `descriptors`.
///
/// # Errors
/// When the limit cannot be set.
pub fn early(_memory: Option<u64>, descriptors: u64, _title: &CStr) -> Result<u64, Error> {
    #[cfg(unix)]
    nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0)
        .map_err(|errno| Error::call("setrlimit CORE", errno.into()))?;
    Ok(descriptors)
}
