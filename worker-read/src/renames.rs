//! Pairs deleted with added files as Git does by default: equal contents first, then equal names, then likeness.
//! Trust: contents are the repository's; how many and how large they may be is bounded before they are read.

use crate::{
    changes::{Change, Letter, Side},
    diff::contents::is_binary,
    open_beneath,
    pace::{Pace, Stopped},
};
use gix::{ObjectId, index::entry::Mode, objs::FindExt as _};
use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

/// Full likeness (Git's `MAX_SCORE`).
pub const WHOLE: u64 = 60_000;
/// Least likeness of a rename (Git's default of 50 %).
pub(crate) const LEAST: u64 = WHOLE / 2;
/// Least likeness where the names alone suggest the pair.
pub(crate) const LEAST_BY_NAME: u64 = LEAST + (WHOLE - LEAST) / 2;
/// Deleted or added files that are compared with each other at most, on average (Git's `diff.renameLimit`).
pub const LIMIT: usize = 1000;
/// Bytes of a file that is compared at most (Git's `core.bigFileThreshold` is as large; ours bounds the memory).
pub(crate) const MAX_BLOB: u64 = 32 << 20;
/// Chunks held for all files together at most, eight bytes each; files beyond that are taken for unlike.
pub(crate) const MAX_CHUNKS: usize = 12_000_000;
/// Pairs kept for one added file (Git's `NUM_CANDIDATE_PER_DST`).
const CANDIDATES: usize = 4;

/// Where contents come from.
#[derive(Debug, Clone, Copy)]
pub struct Blobs<'a> {
    /// Objects.
    pub repo: &'a gix::Repository,
    /// Files of sides whose id is null.
    pub worktree: Option<&'a Path>,
}

/// What a side holds, and whether it is text.
pub type Contents<'a> = &'a dyn Fn(&Side) -> Option<(Vec<u8>, bool)>;

/// Changes for all of `deleted` and `added`, in no particular order.
///
/// # Errors
/// [`Stopped`] when the time is over.
pub fn pair(
    mut deleted: Vec<Side>,
    mut added: Vec<Side>,
    blobs: Blobs<'_>,
    pace: &Pace,
) -> Result<Vec<Change>, Stopped> {
    deleted.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    added.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let contents = |side: &Side| {
        let bytes = match blobs.worktree {
            Some(top) if side.id.is_null() => open_beneath::read(top, &side.path, MAX_BLOB).ok(),
            _ => blob(blobs.repo, side.id),
        }?;
        let is_text = !is_binary(&bytes);
        Some((bytes, is_text))
    };
    let sources = sources(&deleted, &added, &contents, LIMIT, pace)?;
    let mut used = vec![false; deleted.len()];
    let mut changes: Vec<Change> = Vec::with_capacity(deleted.len() + added.len());
    for (side, source) in added.into_iter().zip(sources) {
        changes.push(match source {
            Some((at, _)) => {
                used[at] = true;
                Change { path: side.path, letter: Letter::Renamed, from: Some(deleted[at].path.clone()) }
            }
            None => Change { path: side.path, letter: Letter::Added, from: None },
        });
    }
    for (side, used) in deleted.into_iter().zip(used) {
        if !used {
            changes.push(Change { path: side.path, letter: Letter::Deleted, from: None });
        }
    }
    Ok(changes)
}

/// For each of `added` the one of `deleted` that it was, and how alike they are, of [`WHOLE`]. Both are sorted by path;
/// `contents` gives what a side holds, and `limit` squared is how many pairs are compared at most.
///
/// # Errors
/// [`Stopped`] when the time is over.
pub fn sources(
    deleted: &[Side],
    added: &[Side],
    contents: Contents<'_>,
    limit: usize,
    pace: &Pace,
) -> Result<Vec<Option<(usize, u64)>>, Stopped> {
    let mut pairing = Pairing {
        source: vec![None; added.len()],
        used: vec![false; deleted.len()],
        shapes: HashMap::new(),
        held: 0,
        deleted,
        added,
        contents,
        pace,
    };
    if !deleted.is_empty() && !added.is_empty() {
        pairing.by_id();
        pairing.by_name()?;
        pairing.by_likeness(limit)?;
    }
    Ok(pairing.source)
}

/// Chunks of a file with the bytes that each accounts for, by chunk hash.
struct Shape {
    size: u64,
    chunks: Vec<(u32, u32)>,
}

struct Pairing<'a> {
    deleted: &'a [Side],
    added: &'a [Side],
    /// For each added file the deleted one it was.
    source: Vec<Option<(usize, u64)>>,
    used: Vec<bool>,
    shapes: HashMap<(ObjectId, &'a [u8]), Option<Shape>>,
    held: usize,
    contents: Contents<'a>,
    pace: &'a Pace,
}

