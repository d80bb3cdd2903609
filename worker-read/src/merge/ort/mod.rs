//! The merge of three trees by the rules of `merge-ort` (git 2.47): what is merged, and which paths stay unmerged.
//! Trust: trees, names and contents are the repository's; depth, paths and comparisons are bounded, nothing is run.
//!
//! In order: [`collect`] walks the three trees side by side and keeps what differs; [`pairs`] finds the files that either
//! side renamed, as far as anything depends on it; [`directories`] finds renamed directories in them and moves what the
//! other side added there; [`renamed`] brings the versions of a renamed file together; [`entries`] decides every path, the
//! deepest first, and writes the merged tree; [`contents`] merges two versions of one file.

mod collect;
mod contents;
mod directories;
mod entries;
mod pairs;
mod renamed;

use super::{Conflict, Kind, resources::Resources, scratch::Scratch};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{
    ObjectId,
    objs::{FindExt as _, tree::EntryKind},
    revision::plumbing::merge_base,
};
use std::collections::BTreeMap;

/// Paths of one merge at most.
const MAX_PATHS: usize = 400_000;
/// Merges of merge bases inside each other at most.
const MAX_LEVELS: u8 = 16;
/// What the sides of a merge of two merge bases are called.
const TEMPORARY: [&str; 2] = ["Temporary merge branch 1", "Temporary merge branch 2"];

/// What a tree has in one place.
type Entry = (EntryKind, ObjectId);
/// Positions of the base and of both sides wherever three of something stand together, and the bit of each.
const BASE: usize = 0;

/// How a merge ended.
#[derive(Debug)]
pub(super) struct Merged {
    /// As far as it could be merged.
    pub(super) tree: ObjectId,
    /// What Git would complain about, by path.
    pub(super) conflicts: Vec<Conflict>,
}

/// A commit, or one that exists only as the merge of others.
#[derive(Debug, Clone)]
struct Tip {
    /// The commit, or those that were merged.
    commits: Vec<ObjectId>,
    tree: ObjectId,
}

/// Merges two commits, over their merged merge bases.
///
/// # Errors
/// Where objects are missing or damaged, something is too large, or the call was stopped.
pub(super) fn commits(
    scratch: &Scratch<'_>,
    resources: &mut Resources,
    [ours, theirs]: [ObjectId; 2],
    labels: [&str; 2],
) -> Result<Merged, ReadFailure> {
    let ours = tip(scratch, ours)?;
    let theirs = tip(scratch, theirs)?;
    recursive(scratch, resources, [&ours, &theirs], labels, 0)
}

fn recursive(
    scratch: &Scratch<'_>,
    resources: &mut Resources,
    [ours, theirs]: [&Tip; 2],
    labels: [&str; 2],
    level: u8,
) -> Result<Merged, ReadFailure> {
    if level > MAX_LEVELS {
        return Err(too_much("The histories cross each other too often to be merged here."));
    }
    // the youngest comes last, so that the oldest are merged first
    let mut bases = bases(scratch, ours, theirs)?.into_iter().rev();
    let mut base = match bases.next() {
        Some(first) => tip(scratch, first)?,
        None => Tip { commits: Vec::new(), tree: ObjectId::empty_tree(scratch.repo.git.object_hash()) },
    };
    for next in bases {
        let next = tip(scratch, next)?;
        let merged = recursive(scratch, resources, [&base, &next], TEMPORARY, level + 1)?;
        base = Tip { commits: [base.commits, next.commits].concat(), tree: merged.tree };
    }
    at_level(scratch, resources, [base.tree, ours.tree, theirs.tree], labels, level)
}

fn tip(scratch: &Scratch<'_>, id: ObjectId) -> Result<Tip, ReadFailure> {
    let mut buffer = Vec::new();
    let commit = scratch.find_commit(&id, &mut buffer).map_err(|_| scratch.failure())?;
    Ok(Tip { commits: vec![id], tree: commit.tree() })
}

/// The merge bases as Git lists them; a merged one has the ancestors of all that it was merged from.
fn bases(scratch: &Scratch<'_>, ours: &Tip, theirs: &Tip) -> Result<Vec<ObjectId>, ReadFailure> {
    let (one, others) = match (&ours.commits[..], &theirs.commits[..]) {
        ([], _) | (_, []) => return Ok(Vec::new()),
        (many, &[one]) | (&[one], many) => (one, many),
        _ => return Err(too_much("The histories cross each other too often to be merged here.")),
    };
    let graph = scratch.repo.commit_graph();
    let mut graph = gix::revwalk::Graph::new(scratch, graph.as_deref());
    let bases = merge_base(one, others, &mut graph).map_err(|_| scratch.failure())?;
    Ok(bases.map(Into::into).unwrap_or_default())
}

