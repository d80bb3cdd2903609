//! Attributes of a path, from a stack of `.gitattributes` files, `info/attributes` and the operator's file.
//! Trust: the files are the repository's; an attribute names a conversion or a driver, and no driver is ever run.

use gix::{
    attrs::{
        Search, StateRef,
        search::{MetadataCollection, Outcome},
    },
    bstr::{BStr, ByteSlice as _},
    filter::plumbing::{Pipeline, pipeline},
    glob::pattern::Case,
};
use std::path::{Path, PathBuf};

/// All attributes that apply in the directory where a walk is now.
pub struct Attributes {
    /// The operator's file and the stack, weakest first.
    stack: Search,
    /// `info/attributes`, which wins over all.
    info: Search,
    names: MetadataCollection,
    filter: Outcome,
    filter_of: usize,
    case: Case,
    lists: usize,
}

impl Attributes {
    /// The attributes that apply everywhere.
    #[must_use]
    pub fn new(operator: Option<&[u8]>, info: Option<&[u8]>, case: Case) -> Self {
        let mut attributes = Self {
            stack: Search::default(),
            info: Search::default(),
            names: MetadataCollection::default(),
            filter: Outcome::default(),
            filter_of: usize::MAX,
            case,
            lists: 0,
        };
        add(&mut attributes.stack, b"[attr]binary -diff -merge -text\n", b"", &mut attributes.names, true);
        for (bytes, is_info) in [(operator, false), (info, true)] {
            if let Some(bytes) = bytes {
                let search = if is_info { &mut attributes.info } else { &mut attributes.stack };
                add(search, bytes, b"", &mut attributes.names, true);
                attributes.lists += 1;
            }
        }
        attributes
    }

    /// Enters a directory whose `.gitattributes` holds `bytes`; `prefix` is its path with a `/` at the end.
    pub fn push(&mut self, bytes: &[u8], prefix: &[u8]) {
        // macros count at the top only
        add(&mut self.stack, bytes, prefix, &mut self.names, prefix.is_empty());
        self.lists += 1;
    }

    /// Leaves it.
    pub fn pop(&mut self) {
        self.stack.pop_pattern_list();
        self.lists -= 1;
    }

    /// True where no file assigns any attribute.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lists == 0
    }

    /// The driver that the `filter` attribute of `path` names.
    pub fn filter(&mut self, path: &[u8]) -> Option<Vec<u8>> {
        if self.is_empty() {
            return None;
        }
        let mut outcome = std::mem::take(&mut self.filter);
        if self.filter_of != self.names.iter().count() {
            self.filter_of = self.names.iter().count();
            outcome.initialize_with_selection(&self.names, ["filter"]);
        }
        self.find(path.as_bstr(), &mut outcome);
        let driver = outcome.iter_selected().next().and_then(|found| match found.assignment.state {
            StateRef::Value(value) => Some(value.as_bstr().to_vec()),
            // a bare `filter` names no driver
            _ => None,
        });
        self.filter = outcome;
        driver
    }

    /// The value that `attribute` of `path` is set to, if it is set to one.
    #[must_use]
    pub fn value(&self, path: &[u8], attribute: &str) -> Option<Vec<u8>> {
        if self.is_empty() {
            return None;
        }
        let mut outcome = Outcome::default();
        outcome.initialize_with_selection(&self.names, [attribute]);
        self.find(path.as_bstr(), &mut outcome);
        outcome.iter_selected().next().and_then(|found| match found.assignment.state {
            StateRef::Value(value) => Some(value.as_bstr().to_vec()),
            _ => None,
        })
    }

    /// Fills `out`, which may come from before names were added.
    pub fn find(&self, path: &BStr, out: &mut Outcome) {
        out.initialize(&self.names);
        for search in [&self.info, &self.stack] {
            if out.is_done() {
                return;
            }
            search.pattern_matching_relative_path(path, self.case, Some(false), out);
        }
    }
}

impl std::fmt::Debug for Attributes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attributes").field("lists", &self.lists).finish_non_exhaustive()
    }
}

fn add(search: &mut Search, bytes: &[u8], prefix: &[u8], names: &mut MetadataCollection, macros: bool) {
    let source = crate::files::bytes_path(&[prefix, b".gitattributes"].concat())
        .unwrap_or_else(|| PathBuf::from(".gitattributes"));
    let added = search.add_patterns_buffer(bytes, source, Some(Path::new("")), names, macros);
    debug_assert!(added.is_ok(), "a relative source has a parent");
}

/// A pipeline that converts line ends, encodings and `$Id$`, and knows no driver.
#[must_use]
pub fn conversions(hash: gix::hash::Kind, eol: gix::filter::plumbing::eol::Configuration) -> Pipeline {
    let options = pipeline::Options {
        drivers: Vec::new(),
        eol_config: eol,
        crlf_roundtrip_check: pipeline::CrlfRoundTripCheck::Skip,
        encodings_with_roundtrip_check: Vec::new(),
    };
    Pipeline::new(gix::command::Context::default(), hash, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_wins_and_the_deepest_file_wins_over_the_others() {
        let mut attributes = Attributes::new(Some(b"* filter=weak\n"), Some(b"*.x filter=info\n"), Case::Sensitive);
        assert_eq!(attributes.filter(b"a/b").as_deref(), Some(&b"weak"[..]));
        attributes.push(b"*.y filter=deep\n*.z -filter\n*.w filter\n", b"a/");
        assert_eq!(attributes.filter(b"a/b.x").as_deref(), Some(&b"info"[..]));
        assert_eq!(attributes.filter(b"a/b.y").as_deref(), Some(&b"deep"[..]));
        assert_eq!(attributes.filter(b"b.y").as_deref(), Some(&b"weak"[..]));
        assert_eq!(attributes.filter(b"a/b.z"), None);
        assert_eq!(attributes.filter(b"a/b.w"), None);
        attributes.pop();
        assert_eq!(attributes.filter(b"a/b.y").as_deref(), Some(&b"weak"[..]));
    }

    #[test]
    fn a_macro_carries_a_filter() {
        let mut attributes = Attributes::new(None, None, Case::Sensitive);
        assert_eq!(attributes.filter(b"a"), None);
        attributes.push(b"[attr]big filter=lfs -text\n*.bin big\n", b"");
        assert_eq!(attributes.filter(b"a.bin").as_deref(), Some(&b"lfs"[..]));
    }
}
