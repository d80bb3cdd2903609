//! Directories of the working tree, one open handle at a time: list, stat and open by name, never through a link.
//! Trust: names and kinds are whatever the disk holds; only regular files are ever opened for reading.

pub use system::Dir;

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

    /// True where some entry is called `name` when ASCII case is ignored.
    #[must_use]
    pub fn holds_folded(&self, name: &[u8]) -> bool {
        (0..self.len()).any(|at| self.get(at).is_some_and(|(theirs, _)| theirs.eq_ignore_ascii_case(name)))
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

#[cfg(unix)]
mod system {
    use super::{Kind, LOOK_EVERY, Listing, Stat};
    use crate::pace::{Pace, Stopped};
    use nix::{
        dir,
        errno::Errno,
        fcntl::{AtFlags, OFlag, openat, readlinkat},
        sys::stat::{FileStat, Mode, SFlag, fstatat},
    };
    use std::{fs, io, os::fd::AsFd as _, os::unix::ffi::OsStringExt as _, path::Path};

    /// An open directory.
    #[derive(Debug)]
    pub struct Dir(dir::Dir);

    const DIR_FLAGS: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
    const FILE_FLAGS: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY).union(OFlag::O_CLOEXEC);

    impl Dir {
        /// The directory at `path`, which was canonicalised before.
        ///
        /// # Errors
        /// The operating system's.
        pub fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(dir::Dir::open(path, DIR_FLAGS, Mode::empty())?))
        }

        /// The directory `name` in this one; a link is refused.
        ///
        /// # Errors
        /// The operating system's.
        pub fn child(&self, name: &[u8]) -> io::Result<Self> {
            Ok(Self(dir::Dir::openat(self.0.as_fd(), name, DIR_FLAGS, Mode::empty())?))
        }

        /// Reads all entries but `.` and `..` into `listing`, sorted.
        ///
        /// # Errors
        /// The operating system's; `Ok(Err(_))` when the time is over.
        pub fn list(&mut self, listing: &mut Listing, pace: &Pace) -> io::Result<Result<(), Stopped>> {
            listing.clear();
            let mut unknown = Vec::new();
            for entry in self.0.iter() {
                if listing.len() % LOOK_EVERY == LOOK_EVERY - 1
                    && let Err(stopped) = pace.look()
                {
                    return Ok(Err(stopped));
                }
                let entry = entry?;
                let name = entry.file_name().to_bytes();
                if name == b"." || name == b".." {
                    continue;
                }
                let kind = match entry.file_type() {
                    Some(dir::Type::File) => Kind::File,
                    Some(dir::Type::Symlink) => Kind::Link,
                    Some(dir::Type::Directory) => Kind::Dir,
                    Some(_) => Kind::Special,
                    None => {
                        unknown.push(listing.len());
                        Kind::Special
                    }
                };
                listing.push(name, kind);
            }
            for at in unknown {
                let kind = listing.get(at).and_then(|(name, _)| self.stat(name).ok()).map(|stat| stat.kind);
                if let (Some(kind), Some(item)) = (kind, listing.items.get_mut(at)) {
                    item.2 = kind;
                }
            }
            listing.sort();
            Ok(Ok(()))
        }

        /// The stat of `name`, links not followed.
        ///
        /// # Errors
        /// The operating system's.
        pub fn stat(&self, name: &[u8]) -> io::Result<Stat> {
            Ok(of(&fstatat(self.0.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW)?))
        }

        /// The file `name`, open for reading. The caller checks that it is regular; the open cannot block.
        ///
        /// # Errors
        /// The operating system's.
        pub fn file(&self, name: &[u8]) -> io::Result<fs::File> {
            Ok(fs::File::from(openat(self.0.as_fd(), name, FILE_FLAGS, Mode::empty())?))
        }

        /// The target of the link `name`.
        ///
        /// # Errors
        /// The operating system's.
        pub fn link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
            match readlinkat(self.0.as_fd(), name) {
                Ok(target) => Ok(target.into_vec()),
                Err(Errno::EINVAL) => Err(io::ErrorKind::InvalidInput.into()),
                Err(e) => Err(e.into()),
            }
        }
    }

    // field types differ between systems
    #[allow(
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        clippy::unnecessary_cast,
        clippy::useless_conversion
    )]
    fn of(stat: &FileStat) -> Stat {
        let kind = match SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()) {
            SFlag::S_IFREG => Kind::File,
            SFlag::S_IFLNK => Kind::Link,
            SFlag::S_IFDIR => Kind::Dir,
            _ => Kind::Special,
        };
        Stat {
            kind,
            executable: stat.st_mode & 0o100 != 0,
            size: stat.st_size as u64,
            mtime: (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
            ctime: (stat.st_ctime as i64, stat.st_ctime_nsec as u32),
            ino: stat.st_ino as u64,
            dev: stat.st_dev as u64,
            uid: stat.st_uid,
            gid: stat.st_gid,
        }
    }
}

