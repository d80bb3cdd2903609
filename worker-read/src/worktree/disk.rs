//! Directories of the working tree, one open handle at a time: list, stat and open by name, never through a link.
//! Trust: names and kinds are whatever the disk holds; only regular files are ever opened for reading.

pub use system::{Dir, Handle, Top};

/// Entries of a directory that are read between two looks at the clock.
const LOOK_EVERY: usize = 4096;
/// Seconds after which a file can no longer change without its change time telling: more than the grain of any clock that a
/// file system has.
const SETTLED_SECS: i64 = 2;

/// What a name stands for, without following it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A directory.
    Dir,
    /// A FIFO, socket or device: never opened, never listed as untracked.
    Special,
}

/// The stat fields that Git's index keeps, and the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stat {
    /// Kind of the file.
    pub kind: Kind,
    /// Executable by its owner.
    pub executable: bool,
    /// Full size in bytes.
    pub size: u64,
    /// Modification time, seconds and nanoseconds.
    pub mtime: (i64, u32),
    /// Change time, seconds and nanoseconds.
    pub ctime: (i64, u32),
    /// Inode number.
    pub ino: u64,
    /// Device number.
    pub dev: u64,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

impl Stat {
    /// True where any later change of the contents shows in this stat. `now` is from before it was taken, in seconds.
    #[must_use]
    pub fn is_settled(&self, now: i64) -> bool {
        // the change time is the kernel's own, unlike the other, which anybody may set to any value
        let last = if cfg!(unix) && self.ctime.0 > 0 { self.ctime.0 } else { self.mtime.0.max(self.ctime.0) };
        now - last >= SETTLED_SECS
    }
}

/// Seconds since the epoch.
#[must_use]
pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// The entries of one directory in index order: by name, a directory's name counting as if it ended in `/`.
#[derive(Debug, Default)]
pub struct Listing {
    names: Vec<u8>,
    items: Vec<(u32, u32, Kind)>,
}

impl Listing {
    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True for an empty directory.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Name and kind of the entry at `at`.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<(&[u8], Kind)> {
        let &(start, len, kind) = self.items.get(at)?;
        Some((self.names.get(start as usize..(start + len) as usize)?, kind))
    }

    /// The kind of the entry called `name`, if there is one.
    #[must_use]
    pub fn find(&self, name: &[u8]) -> Option<Kind> {
        let by = |dir: bool| {
            self.items
                .binary_search_by(|&(start, len, kind)| {
                    let theirs = &self.names[start as usize..(start + len) as usize];
                    key_order(theirs, kind == Kind::Dir, name, dir)
                })
                .ok()
                .map(|at| self.items[at].2)
        };
        by(false).or_else(|| by(true))
    }

    /// The position of the first entry that is not before `name`.
    #[must_use]
    pub fn from(&self, name: &[u8], is_dir: bool) -> usize {
        self.items.partition_point(|&(start, len, kind)| {
            let theirs = &self.names[start as usize..(start + len) as usize];
            key_order(theirs, kind == Kind::Dir, name, is_dir).is_lt()
        })
    }

    /// True where some entry is called `name` when ASCII case is ignored.
    #[must_use]
    pub fn holds_folded(&self, name: &[u8]) -> bool {
        (0..self.len()).any(|at| self.get(at).is_some_and(|(theirs, _)| theirs.eq_ignore_ascii_case(name)))
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.names.len() + self.items.len() * size_of::<(u32, u32, Kind)>()
    }

    /// The same without room for more.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self { names: self.names.as_slice().into(), items: self.items.as_slice().into() }
    }

    fn clear(&mut self) {
        self.names.clear();
        self.items.clear();
    }

    fn push(&mut self, name: &[u8], kind: Kind) {
        // a directory listing of over 4 GiB of names is cut; the kernel gives no such thing
        if let (Ok(start), Ok(len)) = (u32::try_from(self.names.len()), u32::try_from(name.len())) {
            self.names.extend_from_slice(name);
            self.items.push((start, len, kind));
        }
    }

    fn sort(&mut self) {
        let names = &self.names;
        let name = |&(start, len, _): &(u32, u32, Kind)| &names[start as usize..(start + len) as usize];
        self.items.sort_unstable_by(|a, b| key_order(name(a), a.2 == Kind::Dir, name(b), b.2 == Kind::Dir));
    }
}

/// Index order of two names of one directory: bytewise, a directory counting as if its name ended in `/`.
#[must_use]
pub fn key_order(a: &[u8], a_is_dir: bool, b: &[u8], b_is_dir: bool) -> std::cmp::Ordering {
    let common = a.len().min(b.len());
    a[..common].cmp(&b[..common]).then_with(|| {
        let next = |name: &[u8], is_dir: bool| match name.get(common) {
            Some(&byte) => u16::from(byte) + 1,
            None if is_dir => u16::from(b'/') + 1,
            None => 0,
        };
        next(a, a_is_dir).cmp(&next(b, b_is_dir)).then_with(|| a.len().cmp(&b.len()))
    })
}

#[cfg(not(unix))]
#[path = "disk/elsewhere.rs"]
mod system;
#[cfg(unix)]
#[path = "disk/unix.rs"]
mod system;

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    #[test]
    fn a_directory_sorts_as_if_its_name_ended_in_a_slash() {
        assert_eq!(key_order(b"a", true, b"a-b", false), Ordering::Greater);
        assert_eq!(key_order(b"a", false, b"a-b", false), Ordering::Less);
        assert_eq!(key_order(b"a", true, b"a0", false), Ordering::Less);
        assert_eq!(key_order(b"a", true, b"a", true), Ordering::Equal);
        assert_eq!(key_order(b"a", true, b"a", false), Ordering::Greater);
    }

    #[test]
    fn only_an_old_change_time_settles() {
        let stat = |mtime, ctime| Stat {
            kind: Kind::File,
            executable: false,
            size: 0,
            mtime: (mtime, 0),
            ctime: (ctime, 0),
            ino: 1,
            dev: 1,
            uid: 0,
            gid: 0,
        };
        assert!(stat(10, 10).is_settled(12));
        assert!(!stat(10, 10).is_settled(11));
        assert!(!stat(5, 11).is_settled(12), "a time set back proves nothing");
        assert_eq!(stat(90, 10).is_settled(12), cfg!(unix), "nor does one set ahead");
    }

    #[cfg(unix)]
    #[test]
    fn a_listing_is_in_index_order_and_finds_by_name() {
        let temp = tempfile::tempdir().expect("a writable temporary directory");
        for file in ["a-b", "b", "a0"] {
            std::fs::write(temp.path().join(file), b"").expect("writable");
        }
        std::fs::create_dir(temp.path().join("a")).expect("writable");
        std::os::unix::fs::symlink("nowhere", temp.path().join("z")).expect("links are possible here");
        let dir = Dir::open(temp.path()).expect("a directory");
        let mut listing = Listing::default();
        let pace = crate::pace::Pace::alone(60_000);
        dir.list(&mut listing, &pace).expect("readable").expect("in time");
        let names: Vec<_> =
            (0..listing.len()).filter_map(|at| listing.get(at)).map(|(name, _)| name.to_vec()).collect();
        assert_eq!(names, [&b"a-b"[..], b"a", b"a0", b"b", b"z"]);
        assert_eq!(listing.find(b"a"), Some(Kind::Dir));
        assert_eq!(listing.find(b"z"), Some(Kind::Link));
        assert_eq!(listing.find(b"nowhere"), None);
        assert!(dir.child(b"z").is_err(), "a link is no directory");
    }
}
