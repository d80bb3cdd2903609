//! Directories by descriptors, so that no name on the way is ever resolved through a link.
//! Trust: as in [`super`]. The one exception is a stat in a directory that was looked at before, see [`Top::known`].

use super::{Kind, LOOK_EVERY, Listing, Stat};
use crate::pace::{Pace, Stopped};
use nix::{
    errno::Errno,
    fcntl::{OFlag, open, openat, readlinkat},
    sys::stat::Mode,
};
use rustix::fs::{AtFlags, FileType, fstat, statat};
use std::{
    cell::OnceCell,
    fs, io,
    os::{
        fd::{AsFd as _, BorrowedFd, OwnedFd},
        unix::ffi::OsStringExt as _,
    },
    path::Path,
    sync::Arc,
};

/// An open directory, or one that is opened when something in it is to be read.
#[derive(Debug)]
pub struct Dir(Place);

#[derive(Debug)]
enum Place {
    Open(Arc<OwnedFd>),
    Known { top: Top, path: Vec<u8>, opened: OnceCell<OwnedFd> },
}

/// A directory that stays open, for [`Dir::of`].
#[derive(Debug, Clone)]
pub struct Handle(Arc<OwnedFd>);

/// The top of a tree, held open while the tree is walked.
#[derive(Debug, Clone)]
pub struct Top(Arc<OwnedFd>);

const DIR_FLAGS: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
const FILE_FLAGS: OFlag = OFlag::O_NOFOLLOW.union(OFlag::O_NONBLOCK).union(OFlag::O_NOCTTY).union(OFlag::O_CLOEXEC);
/// Paths that a stat takes; a longer one is walked name by name.
const MAX_PATH: usize = 4_000;

impl Top {
    /// The directory at `path`, which was canonicalised before.
    ///
    /// # Errors
    /// The operating system's.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(Arc::new(open(path, DIR_FLAGS, Mode::empty())?)))
    }

    /// The directory at `path` below, with or without a `/` at its end, which this walk has just seen to be one. It is not
    /// opened before something in it is listed or read, and then name by name.
    ///
    /// A stat goes by the whole path: where somebody puts a link in the place of a directory in between, it says what size
    /// and times a file elsewhere has, which makes one row of a status wrong. Contents are never read that way.
    #[must_use]
    pub fn known(&self, path: &[u8]) -> Dir {
        let path = path.strip_suffix(b"/").unwrap_or(path).to_vec();
        Dir(Place::Known { top: self.clone(), path, opened: OnceCell::new() })
    }
}

