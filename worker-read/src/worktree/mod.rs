//! The working tree: one walk, directory by directory, that compares tracked files and finds untracked ones in passing.
//! Trust: everything below is on a disk that others write to while we read; only regular files are opened.

pub mod attributes;
pub mod compare;
pub mod disk;
mod entering;
pub mod ignore;
pub mod listings;
pub mod rules;
mod stretch;
mod tracked;
mod untracked;
pub mod verdicts;
pub use untracked::Untracked;
pub mod walk;

use std::io;

/// True for the errors that a file gives which went away, or changed its kind, between two looks.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidInput)
        || crate::files::is_link(error)
}
