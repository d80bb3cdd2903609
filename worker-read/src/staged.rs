//! The staged side of a status: HEAD's tree against the index, skipping every directory that the cache-tree proves equal.
//! Trust: trees and index are the repository's; the cache-tree's counts are checked, its ids are believed as Git does.

use crate::{
    changes::{Change, Letter, Side, normalised},
    index::Snapshot,
    pace::{Pace, Stopped},
    renames,
};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{
    ObjectId,
    index::{Entry, entry::Flags, extension::Tree as Node},
    objs::FindExt as _,
};
use std::cmp::Ordering;

const OPERATION: &str = "staged";
/// Deepest directory that is followed.
const MAX_DEPTH: usize = 512;
/// Bytes of one tree at most.
const MAX_TREE: u64 = 64 << 20;

/// Changed files at most; a tree that names itself over and over holds more than any memory.
const MAX_CHANGES: usize = 1_000_000;

/// Why the staged side is not complete.
#[derive(Debug)]
pub enum Unfinished {
    /// The call's time is over.
    Stopped(Stopped),
    /// The repository cannot be read.
    Failed(ReadFailure),
}

impl From<ReadFailure> for Unfinished {
    fn from(failure: ReadFailure) -> Self {
        Unfinished::Failed(failure)
    }
}

impl From<Stopped> for Unfinished {
    fn from(stopped: Stopped) -> Self {
        Unfinished::Stopped(stopped)
    }
}

/// All staged changes by path, renames detected. `head` is HEAD's tree; `None` on an unborn branch.
///
/// # Errors
/// See [`Unfinished`].
pub fn staged(
    repo: &gix::Repository,
    index: &Snapshot,
    head: Option<ObjectId>,
    pace: &Pace,
) -> Result<Vec<Change>, Unfinished> {
    let Staged { added, deleted, changed, .. } = sides(repo, index, head, pace)?;
    let blobs = renames::Blobs { repo, worktree: None };
    let mut all = renames::pair(deleted, added, blobs, pace)?;
    all.extend(changed.into_iter().map(|(old, new)| Change {
        letter: Letter::between(old.mode, new.mode),
        path: new.path,
        from: None,
    }));
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

/// What differs between a tree and the index, before renames are detected.
#[derive(Debug, Default)]
pub struct Staged {
    /// In the index alone.
    pub added: Vec<Side>,
    /// In the tree alone, or in the index only as what will be added.
    pub deleted: Vec<Side>,
    /// In both.
    pub changed: Vec<(Side, Side)>,
    /// Unmerged paths: the position of the first entry, and what the tree has.
    pub unmerged: Vec<(usize, Option<Side>)>,
}

/// Both sides of everything that differs between the tree `head` and the index.
///
/// # Errors
/// See [`Unfinished`].
pub fn sides(
    repo: &gix::Repository,
    index: &Snapshot,
    head: Option<ObjectId>,
    pace: &Pace,
) -> Result<Staged, Unfinished> {
    let mut walk = Walk { repo, index, entries: index.state.entries(), pace, found: Staged::default() };
    walk.directory(head, &mut Vec::new(), 0, walk.entries.len(), index.state.tree(), 0)?;
    Ok(walk.found)
}

struct Walk<'a> {
    repo: &'a gix::Repository,
    index: &'a Snapshot,
    entries: &'a [Entry],
    pace: &'a Pace,
    found: Staged,
}

/// An entry of a tree; the name of a directory ends in `/`.
struct Item {
    key: Vec<u8>,
    mode: u32,
    id: ObjectId,
}

