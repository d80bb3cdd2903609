//! Reads a ledger row by row, for showing and exporting; nothing is verified beyond the form of a line.
//! Trust: rows may be forged. Whoever shows them says so, or verifies first.

use crate::{
    limits::{MAX_FILE, RECORD},
    record::RecordFault,
    verify::{Lines, Snapshot},
};
use bulkhead_contract::canonical::{self, ReadError};
use serde_json::{Map, Value};
use std::{io, ops::ControlFlow};

/// One record, as it stands there.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which file, 0 being the oldest that was read.
    pub segment: usize,
    /// Which line, from 1.
    pub line: u64,
    /// Its members, or why it is no record.
    pub members: Result<Map<String, Value>, RecordFault>,
}

impl Row {
    /// Its `sequence`; `None` for a record of before the chain and for what is no record.
    #[must_use]
    pub fn sequence(&self) -> Option<u64> {
        self.members.as_ref().ok()?.get("sequence")?.as_u64()
    }
}

/// Hands every row after the entry `after` to `visit`, oldest first, until it breaks off. Segments that end before it are
/// not opened. Rows without a sequence are handed over, too. One row is held at a time.
///
/// # Errors
/// What the system says of a file.
pub fn rows(snapshot: Snapshot, after: u64, mut visit: impl FnMut(Row) -> ControlFlow<()>) -> io::Result<()> {
    let files = snapshot.files.into_iter().filter(|file| file.name.is_none_or(|name| name.last > after));
    for (segment, file) in files.enumerate() {
        let mut lines = Lines::new(file.reader, file.length.min(MAX_FILE));
        while let Some(batch) = lines.next_batch()? {
            for (line, span) in (batch.first_line..).zip(&batch.spans) {
                let members = match &span.fault {
                    Some(fault) => Err(fault.clone()),
                    None => members(&batch.bytes[span.bytes.clone()]),
                };
                let row = Row { segment, line, members };
                if row.sequence().is_none_or(|sequence| sequence > after) && visit(row).is_break() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

fn members(line: &[u8]) -> Result<Map<String, Value>, RecordFault> {
    match canonical::read(line, RECORD) {
        Ok(canonical::Read { value: Value::Object(map), .. }) => Ok(map),
        Ok(_) => Err(RecordFault::Malformed("another kind of value".to_owned())),
        Err(ReadError::DuplicateKey(key)) => Err(RecordFault::DuplicateKey(key)),
        Err(_) if line.iter().all(u8::is_ascii_whitespace) => Err(RecordFault::Blank),
        Err(other) => Err(RecordFault::Malformed(other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::{SnapshotFile, of_path};
    use std::path::Path;

    fn sequences(after: u64, most: usize) -> Vec<Option<u64>> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/own-rotated/mcp.jsonl");
        let mut found = Vec::new();
        let read = rows(of_path(&path).expect("the vector"), after, |row| {
            found.push(row.sequence());
            if found.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        read.expect("readable");
        found
    }

    #[test]
    fn rows_come_in_order_from_where_was_asked() {
        let of = |range: std::ops::RangeInclusive<u64>| range.map(Some).collect::<Vec<_>>();
        assert_eq!(sequences(0, 100), of(1..=8));
        assert_eq!(sequences(3, 100), of(4..=8));
        assert_eq!(sequences(4, 2), of(5..=6));
        assert_eq!(sequences(8, 100), []);
    }

    #[test]
    fn what_is_no_record_is_told_where_it_stands() {
        let bytes = b"{\"tool\":\"x\"}\n\n[1]\n{\"a\":1,\"a\":2}\n{\"a".to_vec();
        let length = bytes.len() as u64;
        let file = SnapshotFile { name: None, length, reader: Box::new(io::Cursor::new(bytes)) };
        let mut found = Vec::new();
        let read = rows(Snapshot { files: vec![file], ..Snapshot::default() }, 5, |row| {
            found.push((row.line, row.members.map(|map| map.len())));
            ControlFlow::Continue(())
        });
        read.expect("memory");
        let other = RecordFault::Malformed("another kind of value".into());
        let expected = [
            (1, Ok(1)),
            (2, Err(RecordFault::Blank)),
            (3, Err(other)),
            (4, Err(RecordFault::DuplicateKey("a".into()))),
            (5, Err(RecordFault::Unterminated)),
        ];
        assert_eq!(found, expected);
    }
}
