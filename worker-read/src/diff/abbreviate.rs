//! Ids as short as they are unique, in the length that Git chooses for the repository.
//! Trust: ids are the repository's; an object that is not there is abbreviated all the same.

use crate::files::{self, Version};
use gix::{ObjectId, hash::Prefix};
use std::{
    cell::RefCell,
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Ids whose length is remembered; less than 200 bytes each.
const MAX_KNOWN: usize = 8_192;

/// Abbreviates ids of one repository.
///
/// Without a memory, each id would cost a listing of a directory of loose objects. A length is invalidated by the version of
/// that directory, which is the only one where a loose object with the same beginning can appear, and by [`Packs`].
pub struct Abbreviation {
    git: gix::Repository,
    length: usize,
    packs: Packs,
    loose: PathBuf,
    known: RefCell<HashMap<ObjectId, (usize, Version)>>,
}

/// Which packs the object database knows, as far as two states need to be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packs {
    refreshes: usize,
    indices: usize,
    loose: usize,
}

impl Packs {
    /// Those that `git` knows now.
    #[must_use]
    pub fn of(git: &gix::Repository) -> Self {
        let metrics = git.objects.store_ref().metrics();
        Self { refreshes: metrics.num_refreshes, indices: metrics.known_reachable_indices, loose: metrics.loose_dbs }
    }
}

impl Abbreviation {
    /// For `git`, by its `core.abbrev` and the number of its packed objects; `objects` is its directory of objects.
    #[must_use]
    pub fn new(git: &gix::Repository, objects: &Path) -> Self {
        let mut git = git.clone();
        // a look at the disk for every id that is unique would cost more than all the rest
        git.objects.refresh_never();
        let whole = git.object_hash().len_in_hex();
        let configured = git.config_snapshot().string("core.abbrev");
        let length = match configured.as_deref().map(|value| value.to_ascii_lowercase()).as_deref() {
            Some(b"no" | b"off" | b"false") => Some(whole),
            Some(digits) => std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()),
            None => None,
        };
        let length = length.unwrap_or_else(|| {
            let packed = git.objects.packed_object_count().unwrap_or(0);
            let bits = usize::try_from(u64::BITS - packed.leading_zeros()).unwrap_or(0);
            bits.div_ceil(2).max(7)
        });
        // after the first look at the packs
        let packs = Packs::of(&git);
        let length = length.clamp(4, whole);
        Self { git, length, packs, loose: objects.to_owned(), known: RefCell::default() }
    }

    /// True while no pack came or went.
    #[must_use]
    pub fn is_current(&self, git: &gix::Repository) -> bool {
        self.packs == Packs::of(git)
    }

    /// The beginning of `id` that no other object has.
    #[must_use]
    pub fn short(&self, id: &ObjectId) -> String {
        let mut hex = id.to_hex().to_string();
        // alternates have directories of their own
        let version = (self.packs.loose <= 1).then(|| files::version(&self.loose.join(&hex[..2])));
        let known = self.known.borrow().get(id).copied();
        if let (Some((length, of)), Some(version)) = (known, version)
            && of == version
        {
            hex.truncate(length);
            return hex;
        }
        let length = self.unique(id, &hex);
        if let Some(version) = version {
            let mut known = self.known.borrow_mut();
            if known.len() >= MAX_KNOWN {
                known.clear();
            }
            known.insert(*id, (length, version));
        }
        hex.truncate(length);
        hex
    }

    fn unique(&self, id: &ObjectId, hex: &str) -> usize {
        let mut length = self.length;
        while length < hex.len() && !id.is_null() {
            let Ok(prefix) = Prefix::new(id, length) else { break };
            match self.git.objects.lookup_prefix(prefix, None) {
                Ok(None) | Err(_) => break,
                Ok(Some(Ok(found))) if found == *id => break,
                Ok(Some(_)) => length += 1,
            }
        }
        length
    }
}

impl std::fmt::Debug for Abbreviation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Abbreviation").field("length", &self.length).finish_non_exhaustive()
    }
}
