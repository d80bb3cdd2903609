//! Rows by the innermost definition that they are in, and what each such hunk is: an edit, blanks, another order, a move.
//! Trust: rows, definitions and tokens are those of a hostile text; all lists here are as long as the list of rows.

use super::{moved::Moves, pairs::Lines, parse::Parsed, rows::Row, tokens::Token};
use bulkhead_contract::results::{HunkChange, Region};
use std::ops::Range;

/// Rows apart that still belong together outside of any definition.
const NEAR: u32 = 3;

/// Both sides.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'h, 's> {
    /// The old one.
    pub old: Lines<'h, 's>,
    /// The new one.
    pub new: Lines<'h, 's>,
    /// Definitions of the old one.
    pub old_parsed: &'h Parsed,
    /// Definitions of the new one.
    pub new_parsed: &'h Parsed,
    /// What differs.
    pub regions: &'h [Region],
}

/// A hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Which rows.
    pub rows: Range<usize>,
    /// The definition that it is named by, as a number on the new side, or else on the old one; `None` outside of any.
    pub owner: Owner,
    /// What it is.
    pub change: Option<HunkChange>,
    /// First rows of the definition before and after a move.
    pub moved: Option<(u32, u32)>,
    /// The definition on the old side of a move.
    pub came_from: Option<u32>,
}

/// Who owns a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A definition of the old side, or none there.
    Old(Option<u32>),
    /// One of the new side, or none there.
    New(Option<u32>),
}

impl Sides<'_, '_> {
    fn old_owner(&self, row: u32) -> Option<u32> {
        self.old_parsed.owners.get(self.old.changed.number(row)?).copied().flatten()
    }

    fn new_owner(&self, row: u32) -> Option<u32> {
        self.new_parsed.owners.get(self.new.changed.number(row)?).copied().flatten()
    }

    /// Headers of a definition and of those around it, innermost first.
    pub fn path(&self, owner: Owner) -> Vec<&str> {
        let (parsed, mut at) = match owner {
            Owner::Old(at) => (self.old_parsed, at),
            Owner::New(at) => (self.new_parsed, at),
        };
        let mut path = Vec::new();
        while let Some(found) = at.and_then(|at| parsed.definitions.get(at as usize)) {
            path.push(&found.header[..]);
            at = found.parent;
        }
        path
    }

    fn same_path(&self, old: Option<u32>, new: Option<u32>) -> bool {
        match (old, new) {
            (None, None) => true,
            (Some(_), Some(_)) => self.path(Owner::Old(old)) == self.path(Owner::New(new)),
            _ => false,
        }
    }

    /// All hunks of `rows`.
    #[must_use]
    pub fn hunks(&self, rows: &[Row], moves: &Moves) -> Vec<Hunk> {
        let mut hunks: Vec<Hunk> = Vec::new();
        let mut open: Option<Open> = None;
        for (at, row) in rows.iter().enumerate() {
            let old = row.old.map(|row| self.old_owner(row));
            let new = row.new.map(|row| self.new_owner(row));
            match open.as_mut().filter(|open| self.joins(open, row, old, new)) {
                Some(open) => {
                    open.old = open.old.or(old);
                    open.new = open.new.or(new);
                    open.last = *row;
                    open.rows.end = at + 1;
                }
                None => {
                    hunks.extend(open.take().map(|open| self.close(&open, rows, moves)));
                    open = Some(Open { rows: at..at + 1, old, new, last: *row });
                }
            }
        }
        hunks.extend(open.map(|open| self.close(&open, rows, moves)));
        hunks
    }

    fn joins(&self, open: &Open, row: &Row, old: Option<Option<u32>>, new: Option<Option<u32>>) -> bool {
        if open.last.moved != row.moved {
            return false;
        }
        let same = match (open.old, open.new, old, new) {
            (_, Some(here), _, Some(owner)) => here == owner,
            (Some(here), _, Some(owner), None) => here == owner,
            (None, Some(here), Some(owner), None) => self.same_path(owner, here),
            (Some(here), None, _, Some(owner)) => self.same_path(here, owner),
            _ => false,
        };
        let owned = new.or(old).flatten().is_some();
        same && (owned || self.near(open.last.region, row.region))
    }

