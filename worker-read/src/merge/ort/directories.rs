//! Directories that one side renamed, and what the other side added or moved there.
//! Trust: names are the repository's; a directory counts as renamed where a majority of its files went to one other.

use super::{
    Kind, Merge, Open, Slot,
    collect::Side,
    pairs::{Counts, Found},
    parent,
};
use crate::merge::resources::DirectoryRenames;
use bulkhead_contract::failure::ReadFailure;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A rename by one side.
#[derive(Debug, Clone)]
pub(super) struct Rename {
    pub(super) from: Vec<u8>,
    pub(super) to: Vec<u8>,
    /// 1 for ours, 2 for theirs.
    pub(super) side: usize,
}

/// New by old name.
type Renamed = BTreeMap<Vec<u8>, Vec<u8>>;
/// Where files of one side would go with the other side's directories: which, and whether somebody was told already.
type Collisions = HashMap<Vec<u8>, (BTreeSet<Vec<u8>>, bool)>;

impl Merge<'_, '_> {
    /// Finds all renames of both sides, sorted by where the file was; ours come first.
    pub(super) fn renames(&mut self, [ours, theirs]: [Side; 2]) -> Result<Vec<Rename>, ReadFailure> {
        // nothing is renamed where nobody wants to know, and then no directory is either
        let idle = |side: &Side| side.pairs.is_empty() || side.wanted.is_empty();
        if idle(&ours) && idle(&theirs) {
            return Ok(Vec::new());
        }
        let (ours, our_counts) = self.pairs(ours)?;
        let (theirs, their_counts) = self.pairs(theirs)?;
        let mut directories = [Renamed::new(), Renamed::new()];
        if self.level == 0 && self.resources.directory_renames != DirectoryRenames::Off {
            directories = [self.majorities(our_counts), self.majorities(their_counts)];
            let [ours, theirs] = &mut directories;
            let both: Vec<Vec<u8>> = ours.keys().filter(|old| theirs.contains_key(*old)).cloned().collect();
            for old in both {
                ours.remove(&old);
                theirs.remove(&old);
            }
        }
        let mut collisions = [collisions(&directories[1], &ours), collisions(&directories[0], &theirs)];
        let mut all = Vec::new();
        for (side, found) in [(1, ours), (2, theirs)] {
            for mut found in found {
                let moved = self.moved(&found.to, side, &directories, &mut collisions);
                if !found.renamed && moved.is_none() {
                    continue;
                }
                if let Some(to) = moved {
                    self.move_with_directory(&mut found, to);
                }
                all.push(Rename { from: found.from, to: found.to, side });
            }
        }
        all.sort_by(|a, b| a.from.cmp(&b.from));
        Ok(all)
    }

    /// Where each directory went; complains where its files went apart.
    fn majorities(&mut self, counts: Counts) -> Renamed {
        let mut renamed = Renamed::new();
        for (old, counts) in counts {
            let Some(&most) = counts.values().max() else { continue };
            let mut best = counts.into_iter().filter(|(_, count)| *count == most).map(|(new, _)| new);
            match (best.next(), best.next()) {
                (Some(new), None) => drop(renamed.insert(old, new)),
                _ => self.complain(&old, Kind::DirectoryRename, &[]),
            }
        }
        renamed
    }

    /// Where `path`, which `side` added, goes with a directory that the other side renamed.
    fn moved(
        &mut self,
        path: &[u8],
        side: usize,
        directories: &[Renamed; 2],
        collisions: &mut [Collisions; 2],
    ) -> Option<Vec<u8>> {
        let (own, other) = (side - 1, 2 - side);
        if directories[other].is_empty() || collisions[other].contains_key(path) {
            return None;
        }
        let (old, new) = renamed_above(path, &directories[other])?;
        // not into a directory that this side itself renamed
        if directories[own].contains_key(new) {
            return None;
        }
        let target = with_directory(path, old, new);
        let in_the_way = match self.paths.get(&target) {
            None => false,
            Some(Slot::Clean(_)) => true,
            Some(Slot::Open(open)) => (open.files | open.dirs) & (1 << side) != 0,
        };
        let (sources, told) = collisions[own].get_mut(&target)?;
        if *told {
            return None;
        }
        if in_the_way || sources.len() > 1 {
            *told = true;
            let sources: Vec<Vec<u8>> = sources.iter().cloned().collect();
            self.complain(&target, Kind::DirectoryRename, &sources);
            return None;
        }
        Some(target)
    }

    /// Moves what is known of a file to the place that it gets in the renamed directory.
    fn move_with_directory(&mut self, found: &mut Found, to: Vec<u8>) {
        let Some(known) = self.open(&found.to) else { return };
        if !(known.files == 2 || known.files == 4) {
            return;
        }
        let mut moving = known.clone();
        if moving.dirs == 0 {
            self.paths.remove(&found.to);
        } else {
            // the directory of that name stays until everything in it is decided
            self.paths.insert(found.to.clone(), Slot::Clean(None));
            moving.without_directories();
            moving.beside_directory = false;
        }
        let mut above = parent(&to);
        while !above.is_empty() && !self.paths.contains_key(above) {
            let directory = Open { dirs: moving.files, ..Open::default() };
            self.paths.insert(above.to_vec(), Slot::Open(Box::new(directory)));
            above = parent(above);
        }
        let stage = usize::from(moving.files >> 1);
        // where it was goes along, for markers and messages
        moving.names[stage].get_or_insert_with(|| found.to.clone());
        let suggests = self.resources.directory_renames == DirectoryRenames::Suggested;
        let from = [found.to.clone(), found.from.clone()];
        let target = match self.paths.get_mut(&to) {
            Some(Slot::Open(open)) => {
                open.files |= moving.files;
                open.beside_directory |= open.dirs != 0;
                open.names[stage] = moving.names[stage].take();
                open.stages[stage] = moving.stages[stage];
                open
            }
            _ => {
                self.paths.insert(to.clone(), Slot::Open(Box::new(moving)));
                match self.paths.get_mut(&to) {
                    Some(Slot::Open(open)) => open,
                    _ => return,
                }
            }
        };
        if suggests {
            target.moved = true;
            target.kind.get_or_insert(Kind::DirectoryRename);
            target.involved.extend(from);
        }
        found.to = to;
    }
}

/// Which files of a side end where, with the directories that the other side renamed.
fn collisions(directories: &Renamed, found: &[Found]) -> Collisions {
    let mut all = Collisions::new();
    for found in found {
        if let Some((old, new)) = renamed_above(&found.to, directories) {
            all.entry(with_directory(&found.to, old, new)).or_default().0.insert(found.to.clone());
        }
    }
    all
}

/// The nearest directory above `path` that was renamed.
fn renamed_above<'a>(path: &[u8], directories: &'a Renamed) -> Option<(&'a [u8], &'a [u8])> {
    let mut above = parent(path);
    while !above.is_empty() {
        if let Some((old, new)) = directories.get_key_value(above) {
            return Some((old, new));
        }
        above = parent(above);
    }
    None
}

fn with_directory(path: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let rest = if new.is_empty() { &path[old.len() + 1..] } else { &path[old.len()..] };
    [new, rest].concat()
}
