//! What a process finds when it starts: a host's leavings, which are let go, or a launcher's two pipes, which are taken.
//! Trust: checked, since anybody can start this program by hand with other descriptors.

use crate::Error;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::getppid;
use std::fs::File;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Where the launcher leaves the end that requests are read from.
const REQUESTS: RawFd = 3;
/// Where the launcher leaves the end that answers are written to.
const ANSWERS: RawFd = 4;

/// Where the launcher leaves a worker-audit's socket to itself.
const HOLDER: RawFd = 5;

static TAKEN: AtomicBool = AtomicBool::new(false);
static HOLDER_TAKEN: AtomicBool = AtomicBool::new(false);

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

/// The socket by which a worker-audit asks the launcher for descriptors. Once for each process.
///
/// # Errors
/// [`Error::PipesTaken`] the second time; [`Error::NotAPipe`] when the launcher left none.
pub fn holder_socket() -> Result<OwnedFd, Error> {
    if HOLDER_TAKEN.swap(true, Ordering::SeqCst) {
        return Err(Error::PipesTaken);
    }
    // SAFETY: only looked at; if the number is not open, every call on it says so.
    let borrowed = unsafe { BorrowedFd::borrow_raw(HOLDER) };
    let is_socket =
        fstat(borrowed).is_ok_and(|facts| SFlag::from_bits_truncate(facts.st_mode) & SFlag::S_IFMT == SFlag::S_IFSOCK);
    if !is_socket || fcntl(borrowed, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC)).is_err() {
        return Err(Error::NotAPipe { fd: HOLDER });
    }
    // SAFETY: open, checked above, and `HOLDER_TAKEN` keeps anybody else in this process from owning it.
    Ok(unsafe { OwnedFd::from_raw_fd(HOLDER) })
}

/// Descriptors that a supervisor may want at once: three for each worker, on their way included.
const WANTED_DESCRIPTORS: u64 = 512;

/// Lets go of what a host leaves to the supervisor and, through it, to the launcher: open descriptors beyond the three
/// standard streams, the environment with whatever tokens stand in it, and the current directory. Call it with one
/// thread, when nothing of the environment is needed any more.
pub fn shed() {
    close_strays();
    forget_environment();
    // an unreadable root directory would be no reason to stop
    let _ = std::env::set_current_dir("/");
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < WANTED_DESCRIPTORS.min(hard)
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, WANTED_DESCRIPTORS.min(hard), hard);
    }
}

fn close_strays() {
    // SAFETY: this process owns no descriptor from 3 on yet. Where the call is missing (before Linux 5.9) they stay open,
    // which is how every program of that time ran; workers close theirs one by one.
    unsafe { libc::syscall(libc::SYS_close_range, REQUESTS, u32::MAX, 0) };
}

/// Not only forgotten: the bytes are overwritten where the kernel put them, which `/proc/PID/environ` shows.
fn forget_environment() {
    unsafe extern "C" {
        static mut environ: *mut *mut libc::c_char;
    }
    // SAFETY: `environ` is null or a null-terminated array of null-terminated strings, which are writable; there is one
    // thread, and nobody in it keeps a pointer into them.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            (*at).write_bytes(0, libc::strlen(*at));
            at = at.add(1);
        }
        libc::clearenv();
    }
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
    fn what_a_host_leaves_is_let_go() {
        let stray = std::fs::File::open("/proc/self/environ").expect("Linux");
        ensure(std::env::vars_os().next().is_some(), "the harness has an environment").expect("it has PATH");
        passes(|| {
            shed();
            ensure(nix::sys::stat::fstat(&stray).is_err(), "a descriptor stayed open")?;
            ensure(std::env::vars_os().next().is_none(), "a variable is still there")?;
            let block = std::fs::read("/proc/self/environ").map_err(|e| e.to_string())?;
            ensure(block.iter().all(|&byte| byte == 0), "the kernel still shows a variable")?;
            ensure(std::env::current_dir().is_ok_and(|dir| dir.as_os_str() == "/"), "the directory is kept")
        });
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
