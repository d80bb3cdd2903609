//! The combined text of an unmerged path (`diff --cc`): the file on disk against both sides of the merge at once.
//! Trust: contents are the repository's, of bounded size; lines that both sides lost are matched within a bound.

use super::{
    attributes::DiffRule,
    contents::{self, MAX_READ},
    lines::{Lines, Rules, is_space, too_many},
    patch::{Patch, Printer},
    quote,
};
use crate::{
    changes::Side,
    pace::{Pace, Stopped},
};
use bulkhead_contract::results::Omission;
use gix::index::entry::Mode;
use std::io::Write as _;

/// Pairs of lost lines that are compared at one place at most; beyond that none are taken for the same.
const MAX_CELLS: usize = 4_000_000;
/// Bytes of the line in a head that are looked at.
const MAX_HEADING: usize = 40;
/// Bits of both sides.
const BOTH: u8 = 3;
/// This line is shown.
const SHOWN: u8 = 4;
/// What was lost before this line is not shown.
const NOTHING_LOST: u8 = 8;

/// An unmerged path of which both sides of the merge have a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmerged {
    /// Stages 2 and 3.
    pub sides: [Side; 2],
    /// Mode of the file on disk; `None` where nothing is there.
    pub mode: Option<Mode>,
}

/// A line that is not in the result, with a bit for each side that had it.
struct Lost<'a> {
    line: &'a [u8],
    of: u8,
}

/// A line of the result, or the place after the last.
#[derive(Default)]
struct Row<'a> {
    line: Option<&'a [u8]>,
    lost: Vec<Lost<'a>>,
    /// Bits 0 and 1: that side lacks this line.
    flags: u8,
    /// Line numbers on both sides.
    at: [usize; 2],
}

impl Printer<'_> {
    /// The combined text of `unmerged`.
    pub fn combined(&mut self, unmerged: &Unmerged) -> Patch {
        let path = &unmerged.sides[0].path;
        match self.combined_text(path, unmerged) {
            Ok(patch) => patch,
            Err(omitted) => Patch { omitted: Some(omitted), ..Patch::default() },
        }
    }

    fn combined_text(&mut self, path: &[u8], unmerged: &Unmerged) -> Result<Patch, Omission> {
        let mut result = match unmerged.mode {
            Some(Mode::COMMIT) => {
                let nested = crate::submodules::checked_out(self.repo, path);
                let head = nested.and_then(|nested| nested.refs.head().ok()).and_then(|head| head.id);
                head.map_or(Ok(Vec::new()), |head| Ok(contents::gitlink(&head, false)))
            }
            Some(mode) => self.disk.contents(path, mode, MAX_READ),
            None => Ok(Vec::new()),
        }?;
        let mut long = contents::shortened(&mut result);
        let mut sides = [Vec::new(), Vec::new()];
        for (bytes, side) in sides.iter_mut().zip(&unmerged.sides) {
            *bytes = match side.mode {
                Mode::COMMIT => contents::gitlink(&side.id, false),
                _ => contents::blob(self.repo, &side.id, MAX_READ)?,
            };
            long |= contents::shortened(bytes);
        }
        let binary = match self.disk.rule(path).diff {
            DiffRule::Binary => true,
            DiffRule::Text => false,
            _ => sides.iter().chain([&result]).any(|bytes| contents::is_binary(bytes)),
        };
        let mut patch = Patch { binary, ..Patch::default() };
        self.combined_head(&mut patch.text, unmerged, path, !binary);
        if binary {
            patch.text.extend_from_slice(b"Binary files differ\n");
            return Ok(patch);
        }
        if long || sides.iter().chain([&result]).any(|bytes| too_many(bytes)) {
            return Err(Omission::TooLarge);
        }
        if unmerged.mode.is_some() {
            let same = unmerged.sides[0].id == unmerged.sides[1].id;
            let context = self.style.rules.context as usize;
            let rules = Rules { context: 0, ..self.style.rules };
            let mut rows = rows(&result, &sides, same, rules, self.pace).map_err(|_| Omission::TooLarge)?;
            if choose(&mut rows, context) {
                print(&mut patch, &rows, context);
            }
        }
        Ok(patch)
    }

    fn combined_head(&self, out: &mut Vec<u8>, unmerged: &Unmerged, path: &[u8], names: bool) {
        let [ours, theirs] = &unmerged.sides;
        out.extend_from_slice(b"diff --cc ");
        quote::append(out, b"", path, self.style.quote);
        let null = self.repo.git.object_hash().null();
        let _ = writeln!(out, "\nindex {},{}..{}", self.short(&ours.id), self.short(&theirs.id), self.short(&null));
        let modes = [ours.mode.bits(), theirs.mode.bits()];
        let result = unmerged.mode.map(|mode| mode.bits());
        if modes.iter().any(|mode| Some(*mode) != result) {
            let [a, b] = modes;
            let _ = match result {
                None => writeln!(out, "deleted file mode {a:06o},{b:06o}"),
                Some(result) => writeln!(out, "mode {a:06o},{b:06o}..{result:06o}"),
            };
        }
        if names {
            out.extend_from_slice(b"--- ");
            quote::append(out, b"a/", path, self.style.quote);
            out.extend_from_slice(b"\n+++ ");
            match result {
                Some(_) => quote::append(out, b"b/", path, self.style.quote),
                None => out.extend_from_slice(b"/dev/null"),
            }
            out.push(b'\n');
        }
    }
}

