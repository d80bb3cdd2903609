//! What directories of the working tree hold, as it was listed before.
//! Trust: names are the disk's. A listing is believed only where the directory's own times prove that it still holds.

use super::disk::{Dir, Handle, Listing, Stat};
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Bytes that a listing costs besides its path and names.
const FIXED: usize = 352;

/// Listings by path. Opening and listing a directory under a jail costs several times what a look at its times does.
///
/// Each is invalidated by any change of the directory's stat: a name that comes, goes, or changes its kind changes the times of
/// the directory that holds it. That is so on the file systems that [`Listings::on`] is told of, and nothing is kept on any
/// other device. A directory that changed just now is not kept.
///
/// The directories themselves stay open, as many as may: a stat that begins in one costs half of one that begins at the top.
/// One that is held is the one at its path as long as a stat by name from the one above says so, since nothing else can have
/// its inode number meanwhile.
pub struct Listings {
    held: Mutex<Held>,
    limit: usize,
    directories: usize,
    device: Option<u64>,
}

/// What a directory holds, and itself where it stays open.
#[derive(Debug, Clone)]
pub struct Known {
    /// Its entries.
    pub listing: Arc<Listing>,
    /// The directory.
    pub handle: Option<Handle>,
}

#[derive(Default)]
struct Held {
    by_path: HashMap<Box<[u8]>, (Stat, Known)>,
    bytes: usize,
    /// Directories that are open.
    open: usize,
    /// How many were of use, or were kept, since the walk began.
    used: usize,
}

impl Listings {
    /// Holds at most `limit` bytes of listings of directories on `device`, and `directories` of them open; `None` holds
    /// nothing.
    #[must_use]
    pub fn on(device: Option<u64>, limit: usize, directories: usize) -> Self {
        Self { held: Mutex::default(), limit, directories, device }
    }

    /// Begins a walk over the whole tree: what is no longer there gives way where there is no more room.
    pub fn begin(&self) {
        let mut held = self.held();
        let is_full = held.bytes + held.bytes / 8 > self.limit || (held.open > 0 && held.open >= self.directories);
        if is_full && held.used < held.by_path.len() / 2 {
            *held = Held::default();
        }
        held.used = 0;
    }

    /// True where anything may be kept at all.
    #[must_use]
    pub fn any(&self) -> bool {
        self.device.is_some()
    }

    /// What is known of the directory at `prefix`, which has `stat` now.
    #[must_use]
    pub fn find(&self, prefix: &[u8], stat: &Stat) -> Option<Known> {
        if Some(stat.dev) != self.device {
            return None;
        }
        let mut held = self.held();
        let (of, known) = held.by_path.get(prefix)?;
        let found = (of == stat).then(|| known.clone());
        held.used += usize::from(found.is_some());
        found
    }

    /// Keeps what `dir`, which is at `prefix`, held. `stat` is from before it was listed, and from after `before`, in seconds.
    pub fn keep(&self, prefix: &[u8], stat: &Stat, before: i64, dir: &Dir, listing: &Listing) {
        if Some(stat.dev) != self.device || !stat.is_settled(before) {
            return;
        }
        let cost = FIXED + prefix.len() + listing.bytes();
        let mut held = self.held();
        if let Some((_, old)) = held.by_path.remove(prefix) {
            held.bytes -= FIXED + prefix.len() + old.listing.bytes();
            held.open -= usize::from(old.handle.is_some());
        }
        if held.bytes + cost <= self.limit {
            held.bytes += cost;
            held.used += 1;
            let handle = if held.open < self.directories { dir.handle() } else { None };
            held.open += usize::from(handle.is_some());
            held.by_path.insert(prefix.into(), (*stat, Known { listing: Arc::new(listing.copy()), handle }));
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Listings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listings").field("limit", &self.limit).field("device", &self.device).finish_non_exhaustive()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::{pace::Pace, worktree::disk::Kind};
    use std::fs;

    #[test]
    fn only_the_same_times_on_the_same_device_count() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        fs::write(temp.path().join("a"), "").expect("writable");
        let dir = Dir::open(temp.path()).expect("a directory");
        let mut listing = Listing::default();
        dir.list(&mut listing, &Pace::alone(60_000)).expect("readable").expect("in time");
        let stat = dir.own_stat().expect("it is open");
        let later = stat.ctime.0 + 10;
        let listings = Listings::on(Some(stat.dev), 1 << 20, 1);
        listings.keep(b"d/", &stat, stat.ctime.0, &dir, &listing);
        assert!(listings.find(b"d/", &stat).is_none(), "it changed just now");
        listings.keep(b"d/", &stat, later, &dir, &listing);
        assert_eq!(listings.find(b"d/", &stat).expect("kept").listing.get(0), Some((&b"a"[..], Kind::File)));
        assert!(listings.find(b"e/", &stat).is_none());
        let (mut other, mut changed) = (stat, stat);
        other.dev += 1;
        changed.mtime.1 += 1;
        assert!(listings.find(b"d/", &other).is_none() && listings.find(b"d/", &changed).is_none());
        let nowhere = Listings::on(None, 1 << 20, 1);
        nowhere.keep(b"d/", &stat, later, &dir, &listing);
        assert!(nowhere.find(b"d/", &stat).is_none() && !nowhere.any());
    }

    #[test]
    fn memory_is_bounded_and_what_went_away_gives_way() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        let dir = Dir::open(temp.path()).expect("a directory");
        let stat = dir.own_stat().expect("it is open");
        let later = stat.ctime.0 + 10;
        let listings = Listings::on(Some(stat.dev), 100 * (FIXED + 1), 10);
        let keep = |names: std::ops::Range<u8>| {
            for name in names {
                listings.keep(&[name], &stat, later, &dir, &Listing::default());
            }
        };
        keep(0..200);
        listings.begin();
        assert_eq!(listings.held().by_path.len(), 100, "all were kept just now");
        let bytes = listings.held().bytes;
        let count = listings.held().by_path.len();
        assert_eq!((count, bytes), (100, 100 * (FIXED + 1)));
        let open = || listings.held().by_path.values().filter(|(_, known)| known.handle.is_some()).count();
        assert_eq!((open(), listings.held().open), (10, 10));
        keep(0..100);
        assert_eq!(listings.held().bytes, bytes, "the same directories again");
        assert_eq!((open(), listings.held().open), (10, 10));
        for name in 0..100 {
            assert!(listings.find(&[name], &stat).is_some());
        }
        listings.begin();
        assert_eq!(listings.held().by_path.len(), 100, "all were of use");
        listings.begin();
        keep(150..180);
        assert!(listings.find(&[150], &stat).is_some(), "none was, and there was no room");
    }
}
