//! What a worker finds when it starts: two pipes at fixed numbers, and the parent that it was started by.
//! Trust: checked, since anybody can start this program by hand with other descriptors.

use crate::Error;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::getppid;
use std::fs::File;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the launcher leaves the end that requests are read from.
const REQUESTS: RawFd = 3;
/// Where the launcher leaves the end that answers are written to.
const ANSWERS: RawFd = 4;

static TAKEN: AtomicBool = AtomicBool::new(false);

/// The request pipe (to read) and the answer pipe (to write). Once for each process.
///
/// # Errors
/// [`Error::PipesTaken`] the second time; [`Error::NotAPipe`] when a launcher did not start this process.
pub fn worker_pipes() -> Result<(File, File), Error> {
    if TAKEN.swap(true, Ordering::SeqCst) {
        return Err(Error::PipesTaken);
    }
    check(REQUESTS, OFlag::O_RDONLY)?;
    check(ANSWERS, OFlag::O_WRONLY)?;
    // SAFETY: both are open, checked above, and `TAKEN` keeps anybody else in this process from owning them.
    let (requests, answers) = unsafe { (OwnedFd::from_raw_fd(REQUESTS), OwnedFd::from_raw_fd(ANSWERS)) };
    Ok((File::from(requests), File::from(answers)))
}

/// Closes whatever a host left open beyond the three standard streams, so that neither a supervisor nor a launcher
/// holds a file that nobody gave it on purpose. Call it first in the process, while it owns no descriptor there itself.
pub fn close_strays() {
    // SAFETY: the caller owns no descriptor from 3 on. Where the call is missing (before Linux 5.9) they stay open, which
    // is how every program of that time ran; workers close theirs one by one.
    unsafe { libc::syscall(libc::SYS_close_range, REQUESTS, u32::MAX, 0) };
}

/// Whether this process still is a child of `pid`, the parent that argv names; if not, it may have died before the
/// parent-death signal was bound.
#[must_use]
pub fn parent_is(pid: i32) -> bool {
    getppid().as_raw() == pid
}

/// A pipe end, open in this direction; made to close on exec.
fn check(fd: RawFd, direction: OFlag) -> Result<(), Error> {
    // SAFETY: only looked at; if the number is not open, every call on it says so.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    let fits = || -> Result<bool, Errno> {
        let kind = SFlag::from_bits_truncate(fstat(borrowed)?.st_mode) & SFlag::S_IFMT;
        let flags = OFlag::from_bits_retain(fcntl(borrowed, FcntlArg::F_GETFL)?) & OFlag::O_ACCMODE;
        fcntl(borrowed, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
        Ok(kind == SFlag::S_IFIFO && flags == direction)
    };
    match fits() {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => Err(Error::NotAPipe { fd }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{ensure, passes};

    /// Puts these at 3 and 4, over whatever the harness has there.
    fn place(requests: &OwnedFd, answers: &OwnedFd) -> Result<(), String> {
        use std::os::fd::AsRawFd;
        // SAFETY: in a child of the test, whose copies of these numbers nothing uses any more.
        unsafe {
            let (low, high) = (
                libc::fcntl(requests.as_raw_fd(), libc::F_DUPFD, 10),
                libc::fcntl(answers.as_raw_fd(), libc::F_DUPFD, 10),
            );
            ensure(libc::dup2(low, REQUESTS) >= 0 && libc::dup2(high, ANSWERS) >= 0, "dup2")
        }
    }

    #[test]
    fn the_pipes_are_taken_once() {
        let (read, write) = nix::unistd::pipe().expect("a pipe");
        passes(|| {
            place(&read, &write)?;
            ensure(
                worker_pipes().is_ok_and(|pipes| {
                    std::mem::drop(pipes);
                    true
                }),
                "not taken",
            )?;
            ensure(matches!(worker_pipes(), Err(Error::PipesTaken)), "taken twice")
        });
    }

    #[test]
    fn pipes_the_wrong_way_round_and_files_are_refused() {
        let (read, write) = nix::unistd::pipe().expect("a pipe");
        passes(|| {
            place(&write, &read)?;
            ensure(matches!(worker_pipes(), Err(Error::NotAPipe { fd: REQUESTS })), "writing end at 3")
        });
        let file = OwnedFd::from(File::open("/dev/null").expect("a file"));
        passes(|| {
            place(&read, &file)?;
            ensure(matches!(worker_pipes(), Err(Error::NotAPipe { fd: ANSWERS })), "a device at 4")
        });
    }

    #[test]
    fn only_the_real_parent_is_the_parent() {
        assert!(parent_is(getppid().as_raw()));
        assert!(!parent_is(i32::MAX));
    }
}