/// The result line by line, with what each side lacks of it and what it lacks of each side.
fn rows<'a>(
    result: &'a [u8],
    sides: &'a [Vec<u8>; 2],
    same: bool,
    rules: Rules,
    pace: &Pace,
) -> Result<Vec<Row<'a>>, Stopped> {
    let whole = |line: &'a [u8]| line.strip_suffix(b"\n").unwrap_or(line);
    let lines = result.split_inclusive(|&byte| byte == b'\n').map(whole);
    let mut rows: Vec<Row<'a>> = lines.map(|line| Row { line: Some(line), ..Row::default() }).collect();
    rows.push(Row::default());
    for (side, bytes) in sides.iter().enumerate() {
        let mask = 1u8 << side;
        if side > 0 && same {
            for row in &mut rows {
                row.at[side] = row.at[0];
                row.flags |= (row.flags & 1) << side;
                row.lost.iter_mut().for_each(|lost| lost.of |= (lost.of & 1) << side);
            }
            continue;
        }
        let compared = Lines::compare(bytes, result, rules, pace)?;
        let mut lost_at: Vec<(usize, Vec<Lost<'a>>)> = Vec::new();
        for change in compared.diff.hunks() {
            let gone = &compared.before[change.before.start as usize..change.before.end as usize];
            if !gone.is_empty() {
                let lost = gone.iter().map(|line| Lost { line: whole(line), of: mask }).collect();
                lost_at.push((change.after.start as usize, lost));
            }
            rows[change.after.start as usize..change.after.end as usize].iter_mut().for_each(|row| row.flags |= mask);
        }
        for (at, lost) in lost_at {
            let row = &mut rows[at];
            // a table of millions of cells may stand at every place
            pace.step((row.lost.len() * lost.len()).min(MAX_CELLS) as u64)?;
            row.lost = merged(std::mem::take(&mut row.lost), lost, rules.ignore_whitespace);
        }
        let mut number = 1;
        for row in &mut rows {
            row.at[side] = number;
            number += row.lost.iter().filter(|lost| lost.of & mask != 0).count();
            number += usize::from(row.line.is_some() && row.flags & mask == 0);
        }
    }
    Ok(rows)
}

/// Two lists of lost lines as one: a longest common part of both is kept once.
fn merged<'a>(base: Vec<Lost<'a>>, new: Vec<Lost<'a>>, squeeze: bool) -> Vec<Lost<'a>> {
    if base.is_empty() {
        return new;
    }
    let width = new.len() + 1;
    if (base.len() + 1).saturating_mul(width) > MAX_CELLS {
        return base.into_iter().chain(new).collect();
    }
    let equal = |a: &[u8], b: &[u8]| {
        let counted = |line: &[u8]| line.iter().copied().filter(|&byte| !is_space(byte)).collect::<Vec<_>>();
        a == b || (squeeze && counted(a) == counted(b))
    };
    let mut longest = vec![0u32; (base.len() + 1) * width];
    for (i, old) in base.iter().enumerate() {
        for (j, line) in new.iter().enumerate() {
            let at = (i + 1) * width + j + 1;
            longest[at] = if equal(old.line, line.line) {
                longest[at - width - 1] + 1
            } else {
                longest[at - 1].max(longest[at - width])
            };
        }
    }
    let (mut i, mut j) = (base.len(), new.len());
    let (mut base, mut new) = (base, new);
    let mut back = Vec::with_capacity(i + j);
    while let (Some(old), Some(line)) = (base.last(), new.last()) {
        let at = i * width + j;
        if equal(old.line, line.line) {
            let (old, line) = (base.pop(), new.pop());
            back.extend(old.map(|old| Lost { of: old.of | line.map_or(0, |line| line.of), ..old }));
            (i, j) = (i - 1, j - 1);
        } else if longest[at - 1] >= longest[at - width] {
            back.extend(new.pop());
            j -= 1;
        } else {
            back.extend(base.pop());
            i -= 1;
        }
    }
    back.extend(new.into_iter().rev());
    back.extend(base.into_iter().rev());
    back.reverse();
    back
}

