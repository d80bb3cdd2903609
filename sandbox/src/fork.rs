//! The fork that parts the launcher from the supervisor, before any thread and before a byte is read.
//! Trust: both sides are this program, freshly started.

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::{ForkResult, Pid, dup2_stdin, dup2_stdout, fork, getppid, setpgid};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The launcher, as its parent sees it.
#[derive(Debug)]
pub struct Forked {
    /// SEQPACKET socket to it; closes on exec, does not block.
    pub socket: OwnedFd,
    /// Its process id.
    pub pid: i32,
}

/// Exit code of a launcher whose parent was gone before it began.
const ORPHAN: i32 = 70;
/// Exit code of a launcher that panicked, as for any Rust program.
const PANICKED: i32 = 101;

/// Forks; the child runs `body` with its end of the socket (blocking) and leaves with the code that comes back. It is
/// killed when the calling *thread* ends: call this on the main thread, before any other thread exists. Nothing of the
/// caller's stack is unwound in the child.
///
/// # Errors
/// When there is no socket pair or no process to be had.
pub fn launcher(body: impl FnOnce(OwnedFd) -> i32) -> io::Result<Forked> {
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
    crate::spawn::set_nonblocking(&ours)?;
    let parent = Pid::this();
    // SAFETY: the caller has one thread, so the child's copy of every lock is free, and it never returns from here.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => Ok(Forked { socket: ours, pid: child.as_raw() }),
        ForkResult::Child => {
            drop(ours);
            let bound = crate::early::set(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
            let code = if bound.is_err() || getppid() != parent {
                ORPHAN
            } else if let Err(e) = detach() {
                e.raw_os_error().unwrap_or(PANICKED)
            } else {
                catch_unwind(AssertUnwindSafe(|| body(theirs))).unwrap_or(PANICKED)
            };
            // SAFETY: leaves without running exit handlers or destructors, which are the parent's to run.
            unsafe { libc::_exit(code) }
        }
    }
}

/// Lets go of the client's streams, whose end it would otherwise delay, of the directory it was started in, and of the
/// process group: a signal to that is the supervisor's to answer, whose end ends this one.
fn detach() -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    std::env::set_current_dir("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handover::{receive, send};
    use crate::trial::{ensure, passes};
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::wait::{WaitStatus, waitpid};
    use std::os::fd::AsFd;

    #[test]
    fn the_child_runs_its_body_with_the_other_end_and_leaves_with_its_code() {
        passes(|| {
            let text = |error: io::Error| error.to_string();
            let forked = launcher(|socket| {
                let mut buffer = [0; 8];
                match receive(socket.as_fd(), &mut buffer, 0) {
                    Ok((length, _)) if send(socket.as_fd(), &buffer[..length], &[]).is_ok() => 7,
                    _ => 8,
                }
            })
            .map_err(text)?;
            let mut buffer = [0; 8];
            let early = receive(forked.socket.as_fd(), &mut buffer, 0).map_err(|error| error.kind());
            ensure(early.is_err_and(|kind| kind == io::ErrorKind::WouldBlock), "blocks")?;
            send(forked.socket.as_fd(), b"hello", &[]).map_err(text)?;
            poll(&mut [PollFd::new(forked.socket.as_fd(), PollFlags::POLLIN)], PollTimeout::NONE)
                .map_err(|e| e.to_string())?;
            let (length, _) = receive(forked.socket.as_fd(), &mut buffer, 0).map_err(text)?;
            ensure(&buffer[..length] == b"hello", "another packet")?;
            let status = waitpid(Pid::from_raw(forked.pid), None);
            ensure(matches!(status, Ok(WaitStatus::Exited(_, 7))), format!("{status:?}"))
        });
    }

    #[test]
    fn a_panic_ends_the_child_and_not_in_the_parents_code() {
        passes(|| {
            let forked = launcher(|_| std::panic::resume_unwind(Box::new(()))).map_err(|error| error.to_string())?;
            let status = waitpid(Pid::from_raw(forked.pid), None);
            ensure(matches!(status, Ok(WaitStatus::Exited(_, PANICKED))), format!("{status:?}"))
        });
    }
}
