//! worker-audit: two descriptors of one ledger, a lock, and a socket to the launcher. No path, no process, no signal.
//! Trust: constant. What Landlock cannot express stands here: nothing but appending, though the descriptor could do more.

use super::{Check, Policy, Row, Value, any, base, never, only};

/// Where the launcher leaves the socket by which the worker asks for descriptors.
pub const HOLDER: u32 = 5;
/// That socket, and no other.
const TO_HOLDER: Check = Check::Is(0, Value::Number(HOLDER));

/// Appending, reading at positions, making durable, asking for the next file. Threads are not among it, and neither is
/// any call that takes a path: lengths come from `lseek`, since `fstat` of libc is a call with a path.
pub const AUDIT: &[Row] = &[
    any(libc::SYS_fdatasync, "an entry is acknowledged when it is on the disk"),
    any(libc::SYS_pread64, "what other writers added; cannot write"),
    any(libc::SYS_lseek, "the file's length; an appending descriptor ignores its position"),
    any(libc::SYS_flock, "the writers' lock"),
    any(libc::SYS_ppoll, "whether more events wait, so that one sync serves them all"),
    // no address: the packet goes where the socket is connected
    only(libc::SYS_sendto, &[TO_HOLDER, Check::Null(4)], "requests to the launcher"),
    only(libc::SYS_recvmsg, &[TO_HOLDER], "its answers, with descriptors"),
];

/// Calls that only older architectures have.
#[cfg(target_arch = "x86_64")]
pub const LEGACY: &[Row] = &[any(libc::SYS_poll, "whether more events wait")];
/// No such calls here.
#[cfg(not(target_arch = "x86_64"))]
pub const LEGACY: &[Row] = &[];

/// The policy.
pub const POLICY: Policy = Policy {
    allow: Some(&[base::BASE, AUDIT, LEGACY]),
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
