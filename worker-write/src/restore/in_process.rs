//! The parts of a restore point made by this process: files are compared with the index, read, and kept as objects.
//! Trust: contents pass as bytes; what the index says of a file counts only where times and size bear it out.
//!
//! It makes the same trees as [`super::by_git`], which takes over wherever something is not read here: split and sparse
//! indexes, reftables, objects that are missing, disks that are full. Nothing is named before all of it is on the disk.

use super::{
    PREFIX, Ready,
    disk::{Disk, mode},
};
use crate::{
    failure::{Step, failed, not_run},
    git::{Git, NotRun},
    leftover::Scratch,
    repo::Repo,
    store::{
        Elsewhere, Store,
        index::{Entry, FILE, GITLINK, Index},
        objects::NotKept,
        tree::{Leaf, Trees},
    },
};
use bulkhead_contract::direct::Class;
use gix::{hash::ObjectId, objs::Kind as Object};
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs, io,
    path::Path,
};

/// Names and values of the refs of a point.
type Parts = Vec<(&'static str, ObjectId)>;

/// Makes all parts; none where Git has to.
///
/// # Errors
/// Nobody waits any more.
pub(super) fn parts(repo: &Repo<'_>, store: &Store, ready: &Ready<'_>) -> Step<Option<Parts>> {
    let made = repo.git.with_its_umask(|| {
        let unwanted = || has_ended(repo.git).is_some();
        let point = Point { repo, store, unwanted: &unwanted, kept: HashSet::new(), struck: Vec::new() };
        point.parts(ready)
    });
    match made {
        Ok(parts) => Ok(Some(parts)),
        Err(NotKept::Elsewhere) => by_git(store).map(|()| None),
        Err(NotKept::Unwanted) => Err(not_run(&has_ended(repo.git).unwrap_or(NotRun::Deadline))),
    }
}

/// Puts them onto the disk and names them; false where Git has to make them.
///
/// # Errors
/// What was made cannot be put onto the disk.
pub(super) fn name(repo: &Repo<'_>, store: &Store, scratch: &Scratch, id: &str, parts: &Parts) -> Step<bool> {
    match repo.git.with_its_umask(|| named(store, scratch, id, parts)) {
        Ok(()) => Ok(true),
        Err(Elsewhere) => by_git(store).map(|()| false),
    }
}

/// Git takes objects that are there for kept, and syncs them no more.
fn by_git(store: &Store) -> Step<()> {
    store.sync(&[]).map_err(|Elsewhere| {
        failed(
            Class::Failed,
            "What a restore point holds could not be synced to the disk. Nothing was done.",
            "Have the disk looked at.",
        )
    })
}

fn has_ended(git: &Git) -> Option<NotRun> {
    match () {
        () if std::time::Instant::now() >= git.deadline() => Some(NotRun::Deadline),
        () if git.is_cancelled() => Some(NotRun::Cancelled),
        () => None,
    }
}

/// What became of a tracked file.
enum Now {
    /// It is what the entry says, or is nothing that the working tree has a say in.
    Same,
    Gone,
    Other(u32, ObjectId),
}

struct Point<'p, 'a> {
    repo: &'p Repo<'a>,
    store: &'p Store,
    unwanted: &'p dyn Fn() -> bool,
    /// Objects that this point keeps.
    kept: HashSet<ObjectId>,
    /// Entries, by their numbers, whose files are other than the entry says and have its size.
    struck: Vec<usize>,
}

impl Point<'_, '_> {
    fn parts(mut self, ready: &Ready<'_>) -> Result<Parts, NotKept> {
        let index = Index::read(self.store, &self.repo.git_dir)?;
        let none = Vec::new();
        let entries = index.as_ref().map_or(&none, |index| &index.entries);
        let path = |entry: &Entry| index.as_ref().map_or_else(Vec::new, |index| index.path(entry).to_vec());
        // one for each path: of those that are unmerged the lowest stage
        let mut files: Vec<(usize, Vec<u8>, &Entry)> = Vec::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            let path = path(entry);
            if files.last().is_none_or(|(_, last, _)| *last != path) {
                files.push((at, path, entry));
            }
        }

        // first the files: what of the index cannot be trusted later on is known after that
        let mut disk = Disk::of(&self.repo.root);
        let mut leaves = Vec::with_capacity(files.len());
        let mut other: HashSet<&[u8]> = HashSet::new();
        for (number, (at, path, entry)) in files.iter().enumerate() {
            if number.is_multiple_of(64) && (self.unwanted)() {
                return Err(NotKept::Unwanted);
            }
            let now = self.now(index.as_ref(), *at, entry, path, &mut disk)?;
            let leaf = match now {
                Now::Same => Some((entry.mode, entry.id)),
                Now::Gone => None,
                Now::Other(mode, id) => Some((mode, id)),
            };
            if !matches!(now, Now::Same) || entry.stage != 0 || entry.intent_to_add {
                let ends = (0..path.len()).filter(|at| path[*at] == b'/');
                other.insert(b"");
                other.extend(ends.map(|end| &path[..end]));
            }
            leaves.extend(leaf.map(|(mode, id)| Leaf { path, mode, id }));
        }

        let merged: Vec<_> = files
            .iter()
            .filter(|(_, _, entry)| entry.stage == 0 && !entry.intent_to_add)
            .map(|(_, path, entry)| Leaf { path, mode: entry.mode, id: entry.id })
            .collect();
        let mut before = HashMap::new();
        let remembered = |directory: &[u8], count: usize| index.as_ref().and_then(|index| index.tree(directory, count));
        let tree = Trees { store: self.store, kept: &self.kept, known: remembered, made: &mut before }.of(&merged)?;
        let known = |directory: &[u8], count: usize| match other.contains(directory) {
            true => None,
            false => before.get(directory).copied().or_else(|| remembered(directory, count)),
        };
        let mut made = HashMap::new();
        let worktree = Trees { store: self.store, kept: &self.kept, known, made: &mut made }.of(&leaves)?;
        let kept = self.index_as_file(index.as_ref(), tree)?;
        let untracked = self.untracked(ready, &mut disk)?;

        let mut parts = vec![("index", self.commit(kept, ready)?), ("worktree", self.commit(worktree, ready)?)];
        parts.extend(untracked.map(|tree| self.commit(tree, ready)).transpose()?.map(|id| ("untracked", id)));
        for (name, value) in [("head", ready.head), ("tip", ready.tip)] {
            let id = value.map(|value| ObjectId::from_hex(value.as_bytes()).map_err(|_| NotKept::Elsewhere));
            parts.extend(id.transpose()?.map(|id| (name, id)));
        }
        Ok(parts)
    }

    fn now(
        &mut self,
        index: Option<&Index>,
        at: usize,
        entry: &Entry,
        path: &[u8],
        disk: &mut Disk<'_>,
    ) -> Result<Now, NotKept> {
        let found = disk.stands(path);
        let Some(found) = found else {
            return Ok(if entry.skip_worktree || entry.mode == GITLINK { Now::Same } else { Now::Gone });
        };
        if entry.mode == GITLINK && found.is_dir() {
            return Ok(Now::Same);
        }
        let Some(mode) = mode(&found) else { return Ok(Now::Gone) };
        let is_file = |mode: u32| mode & 0o170_000 == FILE & 0o170_000;
        let same_mode = mode == entry.mode || !self.store.file_mode && is_file(mode) && is_file(entry.mode);
        let settled = entry.stage == 0 && !entry.intent_to_add;
        if settled && same_mode && index.is_some_and(|index| index.is_unchanged(entry, &found)) {
            return Ok(Now::Same);
        }
        let known = Some(&entry.id).filter(|_| settled && entry.mode != GITLINK);
        let id = self.store.keep_file(&disk.path(path), &found, known, self.unwanted)?;
        if known == Some(&id) && same_mode {
            return Ok(Now::Same);
        }
        if known.is_some_and(|known| *known != id) && index.is_some_and(|index| index.has_size(entry, &found)) {
            self.struck.push(at);
        }
        if known != Some(&id) {
            self.kept.insert(id);
        }
        Ok(Now::Other(mode, id))
    }

    /// A tree with the index as a file, and with all that keeps its objects.
    fn index_as_file(&self, index: Option<&Index>, tree: ObjectId) -> Result<ObjectId, NotKept> {
        let mut rows = vec![(0o040_000, "tree".to_owned(), tree)];
        if let Some(index) = index {
            let struck: Vec<_> = self.struck.iter().map(|at| &index.entries[*at]).collect();
            let id = self.store.keep(Object::Blob, &index.with_struck_sizes(&struck)?)?;
            rows.push((FILE, "index".to_owned(), id));
            let unmerged = index.entries.iter().filter(|entry| entry.stage != 0 && entry.mode != GITLINK);
            let unmerged: Vec<_> = unmerged
                .enumerate()
                .map(|(at, entry)| (entry.mode, format!("{at}-{}", entry.stage), entry.id))
                .collect();
            if !unmerged.iter().all(|(_, _, id)| self.store.has(id)) {
                return Err(NotKept::Elsewhere);
            }
            if !unmerged.is_empty() {
                rows.push((0o040_000, "unmerged".to_owned(), self.rows(unmerged)?));
            }
        }
        self.rows(rows)
    }

    /// A tree of these rows, none of which has another's name.
    fn rows(&self, mut rows: Vec<(u32, String, ObjectId)>) -> Result<ObjectId, NotKept> {
        // files and directories stand in another order only where a name is the beginning of another one
        rows.sort_by(|a, b| a.1.cmp(&b.1));
        let mut bytes = Vec::new();
        for (mode, name, id) in rows {
            bytes.extend_from_slice(format!("{mode:o} {name}\0").as_bytes());
            bytes.extend_from_slice(id.as_slice());
        }
        Ok(self.store.keep(Object::Tree, &bytes)?)
    }

    /// A tree of all untracked files, where there are any and the point is to hold them.
    fn untracked(&mut self, ready: &Ready<'_>, disk: &mut Disk<'_>) -> Result<Option<ObjectId>, NotKept> {
        let Some(paths) = ready.untracked else { return Ok(None) };
        let mut leaves = Vec::new();
        for path in paths {
            if (self.unwanted)() {
                return Err(NotKept::Unwanted);
            }
            let Some(found) = disk.stands(path) else { continue };
            let Some(mode) = mode(&found) else { continue };
            let id = self.store.keep_file(&disk.path(path), &found, None, self.unwanted)?;
            self.kept.insert(id);
            leaves.push(Leaf { path, mode, id });
        }
        if leaves.is_empty() {
            return Ok(None);
        }
        let mut made = HashMap::new();
        let mut trees = Trees { store: self.store, kept: &self.kept, known: |_: &[u8], _| None, made: &mut made };
        Ok(Some(trees.of(&leaves)?))
    }

    fn commit(&self, tree: ObjectId, ready: &Ready<'_>) -> Result<ObjectId, NotKept> {
        let mut text = format!("tree {tree}\n");
        if let Some(parent) = ready.head {
            text.push_str(&format!("parent {parent}\n"));
        }
        for who in ["author", "committer"] {
            text.push_str(&format!("{who} bulkhead <bulkhead@localhost> {} +0000\n", ready.made));
        }
        text.push('\n');
        text.push_str(ready.message);
        Ok(self.store.keep(Object::Commit, text.as_bytes())?)
    }
}

