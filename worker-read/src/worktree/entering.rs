//! The way into a directory: opened or known from before, listed, its rule files in force while it is walked.
//! Trust: as in [`super::walk`], of which this is a part.

use super::{
    disk::{Dir, Kind, Listing, now},
    is_gone,
    listings::Known,
    rules::{Found, Rules, Which},
    walk::{Level, Opened, Walk},
};
use crate::pace::Stopped;
use std::io;

impl Walk<'_> {
    /// The directory `name` of `dir`, which is at `prefix`.
    pub(super) fn open(&self, dir: &Dir, name: &[u8], prefix: &[u8]) -> io::Result<Opened> {
        if self.listings.any() {
            let stat = dir.stat(name)?;
            if stat.kind != Kind::Dir {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            if let Some(Known { listing, handle }) = self.listings.find(prefix, &stat) {
                let dir = handle.map_or_else(|| self.top.known(prefix), |handle| Dir::of(&handle));
                return Ok(Opened { dir, held: Some(listing) });
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
            self.listings.keep(prefix, &stat, before, dir, listing);
        }
        Ok(listed)
    }

    /// The directory at `prefix`.
    pub(super) fn directory(&mut self, opened: Opened, prefix: &mut Vec<u8>, level: Level) -> Result<(), Stopped> {
        let Opened { dir, held } = opened;
        if let Some(listing) = held {
            return self.listed(&dir, &listing, prefix, level);
        }
        let mut listing = self.spare.pop().unwrap_or_default();
        match self.list(&dir, prefix, &mut listing) {
            Ok(in_time) => in_time?,
            Err(e) if is_gone(&e) => return self.deleted(self.own(level)),
            Err(_) => {
                self.note(prefix);
                return Ok(());
            }
        }
        let walked = self.listed(&dir, &listing, prefix, level);
        self.spare.push(listing);
        walked
    }

    fn listed(&mut self, dir: &Dir, listing: &Listing, prefix: &mut Vec<u8>, level: Level) -> Result<(), Stopped> {
        self.pace.step(1)?;
        let ignores = !level.excluded && self.enter_ignore(dir, listing, prefix);
        let attributes = self.enter_attributes(dir, listing, prefix);
        let walked = self.merge(dir, listing, prefix, level);
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
}
