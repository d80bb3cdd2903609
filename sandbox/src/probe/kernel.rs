//! The kernel's surface: calls that no worker needs, and the ways to loosen its own jail.
//! Trust: part of the attacker; see `probe`.

#[cfg(not(target_arch = "x86_64"))]
use super::No;
use super::raw::{descriptor, either, process, read, sys};
use super::{Probe, Step, done, reached, text};
use nix::errno::Errno;

/// `IPC_PRIVATE`, and what a new object of it is made with.
const PRIVATE: i32 = 0;
const CREATE: i32 = libc::IPC_CREAT | 0o600;
/// `KEY_SPEC_PROCESS_KEYRING`: gone with this process.
const PROCESS_KEYRING: i32 = -2;

/// The family `k`. Whatever would change the machine is asked for with an argument that the kernel refuses only after
/// it has granted the permission.
pub const ALL: &[Probe] = &[
    Probe { name: "k.io-uring", attempt: |_| done(descriptor(sys!(libc::SYS_io_uring_setup, 2, &mut [0u64; 16]))) },
    Probe {
        name: "k.userfaultfd",
        // 1: user mode only, which needs no privilege
        attempt: |_| done(descriptor(sys!(libc::SYS_userfaultfd, 1))),
    },
    Probe {
        name: "k.bpf",
        // make a map: an array of one entry, key and value of 4 bytes
        attempt: |_| {
            let map = [2u32, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            done(descriptor(sys!(libc::SYS_bpf, 0, &map, 64)))
        },
    },
    Probe {
        name: "k.perf",
        // a software event of the whole of CPU 0: `perf_event_attr` with type 1 and its size
        attempt: |_| {
            let mut event = [0u32; 32];
            (event[0], event[1]) = (1, 128);
            done(descriptor(sys!(libc::SYS_perf_event_open, &event, -1, 0, -1, 0)))
        },
    },
    Probe {
        name: "k.mount",
        attempt: |t| {
            let place = text(&t.outside);
            reached(sys!(libc::SYS_mount, c"none", &*place, c"no-such-file-system", 0, 0), &[Errno::ENODEV])
        },
    },
    Probe { name: "k.fsopen", attempt: |_| done(descriptor(sys!(libc::SYS_fsopen, c"tmpfs", 1))) },
    Probe {
        name: "k.pivot-root",
        attempt: |_| reached(sys!(libc::SYS_pivot_root, c"/nonexistent", c"/nonexistent"), &[Errno::ENOENT]),
    },
    // 0: the id of a keyring, made if it is not there
    Probe { name: "k.keyctl", attempt: |_| done(sys!(libc::SYS_keyctl, 0, PROCESS_KEYRING, 1)) },
    Probe {
        name: "k.add-key",
        attempt: |_| done(sys!(libc::SYS_add_key, c"user", c"bulkhead-probe", b"x", 1, PROCESS_KEYRING)),
    },
    Probe {
        name: "k.init-module",
        attempt: |_| reached(sys!(libc::SYS_init_module, 0, 0, c""), &[Errno::EFAULT, Errno::ENOEXEC]),
    },
    Probe {
        name: "k.kexec",
        // an architecture that there is not
        attempt: |_| reached(sys!(libc::SYS_kexec_load, 0, 0, 0, 0xffff_0000u32), &[Errno::EINVAL]),
    },
    Probe {
        name: "k.shmget",
        attempt: |_| {
            let id = sys!(libc::SYS_shmget, PRIVATE, 4096, CREATE)?;
            done(sys!(libc::SYS_shmctl, id, libc::IPC_RMID, 0))
        },
    },
    Probe {
        name: "k.mq-open",
        attempt: |_| {
            let name = text(&format!("bulkhead-probe-{}", std::process::id()));
            descriptor(sys!(libc::SYS_mq_open, &*name, libc::O_CREAT | libc::O_RDWR, 0o600, 0))?;
            done(sys!(libc::SYS_mq_unlink, &*name))
        },
    },
    Probe {
        name: "k.semget",
        attempt: |_| {
            let id = sys!(libc::SYS_semget, PRIVATE, 1, CREATE)?;
            done(sys!(libc::SYS_semctl, id, 0, libc::IPC_RMID))
        },
    },
    // 10: how large the kernel's log is
    Probe { name: "k.syslog", attempt: |_| done(sys!(libc::SYS_syslog, 10, 0, 0)) },
    Probe {
        name: "k.modify-ldt",
        #[cfg(target_arch = "x86_64")]
        attempt: |_| done(sys!(libc::SYS_modify_ldt, 0, &mut [0u8; 64], 64)),
        #[cfg(not(target_arch = "x86_64"))]
        attempt: |_| Err(No::Nothing("x86_64 only")),
    },
    Probe {
        name: "k.clone3",
        attempt: |_| {
            let arguments = [0, 0, 0, 0, libc::SIGCHLD as u64, 0, 0, 0];
            done(process(sys!(libc::SYS_clone3, &arguments, 64)))
        },
    },
    Probe {
        name: "k.openat2-out",
        attempt: |_| {
            let how = [(libc::O_RDONLY | libc::O_CLOEXEC) as u64, 0, 0];
            done(descriptor(sys!(libc::SYS_openat2, libc::AT_FDCWD, c"/etc/passwd", &how, 24)))
        },
    },
    Probe {
        name: "k.x32-open",
        #[cfg(target_arch = "x86_64")]
        attempt: |_| done(descriptor(sys!(0x4000_0000 | libc::SYS_open, c"/etc/passwd", libc::O_CLOEXEC, 0))),
        #[cfg(not(target_arch = "x86_64"))]
        attempt: |_| Err(No::Nothing("x86_64 only")),
    },
    Probe {
        name: "k.int80-open",
        #[cfg(target_arch = "x86_64")]
        attempt: |_| {
            let place = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT;
            let page = sys!(libc::SYS_mmap, 0, 4096, libc::PROT_READ | libc::PROT_WRITE, place, -1, 0).step("mmap")?;
            done(old_open(page, c"/etc/passwd"))
        },
        #[cfg(not(target_arch = "x86_64"))]
        attempt: |_| Err(No::Nothing("x86_64 only")),
    },
    Probe {
        name: "k.seccomp-again",
        // 2: is this action there? asked with no action
        attempt: |_| reached(sys!(libc::SYS_seccomp, 2, 0, 0), &[Errno::EFAULT]),
    },
    Probe {
        name: "k.landlock-widen",
        // a rule set that handles execution alone must not bring reading back
        attempt: |_| {
            // a jailed process has this already
            let _ = sys!(libc::SYS_prctl, libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            let rules = descriptor(sys!(libc::SYS_landlock_create_ruleset, &[1u64], 8, 0)).step("create")?;
            sys!(libc::SYS_landlock_restrict_self, &rules, 0).step("restrict")?;
            done(read(c"/etc/passwd"))
        },
    },
    Probe { name: "k.dumpable-on", attempt: |_| done(sys!(libc::SYS_prctl, libc::PR_SET_DUMPABLE, 1, 0, 0, 0)) },
    Probe { name: "k.pdeathsig-off", attempt: |_| done(sys!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, 0, 0, 0, 0)) },
    Probe {
        name: "k.rlimit-up",
        // beyond all, or, for which no privilege is needed, the soft limit up to the hard one
        attempt: |_| {
            let (what, mut now) = (libc::RLIMIT_NOFILE, [0u64; 2]);
            let all = [libc::RLIM_INFINITY; 2];
            done(either(sys!(libc::SYS_setrlimit, what, &all), || {
                sys!(libc::SYS_prlimit64, 0, what, 0, &mut now)?;
                sys!(libc::SYS_prlimit64, 0, what, &[now[1]; 2], 0)
            }))
        },
    },
];

/// `open` by the 32-bit gate, whose calls have other numbers; the path is put at `page`, below 4 GiB.
#[cfg(target_arch = "x86_64")]
fn old_open(page: usize, path: &std::ffi::CStr) -> Result<usize, Errno> {
    let bytes = path.to_bytes_with_nul();
    let result: i64;
    // SAFETY: the page was just mapped for this alone and is longer than the path. The gate changes rax and the
    // registers named here; rbx, which the compiler keeps for itself, is put back.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), page as *mut u8, bytes.len());
        std::arch::asm!(
            "xchg {path}, rbx",
            "int 0x80",
            "xchg {path}, rbx",
            path = inout(reg) page => _,
            inlateout("rax") 5i64 => result,
            in("rcx") 0,
            in("rdx") 0,
            out("r8") _,
            out("r9") _,
            out("r10") _,
            out("r11") _,
        );
    }
    // the gate answers with 32 bits
    let result = result as i32;
    if result < 0 { Err(Errno::from_raw(-result)) } else { Ok(result as usize) }
}