impl Walk<'_> {
    /// Compares the tree `tree` with the entries `at..end`, all of which lie beneath `prefix`.
    fn directory(
        &mut self,
        tree: Option<ObjectId>,
        prefix: &mut Vec<u8>,
        mut at: usize,
        end: usize,
        node: Option<&Node>,
        depth: usize,
    ) -> Result<(), Unfinished> {
        if let (Some(tree), Some(node)) = (tree, node)
            && node.id == tree
            && node.num_entries.is_some_and(|count| count as usize == end - at)
        {
            return Ok(());
        }
        let items = tree.map_or(Ok(Vec::new()), |tree| self.tree(tree, depth))?;
        let mut items = items.into_iter().peekable();
        loop {
            self.pace.step(1)?;
            let child = (at < end).then(|| first_part(&self.index.path(at)[prefix.len()..]));
            let order = match (items.peek(), child) {
                (Some(item), Some(child)) => item.key.as_slice().cmp(child),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Ok(()),
            };
            let item = if order == Ordering::Greater { None } else { items.next() };
            let length = prefix.len();
            match (item, child.filter(|_| order != Ordering::Less)) {
                (Some(item), None) => self.removed(prefix, item, depth)?,
                (item, Some(child)) => {
                    prefix.extend_from_slice(child);
                    at = if child.ends_with(b"/") {
                        self.subdirectory(item, prefix, at, end, node, depth)?
                    } else {
                        self.file(item, prefix, at, end)
                    };
                }
                (None, None) => {}
            }
            prefix.truncate(length);
        }
    }

    fn subdirectory(
        &mut self,
        item: Option<Item>,
        prefix: &mut Vec<u8>,
        at: usize,
        end: usize,
        node: Option<&Node>,
        depth: usize,
    ) -> Result<usize, Unfinished> {
        let entry = &self.entries[at];
        let id = item.map(|item| item.id);
        if entry.mode.is_sparse() && self.index.path(at) == prefix.as_slice() {
            if id != Some(entry.id) {
                self.trees(id, entry.id, prefix, depth + 1)?;
            }
            return Ok(at + 1);
        }
        let name_start = prefix[..prefix.len() - 1].iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let name = &prefix[name_start..prefix.len() - 1];
        let child = node.and_then(|node| node.children.iter().find(|child| child.name.as_slice() == name));
        let beneath = |position: usize| self.index.path(position).starts_with(prefix);
        let claimed = child.and_then(|child| child.num_entries).map(|count| at + count as usize);
        let child_end = match claimed {
            Some(to) if to > at && to <= end && beneath(to - 1) && (to == end || !beneath(to)) => to,
            _ => at + self.entries[at..end].partition_point(|entry| entry.path(&self.index.state).starts_with(prefix)),
        };
        self.directory(id, prefix, at, child_end, child, depth + 1)?;
        Ok(child_end)
    }

    /// A file of the index, at `path`; gives the position after all its stages.
    fn file(&mut self, item: Option<Item>, path: &[u8], at: usize, end: usize) -> usize {
        let entry = &self.entries[at];
        if entry.stage_raw() != 0 {
            // an unmerged path has its own kind of row
            let old = item.map(|item| Side { path: path.to_vec(), mode: normalised(item.mode), id: item.id });
            self.found.unmerged.push((at, old));
            return at + self.entries[at..end].partition_point(|entry| entry.path(&self.index.state) == path);
        }
        let new = Side { path: path.to_vec(), mode: normalised(entry.mode.bits()), id: entry.id };
        let will_be_added = entry.flags.contains(Flags::INTENT_TO_ADD);
        match item {
            Some(old) => {
                let old_mode = normalised(old.mode);
                if will_be_added {
                    self.found.deleted.push(Side { mode: old_mode, id: old.id, ..new });
                } else if old_mode != new.mode || old.id != new.id {
                    self.found.changed.push((Side { path: new.path.clone(), mode: old_mode, id: old.id }, new));
                }
            }
            None if will_be_added => {}
            None => self.found.added.push(new),
        }
        at + 1
    }

    fn removed(&mut self, prefix: &[u8], item: Item, depth: usize) -> Result<(), Unfinished> {
        let path = [prefix, &item.key].concat();
        if !item.key.ends_with(b"/") {
            self.found.deleted.push(Side { path, mode: normalised(item.mode), id: item.id });
            return Ok(());
        }
        for child in self.tree(item.id, depth + 1)? {
            self.pace.step(1)?;
            self.removed(&path, child, depth + 1)?;
        }
        Ok(())
    }

    /// Two trees, of which the new one is a sparse directory of the index.
    fn trees(&mut self, old: Option<ObjectId>, new: ObjectId, prefix: &[u8], depth: usize) -> Result<(), Unfinished> {
        let mut olds = old.map_or(Ok(Vec::new()), |old| self.tree(old, depth))?.into_iter().peekable();
        let mut news = self.tree(new, depth)?.into_iter().peekable();
        loop {
            self.pace.step(1)?;
            let order = match (olds.peek(), news.peek()) {
                (Some(old), Some(new)) => old.key.cmp(&new.key),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Ok(()),
            };
            let old = if order == Ordering::Greater { None } else { olds.next() };
            let new = if order == Ordering::Less { None } else { news.next() };
            match (old, new) {
                (Some(old), None) => self.removed(prefix, old, depth)?,
                (Some(old), Some(new)) if old.id == new.id && normalised(old.mode) == normalised(new.mode) => {}
                (old, Some(new)) => {
                    let path = [prefix, &new.key].concat();
                    let mode = normalised(new.mode);
                    match old {
                        _ if new.key.ends_with(b"/") => self.trees(old.map(|old| old.id), new.id, &path, depth + 1)?,
                        Some(old) => {
                            let old = Side { path: path.clone(), mode: normalised(old.mode), id: old.id };
                            self.found.changed.push((old, Side { path, mode, id: new.id }));
                        }
                        None => self.found.added.push(Side { path, mode, id: new.id }),
                    }
                }
                (None, None) => {}
            }
        }
    }

    fn tree(&self, id: ObjectId, depth: usize) -> Result<Vec<Item>, Unfinished> {
        let failed = |reason, details: &str| Unfinished::Failed(ReadFailure::new(reason, OPERATION, details));
        if depth > MAX_DEPTH {
            return Err(failed(Reason::TooLarge, "HEAD's tree is nested too deeply."));
        }
        if self.found.deleted.len() + self.found.added.len() + self.found.changed.len() > MAX_CHANGES {
            return Err(failed(Reason::TooLarge, "HEAD's tree and the index differ in more than a million files."));
        }
        let size =
            self.repo.find_header(id).map_err(|_| failed(Reason::ObjectMissing, "A tree of HEAD is missing."))?.size();
        if size > MAX_TREE {
            return Err(failed(Reason::TooLarge, "A tree of HEAD is too large."));
        }
        let mut buffer = Vec::new();
        let tree = self
            .repo
            .objects
            .find_tree_iter(&id, &mut buffer)
            .map_err(|_| failed(Reason::Corrupt, "A tree of HEAD cannot be read."))?;
        let mut items: Vec<Item> = Vec::new();
        for entry in tree {
            self.pace.step(1)?;
            let entry = entry.map_err(|_| failed(Reason::Corrupt, "A tree of HEAD cannot be read."))?;
            let mut key = entry.filename.to_vec();
            if entry.mode.is_tree() {
                key.push(b'/');
            }
            if items.last().is_some_and(|last| last.key >= key) {
                return Err(failed(Reason::Corrupt, "A tree of HEAD is not in Git's order."));
            }
            items.push(Item { key, mode: u32::from(entry.mode.value()), id: entry.oid.to_owned() });
        }
        Ok(items)
    }
}

/// The first name of a relative path, with the `/` after it where there is one.
fn first_part(path: &[u8]) -> &[u8] {
    path.iter().position(|&byte| byte == b'/').map_or(path, |slash| &path[..=slash])
}
