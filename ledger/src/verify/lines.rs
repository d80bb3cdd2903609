//! Cuts a file into batches of lines, each line within its bound.
//! Trust: the bytes may be anything; a line without end is skipped in pieces and never held whole.

use crate::{limits::MAX_LINE, record::RecordFault};
use std::{
    io::{self, BufRead as _, BufReader, Read},
    ops::Range,
};

/// Bytes after which a batch is handed on.
const BATCH: usize = 64 * 1024;

/// Lines after which it is, too: short lines take more memory judged than read.
const BATCH_LINES: usize = 512;

/// Some lines of one file.
#[derive(Debug)]
pub(crate) struct Batch {
    /// Counts batches of the file.
    pub number: usize,
    /// Number of its first line, from 1.
    pub first_line: u64,
    /// The lines.
    pub bytes: Vec<u8>,
    /// Where they are.
    pub spans: Vec<Span>,
}

/// One line, its newline left out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Where it is.
    pub bytes: Range<usize>,
    /// What is wrong with it before it is looked into.
    pub fault: Option<RecordFault>,
}

/// Lines of a file.
pub(crate) struct Lines {
    reader: BufReader<io::Take<Box<dyn Read + Send>>>,
    number: usize,
    line: u64,
}

impl Lines {
    /// Reads at most `length` bytes.
    pub fn new(reader: Box<dyn Read + Send>, length: u64) -> Self {
        Self { reader: BufReader::with_capacity(BATCH, reader.take(length)), number: 0, line: 1 }
    }

    /// The next lines; `None` at the end.
    ///
    /// # Errors
    /// What the file says.
    pub fn next_batch(&mut self) -> io::Result<Option<Batch>> {
        let mut batch = Batch { number: self.number, first_line: self.line, bytes: Vec::new(), spans: Vec::new() };
        while batch.bytes.len() < BATCH && batch.spans.len() < BATCH_LINES {
            let start = batch.bytes.len();
            let read = self.reader.by_ref().take(MAX_LINE as u64).read_until(b'\n', &mut batch.bytes)?;
            if read == 0 {
                break;
            }
            self.line += 1;
            let terminated = batch.bytes.ends_with(b"\n");
            let end = batch.bytes.len() - usize::from(terminated);
            if terminated {
                batch.spans.push(Span { bytes: start..end, fault: None });
            } else if self.reader.fill_buf()?.is_empty() {
                batch.spans.push(Span { bytes: start..end, fault: Some(RecordFault::Unterminated) });
            } else {
                batch.bytes.truncate(start);
                batch.spans.push(Span { bytes: start..start, fault: Some(RecordFault::TooLong) });
                self.reader.skip_until(b'\n')?;
            }
        }
        self.number += 1;
        Ok((!batch.spans.is_empty()).then_some(batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(u64, usize, Option<RecordFault>)> {
        let mut lines = Lines::new(Box::new(io::Cursor::new(bytes.to_vec())), bytes.len() as u64);
        let mut found = Vec::new();
        while let Some(batch) = lines.next_batch().expect("memory") {
            found
                .extend((batch.first_line..).zip(batch.spans).map(|(line, span)| (line, span.bytes.len(), span.fault)));
        }
        found
    }

    #[test]
    fn lines_end_at_newlines_and_at_their_bound() {
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"a\n\nbc"), [(1, 1, None), (2, 0, None), (3, 2, Some(RecordFault::Unterminated))]);
        let longest = [vec![b'x'; MAX_LINE - 1], b"\nend\n".to_vec()].concat();
        assert_eq!(lines(&longest), [(1, MAX_LINE - 1, None), (2, 3, None)]);
        let longer = [vec![b'x'; 3 * MAX_LINE], b"\nend\n".to_vec()].concat();
        assert_eq!(lines(&longer), [(1, 0, Some(RecordFault::TooLong)), (2, 3, None)]);
        let many = b"0123456789\n".repeat(20_000);
        assert_eq!(lines(&many).last(), Some(&(20_000, 10, None)));
    }
}
