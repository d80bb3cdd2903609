//! Files: reading outside the repository, and every way to change something inside or outside it.
//! Trust: part of the attacker; see `probe`.

use super::raw::{descriptor, either, legacy, open, read, sys};
use super::{Probe, Step, done, text};
use libc::AT_FDCWD;

/// The family `fs`.
pub const ALL: &[Probe] = &[
    // the one thing that worker-read is for
    Probe { name: "fs.read-root", attempt: |t| done(read(&t.in_repository("a.txt"))) },
    Probe { name: "fs.read-passwd", attempt: |_| done(read(c"/etc/passwd")) },
    Probe { name: "fs.read-key", attempt: |t| done(read(&text(&t.key))) },
    Probe { name: "fs.list-slash", attempt: |_| done(open(c"/", libc::O_RDONLY | libc::O_DIRECTORY)) },
    Probe { name: "fs.write-repo", attempt: |t| done(open(&t.in_repository("a.txt"), libc::O_WRONLY)) },
    Probe {
        name: "fs.create-repo",
        attempt: |t| done(open(&t.in_repository("new.txt"), libc::O_WRONLY | libc::O_CREAT)),
    },
    Probe {
        name: "fs.trunc-repo",
        attempt: |t| {
            let victim = t.in_repository("victim.txt");
            done(either(sys!(libc::SYS_truncate, &*victim, 1), || {
                open(&victim, libc::O_RDONLY | libc::O_TRUNC).map(|_| 0)
            }))
        },
    },
    Probe {
        name: "fs.unlink-repo",
        attempt: |t| {
            let victim = t.in_repository("victim2.txt");
            done(either(sys!(libc::SYS_unlinkat, AT_FDCWD, &*victim, 0), || legacy!(SYS_unlink, &*victim)))
        },
    },
    Probe {
        name: "fs.rename-repo",
        attempt: |t| {
            let (from, to) = (t.in_repository("victim3.txt"), t.in_repository("victim4.txt"));
            let modern = sys!(libc::SYS_renameat2, AT_FDCWD, &*from, AT_FDCWD, &*to, 0);
            done(either(modern, || legacy!(SYS_rename, &*from, &*to)))
        },
    },
    Probe {
        name: "fs.chmod-repo",
        attempt: |t| {
            let path = t.in_repository("a.txt");
            done(either(sys!(libc::SYS_fchmodat, AT_FDCWD, &*path, 0o644), || legacy!(SYS_chmod, &*path, 0o644)))
        },
    },
    Probe {
        name: "fs.utimes-repo",
        attempt: |t| {
            let path = t.in_repository("a.txt");
            done(either(sys!(libc::SYS_utimensat, AT_FDCWD, &*path, 0, 0), || legacy!(SYS_utime, &*path, 0)))
        },
    },
    Probe {
        name: "fs.setxattr-repo",
        attempt: |t| done(sys!(libc::SYS_setxattr, &*t.in_repository("a.txt"), c"user.x", b"1", 1, 0)),
    },
    Probe {
        name: "fs.symlink-repo",
        attempt: |t| {
            let link = t.in_repository("ln");
            let modern = sys!(libc::SYS_symlinkat, c"/etc/passwd", AT_FDCWD, &*link);
            done(either(modern, || legacy!(SYS_symlink, c"/etc/passwd", &*link)))
        },
    },
    Probe {
        name: "fs.hardlink-out",
        attempt: |t| {
            let (from, to) = (text(&format!("{}/secret.txt", t.outside)), t.in_repository("hl"));
            let modern = sys!(libc::SYS_linkat, AT_FDCWD, &*from, AT_FDCWD, &*to, 0);
            done(either(modern, || legacy!(SYS_link, &*from, &*to)))
        },
    },
    // Landlock has no right for the two that follow: only the empty root takes them away
    Probe {
        name: "fs.stat-outside",
        attempt: |_| {
            let mut status = [0u64; 32];
            let modern = sys!(libc::SYS_newfstatat, AT_FDCWD, c"/etc/passwd", &mut status, 0);
            done(either(modern, || sys!(libc::SYS_statx, AT_FDCWD, c"/etc/passwd", 0, 0x7ff, &mut status)))
        },
    },
    Probe {
        name: "fs.readlink-outside",
        attempt: |_| done(sys!(libc::SYS_readlinkat, AT_FDCWD, c"/proc/self/exe", &mut [0u8; 64], 64)),
    },
    Probe { name: "fs.opath-outside", attempt: |_| done(open(c"/etc/passwd", libc::O_PATH)) },
    Probe { name: "fs.chdir-outside", attempt: |_| done(sys!(libc::SYS_chdir, c"/etc")) },
    Probe { name: "fs.dotdot", attempt: |t| done(read(&t.in_repository("../outside/secret.txt"))) },
    Probe { name: "fs.open-tmpfile", attempt: |t| done(open(&text(&t.outside), libc::O_TMPFILE | libc::O_RDWR)) },
    Probe {
        name: "fs.mkfifo",
        attempt: |t| {
            let (path, mode) = (t.in_repository("ff"), libc::S_IFIFO | 0o600);
            done(either(sys!(libc::SYS_mknodat, AT_FDCWD, &*path, mode, 0), || legacy!(SYS_mknod, &*path, mode, 0)))
        },
    },
    Probe { name: "fs.dev-null-write", attempt: |_| done(open(c"/dev/null", libc::O_WRONLY)) },
    Probe {
        name: "fs.inotify",
        attempt: |_| {
            let watch = descriptor(sys!(libc::SYS_inotify_init1, libc::IN_CLOEXEC)).step("init")?;
            done(sys!(libc::SYS_inotify_add_watch, &watch, c"/etc", libc::IN_ALL_EVENTS))
        },
    },
    Probe { name: "fs.fanotify", attempt: |_| done(descriptor(sys!(libc::SYS_fanotify_init, 0, 0))) },
    Probe { name: "fs.statfs-outside", attempt: |_| done(sys!(libc::SYS_statfs, c"/etc", &mut [0u64; 32])) },
    Probe {
        name: "fs.handle",
        attempt: |_| {
            // `struct file_handle`: room for 128 bytes of handle, its type, the handle
            let mut handle = [0u32; 34];
            handle[0] = 128;
            let named = sys!(libc::SYS_name_to_handle_at, AT_FDCWD, c"/etc/passwd", &mut handle, &mut [0i32; 1], 0);
            named.step("name")?;
            done(descriptor(sys!(libc::SYS_open_by_handle_at, AT_FDCWD, &handle, libc::O_RDONLY | libc::O_CLOEXEC)))
        },
    },
];
