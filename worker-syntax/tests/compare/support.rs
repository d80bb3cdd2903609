//! What all tests here share: which lines of two texts differ, by a reference that is slow and simple.
//! Trust: test code.

use bulkhead_contract::results::Region;
use bulkhead_worker_syntax::engine::compare::{Compared, Engine, Pair, Refused, Window};
use std::time::{Duration, Instant};

/// All lines, whatever they cost.
pub const ALL: Window = Window { skip: 0, lines: u32::MAX, bytes: u32::MAX };

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Which lines differ: by a longest common subsequence of what lies between the common ends.
pub fn regions(old: &[u8], new: &[u8]) -> Vec<Region> {
    let (old, new) = (lines(old), lines(new));
    let begin = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (a, b) = (&old[begin..], &new[begin..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    let width = b.len() + 1;
    let mut longest = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i * width + j] = if a[i] == b[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let mut regions: Vec<Region> = Vec::new();
    let (mut i, mut j) = (0, 0);
    let number = |at: usize| u32::try_from(begin + at).expect("texts of tests are short");
    while i < a.len() || j < b.len() {
        let (from_i, from_j) = (i, j);
        while i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
        }
        if (i, j) != (from_i, from_j) {
            continue;
        }
        while (i < a.len() || j < b.len()) && !(i < a.len() && j < b.len() && a[i] == b[j]) {
            if j == b.len() || (i < a.len() && longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
                i += 1;
            } else {
                j += 1;
            }
        }
        regions.push(Region {
            old_start: number(from_i),
            old_len: u32::try_from(i - from_i).expect("short"),
            new_start: number(from_j),
            new_len: u32::try_from(j - from_j).expect("short"),
        });
    }
    regions
}

/// Compares two texts under a path.
pub fn compare(path: &str, old: &[u8], new: &[u8]) -> Result<Compared, Refused> {
    let regions = regions(old, new);
    let pair = Pair { path: path.as_bytes(), old, new, regions: &regions };
    Engine::default().compare(pair, ALL, Instant::now() + Duration::from_secs(60))
}
