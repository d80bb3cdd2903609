//! Comparison by histogram, as Git does it: texts are split at the longest run of lines that has the rarest line.
//! Trust: texts are the repository's, of bounded size; what is held grows with their lines, and nothing recurses.
//!
//! Git's rules (2.47, `xdiff/xhistogram.c`): lines that both texts begin and end with count among the others. Only lines that
//! the old part has 65 times at most are looked for; where all that the parts share is more frequent than 64 times, the part
//! is compared by Myers' algorithm. Later occurrences are tried from behind the run that an earlier one gave.

use gix::diff::blob::{Algorithm, Diff, Token};
use std::ops::Range;

/// Occurrences of a line up to which a part may be split at it.
const RARE: u32 = 64;
/// No line.
const NONE: u32 = u32::MAX;

/// Compares lines that stand for `tokens` different ones, all smaller than that. Nothing is moved yet to where it is best
/// shown.
#[must_use]
pub fn compare(before: &[Token], after: &[Token], tokens: u32) -> Diff {
    let mut search = Search {
        before,
        after,
        first: vec![NONE; tokens as usize],
        count: vec![0; tokens as usize],
        next: vec![NONE; before.len()],
    };
    let (mut removed, mut added) = (vec![true; before.len()], vec![true; after.len()]);
    let mut parts = vec![(0..before.len(), 0..after.len())];
    while let Some((old, new)) = parts.pop() {
        if old.is_empty() || new.is_empty() {
            continue;
        }
        match search.split(&old, &new) {
            Split::Nowhere => {}
            Split::At(run) => {
                removed[run.old.clone()].fill(false);
                added[run.new.clone()].fill(false);
                parts.push((run.old.end..old.end, run.new.end..new.end));
                parts.push((old.start..run.old.start, new.start..run.new.start));
            }
            Split::TooFrequent => {
                let mut diff = Diff::default();
                diff.compute_with(Algorithm::Myers, &before[old.clone()], &after[new.clone()], tokens);
                for (flags, range, differs) in [
                    (&mut removed, old, &(|at| diff.is_removed(at)) as &dyn Fn(u32) -> bool),
                    (&mut added, new, &|at| diff.is_added(at)),
                ] {
                    flags[range].iter_mut().zip(0..).for_each(|(flag, at)| *flag = differs(at));
                }
            }
        }
    }
    marked(&removed, &added)
}

/// Where two parts are split.
enum Split {
    /// They share no line.
    Nowhere,
    At(Run),
    /// All that they share is frequent.
    TooFrequent,
}

/// Lines that are the same in both.
#[derive(Default)]
struct Run {
    old: Range<usize>,
    new: Range<usize>,
}

/// Both texts, and where the lines of the part at hand stand in the old one.
struct Search<'a> {
    before: &'a [Token],
    after: &'a [Token],
    /// Of each line, its first place in the part.
    first: Vec<u32>,
    /// How often it is there.
    count: Vec<u32>,
    /// Of each place, the next one of the same line.
    next: Vec<u32>,
}

impl Search<'_> {
    fn split(&mut self, old: &Range<usize>, new: &Range<usize>) -> Split {
        for at in old.clone().rev() {
            let line = self.before[at].0 as usize;
            self.next[at] = self.first[line];
            self.first[line] = u32::try_from(at).unwrap_or(NONE);
            self.count[line] += 1;
        }
        let split = self.best(old, new);
        for at in old.clone() {
            let line = self.before[at].0 as usize;
            (self.first[line], self.count[line]) = (NONE, 0);
        }
        split
    }

    fn best(&self, old: &Range<usize>, new: &Range<usize>) -> Split {
        let (mut best, mut rarest, mut shared) = (Run::default(), RARE + 1, false);
        let mut at = new.start;
        while at < new.end {
            let line = self.after[at].0 as usize;
            let mut behind = at + 1;
            let mut place = self.first[line];
            shared |= place != NONE;
            if self.count[line] > rarest {
                place = NONE;
            }
            while place != NONE {
                let (run, count) = self.run(place as usize, at, old, new);
                behind = behind.max(run.new.end);
                let end = run.old.end;
                if run.old.len() > best.old.len().max(1) || count < rarest {
                    (best, rarest) = (run, count);
                }
                while place != NONE && (place as usize) < end {
                    place = self.next[place as usize];
                }
            }
            at = behind;
        }
        match (shared, best.old.is_empty()) {
            (true, _) if rarest > RARE => Split::TooFrequent,
            (_, true) => Split::Nowhere,
            _ => Split::At(best),
        }
    }

    /// The run around a line that both have, and how often its rarest line is there.
    fn run(&self, place: usize, at: usize, old: &Range<usize>, new: &Range<usize>) -> (Run, u32) {
        let rest = |start: usize, from: usize| {
            let pairs = self.before[start..old.end].iter().zip(&self.after[from..new.end]);
            pairs.take_while(|(a, b)| a == b).count()
        };
        let ahead = rest(place, at);
        let pairs = self.before[old.start..place].iter().rev().zip(self.after[new.start..at].iter().rev());
        let back = pairs.take_while(|(a, b)| a == b).count();
        let run = Run { old: place - back..place + ahead, new: at - back..at + ahead };
        let count = self.before[run.old.clone()].iter().map(|line| self.count[line.0 as usize]).min();
        (run, count.unwrap_or(NONE))
    }
}

/// A comparison that found just this: lines that were found alike get a token that nothing else has.
fn marked(removed: &[bool], added: &[bool]) -> Diff {
    let same = removed.iter().filter(|removed| !**removed).count();
    let mut alone = u32::try_from(same).unwrap_or(NONE);
    let mut tokens = |differs: &[bool]| -> Vec<Token> {
        let mut alike = 0;
        let mut token = |differs: &bool| {
            let token = if *differs { &mut alone } else { &mut alike };
            *token += 1;
            Token(*token - 1)
        };
        differs.iter().map(&mut token).collect()
    };
    let (old, new) = (tokens(removed), tokens(added));
    let mut diff = Diff::default();
    diff.compute_with(Algorithm::Myers, &old, &new, alone);
    diff
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines that are removed and added, by letters.
    fn diff(before: &str, after: &str) -> (String, String) {
        let tokens = |text: &str| text.bytes().map(|byte| Token(u32::from(byte))).collect::<Vec<_>>();
        let diff = compare(&tokens(before), &tokens(after), 256);
        let pick = |text: &str, differs: &dyn Fn(u32) -> bool| {
            text.chars().zip(0..).filter(|(_, at)| differs(*at)).map(|(letter, _)| letter).collect()
        };
        (pick(before, &|at| diff.is_removed(at)), pick(after, &|at| diff.is_added(at)))
    }

    #[test]
    fn the_longest_run_with_the_rarest_line_stays() {
        assert_eq!(diff("", ""), (String::new(), String::new()));
        assert_eq!(diff("abc", "abc"), (String::new(), String::new()));
        assert_eq!(diff("ab", "cd"), ("ab".into(), "cd".into()));
        assert_eq!(diff("aabXaab", "Xaab"), ("aab".into(), String::new()));
        assert_eq!(diff("eaea", "aeaea"), (String::new(), "a".into()), "a later occurrence gives the longer run");
    }

    #[test]
    fn frequent_lines_alone_are_left_to_the_other_algorithm() {
        let many = "a".repeat(200);
        assert_eq!(diff(&many, &format!("{many}a")).1.len(), 1);
    }
}
