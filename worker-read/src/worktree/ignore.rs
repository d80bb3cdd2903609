//! Which untracked paths are ignored: the operator's patterns, `info/exclude`, and a stack of `.gitignore` files.
//! Trust: patterns are the repository's; they are matched, never executed, and their files are bounded.

use gix::{
    bstr::ByteSlice as _,
    glob::{pattern::Case, search::pattern::List},
    ignore::search::{Ignore, pattern_matching_relative_path},
};
use std::{path::PathBuf, sync::Arc};

/// The patterns of one file.
pub type Parsed = Arc<List<Ignore>>;

/// All patterns that apply in the directory where a walk is now, weakest first.
#[derive(Debug, Clone)]
pub struct Patterns {
    lists: Vec<Parsed>,
    case: Case,
}

/// The patterns in `bytes`, for the directory at `prefix`, a path with a `/` at the end.
#[must_use]
pub fn parse(bytes: &[u8], prefix: &[u8]) -> Parsed {
    let mut list = List::<Ignore>::from_bytes(bytes, PathBuf::new(), None, Ignore::default()).unwrap_or_default();
    list.base = (!prefix.is_empty()).then(|| prefix.into());
    Arc::new(list)
}

impl Patterns {
    /// The patterns that apply everywhere.
    #[must_use]
    pub fn new(operator: Option<&[u8]>, exclude: Option<&[u8]>, case: Case) -> Self {
        let mut patterns = Self { lists: Vec::new(), case };
        for bytes in [operator, exclude].into_iter().flatten() {
            patterns.push(bytes, b"");
        }
        patterns
    }

    /// Enters a directory whose `.gitignore` holds `bytes`; `prefix` is its path with a `/` at the end.
    pub fn push(&mut self, bytes: &[u8], prefix: &[u8]) {
        self.enter(parse(bytes, prefix));
    }

    /// Enters a directory whose `.gitignore` was parsed before.
    pub fn enter(&mut self, list: Parsed) {
        self.lists.push(list);
    }

    /// Leaves it.
    pub fn pop(&mut self) {
        self.lists.pop();
    }

    /// True where the last pattern that matches `path` excludes it.
    #[must_use]
    pub fn exclude(&self, path: &[u8], is_dir: bool) -> bool {
        let name = path.iter().rposition(|&byte| byte == b'/').map(|slash| slash + 1);
        let matching = |list: &Parsed| {
            pattern_matching_relative_path(list, path.as_bstr(), name, Some(is_dir), self.case)
                .map(|found| !found.pattern.is_negative())
        };
        self.lists.iter().rev().find_map(matching).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_and_last_pattern_decides() {
        let mut patterns = Patterns::new(Some(b"*.tmp\n"), Some(b"!keep.tmp\n"), Case::Sensitive);
        assert!(patterns.exclude(b"a.tmp", false));
        assert!(!patterns.exclude(b"keep.tmp", false));
        patterns.push(b"keep.tmp\n/only\nbuild/\n", b"sub/");
        assert!(patterns.exclude(b"sub/keep.tmp", false));
        assert!(patterns.exclude(b"sub/only", false));
        assert!(!patterns.exclude(b"sub/x/only", false), "anchored");
        assert!(!patterns.exclude(b"keep.tmp", false), "not beneath sub");
        assert!(patterns.exclude(b"sub/build", true));
        assert!(!patterns.exclude(b"sub/build", false), "a directory was meant");
        patterns.pop();
        assert!(!patterns.exclude(b"sub/keep.tmp", false));
    }

    #[test]
    fn names_with_pattern_magic_match_literally_where_escaped() {
        let patterns = Patterns::new(None, Some(b"\\*\n"), Case::Sensitive);
        assert!(patterns.exclude(b"*", false));
        assert!(!patterns.exclude(b"a", false));
    }
}