impl<'a> Pairing<'a> {
    fn by_id(&mut self) {
        let mut by_id: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        for (at, side) in self.deleted.iter().enumerate() {
            by_id.entry(side.id).or_default().push(at);
        }
        for (to, side) in self.added.iter().enumerate() {
            if side.id.is_null() {
                continue;
            }
            let Some(candidates) = by_id.get(&side.id) else { continue };
            let fits = |&&at: &&usize| !self.used[at] && same_kind(self.deleted[at].mode, side.mode);
            let same_name = |&&at: &&usize| name(&self.deleted[at].path) == name(&side.path);
            let best = candidates.iter().filter(fits).find(same_name).or_else(|| candidates.iter().find(fits));
            if let Some(&at) = best {
                self.used[at] = true;
                self.source[to] = Some((at, WHOLE));
            }
        }
    }

    /// A name that is left once on each side is tried alone first.
    fn by_name(&mut self) -> Result<(), Stopped> {
        let mut names: BTreeMap<&'a [u8], (Vec<usize>, Vec<usize>)> = BTreeMap::new();
        let (deleted, added) = (self.deleted, self.added);
        for (at, side) in deleted.iter().enumerate().filter(|(at, _)| !self.used[*at]) {
            names.entry(name(&side.path)).or_default().0.push(at);
        }
        for (to, side) in added.iter().enumerate().filter(|(to, _)| self.source[*to].is_none()) {
            names.entry(name(&side.path)).or_default().1.push(to);
        }
        for (from, to) in names.into_values() {
            let (&[at], &[to]) = (from.as_slice(), to.as_slice()) else { continue };
            let likeness = self.likeness(at, to)?;
            if likeness >= LEAST_BY_NAME {
                self.used[at] = true;
                self.source[to] = Some((at, likeness));
            }
        }
        Ok(())
    }

    fn by_likeness(&mut self, limit: usize) -> Result<(), Stopped> {
        let from: Vec<usize> = (0..self.deleted.len()).filter(|&at| !self.used[at]).collect();
        let to: Vec<usize> = (0..self.added.len()).filter(|&to| self.source[to].is_none()).collect();
        if from.is_empty() || to.is_empty() || from.len().saturating_mul(to.len()) > limit.saturating_mul(limit) {
            return Ok(());
        }
        let mut all: Vec<Candidate> = Vec::new();
        for &to in &to {
            let mut best: Vec<Candidate> = Vec::with_capacity(CANDIDATES);
            for &at in &from {
                let likeness = self.likeness(at, to)?;
                keep_better(&mut best, (likeness, name(&self.deleted[at].path) == name(&self.added[to].path), at, to));
            }
            all.extend(best.into_iter().filter(|candidate| candidate.0 >= LEAST));
        }
        all.sort_by(better);
        for (likeness, _, at, to) in all {
            if !self.used[at] && self.source[to].is_none() {
                self.used[at] = true;
                self.source[to] = Some((at, likeness));
            }
        }
        Ok(())
    }

    /// How much of the larger file is in both, of [`WHOLE`].
    fn likeness(&mut self, at: usize, to: usize) -> Result<u64, Stopped> {
        self.pace.step(1)?;
        let (deleted, added) = (self.deleted, self.added);
        if !is_file(deleted[at].mode) || !is_file(added[to].mode) {
            return Ok(0);
        }
        let (old, new) = (self.key(&deleted[at]), self.key(&added[to]));
        self.load(&deleted[at]);
        self.load(&added[to]);
        let (Some(Some(old)), Some(Some(new))) = (self.shapes.get(&old), self.shapes.get(&new)) else { return Ok(0) };
        let (most, least) = (old.size.max(new.size), old.size.min(new.size));
        // sizes alone can rule a pair out
        if most == 0 || most * (WHOLE - LEAST) < (most - least) * WHOLE {
            return Ok(0);
        }
        Ok(common(&old.chunks, &new.chunks) * WHOLE / most)
    }

    fn key(&self, side: &'a Side) -> (ObjectId, &'a [u8]) {
        (side.id, if side.id.is_null() { &side.path } else { &[] })
    }

    fn load(&mut self, side: &'a Side) {
        let key = self.key(side);
        if self.shapes.contains_key(&key) {
            return;
        }
        let contents = if self.held > MAX_CHUNKS { None } else { (self.contents)(side) };
        let shape =
            contents.map(|(bytes, is_text)| Shape { size: bytes.len() as u64, chunks: chunks(&bytes, is_text) });
        self.held += shape.as_ref().map_or(0, |shape| shape.chunks.len());
        self.shapes.insert(key, shape);
    }
}

