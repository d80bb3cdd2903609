//! Reads lines at positions: all from an offset on, a piece of them, or a file's last ones.
//! Trust: the bytes may have been changed by anybody; each line is judged, within its bound.

use super::{AppendError, IoFault, ReadAt, Step};
use crate::{
    chain::Chained,
    limits::{MAX_FILE, MAX_LINE},
    record::{Judged, Place, RecordFault, Rules, judge},
    signature::{SignatureFault, Signed},
};

/// Bytes of one read.
const CHUNK: usize = 64 * 1024;
/// Bytes at a file's end in which its last lines are looked for first; some seventeen usual entries.
const END: u64 = 16 * 1024;
/// Bytes of one piece: judging them takes a few tenths of a millisecond.
const PIECE: u64 = 32 * 1024;

/// Calls `take` with the offset and the bytes of every line (newline included) from `from` on; what stands after the
/// last newline is returned.
pub(super) fn lines<R: ReadAt>(
    file: &R,
    from: u64,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), AppendError>,
) -> Result<Vec<u8>, AppendError> {
    let mut held: Vec<u8> = Vec::new();
    let mut at = from;
    let mut chunk = vec![0; CHUNK];
    loop {
        let offset = at + held.len() as u64;
        let read = file.read_at(&mut chunk, offset).map_err(|fault| IoFault::new(Step::Read, &fault))?;
        if read == 0 {
            return Ok(held);
        }
        if offset + read as u64 > MAX_FILE {
            return Err(AppendError::FileFull);
        }
        held.extend_from_slice(&chunk[..read]);
        let mut start = 0;
        while let Some(length) = held[start..].iter().position(|byte| *byte == b'\n') {
            let line = &held[start..=start + length];
            take(at + start as u64, line)?;
            start += line.len();
        }
        held.drain(..start);
        at += start as u64;
        if held.len() >= MAX_LINE {
            return Err(AppendError::Record { at, fault: RecordFault::TooLong });
        }
    }
}

/// Judges a line of the ledger that is written to. Entries by other keys, or without a signature, are other writers'.
pub(super) fn place(at: u64, line: &[u8], rules: &Rules) -> Result<Place, AppendError> {
    let Judged { place, fault, .. } = judge(line.strip_suffix(b"\n").unwrap_or(line), rules);
    match fault {
        None | Some(RecordFault::Signature(SignatureFault::UnknownKey(_))) => Ok(place),
        Some(fault) => Err(AppendError::Record { at, fault }),
    }
}

/// The last lines of a file.
pub(super) struct End {
    /// Where the first of them begins.
    pub from: u64,
    /// Whole lines, with their newlines; empty where the file has none.
    pub lines: Vec<u8>,
    /// What stands after the last newline.
    pub torn: Vec<u8>,
}

impl End {
    /// Each line with its offset.
    pub fn each(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut at = self.from;
        self.lines.split_inclusive(|byte| *byte == b'\n').map(move |line| {
            let start = at;
            at += line.len() as u64;
            (start, line)
        })
    }

    /// Whether one of these entries is signed by a key of `rules`, looked for from the last one on; none after it may claim
    /// to be and not be.
    pub fn has_signature(&self, rules: &Rules) -> Result<bool, AppendError> {
        let lines: Vec<_> = self.each().collect();
        for (at, line) in lines.into_iter().rev() {
            let judged = judge(line.strip_suffix(b"\n").unwrap_or(line), rules);
            match judged.fault {
                None if judged.signed == Signed::Yes => return Ok(true),
                None | Some(RecordFault::Signature(SignatureFault::UnknownKey(_))) => {}
                Some(fault) => return Err(AppendError::Record { at, fault }),
            }
        }
        Ok(false)
    }
}

/// The last lines of a file of `length` bytes: those of its last [`END`] bytes, and at least one where there is one.
pub(super) fn end<R: ReadAt>(file: &R, length: u64) -> Result<End, AppendError> {
    let mut wanted = END;
    loop {
        let start = length.saturating_sub(wanted);
        let bytes = bytes(file, start, length)?;
        // the first piece may begin within a line
        let first = match start {
            0 => Some(0),
            _ => bytes.iter().position(|byte| *byte == b'\n').map(|newline| newline + 1),
        };
        let last = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        if let Some(first) = first.filter(|first| *first < last || start == 0) {
            let (lines, torn) = (bytes[first..last].to_vec(), bytes[last..].to_vec());
            return Ok(End { from: start + first as u64, lines, torn });
        }
        if wanted >= 2 * MAX_LINE as u64 {
            return Err(AppendError::Record { at: start, fault: RecordFault::TooLong });
        }
        wanted *= 2;
    }
}

/// The whole lines that begin at `from` and end by `until`, where a line ends: some [`PIECE`] bytes of them, at least one.
pub(super) fn piece<R: ReadAt>(file: &R, from: u64, until: u64) -> Result<End, AppendError> {
    for most in [PIECE, MAX_LINE as u64] {
        let mut lines = bytes(file, from, until.min(from + most))?;
        if let Some(last) = lines.iter().rposition(|byte| *byte == b'\n') {
            let torn = lines.split_off(last + 1);
            return Ok(End { from, lines, torn });
        }
    }
    Err(AppendError::Record { at: from, fault: RecordFault::TooLong })
}

/// Exactly these bytes.
pub(super) fn bytes<R: ReadAt>(file: &R, from: u64, until: u64) -> Result<Vec<u8>, AppendError> {
    let mut bytes = vec![0; usize::try_from(until.saturating_sub(from)).map_err(|_| AppendError::FileFull)?];
    let mut read = 0;
    while read < bytes.len() {
        let found = from + read as u64;
        match file.read_at(&mut bytes[read..], found).map_err(|fault| IoFault::new(Step::Read, &fault))? {
            0 => return Err(AppendError::Truncated { expected: until, found }),
            more => read += more,
        }
    }
    Ok(bytes)
}

/// The last entry of a segment, judged by itself and against the signatures of those before it.
pub(super) fn last_entry<R: ReadAt>(file: &R, rules: &Rules) -> Result<Chained, AppendError> {
    let length = file.length().map_err(|fault| IoFault::new(Step::Read, &fault))?;
    let end = end(file, length)?;
    end.has_signature(rules)?;
    let (at, line) = end.each().last().filter(|_| end.torn.is_empty()).ok_or(AppendError::Segments)?;
    match place(at, line, rules)? {
        Place::Chained(chained) if chained.stated == chained.computed => Ok(chained),
        _ => Err(AppendError::Segments),
    }
}
