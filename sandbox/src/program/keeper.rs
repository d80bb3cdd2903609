//! A process that ends the programs of another one that was itself ended before it could.
//! Trust: it hears numbers of groups from its maker and from what that starts, and may signal no more than its maker may.
//!
//! A program that a jailed process starts is killed with it (`PR_SET_PDEATHSIG`), but what that program started is not: the
//! kernel forgets the wish at each fork. The launcher takes in such orphans and ends them; where the launcher was killed as
//! well, nobody is left who could. So the maker holds a pipe open for as long as it lives, and whoever waits at its other end
//! learns of its end from the kernel, however it came.

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, pipe2};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Groups that are known at the same time; a worker runs two. One beyond them is ended with its leader alone.
const GROUPS: usize = 16;
/// A group's number, or the same below zero where it is over.
const NUMBER: usize = size_of::<i32>();
/// How long its maker waits for it, once there is nothing to keep.
const PATIENCE: Duration = Duration::from_millis(200);
/// Pause between two looks: its end takes a fraction of a millisecond, and the next write waits for its maker's.
const PAUSE: Duration = Duration::from_micros(50);

/// The keeper, as its maker sees it. It goes away with the last of these.
#[derive(Debug, Clone)]
pub(super) struct Keeper(Arc<Held>);

#[derive(Debug)]
struct Held {
    /// Dropped first, which is what the keeper waits for.
    pipe: Option<OwnedFd>,
    pid: Pid,
}

impl Keeper {
    /// Starts one, behind the walls that the calling process has so far.
    ///
    /// # Errors
    /// There is no pipe or no process to be had.
    pub(super) fn start() -> io::Result<Self> {
        let (read, write) = pipe2(OFlag::O_CLOEXEC)?;
        // SAFETY: the child makes system calls on numbers and on its own stack; it allocates nothing, takes no lock, and never
        // returns, so that it does not matter which locks other threads held.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(Self(Arc::new(Held { pipe: Some(write), pid: child }))),
            ForkResult::Child => keep(read.as_raw_fd()),
        }
    }

    /// What a group's leader says of itself before it becomes a program; callable between fork and exec.
    pub(super) fn announce(&self) -> impl Fn() -> io::Result<()> + use<> {
        let pipe = self.0.pipe.as_ref().map(AsRawFd::as_raw_fd);
        move || say(pipe, Pid::this().as_raw())
    }

    /// Nothing of that group is left, so that its number may be somebody else's from now on.
    pub(super) fn forget(&self, group: Pid) {
        // a keeper that is gone forgets by itself
        let _ = say(self.0.pipe.as_ref().map(AsRawFd::as_raw_fd), -group.as_raw());
    }
}

