//! Which lines of a version are those of an older one, and which of the lines that are looked for are among them.
//! Trust: lines are numbers here; texts of any lines give spans within both.

use super::texts::{Text, Texts, lines};
use crate::{
    diff::{
        lines::{Algorithm, between_tokens, without_common_end},
        slides::ByIndent,
    },
    pace::{Pace, Stopped},
};
use gix::diff::blob::Token;

/// Changed lines up to which it is worth finding out how far their change could slide.
const FEW: usize = 128;

/// Lines that are looked for: from `at` on in some version, and from `shown` on in the one that is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) shown: u32,
    pub(super) at: u32,
    pub(super) count: u32,
}

/// Lines that both versions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) new: u32,
    pub(super) old: u32,
    pub(super) count: u32,
}

/// The spans that hold all of `ranges` that the versions have in common, in order.
///
/// # Errors
/// [`Stopped`].
pub(super) fn spans(
    texts: &Texts<'_>,
    new: &Text,
    old: &Text,
    ranges: &[Range],
    pace: &Pace,
) -> Result<Vec<Span>, Stopped> {
    if let Some(spans) = without_comparison(&new.tokens, &old.tokens, ranges) {
        return Ok(spans);
    }
    // as Git does where no lines around changes are wanted
    let (before, after) = without_common_end(&old.bytes, &new.bytes);
    let tail = lines(&old.bytes[before.len()..]);
    debug_assert_eq!(tail, lines(&new.bytes[after.len()..]), "the ends are equal");
    let mut before = old.tokens[..old.tokens.len() - tail].to_vec();
    let mut after = new.tokens[..new.tokens.len() - tail].to_vec();
    let mut diff = between_tokens(Algorithm::Myers, [&mut before, &mut after], texts.numbers(), pace)?;
    diff.postprocess_with(&before, &after, ByIndent(|token| texts.line(token)));
    let mut all = Vec::new();
    let (mut from_old, mut from_new) = (0, 0);
    let mut push = |new: u32, old: u32, end: u32| {
        if end > new {
            all.push(Span { new, old, count: end - new });
        }
    };
    for hunk in diff.hunks() {
        push(from_new, from_old, hunk.after.start);
        (from_old, from_new) = (hunk.before.end, hunk.after.end);
    }
    push(from_new, from_old, count(new.tokens.len()));
    Ok(all)
}

fn count(lines: usize) -> u32 {
    u32::try_from(lines).unwrap_or(u32::MAX)
}

/// The common beginning and end, where all of `ranges` lies in what no comparison could find changed. A change between
/// them can slide only as far as lines repeat in its own distance.
fn without_comparison(new: &[Token], old: &[Token], ranges: &[Range]) -> Option<Vec<Span>> {
    let begin = new.iter().zip(old).take_while(|(a, b)| a == b).count();
    let most = new.len().min(old.len()) - begin;
    let end = new.iter().rev().zip(old.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let (mut up, mut down) = (0, 0);
    for lines in [new, old] {
        let changed = begin..lines.len() - end;
        if changed.len() > FEW {
            return None;
        }
        for distance in 1..=changed.len() {
            let above = (0..begin).rev().take_while(|&at| lines[at] == lines[at + distance]).count();
            let below = (changed.end..lines.len()).take_while(|&at| lines[at] == lines[at - distance]).count();
            (up, down) = (up.max(above), down.max(below));
        }
    }
    let top = count(begin.saturating_sub(up));
    let bottom = count((new.len() - end + down).min(new.len()));
    if !ranges.iter().all(|range| range.at + range.count <= top || range.at >= bottom) {
        return None;
    }
    let mut spans = vec![Span { new: 0, old: 0, count: top }];
    let below = count(new.len()) - bottom;
    spans.push(Span { new: bottom, old: count(old.len()) - below, count: below });
    spans.retain(|span| span.count > 0);
    Some(spans)
}

/// The parts of `ranges`, in order, that lie in `spans`, with their places in the older version; `ranges` keeps the rest.
pub(super) fn take(ranges: &mut Vec<Range>, spans: &[Span]) -> Vec<Range> {
    let (mut given, mut kept) = (Vec::new(), Vec::new());
    let mut next = 0;
    for range in ranges.iter() {
        let (mut at, end) = (range.at, range.at + range.count);
        let part = |from: u32, to: u32| Range { shown: range.shown + (from - range.at), at: from, count: to - from };
        while next < spans.len() && spans[next].new + spans[next].count <= at {
            next += 1;
        }
        let mut here = next;
        while at < end {
            match spans.get(here).filter(|span| span.new < end) {
                Some(span) => {
                    if span.new > at {
                        kept.push(part(at, span.new));
                        at = span.new;
                    }
                    let to = end.min(span.new + span.count);
                    given.push(Range { at: span.old + (at - span.new), ..part(at, to) });
                    at = to;
                    here += 1;
                }
                None => {
                    kept.push(part(at, end));
                    at = end;
                }
            }
        }
    }
    *ranges = kept;
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        text.bytes().map(|byte| Token(u32::from(byte))).collect()
    }

    fn range(at: u32, count: u32) -> Range {
        Range { shown: at + 100, at, count }
    }

    fn quick(new: &str, old: &str, ranges: &[Range]) -> Option<Vec<(u32, u32, u32)>> {
        let spans = without_comparison(&tokens(new), &tokens(old), ranges)?;
        Some(spans.iter().map(|span| (span.new, span.old, span.count)).collect())
    }

    #[test]
    fn only_what_no_change_can_reach_needs_no_comparison() {
        assert_eq!(quick("abXcd", "abcd", &[range(0, 2), range(3, 2)]), Some(vec![(0, 0, 2), (3, 2, 2)]));
        assert_eq!(quick("abXcd", "abcd", &[range(1, 3)]), None, "a change is among them");
        // `ab` was added to `abab`: which of the three pairs is new is the comparison's to say
        assert_eq!(quick("xabababy", "xababy", &[range(3, 1)]), None);
        assert_eq!(quick("xabababy", "xababy", &[range(0, 1), range(7, 1)]), Some(vec![(0, 0, 1), (7, 5, 1)]));
        assert_eq!(quick("abc", "", &[range(0, 1)]), None);
        assert_eq!(quick("", "abc", &[]), Some(vec![]));
    }

    #[test]
    fn ranges_are_shared_out_without_loss() {
        let spans = [Span { new: 2, old: 10, count: 3 }, Span { new: 6, old: 20, count: 2 }];
        let mut ranges = vec![range(0, 4), range(4, 6)];
        let given = take(&mut ranges, &spans);
        let row = |range: &Range| (range.shown, range.at, range.count);
        assert_eq!(given.iter().map(row).collect::<Vec<_>>(), [(102, 10, 2), (104, 12, 1), (106, 20, 2)]);
        assert_eq!(ranges.iter().map(row).collect::<Vec<_>>(), [(100, 0, 2), (105, 5, 1), (108, 8, 2)]);
        assert_eq!(take(&mut Vec::new(), &spans), []);
    }
}
