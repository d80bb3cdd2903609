//! What the index or the working tree changes: pairs for `git diff`, `git diff --cached` and `git diff REVISION`.
//! Trust: found by the status walk and the staged walk, which state theirs; the index is never written.

use super::{
    attributes::Disk,
    combined::Unmerged,
    contents,
    pairs::{self, Pair},
    paths::Paths,
    trees,
};
use crate::{
    changes::{Letter, Side, normalised},
    index::Snapshot,
    pace::Pace,
    renames,
    repo::Repo,
    staged::{self, Staged, Unfinished},
    status::{self, Sides},
    submodules,
    worktree::{
        Untracked,
        walk::{Differs, What},
    },
};
use bulkhead_contract::results::Partial;
use gix::{
    ObjectId,
    index::entry::{Flags, Mode},
};
use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

/// Bytes of a file that is compared with others to find what was renamed at most.
const MAX_COMPARED: u64 = 32 << 20;

/// One thing to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A changed file.
    Pair(Pair),
    /// An unmerged path that is only named.
    Named(Vec<u8>),
    /// An unmerged path with two versions.
    Combined(Unmerged),
}

impl Item {
    /// The path that it is listed under.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        match self {
            Item::Pair(pair) => pair.path(),
            Item::Named(path) => path,
            Item::Combined(unmerged) => &unmerged.sides[0].path,
        }
    }
}

/// Items in the order in which they are printed.
#[derive(Debug, Default)]
pub struct Found {
    /// The items.
    pub items: Vec<Item>,
    /// What was left out.
    pub partial: Option<Partial>,
}

/// How far renames are looked for; `None` not at all.
pub type Renames = Option<usize>;

/// The index against the tree `base`.
///
/// # Errors
/// Where the tree or the index cannot be read, or the time is over.
pub fn staged(
    repo: &Repo,
    index: &Snapshot,
    base: Option<ObjectId>,
    paths: &Paths,
    renames: Renames,
    pace: &Pace,
) -> Result<Found, Unfinished> {
    let Staged { added, deleted, changed, unmerged } = staged::sides(&repo.git, index, base, pace)?;
    let mut all: Vec<Pair> = added.into_iter().map(|new| Pair::new(None, Some(new))).collect();
    all.extend(deleted.into_iter().map(|old| Pair::new(Some(old), None)));
    all.extend(changed.into_iter().map(|(old, new)| Pair::new(Some(old), Some(new))));
    all.retain(|pair| paths.holds(pair.path()));
    let disk = RefCell::new(Disk::new(repo, repo.index().ok()));
    let contents = |side: &Side| read(repo, &disk, side);
    let mut items: Vec<Item> = renamed(all, &contents, renames, pace)?.into_iter().map(Item::Pair).collect();
    let unmerged = unmerged.iter().map(|(at, _)| index.path(*at)).filter(|path| paths.holds(path));
    items.extend(unmerged.map(|path| Item::Named(path.to_vec())));
    items.sort_by(|a, b| a.path().cmp(b.path()));
    Ok(Found { items, partial: None })
}

/// The working tree against the index.
///
/// # Errors
/// As [`status::read`], or the time is over.
pub fn worktree(repo: &Repo, paths: &Paths, renames: Renames, pace: &Pace) -> Result<Found, Unfinished> {
    let sides = status::read(repo, Untracked::unwanted(), pace, 0).map_err(Unfinished::Failed)?;
    let index = Rc::clone(&sides.index);
    let disk = RefCell::new(Disk::new(repo, Some(Rc::clone(&index))));
    let (mut all, mut named, mut combined) = (Vec::new(), Vec::new(), Vec::new());
    for found in differing(&sides) {
        // each is looked at on disk once more
        pace.step(1)?;
        let path = index.path(found.at);
        if !paths.holds(path) {
            continue;
        }
        let side = entry_side(&index, found.at);
        match found.what {
            What::Changed { letter, .. } => {
                let old = (letter != Letter::Added).then(|| side.clone());
                all.extend(on_disk(repo, &mut disk.borrow_mut(), old, &side, found.what));
            }
            What::Unmerged(stages) => {
                let mode = disk.borrow_mut().mode(path, Some(side.mode));
                let stage = |wanted| stage(&index, found.at, wanted);
                if let (Some(ours), Some(theirs)) = (stage(2), stage(3)) {
                    combined.push(Item::Combined(Unmerged { sides: [ours, theirs], mode }));
                    continue;
                }
                named.push(Item::Named(path.to_vec()));
                if let Some(ours) = stage(2).filter(|_| stages & 2 != 0) {
                    all.push(disk_pair(Some(ours), path, mode));
                }
            }
        }
    }
    let contents = |side: &Side| read(repo, &disk, side);
    let mut rest = named;
    rest.extend(renamed(all, &contents, renames, pace)?.into_iter().map(Item::Pair));
    // stable: the name of an unmerged path comes before its pair
    rest.sort_by(|a, b| a.path().cmp(b.path()));
    combined.extend(rest);
    Ok(Found { items: combined, partial: sides.partial })
}

