//! Where a change that can slide is shown: Git's choice by how lines are indented (`diff.indentHeuristic`).
//! Trust: lines are the repository's; what is looked at around each place is bounded.
//!
//! Git's rules (2.47, `xdiff/xdiffi.c`): of all places, the hundred lowest at most, the one whose two ends are indented least and
//! cost least; of equal ones the lowest. The library's own rules differ where nothing follows the last line, and in what is
//! white space.

use gix::diff::blob::{SliderHeuristic, Token};
use std::ops::Range;

/// Places that are tried.
const MAX_SLIDING: u32 = 100;
/// Blank lines that are looked over on either side of a place.
const MAX_BLANKS: usize = 20;
/// Columns from which on lines are as far indented as can be.
const MAX_INDENT: i32 = 200;
/// What a column of indentation counts against costs.
const INDENT_WEIGHT: i32 = 60;

/// Chooses by indentation; the function gives the line that a token stands for.
pub struct ByIndent<L>(pub L);

impl<'a, L: Fn(Token) -> &'a [u8]> SliderHeuristic for ByIndent<L> {
    fn best_slider_end(&mut self, tokens: &[Token], hunk: Range<u32>, earliest_end: u32) -> u32 {
        let size = hunk.end - hunk.start;
        let first = earliest_end.max((hunk.end - size).saturating_sub(1)).max(hunk.end.saturating_sub(MAX_SLIDING));
        let score = |end: u32| self.place(tokens, end as usize).and(self.place(tokens, (end - size) as usize));
        let mut best = (first, score(first));
        for end in first + 1..=hunk.end {
            let score = score(end);
            if !best.1.is_better_than(score) {
                best = (end, score);
            }
        }
        best.0
    }
}

impl<L> std::fmt::Debug for ByIndent<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ByIndent").finish()
    }
}

/// How good a place is; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Score {
    indent: i32,
    cost: i32,
}

impl Score {
    fn and(self, other: Self) -> Self {
        Self { indent: self.indent + other.indent, cost: self.cost + other.cost }
    }

    fn is_better_than(self, other: Self) -> bool {
        let indent = (self.indent > other.indent) as i32 - (self.indent < other.indent) as i32;
        INDENT_WEIGHT * indent + self.cost - other.cost < 0
    }
}

impl<'a, L: Fn(Token) -> &'a [u8]> ByIndent<L> {
    /// The place before the line at `split`.
    fn place(&self, tokens: &[Token], split: usize) -> Score {
        let indent_of = |token: &Token| indent((self.0)(*token));
        let indent = tokens.get(split).and_then(indent_of);
        let (before, blanks_before) = around(tokens[..split].iter().rev().map(indent_of));
        let (after, blanks_after) = around(tokens.get(split + 1..).unwrap_or_default().iter().map(indent_of));
        let mut cost = 0;
        if before.is_none() && blanks_before == 0 {
            cost += 1;
        }
        if split >= tokens.len() {
            cost += 21;
        }
        let blanks_after = if indent.is_none() { 1 + blanks_after } else { 0 };
        let blanks = blanks_before + blanks_after;
        cost += -30 * blanks + 6 * blanks_after;
        let indent = indent.or(after);
        if let (Some(indent), Some(before)) = (indent, before) {
            cost += match (indent.cmp(&before), blanks > 0) {
                (std::cmp::Ordering::Greater, false) => -4,
                (std::cmp::Ordering::Greater, true) => 10,
                (std::cmp::Ordering::Equal, _) => 0,
                // what follows tells the beginning of another block from the end of this one
                (std::cmp::Ordering::Less, false) => 23 + i32::from(after.is_some_and(|after| after > indent)),
                (std::cmp::Ordering::Less, true) => 17,
            };
        }
        Score { indent: indent.unwrap_or(-1), cost }
    }
}

/// The first line that is not blank, and how many before it are.
fn around(lines: impl Iterator<Item = Option<i32>>) -> (Option<i32>, i32) {
    let mut blanks = 0;
    for indent in lines {
        match indent {
            Some(_) => return (indent, blanks),
            None => blanks += 1,
        }
        if blanks as usize == MAX_BLANKS {
            return (Some(0), blanks);
        }
    }
    (None, blanks)
}

/// Columns before what a line holds; none for a line that holds nothing.
fn indent(line: &[u8]) -> Option<i32> {
    let mut columns = 0;
    for byte in line {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 8 - columns % 8,
            b'\n' | b'\r' => {}
            _ => return Some(columns),
        }
        if columns >= MAX_INDENT {
            return Some(MAX_INDENT);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_as_git_counts_them() {
        for (line, columns) in [
            ("x\n", Some(0)),
            ("  x", Some(2)),
            (" \tx", Some(8)),
            ("\t x", Some(9)),
            (" \r\n", None),
            ("", None),
            ("\x0c\n", Some(0)),
            (" \x0bx", Some(1)),
        ] {
            assert_eq!(indent(line.as_bytes()), columns, "{line:?}");
        }
        assert_eq!(indent(" ".repeat(300).as_bytes()), Some(MAX_INDENT));
    }

    #[test]
    fn the_best_place_is_taken_and_of_equal_ones_the_lowest() {
        // two lines were added before the last of three; that nothing follows the last line says nothing about it
        let lines: [&[u8]; 5] = [b"x\n", b"    d\n", b"\tf\n", b"    d\n", b"a\n"];
        let tokens = [0, 1, 2, 1, 4].map(Token);
        let mut by_indent = ByIndent(|token: Token| lines[token.0 as usize]);
        assert_eq!(by_indent.best_slider_end(&tokens, 2..4, 3), 4);
        // a block that ends as the one before it begins with its first line, not with the other's last
        let lines: [&[u8]; 7] = [b"  if a\n", b"    b\n", b"  end\n", b"  if c\n", b"    d\n", b"  end\n", b"x\n"];
        let tokens = [0, 1, 2, 3, 4, 2, 6].map(Token);
        let mut by_indent = ByIndent(|token: Token| lines[token.0 as usize]);
        assert_eq!(by_indent.best_slider_end(&tokens, 3..6, 5), 6);
        // and one that begins as the one after it ends with its own last line
        let lines: [&[u8]; 7] = [b"x\n", b"  if\n", b"    b\n", b"  end\n", b"  if\n", b"    d\n", b"  end\n"];
        let tokens = [0, 1, 2, 3, 1, 5, 3].map(Token);
        let mut by_indent = ByIndent(|token: Token| lines[token.0 as usize]);
        assert_eq!(by_indent.best_slider_end(&tokens, 2..5, 4), 4);
    }
}
