//! From what a merge could not decide to the unmerged paths that Git would leave in the index.
//! Trust: paths are the repository's; the library says what conflicts, the merged tree says what is where.

use super::{Conflict, Kind, scratch::Scratch, submodule};
use bulkhead_contract::failure::ReadFailure;
use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice as _},
    diff::tree_with_rewrites::Change,
    index::{State, entry::Flags},
    merge::plumbing::tree::{
        self, Resolution, ResolutionFailure, TreatAsUnresolved, apply_index_entries, apply_index_entries::RemovalMode,
    },
    objs::{FindExt as _, tree::EntryMode},
};
use std::collections::{BTreeMap, BTreeSet};

/// The unmerged paths that `conflicts` leave beside `merged`, the tree with everything else, by path.
pub(super) fn of(
    scratch: &Scratch<'_>,
    conflicts: &[tree::Conflict],
    merged: ObjectId,
    labels: [&str; 2],
) -> Result<Vec<Conflict>, ReadFailure> {
    let how = TreatAsUnresolved::git();
    let mut found: BTreeMap<Vec<u8>, Conflict> = BTreeMap::new();
    for conflict in conflicts.iter().filter(|conflict| conflict.is_unresolved(how)) {
        scratch.look()?;
        let entries = conflict.entries();
        let mut kind = kind_of(conflict);
        if kind == Kind::Submodule
            && let [Some(base), Some(ours), Some(theirs)] = entries
            && submodule::resolves(scratch, conflict.ours.location(), [base.id, ours.id, theirs.id])
        {
            continue;
        }
        let involved = names(conflict);
        let mut index = State::new(scratch.repo.git.object_hash());
        for path in &involved {
            if let Some((mode, id)) = lookup(scratch, merged, path)? {
                index.dangerously_push_entry(Default::default(), id, Flags::empty(), mode.into(), path.as_bstr());
            }
        }
        index.sort_entries();
        apply_index_entries(std::slice::from_ref(conflict), how, &mut index, RemovalMode::Prune);
        if matches!(kind, Kind::Content | Kind::AddAdd) {
            for entry in entries.iter().flatten().filter(|entry| entry.mode.is_blob()) {
                if is_binary(scratch, entry.id) {
                    kind = Kind::Binary;
                }
            }
        }
        let mut unmerged: BTreeSet<Vec<u8>> = index
            .entries()
            .iter()
            .filter(|entry| entry.stage_raw() != 0)
            .map(|entry| entry.path(&index).to_vec())
            .collect();
        if let [Some(_), Some(ours), Some(theirs)] = entries
            && kind == Kind::Other
            && let Some(label) = moved(ours.mode, theirs.mode, labels)
        {
            // Git keeps both: what is no file stays, the file goes beside it
            kind = Kind::Mode;
            let path: &[u8] = conflict.ours.location();
            unmerged.insert(path.to_vec());
            unmerged.insert([path, b"~", label.replace('/', "_").as_bytes()].concat());
        }
        for path in unmerged {
            let others = involved.iter().filter(|other| **other != path).cloned().collect();
            let one = Conflict { path: path.clone(), kind, involved: others };
            found.entry(path).or_insert(one);
        }
    }
    Ok(found.into_values().collect())
}

/// The label of the side whose regular file goes aside, where the two sides have different kinds of entry.
fn moved(ours: EntryMode, theirs: EntryMode, labels: [&str; 2]) -> Option<&str> {
    match (ours.is_blob(), theirs.is_blob()) {
        (true, false) if !theirs.is_tree() => Some(labels[0]),
        (false, true) if !ours.is_tree() => Some(labels[1]),
        _ => None,
    }
}

/// As Git tells it: a NUL among the first bytes.
fn is_binary(scratch: &Scratch<'_>, id: ObjectId) -> bool {
    let mut buffer = Vec::new();
    scratch.find_blob(&id, &mut buffer).is_ok_and(|blob| blob.data.iter().take(8_000).any(|&byte| byte == 0))
}

