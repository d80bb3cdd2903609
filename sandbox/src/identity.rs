//! As whom this process runs, and on what.
//! Trust: the kernel's word.

/// Whether the effective user is root. Systems without numeric users have none.
#[must_use]
pub fn is_root() -> bool {
    #[cfg(unix)]
    {
        nix::unistd::geteuid().is_root()
    }
    #[cfg(not(unix))]
    {
        false
    }
}

/// Process id of the parent: a worker's launcher. To be asked before a jail is on, inside which the call is not there.
/// Systems without worker processes have no launcher: 0.
#[must_use]
pub fn parent() -> i32 {
    #[cfg(unix)]
    {
        i32::try_from(std::os::unix::process::parent_id()).unwrap_or(0)
    }
    #[cfg(not(unix))]
    {
        0
    }
}

/// Processors that this process may run on, at least 1. The scheduler is asked, not the control group: a quota there
/// changes how long work takes, not how much of it may go on at a time, and three files would have to be read for it.
#[must_use]
pub fn processors() -> usize {
    #[cfg(target_os = "linux")]
    {
        use nix::sched::{CpuSet, sched_getaffinity};
        let set = sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap_or_default();
        (0..CpuSet::count()).filter(|processor| set.is_set(*processor).unwrap_or(false)).count().max(1)
    }
    #[cfg(not(target_os = "linux"))]
    {
        std::thread::available_parallelism().map_or(1, usize::from)
    }
}