/// The working tree against the tree `base`.
///
/// # Errors
/// As [`worktree`] and [`staged()`].
pub fn worktree_and_tree(
    repo: &Repo,
    base: Option<ObjectId>,
    paths: &Paths,
    renames: Renames,
    pace: &Pace,
) -> Result<Found, Unfinished> {
    let sides = status::read(repo, Untracked::unwanted(), pace, 0).map_err(Unfinished::Failed)?;
    let index = Rc::clone(&sides.index);
    let Staged { added, deleted, changed, unmerged } = staged::sides(&repo.git, &index, base, pace)?;
    let disk = RefCell::new(Disk::new(repo, Some(Rc::clone(&index))));
    // by path: what the tree has and what the index has, where the two differ
    let mut at: BTreeMap<Vec<u8>, (Option<Side>, Option<Side>)> = BTreeMap::new();
    at.extend(added.into_iter().map(|new| (new.path.clone(), (None, Some(new)))));
    at.extend(deleted.into_iter().map(|old| (old.path.clone(), (Some(old), None))));
    at.extend(changed.into_iter().map(|(old, new)| (new.path.clone(), (Some(old), Some(new)))));
    let mut all = Vec::new();
    for (position, old) in unmerged {
        pace.step(1)?;
        let path = index.path(position);
        let mode = disk.borrow_mut().mode(path, Some(entry_side(&index, position).mode));
        all.push(disk_pair(old, path, mode));
    }
    for found in differing(&sides) {
        pace.step(1)?;
        if matches!(found.what, What::Unmerged(_)) {
            continue;
        }
        let side = entry_side(&index, found.at);
        let intended = index.state.entry(found.at).flags.contains(Flags::INTENT_TO_ADD);
        let old = match at.remove(&side.path) {
            Some((old, _)) => old,
            None => (!intended).then(|| side.clone()),
        };
        all.extend(on_disk(repo, &mut disk.borrow_mut(), old, &side, found.what));
    }
    all.extend(at.into_values().map(|(old, new)| Pair::new(old, new)));
    all.retain(|pair| paths.holds(pair.path()) && (pair.old.is_some() || pair.new.is_some()));
    let contents = |side: &Side| read(repo, &disk, side);
    let hash = repo.git.object_hash();
    // what is new is looked for among what is gone, so it needs an id first
    if all.iter().any(|pair| pair.new.is_none()) {
        for new in all.iter_mut().filter(|pair| pair.old.is_none() && pair.on_disk).filter_map(|pair| pair.new.as_mut())
        {
            pace.step(1)?;
            let bytes = if new.mode == Mode::COMMIT { None } else { contents(new) };
            let id = bytes.and_then(|(bytes, _)| gix::objs::compute_hash(hash, gix::objs::Kind::Blob, &bytes).ok());
            new.id = id.unwrap_or(new.id);
        }
    }
    // an id on disk says where the contents are only together with the path
    let places: std::collections::HashSet<Vec<u8>> =
        all.iter().filter(|pair| pair.on_disk).map(|pair| pair.path().to_vec()).collect();
    let contents = |side: &Side| {
        let side = if places.contains(&side.path) { Side { id: hash.null(), ..side.clone() } } else { side.clone() };
        contents(&side)
    };
    let items = renamed(all, &contents, renames, pace)?.into_iter().map(Item::Pair).collect();
    Ok(Found { items, partial: sides.partial })
}

