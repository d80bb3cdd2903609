//! Names of a ledger's files: the active one, its rotated segments, checkpoints and the lock.
//! Trust: names come from a directory that anybody may have filled; only exact forms are taken apart.

use crate::uuid::Uuid;
use std::fmt;

/// Digits of a sequence in a file name.
const DIGITS: usize = 20;

/// What comes after the active file's name in the names of the others.
const SEGMENT: &str = ".segment-";
const CHECKPOINT: &str = ".checkpoint-";
const LOCK: &str = ".lock";

/// A rotated segment: which entries it holds and its id; `<name>.segment-<first>-<last>-<id>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SegmentName {
    /// Sequence of its first chained entry.
    pub first: u64,
    /// Sequence of its last.
    pub last: u64,
    /// The `segmentId` of all its entries.
    pub id: Uuid,
}

impl SegmentName {
    /// The file's name, given that of the active file.
    #[must_use]
    pub fn file_name(&self, ledger: &str) -> String {
        format!("{ledger}{SEGMENT}{self}")
    }
}

impl fmt::Display for SegmentName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:020}-{:020}-{}", self.first, self.last, self.id)
    }
}

/// A checkpoint file as this crate names it; `<name>.checkpoint-<next>-<id>.json`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointName {
    /// First sequence that was not pruned.
    pub next: u64,
    /// Random.
    pub id: Uuid,
}

impl CheckpointName {
    /// The file's name, given that of the active file.
    #[must_use]
    pub fn file_name(&self, ledger: &str) -> String {
        format!("{ledger}{CHECKPOINT}{:020}-{}.json", self.next, self.id)
    }
}

/// The lock's name, given that of the active file.
#[must_use]
pub fn lock_name(ledger: &str) -> String {
    format!("{ledger}{LOCK}")
}

/// What a file beside the active one is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A rotated segment.
    Segment(SegmentName),
    /// Begins as a segment's name does, and is none.
    BadSegment,
    /// A checkpoint; the contract reads any name with that beginning.
    Checkpoint,
    /// Nothing of this ledger.
    Other,
}

/// Takes a file's name apart, given that of the active file.
#[must_use]
pub fn kind(ledger: &str, file: &str) -> Kind {
    let Some(rest) = file.strip_prefix(ledger) else { return Kind::Other };
    if let Some(rest) = rest.strip_prefix(SEGMENT) {
        return segment(rest).map_or(Kind::BadSegment, Kind::Segment);
    }
    if rest.starts_with(CHECKPOINT) { Kind::Checkpoint } else { Kind::Other }
}

/// The first sequence for which a checkpoint does not stand, by its file's name, given that of the active file; `None` for
/// any other name, also for a checkpoint that another program named otherwise.
#[must_use]
pub fn checkpoint_next(ledger: &str, file: &str) -> Option<u64> {
    let digits = file.strip_prefix(ledger)?.strip_prefix(CHECKPOINT)?.get(..DIGITS)?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

fn segment(rest: &str) -> Option<SegmentName> {
    let sequence = |from: usize| {
        let digits = rest.get(from..from + DIGITS).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        digits.parse().ok()
    };
    let hyphen = |at: usize| rest.as_bytes().get(at) == Some(&b'-');
    let (first, last) = (sequence(0)?, sequence(DIGITS + 1)?);
    let id = Uuid::read(rest.get(2 * DIGITS + 2..)?)?;
    (hyphen(DIGITS) && hyphen(2 * DIGITS + 1) && first >= 1 && first <= last).then_some(SegmentName { first, last, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let name = SegmentName { first: 4, last: 6, id: Uuid::v4([7; 16]) };
        let file = name.file_name("mcp.jsonl");
        assert_eq!(
            file,
            "mcp.jsonl.segment-00000000000000000004-00000000000000000006-07070707-0707-4707-8707-070707070707"
        );
        assert_eq!(kind("mcp.jsonl", &file), Kind::Segment(name));
        let checkpoint = CheckpointName { next: 4, id: Uuid::v4([7; 16]) }.file_name("mcp.jsonl");
        assert_eq!(kind("mcp.jsonl", &checkpoint), Kind::Checkpoint);
        assert_eq!(checkpoint_next("mcp.jsonl", &checkpoint), Some(4));
        assert_eq!(checkpoint_next("mcp.jsonl", "mcp.jsonl.checkpoint-by-hand-and-long-enough"), None);
        assert_eq!(checkpoint_next("mcp.jsonl", &file), None);
        assert_eq!(kind("mcp.jsonl", "mcp.jsonl.checkpoint-by-hand"), Kind::Checkpoint);
        assert_eq!(kind("mcp.jsonl", "mcp.jsonl.lock"), Kind::Other);
        assert_eq!(kind("mcp.jsonl", "other"), Kind::Other);
        for (from, to) in
            [("0004-", "000x-"), ("0006-", "0003-"), ("0004-", "0004_"), ("-4707-", "-4707"), ("0004", "+004")]
        {
            assert_eq!(kind("mcp.jsonl", &file.replacen(from, to, 1)), Kind::BadSegment, "{from} -> {to}");
        }
        assert_eq!(kind("mcp.jsonl", &format!("{file}.bak")), Kind::BadSegment);
    }
}
