//! Pages by their number: from the log where it has them, else from the file; and the head of a tree's page.
//! Trust: hostile bytes; how many pages one look reads is bounded, so that a chain that leads back to itself ends.

use super::{Fault, wal::Log};
use std::{cell::Cell, rc::Rc};

/// Pages that one look at a database reads.
const MAX_READS: u32 = 8_192;
/// Pages that are kept.
const KEPT: usize = 16;

/// Bytes at positions: of a file, or in memory.
pub trait Bytes: std::fmt::Debug {
    /// How many there are.
    fn len(&self) -> u64;

    /// There are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `into` from this position on; false where there are fewer.
    fn read(&self, at: u64, into: &mut [u8]) -> bool;
}

impl Bytes for [u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }

    fn read(&self, at: u64, into: &mut [u8]) -> bool {
        let Some(bytes) = usize::try_from(at).ok().and_then(|at| self.get(at..at.checked_add(into.len())?)) else {
            return false;
        };
        into.copy_from_slice(bytes);
        true
    }
}

impl Bytes for Vec<u8> {
    fn len(&self) -> u64 {
        self.as_slice().len() as u64
    }

    fn read(&self, at: u64, into: &mut [u8]) -> bool {
        self.as_slice().read(at, into)
    }
}

/// The pages of a database.
#[derive(Debug)]
pub struct Pages<'a> {
    file: &'a dyn Bytes,
    log: Option<Log<'a>>,
    size: usize,
    /// Bytes of a page that hold content.
    pub usable: usize,
    reads: Cell<u32>,
    kept: std::cell::RefCell<Vec<(u32, Rc<[u8]>)>>,
}

impl<'a> Pages<'a> {
    /// Reads the head of a database.
    pub fn open(file: &'a dyn Bytes, log: Option<&'a dyn Bytes>) -> Result<Self, Fault> {
        let mut head = [0; 100];
        if !file.read(0, &mut head) {
            return Err(Fault::Short);
        }
        if &head[..16] != b"SQLite format 3\0" {
            return Err(Fault::Damaged);
        }
        let size = match u16::from_be_bytes([head[16], head[17]]) {
            1 => 65_536,
            size => usize::from(size),
        };
        let usable = size.checked_sub(usize::from(head[20])).ok_or(Fault::Damaged)?;
        if !size.is_power_of_two() || size < 512 || usable < 480 {
            return Err(Fault::Damaged);
        }
        // format for reading: later ones are not known; encoding: UTF-8
        if head[19] > 2 || u32::from_be_bytes([head[56], head[57], head[58], head[59]]) > 1 {
            return Err(Fault::Unknown);
        }
        let log = log.filter(|log| !log.is_empty()).map(|log| Log::open(log, size)).transpose()?;
        let (reads, kept) = (Cell::new(0), std::cell::RefCell::default());
        Ok(Self { file, log, size, usable, reads, kept })
    }

    /// A page, from 1 on.
    pub fn page(&self, number: u32) -> Result<Rc<[u8]>, Fault> {
        if let Some((_, page)) = self.kept.borrow().iter().find(|(kept, _)| *kept == number) {
            return Ok(Rc::clone(page));
        }
        if number == 0 {
            return Err(Fault::Damaged);
        }
        self.reads.set(self.reads.get() + 1);
        if self.reads.get() > MAX_READS {
            return Err(Fault::TooLarge);
        }
        let mut page = vec![0; self.size];
        let there = match self.log.as_ref().and_then(|log| Some((log, log.at(number)?))) {
            Some((log, at)) => log.bytes.read(at, &mut page),
            None => self.file.read(u64::from(number - 1) * self.size as u64, &mut page),
        };
        if !there {
            return Err(Fault::Short);
        }
        let page: Rc<[u8]> = page.into();
        let mut kept = self.kept.borrow_mut();
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((number, Rc::clone(&page)));
        Ok(page)
    }
}

/// The head of a page of a table's tree.
#[derive(Debug, Clone, Copy)]
pub struct Tree {
    /// Rows stand here; else further pages.
    pub is_leaf: bool,
    /// How many.
    pub cells: u16,
    /// Of a page that is no leaf, the last of its children.
    pub rightmost: u32,
    pointers: usize,
}

impl Tree {
    /// Reads it.
    pub fn of(page: &[u8], number: u32) -> Result<Self, Fault> {
        // the first page begins with the head of the file
        let at = if number == 1 { 100 } else { 0 };
        let head = page.get(at..at + 12).ok_or(Fault::Damaged)?;
        let is_leaf = match head[0] {
            0x0d => true,
            0x05 => false,
            _ => return Err(Fault::Damaged),
        };
        let cells = u16::from_be_bytes([head[3], head[4]]);
        let pointers = at + if is_leaf { 8 } else { 12 };
        if pointers + usize::from(cells) * 2 > page.len() {
            return Err(Fault::Damaged);
        }
        let rightmost = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
        Ok(Self { is_leaf, cells, rightmost, pointers })
    }

    /// Where a cell begins.
    pub fn cell(&self, page: &[u8], cell: u16) -> Result<usize, Fault> {
        let at = self.pointers + usize::from(cell) * 2;
        let pointer = page.get(at..at + 2).ok_or(Fault::Damaged)?;
        Ok(usize::from(u16::from_be_bytes([pointer[0], pointer[1]])))
    }

    /// The child of a cell.
    pub fn child(&self, page: &[u8], cell: u16) -> Result<u32, Fault> {
        let at = self.cell(page, cell)?;
        let child = page.get(at..at + 4).ok_or(Fault::Damaged)?;
        Ok(u32::from_be_bytes([child[0], child[1], child[2], child[3]]))
    }
}
