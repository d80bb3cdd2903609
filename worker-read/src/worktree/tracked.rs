//! Tracked paths, one by one: what became of each since the index was written.
//! Trust: as in [`super::walk`], of which this is a part.

use super::{
    compare::{ByStat, Tracked, Verdict},
    disk::{Dir, Kind, Stat},
    is_gone,
    walk::{Differs, Walk, What},
};
use crate::{changes::Letter, pace::Stopped, submodules::Inside};
use gix::index::entry::{Flags, Mode};
use std::ops::Range;

/// Files of a directory that are looked at before the directory itself is; more than these are seldom all unchanged.
const MAX_LEAF: usize = 64;

impl Walk<'_> {
    /// True where nobody asks for untracked paths, the directory `name` of `dir`, at `prefix`, has no tracked directories, and
    /// all its files are as they were by their stat. It is then neither listed nor looked at itself.
    pub(super) fn is_unchanged_leaf(
        &self,
        dir: &Dir,
        name: &[u8],
        prefix: &[u8],
        at: usize,
        end: usize,
    ) -> Result<bool, Stopped> {
        if !self.untracked.is_unwanted() || end - at > MAX_LEAF {
            return Ok(false);
        }
        let index = self.index;
        let file = |at: usize| {
            let name = &index.path(at)[prefix.len()..];
            let entry = index.state.entry(at);
            let special = Flags::ASSUME_VALID | Flags::SKIP_WORKTREE | Flags::INTENT_TO_ADD;
            let plain = entry.stage_raw() == 0 && !entry.flags.intersects(special) && entry.mode != Mode::COMMIT;
            (plain && !name.contains(&b'/')).then_some((name, entry))
        };
        if !(at..end).all(|at| file(at).is_some()) {
            return Ok(false);
        }
        let dir = dir.beneath(name);
        for (name, entry) in (at..end).filter_map(file) {
            self.pace.step(1)?;
            let same = dir.stat(name).is_ok_and(|stat| self.comparison.by_stat(entry, &stat) == ByStat::Same);
            if !same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The entries at `of`, of which nothing is there.
    pub(super) fn deleted(&mut self, of: Range<usize>) -> Result<(), Stopped> {
        let Range { start: mut at, end } = of;
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
    pub(super) fn tracked(&mut self, dir: &Dir, name: &[u8], at: usize, end: usize) -> Result<usize, Stopped> {
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

    /// The position after all stages of the path at `at`.
    pub(super) fn after(&self, at: usize, end: usize) -> usize {
        let path = self.index.path(at);
        (at + 1..end).find(|&next| self.index.path(next) != path).unwrap_or(end)
    }
}
