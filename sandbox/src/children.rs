//! The launcher's children: hearing of their deaths, and ending them.
//! Trust: pids come from this process's own forks; the supervisor's are looked up among those first.

use nix::errno::Errno;
use nix::sys::signal::{SigHandler, SigSet, Signal, kill, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
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

/// From now on orphans among the descendants of this process become its children, whatever they have done to get away, so
/// that [`end_strays`] can end them.
///
/// # Errors
/// A kernel older than 3.4.
pub fn take_in_orphans() -> io::Result<()> {
    Ok(crate::early::set(libc::PR_SET_CHILD_SUBREAPER, 1)?)
}

/// Ends every child that `known` does not know: what a child left behind that had programs of its own. Theirs become
/// children in turn, and their deaths are told by [`Deaths`], so this is called after each death. Gives how many there
/// were. For a process with one thread.
pub fn end_strays(known: impl Fn(i32) -> bool) -> usize {
    let strays: Vec<i32> = own_children().into_iter().filter(|pid| !known(*pid)).collect();
    strays.into_iter().filter(|pid| kill_child(*pid).is_ok()).count()
}

/// All children of this process's one thread, those that have ended and were not waited for among them.
fn own_children() -> Vec<i32> {
    if let Ok(text) = fs::read_to_string("/proc/thread-self/children") {
        return text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    }
    // a kernel that does not list them; the fourth word of a process's state is its parent, behind a name in parentheses
    let own = Pid::this().as_raw();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter(|pid: &i32| {
            let state = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
            let text = String::from_utf8_lossy(&state);
            let parent = text.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
            parent == Some(own)
        })
        .collect()
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
    fn what_a_child_leaves_behind_is_ended_and_what_is_known_is_left() {
        use crate::trial::{ensure, passes};
        passes(|| {
            let text = |error: io::Error| error.to_string();
            take_in_orphans().map_err(text)?;
            let kept = Command::new("cat").stdin(Stdio::piped()).spawn().map_err(text)?;
            let kept_pid = kept.id().cast_signed();
            // it leaves its session and its parent, and would go on for a minute
            let leaves =
                Command::new("sh").args(["-c", "setsid sleep 60 >/dev/null & echo $!"]).stderr(Stdio::null()).output();
            let stray: i32 = String::from_utf8_lossy(&leaves.map_err(text)?.stdout).trim().parse().unwrap_or(0);
            ensure(stray > 1, "no stray")?;
            ensure(end_strays(|pid| pid == kept_pid) == 1, "not one stray")?;
            ensure(await_end(stray, Duration::from_secs(60)), "it goes on")?;
            ensure(own_children() == [kept_pid], format!("{:?}", own_children()))
        });
    }

    #[test]
    fn groups_and_the_first_process_are_nobodys_children() {
        for pid in [i32::MIN, -1, 0, 1] {
            assert_eq!(kill_child(pid).map_err(|error| error.kind()), Err(io::ErrorKind::InvalidInput));
        }
    }
}
