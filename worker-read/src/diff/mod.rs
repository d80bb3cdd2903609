//! What differs between commits, index and working tree, and the text that `git diff` prints of it.
//! Trust: names, modes and contents are the repository's; sizes are bounded before contents are read, and nothing runs.
//!
//! In order of a call: [`paths`] narrows, [`trees`] or [`sides`] find the pairs of a change, [`pairs`] detects renames,
//! [`patch`] prints each pair with [`lines`], [`slides`], [`hunks`] and [`combined`], and [`page`] cuts the text.

pub mod abbreviate;
pub mod attributes;
pub mod combined;
pub mod contents;
pub mod histogram;
pub mod hunks;
pub mod lines;
pub mod page;
pub mod pairs;
pub mod patch;
pub mod paths;
pub mod quote;
pub mod sides;
pub mod slides;
pub mod texts;
pub mod trees;
