//! For tests: runs code in a child, since what a jail takes away from a process never comes back.
//! Trust: test code only.

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};
use std::os::fd::{AsRawFd, OwnedFd};

/// Seconds after which a child that hangs is ended by SIGALRM.
const PATIENCE: libc::c_uint = 60;

/// Exit code of a child whose check failed.
const FAILED: i32 = 1;

/// Runs `body` in a child and returns how it ended, with what it said. `Ok` leaves with 0, `Err` with [`FAILED`] and its text.
pub(crate) fn ended(body: impl FnOnce() -> Result<(), String>) -> (WaitStatus, String) {
    let (read, write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).expect("a pipe");
    // SAFETY: libc frees its own locks in the child, and the child leaves by `_exit` without the harness's code.
    match unsafe { fork() }.expect("a process") {
        ForkResult::Child => {
            // SAFETY: plain calls; the text is readable for its length.
            unsafe {
                libc::alarm(PATIENCE);
                let code = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
                    Ok(Ok(())) => 0,
                    Ok(Err(text)) => {
                        libc::write(write.as_raw_fd(), text.as_ptr().cast(), text.len());
                        FAILED
                    }
                    Err(_) => 101,
                };
                libc::_exit(code)
            }
        }
        ForkResult::Parent { child } => {
            drop(write);
            let said = text_of(read);
            (waitpid(child, None).expect("our own child"), said)
        }
    }
}

/// Runs `body` in a child, which must come to its end.
pub(crate) fn passes(body: impl FnOnce() -> Result<(), String>) {
    let (status, said) = ended(body);
    assert!(matches!(status, WaitStatus::Exited(_, 0)), "{status:?}: {said}");
}

/// An error with a text unless it holds.
pub(crate) fn ensure(holds: bool, text: impl Into<String>) -> Result<(), String> {
    if holds { Ok(()) } else { Err(text.into()) }
}

fn text_of(read: OwnedFd) -> String {
    std::io::read_to_string(std::fs::File::from(read)).unwrap_or_default()
}
