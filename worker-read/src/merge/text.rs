//! Three versions of a text made one, line by line, with conflicts where Git sees them.
//! Trust: texts are the repository's, of bounded size; what is held grows with their lines alone.
//!
//! Git's rules (2.47, `xdiff/xmerge.c`): both sides are compared with the base by histogram, and a change that can slide is
//! taken as low as it goes, whatever is indented how. Changes of the two sides that touch are one conflict, unless they are
//! the same. A conflict is then narrowed to what differs between the sides, and is none where nothing does; two with no more
//! than three lines between them become one.

use crate::diff::histogram;
use gix::diff::blob::{InternedInput, Interner, Token, sources::byte_lines};
use std::ops::Range;

/// Unchanged lines between two conflicts that are not shown as such.
const JOINED_OVER: i64 = 3;

/// What is done about a conflict.
#[derive(Debug, Clone, Copy)]
pub enum OnConflict<'a> {
    /// Both sides are shown between markers of that length, which name them.
    Mark {
        /// Characters of a marker.
        length: usize,
        /// Names of ours and theirs.
        names: [&'a [u8]; 2],
    },
    /// The lines of both sides are kept, and nothing is called a conflict (`merge=union`).
    Union,
}

/// The merged text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Its lines, conflicts between markers.
    pub text: Vec<u8>,
    /// No conflict was left in it.
    pub clean: bool,
}

/// The side that decides every conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// What both come from.
    Base,
    /// Ours.
    Ours,
    /// Theirs.
    Theirs,
}

/// A text without conflicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Its lines.
    pub text: Vec<u8>,
    /// Conflicts that were decided.
    pub conflicts: usize,
}

/// Lines of the base that became lines of one side. Numbers are signed as Git's are: a range that is carried over from the
/// other side may begin before the text, until it is joined with the one before it.
struct Change {
    base: Range<i64>,
    side: Range<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Conflict,
    Ours,
    Theirs,
    /// Both sides say the same.
    Same,
}

/// A place of the merged text that is not the base's: lines of ours, and the lines of theirs that stand for them.
struct Region {
    mode: Mode,
    /// What both come from; of a conflict that was narrowed, of all that it was cut out of.
    base: Range<i64>,
    ours: Range<i64>,
    theirs: Range<i64>,
}

/// The lines of one version.
struct Version<'a> {
    tokens: Vec<Token>,
    lines: Vec<&'a [u8]>,
}

/// Merges `ours` and `theirs` over `base`.
#[must_use]
pub fn merge(base: &[u8], ours: &[u8], theirs: &[u8], on_conflict: OnConflict<'_>) -> Merged {
    let mut input = InternedInput { before: Vec::new(), after: Vec::new(), interner: Interner::new(0) };
    let [base, ours, theirs] = [base, ours, theirs].map(|text| Version::of(text, &mut input));
    let one = changes(&base.tokens, &ours.tokens, &mut input);
    let two = changes(&base.tokens, &theirs.tokens, &mut input);
    let regions = match (one.is_empty(), two.is_empty()) {
        (true, _) => return Merged { text: theirs.lines.concat(), clean: true },
        (_, true) => return Merged { text: ours.lines.concat(), clean: true },
        _ => joined(refined(regions(&base, [&ours, &theirs], &one, &two), &ours, &theirs, &mut input)),
    };
    let clean = matches!(on_conflict, OnConflict::Union) || regions.iter().all(|region| region.mode != Mode::Conflict);
    Merged { text: printed(&base, &ours, &theirs, &regions, on_conflict), clean }
}

