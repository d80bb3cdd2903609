//! For tests: where a secret stands in this process's memory, to show that it stands there once.
//! Trust: test code; it reads its own memory through the kernel, as one who took the process over would.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt as _,
};

/// Bytes that are looked at together, and at once where some of them are not there any more.
const PIECE: usize = 64 * 1024;
const PAGE: usize = 4 * 1024;

/// Places in this process's writable memory where these bytes stand. They are given inverted, so that what is looked
/// for does not itself stand there.
///
/// # Panics
/// Where the system does not show a process its own memory.
#[must_use]
pub fn places(inverted: &[u8]) -> Vec<u64> {
    let maps = maps();
    let memory = File::open("/proc/self/mem").expect("own");
    let mut piece = vec![0; PIECE + inverted.len()];
    let own = piece.as_ptr().addr() as u64..piece.as_ptr().addr() as u64 + piece.len() as u64;
    let mut found = Vec::new();
    let mut look = |at: u64, length: usize| {
        let there = memory.read_exact_at(&mut piece[..length], at).is_ok();
        if there {
            let windows = piece[..length].windows(inverted.len()).zip(at..);
            let fits = |window: &[u8]| window.iter().zip(inverted).all(|(byte, inverted)| *byte == !inverted);
            let hits = windows.filter(|(window, _)| fits(window)).map(|(_, at)| at);
            found.extend(hits.filter(|hit| !own.contains(hit)));
        }
        there
    };
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (range, _) = line.split_once(' ').expect("a range");
        let (start, end) = range.split_once('-').expect("a range");
        let address = |text| u64::from_str_radix(text, 16).expect("hex");
        let (start, end) = (address(start), address(end));
        let length = |at: u64, most: usize| usize::try_from(end - at).map_or(most, |left| left.min(most));
        for at in (start..end).step_by(PIECE) {
            // other threads give memory back meanwhile, which must not hide what lies beside it
            if !look(at, length(at, PIECE + inverted.len())) {
                for page in (at..end.min(at + PIECE as u64)).step_by(PAGE) {
                    look(page, length(page, PAGE));
                }
            }
        }
    }
    found.dedup();
    found
}

/// The map of this process's memory. It is read in pieces, and what other threads map and unmap meanwhile can hide a line:
/// it is believed once it reads the same twice.
fn maps() -> String {
    let read = || fs::read_to_string("/proc/self/maps").expect("own");
    let mut maps = read();
    for _ in 0..100 {
        let again = read();
        if again == maps {
            break;
        }
        maps = again;
    }
    maps
}
