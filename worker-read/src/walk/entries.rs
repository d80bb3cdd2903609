//! What a tree holds at one path, and whether two trees hold the same there: remembered by tree id, bounded by bytes.
//! Trust: trees are the repository's; one that cannot be read holds nothing, and that is noted.

use crate::{
    changes::normalised,
    pace::{Pace, Stopped},
    repo::Repo,
};
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
/// Trees that are worth a second thread, which costs about as much as reading ten.
const WORTH_A_THREAD: usize = 40;

/// A blob, a tree or a gitlink in a tree.
pub(crate) type Entry = Option<(Mode, ObjectId)>;

/// Lookups at one path. Entries depend on the ids of trees alone, and so never become wrong.
#[derive(Clone)]
pub(crate) struct Entries {
    names: Vec<Vec<u8>>,
    /// One map for each name of the path.
    known: Vec<HashMap<ObjectId, Entry>>,
    empty_tree: ObjectId,
    buffer: Vec<u8>,
    /// Some tree could not be read.
    pub(crate) incomplete: bool,
}

impl Entries {
    /// Lookups at `path`, which is relative to the top; empty for the top itself.
    pub(crate) fn new(repo: &Repo, path: &[u8]) -> Self {
        let names: Vec<Vec<u8>> =
            path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect();
        let known = names.iter().map(|_| HashMap::new()).collect();
        let empty_tree = ObjectId::empty_tree(repo.git.object_hash());
        Self { names, known, empty_tree, buffer: Vec::new(), incomplete: false }
    }

    /// What stands at the path in the tree `root`. An empty tree is as good as none.
    pub(crate) fn at(&mut self, repo: &Repo, root: ObjectId) -> Entry {
        self.below(repo, 0, Some((Mode::DIR, root)))
    }

    /// Whether both trees hold the same at the path.
    pub(crate) fn same(&mut self, repo: &Repo, ours: ObjectId, theirs: ObjectId) -> bool {
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
        let Looked { entry, place, failed } = look(repo.passing(), &self.names[level], tree, &mut self.buffer);
        self.learn(level, tree, entry, failed);
        (entry, place)
    }

    fn learn(&mut self, level: usize, tree: ObjectId, entry: Entry, failed: bool) {
        self.incomplete |= failed && tree != self.empty_tree;
        if self.known.iter().map(HashMap::len).sum::<usize>() >= MAX_ENTRIES {
            self.known.iter_mut().for_each(HashMap::clear);
        }
        self.known[level].insert(tree, entry);
    }

    /// Looks at `roots`, trees of consecutive commits, in the order in which packs keep them: an object that is stored as
    /// a difference follows its base in a pack, and the base is at hand when it was read just before. A second thread takes
    /// half of many.
    pub(crate) fn prepare(&mut self, repo: &Repo, roots: &[ObjectId], pace: &Pace) -> Result<(), Stopped> {
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
                let mut rest = rest.to_vec();
                if backwards {
                    rest.reverse();
                }
                self.read_all(repo, level, &rest, pace)?;
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

    fn read_all(&mut self, repo: &Repo, level: usize, trees: &[ObjectId], pace: &Pace) -> Result<(), Stopped> {
        let half = if trees.len() < WORTH_A_THREAD || repo.operator.crew.others() == 0 { 0 } else { trees.len() / 2 };
        let (theirs, ours) = trees.split_at(half);
        if theirs.is_empty() {
            return self.read_each(repo, level, ours, pace);
        }
        let (name, git, beside) = (self.names[level].clone(), repo.take_beside(), pace.beside());
        let mut back = None;
        let other = || {
            let (pace, mut buffer, mut found) = (beside.pace(), Vec::new(), Vec::with_capacity(theirs.len()));
            for &tree in theirs {
                if pace.step(1).is_err() {
                    break;
                }
                found.push((tree, look(&git, &name, tree, &mut buffer)));
            }
            back = Some((git, found));
        };
        let walked = repo.operator.crew.beside(vec![other], || self.read_each(repo, level, ours, pace));
        // what a thread that could not be started left over is read when it is asked for
        if let Some((git, found)) = back {
            for (tree, looked) in found {
                self.learn(level, tree, looked.entry, looked.failed);
            }
            repo.give_beside(git);
        }
        walked
    }

    fn read_each(&mut self, repo: &Repo, level: usize, trees: &[ObjectId], pace: &Pace) -> Result<(), Stopped> {
        for &tree in trees {
            pace.step(1)?;
            self.read(repo, level, tree);
        }
        Ok(())
    }

    /// Whether the next comparison of `tree` costs no read.
    pub(crate) fn knows(&self, tree: &ObjectId) -> bool {
        self.known.first().is_none_or(|known| known.contains_key(tree))
    }

    /// Bytes that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.known.iter().map(HashMap::len).sum::<usize>() * 80
    }
}

/// What a look into one tree gave.
struct Looked {
    entry: Entry,
    place: Option<Location>,
    /// It is not there, no tree, too large or damaged.
    failed: bool,
}

/// The entry called `name` in the tree `tree`.
fn look(git: &gix::Repository, name: &[u8], tree: ObjectId, buffer: &mut Vec<u8>) -> Looked {
    let found = git.objects.try_find(&tree, buffer).ok().flatten();
    let found = found.filter(|(data, _)| data.kind == Kind::Tree && data.data.len() as u64 <= MAX_TREE);
    let Some((data, place)) = found else { return Looked { entry: None, place: None, failed: true } };
    let entry = entry(data.data, name, tree.kind().len_in_bytes());
    Looked { failed: entry.is_err(), entry: entry.unwrap_or(None), place }
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
