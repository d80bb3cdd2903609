//! What differs between two sides of a status, before rows are made of it.
//! Trust: paths, modes and ids come from the repository's index, trees and disk.

use gix::{ObjectId, index::entry::Mode};

/// One side of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Repository-relative path.
    pub path: Vec<u8>,
    /// Mode as Git normalises it.
    pub mode: Mode,
    /// The blob; the null id stands for the file in the working tree.
    pub id: ObjectId,
}

/// Letters of one column of `git status --porcelain=v1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letter {
    /// `A`.
    Added,
    /// `D`.
    Deleted,
    /// `M`.
    Modified,
    /// `T`.
    TypeChanged,
    /// `R`.
    Renamed,
}

impl Letter {
    /// As it stands in the column.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Letter::Added => b'A',
            Letter::Deleted => b'D',
            Letter::Modified => b'M',
            Letter::TypeChanged => b'T',
            Letter::Renamed => b'R',
        }
    }

    /// Of a change at one path from `old` to `new`.
    #[must_use]
    pub fn between(old: Mode, new: Mode) -> Self {
        const KIND: u32 = 0o170_000;
        if old.bits() & KIND == new.bits() & KIND { Letter::Modified } else { Letter::TypeChanged }
    }
}

/// A change in one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Path that the row is listed under.
    pub path: Vec<u8>,
    /// What happened to it.
    pub letter: Letter,
    /// Old path of a rename.
    pub from: Option<Vec<u8>>,
}

/// The mode of a tree entry or index entry as Git compares it: of files only the owner's right to execute counts.
#[must_use]
pub fn normalised(mode: u32) -> Mode {
    match mode & 0o170_000 {
        0o120_000 => Mode::SYMLINK,
        0o160_000 => Mode::COMMIT,
        0o040_000 => Mode::DIR,
        _ if mode & 0o100 != 0 => Mode::FILE_EXECUTABLE,
        _ => Mode::FILE,
    }
}
