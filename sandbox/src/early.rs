//! What a process gives up in its first instructions after exec, before it reads a byte.
//! Trust: no input from outside; the memory limit is the operator's.

use crate::Error;
use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::stat::{Mode, umask};
use std::ffi::CStr;

/// Descriptors that a process may hold which says nothing else; most workers need a few dozen.
pub const FEW_DESCRIPTORS: u64 = 512;

/// Not dumpable (exec sets it back, so it must be here), no new privileges by exec, files for the owner only, no core,
/// at most `descriptors`, no message queues, and at most `memory` bytes of private writable memory (`RLIMIT_DATA`; not
/// `RLIMIT_AS`, since mapping a pack of several GiB is legitimate). `title` is what process lists show, 15 bytes of it.
/// Gives how many descriptors there may be, which is less than asked for where an outer limit is lower.
///
/// # Errors
/// The first step that the kernel refused. The caller must not go on.
pub fn early(memory: Option<u64>, descriptors: u64, title: &CStr) -> Result<u64, Error> {
    set(libc::PR_SET_DUMPABLE, 0).map_err(|error| Error::call("PR_SET_DUMPABLE", error.into()))?;
    set(libc::PR_SET_NO_NEW_PRIVS, 1).map_err(|error| Error::call("PR_SET_NO_NEW_PRIVS", error.into()))?;
    entitle(title).map_err(|error| Error::call("PR_SET_NAME", error.into()))?;
    umask(Mode::from_bits_truncate(0o077));
    limit("setrlimit CORE", Resource::RLIMIT_CORE, 0)?;
    let descriptors = limit("setrlimit NOFILE", Resource::RLIMIT_NOFILE, descriptors)?;
    limit("setrlimit MSGQUEUE", Resource::RLIMIT_MSGQUEUE, 0)?;
    if let Some(bytes) = memory {
        limit("setrlimit DATA", Resource::RLIMIT_DATA, bytes)?;
    }
    Ok(descriptors)
}

/// What process lists show; 15 bytes of it.
pub(crate) fn entitle(title: &CStr) -> nix::Result<()> {
    // SAFETY: a null-terminated string that outlives the call; the kernel copies 16 bytes at most.
    Errno::result(unsafe { libc::prctl(libc::PR_SET_NAME, title.as_ptr()) }).map(drop)
}

/// A prctl that takes one number.
pub(crate) fn set(option: libc::c_int, value: libc::c_ulong) -> nix::Result<()> {
    // SAFETY: no pointer is passed; unused arguments are zero, as the kernel demands.
    Errno::result(unsafe { libc::prctl(option, value, 0 as libc::c_ulong, 0 as libc::c_ulong, 0 as libc::c_ulong) })
        .map(drop)
}

/// Sets both limits, or less where an outer limit is lower already, and gives what they are.
fn limit(step: &'static str, what: Resource, value: u64) -> Result<u64, Error> {
    let (_, outer) = nix::sys::resource::getrlimit(what).map_err(|error| Error::call(step, error.into()))?;
    let value = value.min(outer);
    setrlimit(what, value, value).map_err(|error| Error::call(step, error.into()))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::rlimits::standing;
    use crate::trial::{ensure, passes};

    #[test]
    fn what_is_given_up_is_gone_and_stays_gone() {
        passes(|| {
            let descriptors = early(Some(64 << 20), 300, c"bulkhead-trial").map_err(|error| error.to_string())?;
            ensure(descriptors == 300, format!("{descriptors} descriptors"))?;
            let now = standing();
            ensure(!now.dumpable && now.no_new_privs && !now.core && now.memory == Some(64 << 20), format!("{now:?}"))?;
            ensure(Vec::<u8>::new().try_reserve_exact(256 << 20).is_err(), "memory beyond the limit")?;
            // again with more: the outer limit holds
            let descriptors = early(Some(128 << 20), 400, c"bulkhead-trial").map_err(|error| error.to_string())?;
            ensure(descriptors == 300, format!("{descriptors} descriptors"))?;
            ensure(standing().memory == Some(64 << 20), "raised")
        });
    }
}