/// Merges like [`merge`], and lets one side decide wherever that would leave a conflict. Conflicts that the base decides are
/// those of Git's three-part style, which are not narrowed to what differs between the sides.
#[must_use]
pub fn decide(base: &[u8], ours: &[u8], theirs: &[u8], take: Take) -> Decided {
    let mut input = InternedInput { before: Vec::new(), after: Vec::new(), interner: Interner::new(0) };
    let [base, ours, theirs] = [base, ours, theirs].map(|text| Version::of(text, &mut input));
    let one = changes(&base.tokens, &ours.tokens, &mut input);
    let two = changes(&base.tokens, &theirs.tokens, &mut input);
    let mut regions = regions(&base, [&ours, &theirs], &one, &two);
    if take != Take::Base {
        regions = joined(refined(regions, &ours, &theirs, &mut input));
    }
    let (mut text, mut done, mut conflicts) = (Vec::new(), 0, 0);
    for region in regions.iter().filter(|region| region.mode != Mode::Same) {
        append_lines(&mut text, ours.lines(done..region.ours.start), None);
        done = region.ours.end;
        conflicts += usize::from(region.mode == Mode::Conflict);
        let lines = match (region.mode, take) {
            (Mode::Conflict, Take::Base) => base.lines(region.base.clone()),
            (Mode::Theirs, _) | (Mode::Conflict, Take::Theirs) => theirs.lines(region.theirs.clone()),
            (Mode::Ours | Mode::Same, _) | (Mode::Conflict, Take::Ours) => ours.lines(region.ours.clone()),
        };
        append_lines(&mut text, lines, None);
    }
    append_lines(&mut text, ours.lines(done..ours.len()), None);
    Decided { text, conflicts }
}

impl<'a> Version<'a> {
    fn of(text: &'a [u8], input: &mut InternedInput<&'a [u8]>) -> Self {
        let lines: Vec<&[u8]> = byte_lines(text).collect();
        let tokens = lines.iter().map(|line| input.interner.intern(*line)).collect();
        Self { tokens, lines }
    }

    fn len(&self) -> i64 {
        signed(self.tokens.len())
    }

    fn lines(&self, range: Range<i64>) -> &[&'a [u8]] {
        &self.lines[unsigned(&range)]
    }

    /// Whether line `at` ends in CR LF; of a last line without an end the line before it tells. Nothing where no line does.
    fn is_crlf(&self, at: i64) -> Option<bool> {
        let at = usize::try_from(at).unwrap_or_default();
        let ended = |line: &[u8]| line.ends_with(b"\r\n");
        match self.lines.get(at) {
            None => None,
            Some(line) if at + 1 < self.lines.len() || line.ends_with(b"\n") => Some(ended(line)),
            Some(_) => at.checked_sub(1).map(|before| ended(self.lines[before])),
        }
    }
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A range that lies inside of a text.
fn unsigned(range: &Range<i64>) -> Range<usize> {
    let end = |at: i64| usize::try_from(at).unwrap_or_default();
    end(range.start)..end(range.end).max(end(range.start))
}

/// What differs, each change as low as it can slide.
fn changes(old: &[Token], new: &[Token], input: &mut InternedInput<&[u8]>) -> Vec<Change> {
    (input.before, input.after) = (old.to_vec(), new.to_vec());
    let mut diff = histogram::compare(old, new, input.interner.num_tokens());
    diff.postprocess_no_heuristic(input);
    let wide = |range: Range<u32>| i64::from(range.start)..i64::from(range.end);
    diff.hunks().map(|hunk| Change { base: wide(hunk.before), side: wide(hunk.after) }).collect()
}

/// The changes of both sides in one order, those that touch joined.
fn regions(base: &Version<'_>, sides: [&Version<'_>; 2], mut one: &[Change], mut two: &[Change]) -> Vec<Region> {
    let mut all = Vec::new();
    // where a line of the base stands in a side, seen from the change of that side that follows
    let there = |line: i64, next: Option<&Change>, side: &Version<'_>| match next {
        Some(next) => next.side.start - next.base.start + line,
        None => line + side.len() - base.len(),
    };
    loop {
        let (first, second) = (one.first(), two.first());
        match (first, second) {
            (None, None) => return all,
            (Some(ours), _) if second.is_none_or(|theirs| ours.base.end < theirs.base.start) => {
                let start = there(ours.base.start, second, sides[1]);
                let theirs = start..start + ours.base.end - ours.base.start;
                append(&mut all, Region { mode: Mode::Ours, base: ours.base.clone(), ours: ours.side.clone(), theirs });
                one = &one[1..];
            }
            (_, Some(theirs)) if first.is_none_or(|ours| theirs.base.end < ours.base.start) => {
                let start = there(theirs.base.start, first, sides[0]);
                let ours = start..start + theirs.base.end - theirs.base.start;
                append(
                    &mut all,
                    Region { mode: Mode::Theirs, base: theirs.base.clone(), ours, theirs: theirs.side.clone() },
                );
                two = &two[1..];
            }
            (Some(ours), Some(theirs)) => {
                let same = ours.base == theirs.base
                    && sides[0].tokens[unsigned(&ours.side)] == sides[1].tokens[unsigned(&theirs.side)];
                if !same {
                    append(&mut all, conflict(ours, theirs));
                }
                let (end, other) = (ours.base.end, theirs.base.end);
                if end >= other {
                    two = &two[1..];
                }
                if other >= end {
                    one = &one[1..];
                }
            }
            // one of the two above took it
            (Some(_), None) | (None, Some(_)) => return all,
        }
    }
}

