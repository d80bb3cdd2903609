//! Memory that holds keys: kept out of swap and out of dumps.
//! Trust: addresses are of the caller's own memory; the kernel is only told how to treat the pages around them.

#[cfg(target_os = "linux")]
use nix::errno::Errno;

#[cfg(all(target_os = "linux", feature = "probes"))]
pub mod copies;

/// Keeps the pages around these bytes out of swap (`mlock`) and out of dumps. They stay so until the process ends, so use
/// it for what lives as long. True when both hold.
#[must_use]
pub fn keep(bytes: &[u8]) -> bool {
    keep_pages(bytes)
}

/// Bytes of the stack beneath a caller that are overwritten: more than loading a secret or computing with one uses.
const STACK: usize = 128 * 1024;

/// Overwrites the stack beneath the caller, where moving a secret to its place, or computing with it, left copies. Call it
/// from where they were called from.
#[inline(never)]
pub fn wipe_stack() {
    std::hint::black_box(&zeros());
}

/// The same, and keeps that part of the stack as [`keep`] says, since what is computed later leaves traces there. True when
/// it is kept.
#[inline(never)]
#[must_use]
pub fn wipe_and_keep_stack() -> bool {
    keep(std::hint::black_box(&zeros()))
}

/// Zeros that are written; a constant would lie elsewhere.
#[inline(always)]
fn zeros() -> [u8; STACK] {
    [std::hint::black_box(0); STACK]
}

#[cfg(target_os = "linux")]
fn keep_pages(bytes: &[u8]) -> bool {
    // SAFETY: a constant that the kernel knows.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let Ok(page) = usize::try_from(page) else { return false };
    if page == 0 || bytes.is_empty() {
        return false;
    }
    let start = bytes.as_ptr().addr() / page * page;
    let length = (bytes.as_ptr().addr() + bytes.len()).next_multiple_of(page) - start;
    let start = bytes.as_ptr().with_addr(start).cast_mut().cast::<libc::c_void>();
    // SAFETY: whole pages that hold memory of ours; neither call reads, writes or unmaps them.
    let answers = unsafe { [libc::mlock(start, length), libc::madvise(start, length, libc::MADV_DONTDUMP)] };
    answers.into_iter().all(|answer| Errno::result(answer).is_ok())
}

#[cfg(not(target_os = "linux"))]
fn keep_pages(_: &[u8]) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_counts_the_pages_as_locked() {
        let locked = || {
            let text = std::fs::read_to_string("/proc/thread-self/status").expect("own");
            let line = text.lines().find_map(|line| line.strip_prefix("VmLck:")).expect("the line").trim().to_owned();
            line.split(' ').next().and_then(|kib| kib.parse::<u64>().ok()).expect("a number")
        };
        let (before, key) = (locked(), Box::new([7u8; 9000]));
        if !keep(&key[..]) {
            eprintln!("SKIPPED: this machine locks no memory");
            return;
        }
        assert!(locked() >= before + 8, "{} KiB, before {before}", locked());
        assert!(!keep(&[]), "nothing is not kept");
    }
}
