//! The one walk over the working tree: index entries and directory entries are merged in index order.
//! Trust: names come from the disk, entries from the checked index; what cannot be read is noted, never guessed.

use super::{
    Rules,
    attributes::Attributes,
    compare::{Comparison, Tracked, Verdict},
    disk::{Dir, Kind, Listing, Stat, key_order},
    ignore::Patterns,
    is_gone, rules,
    untracked::Untracked,
};
use crate::{
    changes::Letter,
    index::Snapshot,
    pace::{Pace, Stopped},
    settings::Settings,
    submodules::Inside,
};
use gix::{
    bstr::ByteSlice as _,
    index::{
        Entry,
        entry::{Flags, Mode},
    },
};
use std::cmp::Ordering;

/// Deepest directory that is entered. Each level on the way holds one descriptor, of which a worker has 512.
const MAX_DEPTH: usize = 256;

/// A tracked path that differs, in index order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Differs {
    /// Position of its first entry in the index.
    pub at: usize,
    /// How.
    pub what: What,
}

/// How a tracked path differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The worktree column.
    Changed {
        /// Its letter.
        letter: Letter,
        /// A filter was not run.
        filtered: bool,
        /// Of a submodule, what differs in it.
        inside: Option<Inside>,
    },
    /// Unmerged, with these stages: bit 0 for stage 1, bit 1 for stage 2, bit 2 for stage 3.
    Unmerged(u8),
}

/// What the walk needs besides its own state.
pub struct Walk<'a> {
    /// The repository, for objects.
    pub repo: &'a gix::Repository,
    /// The index.
    pub index: &'a Snapshot,
    /// Resolved configuration.
    pub settings: Settings,
    /// Ignore patterns that apply everywhere.
    pub patterns: Patterns,
    /// Attributes that apply everywhere.
    pub attributes: Attributes,
    /// Compares files.
    pub comparison: Comparison<'a>,
    /// What is inside the submodule at this position of the index, whose directory is there.
    pub submodule: &'a mut dyn FnMut(usize) -> Inside,
    /// Whether the directory at this path, which is no submodule, is the top of a repository with a commit.
    pub is_repository: &'a dyn Fn(&[u8]) -> bool,
    /// Time left.
    pub pace: &'a Pace,
    /// Tracked paths that differ.
    pub differs: Vec<Differs>,
    /// Untracked paths.
    pub untracked: Untracked,
    /// The first path that could not be read.
    pub unreadable: Option<Vec<u8>>,
}