/// Two changes that touch, each with what the other one covers more.
fn conflict(ours: &Change, theirs: &Change) -> Region {
    let (start, end) = (ours.base.start - theirs.base.start, ours.base.end - theirs.base.end);
    Region {
        mode: Mode::Conflict,
        base: ours.base.start.min(theirs.base.start)..ours.base.end.max(theirs.base.end),
        ours: ours.side.start - start.max(0)..ours.side.end - end.min(0),
        theirs: theirs.side.start + start.min(0)..theirs.side.end + end.max(0),
    }
}

fn append(all: &mut Vec<Region>, region: Region) {
    match all.last_mut() {
        Some(last) if region.ours.start <= last.ours.end || region.theirs.start <= last.theirs.end => {
            if last.mode != region.mode {
                last.mode = Mode::Conflict;
            }
            last.base.end = region.base.end;
            (last.ours.end, last.theirs.end) = (region.ours.end, region.theirs.end);
        }
        _ => all.push(region),
    }
}

/// Conflicts narrowed to what differs between the sides.
fn refined(
    regions: Vec<Region>,
    ours: &Version<'_>,
    theirs: &Version<'_>,
    input: &mut InternedInput<&[u8]>,
) -> Vec<Region> {
    let mut all = Vec::with_capacity(regions.len());
    for region in regions {
        if region.mode != Mode::Conflict || region.ours.is_empty() || region.theirs.is_empty() {
            all.push(region);
            continue;
        }
        let sides = [&ours.tokens[unsigned(&region.ours)], &theirs.tokens[unsigned(&region.theirs)]];
        let differing = changes(sides[0], sides[1], input);
        if differing.is_empty() {
            all.push(Region { mode: Mode::Same, ..region });
            continue;
        }
        let moved = |range: &Range<i64>, by: i64| range.start + by..range.end + by;
        all.extend(differing.iter().map(|change| Region {
            mode: Mode::Conflict,
            base: region.base.clone(),
            ours: moved(&change.base, region.ours.start),
            theirs: moved(&change.side, region.theirs.start),
        }));
    }
    all
}

/// Conflicts that are close to each other made one.
fn joined(regions: Vec<Region>) -> Vec<Region> {
    let mut all: Vec<Region> = Vec::with_capacity(regions.len());
    for region in regions {
        match all.last_mut() {
            Some(last)
                if last.mode == Mode::Conflict
                    && region.mode == Mode::Conflict
                    && region.ours.start - last.ours.end <= JOINED_OVER =>
            {
                (last.ours.end, last.theirs.end) = (region.ours.end, region.theirs.end);
            }
            _ => all.push(region),
        }
    }
    all
}

fn printed(
    base: &Version<'_>,
    ours: &Version<'_>,
    theirs: &Version<'_>,
    regions: &[Region],
    on_conflict: OnConflict<'_>,
) -> Vec<u8> {
    let mut out = Vec::new();
    let mut done = 0;
    for region in regions.iter().filter(|region| region.mode != Mode::Same) {
        append_lines(&mut out, ours.lines(done..region.ours.start), None);
        done = region.ours.end;
        let [left, right] = [ours.lines(region.ours.clone()), theirs.lines(region.theirs.clone())];
        let end = line_end(base, ours, theirs, region);
        match (region.mode, on_conflict) {
            (Mode::Ours | Mode::Same, _) => append_lines(&mut out, left, None),
            (Mode::Theirs, _) => append_lines(&mut out, right, None),
            (Mode::Conflict, OnConflict::Union) => {
                append_lines(&mut out, left, Some(end));
                append_lines(&mut out, right, None);
            }
            (Mode::Conflict, OnConflict::Mark { length, names }) => {
                let mark = |out: &mut Vec<u8>, sign: u8, name: Option<&[u8]>| {
                    out.resize(out.len() + length, sign);
                    if let Some(name) = name {
                        out.push(b' ');
                        out.extend_from_slice(name);
                    }
                    out.extend_from_slice(end);
                };
                mark(&mut out, b'<', Some(names[0]));
                append_lines(&mut out, left, Some(end));
                mark(&mut out, b'=', None);
                append_lines(&mut out, right, Some(end));
                mark(&mut out, b'>', Some(names[1]));
            }
        }
    }
    append_lines(&mut out, ours.lines(done..ours.len()), None);
    out
}

