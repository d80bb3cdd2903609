//! The one walk over the working tree: index entries and directory entries are merged in index order.
//! Trust: names come from the disk, entries from the checked index; what cannot be read is noted, never guessed.

use super::{
    attributes::Attributes,
    compare::Comparison,
    disk::{Dir, Kind, Listing, Top, key_order},
    ignore::Patterns,
    is_gone,
    listings::Listings,
    rules::RuleFiles,
    stretch::{self, Part, Stretch},
    untracked::Untracked,
    verdicts::Verdicts,
};
use crate::{
    changes::Letter,
    crew::Crew,
    index::Snapshot,
    pace::{Beside, Pace, Stopped},
    settings::Settings,
    submodules::Inside,
};
use gix::index::Entry;
use std::{
    cmp::Ordering,
    ops::Range,
    sync::{Arc, Mutex},
};

/// Deepest directory that is entered. Each level on the way holds one descriptor, of which a worker has 512; where two
/// threads are so deep that they do not suffice, a directory cannot be opened, and the answer is partial.
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
    /// The top of the working tree.
    pub top: Top,
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
    /// Rule files that were read before.
    pub rule_files: &'a RuleFiles,
    /// Directories that were listed before.
    pub listings: &'a Listings,
    /// What is inside the submodule at this position of the index, whose directory is there. Other threads have none, and
    /// are given no subtree with submodules.
    pub submodule: Option<&'a mut dyn FnMut(usize) -> Inside>,
    /// Whether the directory at this path, which is no submodule, is the top of a repository with a commit.
    pub is_repository: &'a (dyn Fn(&[u8]) -> bool + Sync),
    /// Time left.
    pub pace: &'a Pace,
    /// Tracked paths that differ.
    pub differs: Vec<Differs>,
    /// Untracked paths.
    pub untracked: Untracked,
    /// The first path that could not be read.
    pub unreadable: Option<Vec<u8>>,
    /// Room for listings.
    pub spare: Vec<Listing>,
    /// The entries that it is for at the moment; `None` for all.
    pub stretch: Option<Stretch>,
}

/// A directory on the way: the entries `at..end` lie beneath it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level {
    pub(super) at: usize,
    pub(super) end: usize,
    /// Ignored as a whole.
    pub(super) excluded: bool,
    /// Directories above it.
    depth: usize,
    /// This walk is for all of it.
    whole: bool,
    /// This walk is for what is not tracked in it.
    rest: bool,
}

/// A directory, and what it holds where that is known without listing it.
#[derive(Debug)]
pub struct Opened {
    /// The directory.
    pub dir: Dir,
    /// Its entries.
    pub held: Option<Arc<Listing>>,
}

/// What another thread starts a walk from.
pub struct Seed<'a> {
    repo: gix::Repository,
    top: Top,
    index: &'a Snapshot,
    settings: Settings,
    patterns: Patterns,
    attributes: Attributes,
    index_time: (i64, u32),
    verdicts: &'a Mutex<Verdicts>,
    rule_files: &'a RuleFiles,
    listings: &'a Listings,
    is_repository: &'a (dyn Fn(&[u8]) -> bool + Sync),
    pace: Beside,
    untracked: Untracked,
}

impl std::fmt::Debug for Seed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seed").finish_non_exhaustive()
    }
}

impl Seed<'_> {
    /// Has `run` walk, on the thread that this was moved to.
    pub fn grow<T>(self, run: impl FnOnce(&mut Walk<'_>) -> T) -> (T, Vec<Differs>, Untracked, Option<Vec<u8>>) {
        let pace = self.pace.pace();
        let mut walk = Walk {
            repo: &self.repo,
            top: self.top,
            index: self.index,
            settings: self.settings,
            patterns: self.patterns,
            attributes: self.attributes,
            comparison: Comparison::new(&self.repo, self.settings, self.index_time, self.verdicts),
            rule_files: self.rule_files,
            listings: self.listings,
            submodule: None,
            is_repository: self.is_repository,
            pace: &pace,
            differs: Vec::new(),
            untracked: self.untracked,
            unreadable: None,
            spare: Vec::new(),
            stretch: None,
        };
        let result = run(&mut walk);
        let Walk { differs, untracked, unreadable, .. } = walk;
        (result, differs, untracked, unreadable)
    }
}