/// Pairs with renames, by path.
fn renamed(
    mut all: Vec<Pair>,
    contents: renames::Contents<'_>,
    renames: Renames,
    pace: &Pace,
) -> Result<Vec<Pair>, Unfinished> {
    match renames {
        Some(limit) => Ok(pairs::with_renames(all, contents, limit, pace)?),
        None => {
            all.sort_by(|a, b| a.path().cmp(b.path()));
            Ok(all)
        }
    }
}

/// All that differs between index and working tree, renames taken apart again, in the order of the index.
fn differing(sides: &Sides) -> Vec<Differs> {
    let mut all = sides.differs.clone();
    let position = |path: &[u8]| sides.index.state.entry_index_by_path(path.into()).ok();
    for moved in &sides.moved {
        let ends = [(moved.from.as_deref(), Letter::Deleted), (Some(&moved.path[..]), Letter::Added)];
        for (path, letter) in ends {
            if let Some(at) = path.and_then(position) {
                all.push(Differs { at, what: What::Changed { letter, filtered: false, inside: None } });
            }
        }
    }
    all.sort_by_key(|found| found.at);
    all
}

fn entry_side(index: &Snapshot, at: usize) -> Side {
    let entry = index.state.entry(at);
    Side { path: index.path(at).to_vec(), mode: normalised(entry.mode.bits()), id: entry.id }
}

fn stage(index: &Snapshot, at: usize, wanted: u32) -> Option<Side> {
    let path = index.path(at);
    let stages = (at..index.state.entries().len()).take_while(|&at| index.path(at) == path);
    let mut found = stages.filter(|&at| index.state.entry(at).stage_raw() == wanted);
    found.next().map(|at| entry_side(index, at))
}

fn disk_pair(old: Option<Side>, path: &[u8], mode: Option<Mode>) -> Pair {
    let null = gix::hash::Kind::Sha1.null();
    let new =
        mode.map(|mode| Side { path: path.to_vec(), mode, id: old.as_ref().map_or(null, |old| old.id.kind().null()) });
    Pair { on_disk: new.is_some(), ..Pair::new(old, new) }
}

/// The pair of `old` and what is on disk at the path of `entry`, which differs from the index as `what` says.
fn on_disk(repo: &Repo, disk: &mut Disk<'_>, old: Option<Side>, entry: &Side, what: What) -> Option<Pair> {
    let What::Changed { letter, inside, .. } = what else { return None };
    if letter == Letter::Deleted {
        return Some(Pair::new(old, None));
    }
    let mode = disk.mode(&entry.path, Some(entry.mode));
    if mode != Some(Mode::COMMIT) {
        return Some(disk_pair(old, &entry.path, mode));
    }
    let head = || submodules::checked_out(repo, &entry.path)?.refs.head().ok()?.id;
    let inside = inside.unwrap_or_default();
    let id = if entry.mode == Mode::COMMIT && !inside.commit { Some(entry.id) } else { head() };
    let new = id.map(|id| Side { path: entry.path.clone(), mode: Mode::COMMIT, id });
    Some(Pair { dirty: inside.modified, ..Pair::new(old, new) })
}

/// Contents of a side, which are on disk where its id is null, and whether they are text.
fn read(repo: &Repo, disk: &RefCell<Disk<'_>>, side: &Side) -> Option<(Vec<u8>, bool)> {
    let mut disk = disk.borrow_mut();
    let bytes = match side.id.is_null() {
        true => disk.contents(&side.path, side.mode, MAX_COMPARED),
        false => contents::blob(repo, &side.id, MAX_COMPARED),
    }
    .ok()?;
    let decided = super::patch::decided(repo, &disk.rule(&side.path).diff);
    let is_text = !decided.unwrap_or_else(|| contents::is_binary(&bytes));
    Some((bytes, is_text))
}

/// All files that differ between two trees, renames detected.
///
/// # Errors
/// As [`trees::changes`].
pub fn trees(
    repo: &Repo,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    paths: &Paths,
    renames: Renames,
    pace: &Pace,
) -> Result<Vec<Pair>, Unfinished> {
    let pairs = trees::changes(&repo.git, old, new, paths, pace)?;
    let index = if repo.is_bare() { None } else { repo.index().ok() };
    let disk = RefCell::new(Disk::new(repo, index));
    renamed(pairs, &|side| read(repo, &disk, side), renames, pace)
}
