//! Both texts of a changed file and which lines of them differ, for a comparison that another process makes.
//! Trust: contents are the repository's; sizes are bounded before they are read, and nothing is parsed.

use super::{
    contents::{self, is_binary},
    lines::{Lines, too_many},
    pairs::Pair,
    patch::{Printer, decided},
};
use crate::{changes::Side, renames};
use bulkhead_contract::{
    limits::{MAX_SEMANTIC_BYTES, SEMANTIC_REGION_BYTES},
    results::{FallbackReason, Omission, Region, Sources},
};

impl Printer<'_> {
    /// What there is to compare of `pair`; lines differ as [`Printer::patch`] has it.
    pub fn texts(&mut self, pair: &Pair) -> Sources {
        self.demand(pair.from());
        self.sources(pair).unwrap_or_else(Sources::None)
    }

    fn sources(&mut self, pair: &Pair) -> Result<Sources, FallbackReason> {
        let sides = [(&pair.old, false), (&pair.new, pair.on_disk)];
        let mut texts = [Vec::new(), Vec::new()];
        for ((side, on_disk), text) in sides.into_iter().zip(&mut texts) {
            if let Some(side) = side {
                *text = self.contents(side, on_disk)?;
            }
        }
        let [old, new] = texts;
        let paths = pair.path().len() + pair.from().len();
        if too_many(&old) || too_many(&new) || old.len() + new.len() + paths > MAX_SEMANTIC_BYTES {
            return Err(FallbackReason::TooLarge);
        }
        let lines = Lines::compare(&old, &new, self.style.rules, self.pace).map_err(|_| FallbackReason::Time)?;
        let region = |hunk: gix::diff::blob::Hunk| Region {
            old_start: hunk.before.start,
            old_len: hunk.before.end - hunk.before.start,
            new_start: hunk.after.start,
            new_len: hunk.after.end - hunk.after.start,
        };
        let regions: Vec<Region> = lines.diff.hunks().map(region).collect();
        if old.len() + new.len() + paths + regions.len() * SEMANTIC_REGION_BYTES > MAX_SEMANTIC_BYTES {
            return Err(FallbackReason::TooLarge);
        }
        Ok(Sources::Texts { old, new, regions })
    }

    fn contents(&mut self, side: &Side, on_disk: bool) -> Result<Vec<u8>, FallbackReason> {
        if !renames::is_file(side.mode) {
            return Err(FallbackReason::NotAFile);
        }
        if decided(self.repo, &self.disk.rule(&side.path).diff) == Some(true) {
            return Err(FallbackReason::Binary);
        }
        let most = MAX_SEMANTIC_BYTES as u64;
        let bytes = match on_disk {
            true => self.disk.contents(&side.path, side.mode, most),
            false => contents::blob(self.repo, &side.id, most),
        };
        let bytes = bytes.map_err(|omission| match omission {
            Omission::TooLarge => FallbackReason::TooLarge,
            Omission::Filtered => FallbackReason::Filtered,
            Omission::Unreadable => FallbackReason::Unreadable,
            Omission::Missing => FallbackReason::Missing,
        })?;
        if is_binary(&bytes) { Err(FallbackReason::Binary) } else { Ok(bytes) }
    }
}
