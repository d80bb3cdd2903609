//! Calls that nobody here has a reason to make: one of them is an attack or a grave mistake, so the process ends.
//! Trust: constant. No call may stand here that some libc makes on its own; those are answered ENOSYS instead.

use super::{Row, any};

/// For every process, the launcher included. Workers inherit this before they set themselves up.
pub const EVERYWHERE: &[Row] = &[
    any(libc::SYS_ptrace, "takes over another process"),
    any(libc::SYS_process_vm_readv, "reads another process's memory"),
    any(libc::SYS_process_vm_writev, "writes another process's memory"),
    any(libc::SYS_kcmp, "compares kernel objects of two processes"),
    any(libc::SYS_pidfd_getfd, "takes a descriptor out of another process"),
    any(libc::SYS_bpf, "kernel programs"),
    any(libc::SYS_perf_event_open, "kernel measuring, a wide attack surface"),
    any(libc::SYS_userfaultfd, "makes races in the kernel winnable"),
    any(libc::SYS_io_uring_setup, "makes calls that no filter sees"),
    any(libc::SYS_io_uring_enter, "makes calls that no filter sees"),
    any(libc::SYS_io_uring_register, "makes calls that no filter sees"),
    any(libc::SYS_keyctl, "keys of the user's session"),
    any(libc::SYS_add_key, "keys of the user's session"),
    any(libc::SYS_request_key, "keys of the user's session"),
    any(libc::SYS_init_module, "loads kernel code"),
    any(libc::SYS_finit_module, "loads kernel code"),
    any(libc::SYS_delete_module, "unloads kernel code"),
    any(libc::SYS_kexec_load, "replaces the kernel"),
    any(libc::SYS_reboot, "stops the machine"),
    any(libc::SYS_swapon, "administration of memory"),
    any(libc::SYS_swapoff, "administration of memory"),
    any(libc::SYS_acct, "administration of accounting"),
    any(libc::SYS_syslog, "reads the kernel's log"),
    any(libc::SYS_settimeofday, "sets the clock"),
    any(libc::SYS_clock_settime, "sets the clock"),
    any(libc::SYS_sethostname, "renames the machine"),
    any(libc::SYS_setdomainname, "renames the machine"),
    any(libc::SYS_vhangup, "administration of terminals"),
    any(libc::SYS_open_by_handle_at, "opens files past every path check"),
    any(libc::SYS_chroot, "moves the root of path checks; the empty root uses pivot_root"),
    any(libc::SYS_setns, "joins another process's namespaces"),
    any(libc::SYS_personality, "makes readable memory executable"),
    any(libc::SYS_fsopen, "new file systems; the empty root mounts by the older call"),
    any(libc::SYS_fsconfig, "new file systems"),
    any(libc::SYS_fsmount, "new file systems"),
    any(libc::SYS_fspick, "changes mounted file systems"),
];

/// For processes that never start a program.
pub const NO_PROGRAMS: &[Row] =
    &[any(libc::SYS_execve, "starts a program"), any(libc::SYS_execveat, "starts a program")];

/// Those of them that only older architectures have.
#[cfg(target_arch = "x86_64")]
pub const NO_PROGRAMS_LEGACY: &[Row] =
    &[any(libc::SYS_fork, "starts a process"), any(libc::SYS_vfork, "starts a process")];
/// No such calls here.
#[cfg(not(target_arch = "x86_64"))]
pub const NO_PROGRAMS_LEGACY: &[Row] = &[];

/// Not in libc for every architecture; the same number on all of them.
const MEMFD_SECRET: libc::c_long = 447;

/// For processes that are set up already, also where they start programs.
pub const CONFINED: &[Row] = &[
    // what it makes is on no mounted file system, where Landlock's right to execute is not asked for
    any(libc::SYS_memfd_create, "a file from nowhere, to be executed"),
    any(MEMFD_SECRET, "a file from nowhere"),
    any(libc::SYS_unshare, "new namespaces, and with them full capabilities"),
    any(libc::SYS_mount, "changes what paths lead to"),
    any(libc::SYS_umount2, "uncovers what a mount hides"),
    any(libc::SYS_pivot_root, "changes what paths lead to"),
    any(libc::SYS_open_tree, "changes what paths lead to"),
    any(libc::SYS_move_mount, "changes what paths lead to"),
    any(libc::SYS_mount_setattr, "makes a read-only mount writable"),
    any(libc::SYS_setuid, "becomes another user"),
    any(libc::SYS_setreuid, "becomes another user"),
    any(libc::SYS_setresuid, "becomes another user"),
    any(libc::SYS_setgid, "joins another group"),
    any(libc::SYS_setregid, "joins another group"),
    any(libc::SYS_setresgid, "joins another group"),
    any(libc::SYS_setgroups, "joins other groups"),
    any(libc::SYS_setfsuid, "opens files as another user"),
    any(libc::SYS_setfsgid, "opens files as another group"),
    any(libc::SYS_capset, "takes capabilities back"),
];

/// Those of them that only older architectures have.
#[cfg(target_arch = "x86_64")]
pub const CONFINED_LEGACY: &[Row] = &[
    any(libc::SYS_iopl, "hardware ports"),
    any(libc::SYS_ioperm, "hardware ports"),
    any(libc::SYS_modify_ldt, "old segments, a wide attack surface"),
];
/// No such calls here.
#[cfg(not(target_arch = "x86_64"))]
pub const CONFINED_LEGACY: &[Row] = &[];

/// For processes without sockets of their own. `socket` itself is not here but answers ENOSYS: libc's user database asks
/// a name service through one when a lookup happens by mistake, and that must not end the process.
pub const NO_SOCKETS: &[Row] = &[
    any(libc::SYS_connect, "reaches another program or machine"),
    any(libc::SYS_bind, "waits for other programs or machines"),
    any(libc::SYS_listen, "waits for other programs or machines"),
    any(libc::SYS_accept, "waits for other programs or machines"),
    any(libc::SYS_accept4, "waits for other programs or machines"),
];
