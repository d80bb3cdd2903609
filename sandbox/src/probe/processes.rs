//! Other processes: signals, tracing, memory, limits, descriptors.
//! Trust: part of the attacker; see `probe`.

use super::raw::{descriptor, sys};
use super::{Probe, Step, Targets, Tried, done, reached};
use libc::SIGCONT;
use nix::errno::Errno;

/// The family `ps`. The signal is SIGCONT, which does nothing to a process that runs.
pub const ALL: &[Probe] = &[
    Probe { name: "ps.kill-sib", attempt: |t| done(sys!(libc::SYS_kill, t.sibling, SIGCONT)) },
    Probe { name: "ps.kill-sup", attempt: |t| done(sys!(libc::SYS_kill, t.supervisor, SIGCONT)) },
    Probe { name: "ps.tgkill-sup", attempt: |t| done(sys!(libc::SYS_tgkill, t.supervisor, t.supervisor, SIGCONT)) },
    Probe {
        name: "ps.pidfd-signal-sup",
        attempt: |t| {
            let target = descriptor(sys!(libc::SYS_pidfd_open, t.supervisor, 0)).step("open")?;
            done(sys!(libc::SYS_pidfd_send_signal, &target, SIGCONT, 0, 0))
        },
    },
    Probe {
        name: "ps.sigqueue-sup",
        attempt: |t| {
            // `siginfo_t`: signal, errno, code SI_QUEUE
            let mut info = [0i32; 32];
            (info[0], info[2]) = (SIGCONT, libc::SI_QUEUE);
            done(sys!(libc::SYS_rt_sigqueueinfo, t.supervisor, SIGCONT, &info))
        },
    },
    // the kernel lets go of what was seized when this process ends
    Probe { name: "ps.ptrace-sib", attempt: |t| done(sys!(libc::SYS_ptrace, libc::PTRACE_SEIZE, t.sibling, 0, 0)) },
    Probe { name: "ps.ptrace-sup", attempt: |t| done(sys!(libc::SYS_ptrace, libc::PTRACE_SEIZE, t.supervisor, 0, 0)) },
    Probe { name: "ps.vm-readv-sib", attempt: |t| memory(t, libc::SYS_process_vm_readv) },
    Probe { name: "ps.vm-writev-sib", attempt: |t| memory(t, libc::SYS_process_vm_writev) },
    Probe {
        name: "ps.kcmp-sib",
        // 1: the same address space?
        attempt: |t| done(sys!(libc::SYS_kcmp, std::process::id(), t.sibling, 1, 0, 0)),
    },
    Probe {
        name: "ps.pidfd-getfd-sib",
        attempt: |t| {
            let target = descriptor(sys!(libc::SYS_pidfd_open, t.sibling, 0)).step("open")?;
            done(descriptor(sys!(libc::SYS_pidfd_getfd, &target, 0, 0)))
        },
    },
    Probe {
        name: "ps.prlimit-sib",
        attempt: |t| done(sys!(libc::SYS_prlimit64, t.sibling, libc::RLIMIT_NOFILE, &[256u64, 256], 0)),
    },
    Probe {
        name: "ps.setaffinity-sib",
        attempt: |t| done(sys!(libc::SYS_sched_setaffinity, t.sibling, 128, &[u64::MAX; 16])),
    },
    Probe {
        name: "ps.setpriority-sib",
        attempt: |t| done(sys!(libc::SYS_setpriority, libc::PRIO_PROCESS, t.sibling, 1)),
    },
    // who gets SIGIO for standard input, which every process has
    Probe { name: "ps.fsetown-sup", attempt: |t| done(sys!(libc::SYS_fcntl, 0, libc::F_SETOWN, t.supervisor)) },
];

/// Copies from or to an address at which nothing lies: EFAULT means that access was granted.
fn memory(targets: &Targets, number: libc::c_long) -> Tried {
    let mut here = [0u8; 8];
    let (local, remote) = ([here.as_mut_ptr() as usize, here.len()], [8usize, 8]);
    reached(sys!(number, targets.sibling, &local, 1, &remote, 1, 0), &[Errno::EFAULT])
}
