//! Directories by their paths, on systems whose standard library has no better handle.
//! Trust: as in [`super`]; a name may be swapped between two looks, which no jail covers there either.

use super::{Kind, LOOK_EVERY, Listing, Stat};
use crate::pace::{Pace, Stopped};
use std::{fs, io, path::Path, path::PathBuf, time::UNIX_EPOCH};

/// The top of a tree.
#[derive(Debug, Clone)]
pub struct Top(PathBuf);

impl Top {
    /// The directory at `path`, which was canonicalised before.
    ///
    /// # Errors
    /// The operating system's.
    pub fn open(path: &Path) -> io::Result<Self> {
        Dir::open(path).map(|dir| Self(dir.0))
    }

    /// The directory at `path` below, with or without a `/` at its end.
    #[must_use]
    pub fn known(&self, path: &[u8]) -> Dir {
        Dir(crate::files::bytes_path(path).map_or_else(|| self.0.clone(), |path| self.0.join(path)))
    }
}

/// A directory that stays open; there is none here.
#[derive(Debug, Clone)]
pub enum Handle {}

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
    /// The directory that `handle` holds.
    #[must_use]
    pub fn of(handle: &Handle) -> Self {
        match *handle {}
    }

    /// No directory is held open.
    #[must_use]
    pub fn handle(&self) -> Option<Handle> {
        None
    }

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

    /// The directory `name` in this one, which a listing of this one has just called one.
    #[must_use]
    pub fn beneath(&self, name: &[u8]) -> Self {
        Self(crate::files::bytes_path(name).map_or_else(|| self.0.clone(), |name| self.0.join(name)))
    }

    /// Reads all entries into `listing`, sorted.
    ///
    /// # Errors
    /// The operating system's; `Ok(Err(_))` when the time is over.
    pub fn list(&self, listing: &mut Listing, pace: &Pace) -> io::Result<Result<(), Stopped>> {
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

    /// The stat of the directory itself.
    ///
    /// # Errors
    /// The operating system's.
    pub fn own_stat(&self) -> io::Result<Stat> {
        self.stat(b"")
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