/// Appends lines, the last of them with an end where it has none and one is wanted.
fn append_lines(out: &mut Vec<u8>, lines: &[&[u8]], end: Option<&[u8]>) {
    lines.iter().for_each(|line| out.extend_from_slice(line));
    if let (Some(last), Some(end)) = (lines.last(), end)
        && !last.ends_with(b"\n")
    {
        out.extend_from_slice(end);
    }
}

/// The end of lines that Git itself adds: CR LF where the base begins with it and neither side has another before the
/// conflict.
fn line_end(base: &Version<'_>, ours: &Version<'_>, theirs: &Version<'_>, region: &Region) -> &'static [u8] {
    let before = |start: i64| (start - 1).max(0);
    let sides = [ours.is_crlf(before(region.ours.start)), theirs.is_crlf(before(region.theirs.start))];
    if base.is_crlf(0) == Some(true) && !sides.contains(&Some(false)) { b"\r\n" } else { b"\n" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARK: OnConflict<'_> = OnConflict::Mark { length: 7, names: [b"o", b"t"] };

    fn merged(base: &str, ours: &str, theirs: &str) -> (String, bool) {
        let Merged { text, clean } = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), MARK);
        (String::from_utf8(text).expect("it was text"), clean)
    }

    #[test]
    fn one_side_decides_conflicts_and_nothing_else() {
        let (base, ours, theirs) = ("a\nb\nc\nd\ne\nf\n", "A\nb\nc\nd\ne1\nf\n", "a\nb\nc\nd\ne2\nF\n");
        let decided = |take| {
            let Decided { text, conflicts } = decide(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), take);
            (String::from_utf8(text).expect("it was text"), conflicts)
        };
        assert_eq!(decided(Take::Ours), ("A\nb\nc\nd\ne1\nf\n".into(), 1));
        assert_eq!(decided(Take::Theirs), ("A\nb\nc\nd\ne2\nF\n".into(), 1));
        assert_eq!(decided(Take::Base), ("A\nb\nc\nd\ne\nf\n".into(), 1));
        let none = decide(b"a\nb\nc\nd\n", b"A\nb\nc\nd\n", b"a\nb\nc\nD\n", Take::Base);
        assert_eq!(none, Decided { text: b"A\nb\nc\nD\n".to_vec(), conflicts: 0 });
    }

    #[test]
    fn lines_that_were_added_slide_down_to_a_changed_one_whatever_is_indented() {
        let base = "call(a)\n    x\n    z\n";
        let ours = "call(a)\n    x\ncall(a)\n    x\n    z\n";
        let (text, clean) = merged(base, ours, "call(a)\n    x\n    y\n");
        assert!(!clean, "the added lines touch the changed one: {text}");
    }

    #[test]
    fn what_both_sides_say_is_no_conflict() {
        assert_eq!(merged("a\nb\nc\n", "a\nB\nc\n", "a\nB\nc\n"), ("a\nB\nc\n".into(), true));
        assert!(merged("a\nb\nc\nd\ne\n", "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n").1);
        assert!(!merged("a\nb\n", "A\nb\n", "a\nB\n").1, "they touch");
    }

    #[test]
    fn a_conflict_is_narrowed_and_near_ones_are_one() {
        let (text, clean) = merged("1\n2\n3\n", "x\na\ny\n", "x\nb\ny\n");
        assert_eq!((text.as_str(), clean), ("x\n<<<<<<< o\na\n=======\nb\n>>>>>>> t\ny\n", false));
        let (text, _) = merged("1\n2\n3\n", "a\nx\ny\nz\nb\n", "c\nx\ny\nz\nd\n");
        assert_eq!(text.matches("<<<<<<<").count(), 1, "{text}");
    }
}