fn kind_of(conflict: &tree::Conflict) -> Kind {
    match &conflict.resolution {
        Ok(Resolution::OursModifiedTheirsModifiedThenBlobContentMerge { .. }) => {
            if conflict.entries()[0].is_none() {
                Kind::AddAdd
            } else {
                Kind::Content
            }
        }
        Ok(Resolution::OursModifiedTheirsRenamedAndChangedThenRename { final_location, .. }) => {
            if final_location.is_some() { Kind::DirectoryRename } else { Kind::Content }
        }
        Ok(_) => Kind::Other,
        Err(ResolutionFailure::OursRenamedTheirsRenamedDifferently { .. })
        | Err(ResolutionFailure::OursRenamedTheirsRenamedToSameLocation) => Kind::RenameRename,
        Err(ResolutionFailure::OursDeletedTheirsRenamed) => Kind::RenameDelete,
        Err(ResolutionFailure::OursModifiedTheirsDeleted) => Kind::ModifyDelete,
        Err(ResolutionFailure::SubmoduleMerge | ResolutionFailure::SubmoduleAddAdd) => Kind::Submodule,
        Err(
            ResolutionFailure::OursDirectoryTheirsNonDirectoryTheirsRenamed { .. }
            | ResolutionFailure::OursModifiedTheirsDirectoryThenOursRenamed { .. },
        ) => Kind::FileDirectory,
        Err(
            ResolutionFailure::OursAddedTheirsAddedTypeMismatch { .. }
            | ResolutionFailure::OursModifiedTheirsRenamedTypeMismatch,
        ) => Kind::Mode,
        Err(ResolutionFailure::Unknown) => Kind::Other,
    }
}

/// Every path that the conflict speaks of.
fn names(conflict: &tree::Conflict) -> BTreeSet<Vec<u8>> {
    let mut names = BTreeSet::new();
    let mut add = |path: &BStr| {
        names.insert(path.to_vec());
    };
    for change in [&conflict.ours, &conflict.theirs] {
        add(change.location());
        if matches!(change, Change::Rewrite { .. }) {
            add(change.source_location());
        }
    }
    match &conflict.resolution {
        Ok(Resolution::OursModifiedTheirsRenamedAndChangedThenRename { final_location: Some(path), .. })
        | Ok(Resolution::SourceLocationAffectedByRename { final_location: path }) => add(path.as_bstr()),
        Err(ResolutionFailure::OursDirectoryTheirsNonDirectoryTheirsRenamed {
            renamed_unique_path_of_theirs: path,
        })
        | Err(ResolutionFailure::OursModifiedTheirsDirectoryThenOursRenamed {
            renamed_unique_path_to_modified_blob: path,
        })
        | Err(ResolutionFailure::OursAddedTheirsAddedTypeMismatch { their_unique_location: path }) => {
            add(path.as_bstr());
        }
        _ => {}
    }
    names
}

/// What the tree has at `path`, unless it is a directory.
pub(super) fn lookup(
    scratch: &Scratch<'_>,
    tree: ObjectId,
    path: &[u8],
) -> Result<Option<(EntryMode, ObjectId)>, ReadFailure> {
    let mut tree = tree;
    let mut buffer = Vec::new();
    let mut names = path.split(|&byte| byte == b'/').peekable();
    while let Some(name) = names.next() {
        let items = scratch.find_tree(&tree, &mut buffer).map_err(|_| scratch.failure())?;
        let Some(entry) = items.entries.iter().find(|entry| *entry.filename == *name) else { return Ok(None) };
        let (mode, id) = (entry.mode, entry.oid.to_owned());
        match (names.peek(), mode.is_tree()) {
            (None, false) => return Ok(Some((mode, id))),
            (Some(_), true) => tree = id,
            _ => return Ok(None),
        }
    }
    Ok(None)
}
