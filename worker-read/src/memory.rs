//! Whether there is room left below the limit on private memory, which ends the process where it is passed.
//! Trust: the limit is the operator's (`RLIMIT_DATA`); how much is needed below it is for the repository to choose.

use std::hint::black_box;

/// Part of the limit that must be free for a walk to go on: tables double, and the answer is still to be written.
const SPARE: u64 = 3;

/// Room that a call keeps free, of a limit of so many bytes; none where there is no limit.
#[must_use]
pub fn spare(limit: u64) -> usize {
    usize::try_from(limit / SPARE).unwrap_or(0)
}

/// Whether so many bytes could be had now. They are asked for and given back untouched, which takes some microseconds.
#[must_use]
pub fn is_there(bytes: usize) -> bool {
    let mut room: Vec<u8> = Vec::new();
    let there = room.try_reserve_exact(bytes).is_ok();
    // or the compiler sees that nobody uses it
    black_box(&room);
    there
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_any_machine_has_is_not_there() {
        assert!(is_there(0) && is_there(1 << 20));
        assert!(!is_there(usize::MAX / 4));
        assert_eq!((spare(0), spare(300)), (0, 100));
    }
}
