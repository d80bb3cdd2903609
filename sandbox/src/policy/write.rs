//! worker-write and the Git that it runs: programs may be started, so there is no allow-list; Landlock says which, and where.
//! Trust: constant. What stands here must hold for a Git that was taken over by what a repository made it read.

use super::{Check, Policy, Row, any, is, is_not, never, only, with};

/// What neither Git nor ssh needs, and what reaches past Landlock or past this process.
pub const OUTWARD: &[Row] = &[
    only(libc::SYS_clone, &[with(0, libc::CLONE_NEWUSER)], "full capabilities in a namespace of its own"),
    only(libc::SYS_clone, &[with(0, libc::CLONE_NEWNS)], "mounts of its own"),
    only(libc::SYS_clone, &[with(0, libc::CLONE_NEWPID)], "processes that outlive their parent"),
    only(libc::SYS_clone, &[with(0, libc::CLONE_NEWNET)], "a network of its own"),
    only(libc::SYS_clone, &[with(0, libc::CLONE_NEWIPC)], "a namespace of its own"),
    only(libc::SYS_clone, &[with(0, libc::CLONE_NEWUTS)], "a namespace of its own"),
    only(libc::SYS_clone, &[with(0, libc::CLONE_NEWCGROUP)], "a namespace of its own"),
    only(libc::SYS_prlimit64, &[is_not(0, 0)], "limits of another process of the user"),
    only(libc::SYS_sched_setaffinity, &[is_not(0, 0)], "processors of another process"),
    only(libc::SYS_setpriority, &[is_not(1, 0)], "priority of another process"),
    any(libc::SYS_sched_setscheduler, "scheduling of another process"),
    any(libc::SYS_sched_setparam, "scheduling of another process"),
    any(libc::SYS_sched_setattr, "scheduling of another process"),
    any(libc::SYS_ioprio_set, "scheduling of another process"),
    only(libc::SYS_fcntl, &[is(1, libc::F_SETOWN)], "signals to another process by way of a descriptor"),
    only(libc::SYS_fcntl, &[is(1, F_SETOWN_EX)], "signals to another process by way of a descriptor"),
    any(libc::SYS_setxattr, "attributes of any file of the user; Landlock has no right for them"),
    any(libc::SYS_lsetxattr, "attributes of any file of the user"),
    any(libc::SYS_fsetxattr, "attributes of any file of the user"),
    any(libc::SYS_removexattr, "attributes of any file of the user"),
    any(libc::SYS_lremovexattr, "attributes of any file of the user"),
    any(libc::SYS_fremovexattr, "attributes of any file of the user"),
    any(SETXATTRAT, "attributes of any file of the user"),
    any(REMOVEXATTRAT, "attributes of any file of the user"),
    any(FILE_SETATTR, "flags of any file of the user"),
    any(libc::SYS_fchown, "the group of any file of the user"),
    any(libc::SYS_fchownat, "the group of any file of the user"),
    any(libc::SYS_inotify_init1, "watches what happens to files elsewhere"),
    any(libc::SYS_inotify_add_watch, "watches what happens to files elsewhere"),
    any(libc::SYS_fanotify_init, "watches what happens to files elsewhere"),
    any(libc::SYS_name_to_handle_at, "names files past every path check"),
    any(libc::SYS_shmget, "memory that outlives the process"),
    any(libc::SYS_msgget, "messages between processes of the user"),
    any(libc::SYS_semget, "locks between processes of the user"),
    any(libc::SYS_mq_open, "messages between processes of the user"),
];

/// Younger than libc's tables; the same numbers on all architectures (`include/uapi/asm-generic/unistd.h`).
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;
const FILE_SETATTR: libc::c_long = 469;
/// The youngest call that these tables were written with in mind. One that is younger may reach what they keep from Git.
pub const YOUNGEST: u32 = 469;

/// Not in libc for every architecture; the same number on all of them.
const F_SETOWN_EX: libc::c_int = 15;

/// Those of them that only older architectures have.
#[cfg(target_arch = "x86_64")]
pub const OUTWARD_LEGACY: &[Row] = &[
    any(libc::SYS_chown, "the group of any file of the user"),
    any(libc::SYS_lchown, "the group of any file of the user"),
    any(libc::SYS_inotify_init, "watches what happens to files elsewhere"),
];
/// No such calls here.
#[cfg(not(target_arch = "x86_64"))]
pub const OUTWARD_LEGACY: &[Row] = &[];

/// No socket. An error and not the end: libc's user database tries one, and Git goes on without.
pub const NO_SOCKET: &[Row] = &[any(libc::SYS_socket, "reaches another program or machine")];

/// No pair of sockets but the one by which std starts a program: of UNIX packets, kind 5 of four bits.
pub const ONE_PAIR: &[Row] = &[
    only(libc::SYS_socketpair, &[is_not(0, libc::AF_UNIX)], "the surface of another family"),
    only(libc::SYS_socketpair, &[Check::Bits { argument: 1, mask: 1, are: 0 }], "pairs of datagrams"),
    only(libc::SYS_socketpair, &[Check::Bits { argument: 1, mask: 4, are: 0 }], "pairs of streams"),
    only(libc::SYS_socketpair, &[with(1, 2)], "no such kind of pair"),
    only(libc::SYS_socketpair, &[with(1, 8)], "no such kind of pair"),
];

