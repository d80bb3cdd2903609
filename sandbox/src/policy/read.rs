//! worker-read: one repository, read by paths that Landlock limits. No write, no socket, no process, no signal.
//! Trust: constant. `openat2` answers ENOSYS, since its flags lie behind a pointer.

use super::{Policy, Row, any, base, is, never, only, without};

/// Any of these makes an open more than reading what is there. `O_PATH` is among them: Landlock does not see it.
const MORE_THAN_READING: libc::c_int =
    libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_PATH | (libc::O_TMPFILE & !libc::O_DIRECTORY);

/// Reading files.
pub const READ: &[Row] = &[
    only(libc::SYS_openat, &[without(2, MORE_THAN_READING)], "std and gix open files and directories to read"),
    any(libc::SYS_pread64, "read_exact_at of std"),
    any(libc::SYS_lseek, "length and position of open files"),
    any(libc::SYS_fstat, "lengths of files before mapping, older libc"),
    any(libc::SYS_newfstatat, "fstat and lstat of libc since 2.33"),
    any(libc::SYS_statx, "metadata of std"),
    any(libc::SYS_getdents64, "listing of directories"),
    any(libc::SYS_readlinkat, "links in the working tree"),
    any(libc::SYS_faccessat, "libc's access on systems without the next"),
    any(libc::SYS_faccessat2, "libc's access with flags"),
    any(libc::SYS_getcwd, "gix makes relative paths absolute"),
    any(libc::SYS_geteuid, "whose repository it is"),
    any(libc::SYS_getuid, "whose repository it is"),
    any(libc::SYS_ppoll, "waiting for a pipe with a deadline"),
    any(libc::SYS_fadvise64, "read-ahead of packs"),
    any(libc::SYS_getcpu, "on which processor a thread runs, where libc has to ask"),
    only(libc::SYS_sched_setaffinity, &[is(0, 0)], "threads of one call on different processors; itself alone"),
];

/// Calls that only older architectures have; musl and some of glibc still make them there.
#[cfg(target_arch = "x86_64")]
pub const LEGACY: &[Row] = &[
    only(libc::SYS_open, &[without(1, MORE_THAN_READING)], "musl opens files by it"),
    any(libc::SYS_stat, "musl's metadata"),
    any(libc::SYS_lstat, "musl's metadata of links"),
    any(libc::SYS_readlink, "realpath of libc"),
    any(libc::SYS_access, "access of libc"),
    any(libc::SYS_poll, "std looks whether a pipe is ready"),
];
/// No such calls here.
#[cfg(not(target_arch = "x86_64"))]
pub const LEGACY: &[Row] = &[];

/// The policy.
pub const POLICY: Policy = Policy {
    allow: Some(&[base::BASE, base::THREADS, READ, LEGACY]),
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
