//! Which of the files that a side deleted became which of those that it added, as `diffcore-rename` finds it for a merge.
//! Trust: contents are the repository's; their size, and how many are compared, is bounded before they are read.
//!
//! Equal contents first, then equal names, or the name in the directory to which most neighbours went, then likeness.
//! Before the costly step all files are put aside on whose whereabouts nothing depends.

use super::{
    Entry, Merge,
    collect::{Pair, Removed, Side, Wanted},
    is_file, parent,
};
use crate::{
    diff::contents::is_binary,
    renames::{self, LEAST, LEAST_BY_NAME, MAX_BLOB, MAX_CHUNKS, WHOLE, better, keep_better, name},
};
use bulkhead_contract::failure::ReadFailure;
use gix::{
    ObjectId,
    objs::{FindExt as _, FindHeader as _},
};
use std::collections::{BTreeMap, HashMap};

/// Equal contents that are looked at for one file at most, as in Git.
const MAX_EQUAL: usize = 100;
/// Stands for the directory of files that were not found yet; no path is like it.
const UNKNOWN: &[u8] = b"/";

/// A file that a side added, and where it came from.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// Where it was; its own path where it is new.
    pub(super) from: Vec<u8>,
    pub(super) to: Vec<u8>,
    pub(super) renamed: bool,
}

/// How many files of a directory went to each other one.
pub(super) type Counts = BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, usize>>;

impl Merge<'_, '_> {
    /// Every file that the side added, in order, and the directories that its renames speak of.
    pub(super) fn pairs(&self, mut side: Side) -> Result<(Vec<Found>, Counts), ReadFailure> {
        let pairs = std::mem::take(&mut side.pairs);
        let mut from: HashMap<usize, usize> = HashMap::new();
        let mut counts = Counts::new();
        if !pairs.is_empty() && !side.wanted.is_empty() {
            let empty = ObjectId::empty_blob(self.scratch.repo.git.object_hash());
            let of = |added: bool| {
                let is = |at: &usize| pairs[*at].added == added && pairs[*at].entry.1 != empty;
                (0..pairs.len()).filter(is).collect::<Vec<usize>>()
            };
            let mut search = Search {
                merge: self,
                pairs: &pairs,
                deleted: of(false),
                added: of(true),
                from: HashMap::new(),
                used: vec![false; pairs.len()],
                side,
                counts,
                shapes: HashMap::new(),
                held: 0,
            };
            if !search.deleted.is_empty() && !search.added.is_empty() {
                search.all()?;
            }
            (from, counts) = (search.from, search.counts);
        }
        let found = |(at, pair): (usize, &Pair)| {
            let source = from.get(&at).map(|&from| pairs[from].path.clone());
            let renamed = source.is_some();
            Found { from: source.unwrap_or_else(|| pair.path.clone()), to: pair.path.clone(), renamed }
        };
        Ok((pairs.iter().enumerate().filter(|(_, pair)| pair.added).map(found).collect(), counts))
    }
}

struct Shape {
    size: u64,
    chunks: Vec<(u32, u32)>,
}

struct Search<'a, 'b, 'c> {
    merge: &'a Merge<'b, 'c>,
    pairs: &'a [Pair],
    /// Positions of the sources that are left.
    deleted: Vec<usize>,
    added: Vec<usize>,
    from: HashMap<usize, usize>,
    used: Vec<bool>,
    side: Side,
    counts: Counts,
    shapes: HashMap<ObjectId, Option<Shape>>,
    held: usize,
}

