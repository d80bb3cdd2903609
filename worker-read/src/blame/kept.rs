//! What was found of a file's lines, and the last such findings, which hold for good: they go by ids.
//! Trust: bounded by lines and commits; nothing here is read from anywhere.

use super::Version;
use gix::{ObjectId, index::entry::Mode};
use std::rc::Rc;

/// Findings that are kept.
const MAX_KEPT: usize = 16;
/// Bytes of all of them at most.
pub(crate) const KEPT_BYTES: usize = 1 << 20;

/// For each line of a version the commit that it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Blamed {
    /// Commits in no particular order.
    pub(crate) commits: Vec<ObjectId>,
    /// For each line a place among them.
    pub(crate) lines: Vec<u32>,
    /// Something could not be read; lines may come from an older commit than is said.
    pub(crate) incomplete: bool,
}

impl Blamed {
    pub(super) fn of(lines: u32) -> Self {
        Self { lines: vec![0; lines as usize], ..Self::default() }
    }

    pub(super) fn unreadable() -> Self {
        Self { incomplete: true, ..Self::default() }
    }

    /// The commit of the line at `at`, counted from zero.
    pub(crate) fn commit(&self, at: usize) -> Option<ObjectId> {
        self.commits.get(*self.lines.get(at)? as usize).copied()
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.commits[..]) + size_of_val(&self.lines[..])
    }
}

/// The last findings, the latest last.
#[derive(Debug, Default)]
pub(crate) struct Kept(Vec<(ObjectId, Version, Rc<Blamed>)>);

impl Kept {
    pub(super) fn get(&mut self, commit: ObjectId, version: &Version) -> Option<Rc<Blamed>> {
        let at = self.0.iter().position(|(of, kept, _)| *of == commit && kept == version)?;
        let found = self.0.remove(at);
        let blamed = Rc::clone(&found.2);
        self.0.push(found);
        Some(blamed)
    }

    /// What was found of the file `version`, a path, its mode and its id, in `commit`.
    pub(super) fn peek(&self, commit: ObjectId, version: (&[u8], Mode, ObjectId)) -> Option<Rc<Blamed>> {
        let is = |(of, kept, _): &&(ObjectId, Version, Rc<Blamed>)| {
            *of == commit && (&kept.path[..], kept.mode, kept.id) == version
        };
        self.0.iter().find(is).map(|(.., blamed)| Rc::clone(blamed))
    }

    pub(super) fn keep(&mut self, commit: ObjectId, version: &Version, blamed: &Rc<Blamed>) {
        if blamed.bytes() > KEPT_BYTES / 2 {
            return;
        }
        self.0.push((commit, version.clone(), Rc::clone(blamed)));
        while self.0.len() > MAX_KEPT || self.0.iter().map(|(.., blamed)| blamed.bytes()).sum::<usize>() > KEPT_BYTES {
            self.0.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gix::hash::Kind;

    #[test]
    fn the_last_findings_are_kept_within_bounds() {
        let id = ObjectId::null(Kind::Sha1);
        let version = |path: &str| Version { path: path.into(), mode: Mode::FILE, id };
        let blamed = |lines: usize| Rc::new(Blamed { lines: vec![0; lines], ..Blamed::default() });
        let mut kept = Kept::default();
        for number in 0..MAX_KEPT {
            kept.keep(id, &version(&number.to_string()), &blamed(1));
        }
        assert!(kept.get(id, &version("0")).is_some(), "and it is the latest now");
        kept.keep(id, &version("more"), &blamed(1));
        assert!(kept.get(id, &version("0")).is_some() && kept.get(id, &version("1")).is_none());
        kept.keep(id, &version("long"), &blamed(KEPT_BYTES / 8 - 100));
        assert!(kept.get(id, &version("long")).is_some());
        kept.keep(id, &version("longer"), &blamed(KEPT_BYTES / 8));
        kept.keep(id, &version("too long"), &blamed(KEPT_BYTES));
        assert!(kept.get(id, &version("too long")).is_none() && kept.get(id, &version("long")).is_some());
    }
}