/// One write of fewer bytes than a pipe takes whole.
fn say(pipe: Option<RawFd>, number: i32) -> io::Result<()> {
    let bytes = number.to_ne_bytes();
    let Some(pipe) = pipe else { return Ok(()) };
    loop {
        // SAFETY: `bytes` lives across the call and is as long as is said.
        let written = unsafe { libc::write(pipe, bytes.as_ptr().cast(), NUMBER) };
        match Errno::result(written) {
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.pipe = None;
        let until = Instant::now() + PATIENCE;
        // one that somebody stopped is nobody's to wait for: it ends with its own next step
        while matches!(waitpid(self.pid, Some(WaitPidFlag::WNOHANG)), Ok(WaitStatus::StillAlive) | Err(Errno::EINTR))
            && Instant::now() < until
        {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Hears of groups until the pipe's other end is nobody's any more, and ends those that are left.
fn keep(pipe: RawFd) -> ! {
    let mut groups = [0_i32; GROUPS];
    // SAFETY: calls on numbers; the name is a constant that ends in a zero. Every other descriptor is closed: while this process
    // held one of its maker's pipes, whoever is at the other end would not see the maker go.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"bulkhead-keeper".as_ptr());
        libc::dup2(pipe, 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
    }
    loop {
        let mut number = [0_u8; NUMBER];
        // SAFETY: `number` lives across the call and is as long as is said.
        let got = unsafe { libc::read(0, number.as_mut_ptr().cast(), NUMBER) };
        match (got, Errno::last_raw()) {
            (4, _) => note(&mut groups, i32::from_ne_bytes(number)),
            (-1, libc::EINTR) => {}
            _ => break,
        }
    }
    for group in groups.into_iter().filter(|group| *group > 1) {
        // SAFETY: a number; one beyond 1 names a group and not everybody.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    // SAFETY: leaves without running exit handlers or destructors, which are the maker's to run.
    unsafe { libc::_exit(0) }
}

fn note(groups: &mut [i32; GROUPS], number: i32) {
    let (wanted, becomes) = if number > 0 { (0, number) } else { (number.saturating_neg(), 0) };
    if let Some(place) = groups.iter_mut().find(|group| **group == wanted) {
        *place = becomes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Ward;
    use crate::trial::{ensure, passes};
    use nix::sys::signal::{Signal, kill};
    use nix::sys::stat::stat;
    use std::io::Read as _;
    use std::process::{Command, Stdio};

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }

    #[test]
    fn numbers_are_kept_until_they_are_taken_back_and_no_more_than_there_is_room_for() {
        let mut groups = [0; GROUPS];
        for number in [7, 9, -7, 11, -12, i32::MIN] {
            note(&mut groups, number);
        }
        assert_eq!(groups[..3], [11, 9, 0]);
        for number in 100..200 {
            note(&mut groups, number);
        }
        assert_eq!(groups[..2], [11, 9]);
        assert_eq!(groups[GROUPS - 1], 100 + 13);
    }

    /// What the programs of a killed process hold is let go: the grandchild does not hear of its parent's end in any other way.
    #[test]
    fn what_a_program_started_ends_with_whoever_was_to_end_it() {
        passes(|| {
            let text = |error: io::Error| error.to_string();
            let (read, write) = pipe2(OFlag::O_CLOEXEC).map_err(|e| e.to_string())?;
            // SAFETY: this process has one thread, and the child never returns from here.
            let maker = match unsafe { fork() }.map_err(|e| e.to_string())? {
                ForkResult::Parent { child } => child,
                ForkResult::Child => {
                    drop(read);
                    let Ok(ward) = Ward::new() else { std::process::abort() };
                    let mut command = shell("trap '' TERM HUP; (trap '' TERM HUP; echo; sleep 600; sleep 600) & wait");
                    command.stdout(write);
                    let _group = ward.start(command);
                    loop {
                        std::thread::sleep(Duration::from_secs(60));
                    }
                }
            };
            drop(write);
            let mut out = std::fs::File::from(read);
            out.read_exact(&mut [0]).map_err(text)?;
            kill(maker, Signal::SIGKILL).map_err(|e| e.to_string())?;
            waitpid(maker, None).map_err(|e| e.to_string())?;
            // returns when nobody holds the pipe any more
            out.read_to_end(&mut Vec::new()).map_err(text).map(drop)
        });
    }

    #[test]
    fn a_keeper_that_is_not_needed_leaves_with_its_maker_and_ends_nobody() {
        passes(|| {
            let text = |error: io::Error| error.to_string();
            let ward = Ward::new().map_err(text)?;
            let keeper = ward.keeper.0.pid;
            ensure(stat(format!("/proc/{keeper}").as_str()).is_ok(), "it is there")?;
            let group = ward.start(shell("exit 3")).map_err(text)?;
            let status = group.end(Duration::from_secs(30)).map_err(text)?;
            ensure(matches!(status.code(), Some(3) | None), format!("{status:?}"))?;
            drop(ward);
            ensure(stat(format!("/proc/{keeper}").as_str()).is_err(), "it was waited for")
        });
    }
}
