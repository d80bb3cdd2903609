//! How much of an answer's room its rows take.
//! Trust: rows hold texts of callers and repositories; what counts is the JSON that is sent, escapes included.

use crate::mcp::visible::visible;
use bulkhead_contract::limits::{DEFAULT_ANSWER_CHARS, MAX_ANSWER_CHARS};
use serde::Serialize;

/// Characters of a fleet answer that are not its rows: envelope, counts and the sentences on how to read it.
const ENVELOPE_CHARS: usize = 2_500;

/// Characters that rows may still take.
#[derive(Debug)]
pub(super) struct Room(usize);

impl Room {
    /// Room for the rows of a whole answer. `raised`: the caller asked for more of them than usual.
    pub fn for_answer(raised: bool) -> Self {
        Self(if raised { MAX_ANSWER_CHARS } else { DEFAULT_ANSWER_CHARS } - ENVELOPE_CHARS)
    }

    /// Takes the `part`th part of it away, for another list.
    pub fn part(&mut self, part: usize) -> Self {
        let chars = self.0 / part.max(1);
        self.0 -= chars;
        Self(chars)
    }

    /// Gives back what another list left.
    pub fn give_back(&mut self, rest: Self) {
        self.0 += rest.0;
    }

    /// Takes room for `row`; false where it does not fit.
    pub fn take(&mut self, row: &impl Serialize) -> bool {
        let Ok(text) = serde_json::to_string(row) else { return false };
        let cost = visible(text).chars().count() + 1;
        let fits = cost <= self.0;
        if fits {
            self.0 -= cost;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_as_they_are_sent() {
        let mut room = Room(14);
        assert!(room.take(&"a\u{202e}"), "an override is sent as six characters");
        assert!(!room.take(&"ab"), "four are left");
        assert!(room.take(&"a"), "and a row that fits is not held up by one that does not");
        assert!(!room.take(&""));
    }

    #[test]
    fn what_one_list_leaves_another_gets() {
        let mut room = Room(100);
        let mut half = room.part(2);
        assert!(half.take(&"12345678"));
        room.give_back(half);
        assert!(room.take(&"x".repeat(86)));
        assert!(!room.take(&""));
    }
}
