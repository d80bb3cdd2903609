//! Untracked paths as Git shows them by default: a directory without tracked files once, and only if it holds something.
//! Trust: names come from the disk; rows beyond the page are counted and not kept.

use super::{
    disk::{Dir, Kind, Listing},
    walk::{Opened, Walk, part},
};
use crate::{
    files::{self, NoContents},
    index::Snapshot,
    pace::Stopped,
};
use gix::{bstr::ByteSlice as _, index::Entry};
use std::ops::Range;

/// Deepest untracked directory that is searched for a first file.
const MAX_DEPTH: usize = 256;
/// Bytes of a nested repository's `.git` file at most.
const MAX_POINTER: u64 = 8 * 1024;

/// Untracked paths, counted, and some of them kept.
#[derive(Debug, Default)]
pub struct Untracked {
    /// How many there are.
    pub total: u64,
    /// In order, those after `after`, at most `keep` and one more.
    pub kept: Vec<Vec<u8>>,
    after: Option<Vec<u8>>,
    keep: usize,
    within: Option<Vec<u8>>,
    unwanted: bool,
}

impl Untracked {
    /// Keeps at most `keep` paths that follow after `after`, and one more, which shows that there is a next page.
    #[must_use]
    pub fn page(keep: usize, after: Option<Vec<u8>>) -> Self {
        Self { after, keep, ..Self::default() }
    }

    /// Nobody wants to know: there may be more than are counted.
    #[must_use]
    pub fn unwanted() -> Self {
        Self { unwanted: true, ..Self::default() }
    }

    /// True where nobody wants to know.
    pub(super) fn is_unwanted(&self) -> bool {
        self.unwanted
    }

    /// The same page, of which nothing was found yet.
    #[must_use]
    pub fn beside(&self) -> Self {
        Self { within: self.within.clone(), unwanted: self.unwanted, ..Self::page(self.keep, self.after.clone()) }
    }

    /// Adds what was found elsewhere.
    pub fn join(&mut self, other: Self) {
        self.total += other.total;
        self.kept.extend(other.kept);
        self.kept.sort_unstable();
        self.kept.truncate(self.keep + usize::from(self.keep > 0));
    }

    /// Counts only what lies at or below `path`, and the untracked directory that `path` lies in. The walk then looks at
    /// nothing else, tracked paths included.
    #[must_use]
    pub fn within(self, path: &[u8]) -> Self {
        Self { within: Some(path.to_vec()).filter(|path| !path.is_empty()), ..self }
    }

    /// Of the directory at `prefix`, the only name that matters, where the path to look at lies below it.
    pub(super) fn only(&self, prefix: &[u8]) -> Option<Vec<u8>> {
        let rest = self.within.as_ref()?.strip_prefix(prefix)?;
        rest.split(|&byte| byte == b'/').next().map(<[u8]>::to_vec)
    }

    /// Positions of the entries that are looked at, and of some neighbours.
    pub(super) fn extent(&self, index: &Snapshot) -> Range<usize> {
        let entries = index.state.entries();
        let Some(within) = self.within.as_deref() else { return 0..entries.len() };
        let path = |entry: &Entry| entry.path(&index.state);
        let start = entries.partition_point(|entry| path(entry) < within.as_bstr());
        start..start + entries[start..].partition_point(|entry| path(entry).starts_with(within))
    }

    fn found(&mut self, path: &[u8]) {
        if let Some(within) = &self.within {
            let below = path.strip_prefix(&within[..]).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
            let above = path.ends_with(b"/") && within.starts_with(path);
            if !(below || above) {
                return;
            }
        }
        self.total += 1;
        if self.kept.len() <= self.keep && self.keep > 0 && self.after.as_deref().is_none_or(|after| path > after) {
            self.kept.push(path.to_vec());
        }
    }
}

