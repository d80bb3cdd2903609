//! Which removed line became which added one: by how much of the text of their tokens both share, in the order of both.
//! Trust: tokens are those of a hostile text; the comparisons of one region and of one file are counted and bounded.

use super::{
    limits::{MAX_FILE_PAIRINGS, MAX_PAIRINGS},
    text::{Changed, Text},
    tokens::{Token, Tokens},
};
use std::collections::HashMap;

/// Likeness from which two lines are a pair, of [`WHOLE`].
const ALIKE: u32 = 400;
/// The same of two lines that stand alone against each other.
const ALONE: u32 = 200;
/// The same tokens.
const WHOLE: u32 = 1_000;

/// One side: its text, its changed rows, and their tokens.
#[derive(Debug, Clone, Copy)]
pub struct Lines<'l, 's> {
    /// The text.
    pub text: &'l Text<'s>,
    /// Its changed rows.
    pub changed: &'l Changed,
    /// Their tokens.
    pub tokens: &'l Tokens,
}

impl<'l> Lines<'l, '_> {
    /// The tokens of a changed row.
    #[must_use]
    pub fn line(&self, row: u32) -> Option<&'l [Token]> {
        Some(self.tokens.line(self.changed.number(row)?))
    }
}

/// A line by its tokens.
#[derive(Debug, Default)]
struct Bag {
    /// Ids, in the order of the line.
    sequence: Vec<u32>,
    /// Id and bytes of each, sorted.
    sorted: Vec<(u32, u32)>,
    /// Bytes of all together.
    weight: u32,
}

impl Bag {
    /// How alike two lines are, of [`WHOLE`]; long tokens count more than signs.
    fn likeness(&self, other: &Bag) -> u32 {
        if self.weight == 0 || other.weight == 0 {
            return if self.weight == other.weight { WHOLE } else { 0 };
        }
        let (mut i, mut j, mut shared) = (0, 0, 0u64);
        while let (Some(a), Some(b)) = (self.sorted.get(i), other.sorted.get(j)) {
            match a.cmp(b) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    shared += u64::from(a.1);
                    (i, j) = (i + 1, j + 1);
                }
            }
        }
        let all = u64::from(self.weight) + u64::from(other.weight);
        u32::try_from(shared * 2 * u64::from(WHOLE) / all).unwrap_or(WHOLE)
    }
}

/// The changed lines of both sides, by the numbers of their rows among the changed ones.
#[derive(Debug)]
pub struct Bags {
    old: Vec<Bag>,
    new: Vec<Bag>,
    /// Comparisons that are left for the file.
    left: u64,
}

impl Bags {
    /// Of both sides.
    #[must_use]
    pub fn new(old: Lines<'_, '_>, new: Lines<'_, '_>) -> Self {
        let mut ids: HashMap<&[u8], u32> = HashMap::new();
        let (old, new) = (bags(old, &mut ids), bags(new, &mut ids));
        Self { old, new, left: MAX_FILE_PAIRINGS }
    }

    /// Pairs among the lines of one region, which are given by their numbers, in the order of both sides: positions in
    /// `old` and in `new`.
    pub fn pair(&mut self, old: &[usize], new: &[usize]) -> Vec<(usize, usize)> {
        let all = old.len() as u64 * new.len() as u64;
        if all > MAX_PAIRINGS || all > self.left {
            return self.same(old, new);
        }
        self.left -= all;
        let width = new.len() + 1;
        // the likeness of each two lines, and the best sum for what follows them
        let (mut likeness, mut best) = (vec![0u32; old.len() * width], vec![0u64; (old.len() + 1) * width]);
        for (i, a) in old.iter().enumerate().rev() {
            for (j, b) in new.iter().enumerate().rev() {
                let alike = self.old[*a].likeness(&self.new[*b]);
                let apart = best[(i + 1) * width + j].max(best[i * width + j + 1]);
                likeness[i * width + j] = alike;
                best[i * width + j] = match alike >= ALIKE {
                    true => apart.max(best[(i + 1) * width + j + 1] + u64::from(alike)),
                    false => apart,
                };
            }
        }
        let (mut i, mut j, mut pairs) = (0, 0, Vec::new());
        while i < old.len() && j < new.len() {
            let (here, alike) = (best[i * width + j], likeness[i * width + j]);
            if alike >= ALIKE && here == best[(i + 1) * width + j + 1] + u64::from(alike) {
                pairs.push((i, j));
                (i, j) = (i + 1, j + 1);
            } else if here == best[(i + 1) * width + j] {
                i += 1;
            } else {
                j += 1;
            }
        }
        lone(&mut pairs, (old.len(), new.len()), |i, j| likeness[i * width + j] >= ALONE);
        pairs
    }

