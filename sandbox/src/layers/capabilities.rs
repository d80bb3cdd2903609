//! Capabilities: a process started as root gives up everything that root is more than an ordinary user.
//! Trust: read back from the kernel.

use super::Missing;
use nix::errno::Errno;

/// What is left after the drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// Effective, permitted and inheritable, or-ed: one bit for each capability in any of them.
    pub held: u64,
    /// Capabilities still in the bounding set; without the right to exec, or with no_new_privs, they cannot be gained.
    pub bounding: u32,
    /// Capabilities still in the ambient set.
    pub ambient: u32,
}

impl Left {
    /// Whether nothing can be used now.
    #[must_use]
    pub fn none_held(&self) -> bool {
        self.held == 0 && self.ambient == 0
    }
}

/// `_LINUX_CAPABILITY_VERSION_3`: two words for each set.
const VERSION_3: u32 = 0x2008_0522;
/// The kernel numbers capabilities from 0 and refuses numbers that it does not know; there are 41 today.
const MAX_CAPABILITY: libc::c_ulong = 63;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Words {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Empties the bounding set (where allowed to), the ambient set and all three sets, then looks.
///
/// # Errors
/// The step that the kernel refused.
pub fn drop_all() -> Result<Left, Missing> {
    for capability in 0..=MAX_CAPABILITY {
        // without CAP_SETPCAP this is EPERM for each; the set is then counted below and reported
        if crate::early::set(libc::PR_CAPBSET_DROP, capability) == Err(Errno::EINVAL) {
            break;
        }
    }
    // older than Linux 4.3 there is no ambient set to clear
    let _ = crate::early::set(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL as libc::c_ulong);
    let mut header = Header { version: VERSION_3, pid: 0 };
    let mut words = [Words::default(); 2];
    // SAFETY: the header names version 3, for which the kernel reads two `Words`.
    Errno::result(unsafe { libc::syscall(libc::SYS_capset, &raw mut header, words.as_ptr()) })
        .map_err(|errno| Missing::step("capset", errno))?;
    // SAFETY: as above, written.
    Errno::result(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) })
        .map_err(|errno| Missing::step("capget", errno))?;
    let set = |word: &Words| u64::from(word.effective | word.permitted | word.inheritable);
    Ok(Left {
        held: set(&words[0]) | set(&words[1]) << 32,
        bounding: count(|capability| query(libc::PR_CAPBSET_READ, capability, 0)),
        ambient: count(|capability| {
            query(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_IS_SET as libc::c_ulong, capability)
        }),
    })
}

fn query(option: libc::c_int, second: libc::c_ulong, third: libc::c_ulong) -> bool {
    // SAFETY: a query by numbers.
    unsafe { libc::prctl(option, second, third, 0 as libc::c_ulong, 0 as libc::c_ulong) == 1 }
}

fn count(is_set: impl Fn(libc::c_ulong) -> bool) -> u32 {
    (0..=MAX_CAPABILITY).map(|capability| u32::from(is_set(capability))).sum()
}