impl Walk<'_> {
    /// The next position from `at` on that has the name `only` in the directory at `prefix`.
    pub(super) fn next_called(
        &self,
        only: &[u8],
        prefix: &mut Vec<u8>,
        mut at: usize,
        end: usize,
    ) -> Result<usize, Stopped> {
        let length = prefix.len();
        while at < end {
            let (name, is_dir) = part(&self.index.path(at)[length..]);
            if name == only {
                break;
            }
            self.pace.step(1)?;
            if is_dir {
                prefix.extend_from_slice(name);
                prefix.push(b'/');
                at = self.child_end(prefix, at, end);
                prefix.truncate(length);
            } else {
                at += 1;
            }
        }
        Ok(at)
    }

    /// With `core.ignoreCase`, a name that the index holds in other letters is tracked.
    pub(super) fn folded(&self, name: &[u8], kind: Kind, prefix: &[u8], at: usize, end: usize) -> bool {
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

    /// The entry `name` of the directory at `prefix`, which the index does not hold.
    pub(super) fn untracked(
        &mut self,
        dir: &Dir,
        name: &[u8],
        kind: Kind,
        prefix: &mut Vec<u8>,
        excluded: bool,
        depth: usize,
    ) -> Result<(), Stopped> {
        if excluded || is_dot_git(name, self.settings.ignore_case) || kind == Kind::Special {
            return Ok(());
        }
        self.pace.step(1)?;
        let length = prefix.len();
        prefix.extend_from_slice(name);
        let ignored = self.patterns.exclude(prefix, kind == Kind::Dir);
        let shown = !ignored && (kind != Kind::Dir || self.holds_untracked(dir, name, prefix, depth)?);
        if shown {
            if kind == Kind::Dir {
                prefix.push(b'/');
            }
            self.untracked.found(prefix);
        }
        prefix.truncate(length);
        Ok(())
    }

    /// True where the untracked directory `name`, at `path`, is a repository or holds a file that is not ignored.
    fn holds_untracked(&mut self, dir: &Dir, name: &[u8], path: &mut Vec<u8>, depth: usize) -> Result<bool, Stopped> {
        if depth >= MAX_DEPTH {
            self.note(path);
            return Ok(false);
        }
        let length = path.len();
        path.push(b'/');
        let opened = self.open(dir, name, path);
        let mut listing = Listing::default();
        let listed = opened.and_then(|Opened { dir, held }| {
            let in_time = match held {
                Some(_) => Ok(()),
                None => {
                    listing = self.spare.pop().unwrap_or_default();
                    self.list(&dir, path, &mut listing)?
                }
            };
            Ok((in_time, dir, held))
        });
        path.truncate(length);
        let Ok((in_time, child, held)) = listed else {
            // Git warns and shows nothing
            self.note(path);
            return Ok(false);
        };
        in_time?;
        self.pace.step(1)?;
        let found = self.holds_in(&child, held.as_deref().unwrap_or(&listing), path, depth);
        if held.is_none() {
            self.spare.push(listing);
        }
        found
    }

    fn holds_in(&mut self, child: &Dir, listing: &Listing, path: &mut Vec<u8>, depth: usize) -> Result<bool, Stopped> {
        if is_repository(child, listing) {
            return Ok(true);
        }
        let length = path.len();
        path.push(b'/');
        let entered = self.enter_ignore(child, listing, path);
        let found = self.any_untracked(child, listing, path, depth);
        if entered {
            self.patterns.pop();
        }
        path.truncate(length);
        found
    }

    fn any_untracked(
        &mut self,
        dir: &Dir,
        listing: &Listing,
        prefix: &mut Vec<u8>,
        depth: usize,
    ) -> Result<bool, Stopped> {
        let length = prefix.len();
        // files first: one that is not ignored settles it without going deeper
        for deeper in [false, true] {
            for (name, kind) in (0..listing.len()).filter_map(|at| listing.get(at)) {
                if (kind == Kind::Dir) != deeper || kind == Kind::Special || is_dot_git(name, self.settings.ignore_case)
                {
                    continue;
                }
                self.pace.step(1)?;
                prefix.extend_from_slice(name);
                let found = !self.patterns.exclude(prefix, deeper)
                    && (!deeper || self.holds_untracked(dir, name, prefix, depth + 1)?);
                prefix.truncate(length);
                if found {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

fn is_dot_git(name: &[u8], ignore_case: bool) -> bool {
    name == b".git" || (ignore_case && name.eq_ignore_ascii_case(b".git"))
}

/// Git's test for a nested repository: `.git` is a git directory, or a file that leads to one or cannot be read.
fn is_repository(dir: &Dir, listing: &Listing) -> bool {
    match listing.find(b".git") {
        Some(Kind::Dir) => dir.child(b".git").is_ok_and(|git_dir| {
            let is = |name: &[u8], kind| git_dir.stat(name).is_ok_and(|stat| stat.kind == kind);
            git_dir.stat(b"HEAD").is_ok() && is(b"objects", Kind::Dir) && is(b"refs", Kind::Dir)
        }),
        Some(Kind::File) => {
            let text =
                dir.file(b".git").map_err(|e| NoContents::of(&e)).and_then(|file| files::read_open(file, MAX_POINTER));
            match text {
                // whether the directory that it names is a repository is not looked at: it may lie anywhere
                Ok(text) => text.starts_with(b"gitdir: "),
                Err(_) => true,
            }
        }
        _ => false,
    }
}
