//! The three trees of a merge, walked side by side: what is decided at once, what is open, and what may have been renamed.
//! Trust: trees are the repository's; depth and number of paths are bounded.
//!
//! A directory that is the same in all three is not entered. One that only one side changed is entered last, and only
//! where files that this side deleted or moved have to be found again.

use super::{BASE, Entry, MAX_PATHS, Open, Paths, Slot, too_much};
use crate::merge::scratch::Scratch;
use bulkhead_contract::failure::ReadFailure;
use gix::{ObjectId, objs::FindExt as _};
use std::collections::{BTreeMap, HashMap};

/// Deepest directory that is entered.
const MAX_DEPTH: usize = 512;
/// The mask of a directory in which renames of the whole directory matter.
const MATTERS: u8 = 7;

/// Why it matters where a deleted file went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The other side changed it.
    Contents,
    /// It tells where its directory went.
    Place,
}

/// Why it matters where a removed directory went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Removed {
    /// It does not.
    Unwanted,
    /// For a directory above it.
    ForAncestor,
    /// The other side added something in it.
    ForItself,
}

/// A file that a side deleted or added.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub(super) path: Vec<u8>,
    pub(super) entry: Entry,
    pub(super) added: bool,
}

/// What one side changed that may be part of a rename.
#[derive(Debug, Default)]
pub(super) struct Side {
    pub(super) pairs: Vec<Pair>,
    pub(super) wanted: HashMap<Vec<u8>, Wanted>,
    pub(super) removed: HashMap<Vec<u8>, Removed>,
    /// Directories that this side alone changed, with their masks.
    put_off: Vec<(Vec<u8>, u8)>,
}

/// Walks base, ours and theirs.
pub(super) fn all(scratch: &Scratch<'_>, trees: [ObjectId; 3]) -> Result<(Paths, [Side; 2]), ReadFailure> {
    let mut walk = Walk { scratch, paths: Paths::new(), sides: Default::default(), puts_off: [true; 2] };
    walk.directory(b"", trees.map(Some), 0, 0)?;
    for side in 0..2 {
        let decided = walk.sides[side].wanted.is_empty();
        walk.puts_off[side] = decided;
        for (path, mask) in std::mem::take(&mut walk.sides[side].put_off) {
            if decided {
                walk.take(&path, side);
                continue;
            }
            let Some(Slot::Open(open)) = walk.paths.get_mut(&path) else { continue };
            open.same &= open.files;
            let trees = directories(open);
            walk.directory(&path, trees, mask, path.iter().filter(|&&byte| byte == b'/').count() + 1)?;
        }
        for (path, _) in std::mem::take(&mut walk.sides[side].put_off) {
            walk.take(&path, side);
        }
    }
    Ok((walk.paths, walk.sides))
}

fn directories(open: &Open) -> [Option<ObjectId>; 3] {
    let of = |stage: usize| open.stages[stage].filter(|_| open.dirs & (1 << stage) != 0).map(|(_, id)| id);
    [of(0), of(1), of(2)]
}

struct Walk<'a, 'b> {
    scratch: &'a Scratch<'b>,
    paths: Paths,
    sides: [Side; 2],
    puts_off: [bool; 2],
}

impl Walk<'_, '_> {
    /// Takes a whole directory as the side has it that alone changed it.
    fn take(&mut self, path: &[u8], side: usize) {
        if let Some(slot) = self.paths.get_mut(path)
            && let Slot::Open(open) = slot
        {
            *slot = Slot::Clean(open.stages[side + 1]);
        }
    }

    /// `mask` is the bit of the side that still has the directory which the other removed, or [`MATTERS`].
    fn directory(
        &mut self,
        prefix: &[u8],
        trees: [Option<ObjectId>; 3],
        mut mask: u8,
        depth: usize,
    ) -> Result<(), ReadFailure> {
        if depth > MAX_DEPTH {
            return Err(too_much("Directories are nested too deeply."));
        }
        let mut names: BTreeMap<Vec<u8>, [Option<Entry>; 3]> = BTreeMap::new();
        let mut buffer = Vec::new();
        for (stage, tree) in trees.into_iter().enumerate() {
            let Some(tree) = tree else { continue };
            let tree = self.scratch.find_tree(&tree, &mut buffer).map_err(|_| self.scratch.failure())?;
            for entry in &tree.entries {
                self.scratch.step()?;
                names.entry(entry.filename.to_vec()).or_default()[stage] =
                    Some((entry.mode.kind(), entry.oid.to_owned()));
            }
        }
        if self.paths.len() + names.len() > MAX_PATHS {
            return Err(too_much("The sides of the merge differ in directories with too many files."));
        }
        if (mask == 2 || mask == 4) && names.values().any(|stages| masks(stages).0 == mask) {
            mask = MATTERS;
        }
        for (name, stages) in names {
            let path = if prefix.is_empty() { name } else { [prefix, b"/", &name].concat() };
            self.path(prefix, path, stages, mask, depth)?;
        }
        Ok(())
    }