#[cfg(not(unix))]
mod system {
    use super::{Kind, LOOK_EVERY, Listing, Stat};
    use crate::pace::{Pace, Stopped};
    use std::{fs, io, path::Path, path::PathBuf, time::UNIX_EPOCH};

    /// A directory by its path; systems without `openat` have no better handle in the standard library.
    #[derive(Debug)]
    pub struct Dir(PathBuf);

    fn kind_of(kind: fs::FileType) -> Kind {
        if kind.is_symlink() {
            Kind::Link
        } else if kind.is_dir() {
            Kind::Dir
        } else if kind.is_file() {
            Kind::File
        } else {
            Kind::Special
        }
    }

    impl Dir {
        /// The directory at `path`, which was canonicalised before.
        ///
        /// # Errors
        /// The operating system's.
        pub fn open(path: &Path) -> io::Result<Self> {
            if fs::symlink_metadata(path)?.is_dir() {
                Ok(Self(path.to_path_buf()))
            } else {
                Err(io::ErrorKind::NotADirectory.into())
            }
        }

        /// The directory `name` in this one; a link is refused.
        ///
        /// # Errors
        /// The operating system's.
        pub fn child(&self, name: &[u8]) -> io::Result<Self> {
            Self::open(&self.at(name)?)
        }

        /// Reads all entries into `listing`, sorted.
        ///
        /// # Errors
        /// The operating system's; `Ok(Err(_))` when the time is over.
        pub fn list(&mut self, listing: &mut Listing, pace: &Pace) -> io::Result<Result<(), Stopped>> {
            listing.clear();
            for entry in fs::read_dir(&self.0)? {
                if listing.len() % LOOK_EVERY == LOOK_EVERY - 1
                    && let Err(stopped) = pace.look()
                {
                    return Ok(Err(stopped));
                }
                let entry = entry?;
                let name = gix::path::os_string_into_bstring(entry.file_name()).map_err(io::Error::other)?;
                listing.push(&name, kind_of(entry.file_type()?));
            }
            listing.sort();
            Ok(Ok(()))
        }

        /// The stat of `name`, links not followed.
        ///
        /// # Errors
        /// The operating system's.
        pub fn stat(&self, name: &[u8]) -> io::Result<Stat> {
            let meta = fs::symlink_metadata(self.at(name)?)?;
            let time = |t: io::Result<std::time::SystemTime>| {
                let since = t.ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
                (i64::try_from(since.as_secs()).unwrap_or(0), since.subsec_nanos())
            };
            Ok(Stat {
                kind: kind_of(meta.file_type()),
                executable: false,
                size: meta.len(),
                mtime: time(meta.modified()),
                ctime: time(meta.created()),
                ino: 0,
                dev: 0,
                uid: 0,
                gid: 0,
            })
        }

        /// The file `name`, open for reading; a link is refused.
        ///
        /// # Errors
        /// The operating system's.
        pub fn file(&self, name: &[u8]) -> io::Result<fs::File> {
            let path = self.at(name)?;
            if fs::symlink_metadata(&path)?.is_file() {
                fs::File::open(path)
            } else {
                Err(io::ErrorKind::InvalidInput.into())
            }
        }

        /// The target of the link `name`.
        ///
        /// # Errors
        /// The operating system's.
        pub fn link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
            Ok(crate::files::path_bytes(&fs::read_link(self.at(name)?)?))
        }

        fn at(&self, name: &[u8]) -> io::Result<PathBuf> {
            let name = crate::files::bytes_path(name).ok_or(io::ErrorKind::InvalidFilename)?;
            Ok(self.0.join(name))
        }
    }
}

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
        let mut dir = Dir::open(temp.path()).expect("a directory");
        let mut listing = Listing::default();
        let pace = crate::pace::Pace::new(1, Default::default(), 60_000, |_| {});
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
