//! Code and identity: new processes, new programs, executable memory, namespaces, users, capabilities.
//! Trust: part of the attacker; see `probe`.

#[cfg(not(target_arch = "x86_64"))]
use super::No;
#[cfg(target_arch = "x86_64")]
use super::done as call_of_old;
use super::raw::{descriptor, either, open, process, sys};
use super::{Probe, Step, done, text};
use std::ffi::CStr;

const PRIVATE: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// The family `ex`.
pub const ALL: &[Probe] = &[
    Probe {
        name: "ex.fork",
        #[cfg(target_arch = "x86_64")]
        attempt: |_| call_of_old(process(sys!(libc::SYS_fork))),
        #[cfg(not(target_arch = "x86_64"))]
        attempt: |_| Err(No::Nothing("no fork call on this architecture")),
    },
    // a success replaces this process
    Probe { name: "ex.exec-true", attempt: |_| done(sys!(libc::SYS_execve, c"/bin/true", &argv(c"true"), &[0usize])) },
    Probe { name: "ex.memfd-create", attempt: |_| done(descriptor(sys!(libc::SYS_memfd_create, c"x", 0))) },
    Probe {
        name: "ex.memfd-exec",
        attempt: |_| {
            // not closed by exec: the interpreter opens the script again
            let program = descriptor(sys!(libc::SYS_memfd_create, c"x", 0)).step("memfd")?;
            let script = b"#!/bin/true\n";
            sys!(libc::SYS_write, &program, script, script.len()).step("write")?;
            done(sys!(libc::SYS_execveat, &program, c"", &argv(c"x"), &[0usize], libc::AT_EMPTY_PATH))
        },
    },
    Probe {
        name: "ex.mmap-wx",
        attempt: |_| done(sys!(libc::SYS_mmap, 0, 4096, READ_WRITE | libc::PROT_EXEC, PRIVATE, -1, 0)),
    },
    Probe {
        name: "ex.mprotect-exec",
        attempt: |_| {
            let page = sys!(libc::SYS_mmap, 0, 4096, READ_WRITE, PRIVATE, -1, 0).step("mmap")?;
            done(sys!(libc::SYS_mprotect, page, 4096, libc::PROT_READ | libc::PROT_EXEC))
        },
    },
    Probe {
        name: "ex.clone-newuser",
        attempt: |_| done(process(sys!(libc::SYS_clone, libc::CLONE_NEWUSER | libc::SIGCHLD, 0, 0, 0, 0))),
    },
    Probe { name: "ex.unshare-user", attempt: |_| done(sys!(libc::SYS_unshare, libc::CLONE_NEWUSER)) },
    Probe { name: "ex.unshare-net", attempt: |_| done(sys!(libc::SYS_unshare, libc::CLONE_NEWNET)) },
    Probe {
        name: "ex.setns",
        attempt: |t| {
            let namespace = open(&text(&format!("/proc/{}/ns/net", t.supervisor)), libc::O_RDONLY).step("open")?;
            done(sys!(libc::SYS_setns, &namespace, 0))
        },
    },
    Probe { name: "ex.chroot", attempt: |_| done(sys!(libc::SYS_chroot, c"/")) },
    Probe { name: "ex.personality", attempt: |_| done(sys!(libc::SYS_personality, libc::ADDR_NO_RANDOMIZE)) },
    Probe { name: "ex.setuid0", attempt: |_| done(sys!(libc::SYS_setuid, 0)) },
    Probe {
        name: "ex.capset",
        attempt: |_| {
            // version 3, this process; all there are, or, which is always granted, none
            let header = [0x2008_0522u32, 0];
            done(either(sys!(libc::SYS_capset, &header, &[u32::MAX; 6]), || {
                sys!(libc::SYS_capset, &header, &[0u32; 6])
            }))
        },
    },
];

/// A command line of one word.
fn argv(word: &CStr) -> [usize; 2] {
    [word.as_ptr() as usize, 0]
}