    fn path(
        &mut self,
        prefix: &[u8],
        path: Vec<u8>,
        stages: [Option<Entry>; 3],
        mut mask: u8,
        depth: usize,
    ) -> Result<(), ReadFailure> {
        let (files, dirs) = masks(&stages);
        let [base, ours, theirs] = stages;
        let same = match (ours.is_some() && ours == base, theirs.is_some() && theirs == base) {
            (true, true) => {
                self.paths.insert(path, Slot::Clean(base));
                return Ok(());
            }
            (true, false) => 3,
            (false, true) => 5,
            (false, false) if ours.is_some() && ours == theirs => 6,
            (false, false) => 0,
        };
        if files == 7 && same != 0 {
            self.paths.insert(path, Slot::Clean(if same == 3 { theirs } else { ours }));
            return Ok(());
        }
        self.note(prefix, &path, &stages, same & files, &mut mask);
        let mut open = Open { stages, files, dirs, same, beside_directory: files != 0 && dirs != 0, ..Open::default() };
        if dirs == 0 {
            self.paths.insert(path, Slot::Open(Box::new(open)));
            return Ok(());
        }
        let mut alone = match same {
            3 => Some(1),
            5 => Some(0),
            _ => None,
        };
        if files == 0 && (dirs == 2 || dirs == 4) {
            alone = Some(usize::from(dirs / 2 - 1));
        }
        if let Some(side) = alone
            && mask != MATTERS
            && self.puts_off[side]
        {
            self.sides[side].put_off.push((path.clone(), mask));
            self.paths.insert(path, Slot::Open(Box::new(open)));
            return Ok(());
        }
        open.same &= files;
        let trees = directories(&open);
        self.paths.insert(path.clone(), Slot::Open(Box::new(open)));
        self.directory(&path, trees, mask, depth + 1)
    }

    /// Notes what the path says about renames, of files and of directories.
    fn note(&mut self, prefix: &[u8], path: &[u8], stages: &[Option<Entry>; 3], same: u8, mask: &mut u8) {
        let (files, dirs) = masks(stages);
        if *mask != MATTERS && (dirs == 3 || dirs == 5) {
            *mask = dirs & !1;
        }
        if dirs == 1 || dirs == 3 || dirs == 5 {
            let value = if *mask == MATTERS { Removed::ForAncestor } else { Removed::Unwanted };
            for side in 0..2 {
                if dirs & (2 << side) == 0 {
                    self.sides[side].removed.insert(path.to_vec(), value);
                }
            }
        }
        if *mask == MATTERS && (files == 2 || files == 4) {
            let other = if files == 2 { 1 } else { 0 };
            self.sides[other].removed.insert(prefix.to_vec(), Removed::ForItself);
        }
        if files == 0 || files == 7 {
            return;
        }
        for side in 0..2 {
            let has = files & (2 << side) != 0;
            let had = files & 1 != 0;
            let stage = if has { side + 1 } else { BASE };
            let Some(entry) = stages[stage].filter(|_| has != had) else { continue };
            if had && (same == 0 || *mask == MATTERS) {
                let why = if same == 0 { Wanted::Contents } else { Wanted::Place };
                self.sides[side].wanted.insert(path.to_vec(), why);
            }
            self.sides[side].pairs.push(Pair { path: path.to_vec(), entry, added: has });
        }
    }
}

/// Which are files and which are directories, a bit each.
fn masks(stages: &[Option<Entry>; 3]) -> (u8, u8) {
    let (mut files, mut dirs) = (0, 0);
    for (stage, entry) in stages.iter().enumerate() {
        match entry {
            Some((gix::objs::tree::EntryKind::Tree, _)) => dirs |= 1 << stage,
            Some(_) => files |= 1 << stage,
            None => {}
        }
    }
    (files, dirs)
}
