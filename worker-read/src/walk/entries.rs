//! What a tree holds at one path, and whether two trees hold the same there: remembered by tree id, bounded by bytes.
//! Trust: trees are the repository's; one that cannot be read holds nothing, and that is noted.

use crate::{changes::normalised, pace::Stopped, repo::Repo};
use gix::{
    ObjectId,
    bstr::ByteSlice as _,
    index::entry::Mode,
    objs::Kind,
    odb::pack::{Find as _, data::entry::Location},
};
use std::collections::HashMap;

/// Bytes of one tree at most, as for the staged side of a status.
const MAX_TREE: u64 = 64 << 20;
/// Entries remembered at most, some 80 bytes each.
const MAX_ENTRIES: usize = 60_000;

/// A blob, a tree or a gitlink in a tree.
pub(super) type Entry = Option<(Mode, ObjectId)>;

/// Lookups at one path. Entries depend on the ids of trees alone, and so never become wrong.
#[derive(Clone)]
pub(super) struct Entries {
    names: Vec<Vec<u8>>,
    /// One map for each name of the path.
    known: Vec<HashMap<ObjectId, Entry>>,
    empty_tree: ObjectId,
    buffer: Vec<u8>,
    /// Some tree could not be read.
    pub(super) incomplete: bool,
}

impl Entries {
    /// Lookups at `path`, which is relative to the top; empty for the top itself.
    pub(super) fn new(repo: &Repo, path: &[u8]) -> Self {
        let names: Vec<Vec<u8>> =
            path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect();
        let known = names.iter().map(|_| HashMap::new()).collect();
        let empty_tree = ObjectId::empty_tree(repo.git.object_hash());
        Self { names, known, empty_tree, buffer: Vec::new(), incomplete: false }
    }

    /// What stands at the path in the tree `root`. An empty tree is as good as none.
    pub(super) fn at(&mut self, repo: &Repo, root: ObjectId) -> Entry {
        self.below(repo, 0, Some((Mode::DIR, root)))
    }

    /// Whether both trees hold the same at the path.
    pub(super) fn same(&mut self, repo: &Repo, ours: ObjectId, theirs: ObjectId) -> bool {
        let (mut ours, mut theirs) = (Some((Mode::DIR, ours)), Some((Mode::DIR, theirs)));
        for level in 0..self.names.len() {
            if ours == theirs {
                return true;
            }
            (ours, theirs) = (self.step(repo, level, ours), self.step(repo, level, theirs));
        }
        self.present(ours) == self.present(theirs)
    }

    fn below(&mut self, repo: &Repo, from: usize, mut entry: Entry) -> Entry {
        for level in from..self.names.len() {
            entry = self.step(repo, level, entry);
        }
        self.present(entry)
    }

    fn present(&self, entry: Entry) -> Entry {
        entry.filter(|(mode, id)| *mode != Mode::DIR || *id != self.empty_tree)
    }

    /// The entry called by the name of `level` in the tree `of`.
    fn step(&mut self, repo: &Repo, level: usize, of: Entry) -> Entry {
        match of {
            Some((Mode::DIR, tree)) => match self.known[level].get(&tree) {
                Some(entry) => *entry,
                None => self.read(repo, level, tree).0,
            },
            _ => None,
        }
    }

    fn read(&mut self, repo: &Repo, level: usize, tree: ObjectId) -> (Entry, Option<Location>) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let found = repo.git.objects.try_find(&tree, &mut buffer).ok().flatten();
        let found = found.filter(|(data, _)| data.kind == Kind::Tree && data.data.len() as u64 <= MAX_TREE);
        let (entry, place) = match found {
            Some((data, place)) => match entry(data.data, &self.names[level], tree.kind().len_in_bytes()) {
                Ok(entry) => (entry, place),
                Err(Damaged) => {
                    self.incomplete = true;
                    (None, place)
                }
            },
            None => {
                self.incomplete |= tree != self.empty_tree;
                (None, None)
            }
        };
        self.buffer = buffer;
        if self.known.iter().map(HashMap::len).sum::<usize>() >= MAX_ENTRIES {
            self.known.iter_mut().for_each(HashMap::clear);
        }
        self.known[level].insert(tree, entry);
        (entry, place)
    }

    /// Looks at `roots`, trees of consecutive commits, in the order in which packs keep them: an object that is stored as
    /// a difference follows its base in a pack, and the base is at hand when it was read just before.
    pub(super) fn prepare(
        &mut self,
        repo: &Repo,
        roots: &[ObjectId],
        step: impl Fn() -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        let mut trees = roots.to_vec();
        for level in 0..self.names.len() {
            trees.dedup();
            if trees.len() < 2 {
                break;
            }
            let unknown: Vec<ObjectId> =
                trees.iter().filter(|tree| !self.known[level].contains_key(*tree)).copied().collect();
            if let [first, second, rest @ ..] = &unknown[..] {
                let (first, second) = (self.read(repo, level, *first).1, self.read(repo, level, *second).1);
                let backwards =
                    first.zip(second).is_some_and(|(a, b)| a.pack_id == b.pack_id && b.pack_offset < a.pack_offset);
                for at in 0..rest.len() {
                    step()?;
                    self.read(repo, level, rest[if backwards { rest.len() - 1 - at } else { at }]);
                }
            }
            trees = trees
                .iter()
                .filter_map(|&tree| self.step(repo, level, Some((Mode::DIR, tree))))
                .filter(|(mode, _)| *mode == Mode::DIR)
                .map(|(_, id)| id)
                .collect();
        }
        Ok(())
    }

    /// Whether the next comparison of `tree` costs no read.
    pub(super) fn knows(&self, tree: &ObjectId) -> bool {
        self.known.first().is_none_or(|known| known.contains_key(tree))
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.known.iter().map(HashMap::len).sum::<usize>() * 80
    }
}

/// A tree ends in the middle of an entry.
struct Damaged;

/// The entry called `name` in the tree `data`.
fn entry(mut data: &[u8], name: &[u8], hash_len: usize) -> Result<Entry, Damaged> {
    while !data.is_empty() {
        let space = data.iter().take(8).position(|&byte| byte == b' ').ok_or(Damaged)?;
        let (mode, rest) = data.split_at(space);
        let rest = &rest[1..];
        let end = rest.find_byte(0).ok_or(Damaged)?;
        let (theirs, rest) = rest.split_at(end);
        let id = rest.get(1..=hash_len).ok_or(Damaged)?;
        if theirs == name {
            let digit = |mode: u32, byte: &u8| (mode << 3) | u32::from(byte & 7);
            let mode = normalised(mode.iter().fold(0, digit));
            return Ok(Some((mode, ObjectId::try_from(id).map_err(|_| Damaged)?)));
        }
        data = &rest[1 + hash_len..];
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_by_its_whole_name_and_damage_is_told_from_absence() {
        let id = [7u8; 20];
        let tree = [&b"100664 a\0"[..], &id, b"40000 ab\0", &[8; 20]].concat();
        let find = |data: &[u8], name: &[u8]| entry(data, name, 20).ok();
        assert_eq!(find(&tree, b"a"), Some(Some((Mode::FILE, ObjectId::from(id)))));
        assert_eq!(find(&tree, b"ab"), Some(Some((Mode::DIR, ObjectId::from([8; 20])))));
        assert_eq!(find(&tree, b"b"), Some(None));
        assert_eq!(find(&tree[..tree.len() - 1], b"b"), None);
        assert_eq!(find(b"100644", b"b"), None);
    }
}
