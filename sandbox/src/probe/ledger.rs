//! The ledger: everything that an append-only descriptor does not prevent by itself.
//! Trust: part of the attacker; see `probe`.

use super::raw::{either, legacy, open, sys};
use super::{Probe, done, text};

/// `RWF_NOAPPEND`: write at the offset although the descriptor appends.
const NO_APPEND: i32 = 0x20;

/// The family `led`.
pub const ALL: &[Probe] = &[
    Probe { name: "led.truncate", attempt: |t| done(sys!(libc::SYS_ftruncate, t.ledger_fd, 0)) },
    Probe { name: "led.clear-append", attempt: |t| done(sys!(libc::SYS_fcntl, t.ledger_fd, libc::F_SETFL, 0)) },
    // the kernel appends all the same, so even a success would not change what is written
    Probe { name: "led.pwrite0", attempt: |t| done(sys!(libc::SYS_pwrite64, t.ledger_fd, b"X", 1, 0)) },
    Probe {
        name: "led.pwritev2-noappend",
        attempt: |t| {
            let part = [b"Z".as_ptr() as usize, 1];
            done(sys!(libc::SYS_pwritev2, t.ledger_fd, &part, 1, 0, 0, NO_APPEND))
        },
    },
    Probe {
        name: "led.mmap-shared",
        attempt: |t| {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            done(sys!(libc::SYS_mmap, 0, 4096, access, libc::MAP_SHARED, t.ledger_fd, 0))
        },
    },
    Probe {
        name: "led.fallocate-punch",
        attempt: |t| {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            done(sys!(libc::SYS_fallocate, t.ledger_fd, mode, 0, 16))
        },
    },
    Probe { name: "led.fchmod", attempt: |t| done(sys!(libc::SYS_fchmod, t.ledger_fd, 0o666)) },
    Probe { name: "led.open-again", attempt: |t| done(open(&text(&t.ledger), libc::O_RDWR)) },
    Probe {
        name: "led.unlink",
        attempt: |t| {
            let path = text(&t.ledger);
            done(either(sys!(libc::SYS_unlinkat, libc::AT_FDCWD, &*path, 0), || legacy!(SYS_unlink, &*path)))
        },
    },
];
