//! The launcher's children: hearing of their deaths, and ending them.
//! Trust: pids come from this process's own forks; the supervisor's are looked up among those first.

use nix::errno::Errno;
use nix::sys::signal::{SigHandler, SigSet, Signal, kill, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::{Duration, Instant};

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It left with this code.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
}

/// Tells of the deaths of children. One for each process, made before the first child.
#[derive(Debug)]
pub struct Deaths(SignalFd);

impl Deaths {
    /// Blocks SIGCHLD for the calling thread and takes it as a descriptor instead.
    ///
    /// # Errors
    /// When the descriptor cannot be had.
    pub fn watch() -> io::Result<Deaths> {
        // a host that ignores its children's deaths hands that down, and the kernel would then drop ours unseen
        // SAFETY: sets the default action, no handler.
        unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) }?;
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGCHLD);
        mask.thread_block()?;
        Ok(Deaths(SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?))
    }

    /// Readable when a child may have died.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Every child that ended since the last call, each once; does not wait. Empties the descriptor first, so that a death
    /// during the call makes it readable again.
    pub fn drain(&mut self) -> Vec<(i32, Ended)> {
        while let Ok(Some(_)) = self.0.read_signal() {}
        let mut dead = Vec::new();
        loop {
            let mut status = 0;
            // nix's waitpid takes the death by a signal without a name (a worker may choose one) for an error and loses it
            // SAFETY: a status word that lives through the call.
            match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
                pid @ 1.. if libc::WIFEXITED(status) => dead.push((pid, Ended::Exit(libc::WEXITSTATUS(status)))),
                pid @ 1.. if libc::WIFSIGNALED(status) => dead.push((pid, Ended::Signal(libc::WTERMSIG(status)))),
                // not asked for, but no reason to stop: the child is still there
                1.. => {}
                -1 if Errno::last() == Errno::EINTR => {}
                _ => return dead,
            }
        }
    }
}

/// Ends a child at once. Only for pids of this process's own children that [`Deaths::drain`] has not reported: until then
/// the number cannot belong to anybody else.
///
/// # Errors
/// `InvalidInput` for anything but a single process; the kernel's reason otherwise.
pub fn kill_child(pid: i32) -> io::Result<()> {
    // 0 and negative numbers name groups, 1 is the system's first process or a container's
    if pid <= 1 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the pid of a child"));
    }
    Ok(kill(Pid::from_raw(pid), Signal::SIGKILL)?)
}

/// First pause between two looks at a child that is to end; each is twice the one before, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_micros(200);
/// Longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// Waits until the child `pid` has ended and takes it away, so that no zombie is left; at most for `patience`. True where
/// it is gone, also where it never was a child of ours.
#[must_use]
pub fn await_end(pid: i32, patience: Duration) -> bool {
    // other numbers would wait for groups
    if pid <= 1 {
        return true;
    }
    let until = Instant::now() + patience;
    let mut pause = FIRST_PAUSE;
    loop {
        match waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => {}
            // a death by a signal without a name counts as an error there; the child is gone all the same
            Ok(_) | Err(_) => return true,
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_that_ends_is_taken_away_and_one_that_lives_is_left() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat is there");
        let pid = child.id().try_into().expect("a pid");
        assert!(!await_end(pid, Duration::ZERO), "it waits for its input");
        drop(child.stdin.take());
        assert!(await_end(pid, Duration::from_secs(60)));
        assert!(child.wait().is_err(), "not even a zombie is left");
        assert!(await_end(pid, Duration::ZERO) && await_end(-1, Duration::ZERO), "no child of ours");
    }

    #[test]
    fn groups_and_the_first_process_are_nobodys_children() {
        for pid in [i32::MIN, -1, 0, 1] {
            assert_eq!(kill_child(pid).map_err(|error| error.kind()), Err(io::ErrorKind::InvalidInput));
        }
    }
}
