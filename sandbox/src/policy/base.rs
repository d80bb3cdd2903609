//! What any Rust process here needs merely to run, allocate, unwind, start threads and leave.
//! Trust: constant.

use super::{Check, Row, Value, any, is, only, without};

/// Which of the kinds of mapping it is; the third value is both bits.
const KINDS: libc::c_int = libc::MAP_SHARED | libc::MAP_PRIVATE | libc::MAP_GROWSDOWN;
/// Copied on write, and of a fixed size.
const PRIVATE: Check = Check::Bits { argument: 3, mask: KINDS.cast_unsigned(), are: libc::MAP_PRIVATE.cast_unsigned() };
/// Of a file. Its descriptor is read-only, so that no later call can make it writable.
const SHARED_FILE: Check = Check::Bits {
    argument: 3,
    mask: (KINDS | libc::MAP_ANONYMOUS).cast_unsigned(),
    are: libc::MAP_SHARED.cast_unsigned(),
};

/// Every process with an allow-list has these.
pub const BASE: &[Row] = &[
    any(libc::SYS_read, "request pipe, and files that are open"),
    any(libc::SYS_write, "answer pipe, and standard error"),
    any(libc::SYS_readv, "std reads into several buffers"),
    any(libc::SYS_writev, "std writes a frame's head and body at once"),
    any(libc::SYS_close, "every descriptor's end"),
    any(libc::SYS_brk, "malloc of libc"),
    any(libc::SYS_munmap, "malloc of libc, mapped files, stacks of threads"),
    any(libc::SYS_mremap, "realloc of libc; cannot change protection"),
    any(libc::SYS_futex, "locks, channels, joining of threads"),
    any(libc::SYS_rt_sigreturn, "return from std's handler of stack overflows"),
    any(libc::SYS_rt_sigprocmask, "abort, and the start of threads"),
    any(libc::SYS_rt_sigaction, "abort, and std's handler of stack overflows"),
    any(libc::SYS_sigaltstack, "std's stack for that handler, one for each thread"),
    any(libc::SYS_restart_syscall, "the kernel itself, after a stop"),
    any(libc::SYS_sched_yield, "spinning locks"),
    any(libc::SYS_clock_gettime, "clocks, where the vDSO falls back"),
    any(libc::SYS_clock_nanosleep, "std sleeps"),
    any(libc::SYS_gettimeofday, "clocks, where the vDSO falls back"),
    any(libc::SYS_getrandom, "seeds of hash maps, ids"),
    any(libc::SYS_getpid, "abort of libc"),
    any(libc::SYS_gettid, "abort of libc, names of threads in panics"),
    any(libc::SYS_exit, "the end of a thread"),
    any(libc::SYS_exit_group, "the end of the process"),
    any(libc::SYS_rseq, "libc registers it for each thread"),
    only(libc::SYS_tgkill, &[Check::Is(0, Value::OwnPid)], "abort signals its own thread; no other process"),
    // MAP_SHARED memory and MAP_GROWSDOWN are not counted by RLIMIT_DATA, so neither is to be had
    only(libc::SYS_mmap, &[without(2, libc::PROT_EXEC), PRIVATE], "memory of libc and stacks, never executable"),
    only(
        libc::SYS_mmap,
        &[without(2, libc::PROT_EXEC | libc::PROT_WRITE), SHARED_FILE],
        "packs and indices of gix, of files that are open to read",
    ),
    only(libc::SYS_mprotect, &[without(2, libc::PROT_EXEC)], "guard pages and heaps of threads, never executable"),
    only(libc::SYS_madvise, &[is(2, libc::MADV_DONTNEED)], "free of libc, stacks of threads that ended"),
    only(libc::SYS_madvise, &[is(2, libc::MADV_FREE)], "allocators give memory back"),
    only(libc::SYS_madvise, &[is(2, libc::MADV_HUGEPAGE)], "allocators tune large blocks"),
    only(libc::SYS_madvise, &[is(2, libc::MADV_NOHUGEPAGE)], "allocators and libc tune stacks"),
    only(libc::SYS_fcntl, &[is(1, libc::F_GETFD)], "std checks descriptors in debug builds"),
    only(libc::SYS_fcntl, &[is(1, libc::F_SETFD)], "std marks descriptors close-on-exec"),
    only(libc::SYS_fcntl, &[is(1, libc::F_GETFL)], "opendir of libc looks at the mode of its descriptor"),
    only(libc::SYS_fcntl, &[is(1, libc::F_DUPFD_CLOEXEC)], "try_clone of std"),
    only(libc::SYS_prctl, &[is(0, libc::PR_SET_VMA)], "libc names its heaps"),
    only(libc::SYS_prctl, &[is(0, libc::PR_SET_NAME)], "std names threads"),
];

/// Flags without which a clone would be a process.
const THREAD: libc::c_int =
    libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_SIGHAND | libc::CLONE_THREAD;
/// Flags that no thread of libc has: new namespaces, a traced or suspended start, a process descriptor.
const NO_THREAD: libc::c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_PTRACE
    | libc::CLONE_UNTRACED
    | libc::CLONE_VFORK
    | libc::CLONE_PARENT
    | libc::CLONE_PIDFD;

/// For processes that start threads. `clone3` takes its flags by pointer, where a filter cannot look: it answers ENOSYS,
/// and libc falls back to `clone` (it would not on EPERM).
pub const THREADS: &[Row] = &[
    only(
        libc::SYS_clone,
        &[Check::Bits { argument: 0, mask: (THREAD | NO_THREAD).cast_unsigned(), are: THREAD.cast_unsigned() }],
        "std starts a thread; never a process",
    ),
    any(libc::SYS_set_robust_list, "libc registers its locks for each thread"),
    any(libc::SYS_sched_getaffinity, "std looks up a thread's stack; how many threads are worth starting"),
];
