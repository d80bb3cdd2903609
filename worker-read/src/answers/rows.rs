//! Status rows in Git's order: tracked paths with both columns, then untracked ones; and how many fit a page.
//! Trust: paths are the repository's bytes and are escaped where they are not UTF-8.

use super::cursor::Cursor;
use crate::{
    changes::Change,
    index::Snapshot,
    status::Sides,
    worktree::walk::{Differs, What},
};
use bulkhead_contract::{
    path::text_of,
    results::{ChangesTotals, StatusRow},
};

/// One row before it becomes text.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Index and worktree column.
    pub columns: [u8; 2],
    /// The path.
    pub path: &'a [u8],
    /// The old path of a rename.
    pub from: Option<&'a [u8]>,
    worktree: Option<What>,
}

impl Row<'_> {
    /// An unmerged pair.
    #[must_use]
    pub fn is_unmerged(&self) -> bool {
        matches!(self.worktree, Some(What::Unmerged(_)))
    }

    /// As it is answered.
    #[must_use]
    pub fn answered(&self) -> StatusRow {
        let (path, path_encoding) = text_of(self.path);
        let from = self.from.map(text_of);
        let (filtered, submodule) = match self.worktree {
            Some(What::Changed { filtered, inside, .. }) => (filtered, inside.map(crate::submodules::Inside::letters)),
            _ => (false, None),
        };
        StatusRow {
            status: self.columns.iter().map(|&byte| char::from(byte)).collect(),
            path,
            path_encoding,
            orig_path_encoding: from.as_ref().and_then(|(_, encoding)| *encoding),
            orig_path: from.map(|(path, _)| path),
            filtered,
            submodule,
        }
    }
}

/// The tracked rows of `sides` by path: three sorted lists, merged.
pub fn tracked(sides: &Sides) -> impl Iterator<Item = Row<'_>> {
    Tracked { index: &sides.index, staged: &sides.staged, differs: &sides.differs, moved: &sides.moved }
}

struct Tracked<'a> {
    index: &'a Snapshot,
    staged: &'a [Change],
    differs: &'a [Differs],
    moved: &'a [Change],
}

impl<'a> Iterator for Tracked<'a> {
    type Item = Row<'a>;

    fn next(&mut self) -> Option<Row<'a>> {
        let staged = self.staged.first().map(|change| &change.path[..]);
        let differs = self.differs.first().map(|found| self.index.path(found.at));
        let moved = self.moved.first().map(|change| &change.path[..]);
        let path = [staged, differs, moved].into_iter().flatten().min()?;
        let mut row = Row { columns: *b"  ", path, from: None, worktree: None };
        if staged == Some(path) {
            let (change, rest) = self.staged.split_first()?;
            self.staged = rest;
            row.columns[0] = change.letter.byte();
            row.from = change.from.as_deref();
        }
        if differs == Some(path) {
            let (found, rest) = self.differs.split_first()?;
            self.differs = rest;
            row.worktree = Some(found.what);
            match found.what {
                What::Changed { letter, .. } => row.columns[1] = letter.byte(),
                What::Unmerged(stages) => row.columns = unmerged(stages),
            }
        }
        if moved == Some(path) {
            let (change, rest) = self.moved.split_first()?;
            self.moved = rest;
            row.columns[1] = change.letter.byte();
            row.from = change.from.as_deref();
        }
        Some(row)
    }
}

/// The pair for the stages that an unmerged path has.
fn unmerged(stages: u8) -> [u8; 2] {
    match stages {
        1 => *b"DD",
        2 => *b"AU",
        3 => *b"UD",
        4 => *b"UA",
        5 => *b"DU",
        6 => *b"AA",
        _ => *b"UU",
    }
}

/// The untracked rows that were kept.
pub fn untracked(sides: &Sides) -> impl Iterator<Item = Row<'_>> {
    sides.untracked.kept.iter().map(|path| Row { columns: *b"??", path, from: None, worktree: None })
}

/// Sizes of all lists; a path that differs in both columns counts in both, and an unmerged one in three.
#[must_use]
pub fn totals(sides: &Sides) -> ChangesTotals {
    let mut totals = ChangesTotals { untracked: sides.untracked.total, ..ChangesTotals::default() };
    for row in tracked(sides) {
        totals.staged += u64::from(row.columns[0] != b' ');
        totals.unstaged += u64::from(row.columns[1] != b' ');
        totals.conflicted += u64::from(row.is_unmerged());
    }
    totals
}

/// Number of tracked rows.
#[must_use]
pub fn tracked_total(sides: &Sides) -> u64 {
    tracked(sides).count() as u64
}

/// The rows of one page, given one by one to `take`, which says how many characters each costs. Gives the cursor of the
/// next page, if rows follow.
pub fn page<'a>(
    sides: &'a Sides,
    limit: u32,
    chars: u32,
    cursor: Option<&Cursor>,
    mut take: impl FnMut(&Row<'a>, StatusRow) -> usize,
) -> Option<Cursor> {
    let mut last: Option<Cursor> = None;
    let (mut rows, mut spent) = (0u32, 0usize);
    let tracked = tracked(sides).filter(|row| Cursor::is_before_tracked(cursor, row.path));
    for row in tracked.chain(untracked(sides)) {
        let answered = row.answered();
        // the first row is given whatever it costs, or a page could never end
        if rows >= limit.max(1) || (rows > 0 && spent + cost(&answered) > chars as usize) {
            return last;
        }
        spent += take(&row, answered);
        rows += 1;
        let path = row.path.to_vec();
        last = Some(if row.columns == *b"??" { Cursor::Untracked(path) } else { Cursor::Tracked(path) });
    }
    None
}

/// Characters of a row's JSON with the comma after it.
#[must_use]
pub fn cost(row: &StatusRow) -> usize {
    let text = |text: &str| -> usize {
        let escape = |c: char| match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            c if c < ' ' => 6,
            _ => 1,
        };
        text.chars().map(escape).sum::<usize>() + 2
    };
    let field = |name: &str, value: usize| name.len() + 4 + value;
    let mut cost = 2 + field("status", text(&row.status)) + field("path", text(&row.path));
    cost += row.path_encoding.map_or(0, |_| field("pathEncoding", 9));
    cost += row.orig_path.as_deref().map_or(0, |path| field("origPath", text(path)));
    cost += row.orig_path_encoding.map_or(0, |_| field("origPathEncoding", 9));
    cost += if row.filtered { field("filtered", 4) } else { 0 };
    cost + row.submodule.as_deref().map_or(0, |letters| field("submodule", text(letters)))
}
