//! Which lines of two texts differ: Git's algorithms and its rules for where a change that can slide is shown.
//! Trust: texts are the repository's, of bounded size; the comparison holds a few words of memory per line.

pub use gix::diff::blob::Algorithm;
use gix::diff::blob::{Diff, IndentHeuristic, IndentLevel, InternedInput, Interner};
use std::hash::{Hash, Hasher};

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
    #[must_use]
    pub fn compare(before: &'a [u8], after: &'a [u8], rules: Rules) -> Self {
        let (old, new) = if rules.context == 0 { without_common_end(before, after) } else { (before, after) };
        let mut lines = Self { before: split(old), after: split(new), diff: Diff::default() };
        lines.diff = if rules.ignore_whitespace {
            computed(
                rules.algorithm,
                lines.before.iter().map(|line| Squeezed(line)),
                lines.after.iter().map(|line| Squeezed(line)),
                |line| line.0,
            )
        } else {
            computed(rules.algorithm, lines.before.iter().copied(), lines.after.iter().copied(), |line| line)
        };
        lines
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

fn computed<'a, T: Hash + Eq + Copy>(
    algorithm: Algorithm,
    before: impl Iterator<Item = T>,
    after: impl Iterator<Item = T>,
    bytes: impl Fn(T) -> &'a [u8],
) -> Diff {
    let mut input = InternedInput { before: Vec::new(), after: Vec::new(), interner: Interner::new(0) };
    input.update_before(before);
    input.update_after(after);
    let mut diff = Diff::compute(algorithm, &input);
    let level = |token| IndentLevel::for_ascii_line(bytes(input.interner[token]).iter().copied(), 8);
    diff.postprocess_with_heuristic(&input, IndentHeuristic::new(level));
    diff
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
fn without_common_end<'a>(before: &'a [u8], after: &'a [u8]) -> (&'a [u8], &'a [u8]) {
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

    const RULES: Rules = Rules { algorithm: Algorithm::Myers, ignore_whitespace: false, context: 3 };

    #[test]
    fn line_ends_count_and_white_space_only_where_asked() {
        assert_eq!(Lines::compare(b"a\nb\n", b"a\r\nb\n", RULES).counts(), (1, 1));
        assert_eq!(Lines::compare(b"a\nb", b"a\nb\n", RULES).counts(), (1, 1));
        let rules = Rules { ignore_whitespace: true, ..RULES };
        assert_eq!(Lines::compare(b"a b\nc\n", b" ab\r\nd", rules).counts(), (1, 1));
    }

    #[test]
    fn a_common_end_is_left_out_up_to_a_line() {
        let tail = "x".repeat(1000) + "\n" + &"y".repeat(1000) + "\n";
        let (old, new) = (format!("a\n{tail}"), format!("b\n{tail}"));
        let (old, new) = without_common_end(old.as_bytes(), new.as_bytes());
        assert_eq!((old.len(), new.len()), (2 + 1001, 2 + 1001));
    }
}
