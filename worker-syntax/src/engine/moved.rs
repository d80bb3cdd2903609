//! Definitions that stand elsewhere in the new file: gone in one place and new in another, with the same tokens.
//! Trust: definitions and tokens are those of a hostile text; how much is looked at is bounded, and texts decide, not hashes.

use super::{
    limits::{MAX_MOVED, MIN_MOVED},
    pairs::Lines,
    parse::{Found, Parsed},
};
use std::collections::HashMap;

/// Definitions that moved.
#[derive(Debug, Default)]
pub struct Moves {
    /// Number of the old definition and of the new one.
    pub pairs: Vec<(u32, u32)>,
    /// By number of changed row: the move that it belongs to.
    pub old: Vec<Option<u32>>,
    /// The same of the new side.
    pub new: Vec<Option<u32>>,
}

impl Moves {
    /// Among definitions all of whose lines changed; lines of signs alone, such as a closing brace, are the same everywhere
    /// and may have found another partner.
    #[must_use]
    pub fn find(old: (Lines<'_, '_>, &Parsed), new: (Lines<'_, '_>, &Parsed)) -> Self {
        let mut moves = Self {
            pairs: Vec::new(),
            old: vec![None; old.0.changed.count() as usize],
            new: vec![None; new.0.changed.count() as usize],
        };
        let mut left = MAX_MOVED;
        let mut gone: HashMap<Vec<u8>, Vec<u32>> = HashMap::new();
        for (number, found) in (0u32..).zip(&old.1.definitions) {
            if let Some(key) = key(found, &old.0, &mut left) {
                gone.entry(key).or_default().push(number);
            }
        }
        if gone.is_empty() {
            return moves;
        }
        for (number, found) in (0u32..).zip(&new.1.definitions) {
            // outer ones come first, and take what is within them along
            if !is_free(&moves.new, found, &new.0) {
                continue;
            }
            let Some(key) = key(found, &new.0, &mut left) else { continue };
            let Some(candidates) = gone.get_mut(&key) else { continue };
            let free = |number: &u32| is_free(&moves.old, &old.1.definitions[*number as usize], &old.0);
            let Some(at) = candidates.iter().position(free) else { continue };
            let from = candidates.remove(at);
            let name = u32::try_from(moves.pairs.len()).unwrap_or(u32::MAX);
            moves.pairs.push((from, number));
            mark(&mut moves.old, &old.1.definitions[from as usize], &old.0, name);
            mark(&mut moves.new, found, &new.0, name);
        }
        moves
    }
}

/// The changed rows of a definition, by their numbers.
fn numbers<'l>(found: &Found, lines: &Lines<'l, '_>) -> impl Iterator<Item = usize> + 'l {
    let changed = lines.changed;
    changed.within(found.rows.0, found.rows.1).filter_map(|row| changed.number(row))
}

fn is_free(moves: &[Option<u32>], found: &Found, lines: &Lines<'_, '_>) -> bool {
    numbers(found, lines).all(|at| moves[at].is_none())
}

fn mark(moves: &mut [Option<u32>], found: &Found, lines: &Lines<'_, '_>, name: u32) {
    for at in numbers(found, lines) {
        moves[at] = Some(name);
    }
}

/// What a definition says, blanks aside, line by line; `None` where a line that says something did not change, where it says
/// too little to be told from others, or where too much was looked at.
fn key(found: &Found, lines: &Lines<'_, '_>, left: &mut usize) -> Option<Vec<u8>> {
    let (first, last) = found.rows;
    lines.changed.number(first)?;
    let mut key = Vec::new();
    for row in first..=last {
        let line = lines.text.line(row);
        *left = left.checked_sub(line.len().max(1))?;
        if !line.iter().any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()) {
            key.extend(line.iter().filter(|byte| !byte.is_ascii_whitespace()));
            continue;
        }
        for token in lines.line(row)? {
            key.extend_from_slice(token.of(lines.text));
            // no text holds it, so that tokens cannot run into each other
            key.push(0);
        }
    }
    (key.len() >= MIN_MOVED).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::super::{
        text::{Changed, Text},
        tokens::Tokens,
    };
    use super::*;

    fn moves(old: &str, new: &str, rows: [(u32, u32); 2]) -> usize {
        let side = |text: &str, rows: (u32, u32)| {
            let text = Text::new(text.as_bytes());
            let changed = Changed::new(std::iter::once(0..text.rows() - 1), text.rows());
            let tokens = Tokens::new(&text, &changed, &[]);
            let found = Found { rows, parent: None, level: 0, header: String::new() };
            (changed, tokens, Parsed { definitions: vec![found], ..Parsed::default() })
        };
        let (a, b) = (side(old, rows[0]), side(new, rows[1]));
        let (old, new) = (Text::new(old.as_bytes()), Text::new(new.as_bytes()));
        let lines = |text, changed, tokens| Lines { text, changed, tokens };
        Moves::find((lines(&old, &a.0, &a.1), &a.2), (lines(&new, &b.0, &b.1), &b.2)).pairs.len()
    }

    #[test]
    fn what_says_the_same_moved() {
        let old = "fn moved ( alpha ) {\n    alpha + beta\n}\n";
        assert_eq!(moves(old, "x\nfn moved ( alpha ) {\n  alpha  + beta\n}\n", [(0, 2), (1, 3)]), 1, "blanks aside");
        assert_eq!(moves(old, "x\nfn moved ( alpha ) {\n  alpha + gamma\n}\n", [(0, 2), (1, 3)]), 0);
        assert_eq!(moves("a\n}\n", "x\na\n}\n", [(0, 1), (1, 2)]), 0, "too little to be told from others");
    }
}
