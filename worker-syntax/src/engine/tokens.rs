//! Changed lines as tokens: the leaves of the tree, cut at line ends; texts and comments word by word; nothing left out.
//! Trust: leaves are those of a hostile text; tokens are spans of it, in order, apart from each other, within their line.

use super::{
    parse::Leaf,
    text::{Changed, Text},
};
use std::ops::Range;

/// A piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// First byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
    /// How deep its leaf is nested.
    pub depth: u32,
}

impl Token {
    /// Its text.
    #[must_use]
    pub fn of<'s>(&self, text: &Text<'s>) -> &'s [u8] {
        text.slice(self.start..self.end)
    }

    /// How deep it is nested, and its text.
    #[must_use]
    pub fn nested<'s>(&self, text: &Text<'s>) -> (u32, &'s [u8]) {
        (self.depth, self.of(text))
    }
}

/// The tokens of all changed lines of a side.
#[derive(Debug)]
pub struct Tokens {
    all: Vec<Token>,
    /// Of each changed row.
    lines: Vec<Range<u32>>,
}

impl Tokens {
    /// From the leaves that stand on the changed rows.
    #[must_use]
    pub fn new(text: &Text<'_>, changed: &Changed, leaves: &[Leaf]) -> Self {
        let mut tokens = Self { all: Vec::new(), lines: Vec::with_capacity(changed.count() as usize) };
        let mut first = 0;
        for row in changed.rows() {
            let line = text.span(row);
            let before = tokens.len();
            while leaves.get(first).is_some_and(|leaf| leaf.end <= line.start) {
                first += 1;
            }
            let mut at = line.start;
            for leaf in leaves[first..].iter().take_while(|leaf| leaf.start < line.end) {
                let (start, end) = (leaf.start.max(at), leaf.end.min(line.end));
                tokens.gap(text, at..start);
                tokens.leaf(text, leaf, start..end);
                at = end.max(at);
            }
            tokens.gap(text, at..line.end);
            tokens.lines.push(before..tokens.len());
        }
        tokens
    }

    fn len(&self) -> u32 {
        u32::try_from(self.all.len()).unwrap_or(u32::MAX)
    }

    /// Tokens of the changed row of that number.
    #[must_use]
    pub fn line(&self, number: usize) -> &[Token] {
        let range = self.lines.get(number).cloned().unwrap_or(0..0);
        &self.all[range.start as usize..range.end as usize]
    }

    /// What no leaf covers: blanks mean nothing there, and anything else is a token nevertheless.
    fn gap(&mut self, text: &Text<'_>, span: Range<u32>) {
        self.pieces(text, span, 0, false);
    }

    fn leaf(&mut self, text: &Text<'_>, leaf: &Leaf, span: Range<u32>) {
        if span.is_empty() {
            return;
        }
        let bytes = text.slice(span.clone());
        if bytes.iter().all(|byte| !byte.is_ascii_whitespace()) {
            self.all.push(Token { start: span.start, end: span.end, depth: leaf.depth });
            return;
        }
        // a leaf of blanks alone is a line end or an indentation; within a text, blanks are part of what it says
        let whole = text.slice(leaf.start..leaf.end);
        let says = !leaf.comment && !whole.iter().all(u8::is_ascii_whitespace);
        self.pieces(text, span, leaf.depth, says);
    }

    /// Words, and with `blanks` what stands between them.
    fn pieces(&mut self, text: &Text<'_>, span: Range<u32>, depth: u32, blanks: bool) {
        let mut start = span.start;
        let bytes = text.slice(span);
        for piece in bytes.chunk_by(|a, b| a.is_ascii_whitespace() == b.is_ascii_whitespace()) {
            let end = start + u32::try_from(piece.len()).unwrap_or_default();
            if blanks || !piece[0].is_ascii_whitespace() {
                self.all.push(Token { start, end, depth });
            }
            start = end;
        }
    }
}