    /// Pairs of a large region: only lines of the same tokens, each with the next one that is left.
    fn same(&self, old: &[usize], new: &[usize]) -> Vec<(usize, usize)> {
        let mut places: HashMap<&[u32], Vec<usize>> = HashMap::new();
        for (at, number) in old.iter().enumerate().rev() {
            places.entry(&self.old[*number].sequence).or_default().push(at);
        }
        let (mut next, mut pairs) = (0, Vec::new());
        for (at, number) in new.iter().enumerate() {
            let Some(places) = places.get_mut(&self.new[*number].sequence[..]) else { continue };
            while places.last().is_some_and(|place| *place < next) {
                places.pop();
            }
            if let Some(place) = places.pop() {
                pairs.push((place, at));
                next = place + 1;
            }
        }
        pairs
    }
}

/// Adds what stands alone on both sides between two pairs, where that is somewhat alike.
fn lone(pairs: &mut Vec<(usize, usize)>, ends: (usize, usize), alike: impl Fn(usize, usize) -> bool) {
    let mut before = (0, 0);
    let mut found = Vec::new();
    for pair in pairs.iter().copied().chain([ends]) {
        if (pair.0 - before.0, pair.1 - before.1) == (1, 1) && alike(before.0, before.1) {
            found.push(before);
        }
        before = (pair.0 + 1, pair.1 + 1);
    }
    pairs.extend(found);
    pairs.sort_unstable();
}

fn bags<'s>(lines: Lines<'_, 's>, ids: &mut HashMap<&'s [u8], u32>) -> Vec<Bag> {
    let mut bag = |number| {
        let mut bag = Bag::default();
        for token in lines.tokens.line(number) {
            let bytes = token.of(lines.text);
            let fresh = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            let id = *ids.entry(bytes).or_insert(fresh);
            let weight = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
            bag.sequence.push(id);
            bag.sorted.push((id, weight));
            bag.weight = bag.weight.saturating_add(weight);
        }
        bag.sorted.sort_unstable();
        bag
    };
    (0..lines.changed.count() as usize).map(&mut bag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(old: &str, new: &str, left: u64) -> Vec<(usize, usize)> {
        let (old, new) = (Text::new(old.as_bytes()), Text::new(new.as_bytes()));
        let changed = |text: &Text<'_>| Changed::new(std::iter::once(0..text.rows()), text.rows());
        let (olds, news) = (changed(&old), changed(&new));
        let (a, b) = (Tokens::new(&old, &olds, &[]), Tokens::new(&new, &news, &[]));
        let mut bags = Bags::new(
            Lines { text: &old, changed: &olds, tokens: &a },
            Lines { text: &new, changed: &news, tokens: &b },
        );
        bags.left = left;
        let numbers = |changed: &Changed| (0..changed.count() as usize).collect::<Vec<_>>();
        bags.pair(&numbers(&olds), &numbers(&news))
    }

    #[test]
    fn lines_are_paired_by_what_they_share() {
        let (old, new) = ("let x = one ;\nreturn x ;\n", "log ( ) ;\nlet x = two ;\n}\nreturn x + 1 ;\n");
        assert_eq!(pairs(old, new, 99), [(0, 1), (1, 3)]);
        assert_eq!(pairs("alpha beta\n", "gamma delta\n", 99), []);
        assert_eq!(pairs("first a b\nsecond c d\n", "second c d\nfirst a b\n", 99).len(), 1, "pairs do not cross");
        assert_eq!(pairs("\n", "   \n", 99), [(0, 0)]);
    }

    #[test]
    fn of_a_large_region_only_the_same_lines_are_paired() {
        let (old, new) = ("a b c\nx y\nlast\n", "a b d\n  x  y\nlast\n");
        assert_eq!(pairs(old, new, 3), [(1, 1), (2, 2)]);
    }
}
