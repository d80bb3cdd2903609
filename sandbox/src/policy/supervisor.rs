//! The supervisor: pipes, standard input and output, its event loop, and one socket to the launcher. No file at all.
//! Trust: constant.

use super::{Check, Policy, Row, Value, any, base, is, only};

/// The socket to the launcher, and no other.
const LAUNCHER: Check = Check::Is(0, Value::LauncherSocket);

/// The event loop and the launcher's socket.
pub const SUPERVISOR: &[Row] = &[
    any(libc::SYS_epoll_pwait, "the event loop waits, newer libc"),
    any(libc::SYS_epoll_pwait2, "the event loop waits, finer clock"),
    any(libc::SYS_epoll_ctl, "pipes of workers come and go"),
    any(libc::SYS_eventfd2, "waking the event loop from the threads of standard input and output"),
    only(libc::SYS_preadv2, &[is(0, 0), is(5, libc::RWF_NOWAIT)], "standard input, as far as it is there"),
    only(libc::SYS_pwritev2, &[is(0, 1), is(5, libc::RWF_NOWAIT)], "standard output, as far as there is room"),
    any(libc::SYS_ppoll, "threads of standard input and output wait"),
    // no address: the packet goes where the socket is connected
    only(libc::SYS_sendto, &[LAUNCHER, Check::Null(4)], "requests to the launcher"),
    only(libc::SYS_sendmsg, &[LAUNCHER], "requests to the launcher"),
    only(libc::SYS_recvfrom, &[LAUNCHER], "answers of the launcher"),
    only(libc::SYS_recvmsg, &[LAUNCHER], "answers of the launcher with the pipes of a worker"),
    only(
        libc::SYS_wait4,
        &[is(2, libc::WNOHANG), Check::Null(3)],
        "at the end it takes its one child away, the launcher",
    ),
];

/// Calls that only older architectures have.
#[cfg(target_arch = "x86_64")]
pub const LEGACY: &[Row] = &[
    any(libc::SYS_epoll_wait, "the event loop waits"),
    any(libc::SYS_poll, "threads of standard input and output wait"),
];
/// No such calls here.
#[cfg(not(target_arch = "x86_64"))]
pub const LEGACY: &[Row] = &[];

/// The policy.
pub const POLICY: Policy =
    Policy { allow: Some(&[base::BASE, base::THREADS, SUPERVISOR, LEGACY]), refuse: None, kill: None };
