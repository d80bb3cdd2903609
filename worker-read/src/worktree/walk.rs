//! The one walk over the working tree: index entries and directory entries are merged in index order.
//! Trust: names come from the disk, entries from the checked index; what cannot be read is noted, never guessed.

use super::{
    attributes::Attributes,
    compare::{Comparison, Tracked, Verdict},
    disk::{Dir, Kind, Listing, Stat, Top, key_order, now},
    ignore::Patterns,
    is_gone,
    listings::Listings,
    rules::{Found, RuleFiles, Rules, Which},
    share::{self, Share, Subtree},
    untracked::Untracked,
    verdicts::Verdicts,
};
use crate::{
    changes::Letter,
    index::Snapshot,
    pace::{Beside, Pace, Stopped},
    settings::Settings,
    submodules::Inside,
};
use gix::index::{
    Entry,
    entry::{Flags, Mode},
};
use std::{
    cmp::Ordering,
    io,
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
}

/// A directory on the way: the entries `at..end` lie beneath it.
#[derive(Debug, Clone, Copy)]
struct Level {
    at: usize,
    end: usize,
    /// Ignored as a whole.
    excluded: bool,
    /// Directories above it.
    depth: usize,
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
        };
        let result = run(&mut walk);
        let Walk { differs, untracked, unreadable, .. } = walk;
        (result, differs, untracked, unreadable)
    }
}