/// Marks the rows that are shown: hunks that differ from both sides, and the lines around them. False where none are.
fn choose(rows: &mut [Row<'_>], context: usize) -> bool {
    let end = rows.len();
    for row in rows.iter_mut() {
        if row.flags & BOTH != 0 || !row.lost.is_empty() {
            row.flags |= SHOWN;
        }
    }
    let mut at = 0;
    while let Some(begin) = next(rows, at, true) {
        let mut j = begin + 1;
        while j < end {
            if rows[j].flags & SHOWN == 0 {
                let ahead = (tail(rows, begin, j) + context).min(end);
                match (j..ahead).rev().find(|&la| rows[la].flags & SHOWN != 0) {
                    Some(la) => j = la,
                    None => break,
                }
            }
            j += 1;
        }
        if !differs_from_both(&rows[begin..j]) {
            rows[begin..j].iter_mut().for_each(|row| row.flags &= !SHOWN);
        }
        at = j;
    }
    around(rows, context)
}

/// Whether more than two versions meet in `hunk`, or the result is neither side's.
fn differs_from_both(hunk: &[Row<'_>]) -> bool {
    let mut seen = 0;
    for row in hunk {
        let these = std::iter::once(row.flags & BOTH).filter(|&of| of != 0).chain(row.lost.iter().map(|lost| lost.of));
        for of in these {
            if seen != 0 && seen != of {
                return true;
            }
            seen = of;
        }
    }
    seen == BOTH
}

fn next(rows: &[Row<'_>], from: usize, shown: bool) -> Option<usize> {
    (from..rows.len()).find(|&at| (rows[at].flags & SHOWN != 0) == shown)
}

/// A last line that is there only for what was lost before it counts as one of the lines around.
fn tail(rows: &[Row<'_>], begin: usize, at: usize) -> usize {
    if begin < at && rows[at - 1].flags & BOTH == 0 { at - 1 } else { at }
}

fn around(rows: &mut [Row<'_>], context: usize) -> bool {
    let end = rows.len();
    let Some(mut i) = next(rows, 0, true) else { return false };
    while i < end {
        for row in &mut rows[i.saturating_sub(context)..i] {
            if row.flags & SHOWN == 0 {
                row.flags |= NOTHING_LOST;
            }
            row.flags |= SHOWN;
        }
        loop {
            let Some(j) = next(rows, i, false) else { return true };
            let k = next(rows, j, true).unwrap_or(end);
            let j = tail(rows, i, j);
            let near = k < j + context;
            let to = if near { k } else { (j + context).min(end) };
            rows[j.min(to)..to].iter_mut().for_each(|row| row.flags |= SHOWN);
            i = k;
            if !near {
                break;
            }
            if i >= end {
                return true;
            }
        }
    }
    true
}

fn print(patch: &mut Patch, rows: &[Row<'_>], context: usize) {
    let (mut at, count) = (0, rows.len() - 1);
    loop {
        let mut heading = None;
        while at <= count && rows[at].flags & SHOWN == 0 {
            heading = rows[at].line.filter(|line| starts_name(line)).or(heading);
            at += 1;
        }
        if at > count {
            return;
        }
        let end = next(rows, at, false).unwrap_or(rows.len());
        let mut lines = end - at - usize::from(end > count);
        let mut hidden = 0;
        if context == 0 {
            hidden = rows[at..end].iter().filter(|row| row.flags & BOTH == 0).count();
            lines = lines.saturating_sub(hidden);
        }
        patch.hunks.push(patch.text.len());
        let out = &mut patch.text;
        out.extend_from_slice(b"@@@");
        for side in 0..2 {
            let (from, to) = (rows[at].at[side], number_at(rows, end, side));
            let _ = write!(out, " -{from},{}", (to - from).saturating_sub(hidden));
        }
        let _ = write!(out, " +{},{lines} @@@", at + 1);
        if let Some(heading) = heading.map(heading_text).filter(|text| !text.is_empty()) {
            out.push(b' ');
            out.extend_from_slice(heading);
        }
        out.push(b'\n');
        for row in &rows[at..end] {
            let lost = if row.flags & NOTHING_LOST != 0 { &[][..] } else { &row.lost };
            for lost in lost {
                signed(out, lost.of, b'-', lost.line);
            }
            if let Some(line) = row.line.filter(|_| context > 0 || row.flags & BOTH != 0) {
                signed(out, row.flags, b'+', line);
            }
        }
        at = end;
    }
}

/// The line number on `side` where the row at `at` is; after the last row, that behind everything.
fn number_at(rows: &[Row<'_>], at: usize, side: usize) -> usize {
    let mask = 1u8 << side;
    match (rows.get(at), rows.last()) {
        (Some(row), _) => row.at[side],
        (None, Some(last)) => last.at[side] + last.lost.iter().filter(|lost| lost.of & mask != 0).count(),
        (None, None) => 1,
    }
}

fn signed(out: &mut Vec<u8>, of: u8, sign: u8, line: &[u8]) {
    out.extend([1, 2].map(|mask| if of & mask != 0 { sign } else { b' ' }));
    out.extend_from_slice(line);
    out.push(b'\n');
}

fn starts_name(line: &[u8]) -> bool {
    line.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_' || *first == b'$')
}

/// What Git shows of the line: all before its last character that is no white space.
fn heading_text(line: &[u8]) -> &[u8] {
    let seen = &line[..line.len().min(MAX_HEADING)];
    &seen[..seen.iter().rposition(|&byte| !is_space(byte)).unwrap_or(0)]
}
