//! How much of an answer's room a row takes: the characters of its JSON.
//! Trust: rows hold hostile texts of any length; a row is counted before it is kept.

use serde::Serialize;
use std::io;

/// Room for the rows of one answer, in characters of JSON.
#[derive(Debug)]
pub struct Budget {
    left: usize,
    rows: u32,
    limit: u32,
}

impl Budget {
    /// Room for `limit` rows of `chars` characters together.
    #[must_use]
    pub fn new(limit: u32, chars: u32) -> Self {
        Self { left: chars as usize, rows: 0, limit: limit.max(1) }
    }

    /// Takes room for `row`. False where it does not fit; the first row always does, or a page could never end.
    pub fn take(&mut self, row: &impl Serialize) -> bool {
        let cost = cost(row) + 1;
        if self.rows >= self.limit || (self.rows > 0 && cost > self.left) {
            return false;
        }
        self.left = self.left.saturating_sub(cost);
        self.rows += 1;
        true
    }

    /// Takes room for a text that is no row. False where it does not fit.
    pub fn spend(&mut self, text: &impl Serialize) -> bool {
        let cost = cost(text) + 1;
        let fits = cost <= self.left;
        self.left = self.left.saturating_sub(cost);
        fits
    }

    /// Characters that are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.left
    }
}

/// Characters of the JSON text of `value`.
#[must_use]
pub fn cost(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => usize::MAX,
    }
}

/// Counts characters, not bytes: continuation bytes of UTF-8 are part of the character before them.
struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_counted_as_json_has_them() {
        assert_eq!(cost(&"a\"é\n"), "\"a\\\"é\\n\"".chars().count());
        assert_eq!(cost(&["é", "é"]), 9);
    }

    #[test]
    fn the_first_row_fits_and_the_limit_holds() {
        let mut budget = Budget::new(2, 1);
        assert!(budget.take(&"long"));
        assert!(!budget.take(&""));
        let mut budget = Budget::new(1, 100);
        assert!(budget.take(&"a"));
        assert!(!budget.take(&"a"));
    }
}
