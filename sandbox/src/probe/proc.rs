//! `/proc`: what it shows of this process and of others.
//! Trust: part of the attacker; see `probe`.

use super::raw::{open, read};
use super::{Probe, done, text};

/// The family `proc`.
pub const ALL: &[Probe] = &[
    Probe { name: "proc.self-mem", attempt: |_| done(open(c"/proc/self/mem", libc::O_RDWR)) },
    Probe { name: "proc.sib-mem", attempt: |t| done(open(&t.of_sibling("mem"), libc::O_RDONLY)) },
    Probe { name: "proc.sib-environ", attempt: |t| done(read(&t.of_sibling("environ"))) },
    Probe { name: "proc.sib-maps", attempt: |t| done(read(&t.of_sibling("maps"))) },
    Probe { name: "proc.sup-environ", attempt: |t| done(read(&text(&format!("/proc/{}/environ", t.supervisor)))) },
    Probe { name: "proc.sib-cmdline", attempt: |t| done(read(&t.of_sibling("cmdline"))) },
    Probe { name: "proc.sib-root", attempt: |t| done(read(&t.of_sibling("root/etc/passwd"))) },
    Probe { name: "proc.sib-fd", attempt: |t| done(open(&t.of_sibling("fd/0"), libc::O_RDONLY | libc::O_NONBLOCK)) },
];