impl Walk<'_> {
    /// Walks from the top.
    ///
    /// # Errors
    /// [`Stopped`]; what was found until then stays.
    pub fn run(&mut self, top: Dir) -> Result<(), Stopped> {
        self.directory(top, &mut Vec::new(), 0, self.index.state.entries().len(), false, 0)
    }

    /// The directory at `prefix`, in which the entries `at..end` lie. `excluded` says that it is ignored as a whole.
    fn directory(
        &mut self,
        mut dir: Dir,
        prefix: &mut Vec<u8>,
        at: usize,
        end: usize,
        excluded: bool,
        depth: usize,
    ) -> Result<(), Stopped> {
        let listing = match dir.list() {
            Ok(listing) => listing,
            Err(e) => {
                if is_gone(&e) {
                    self.deleted(at, end)?;
                } else {
                    self.note(prefix);
                }
                return Ok(());
            }
        };
        self.pace.step(1)?;
        let ignores = !excluded && self.enter_ignore(&dir, &listing, prefix);
        let attributes = self.enter_attributes(&dir, &listing, prefix);
        let walked = self.merge(&dir, &listing, prefix, at, end, excluded, depth);
        if ignores {
            self.patterns.pop();
        }
        if attributes {
            self.attributes.pop();
        }
        walked
    }

    pub(super) fn enter_ignore(&mut self, dir: &Dir, listing: &Listing, prefix: &[u8]) -> bool {
        let bytes = self.rules(dir, listing, prefix, b".gitignore", &self.index.ignores);
        bytes.is_some_and(|bytes| {
            self.patterns.push(&bytes, prefix);
            true
        })
    }

    fn enter_attributes(&mut self, dir: &Dir, listing: &Listing, prefix: &[u8]) -> bool {
        let bytes = self.rules(dir, listing, prefix, b".gitattributes", &self.index.attributes);
        bytes.is_some_and(|bytes| {
            self.attributes.push(&bytes, prefix);
            true
        })
    }

    /// The rule file `name` of the directory, if it is there; one that cannot be read makes the answer partial.
    fn rules(
        &mut self,
        dir: &Dir,
        listing: &Listing,
        prefix: &[u8],
        name: &[u8],
        indexed: &[usize],
    ) -> Option<Vec<u8>> {
        match rules(dir, listing, prefix, name, indexed, self.index, self.repo) {
            Rules::Absent => None,
            Rules::Bytes(bytes) => Some(bytes),
            Rules::Unreadable => {
                self.note(&[prefix, name].concat());
                None
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "one level of a recursion, all of it state of that level")]
    fn merge(
        &mut self,
        dir: &Dir,
        listing: &Listing,
        prefix: &mut Vec<u8>,
        mut at: usize,
        end: usize,
        excluded: bool,
        depth: usize,
    ) -> Result<(), Stopped> {
        let mut on_disk = 0;
        let length = prefix.len();
        // names of gitlinks and of files that are not there, which sort before a directory of the same name: Git shows
        // such a directory as part of that row and never as untracked
        let mut held: Vec<&[u8]> = Vec::new();
        loop {
            let tracked = (at < end).then(|| part(&self.index.path(at)[length..]));
            let listed = listing.get(on_disk);
            let order = match (tracked, listed) {
                (Some((name, is_dir)), Some((theirs, kind))) => key_order(name, is_dir, theirs, kind == Kind::Dir),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Ok(()),
            };
            if order != Ordering::Less {
                on_disk += 1;
            }
            match (tracked, listed) {
                (Some((name, true)), _) if order != Ordering::Greater => {
                    prefix.extend_from_slice(name);
                    prefix.push(b'/');
                    let beneath = self.child_end(prefix, at, end);
                    if order == Ordering::Equal {
                        self.child(dir, name, prefix, at, beneath, excluded, depth)?;
                    } else {
                        self.deleted(at, beneath)?;
                    }
                    at = beneath;
                }
                (Some((name, false)), _) if order != Ordering::Greater => {
                    if order == Ordering::Less {
                        held.push(name);
                    }
                    at = self.tracked(dir, name, at, end)?;
                }
                (_, Some((name, kind)))
                    if held.binary_search(&name).is_err() && !self.folded(name, kind, prefix, at, end) =>
                {
                    self.untracked(dir, name, kind, prefix, excluded, depth)?;
                }
                _ => {}
            }
            prefix.truncate(length);
        }
    }

    /// The position after all entries beneath `prefix`, the first of which is at `at`.
    fn child_end(&self, prefix: &[u8], at: usize, end: usize) -> usize {
        let entries = &self.index.state.entries()[at..end];
        let beneath = |entry: &Entry| entry.path(&self.index.state).starts_with(prefix);
        // most directories are small: look near before searching by halves
        let near = entries.len().min(16);
        if near < entries.len() && beneath(&entries[near]) {
            return at + entries.partition_point(beneath);
        }
        at + entries[..near].partition_point(beneath)
    }

    /// A directory that holds tracked files and is there.
    #[allow(clippy::too_many_arguments, reason = "one level of a recursion, all of it state of that level")]
    fn child(
        &mut self,
        dir: &Dir,
        name: &[u8],
        prefix: &mut Vec<u8>,
        at: usize,
        end: usize,
        excluded: bool,
        depth: usize,
    ) -> Result<(), Stopped> {
        if depth >= MAX_DEPTH {
            self.note(prefix);
            return Ok(());
        }
        let excluded = excluded || self.patterns.exclude(&prefix[..prefix.len() - 1], true);
        match dir.child(name) {
            Ok(child) => self.directory(child, prefix, at, end, excluded, depth + 1),
            Err(e) if is_gone(&e) => self.deleted(at, end),
            Err(_) => {
                self.note(prefix);
                Ok(())
            }
        }
    }

    /// The entries `at..end`, of which nothing is there.
    fn deleted(&mut self, mut at: usize, end: usize) -> Result<(), Stopped> {
        while at < end {
            self.pace.step(1)?;
            let entry = self.index.state.entry(at);
            if entry.stage_raw() != 0 {
                at = self.unmerged(at, end);
                continue;
            }
            if !entry.flags.intersects(Flags::SKIP_WORKTREE | Flags::ASSUME_VALID) && !entry.mode.is_sparse() {
                self.differs(at, Verdict { letter: Some(Letter::Deleted), filtered: false }, None);
            }
            at += 1;
        }
        Ok(())
    }

    /// The file or gitlink `name`, whose first entry is at `at`; gives the position after its last.
    fn tracked(&mut self, dir: &Dir, name: &[u8], at: usize, end: usize) -> Result<usize, Stopped> {
        self.pace.step(1)?;
        let index = self.index;
        let entry = index.state.entry(at);
        if entry.stage_raw() != 0 {
            return Ok(self.unmerged(at, end));
        }
        if entry.flags.contains(Flags::ASSUME_VALID) {
            return Ok(at + 1);
        }
        let skipped = entry.flags.contains(Flags::SKIP_WORKTREE);
        if skipped && !self.settings.sparse_checkout {
            return Ok(at + 1);
        }
        let path = index.path(at);
        let stat = match dir.stat(name) {
            Ok(stat) => stat,
            Err(e) if is_gone(&e) => {
                if !skipped {
                    self.differs(at, Verdict { letter: Some(Letter::Deleted), filtered: false }, None);
                }
                return Ok(at + 1);
            }
            Err(_) => {
                self.note(path);
                return Ok(at + 1);
            }
        };
        if entry.mode == Mode::COMMIT {
            self.gitlink(at, &stat);
        } else if stat.kind == Kind::Dir {
            let letter = if (self.is_repository)(path) { Letter::TypeChanged } else { Letter::Deleted };
            self.differs(at, Verdict { letter: Some(letter), filtered: false }, None);
        } else if entry.flags.contains(Flags::INTENT_TO_ADD) {
            self.differs(at, Verdict { letter: Some(Letter::Added), filtered: false }, None);
        } else {
            let file = Tracked { dir, name, path, entry };
            match self.comparison.file(file, &stat, &mut self.attributes, self.pace) {
                Ok(verdict) => self.differs(at, verdict?, None),
                Err(e) if is_gone(&e) => {
                    self.differs(at, Verdict { letter: Some(Letter::Deleted), filtered: false }, None);
                }
                Err(_) => self.note(path),
            }
        }
        Ok(at + 1)
    }

    fn gitlink(&mut self, at: usize, stat: &Stat) {
        if stat.kind != Kind::Dir {
            self.differs(at, Verdict { letter: Some(Letter::TypeChanged), filtered: false }, None);
            return;
        }
        let inside = (self.submodule)(at);
        if inside.any() {
            self.differs(at, Verdict { letter: Some(Letter::Modified), filtered: false }, Some(inside));
        }
    }

    fn unmerged(&mut self, at: usize, end: usize) -> usize {
        let path = self.index.path(at);
        let (mut next, mut stages) = (at, 0);
        while next < end && self.index.path(next) == path {
            stages |= 1u8 << (self.index.state.entry(next).stage_raw().clamp(1, 3) - 1);
            next += 1;
        }
        self.differs.push(Differs { at, what: What::Unmerged(stages) });
        next
    }

    fn differs(&mut self, at: usize, verdict: Verdict, inside: Option<Inside>) {
        if let Some(letter) = verdict.letter {
            let what = What::Changed { letter, filtered: verdict.filtered, inside };
            self.differs.push(Differs { at, what });
        }
    }

    pub(super) fn note(&mut self, path: &[u8]) {
        if self.unreadable.is_none() {
            self.unreadable = Some(path.to_vec());
        }
    }

    /// With `core.ignoreCase`, a name that the index holds in other letters is tracked.
    fn folded(&self, name: &[u8], kind: Kind, prefix: &[u8], at: usize, end: usize) -> bool {
        if !self.settings.ignore_case || at > end {
            return false;
        }
        let index = self.index;
        let start = index.state.entries().partition_point(|entry| entry.path(&index.state) < prefix.as_bstr());
        index.state.entries()[start..]
            .iter()
            .map(|entry| entry.path(&index.state))
            .take_while(|path| path.starts_with(prefix))
            .any(|path| {
                let (theirs, is_dir) = part(&path[prefix.len()..]);
                theirs.eq_ignore_ascii_case(name) && (is_dir == (kind == Kind::Dir))
            })
    }
}

impl std::fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").field("differs", &self.differs.len()).finish_non_exhaustive()
    }
}

/// The first name of a relative path, and whether it is a directory's.
fn part(path: &[u8]) -> (&[u8], bool) {
    match path.iter().position(|&byte| byte == b'/') {
        Some(slash) => (&path[..slash], true),
        None => (path, false),
    }
}
