//! Which lines of two texts differ: Git's algorithms and its rules for where a change that can slide is shown.
//! Trust: texts are the repository's, of bounded size; the comparison holds a few words of memory per line.

use super::{histogram, slides::ByIndent};
use crate::{
    aside,
    pace::{Pace, Stopped},
};
pub use gix::diff::blob::Algorithm;
use gix::diff::blob::{Diff, InternedInput, Interner, SliderHeuristic, Token};
use std::{
    hash::{Hash, Hasher},
    ops::Range,
};

/// Lines of all texts together that are compared at once, without a look at the clock.
pub const AT_ONCE: usize = 20_000;
/// Lines of a text that is compared at most; each takes some hundred bytes meanwhile.
pub const MAX_LINES: usize = 1_000_000;

/// Two texts, line by line, and which lines were removed and added.
pub struct Lines<'a> {
    /// Lines of the old text, with their ends.
    pub before: Vec<&'a [u8]>,
    /// Lines of the new text.
    pub after: Vec<&'a [u8]>,
    /// What differs.
    pub diff: Diff,
}

/// How texts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// White space does not count.
    pub ignore_whitespace: bool,
    /// Unchanged lines around changes; without any, Git leaves the common end of both texts out before it compares.
    pub context: u32,
}

impl<'a> Lines<'a> {
    /// Compares.
    ///
    /// # Errors
    /// [`Stopped`]: texts of lines that come again and again take longer than any call has.
    pub fn compare(before: &'a [u8], after: &'a [u8], rules: Rules, pace: &Pace) -> Result<Self, Stopped> {
        let (old, new) = if rules.context == 0 { without_common_end(before, after) } else { (before, after) };
        let mut lines = Self { before: split(old), after: split(new), diff: Diff::default() };
        lines.diff = if rules.ignore_whitespace {
            lines.computed(rules.algorithm, Squeezed, pace)?
        } else {
            lines.computed(rules.algorithm, |line| line, pace)?
        };
        Ok(lines)
    }

    /// What differs, where lines are equal whose `counted` are.
    fn computed<T: Hash + Eq>(
        &self,
        algorithm: Algorithm,
        counted: impl Fn(&'a [u8]) -> T,
        pace: &Pace,
    ) -> Result<Diff, Stopped> {
        let mut input = InternedInput { before: Vec::new(), after: Vec::new(), interner: Interner::new(0) };
        input.update_before(self.before.iter().map(|line| counted(line)));
        input.update_after(self.after.iter().map(|line| counted(line)));
        let mut diff = between(algorithm, &mut input, pace)?;
        // by place and not by token: lines that are equal but for white space are indented differently
        let places: Vec<Token> = (0..).map(Token).take(self.before.len().max(self.after.len())).collect();
        let place = |tokens: &[Token], hunk: Range<u32>, earliest_end: u32| {
            let lines = if std::ptr::eq(tokens, &raw const *input.before) { &self.before } else { &self.after };
            let line = |Token(place): Token| lines[place as usize];
            ByIndent(line).best_slider_end(&places[..lines.len()], hunk, earliest_end)
        };
        diff.postprocess_with(&input.before, &input.after, place);
        Ok(diff)
    }

    /// Added and removed lines.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        (u64::from(self.diff.count_additions()), u64::from(self.diff.count_removals()))
    }
}

impl std::fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines").field("diff", &self.diff).finish_non_exhaustive()
    }
}

/// What differs between the two sides of `input`, before changes that can slide are put in their place.
///
/// # Errors
/// [`Stopped`].
pub fn between<T>(algorithm: Algorithm, input: &mut InternedInput<T>, pace: &Pace) -> Result<Diff, Stopped> {
    let tokens = input.interner.num_tokens();
    between_tokens(algorithm, [&mut input.before, &mut input.after], tokens, pace)
}

/// The same of lines that stand for `tokens` different ones, all smaller than that.
///
/// # Errors
/// [`Stopped`].
pub fn between_tokens(
    algorithm: Algorithm,
    sides: [&mut Vec<Token>; 2],
    tokens: u32,
    pace: &Pace,
) -> Result<Diff, Stopped> {
    if sides.iter().map(|side| side.len()).sum::<usize>() <= AT_ONCE {
        return Ok(compute(algorithm, sides[0], sides[1], tokens));
    }
    let [old, new] = sides;
    let (before, after) = (std::mem::take(old), std::mem::take(new));
    let compared = move || (compute(algorithm, &before, &after, tokens), before, after);
    let (diff, before, after): (Diff, Vec<Token>, Vec<Token>) = aside::run(pace, compared)?;
    (*old, *new) = (before, after);
    Ok(diff)
}

fn compute(algorithm: Algorithm, before: &[Token], after: &[Token], tokens: u32) -> Diff {
    if algorithm == Algorithm::Histogram {
        return histogram::compare(before, after, tokens);
    }
    let mut diff = Diff::default();
    diff.compute_with(algorithm, before, after, tokens);
    diff
}

