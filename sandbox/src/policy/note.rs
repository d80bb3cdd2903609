//! The process that keeps the own presence file: new files in one directory, renamed and removed there. Nothing is read.
//! Trust: constant. Which directory that is, is Landlock's business.

use super::{Check, Policy, Row, any, base, never, only};

/// Every bit of an open that says what is done.
const SAYS: libc::c_int = libc::O_ACCMODE
    | libc::O_CREAT
    | libc::O_EXCL
    | libc::O_NOFOLLOW
    | libc::O_TRUNC
    | libc::O_PATH
    | (libc::O_TMPFILE & !libc::O_DIRECTORY);
/// A new file and nothing else: what is there already is never opened to be written.
const NEW_FILE: Check = Check::Bits {
    argument: 2,
    mask: SAYS.cast_unsigned(),
    are: (libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW).cast_unsigned(),
};

/// Writing the note.
pub const NOTE: &[Row] = &[
    only(libc::SYS_openat, &[NEW_FILE], "the note, under a name of its own until it is whole"),
    any(libc::SYS_renameat2, "the whole note takes its name"),
    any(libc::SYS_unlinkat, "the note's end, and notes of servers that are long gone"),
    any(libc::SYS_getdents64, "which notes there are; the directory is open already"),
    any(libc::SYS_lseek, "the listing from its beginning"),
    any(libc::SYS_newfstatat, "how old a note is"),
    any(libc::SYS_fstat, "what an open file is"),
    any(libc::SYS_statx, "how old a note is, by newer libraries"),
    any(libc::SYS_ppoll, "whether the call was cancelled"),
];

/// Calls that only older architectures have.
#[cfg(target_arch = "x86_64")]
pub const LEGACY: &[Row] = &[any(libc::SYS_poll, "whether the call was cancelled")];
/// No such calls here.
#[cfg(not(target_arch = "x86_64"))]
pub const LEGACY: &[Row] = &[];

/// Calls by which older architectures rename.
#[cfg(not(target_arch = "riscv64"))]
pub const RENAME: &[Row] = &[any(libc::SYS_renameat, "the whole note takes its name")];
/// No such calls here.
#[cfg(target_arch = "riscv64")]
pub const RENAME: &[Row] = &[];

/// The policy.
pub const POLICY: Policy = Policy {
    allow: Some(&[base::BASE, NOTE, RENAME, LEGACY]),
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