/// Names the parts: a directory of refs that is put into its place as a whole, when all of it is on the disk.
fn named(store: &Store, scratch: &Scratch, id: &str, parts: &Parts) -> Result<(), Elsewhere> {
    let there = store.refs_directory(PREFIX)?;
    let new = scratch.path("refs");
    let mut written = Vec::new();
    let made = fs::create_dir(&new).and_then(|()| {
        for (name, value) in parts {
            let file = new.join(name);
            fs::write(&file, format!("{value}\n"))?;
            written.push(file);
        }
        Ok(())
    });
    made.map_err(|_: io::Error| Elsewhere)?;
    store.sync(&written)?;
    fs::rename(&new, there.join(id)).map_err(|_| Elsewhere)?;
    // the names as well, and those of the objects before them
    store.sync(&[there])
}

/// Which points there are beyond the newest `most`, where all of them are loose refs: their ids, oldest first.
pub(super) fn beyond(store: &Store, most: usize) -> Result<Vec<String>, Elsewhere> {
    if store.is_packed(PREFIX)? {
        return Err(Elsewhere);
    }
    let there = store.refs_directory(PREFIX)?;
    let names = fs::read_dir(&there).map_err(|_| Elsewhere)?;
    let ids = names.map(|entry| entry.ok()?.file_name().into_string().ok()).collect::<Option<BTreeSet<_>>>();
    let ids = ids.ok_or(Elsewhere)?;
    let beyond = ids.len().saturating_sub(most);
    Ok(ids.into_iter().take(beyond).collect())
}

/// Takes a point's refs away, all of them at once.
pub(super) fn forget(store: &Store, scratch: &Path, id: &str) -> Result<(), Elsewhere> {
    let there = store.refs_directory(PREFIX)?.join(id);
    let is_whole =
        |entry: io::Result<fs::DirEntry>| entry.and_then(|entry| entry.file_type()).is_ok_and(|kind| kind.is_file());
    // what has directories in it is not one of ours
    if !fs::read_dir(&there).map_err(|_| Elsewhere)?.all(is_whole) {
        return Err(Elsewhere);
    }
    let _ = fs::remove_dir_all(scratch);
    fs::rename(&there, scratch).and_then(|()| fs::remove_dir_all(scratch)).map_err(|_| Elsewhere)
}

impl From<Elsewhere> for NotKept {
    fn from(_: Elsewhere) -> Self {
        Self::Elsewhere
    }
}
