//! The last lines that a worker wrote to its standard error, kept for the log line that reports its death.
//! Trust: the text is a taken-over worker's; it is cut, its control characters are escaped, and no client ever sees it.

use std::{cell::RefCell, collections::VecDeque};

/// Bytes of one line; the rest of a longer one is dropped.
pub const MAX_LINE: usize = 2048;
/// Lines that are kept.
pub const KEPT: usize = 20;

/// The last lines of one worker.
#[derive(Debug, Default)]
pub struct LastWords(RefCell<VecDeque<String>>);

impl LastWords {
    /// The lines, oldest first, joined by ` | `; empty when there are none.
    #[must_use]
    pub fn text(&self) -> String {
        self.0.borrow().iter().map(String::as_str).collect::<Vec<_>>().join(" | ")
    }

    pub(crate) fn push(&self, line: String) {
        let mut lines = self.0.borrow_mut();
        if lines.len() == KEPT {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// Cuts bytes into printable lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    held: Vec<u8>,
    cut: bool,
}

impl Lines {
    /// Adds bytes; gives each line that they complete to `line`.
    pub fn push(&mut self, bytes: &[u8], mut line: impl FnMut(String)) {
        for &byte in bytes {
            if byte == b'\n' {
                line(self.take());
            } else if self.held.len() < MAX_LINE {
                self.held.push(byte);
            } else {
                self.cut = true;
            }
        }
    }

    /// The line that no line end completed, if any.
    pub fn rest(&mut self) -> Option<String> {
        (!self.held.is_empty()).then(|| self.take())
    }

    fn take(&mut self) -> String {
        let mut text = printable(&std::mem::take(&mut self.held));
        if std::mem::take(&mut self.cut) {
            text.push('…');
        }
        text
    }
}

/// Text that cannot steer a terminal or forge a log line.
pub(super) fn printable(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for c in String::from_utf8_lossy(bytes).chars() {
        if c.is_control() || crate::hiding::hides(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_escaped_and_the_last_ones_kept() {
        let (mut lines, words) = (Lines::default(), LastWords::default());
        let mut long = vec![b'x'; MAX_LINE + 500];
        long.extend_from_slice(b"\nred \x1b[31m\xff\r\nunfinished \xe2\x80\xae");
        let mut got = Vec::new();
        for piece in long.chunks(7) {
            lines.push(piece, |line| got.push(line));
        }
        assert_eq!(got, ["x".repeat(MAX_LINE) + "…", "red \\u{1b}[31m\u{fffd}\\r".to_owned()]);
        assert_eq!(lines.rest().as_deref(), Some("unfinished \\u{202e}"));
        assert_eq!(lines.rest(), None);
        for n in 0..KEPT + 2 {
            words.push(n.to_string());
        }
        assert!(words.text().starts_with("2 | 3"));
        assert!(words.text().ends_with("| 21"));
    }
}