impl Search<'_, '_, '_> {
    fn all(&mut self) -> Result<(), ReadFailure> {
        self.by_contents();
        self.deleted.retain(|&at| !self.used[at]);
        for at in self.added.clone() {
            if let Some(&from) = self.from.get(&at) {
                self.count(from, at);
            }
        }
        let likely = self.likely_directories();
        self.by_name(&likely)?;
        let (used, wanted, pairs) = (&self.used, &self.side.wanted, self.pairs);
        self.deleted.retain(|&at| !used[at] && wanted.contains_key(&pairs[at].path));
        self.put_known_aside();
        self.by_likeness()?;
        let removed = &self.side.removed;
        self.counts.retain(|directory, _| removed.get(directory).is_some_and(|value| *value != Removed::Unwanted));
        for counts in self.counts.values_mut() {
            counts.remove(UNKNOWN);
        }
        Ok(())
    }

    fn pair(&mut self, from: usize, to: usize) {
        self.used[from] = true;
        self.from.insert(to, from);
    }

    fn by_contents(&mut self) {
        let mut by_id: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        for &at in &self.deleted {
            by_id.entry(self.pairs[at].entry.1).or_default().push(at);
        }
        for to in self.added.clone() {
            let new = &self.pairs[to];
            let mut best: Option<(bool, usize)> = None;
            let mut looked = 0;
            for &at in by_id.get(&new.entry.1).into_iter().flatten() {
                let old = &self.pairs[at];
                let files = is_file(old.entry.0) && is_file(new.entry.0);
                if self.used[at] || (!files && old.entry.0 != new.entry.0) {
                    continue;
                }
                let same_name = name(&old.path) == name(&new.path);
                if best.is_none_or(|(same, _)| same_name && !same) {
                    best = Some((same_name, at));
                }
                looked += 1;
                if same_name || looked == MAX_EQUAL {
                    break;
                }
            }
            if let Some((_, at)) = best {
                self.pair(at, to);
            }
        }
    }

    /// Counts a rename for its directory and for those above it, as long as their names below are the same.
    fn count(&mut self, from: usize, to: usize) {
        let (mut old, mut new) = (&self.pairs[from].path[..], &self.pairs[to].path[..]);
        let mut first = true;
        loop {
            let (old_dir, new_dir) = (parent(old), parent(new));
            let Some(&removed) = self.side.removed.get(old_dir) else { return };
            // what was a name at the top is compared without its first byte, as in Git
            let old_name =
                if old_dir.is_empty() && !old.contains(&b'/') { old.get(1..).unwrap_or(b"") } else { name(old) };
            if !first && old_name != name(new) {
                return;
            }
            if removed == Removed::ForItself || first {
                *self.counts.entry(old_dir.to_vec()).or_default().entry(new_dir.to_vec()).or_default() += 1;
            }
            if removed == Removed::Unwanted || old_dir.is_empty() || new_dir.is_empty() {
                return;
            }
            (old, new, first) = (old_dir, new_dir, false);
        }
    }

    /// Where most files of each directory went so far.
    fn likely_directories(&self) -> HashMap<Vec<u8>, Vec<u8>> {
        let most = |counts: &BTreeMap<Vec<u8>, usize>| {
            let mut best: Option<(&Vec<u8>, usize)> = None;
            for (directory, &count) in counts {
                if best.is_none_or(|(_, most)| count > most) {
                    best = Some((directory, count));
                }
            }
            best.map(|(directory, _)| directory.clone())
        };
        self.counts.iter().filter_map(|(old, counts)| Some((old.clone(), most(counts)?))).collect()
    }

    fn by_name(&mut self, likely: &HashMap<Vec<u8>, Vec<u8>>) -> Result<(), ReadFailure> {
        let pairs = self.pairs;
        let mut free: HashMap<&[u8], usize> = HashMap::new();
        let mut sources: HashMap<&[u8], Option<usize>> = HashMap::new();
        let mut targets: HashMap<&[u8], Option<usize>> = HashMap::new();
        for &at in &self.deleted {
            sources.entry(name(&pairs[at].path)).and_modify(|one| *one = None).or_insert(Some(at));
        }
        for &to in self.added.iter().filter(|to| !self.from.contains_key(to)) {
            targets.entry(name(&pairs[to].path)).and_modify(|one| *one = None).or_insert(Some(to));
            free.insert(&pairs[to].path, to);
        }
        for at in self.deleted.clone() {
            let path = &pairs[at].path;
            if !self.side.wanted.contains_key(path) {
                continue;
            }
            let Some(&target) = targets.get(name(path)) else { continue };
            let unique = sources.get(name(path)).copied().flatten().and(target);
            let guessed = || {
                let directory = likely.get(parent(path))?;
                free.get(&[directory, &b"/"[..], name(path)].concat()[..]).copied()
            };
            let Some(to) = unique.or_else(guessed) else { continue };
            if !self.from.contains_key(&to) && self.likeness(at, to)? >= LEAST_BY_NAME {
                self.pair(at, to);
                self.count(at, to);
            }
        }
        Ok(())
    }

    /// Puts aside the files that only tell where a directory went which is known already.
    fn put_known_aside(&mut self) {
        for &at in &self.deleted {
            let mut directory = parent(&self.pairs[at].path);
            while !directory.is_empty() && self.is_wanted(directory) {
                let counts = self.counts.entry(directory.to_vec()).or_default();
                *counts.entry(UNKNOWN.to_vec()).or_default() += 1;
                directory = parent(directory);
            }
        }
        for (directory, counts) in &self.counts {
            if let Some(value) = self.side.removed.get_mut(directory)
                && *value == Removed::ForItself
                && is_determined(counts)
            {
                *value = Removed::ForAncestor;
            }
        }
        let (side, pairs) = (&self.side, self.pairs);
        self.deleted.retain(|&at| {
            let path = &pairs[at].path;
            if side.wanted.get(path) != Some(&Wanted::Place) {
                return true;
            }
            let mut directory = parent(path);
            loop {
                match side.removed.get(directory) {
                    None | Some(Removed::Unwanted) => return false,
                    Some(Removed::ForItself) => return true,
                    Some(Removed::ForAncestor) if directory.is_empty() => return false,
                    Some(Removed::ForAncestor) => directory = parent(directory),
                }
            }
        });
    }

    fn is_wanted(&self, directory: &[u8]) -> bool {
        self.side.removed.get(directory).is_some_and(|value| *value != Removed::Unwanted)
    }

    fn by_likeness(&mut self) -> Result<(), ReadFailure> {
        let to: Vec<usize> = self.added.iter().copied().filter(|to| !self.from.contains_key(to)).collect();
        let limit = self.merge.resources.rename_limit;
        if to.is_empty() || to.len().saturating_mul(self.deleted.len()) > limit.saturating_mul(limit) {
            return Ok(());
        }
        let mut all = Vec::new();
        for &to in &to {
            let mut best = Vec::new();
            for at in self.deleted.clone() {
                let likeness = self.likeness(at, to)?;
                let same_name = name(&self.pairs[at].path) == name(&self.pairs[to].path);
                keep_better(&mut best, (likeness, same_name, at, to));
            }
            all.extend(best.into_iter().filter(|candidate| candidate.0 >= LEAST));
        }
        all.sort_by(better);
        for (_, _, at, to) in all {
            if !self.used[at] && !self.from.contains_key(&to) {
                self.pair(at, to);
                self.count(at, to);
            }
        }
        Ok(())
    }

    fn likeness(&mut self, at: usize, to: usize) -> Result<u64, ReadFailure> {
        let (old, new) = (self.pairs[at].entry, self.pairs[to].entry);
        if !is_file(old.0) || !is_file(new.0) {
            return Ok(0);
        }
        self.load(old)?;
        self.load(new)?;
        self.merge.scratch.step()?;
        let (Some(Some(old)), Some(Some(new))) = (self.shapes.get(&old.1), self.shapes.get(&new.1)) else {
            return Ok(0);
        };
        let (most, least) = (old.size.max(new.size), old.size.min(new.size));
        if most == 0 || most * (WHOLE - LEAST) < (most - least) * WHOLE {
            return Ok(0);
        }
        Ok(renames::common(&old.chunks, &new.chunks) * WHOLE / most)
    }

    fn load(&mut self, (_, id): Entry) -> Result<(), ReadFailure> {
        if self.shapes.contains_key(&id) {
            return Ok(());
        }
        let scratch = self.merge.scratch;
        let header = scratch.try_header(&id).map_err(|_| scratch.failure())?;
        let mut shape = None;
        if self.held <= MAX_CHUNKS
            && header.is_some_and(|header| header.size <= MAX_BLOB.min(crate::merge::scratch::MAX_OBJECT))
        {
            let mut buffer = Vec::new();
            let blob = scratch.find_blob(&id, &mut buffer).map_err(|_| scratch.failure())?;
            let chunks = renames::chunks(blob.data, !is_binary(blob.data));
            self.held += chunks.len();
            shape = Some(Shape { size: blob.data.len() as u64, chunks });
        }
        self.shapes.insert(id, shape);
        Ok(())
    }
}

/// Whether one directory is ahead by more than all that is not known yet.
fn is_determined(counts: &BTreeMap<Vec<u8>, usize>) -> bool {
    let (mut first, mut second, mut unknown) = (0, 0, 0);
    for (directory, &count) in counts {
        if directory == UNKNOWN {
            unknown = count;
        } else if count >= first {
            (first, second) = (count, first);
        } else if count >= second {
            second = count;
        }
    }
    first > second + unknown
}
