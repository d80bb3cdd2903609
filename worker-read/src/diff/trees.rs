//! Two trees, directory by directory; what has the same id on both sides is never opened.
//! Trust: trees are the repository's; depth, sizes and the number of changes are bounded, order is checked.

use super::{pairs::Pair, paths::Paths};
use crate::{
    changes::{Side, normalised},
    pace::Pace,
    staged::Unfinished,
};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{
    ObjectId,
    objs::{FindExt as _, TreeRefIter, tree::EntryRef},
};
use std::cmp::Ordering;

const OPERATION: &str = "trees";
/// Deepest directory that is followed.
const MAX_DEPTH: usize = 512;
/// Bytes of one tree at most.
const MAX_TREE: u64 = 64 << 20;
/// Changed files at most.
const MAX_CHANGES: usize = 1_000_000;

/// All files that differ between `old` and `new`, either of which may be no tree at all, by path.
///
/// # Errors
/// Where a tree cannot be read, there are too many changes, or the time is over.
pub fn changes(
    git: &gix::Repository,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    paths: &Paths,
    pace: &Pace,
) -> Result<Vec<Pair>, Unfinished> {
    let mut walk = Walk { git, paths, pace, found: Vec::new() };
    if old != new {
        walk.directory(old, new, &mut Vec::new(), 0)?;
    }
    // a file and a directory of one name are the only ones out of order
    walk.found.sort_by(|a, b| a.path().cmp(b.path()));
    Ok(walk.found)
}

struct Walk<'a> {
    git: &'a gix::Repository,
    paths: &'a Paths,
    pace: &'a Pace,
    found: Vec<Pair>,
}

impl Walk<'_> {
    fn directory(
        &mut self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        prefix: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), Unfinished> {
        let (mut old_bytes, mut new_bytes) = (Vec::new(), Vec::new());
        let mut olds = Entries::of(self.tree(old, &mut old_bytes, depth)?);
        let mut news = Entries::of(self.tree(new, &mut new_bytes, depth)?);
        loop {
            self.pace.step(1)?;
            let order = match (olds.next()?, news.next()?) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => order(&old, &new),
            };
            let old = if order == Ordering::Greater { None } else { olds.take() };
            let new = if order == Ordering::Less { None } else { news.take() };
            self.entries(old, new, prefix, depth)?;
        }
    }

    /// One name, which stands for the same kind of thing on both sides.
    fn entries(
        &mut self,
        old: Option<EntryRef<'_>>,
        new: Option<EntryRef<'_>>,
        prefix: &mut Vec<u8>,
        depth: usize,
    ) -> Result<(), Unfinished> {
        if let (Some(old), Some(new)) = (&old, &new)
            && old.oid == new.oid
            && mode(old) == mode(new)
        {
            return Ok(());
        }
        let Some(any) = old.as_ref().or(new.as_ref()) else { return Ok(()) };
        let length = prefix.len();
        prefix.extend_from_slice(any.filename);
        if any.mode.is_tree() {
            prefix.push(b'/');
            if self.paths.reach_into(prefix) {
                let id = |entry: Option<EntryRef<'_>>| entry.map(|entry| entry.oid.to_owned());
                self.directory(id(old), id(new), prefix, depth + 1)?;
            }
        } else if self.paths.holds(prefix) {
            if self.found.len() >= MAX_CHANGES {
                return Err(failed(Reason::TooLarge, "More than a million files differ; narrow it by a path."));
            }
            let side =
                |entry: EntryRef<'_>| Side { path: prefix.clone(), mode: mode(&entry), id: entry.oid.to_owned() };
            self.found.push(Pair::new(old.map(side), new.map(side)));
        }
        prefix.truncate(length);
        Ok(())
    }

    fn tree<'b>(
        &self,
        id: Option<ObjectId>,
        buffer: &'b mut Vec<u8>,
        depth: usize,
    ) -> Result<TreeRefIter<'b>, Unfinished> {
        let Some(id) = id else { return Ok(TreeRefIter::from_bytes(&[], self.git.object_hash())) };
        if depth > MAX_DEPTH {
            return Err(failed(Reason::TooLarge, "A tree is nested too deeply."));
        }
        if self.git.find_header(id).map_err(|_| failed(Reason::ObjectMissing, "A tree is missing."))?.size() > MAX_TREE
        {
            return Err(failed(Reason::TooLarge, "A tree is too large."));
        }
        self.git.objects.find_tree_iter(&id, buffer).map_err(|_| failed(Reason::Corrupt, "A tree cannot be read."))
    }
}

/// The entries of one tree, the next of which can be looked at before it is taken.
struct Entries<'a> {
    rest: TreeRefIter<'a>,
    next: Option<EntryRef<'a>>,
}

impl<'a> Entries<'a> {
    fn of(rest: TreeRefIter<'a>) -> Self {
        Self { rest, next: None }
    }

    fn next(&mut self) -> Result<Option<EntryRef<'a>>, Unfinished> {
        if self.next.is_none() {
            let entry = self.rest.next().transpose();
            self.next = entry.map_err(|_| failed(Reason::Corrupt, "A tree cannot be read."))?;
        }
        Ok(self.next)
    }

    fn take(&mut self) -> Option<EntryRef<'a>> {
        self.next.take()
    }
}

fn mode(entry: &EntryRef<'_>) -> gix::index::entry::Mode {
    normalised(u32::from(entry.mode.value()))
}

/// Git's order: the name of a directory counts as if it ended in `/`.
fn order(old: &EntryRef<'_>, new: &EntryRef<'_>) -> Ordering {
    let is_dir = |entry: &EntryRef<'_>| entry.mode.is_tree();
    crate::worktree::disk::key_order(old.filename, is_dir(old), new.filename, is_dir(new))
}

fn failed(reason: Reason, details: &str) -> Unfinished {
    Unfinished::Failed(ReadFailure::new(reason, OPERATION, details))
}
