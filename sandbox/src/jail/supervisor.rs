//! The supervisor's own jail, put on before it reads a byte: pipes, standard input and output, one socket.
//! Trust: no input but a descriptor of its own; the kernel's answers are read.

use super::seen::{Seen, Step};
use crate::early;
use crate::enforced::{Enforced, Layer};
use crate::layers::capabilities;
use crate::policy::{Live, supervisor};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Locks the calling process down: not dumpable, no capabilities, a Landlock domain without a rule, and the allow-list.
/// There is no kill-list under it: the kernel takes half a millisecond for each filter, which here is a part of every
/// server's first answer, and what the one admits the other would not refuse.
/// Descriptors that are open stay usable; `launcher_socket` is the only one on which packets may be sent and received, so
/// its number must not change. Call it with one thread, after the event loop is built. Never fails: the rows say what is
/// missing.
#[must_use]
pub fn supervisor(launcher_socket: BorrowedFd<'_>) -> Enforced {
    with_layers(launcher_socket).0
}

/// The same, with the mechanisms that it was made of: what this process got of the kernel, its workers get too.
#[must_use]
pub fn with_layers(launcher_socket: BorrowedFd<'_>) -> (Enforced, Vec<Layer>) {
    // read back below
    let _ = early::set(libc::PR_SET_DUMPABLE, 0);
    let _ = early::set(libc::PR_SET_NO_NEW_PRIVS, 1);
    let mut seen = Seen::start(false, "no file");
    seen.capabilities = capabilities::drop_all().into();
    seen.leave_all_files();
    // a descriptor is never negative
    let live = Live { launcher_socket: launcher_socket.as_raw_fd().cast_unsigned(), ..Live::worker() };
    seen.kill = Step::NotReached("no kill-list: everything else answers ENOSYS");
    seen.admit_only(&supervisor::POLICY, &live);
    (seen.confined(), seen.layers())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handover::{receive, send};
    use crate::trial::{ensure, passes};
    use nix::errno::Errno;
    use nix::fcntl::{OFlag, open};
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
    use nix::sys::stat::Mode;
    use std::os::fd::{AsFd, OwnedFd};

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC).expect("two ends")
    }

    #[test]
    fn packets_go_by_the_launchers_socket_and_no_other() {
        let ((ours, theirs), (other, _far)) = (pair(), pair());
        passes(|| {
            send(theirs.as_fd(), b"worker", &[theirs.as_fd()]).map_err(|error| error.to_string())?;
            let enforced = supervisor(ours.as_fd());
            ensure(enforced.missing().count() == 0, format!("{enforced:?}"))?;
            let mut buffer = [0; 8];
            let got = receive(ours.as_fd(), &mut buffer, 1).map_err(|error| error.to_string())?;
            ensure(got.0 == 6 && got.1.len() == 1, "a worker's descriptor")?;
            ensure(send(ours.as_fd(), b"spawn", &[]).is_ok(), "a request")?;
            let refused = send(other.as_fd(), b"x", &[]).map_err(|error| error.raw_os_error());
            ensure(refused == Err(Some(libc::ENOSYS)), format!("another socket: {refused:?}"))?;
            let refused = receive(got.1[0].as_fd(), &mut buffer, 1).map(drop).map_err(|error| error.raw_os_error());
            ensure(refused == Err(Some(libc::ENOSYS)), format!("a descriptor that it was given: {refused:?}"))
        });
    }

    #[test]
    fn files_and_processes_are_out_of_reach_and_threads_are_not() {
        let (ours, _theirs) = pair();
        passes(|| {
            let enforced = supervisor(ours.as_fd());
            let opened = open("/dev/null", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty()).map(drop);
            ensure(opened == Err(Errno::ENOSYS), format!("{opened:?}"))?;
            ensure(std::fs::metadata("/").is_err_and(|error| error.raw_os_error() == Some(libc::ENOSYS)), "stat")?;
            ensure(nix::sys::signal::kill(nix::unistd::getppid(), None) == Err(Errno::ENOSYS), "signal")?;
            ensure(std::thread::spawn(|| 1).join().is_ok(), "thread")?;
            let names: Vec<_> = enforced.rows.iter().map(|row| row.capability).collect();
            ensure(names == crate::enforced::CAPABILITIES, format!("{names:?}"))
        });
    }
}
