//! The two sides of each changed file, and which deleted and added files are one that was renamed.
//! Trust: paths, modes and ids are the repository's; the detection is bounded as that of a status is.

use crate::{
    changes::{Letter, Side},
    pace::{Pace, Stopped},
    renames,
};
use std::collections::HashSet;

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// What was there.
    pub old: Option<Side>,
    /// What is there.
    pub new: Option<Side>,
    /// Of a rename, how alike both are, of [`renames::WHOLE`].
    pub likeness: Option<u64>,
    /// The new side is the file in the working tree, whatever its id is.
    pub on_disk: bool,
    /// The new side is a submodule whose content differs from its commit.
    pub dirty: bool,
}

impl Pair {
    /// Of two sides that have ids.
    #[must_use]
    pub fn new(old: Option<Side>, new: Option<Side>) -> Self {
        Self { old, new, likeness: None, on_disk: false, dirty: false }
    }

    /// The path that it is listed under.
    #[must_use]
    pub fn path(&self) -> &[u8] {
        self.new.as_ref().or(self.old.as_ref()).map_or(&[], |side| &side.path)
    }

    /// The path that it had.
    #[must_use]
    pub fn from(&self) -> &[u8] {
        self.old.as_ref().or(self.new.as_ref()).map_or(&[], |side| &side.path)
    }

    /// As `git diff --name-status` has it.
    #[must_use]
    pub fn letter(&self) -> Letter {
        match (&self.old, &self.new) {
            (None, _) => Letter::Added,
            (_, None) => Letter::Deleted,
            _ if self.likeness.is_some() => Letter::Renamed,
            (Some(old), Some(new)) => Letter::between(old.mode, new.mode),
        }
    }
}

/// Turns pairs of a deleted and an added file that are one into one, and sorts all by path.
///
/// # Errors
/// [`Stopped`] when the time is over.
pub fn with_renames(
    pairs: Vec<Pair>,
    contents: renames::Contents<'_>,
    limit: usize,
    pace: &Pace,
) -> Result<Vec<Pair>, Stopped> {
    let (mut deleted, mut added, mut on_disk, mut all) = (Vec::new(), Vec::new(), HashSet::new(), Vec::new());
    for pair in pairs {
        match (pair.old, pair.new) {
            (Some(old), None) => deleted.push(old),
            (None, Some(new)) => {
                if pair.on_disk {
                    on_disk.insert(new.path.clone());
                }
                added.push(new);
            }
            (old, new) => all.push(Pair { old, new, ..pair }),
        }
    }
    deleted.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    added.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let sources = renames::sources(&deleted, &added, contents, limit, pace)?;
    let mut deleted: Vec<Option<Side>> = deleted.into_iter().map(Some).collect();
    for (new, source) in added.into_iter().zip(sources) {
        let old = source.and_then(|(at, _)| deleted[at].take());
        let on_disk = on_disk.contains(&new.path);
        all.push(Pair { likeness: source.map(|(_, likeness)| likeness), on_disk, ..Pair::new(old, Some(new)) });
    }
    all.extend(deleted.into_iter().flatten().map(|old| Pair::new(Some(old), None)));
    all.sort_by(|a, b| a.path().cmp(b.path()));
    Ok(all)
}