/// Connections by TCP.
pub const INET_ONLY: &[Row] = &[only(
    libc::SYS_socket,
    &[is_not(0, libc::AF_INET), is_not(0, libc::AF_INET6)],
    "any other family: netlink, packets, the kernel's ciphers, other programs' sockets",
)];

/// Connections by TCP and to the operator's ssh agent. A kernel whose Landlock knows no sockets by path lets through to
/// every other of the user's, so this is for operators who have an agent.
pub const INET_AND_UNIX: &[Row] = &[only(
    libc::SYS_socket,
    &[is_not(0, libc::AF_INET), is_not(0, libc::AF_INET6), is_not(0, libc::AF_UNIX)],
    "any other family: netlink, packets, the kernel's ciphers",
)];

/// Streams that are dialled, and nothing else. Landlock says to which ports; the last of these would get past it.
pub const STREAMS_ONLY: &[Row] = &[
    // a stream is kind 1 of four bits: whatever has the lowest off or another on is none
    only(libc::SYS_socket, &[Check::Bits { argument: 1, mask: 1, are: 0 }], "datagrams, and the like"),
    only(libc::SYS_socket, &[with(1, 2)], "raw packets"),
    only(libc::SYS_socket, &[with(1, 4)], "packets in sequence"),
    only(libc::SYS_socket, &[with(1, 8)], "packets of a device"),
    only(
        libc::SYS_socket,
        &[is_not(2, 0), is_not(2, libc::IPPROTO_TCP)],
        "streams that Landlock does not see: MPTCP, SCTP",
    ),
    any(libc::SYS_bind, "waits for other programs or machines"),
    any(libc::SYS_listen, "waits for other programs or machines"),
    any(libc::SYS_accept, "waits for other programs or machines"),
    any(libc::SYS_accept4, "waits for other programs or machines"),
    only(libc::SYS_sendto, &[with(3, libc::MSG_FASTOPEN)], "connects where Landlock does not look"),
    only(libc::SYS_sendmsg, &[with(2, libc::MSG_FASTOPEN)], "connects where Landlock does not look"),
    only(libc::SYS_sendmmsg, &[with(3, libc::MSG_FASTOPEN)], "connects where Landlock does not look"),
    only(
        libc::SYS_setsockopt,
        &[is(1, libc::IPPROTO_TCP), is(2, libc::TCP_FASTOPEN_CONNECT)],
        "connects where Landlock does not look",
    ),
];

/// Calls whose arguments lie behind a pointer: ENOSYS, on which libc takes the older call.
pub const HIDDEN: &[Row] = &[any(libc::SYS_clone3, "its flags cannot be seen; libc falls back to clone")];

/// For each program that is started: it and what it starts stay in one group, which is ended as a whole.
pub const STAY: &[Row] = &[
    any(libc::SYS_setsid, "leaves the group by which it would be ended"),
    any(libc::SYS_setpgid, "leaves the group by which it would be ended"),
];

/// For each program that is started without a network.
pub const NO_PAIR: &[Row] = &[any(libc::SYS_socketpair, "a socket that a descriptor could be sent over")];

/// Without a network.
pub const POLICY: Policy = Policy {
    allow: None,
    refuse: Some(&[OUTWARD, OUTWARD_LEGACY, NO_SOCKET, ONE_PAIR]),
    kill: Some(&[never::EVERYWHERE, never::CONFINED, never::CONFINED_LEGACY, never::NO_SOCKETS]),
};

const NET_KILL: Option<&[&[Row]]> = Some(&[never::EVERYWHERE, never::CONFINED, never::CONFINED_LEGACY]);

/// Pairs of sockets are for what runs side by side here, and lead nowhere else. One of datagrams would: each of them can be sent to
/// a path, where Landlock does not look before it knows UNIX sockets by path.
pub const UNIX_PAIRS: &[Row] = &[
    only(libc::SYS_socketpair, &[is_not(0, libc::AF_UNIX)], "the surface of another family"),
    only(libc::SYS_socketpair, &[Check::Bits { argument: 1, mask: 1, are: 0 }], "datagrams to other programs' sockets"),
    only(libc::SYS_socketpair, &[with(1, 2)], "no such kind of pair"),
    only(libc::SYS_socketpair, &[with(1, 8)], "no such kind of pair"),
];

/// Without a network, where hooks run. They are programs of all kinds, which try things and go on without: what ends Git is
/// an error to them.
pub const HOOKS: Policy = Policy {
    allow: None,
    refuse: Some(&[
        OUTWARD,
        OUTWARD_LEGACY,
        NO_SOCKET,
        UNIX_PAIRS,
        never::CONFINED,
        never::CONFINED_LEGACY,
        never::NO_SOCKETS,
    ]),
    kill: Some(&[never::EVERYWHERE]),
};

/// With one, for fetch and push.
pub const NET: Policy = Policy {
    allow: None,
    refuse: Some(&[OUTWARD, OUTWARD_LEGACY, INET_ONLY, STREAMS_ONLY, UNIX_PAIRS]),
    kill: NET_KILL,
};

/// The same where the operator has an ssh agent.
pub const NET_AND_AGENT: Policy = Policy {
    allow: None,
    refuse: Some(&[OUTWARD, OUTWARD_LEGACY, INET_AND_UNIX, STREAMS_ONLY, UNIX_PAIRS]),
    kill: NET_KILL,
};