/// Which tokens of two lines have no partner in the other: flags for the old and for the new ones.
#[must_use]
pub fn changed(old: (&Text<'_>, &[Token]), new: (&Text<'_>, &[Token]), most: usize) -> (Vec<bool>, Vec<bool>) {
    let same = |a: &Token, b: &Token| a.of(old.0) == b.of(new.0);
    let begin = old.1.iter().zip(new.1).take_while(|(a, b)| same(a, b)).count();
    let (left, right) = (&old.1[begin..], &new.1[begin..]);
    let end = left.iter().rev().zip(right.iter().rev()).take_while(|(a, b)| same(a, b)).count();
    let (left, right) = (&left[..left.len() - end], &right[..right.len() - end]);
    let mut flags = (vec![false; old.1.len()], vec![false; new.1.len()]);
    flags.0[begin..begin + left.len()].fill(true);
    flags.1[begin..begin + right.len()].fill(true);
    if left.len().saturating_mul(right.len()) > most {
        return flags;
    }
    // lengths of the longest common subsequences of what follows
    let width = right.len() + 1;
    let mut longest = vec![0u32; (left.len() + 1) * width];
    for (i, a) in left.iter().enumerate().rev() {
        for (j, b) in right.iter().enumerate().rev() {
            longest[i * width + j] = if same(a, b) {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        if same(&left[i], &right[j]) {
            (flags.0[begin + i], flags.1[begin + j]) = (false, false);
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &Text<'_>, leaves: &[Leaf]) -> Vec<Vec<String>> {
        let changed = Changed::new(std::iter::once(0..text.rows()), text.rows());
        let tokens = Tokens::new(text, &changed, leaves);
        let shown = |token: &Token| String::from_utf8_lossy(token.of(text)).into_owned();
        (0..text.rows() as usize).map(|row| tokens.line(row).iter().map(shown).collect()).collect()
    }

    #[test]
    fn lines_are_cut_into_what_means_something() {
        let text = Text::new(b"a = 'x  y\n z' ; # two  words\n");
        let leaf = |start, end, comment| Leaf { start, end, depth: 1, comment };
        let leaves = [leaf(0, 1, false), leaf(2, 3, false), leaf(4, 13, false), leaf(16, 28, true)];
        let expected: [&[&str]; 2] = [&["a", "=", "'x", "  ", "y", "\n"], &[" ", "z'", ";", "#", "two", "words"]];
        assert_eq!(tokens(&text, &leaves), expected);
        assert_eq!(tokens(&text, &[])[1], ["z'", ";", "#", "two", "words"], "what no leaf covers is not lost");
    }

    #[test]
    fn tokens_without_a_partner_are_marked() {
        let marked = |old: &str, new: &str, most| {
            let (old, new) = (Text::new(old.as_bytes()), Text::new(new.as_bytes()));
            let all = |text: &Text<'_>| {
                let changed = Changed::new(std::iter::once(0..1), 1);
                Tokens::new(text, &changed, &[]).line(0).to_vec()
            };
            let (a, b) = (all(&old), all(&new));
            let flags = changed((&old, &a), (&new, &b), most);
            let pick = |text: &Text<'_>, tokens: &[Token], flags: &[bool]| {
                let picked = tokens.iter().zip(flags).filter(|(_, flag)| **flag);
                picked.map(|(token, _)| String::from_utf8_lossy(token.of(text)).into_owned()).collect::<String>()
            };
            (pick(&old, &a, &flags.0), pick(&new, &b, &flags.1))
        };
        assert_eq!(marked("a b c", "a x c", 99), ("b".into(), "x".into()));
        assert_eq!(marked("a b c d e", "b x d", 99), ("ace".into(), "x".into()));
        assert_eq!(marked("a b c d e", "b x d", 3), ("abcde".into(), "bxd".into()), "too many to be compared");
        assert_eq!(marked("a", "a", 0), (String::new(), String::new()));
    }
}