impl Dir {
    /// The directory at `path`, which was canonicalised before.
    ///
    /// # Errors
    /// The operating system's.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(Place::Open(Arc::new(open(path, DIR_FLAGS, Mode::empty())?))))
    }

    /// The directory that `handle` holds.
    #[must_use]
    pub fn of(handle: &Handle) -> Self {
        Self(Place::Open(Arc::clone(&handle.0)))
    }

    /// Its descriptor, to hold it open for longer than this; `None` where it was not opened.
    #[must_use]
    pub fn handle(&self) -> Option<Handle> {
        match &self.0 {
            Place::Open(fd) => Some(Handle(Arc::clone(fd))),
            Place::Known { .. } => None,
        }
    }

    /// The directory `name` in this one; a link is refused.
    ///
    /// # Errors
    /// The operating system's.
    pub fn child(&self, name: &[u8]) -> io::Result<Self> {
        Ok(Self(Place::Open(Arc::new(openat(self.fd()?, name, DIR_FLAGS, Mode::empty())?))))
    }

    /// The directory `name` in this one, which a listing of this one has just called one. As [`Top::known`] has it.
    #[must_use]
    pub fn beneath(&self, name: &[u8]) -> Self {
        let (top, path) = match &self.0 {
            Place::Open(fd) => (Top(Arc::clone(fd)), name.to_vec()),
            Place::Known { top, path, .. } if path.is_empty() => (top.clone(), name.to_vec()),
            Place::Known { top, path, .. } => (top.clone(), [path, &b"/"[..], name].concat()),
        };
        Self(Place::Known { top, path, opened: OnceCell::new() })
    }

    /// Reads all entries but `.` and `..` into `listing`, sorted. To be called once.
    ///
    /// # Errors
    /// The operating system's; `Ok(Err(_))` when the time is over.
    pub fn list(&self, listing: &mut Listing, pace: &Pace) -> io::Result<Result<(), Stopped>> {
        listing.clear();
        let mut unknown = Vec::new();
        let mut stopped = Ok(());
        // all walks share the descriptor of the top, and with it the place up to which it was listed
        let own = match &self.0 {
            Place::Known { top, path, .. } if path.is_empty() => {
                Some(openat(top.0.as_fd(), ".", DIR_FLAGS, Mode::empty())?)
            }
            _ => None,
        };
        let fd = own.as_ref().map_or_else(|| self.fd(), |own| Ok(own.as_fd()))?;
        entries(fd, |name, kind| {
            if listing.len() % LOOK_EVERY == LOOK_EVERY - 1 {
                stopped = pace.look();
            }
            if name != b"." && name != b".." {
                if kind.is_none() {
                    unknown.push(listing.len());
                }
                listing.push(name, kind.unwrap_or(Kind::Special));
            }
            stopped.is_ok()
        })?;
        if stopped.is_err() {
            return Ok(stopped);
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
        if let Place::Known { top, path, opened } = &self.0
            && opened.get().is_none()
            && path.len() + name.len() < MAX_PATH
        {
            let whole = if path.is_empty() { name.to_vec() } else { [path, &b"/"[..], name].concat() };
            return stat(top.0.as_fd(), &whole);
        }
        stat(self.fd()?, name)
    }

    /// The stat of the directory itself.
    ///
    /// # Errors
    /// The operating system's.
    pub fn own_stat(&self) -> io::Result<Stat> {
        Ok(of(&fstat(self.fd()?)?))
    }

    /// The file `name`, open for reading. The caller checks that it is regular; the open cannot block.
    ///
    /// # Errors
    /// The operating system's.
    pub fn file(&self, name: &[u8]) -> io::Result<fs::File> {
        Ok(fs::File::from(openat(self.fd()?, name, FILE_FLAGS, Mode::empty())?))
    }

    /// The target of the link `name`.
    ///
    /// # Errors
    /// The operating system's.
    pub fn link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        match readlinkat(self.fd()?, name) {
            Ok(target) => Ok(target.into_vec()),
            Err(Errno::EINVAL) => Err(io::ErrorKind::InvalidInput.into()),
            Err(e) => Err(e.into()),
        }
    }

    fn fd(&self) -> io::Result<BorrowedFd<'_>> {
        match &self.0 {
            Place::Open(fd) => Ok(fd.as_fd()),
            Place::Known { top, path, .. } if path.is_empty() => Ok(top.0.as_fd()),
            Place::Known { top, path, opened } => {
                if let Some(fd) = opened.get() {
                    return Ok(fd.as_fd());
                }
                let mut names = path.split(|&byte| byte == b'/');
                let first = names.next().unwrap_or_default();
                let first = openat(top.0.as_fd(), first, DIR_FLAGS, Mode::empty())?;
                let last = names.try_fold(first, |dir, name| openat(dir.as_fd(), name, DIR_FLAGS, Mode::empty()))?;
                Ok(opened.get_or_init(|| last).as_fd())
            }
        }
    }
}

/// Gives each entry to `each` with its kind, where the file system tells it, until that says no.
#[cfg(target_os = "linux")]
fn entries(fd: BorrowedFd<'_>, mut each: impl FnMut(&[u8], Option<Kind>) -> bool) -> io::Result<()> {
    use rustix::fs::RawDir;
    /// Bytes of entries that the kernel hands out at once.
    const PIECE: usize = 32 * 1024;
    let mut buffer = Vec::<u8>::with_capacity(PIECE);
    let mut entries = RawDir::new(fd, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let kind = match entry.file_type() {
            FileType::RegularFile => Some(Kind::File),
            FileType::Symlink => Some(Kind::Link),
            FileType::Directory => Some(Kind::Dir),
            FileType::Unknown => None,
            _ => Some(Kind::Special),
        };
        if !each(entry.file_name().to_bytes(), kind) {
            break;
        }
    }
    Ok(())
}

/// The same by the C library.
#[cfg(not(target_os = "linux"))]
fn entries(fd: BorrowedFd<'_>, mut each: impl FnMut(&[u8], Option<Kind>) -> bool) -> io::Result<()> {
    use nix::dir;
    let mut dir = dir::Dir::openat(fd, ".", DIR_FLAGS, Mode::empty())?;
    for entry in dir.iter() {
        let entry = entry?;
        let kind = match entry.file_type() {
            Some(dir::Type::File) => Some(Kind::File),
            Some(dir::Type::Symlink) => Some(Kind::Link),
            Some(dir::Type::Directory) => Some(Kind::Dir),
            Some(_) => Some(Kind::Special),
            None => None,
        };
        if !each(entry.file_name().to_bytes(), kind) {
            break;
        }
    }
    Ok(())
}

/// The stat of `path` below `dir`, links not followed. On Linux by the system call itself, without a detour through libc:
/// this is what a walk spends its time with.
fn stat(dir: BorrowedFd<'_>, path: &[u8]) -> io::Result<Stat> {
    Ok(of(&statat(dir, path, AtFlags::SYMLINK_NOFOLLOW)?))
}

// field types differ between systems
#[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, clippy::unnecessary_cast, clippy::useless_conversion)]
fn of(stat: &rustix::fs::Stat) -> Stat {
    let kind = match FileType::from_raw_mode(stat.st_mode as _) {
        FileType::RegularFile => Kind::File,
        FileType::Symlink => Kind::Link,
        FileType::Directory => Kind::Dir,
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