pub(crate) fn blob(repo: &gix::Repository, id: ObjectId) -> Option<Vec<u8>> {
    if repo.find_header(id).ok()?.size() > MAX_BLOB {
        return None;
    }
    let mut buffer = Vec::new();
    repo.objects.find_blob(&id, &mut buffer).ok()?;
    Some(buffer)
}

/// Likeness, whether the names are equal, and the positions of both sides.
pub(crate) type Candidate = (u64, bool, usize, usize);

/// Keeps the best few in slots: a better one takes the place of the first of the worst. Which of equals is tried first
/// depends on the slots, so they are Git's.
pub(crate) fn keep_better(best: &mut Vec<Candidate>, new: Candidate) {
    if best.len() < CANDIDATES {
        best.push(new);
        return;
    }
    let mut worst = 0;
    for at in 1..best.len() {
        if better(&best[at], &best[worst]).is_gt() {
            worst = at;
        }
    }
    if better(&best[worst], &new).is_gt() {
        best[worst] = new;
    }
}

/// Best first; of equals, the ones of the same name, then in the order in which they were made.
pub(crate) fn better(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    (b.0, b.1).cmp(&(a.0, a.1))
}

pub(crate) fn name(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or(path)
}

pub(crate) fn is_file(mode: Mode) -> bool {
    mode.bits() & 0o170_000 == 0o100_000
}

fn same_kind(a: Mode, b: Mode) -> bool {
    a.bits() & 0o170_000 == b.bits() & 0o170_000
}

/// Git's measure of likeness (`diffcore-delta.c`): a file falls into chunks that end at a line's end or after 64 bytes;
/// each is known by a hash below this prime, together with the number of bytes it covers.
const HASH_BASE: u32 = 107_927;

/// The chunks of a file in order of their hashes.
pub(crate) fn chunks(bytes: &[u8], is_text: bool) -> Vec<(u32, u32)> {
    let mut all: Vec<(u32, u32)> = Vec::with_capacity(bytes.len() / 24 + 1);
    let (mut low, mut high, mut length) = (0u32, 0u32, 0u32);
    let mut rest = bytes.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        // a carriage return before a line's end does not count in text
        if is_text && byte == b'\r' && rest.peek() == Some(&b'\n') {
            continue;
        }
        let before = low;
        low = ((low << 7) ^ (high >> 25)).wrapping_add(u32::from(byte));
        high = (high << 7) ^ (before >> 25);
        length += 1;
        if length == 64 || byte == b'\n' {
            all.push((low.wrapping_add(high.wrapping_mul(0x61)) % HASH_BASE, length));
            (low, high, length) = (0, 0, 0);
        }
    }
    if length > 0 {
        all.push((low.wrapping_add(high.wrapping_mul(0x61)) % HASH_BASE, length));
    }
    all.sort_unstable_by_key(|chunk| chunk.0);
    all.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    all
}

pub(crate) fn common(a: &[(u32, u32)], b: &[(u32, u32)]) -> u64 {
    let (mut a, mut b, mut sum) = (a.iter().peekable(), b.iter().peekable(), 0u64);
    while let (Some(&&(left, covers)), Some(&&(right, too))) = (a.peek(), b.peek()) {
        match left.cmp(&right) {
            std::cmp::Ordering::Less => drop(a.next()),
            std::cmp::Ordering::Greater => drop(b.next()),
            std::cmp::Ordering::Equal => {
                sum += u64::from(covers.min(too));
                a.next();
                b.next();
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_file_is_whole_and_carriage_returns_do_not_count() {
        let text = b"one\ntwo\nthree\n";
        assert_eq!(common(&chunks(text, true), &chunks(text, true)), text.len() as u64);
        assert_eq!(chunks(b"one\r\ntwo\r\n", true), chunks(b"one\ntwo\n", true));
        assert_ne!(chunks(b"one\r\n", false), chunks(b"one\n", false), "in a binary file they do");
    }

    #[test]
    fn likeness_is_the_share_of_common_lines() {
        let (a, b) = (b"aaaa\nbbbb\ncccc\ndddd\n", b"aaaa\nbbbb\nxxxx\nyyyy\n");
        assert_eq!(common(&chunks(a, true), &chunks(b, true)), 10);
    }

    #[test]
    fn better_pairs_come_first_and_equal_names_win() {
        let mut pairs = [(30_000, false, 0, 0), (30_000, true, 1, 0), (40_000, false, 2, 0)];
        pairs.sort_by(better);
        assert_eq!(pairs.iter().map(|pair| pair.2).collect::<Vec<_>>(), [2, 1, 0]);
    }
}