/// Whether there are more lines in `text` than are compared.
#[must_use]
pub fn too_many(text: &[u8]) -> bool {
    text.len() > MAX_LINES && text.iter().filter(|&&byte| byte == b'\n').count() > MAX_LINES
}

fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

/// A line of which white space does not count.
#[derive(Clone, Copy)]
struct Squeezed<'a>(&'a [u8]);

impl<'a> Squeezed<'a> {
    fn counted(self) -> impl Iterator<Item = u8> + 'a {
        self.0.iter().copied().filter(|&byte| !is_space(byte))
    }
}

impl PartialEq for Squeezed<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.counted().eq(other.counted())
    }
}

impl Eq for Squeezed<'_> {}

impl Hash for Squeezed<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.counted().for_each(|byte| state.write_u8(byte));
    }
}

/// What Git takes for white space.
#[must_use]
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Both texts without the blocks that end them alike, up to the first line end in those (Git's `trim_common_tail`).
pub(crate) fn without_common_end<'a>(before: &'a [u8], after: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    const BLOCK: usize = 1024;
    let (mut old, mut new) = (before.len(), after.len());
    while old >= BLOCK && new >= BLOCK && before[old - BLOCK..old] == after[new - BLOCK..new] {
        (old, new) = (old - BLOCK, new - BLOCK);
    }
    let rest = &before[old..];
    let kept = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |at| at + 1);
    (&before[..old + kept], &after[..new + kept])
}

#[cfg(test)]
mod tests {
    use super::*;
    use gix::diff::blob::sources;

    const RULES: Rules = Rules { algorithm: Algorithm::Myers, ignore_whitespace: false, context: 3 };

    fn pace() -> Pace {
        Pace::alone(600_000)
    }

    fn compared(before: &[u8], after: &[u8], rules: Rules) -> (u64, u64) {
        Lines::compare(before, after, rules, &pace()).expect("there is time").counts()
    }

    #[test]
    fn a_comparison_on_a_thread_of_its_own_finds_the_same() {
        let text = |seed: u32| -> Vec<u8> {
            let line = |n: u32| n.wrapping_mul(seed).wrapping_mul(2_654_435_761) >> 27;
            (0..12_000).flat_map(|n| format!("{}\n", line(n)).into_bytes()).collect()
        };
        let (one, two) = (text(7), text(11));
        for algorithm in [Algorithm::Myers, Algorithm::Histogram] {
            let mut input = InternedInput::new(sources::byte_lines(&one), sources::byte_lines(&two));
            assert!(input.before.len() + input.after.len() > AT_ONCE);
            let hunks = |diff: &Diff| diff.hunks().collect::<Vec<_>>();
            let expected = hunks(&Diff::compute(algorithm, &input));
            assert_eq!(hunks(&between(algorithm, &mut input, &pace()).expect("there is time")), expected);
            assert_eq!(input.before.len(), 12_000, "the input is whole again");
        }
    }

    #[test]
    fn a_comparison_without_end_ends_with_its_call() {
        // two values at random: the algorithm's worst case, many seconds of work
        let mut dice = 88_172_645_463_325_252_u64;
        let mut text = || -> Vec<u8> {
            (0..900_000)
                .flat_map(|_| {
                    dice ^= dice << 13;
                    dice ^= dice >> 7;
                    dice ^= dice << 17;
                    [b'0' + (dice >> 40 & 1) as u8, b'\n']
                })
                .collect()
        };
        let (one, two) = (text(), text());
        // numbering so many lines takes its own time, which is not to be the call's here
        let mut input = InternedInput::new(sources::byte_lines(&one), sources::byte_lines(&two));
        let pace = Pace::alone(500);
        assert_eq!(between(RULES.algorithm, &mut input, &pace).err(), Some(Stopped::Deadline));
        assert!(pace.left_behind().any());
    }

    #[test]
    fn lines_beyond_measure_are_counted() {
        assert!(too_many(&vec![b'\n'; MAX_LINES + 1]));
        assert!(!too_many(&vec![b'\n'; MAX_LINES]) && !too_many(&vec![b'x'; MAX_LINES * 2]));
    }

    #[test]
    fn line_ends_count_and_white_space_only_where_asked() {
        assert_eq!(compared(b"a\nb\n", b"a\r\nb\n", RULES), (1, 1));
        assert_eq!(compared(b"a\nb", b"a\nb\n", RULES), (1, 1));
        let rules = Rules { ignore_whitespace: true, ..RULES };
        assert_eq!(compared(b"a b\nc\n", b" ab\r\nd", rules), (1, 1));
    }

    #[test]
    fn a_common_end_is_left_out_up_to_a_line() {
        let tail = "x".repeat(1000) + "\n" + &"y".repeat(1000) + "\n";
        let (old, new) = (format!("a\n{tail}"), format!("b\n{tail}"));
        let (old, new) = without_common_end(old.as_bytes(), new.as_bytes());
        assert_eq!((old.len(), new.len()), (2 + 1001, 2 + 1001));
    }
}
