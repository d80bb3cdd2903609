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
use std::{
    hash::BuildHasher,
    path::{Path, PathBuf},
    sync::Arc,
};

/// All attributes that apply in the directory where a walk is now. Parsed when the first file asks, which on a clean tree
/// none does.
pub struct Attributes {
    /// Files of the directories on the way, outermost first.
    layers: Vec<Layer>,
    operator: Option<Arc<[u8]>>,
    info: Option<Arc<[u8]>>,
    case: Case,
    built: Option<Built>,
    filter: Outcome,
    filter_of: usize,
}

/// The file of one directory.
#[derive(Debug, Clone)]
pub struct Layer {
    bytes: Arc<[u8]>,
    prefix: Box<[u8]>,
    /// Of everything up to this layer.
    digest: Option<u64>,
}

struct Built {
    /// The operator's file and the layers, weakest first.
    stack: Search,
    /// `info/attributes`, which wins over all.
    info: Search,
    names: MetadataCollection,
    /// How many layers are in `stack`.
    layers: usize,
}

impl Attributes {
    /// The attributes that apply everywhere.
    #[must_use]
    pub fn new(operator: Option<&[u8]>, info: Option<&[u8]>, case: Case) -> Self {
        Self {
            layers: Vec::new(),
            operator: operator.map(Arc::from),
            info: info.map(Arc::from),
            case,
            built: None,
            filter: Outcome::default(),
            filter_of: usize::MAX,
        }
    }

    /// The same for another thread.
    #[must_use]
    pub fn beside(&self) -> Self {
        let (operator, info) = (self.operator.clone(), self.info.clone());
        Self { operator, info, layers: self.layers.clone(), ..Self::new(None, None, self.case) }
    }

    /// Enters a directory whose `.gitattributes` holds `bytes`; `prefix` is its path with a `/` at the end.
    pub fn push(&mut self, bytes: &[u8], prefix: &[u8]) {
        self.enter(Arc::from(bytes), prefix);
    }

    /// Enters a directory whose `.gitattributes` was read before.
    pub fn enter(&mut self, bytes: Arc<[u8]>, prefix: &[u8]) {
        self.layers.push(Layer { bytes, prefix: prefix.into(), digest: None });
    }

    /// Leaves it.
    pub fn pop(&mut self) {
        self.layers.pop();
        if let Some(built) = &mut self.built
            && built.layers > self.layers.len()
        {
            built.stack.pop_pattern_list();
            built.layers = self.layers.len();
        }
    }

    /// The files of the directories on the way.
    #[must_use]
    pub fn layers(&self) -> Vec<Layer> {
        self.layers.clone()
    }

    /// Stands in the directory that has `layers`.
    pub fn stand_in(&mut self, layers: Vec<Layer>) {
        while !self.layers.is_empty() {
            self.pop();
        }
        self.layers = layers;
    }

    /// True where no file assigns any attribute.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty() && self.operator.is_none() && self.info.is_none()
    }

    /// A number for everything that applies here, equal only for equal files in equal places.
    pub fn digest(&mut self, keys: &impl BuildHasher) -> u64 {
        let known = self.layers.iter().rposition(|layer| layer.digest.is_some());
        let mut before = known.and_then(|at| self.layers[at].digest);
        for layer in &mut self.layers[known.map_or(0, |at| at + 1)..] {
            let above = before.unwrap_or_else(|| keys.hash_one((&self.operator, &self.info)));
            layer.digest = Some(keys.hash_one((above, &layer.prefix, &layer.bytes)));
            before = layer.digest;
        }
        before.unwrap_or_else(|| keys.hash_one((&self.operator, &self.info)))
    }

    /// The driver that the `filter` attribute of `path` names.
    pub fn filter(&mut self, path: &[u8]) -> Option<Vec<u8>> {
        if self.is_empty() {
            return None;
        }
        let mut outcome = std::mem::take(&mut self.filter);
        let filter_of = self.filter_of;
        let case = self.case;
        let built = self.build();
        let names = built.names.iter().count();
        if filter_of != names {
            outcome.initialize_with_selection(&built.names, ["filter"]);
        }
        built.find(path.as_bstr(), case, &mut outcome);
        self.filter_of = names;
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
    pub fn value(&mut self, path: &[u8], attribute: &str) -> Option<Vec<u8>> {
        self.look(path, attribute, |state| match state {
            StateRef::Value(value) => Some(value.as_bstr().to_vec()),
            _ => None,
        })
    }

    /// Whether `attribute` of `path` is taken away, as in `-merge`.
    #[must_use]
    pub fn is_unset(&mut self, path: &[u8], attribute: &str) -> bool {
        self.look(path, attribute, |state| (state == StateRef::Unset).then_some(())).is_some()
    }

    fn look<T>(&mut self, path: &[u8], attribute: &str, of: impl FnOnce(StateRef<'_>) -> Option<T>) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut outcome = Outcome::default();
        let case = self.case;
        let built = self.build();
        outcome.initialize_with_selection(&built.names, [attribute]);
        built.find(path.as_bstr(), case, &mut outcome);
        outcome.iter_selected().next().and_then(|found| of(found.assignment.state))
    }

    /// Fills `out`, which may come from before names were added.
    pub fn find(&mut self, path: &BStr, out: &mut Outcome) {
        let case = self.case;
        self.build().find(path, case, out);
    }

    fn build(&mut self) -> &mut Built {
        let (operator, info) = (&self.operator, &self.info);
        let built = self.built.get_or_insert_with(|| {
            let mut built = Built {
                stack: Search::default(),
                info: Search::default(),
                names: MetadataCollection::default(),
                layers: 0,
            };
            add(&mut built.stack, b"[attr]binary -diff -merge -text\n", b"", &mut built.names, true);
            if let Some(bytes) = operator {
                add(&mut built.stack, bytes, b"", &mut built.names, true);
            }
            if let Some(bytes) = info {
                add(&mut built.info, bytes, b"", &mut built.names, true);
            }
            built
        });
        for layer in &self.layers[built.layers..] {
            // macros count at the top only
            add(&mut built.stack, &layer.bytes, &layer.prefix, &mut built.names, layer.prefix.is_empty());
        }
        built.layers = self.layers.len();
        built
    }
}

impl Built {
    fn find(&self, path: &BStr, case: Case, out: &mut Outcome) {
        out.initialize(&self.names);
        for search in [&self.info, &self.stack] {
            if out.is_done() {
                return;
            }
            search.pattern_matching_relative_path(path, case, Some(false), out);
        }
    }
}

impl std::fmt::Debug for Attributes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attributes").field("layers", &self.layers.len()).finish_non_exhaustive()
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
