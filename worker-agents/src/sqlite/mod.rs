//! SQLite databases of other programs, read without their library: no lock is taken, nothing is written, nothing is made.
//! Trust: hostile bytes: every number is checked before it is used, every walk has an end.
//!
//! Read are tables with a rowid, in the database file and in what its write-ahead log has committed since. A file that
//! changes meanwhile is noticed by who opened it, and read again.

mod column;
mod pages;
mod record;
mod wal;

pub use pages::Bytes;
pub use record::Value;

use pages::Pages;
use record::Payload;

/// Rows of one table that are looked at.
pub const MAX_ROWS: u32 = 50_000;
/// Levels of a table's tree; SQLite itself needs far fewer.
const MAX_DEPTH: usize = 24;
/// Bytes of the statement that made a table.
const MAX_STATEMENT: usize = 64 * 1024;

/// Why a database cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Its bytes contradict each other.
    #[error("damaged")]
    Damaged,
    /// It is of a kind that is not read here: another encoding, a table without rowid, a missing table or column.
    #[error("of an unknown layout")]
    Unknown,
    /// More pages or rows than are looked at.
    #[error("too large")]
    TooLarge,
    /// The file ended, or could not be read.
    #[error("cut short")]
    Short,
}

/// A table that was found.
#[derive(Debug)]
pub struct Database<'a> {
    pages: Pages<'a>,
}

/// One row; columns are read when they are asked for.
#[derive(Debug)]
pub struct Row<'r, 'a> {
    pages: &'r Pages<'a>,
    payload: Payload,
    rowid: i64,
    columns: &'r [column::Place],
}

impl<'a> Database<'a> {
    /// Opens what is in `file` and, where there is one, in its log.
    ///
    /// # Errors
    /// It is no database, or one that is not read here.
    pub fn open(file: &'a dyn Bytes, log: Option<&'a dyn Bytes>) -> Result<Self, Fault> {
        Ok(Self { pages: Pages::open(file, log)? })
    }

    /// Goes through the rows of a table, the highest rowid first, until `each` says that it is enough. `columns` are asked
    /// for by their place in that list; the ones that `each` may do without are followed by `?`.
    ///
    /// # Errors
    /// [`Fault::Unknown`] where there is no such table or column, and what the bytes end in.
    pub fn rows(
        &self,
        table: &str,
        columns: &[&str],
        each: &mut dyn FnMut(&mut Row<'_, 'a>) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        let mut found = None;
        // type, name, table's name, root page, statement
        let schema = [0, 1, 3, 4].map(column::Place::At);
        self.walk(1, &schema, &mut |row| {
            if row.text(0, 16)?.as_deref() != Some("table") {
                return Ok(true);
            }
            let name = row.text(1, 1_024)?;
            if name.is_none_or(|name| !name.eq_ignore_ascii_case(table)) {
                return Ok(true);
            }
            let root = row.integer(2)?.and_then(|root| u32::try_from(root).ok()).ok_or(Fault::Damaged)?;
            let statement = row.text(3, MAX_STATEMENT)?.ok_or(Fault::Damaged)?;
            found = Some((root, statement));
            Ok(false)
        })?;
        let (root, statement) = found.ok_or(Fault::Unknown)?;
        let names = column::names(&statement).ok_or(Fault::Unknown)?;
        let places = columns
            .iter()
            .map(|wanted| {
                let (wanted, needed) = wanted.strip_suffix('?').map_or((*wanted, true), |wanted| (wanted, false));
                match names.iter().position(|known| known.name.eq_ignore_ascii_case(wanted)) {
                    Some(at) if names[at].is_rowid => Ok(column::Place::Rowid),
                    Some(at) => Ok(column::Place::At(at)),
                    None if needed => Err(Fault::Unknown),
                    None => Ok(column::Place::Nowhere),
                }
            })
            .collect::<Result<Vec<_>, _>>()?;
        self.walk(root, &places, each)
    }

    /// The leaves of one tree, from its end on.
    fn walk(
        &self,
        root: u32,
        columns: &[column::Place],
        each: &mut dyn FnMut(&mut Row<'_, 'a>) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        let mut rows = 0;
        // a page, and how many of its children are still to come; the last comes first
        let mut open = vec![(root, None::<u16>)];
        while let Some((number, left)) = open.pop() {
            let page = self.pages.page(number)?;
            let tree = pages::Tree::of(&page, number)?;
            if tree.is_leaf {
                for cell in (0..tree.cells).rev() {
                    rows += 1;
                    if rows > MAX_ROWS {
                        return Err(Fault::TooLarge);
                    }
                    let (payload, rowid) = Payload::of_leaf(&page, tree.cell(&page, cell)?, &self.pages)?;
                    let mut row = Row { pages: &self.pages, payload, rowid, columns };
                    if !each(&mut row)? {
                        return Ok(());
                    }
                }
                continue;
            }
            // the right-most child stands in the header, the others in cells
            let (child, next) = match left {
                None => (tree.rightmost, tree.cells),
                Some(left) => match left.checked_sub(1) {
                    Some(cell) => (tree.child(&page, cell)?, cell),
                    None => continue,
                },
            };
            open.push((number, Some(next)));
            if open.len() > MAX_DEPTH {
                return Err(Fault::Damaged);
            }
            open.push((child, None));
        }
        Ok(())
    }
}

impl Row<'_, '_> {
    /// The value in a column, at most `most` bytes of it.
    ///
    /// # Errors
    /// What its bytes end in.
    pub fn value(&mut self, column: usize, most: usize) -> Result<Value, Fault> {
        match self.columns.get(column) {
            Some(column::Place::Rowid) => Ok(Value::Integer(self.rowid)),
            Some(column::Place::At(at)) => self.payload.value(*at, most, self.pages),
            Some(column::Place::Nowhere) | None => Ok(Value::Null),
        }
    }

    /// The text in a column; `None` where none stands there, or a longer one.
    ///
    /// # Errors
    /// As [`Row::value`].
    pub fn text(&mut self, column: usize, most: usize) -> Result<Option<String>, Fault> {
        Ok(match self.value(column, most)? {
            Value::Text(bytes) => String::from_utf8(bytes).ok(),
            _ => None,
        })
    }

    /// The integer in a column.
    ///
    /// # Errors
    /// As [`Row::value`].
    pub fn integer(&mut self, column: usize) -> Result<Option<i64>, Fault> {
        Ok(match self.value(column, 8)? {
            Value::Integer(number) => Some(number),
            Value::Real(number) if number.abs() < 9e15 => Some(number as i64),
            _ => None,
        })
    }
}
