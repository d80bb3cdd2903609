//! Trees out of a sorted list of files.
//! Trust: paths were checked where they came from; what cannot be one tree is left to Git.

use super::{Answer, Elsewhere, Store, index::GITLINK};
use gix::{hash::ObjectId, objs::Kind as Object};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A file in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leaf<'p> {
    /// From the top; leaves stand in the order of these bytes.
    pub(crate) path: &'p [u8],
    pub(crate) mode: u32,
    pub(crate) id: ObjectId,
}

/// A tree while it is made.
pub(crate) struct Trees<'s, K> {
    pub(crate) store: &'s Store,
    /// The tree of a directory with so many leaves, where it is known and need not be made.
    pub(crate) known: K,
    /// The trees that were made, by directory.
    pub(crate) made: &'s mut HashMap<Vec<u8>, ObjectId>,
    /// Objects that were just kept, and need not be looked for.
    pub(crate) kept: &'s HashSet<ObjectId>,
}

impl<K: FnMut(&[u8], usize) -> Option<ObjectId>> Trees<'_, K> {
    /// Keeps the tree of all these leaves.
    ///
    /// # Errors
    /// An object is missing, a name is a file's and a directory's, or the disk is full.
    pub(crate) fn of(&mut self, leaves: &[Leaf<'_>]) -> Answer<ObjectId> {
        self.directory(leaves, 0)
    }

    /// Of those beneath one directory, whose name, with its slash, takes up so many bytes.
    fn directory(&mut self, leaves: &[Leaf<'_>], above: usize) -> Answer<ObjectId> {
        if let Some(first) = leaves.first()
            && let Some(id) = (self.known)(&first.path[..above.saturating_sub(1)], leaves.len())
            && self.store.has(&id)
        {
            return Ok(id);
        }
        let mut bytes = Vec::new();
        let mut names = BTreeSet::new();
        let mut rest = leaves;
        while let Some(first) = rest.first() {
            let name = &first.path[above..];
            let slash = name.iter().position(|byte| *byte == b'/');
            let name = &name[..slash.unwrap_or(name.len())];
            let (mode, id, length) = match slash {
                None => {
                    if first.mode != GITLINK && !self.kept.contains(&first.id) && !self.store.has(&first.id) {
                        return Err(Elsewhere);
                    }
                    (first.mode, first.id, 1)
                }
                Some(_) => {
                    let beneath = above + name.len() + 1;
                    let length = rest.iter().take_while(|leaf| leaf.path.starts_with(&first.path[..beneath])).count();
                    (0o040_000, self.directory(&rest[..length], beneath)?, length)
                }
            };
            if !names.insert(name) {
                return Err(Elsewhere);
            }
            bytes.extend_from_slice(format!("{mode:o} ").as_bytes());
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend_from_slice(id.as_slice());
            rest = &rest[length..];
        }
        let id = self.store.keep(Object::Tree, &bytes)?;
        if let Some(first) = leaves.first() {
            self.made.insert(first.path[..above.saturating_sub(1)].to_vec(), id);
        }
        Ok(id)
    }
}
