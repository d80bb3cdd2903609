//! The ordinary ways to die: under the filters each must still end as itself, not as a forbidden call.
//! Trust: part of the tests; see `probe`.

use super::raw::sys;
use std::hint::black_box;

/// One way to die.
#[derive(Debug)]
pub struct Death {
    /// For example `die.panic`.
    pub name: &'static str,
    /// Exit code, or minus the signal.
    pub ends: i32,
    run: fn(),
}

impl Death {
    /// Dies. Panics with this message, if that is not the way to die, when it failed to.
    pub fn run(&self) -> ! {
        (self.run)();
        panic!("{} did not end the process", self.name)
    }
}

/// Every way, for a process whose memory limit is at most [`TOO_MUCH`].
pub fn deaths() -> impl Iterator<Item = &'static Death> {
    ALL.iter()
}

/// Bytes that `die.oom` asks for.
pub const TOO_MUCH: usize = 1 << 30;

const ALL: &[Death] = &[
    Death { name: "die.panic", ends: 101, run: || panic!("asked to") },
    Death { name: "die.abort", ends: -libc::SIGABRT, run: || std::process::abort() },
    Death { name: "die.oom", ends: -libc::SIGABRT, run: || drop(black_box(Vec::<u8>::with_capacity(TOO_MUCH))) },
    Death { name: "die.overflow", ends: -libc::SIGABRT, run: || assert_ne!(deeper(1), 0) },
    Death { name: "die.segv", ends: -libc::SIGSEGV, run: touch_nothing },
];

#[inline(never)]
fn deeper(depth: u64) -> u64 {
    let frame = black_box([depth; 512]);
    if black_box(depth) == u64::MAX { 0 } else { deeper(depth + 1) + frame[(depth % 512) as usize] }
}

/// Writes to a page that is there and may not be touched.
fn touch_nothing() {
    let access = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    if let Ok(page) = sys!(libc::SYS_mmap, 0, 4096, libc::PROT_NONE, access, -1, 0) {
        // SAFETY: belongs to nobody else; the write does not happen, the process ends instead.
        unsafe { (page as *mut u8).write_volatile(1) }
    }
}
