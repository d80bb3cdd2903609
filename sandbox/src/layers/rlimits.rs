//! Limits and flags of the process that other layers rely on, as the kernel has them now.
//! Trust: read back, never remembered.

use nix::sys::resource::{Resource, getrlimit};

/// What [`crate::early::early`] left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Whether others of the same user may look into this process.
    pub dumpable: bool,
    /// Whether an exec can gain rights.
    pub no_new_privs: bool,
    /// Whether a core can be written.
    pub core: bool,
    /// Bytes of private writable memory, where limited.
    pub memory: Option<u64>,
}

/// Asks the kernel.
#[must_use]
pub fn standing() -> Standing {
    let limit = |what| getrlimit(what).map_or(libc::RLIM_INFINITY, |(now, _)| now);
    let memory = limit(Resource::RLIMIT_DATA);
    Standing {
        dumpable: flag(libc::PR_GET_DUMPABLE) != 0,
        no_new_privs: flag(libc::PR_GET_NO_NEW_PRIVS) == 1,
        core: limit(Resource::RLIMIT_CORE) != 0,
        memory: (memory != libc::RLIM_INFINITY).then_some(memory),
    }
}

/// The kernel's seccomp mode of the calling thread: 0 none, 2 filters; negative where the question is refused.
#[must_use]
pub fn seccomp_mode() -> i32 {
    flag(libc::PR_GET_SECCOMP)
}

fn flag(option: libc::c_int) -> i32 {
    let zero = 0 as libc::c_ulong;
    // SAFETY: a query by number.
    unsafe { libc::prctl(option, zero, zero, zero, zero) }
}
