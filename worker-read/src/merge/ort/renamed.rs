//! Brings the versions of a renamed file together, so that each place knows all that has to be merged there.
//! Trust: as far as that of the walk and of the renames.

use super::{BASE, Kind, Merge, Open, Slot, directories::Rename, is_file};
use bulkhead_contract::failure::ReadFailure;

impl Merge<'_, '_> {
    /// Goes through all renames, sorted by where the file was.
    pub(super) fn bring_together(&mut self, renames: &[Rename]) -> Result<(), ReadFailure> {
        let mut at = 0;
        while let Some(rename) = renames.get(at) {
            at += 1;
            // decided without it, or gone with a directory
            let Some(old) = self.open(&rename.from).cloned() else { continue };
            match renames.get(at).filter(|next| next.from == rename.from) {
                Some(next) => {
                    at += 1;
                    if next.to == rename.to {
                        self.renamed_alike(rename, &old);
                    } else {
                        self.renamed_apart(rename, next, &old)?;
                    }
                }
                None => self.renamed_once(rename, &old)?,
            }
        }
        Ok(())
    }

    /// Decides that no file is left here; a directory of that name is seen to with what is in it.
    fn gone(&mut self, path: &[u8]) {
        self.paths.insert(path.to_vec(), Slot::Clean(None));
    }

    fn renamed_alike(&mut self, rename: &Rename, old: &Open) {
        let Some(new) = self.open_mut(&rename.to) else { return };
        new.stages[BASE] = old.stages[BASE];
        new.files |= 1;
        new.names[BASE] = Some(rename.from.clone());
        self.gone(&rename.from);
    }

    fn renamed_apart(&mut self, ours: &Rename, theirs: &Rename, old: &Open) -> Result<(), ReadFailure> {
        let one = self.open(&ours.to).and_then(|open| open.stages[1]);
        let two = self.open(&theirs.to).and_then(|open| open.stages[2]);
        let (Some(one), Some(two)) = (one, two) else { return Ok(()) };
        if super::same_kind(one.0, two.0) {
            let names: [&[u8]; 3] = [&ours.from, &ours.to, &theirs.to];
            let longer = 1 + 2 * self.level;
            let merged = self.content(&ours.from, old.stages[BASE], [one, two], names, longer)?;
            let kept_ours = !merged.clean && merged.entry == Some(one);
            if let Some(open) = self.open_mut(&ours.to) {
                open.stages[1] = merged.entry;
            }
            if let Some(open) = self.open_mut(&theirs.to) {
                open.stages[2] = if kept_ours { Some(two) } else { merged.entry };
            }
        }
        let all = [ours.from.clone(), ours.to.clone(), theirs.to.clone()];
        for path in &all {
            if let Some(open) = self.open_mut(path) {
                open.moved = true;
                open.kind = Some(Kind::RenameRename);
                open.involved.extend(all.iter().cloned());
            }
        }
        Ok(())
    }

    fn renamed_once(&mut self, rename: &Rename, old: &Open) -> Result<(), ReadFailure> {
        let (side, other) = (rename.side, 3 - rename.side);
        let Some(new) = self.open(&rename.to).cloned() else { return Ok(()) };
        let deleted = old.files == 1;
        let mut collides = new.files & (1 << other) != 0;
        let kind_of = |open: &Open, stage: usize| open.stages[stage].is_some_and(|(kind, _)| is_file(kind));
        let retyped = !deleted && kind_of(old, other) != kind_of(&new, side);
        // an unseen rename, because something of another kind stands where the file was
        collides &= !retyped;
        let involved = [rename.from.clone()];
        if collides && !deleted {
            let (Some(base), Some(moved), Some(stayed)) = (old.stages[BASE], new.stages[side], old.stages[other])
            else {
                return Ok(());
            };
            let mut versions = [moved, stayed];
            let mut names: [&[u8]; 3] = [&rename.from, &rename.to, &rename.from];
            if side == 2 {
                versions.swap(0, 1);
                names.swap(1, 2);
            }
            if super::same_kind(moved.0, stayed.0) {
                let merged = self.content(&rename.from, Some(base), versions, names, 1 + 2 * self.level)?;
                if let Some(open) = self.open_mut(&rename.to) {
                    open.stages[side] = merged.entry;
                    open.collision(&involved);
                }
            }
        } else if collides {
            if let Some(open) = self.open_mut(&rename.to) {
                open.moved = true;
                open.kind.get_or_insert(Kind::RenameDelete);
                open.involved.extend(involved);
            }
        } else if let Some(open) = self.open_mut(&rename.to) {
            open.stages[BASE] = old.stages[BASE];
            open.files |= 1;
            open.names[BASE] = Some(rename.from.clone());
            open.involved.extend(involved);
            if deleted && !retyped {
                open.moved = true;
                open.kind.get_or_insert(Kind::RenameDelete);
            } else if !retyped {
                open.stages[other] = old.stages[other];
                open.files |= 1 << other;
                open.names[other] = Some(rename.from.clone());
            }
            if retyped && let Some(old) = self.open_mut(&rename.from) {
                old.stages[BASE] = None;
                old.files &= 6;
            }
        }
        if !retyped {
            self.gone(&rename.from);
        }
        Ok(())
    }
}

impl Open {
    /// Another file of either side was renamed to this place, too.
    fn collision(&mut self, involved: &[Vec<u8>]) {
        let renamed_before = !self.involved.is_empty();
        self.involved.extend_from_slice(involved);
        if renamed_before {
            self.kind.get_or_insert(Kind::RenameRename);
        }
    }
}