impl<'a> Walk<'a> {
    /// Walks from the top, with the help of `crew`.
    ///
    /// # Errors
    /// [`Stopped`]; what was found until then stays.
    pub fn run(&mut self, crew: &Crew) -> Result<(), Stopped> {
        self.listings.begin();
        stretch::walk(self, crew)
    }

    /// What another thread starts from, before this one starts.
    pub(super) fn seed(&self) -> Seed<'a> {
        let mut repo = self.repo.clone();
        // it reads an object only for a conversion that depends on what is in the index
        repo.objects.unset_pack_cache();
        repo.object_cache_size(None);
        Seed {
            repo,
            top: self.top.clone(),
            index: self.index,
            settings: self.settings,
            patterns: self.patterns.clone(),
            attributes: self.attributes.beside(),
            index_time: self.comparison.index_time,
            verdicts: self.comparison.verdicts,
            rule_files: self.rule_files,
            listings: self.listings,
            is_repository: self.is_repository,
            pace: self.pace.beside(),
            untracked: self.untracked.beside(),
        }
    }

    /// Walks from the top, for the entries of `stretch` or for all.
    pub(super) fn start(&mut self, stretch: Option<&Stretch>) -> Result<(), Stopped> {
        let (whole, rest) = (stretch.is_none(), stretch.is_none_or(|stretch| stretch.first));
        self.stretch = stretch.cloned();
        let all = Level { at: 0, end: self.index.state.entries().len(), excluded: false, depth: 0, whole, rest };
        let dir = self.top.known(b"");
        let known = dir.own_stat().ok().and_then(|stat| self.listings.find(b"", &stat));
        self.directory(Opened { dir, held: known.map(|known| known.listing) }, &mut Vec::new(), all)
    }

    /// Of the directory with the entries of `level`, those that this walk is for.
    pub(super) fn own(&self, level: Level) -> Range<usize> {
        let all = level.at..level.end;
        match &self.stretch {
            Some(Stretch { entries, .. }) if !level.whole => all.start.max(entries.start)..all.end.min(entries.end),
            _ => all,
        }
    }

    pub(super) fn merge(
        &mut self,
        dir: &Dir,
        listing: &Listing,
        prefix: &mut Vec<u8>,
        level: Level,
    ) -> Result<(), Stopped> {
        let (own, rest) = (self.own(level), level.rest);
        let (mut at, mut end) = (level.at, level.end);
        let mut on_disk = 0;
        let length = prefix.len();
        if !rest {
            (at, end) = (own.start, own.end);
            if at >= end {
                return Ok(());
            }
            let (name, is_dir) = part(&self.index.path(at)[length..]);
            on_disk = listing.from(name, is_dir);
        }
        // names of gitlinks and of files that are not there, which sort before a directory of the same name: Git shows
        // such a directory as part of that row and never as untracked
        let mut held: Vec<&[u8]> = Vec::new();
        let only = self.untracked.only(prefix);
        loop {
            if let Some(only) = &only {
                at = self.next_called(only, prefix, at, end)?;
                while listing.get(on_disk).is_some_and(|(name, _)| name != only) {
                    on_disk += 1;
                }
            }
            if !rest && at >= end {
                return Ok(());
            }
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
                    let beneath = self.child_end(prefix, at, level.end);
                    if order == Ordering::Equal {
                        self.child(dir, name, prefix, at, Level { end: beneath, ..level })?;
                    } else {
                        self.deleted(at.max(own.start)..beneath.min(own.end))?;
                    }
                    at = beneath;
                }
                (Some((name, false)), _) if order != Ordering::Greater => {
                    if order == Ordering::Less {
                        held.push(name);
                    }
                    let is_own = level.whole || if self.is_submodule(at) { rest } else { own.contains(&at) };
                    at = if is_own { self.tracked(dir, name, at, level.end)? } else { self.after(at, level.end) };
                }
                (_, Some((name, kind)))
                    if rest && held.binary_search(&name).is_err() && !self.folded(name, kind, prefix, at, end) =>
                {
                    self.untracked(dir, name, kind, prefix, level.excluded, level.depth)?;
                }
                _ => {}
            }
            prefix.truncate(length);
        }
    }

    /// The position after all entries beneath `prefix`, the first of which is at `at`.
    pub(super) fn child_end(&self, prefix: &[u8], at: usize, end: usize) -> usize {
        let entries = &self.index.state.entries()[at..end];
        let beneath = |entry: &Entry| entry.path(&self.index.state).starts_with(prefix);
        // most directories are small: look near before searching by halves
        let near = entries.len().min(16);
        if near < entries.len() && beneath(&entries[near]) {
            return at + entries.partition_point(beneath);
        }
        at + entries[..near].partition_point(beneath)
    }

    /// The directory `name` of `dir`, at `prefix`, which holds tracked files and is there. `level` is the one above, up to
    /// its last entry; its first, or the first of those that this walk is for, is at `at`.
    fn child(&mut self, dir: &Dir, name: &[u8], prefix: &mut Vec<u8>, at: usize, level: Level) -> Result<(), Stopped> {
        let Level { end, depth, .. } = level;
        let (mut whole, mut rest) = (level.whole, true);
        if let Some(stretch) = self.stretch.as_ref().filter(|_| !whole) {
            let begins = at == 0 || !self.index.path(at - 1).starts_with(prefix);
            let from = if begins { at } else { at - 1 };
            match stretch.part(&(from..end), self.holds_submodule(prefix, end)) {
                Part::None => return Ok(()),
                Part::Some => rest = begins,
                Part::Whole => whole = true,
            }
        }
        if depth >= MAX_DEPTH {
            self.note(prefix);
            return Ok(());
        }
        if whole && self.is_unchanged_leaf(dir, name, prefix, at, end)? {
            return Ok(());
        }
        let excluded = level.excluded || self.patterns.exclude(&prefix[..prefix.len() - 1], true);
        let level = Level { at, end, excluded, depth: depth + 1, whole, rest };
        match self.open(dir, name, prefix) {
            Ok(opened) => self.directory(opened, prefix, level),
            Err(e) if is_gone(&e) => self.deleted(self.own(level)),
            Err(_) => {
                self.note(prefix);
                Ok(())
            }
        }
    }

    /// True where one of the entries beneath `prefix`, the last of which is before `end`, is a submodule.
    fn holds_submodule(&self, prefix: &[u8], end: usize) -> bool {
        let gitlinks = &self.index.gitlinks;
        let last = gitlinks.partition_point(|&gitlink| gitlink < end).checked_sub(1);
        last.is_some_and(|last| self.index.path(gitlinks[last]).starts_with(prefix))
    }

    fn is_submodule(&self, at: usize) -> bool {
        self.index.gitlinks.binary_search(&at).is_ok()
    }

    pub(super) fn note(&mut self, path: &[u8]) {
        if self.unreadable.is_none() {
            self.unreadable = Some(path.to_vec());
        }
    }
}

impl std::fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").field("differs", &self.differs.len()).finish_non_exhaustive()
    }
}

/// The first name of a relative path, and whether it is a directory's.
pub(super) fn part(path: &[u8]) -> (&[u8], bool) {
    match path.iter().position(|&byte| byte == b'/') {
        Some(slash) => (&path[..slash], true),
        None => (path, false),
    }
}
