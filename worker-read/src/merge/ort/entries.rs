//! Decides every path that is open, the deepest first, and writes the directories of the merged tree on the way.
//! Trust: as far as that of the walk; a directory that is still needed keeps its place, the file in its way is moved.

use super::{BASE, Entry, Kind, Merge, Open, Slot, is_file, parent, same_kind};
use bulkhead_contract::failure::ReadFailure;
use gix::{
    ObjectId,
    bstr::BString,
    objs::{self, Write as _, tree::EntryKind},
};
use std::collections::HashMap;

/// Entries of the directories that are not written yet.
type Written = HashMap<Vec<u8>, Vec<objs::tree::Entry>>;

impl Merge<'_, '_> {
    /// Gives the merged tree.
    pub(super) fn decide(&mut self) -> Result<ObjectId, ReadFailure> {
        let mut written = Written::new();
        let paths: Vec<Vec<u8>> = self.paths.keys().rev().cloned().collect();
        for path in paths {
            // everything below it comes before a directory
            let directory = self.directory(&path, &mut written)?;
            match self.paths.get(&path).cloned() {
                None => {}
                Some(Slot::Clean(entry)) => record(&mut written, &path, directory.or(entry)),
                Some(Slot::Open(open)) => {
                    record(&mut written, &path, directory);
                    self.path(path, *open, directory.is_some(), &mut written)?;
                }
            }
        }
        let top = self.directory(b"", &mut written)?;
        Ok(top.map_or_else(|| ObjectId::empty_tree(self.scratch.repo.git.object_hash()), |(_, id)| id))
    }

    /// Writes a directory of which all entries are there; none without any.
    fn directory(&self, path: &[u8], written: &mut Written) -> Result<Option<Entry>, ReadFailure> {
        let Some(mut entries) = written.remove(path) else { return Ok(None) };
        entries.sort_unstable();
        let tree = objs::Tree { entries };
        let id = self.scratch.write(&tree).map_err(|_| self.scratch.failure())?;
        Ok(Some((EntryKind::Tree, id)))
    }

    fn path(
        &mut self,
        mut path: Vec<u8>,
        mut open: Open,
        is_directory: bool,
        written: &mut Written,
    ) -> Result<(), ReadFailure> {
        if open.files == 0 {
            return Ok(());
        }
        let mut aside = 0;
        if open.dirs != 0 && !is_directory {
            // nothing is left of the directory
            open.beside_directory = false;
            open.without_directories();
        } else if open.dirs != 0 {
            if open.files == 1 {
                return Ok(());
            }
            aside = if open.dirs & 2 != 0 { 2 } else { 1 };
            open.without_directories();
            let to = self.beside(&path, aside);
            open.involved.push(path);
            open.kind.get_or_insert(Kind::FileDirectory);
            self.paths.insert(to.clone(), Slot::Clean(None));
            path = to;
        }
        let conflict = open.beside_directory || open.moved;
        let [base, ours, theirs] = open.stages;
        if open.same != 0 {
            let side = if open.same == 3 { theirs } else { ours };
            record(written, &path, side);
            if conflict && side.is_some() {
                self.unmerged(&path, &open, Kind::Other);
            }
            return Ok(());
        }
        match (open.files, ours, theirs) {
            (6 | 7, Some(ours), Some(theirs)) if !same_kind(ours.0, theirs.0) => {
                self.of_two_kinds(path, open, [ours, theirs], written)
            }
            (6 | 7, Some(ours), Some(theirs)) => {
                let names = [0, 1, 2].map(|stage| open.name(stage, &path).to_vec());
                let names = [&names[0][..], &names[1], &names[2]];
                let merged = self.content(&path, base, [ours, theirs], names, 2 * self.level)?;
                record(written, &path, merged.entry);
                if !merged.clean {
                    let kind = match merged.entry {
                        Some((EntryKind::Commit, _)) => Kind::Submodule,
                        _ if merged.binary => Kind::Binary,
                        _ if open.files == 6 => Kind::AddAdd,
                        _ if ours.1 == theirs.1 => Kind::Mode,
                        _ => Kind::Content,
                    };
                    self.unmerged(&path, &open, kind);
                } else if conflict {
                    if open.beside_directory && aside > 0 {
                        open.files = 1 << aside;
                    }
                    self.unmerged(&path, &open, Kind::Other);
                }
                Ok(())
            }
            (3 | 5, _, _) => {
                let side = if open.files == 3 { ours } else { theirs };
                record(written, &path, if self.level > 0 { base } else { side });
                self.unmerged(&path, &open, Kind::ModifyDelete);
                Ok(())
            }
            (2 | 4, _, _) => {
                record(written, &path, if open.files == 2 { ours } else { theirs });
                if conflict {
                    self.unmerged(&path, &open, Kind::Other);
                }
                Ok(())
            }
            _ => {
                // gone on both sides
                if open.moved {
                    self.unmerged(&path, &open, Kind::Other);
                }
                Ok(())
            }
        }
    }

    /// Two entries of different kinds: files go aside, and where there is none, both do.
    fn of_two_kinds(
        &mut self,
        path: Vec<u8>,
        open: Open,
        [ours, theirs]: [Entry; 2],
        written: &mut Written,
    ) -> Result<(), ReadFailure> {
        if self.level > 0 {
            record(written, &path, open.stages[BASE]);
            self.unmerged(&path, &open, Kind::Mode);
            return Ok(());
        }
        let both = !is_file(ours.0) && !is_file(theirs.0);
        let our_path = if is_file(ours.0) || both { self.beside(&path, 1) } else { path.clone() };
        let their_path =
            if !is_file(ours.0) && (is_file(theirs.0) || both) { self.beside(&path, 2) } else { path.clone() };
        let involved = [path, our_path.clone(), their_path.clone()];
        for (path, entry) in [(our_path, ours), (their_path, theirs)] {
            self.paths.insert(path.clone(), Slot::Clean(None));
            record(written, &path, Some(entry));
            let mut one = open.clone();
            one.involved.extend(involved.iter().cloned());
            self.unmerged(&path, &one, Kind::Mode);
        }
        Ok(())
    }

    fn unmerged(&mut self, path: &[u8], open: &Open, kind: Kind) {
        let mut involved = open.involved.clone();
        involved.extend(open.names.iter().flatten().cloned());
        self.complain(path, open.kind.unwrap_or(kind), &involved);
    }
}

fn record(written: &mut Written, path: &[u8], entry: Option<Entry>) {
    let Some((kind, id)) = entry else { return };
    let at = parent(path).len();
    let name = BString::from(if at == 0 { path } else { &path[at + 1..] });
    let entry = objs::tree::Entry { mode: kind.into(), filename: name, oid: id };
    written.entry(path[..at].to_vec()).or_default().push(entry);
}
