//! The write-ahead log: which pages it has, as of its last commit.
//! Trust: hostile bytes, and a file that is being written; a frame counts when salts and the running checksum say so.

use super::{Fault, pages::Bytes};
use std::collections::HashMap;

/// Bytes of a log that are looked at.
const MAX_LOG: u64 = 32 << 20;
const HEAD: usize = 32;
const FRAME: usize = 24;

/// A log, as far as it is committed.
#[derive(Debug)]
pub struct Log<'a> {
    /// Its bytes.
    pub bytes: &'a dyn Bytes,
    pages: HashMap<u32, u64>,
}

impl<'a> Log<'a> {
    /// Reads it. A log without a valid head has nothing committed: it is left from before, or about to be begun.
    pub fn open(bytes: &'a dyn Bytes, page_size: usize) -> Result<Self, Fault> {
        let empty = Self { bytes, pages: HashMap::new() };
        if bytes.len() > MAX_LOG {
            return Err(Fault::TooLarge);
        }
        let mut head = [0; HEAD];
        if !bytes.read(0, &mut head) {
            return Ok(empty);
        }
        let word =
            |bytes: &[u8], at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let big = match word(&head, 0) {
            0x377f_0682 => false,
            0x377f_0683 => true,
            _ => return Ok(empty),
        };
        if word(&head, 4) != 3_007_000 {
            return Err(Fault::Unknown);
        }
        if word(&head, 8) as usize != page_size {
            return Ok(empty);
        }
        let mut sum = checksum(big, (0, 0), &head[..24]);
        if sum != (word(&head, 24), word(&head, 28)) {
            return Ok(empty);
        }
        let salts = (word(&head, 16), word(&head, 20));
        let (mut pages, mut pending) = (HashMap::new(), Vec::new());
        let mut frame = vec![0; FRAME + page_size];
        let mut at = HEAD as u64;
        while bytes.read(at, &mut frame) {
            let (number, commit) = (word(&frame, 0), word(&frame, 4));
            if number == 0 || (word(&frame, 8), word(&frame, 12)) != salts {
                break;
            }
            sum = checksum(big, checksum(big, sum, &frame[..8]), &frame[FRAME..]);
            if sum != (word(&frame, 16), word(&frame, 20)) {
                break;
            }
            pending.push((number, at + FRAME as u64));
            if commit != 0 {
                pages.extend(pending.drain(..));
            }
            at += frame.len() as u64;
        }
        Ok(Self { bytes, pages })
    }

    /// Where a page stands in the log, if its newest committed state does.
    pub fn at(&self, page: u32) -> Option<u64> {
        self.pages.get(&page).copied()
    }
}

/// The running checksum (file format, "WAL checksum algorithm").
fn checksum(big: bool, start: (u32, u32), bytes: &[u8]) -> (u32, u32) {
    let word = |word: &[u8]| {
        let word = [word[0], word[1], word[2], word[3]];
        if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    };
    bytes.chunks_exact(8).fold(start, |(first, second), pair| {
        let first = first.wrapping_add(word(pair)).wrapping_add(second);
        (first, second.wrapping_add(word(&pair[4..])).wrapping_add(first))
    })
}