    fn close(&self, open: &Open, rows: &[Row], moves: &Moves) -> Hunk {
        let owner = match open.new {
            Some(new) => Owner::New(new),
            None => Owner::Old(open.old.flatten()),
        };
        let mut hunk = Hunk { rows: open.rows.clone(), owner, change: None, moved: None, came_from: None };
        let inside = &rows[open.rows.clone()];
        if let Some((old, new)) = inside[0].moved.and_then(|number| moves.pairs.get(number as usize)) {
            let (old, new) = self.counterparts((*old, *new), owner);
            hunk.change = Some(HunkChange::Moved);
            hunk.came_from = Some(old);
            hunk.moved = Some((
                self.old_parsed.definitions[old as usize].rows.0,
                self.new_parsed.definitions[new as usize].rows.0,
            ));
        } else if self.only_blanks(inside) {
            hunk.change = Some(HunkChange::Whitespace);
        } else if self.only_reordered(inside) {
            hunk.change = Some(HunkChange::Reordered);
        }
        hunk
    }

    /// Of a definition within one that moved, the same one on the other side: both hold the same definitions.
    fn counterparts(&self, (old, new): (u32, u32), owner: Owner) -> (u32, u32) {
        let inner = match owner {
            Owner::Old(Some(at)) => (at, new + at.saturating_sub(old)),
            Owner::New(Some(at)) => (old + at.saturating_sub(new), at),
            _ => return (old, new),
        };
        let headers = (
            self.old_parsed.definitions.get(inner.0 as usize).map(|found| &found.header),
            self.new_parsed.definitions.get(inner.1 as usize).map(|found| &found.header),
        );
        match headers {
            (Some(a), Some(b)) if a == b => inner,
            _ => (old, new),
        }
    }

    /// Whether both sides of each region have the same tokens, nested as deeply: where nesting is by indentation, that is
    /// no matter of taste.
    fn only_blanks(&self, rows: &[Row]) -> bool {
        rows.chunk_by(|a, b| a.region == b.region).all(|rows| {
            let old = rows.iter().filter_map(|row| self.old.line(row.old?)).flatten();
            let new = rows.iter().filter_map(|row| self.new.line(row.new?)).flatten();
            old.map(|token| token.nested(self.old.text)).eq(new.map(|token| token.nested(self.new.text)))
        })
    }

    /// Whether both sides have the same lines, blanks and the comma that parts items of a list aside.
    fn only_reordered(&self, rows: &[Row]) -> bool {
        let line = |tokens: &[Token], text| {
            let line: Vec<_> = tokens.iter().map(|token| token.nested(text)).collect();
            let without = line.strip_suffix(&[(line.last().map_or(0, |last| last.0), &b","[..])]);
            without.map(<[_]>::to_vec).unwrap_or(line)
        };
        let old = rows.iter().filter_map(|row| self.old.line(row.old?)).map(|tokens| line(tokens, self.old.text));
        let new = rows.iter().filter_map(|row| self.new.line(row.new?)).map(|tokens| line(tokens, self.new.text));
        let (mut old, mut new) = (old.collect::<Vec<_>>(), new.collect::<Vec<_>>());
        old.sort_unstable();
        new.sort_unstable();
        let blank = |line: &&Vec<_>| !line.is_empty();
        old.iter().filter(blank).eq(new.iter().filter(blank))
    }

    /// Whether two regions are one, or only a few lines apart.
    fn near(&self, last: u32, next: u32) -> bool {
        let region = |number: u32| self.regions.get(number as usize);
        match (region(last), region(next)) {
            _ if last == next => true,
            (Some(before), Some(after)) if next == last + 1 => {
                after.old_start.saturating_sub(before.old_start + before.old_len) <= NEAR
            }
            _ => false,
        }
    }
}

/// A hunk that rows are added to.
struct Open {
    rows: Range<usize>,
    old: Option<Option<u32>>,
    new: Option<Option<u32>>,
    last: Row,
}
