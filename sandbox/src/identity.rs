//! As whom this process runs.
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
