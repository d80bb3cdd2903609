//! worker-agents: first a look at processes, then reading other programs' stores. No write, no socket, no process.
//! Trust: constant. Which paths are reached is Landlock's business; before it, no foreign byte is parsed.

use super::{Policy, Row, any, base, is, never, only, without};

/// Any of these makes an open more than reading or naming what is there.
const MORE_THAN_NAMING: libc::c_int =
    libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | (libc::O_TMPFILE & !libc::O_DIRECTORY);
/// The same with `O_PATH`, which Landlock does not see.
const MORE_THAN_READING: libc::c_int = MORE_THAN_NAMING | libc::O_PATH;
/// What both halves do with files that are there.
const METADATA: &[Row] = &[
    any(libc::SYS_pread64, "parts of files that are open"),
    any(libc::SYS_lseek, "length and position of open files"),
    any(libc::SYS_fstat, "what an open file is"),
    any(libc::SYS_newfstatat, "what a name is, without following it"),
    any(libc::SYS_statx, "what a name is, by newer libraries"),
    any(libc::SYS_getdents64, "listing of directories"),
    any(libc::SYS_geteuid, "whose processes and presence files they are"),
    any(libc::SYS_ppoll, "whether the call was cancelled"),
];

/// Looking at processes and naming stores, before Landlock, which would refuse the first.
pub const LOOK: &[Row] = &[
    only(
        libc::SYS_openat,
        &[without(2, MORE_THAN_NAMING)],
        "lists of processes; handles on stores, for Landlock's rules",
    ),
    any(libc::SYS_readlinkat, "directory and program of a process"),
    any(libc::SYS_landlock_create_ruleset, "the second half of the jail"),
    any(libc::SYS_landlock_add_rule, "the second half of the jail"),
    any(libc::SYS_landlock_restrict_self, "the second half of the jail"),
    only(
        libc::SYS_seccomp,
        &[is(0, libc::SECCOMP_SET_MODE_FILTER.cast_signed())],
        "the second half of the jail; a filter can only take more away",
    ),
    only(libc::SYS_prctl, &[is(0, libc::PR_SET_NO_NEW_PRIVS)], "asked for again before each filter"),
    only(libc::SYS_prctl, &[is(0, libc::PR_GET_SECCOMP)], "whether the filter is on"),
];

/// Reading stores.
pub const READ: &[Row] =
    &[only(libc::SYS_openat, &[without(2, MORE_THAN_READING)], "directories and files of stores, to read")];

/// Calls that only older architectures have.
#[cfg(target_arch = "x86_64")]
pub const LEGACY: &[Row] = &[any(libc::SYS_poll, "whether the call was cancelled")];
/// No such calls here.
#[cfg(not(target_arch = "x86_64"))]
pub const LEGACY: &[Row] = &[];

const KILL: Option<&[&[Row]]> = Some(&[
    never::EVERYWHERE,
    never::NO_PROGRAMS,
    never::NO_PROGRAMS_LEGACY,
    never::CONFINED,
    never::CONFINED_LEGACY,
    never::NO_SOCKETS,
]);

/// From the start until the first question.
pub const LOOKING: Policy = Policy { allow: Some(&[base::BASE, METADATA, LOOK, LEGACY]), refuse: None, kill: KILL };
/// While stores are read: to the end of the process.
pub const READING: Policy = Policy { allow: Some(&[base::BASE, METADATA, READ, LEGACY]), refuse: None, kill: KILL };