impl<'a> Walk<'a> {
    /// Walks from the top, with up to `threads` threads.
    ///
    /// # Errors
    /// [`Stopped`]; what was found until then stays.
    pub fn run(&mut self, threads: usize) -> Result<(), Stopped> {
        self.listings.begin();
        share::walk(self, threads)
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

    /// Walks from the top, leaving subtrees to `share`.
    pub(super) fn start(&mut self, share: Option<&Share>) -> Result<(), Stopped> {
        let all = Level { at: 0, end: self.index.state.entries().len(), excluded: false, depth: 0 };
        let dir = self.top.known(b"");
        let held = dir.own_stat().ok().and_then(|stat| self.listings.find(b"", &stat));
        self.directory(Opened { dir, held }, &mut Vec::new(), all, share)
    }

    /// Walks what was left to others.
    pub(super) fn subtree(&mut self, subtree: Subtree) -> Result<(), Stopped> {
        let Subtree { opened, mut prefix, at, end, excluded, depth, patterns, layers } = subtree;
        self.patterns = patterns;
        self.attributes.stand_in(layers);
        self.directory(opened, &mut prefix, Level { at, end, excluded, depth }, None)
    }

    /// The directory `name` of `dir`, which is at `prefix`.
    pub(super) fn open(&self, dir: &Dir, name: &[u8], prefix: &[u8]) -> io::Result<Opened> {
        if self.listings.any() {
            let stat = dir.stat(name)?;
            if stat.kind != Kind::Dir {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            if let held @ Some(_) = self.listings.find(prefix, &stat) {
                return Ok(Opened { dir: self.top.known(prefix), held });
            }
        }
        Ok(Opened { dir: dir.child(name)?, held: None })
    }

    /// What `dir`, which is at `prefix`, holds.
    pub(super) fn list(&self, dir: &Dir, prefix: &[u8], listing: &mut Listing) -> io::Result<Result<(), Stopped>> {
        if !self.listings.any() {
            return dir.list(listing, self.pace);
        }
        let before = now();
        let stat = dir.own_stat()?;
        let listed = dir.list(listing, self.pace)?;
        if listed.is_ok() {
            self.listings.keep(prefix, &stat, before, listing);
        }
        Ok(listed)
    }

    /// The directory at `prefix`.
    fn directory(
        &mut self,
        opened: Opened,
        prefix: &mut Vec<u8>,
        level: Level,
        share: Option<&Share>,
    ) -> Result<(), Stopped> {
        let Opened { dir, held } = opened;
        if let Some(listing) = held {
            return self.listed(&dir, &listing, prefix, level, share);
        }
        let mut listing = self.spare.pop().unwrap_or_default();
        match self.list(&dir, prefix, &mut listing) {
            Ok(in_time) => in_time?,
            Err(e) if is_gone(&e) => return self.deleted(level.at, level.end),
            Err(_) => {
                self.note(prefix);
                return Ok(());
            }
        }
        let walked = self.listed(&dir, &listing, prefix, level, share);
        self.spare.push(listing);
        walked
    }

    fn listed(
        &mut self,
        dir: &Dir,
        listing: &Listing,
        prefix: &mut Vec<u8>,
        level: Level,
        share: Option<&Share>,
    ) -> Result<(), Stopped> {
        self.pace.step(1)?;
        let ignores = !level.excluded && self.enter_ignore(dir, listing, prefix);
        let attributes = self.enter_attributes(dir, listing, prefix);
        let walked = self.merge(dir, listing, prefix, level, share);
        if ignores {
            self.patterns.pop();
        }
        if attributes {
            self.attributes.pop();
        }
        walked
    }

    pub(super) fn enter_ignore(&mut self, dir: &Dir, listing: &Listing, prefix: &[u8]) -> bool {
        let rules = self.rules(Which::Ignore, dir, listing, prefix);
        let Some(Rules::Ignore(list)) = rules else { return false };
        self.patterns.enter(list);
        true
    }

    fn enter_attributes(&mut self, dir: &Dir, listing: &Listing, prefix: &[u8]) -> bool {
        let rules = self.rules(Which::Attributes, dir, listing, prefix);
        let Some(Rules::Attributes(bytes)) = rules else { return false };
        self.attributes.enter(bytes, prefix);
        true
    }

    /// The rule file of the directory, if it is there; one that cannot be read makes the answer partial.
    fn rules(&mut self, which: Which, dir: &Dir, listing: &Listing, prefix: &[u8]) -> Option<Rules> {
        match self.rule_files.find(which, (dir, listing, prefix), self.index, self.repo) {
            Found::Absent => None,
            Found::Is(rules) => Some(rules),
            Found::Unreadable => {
                self.note(&[prefix, which.name()].concat());
                None
            }
        }
    }

    fn merge(
        &mut self,
        dir: &Dir,
        listing: &Listing,
        prefix: &mut Vec<u8>,
        level: Level,
        share: Option<&Share>,
    ) -> Result<(), Stopped> {
        let Level { mut at, end, excluded, depth } = level;
        let mut on_disk = 0;
        let length = prefix.len();
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
                        self.child(dir, name, prefix, Level { at, end: beneath, ..level }, share)?;
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

    /// A directory that holds tracked files and is there; `level` is the one above with the entries of this one.
    fn child(
        &mut self,
        dir: &Dir,
        name: &[u8],
        prefix: &mut Vec<u8>,
        level: Level,
        share: Option<&Share>,
    ) -> Result<(), Stopped> {
        let Level { at, end, depth, .. } = level;
        if depth >= MAX_DEPTH {
            self.note(prefix);
            return Ok(());
        }
        let excluded = level.excluded || self.patterns.exclude(&prefix[..prefix.len() - 1], true);
        let opened = match self.open(dir, name, prefix) {
            Ok(opened) => opened,
            Err(e) if is_gone(&e) => return self.deleted(at, end),
            Err(_) => {
                self.note(prefix);
                return Ok(());
            }
        };
        match share {
            Some(share) if share.wants(end - at) && !self.holds_submodule(at, end) => {
                share.put(Subtree {
                    opened,
                    prefix: prefix.clone(),
                    at,
                    end,
                    excluded,
                    depth: depth + 1,
                    patterns: self.patterns.clone(),
                    layers: self.attributes.layers(),
                });
                Ok(())
            }
            _ => self.directory(opened, prefix, Level { at, end, excluded, depth: depth + 1 }, share),
        }
    }

    fn holds_submodule(&self, at: usize, end: usize) -> bool {
        let gitlinks = &self.index.gitlinks;
        gitlinks.get(gitlinks.partition_point(|&gitlink| gitlink < at)).is_some_and(|&gitlink| gitlink < end)
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
        let Some(submodule) = &mut self.submodule else {
            self.note(self.index.path(at));
            return;
        };
        let inside = submodule(at);
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
