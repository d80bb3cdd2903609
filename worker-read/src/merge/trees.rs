//! Files that differ between two trees, by path, without any rename.
//! Trust: trees are the repository's; their depth and the number of differences are bounded.

use super::scratch::Scratch;
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{
    ObjectId,
    objs::{FindExt as _, tree::EntryMode},
};
use std::collections::BTreeMap;

/// Deepest directory that is followed.
const MAX_DEPTH: usize = 512;
/// Differences of one commit at most.
const MAX_DIFFERENCES: usize = 200_000;

/// What a tree has in one place.
pub(super) type Entry = (EntryMode, ObjectId);

/// A file that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) path: Vec<u8>,
    pub(super) old: Option<Entry>,
    pub(super) new: Option<Entry>,
}

/// Calls `each` for every file that differs between `old` and `new`, trees or nothing, until it says stop.
pub(super) fn differences(
    scratch: &Scratch<'_>,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
    each: &mut dyn FnMut(Difference) -> bool,
) -> Result<(), ReadFailure> {
    let mut walk = Walk { scratch, each, met: 0 };
    walk.directory(&mut Vec::new(), old, new, 0).map(|_| ())
}

struct Walk<'a, 'b> {
    scratch: &'a Scratch<'b>,
    each: &'a mut dyn FnMut(Difference) -> bool,
    met: usize,
}

impl Walk<'_, '_> {
    /// False when it was told to stop.
    fn directory(
        &mut self,
        prefix: &mut Vec<u8>,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        depth: usize,
    ) -> Result<bool, ReadFailure> {
        if old == new {
            return Ok(true);
        }
        if depth > MAX_DEPTH {
            return Err(too_much("Directories are nested too deeply."));
        }
        let mut names: BTreeMap<Vec<u8>, [Option<Entry>; 2]> = BTreeMap::new();
        let mut buffer = Vec::new();
        for (side, tree) in [old, new].into_iter().enumerate() {
            let Some(tree) = tree else { continue };
            let tree = self.scratch.find_tree(&tree, &mut buffer).map_err(|_| self.scratch.failure())?;
            for entry in &tree.entries {
                self.scratch.step()?;
                names.entry(entry.filename.to_vec()).or_default()[side] = Some((entry.mode, entry.oid.to_owned()));
            }
        }
        for (name, [old, new]) in names {
            if old == new {
                continue;
            }
            let length = prefix.len();
            if length > 0 {
                prefix.push(b'/');
            }
            prefix.extend_from_slice(&name);
            let file = |entry: Option<Entry>| entry.filter(|(mode, _)| !mode.is_tree());
            let tree = |entry: Option<Entry>| entry.filter(|(mode, _)| mode.is_tree()).map(|(_, id)| id);
            let mut on = true;
            if file(old).is_some() || file(new).is_some() {
                self.met += 1;
                if self.met > MAX_DIFFERENCES {
                    return Err(too_much("One commit changes too many files."));
                }
                on = (self.each)(Difference { path: prefix.clone(), old: file(old), new: file(new) });
            }
            if on && (tree(old).is_some() || tree(new).is_some()) {
                on = self.directory(prefix, tree(old), tree(new), depth + 1)?;
            }
            prefix.truncate(length);
            if !on {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn too_much(details: &str) -> ReadFailure {
    ReadFailure::new(Reason::TooLarge, "rebase", details)
}
