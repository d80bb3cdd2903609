//! worker-gateway: connected streams that it is handed, and a socket to the launcher that hands them. No path, no process.
//! Trust: constant. Nothing here makes, connects, re-aims or shuts down a socket; a stream is read, written and closed.

use super::{Check, Policy, Row, Value, any, base, never, only};

/// Where the launcher leaves the socket by which the worker asks for streams.
pub const DIALLER: u32 = 5;
/// That socket, and no other.
const TO_DIALLER: Check = Check::Is(0, Value::Number(DIALLER));

/// The event loop, and asking for the next stream. Threads are not among it, and neither is any call that takes a path.
/// Streams are read and written by `read` and `write` of the base, which know no address.
pub const GATEWAY: &[Row] = &[
    any(libc::SYS_epoll_pwait, "the event loop waits, newer libc"),
    any(libc::SYS_epoll_pwait2, "the event loop waits, finer clock"),
    any(libc::SYS_epoll_ctl, "streams come and go"),
    // no address: the packet goes where the socket is connected
    only(libc::SYS_sendto, &[TO_DIALLER, Check::Null(4)], "requests to the launcher"),
    only(libc::SYS_recvmsg, &[TO_DIALLER], "its answers, with streams"),
];

/// Calls that only older architectures have.
#[cfg(target_arch = "x86_64")]
pub const LEGACY: &[Row] = &[any(libc::SYS_epoll_wait, "the event loop waits")];
/// No such calls here.
#[cfg(not(target_arch = "x86_64"))]
pub const LEGACY: &[Row] = &[];

/// The policy.
pub const POLICY: Policy = Policy {
    allow: Some(&[base::BASE, GATEWAY, LEGACY]),
    refuse: None,
    kill: Some(&[
        never::EVERYWHERE,
        never::NO_PROGRAMS,
        never::NO_PROGRAMS_LEGACY,
        never::CONFINED,
        never::CONFINED_LEGACY,
        never::NO_SOCKETS,
    ]),
};