/// Merges three trees: base, ours, theirs.
///
/// # Errors
/// As [`commits`].
pub(super) fn trees(
    scratch: &Scratch<'_>,
    resources: &mut Resources,
    trees: [ObjectId; 3],
    labels: [&str; 2],
) -> Result<Merged, ReadFailure> {
    at_level(scratch, resources, trees, labels, 0)
}

fn at_level(
    scratch: &Scratch<'_>,
    resources: &mut Resources,
    trees: [ObjectId; 3],
    labels: [&str; 2],
    level: u8,
) -> Result<Merged, ReadFailure> {
    scratch.look()?;
    let (paths, sides) = collect::all(scratch, trees)?;
    let mut merge = Merge { scratch, resources, labels, level, paths, unmerged: BTreeMap::new() };
    let renames = merge.renames(sides)?;
    merge.bring_together(&renames)?;
    let tree = merge.decide()?;
    Ok(Merged { tree, conflicts: merge.unmerged.into_values().collect() })
}

/// A merge under way.
struct Merge<'a, 'b> {
    scratch: &'a Scratch<'b>,
    resources: &'a mut Resources,
    labels: [&'a str; 2],
    /// How many merges of merge bases this one is inside of.
    level: u8,
    paths: Paths,
    unmerged: BTreeMap<Vec<u8>, Conflict>,
}

/// All paths that were met.
type Paths = BTreeMap<Vec<u8>, Slot>;

/// What is known of a path.
#[derive(Debug, Clone)]
enum Slot {
    /// How it was decided; nothing where it is gone.
    Clean(Option<Entry>),
    /// What is still to be decided.
    Open(Box<Open>),
}

/// A path on which the sides are not of one mind, or of which something was renamed.
#[derive(Debug, Clone, Default)]
struct Open {
    /// Of the base, ours and theirs.
    stages: [Option<Entry>; 3],
    /// Where each of them was, unless it was here.
    names: [Option<Vec<u8>>; 3],
    /// Which of them are files, a bit each.
    files: u8,
    /// Which are directories.
    dirs: u8,
    /// Which are the same: none, or two of the three.
    same: u8,
    /// A file on one side where another has a directory.
    beside_directory: bool,
    /// Renames alone make it a conflict.
    moved: bool,
    /// Of that conflict.
    kind: Option<Kind>,
    /// Other paths of it.
    involved: Vec<Vec<u8>>,
}

impl Open {
    fn name<'p>(&'p self, stage: usize, path: &'p [u8]) -> &'p [u8] {
        self.names[stage].as_deref().unwrap_or(path)
    }

    /// Takes the directories out of what is known of the path.
    fn without_directories(&mut self) {
        self.same &= !self.dirs;
        self.dirs = 0;
        for stage in 0..3 {
            if self.files & (1 << stage) == 0 {
                self.stages[stage] = None;
            }
        }
    }
}

impl Merge<'_, '_> {
    fn open(&self, path: &[u8]) -> Option<&Open> {
        match self.paths.get(path) {
            Some(Slot::Open(open)) => Some(open),
            _ => None,
        }
    }

    fn open_mut(&mut self, path: &[u8]) -> Option<&mut Open> {
        match self.paths.get_mut(path) {
            Some(Slot::Open(open)) => Some(open),
            _ => None,
        }
    }

    /// Complains about `path`; the first complaint stays.
    fn complain(&mut self, path: &[u8], kind: Kind, involved: &[Vec<u8>]) {
        let mut involved: Vec<Vec<u8>> = involved.iter().filter(|other| *other != path).cloned().collect();
        involved.sort_unstable();
        involved.dedup();
        let conflict = Conflict { path: path.to_vec(), kind, involved };
        self.unmerged.entry(path.to_vec()).or_insert(conflict);
    }

    /// A path beside `path` that names the side of its file (Git's `unique_path`).
    fn beside(&self, path: &[u8], side: usize) -> Vec<u8> {
        let label = self.labels[side - 1].replace('/', "_");
        let plain = [path, b"~", label.as_bytes()].concat();
        let mut unique = plain.clone();
        let mut number = 0;
        while self.paths.contains_key(&unique) {
            unique = [&plain[..], format!("_{number}").as_bytes()].concat();
            number += 1;
        }
        unique
    }
}

/// Whether two entries are of one kind: files, links, or submodules.
fn same_kind(one: EntryKind, two: EntryKind) -> bool {
    let kind = |kind| if kind == EntryKind::BlobExecutable { EntryKind::Blob } else { kind };
    kind(one) == kind(two)
}

fn is_file(kind: EntryKind) -> bool {
    same_kind(kind, EntryKind::Blob)
}

/// The directory that holds `path`; the top for a name alone.
fn parent(path: &[u8]) -> &[u8] {
    path.iter().rposition(|&byte| byte == b'/').map_or(b"", |at| &path[..at])
}

fn too_much(details: &str) -> ReadFailure {
    ReadFailure::new(Reason::TooLarge, "merge", details)
}
