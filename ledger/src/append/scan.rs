//! Reads lines at positions: all from an offset on, or a file's last one.
//! Trust: the bytes may have been changed by anybody; each line is judged, within its bound.

use super::{AppendError, IoFault, ReadAt, Step};
use crate::{
    chain::Chained,
    limits::{MAX_FILE, MAX_LINE},
    record::{Judged, Place, RecordFault, Rules, judge},
    signature::SignatureFault,
};

/// Bytes of one read.
const CHUNK: usize = 64 * 1024;

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

/// The last entry of a segment, judged by itself.
pub(super) fn last_entry<R: ReadAt>(file: &R, rules: &Rules) -> Result<Chained, AppendError> {
    let length = file.length().map_err(|fault| IoFault::new(Step::Read, &fault))?;
    let from = length.saturating_sub(2 * MAX_LINE as u64);
    let mut last = None;
    let torn = lines(file, from, |at, line| {
        // the first piece may begin within a line
        if last.is_some() || from == 0 || line.len() < MAX_LINE {
            last = Some((at, line.to_vec()));
        }
        Ok(())
    })?;
    let (at, line) = last.filter(|_| torn.is_empty()).ok_or(AppendError::Segments)?;
    match place(at, &line, rules)? {
        Place::Chained(chained) if chained.stated == chained.computed => Ok(chained),
        _ => Err(AppendError::Segments),
    }
}
