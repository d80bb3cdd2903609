//! Handles of systems that have them: each name is opened beneath the directory before it.
//! Trust: as above; a name that becomes a link between two looks is refused by the second.

use super::{Closed, Facts, Kind, MAX_NAMES, Name};
use bulkhead_ipc::edge::agents::Stamp;
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Stat, openat, statat},
    io::Errno,
};
use std::{
    fs::File,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Component, Path},
};

/// What a directory is held by: nothing can be read through it, only beneath it. Systems without such handles read.
#[cfg(target_os = "linux")]
const HOLD: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const HOLD: OFlags = OFlags::RDONLY;

/// Bytes of a listing that are asked for at once.
#[cfg(target_os = "linux")]
const LISTED: usize = 16 * 1_024;

/// What is handed to the jail.
pub type Handle = OwnedFd;

/// A directory that was reached without following a link.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    /// It was opened to be listed, and need not be opened again for that.
    readable: bool,
}

impl Dir {
    /// Walks an absolute path, one name after the other.
    ///
    /// # Errors
    /// Where it ends.
    pub fn walk(path: &Path) -> Result<Self, Closed> {
        let mut at: Option<Self> = None;
        for component in path.components() {
            at = Some(match (at, component) {
                (None, Component::RootDir) => {
                    let root = openat(rustix::fs::CWD, "/", HOLD | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
                    Self { fd: root.map_err(|_| Closed::Refused)?, readable: false }
                }
                (Some(dir), Component::Normal(name)) => dir.child(name.as_bytes())?,
                // neither `..` nor a relative path has a place in what the operator's places are made of
                _ => return Err(Closed::Refused),
            });
        }
        at.ok_or(Closed::Refused)
    }

    /// Walks an absolute path, makes what is missing of it for the owner alone, and opens the last to be listed.
    ///
    /// # Errors
    /// Where it ends.
    pub fn make(path: &Path) -> Result<Self, Closed> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(Closed::Refused) };
        let name = name.as_bytes();
        let parent = match Self::walk(parent) {
            Err(Closed::Absent) => Self::make(parent)?,
            walked => walked?,
        };
        match rustix::fs::mkdirat(&parent.fd, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => parent.readable_child(name),
            Err(_) => Err(Closed::Refused),
        }
    }

    /// What this directory itself is.
    ///
    /// # Errors
    /// The system does not say.
    pub fn own_facts(&self) -> Result<Facts, Closed> {
        rustix::fs::fstat(&self.fd).map(|stat| facts(&stat)).map_err(|_| Closed::Refused)
    }

    /// The directory of that name in this one.
    ///
    /// # Errors
    /// There is none.
    pub fn child(&self, name: &[u8]) -> Result<Self, Closed> {
        let flags = HOLD | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&self.fd, name, flags, Mode::empty());
        opened.map(|fd| Self { fd, readable: false }).map_err(|errno| self.why(name, errno))
    }

    /// The same, opened to be read: where handles cannot be had any more.
    ///
    /// # Errors
    /// There is none.
    pub fn readable_child(&self, name: &[u8]) -> Result<Self, Closed> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&self.fd, name, flags, Mode::empty());
        opened.map(|fd| Self { fd, readable: true }).map_err(|errno| self.why(name, errno))
    }

    /// What a name is; nothing is opened.
    ///
    /// # Errors
    /// There is no such name, or it is refused.
    pub fn facts(&self, name: &[u8]) -> Result<Facts, Closed> {
        match statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(facts(&stat)),
            Err(Errno::NOENT | Errno::NOTDIR) => Err(Closed::Absent),
            Err(_) => Err(Closed::Refused),
        }
    }

    /// What a name in a directory in this one is; for times alone, since the directory may have become a link meanwhile.
    ///
    /// # Errors
    /// As [`Dir::facts`].
    pub fn facts_in(&self, dir: &[u8], name: &[u8]) -> Result<Facts, Closed> {
        self.facts(&[dir, b"/", name].concat())
    }

    /// The names in it, at most [`MAX_NAMES`], and whether there are more.
    ///
    /// # Errors
    /// It cannot be listed.
    pub fn names(&self) -> Result<(Vec<Name>, bool), Closed> {
        if self.readable {
            // whoever listed it before, and copies of the descriptor, left the position where they were
            rustix::fs::seek(&self.fd, rustix::fs::SeekFrom::Start(0)).map_err(|_| Closed::Refused)?;
            return listed(&self.fd);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        listed(&openat(&self.fd, ".", flags, Mode::empty()).map_err(|_| Closed::Refused)?)
    }

    /// A regular file of that name, open to be read, and what it is. A pipe in its place is not waited for.
    ///
    /// # Errors
    /// There is none.
    pub fn open(&self, name: &[u8]) -> Result<(File, Facts), Closed> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(&self.fd, name, flags, Mode::empty()).map_err(|errno| self.why(name, errno))?;
        let facts = facts(&rustix::fs::fstat(&file).map_err(|_| Closed::Refused)?);
        if facts.kind == Kind::File { Ok((File::from(file), facts)) } else { Err(Closed::Kind) }
    }

    /// A handle on the regular file of that name, to be handed to the jail.
    ///
    /// # Errors
    /// There is none.
    pub fn hold(&self, name: &[u8]) -> Result<Handle, Closed> {
        let flags = HOLD | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let handle = openat(&self.fd, name, flags, Mode::empty()).map_err(|errno| self.why(name, errno))?;
        match facts(&rustix::fs::fstat(&handle).map_err(|_| Closed::Refused)?).kind {
            Kind::File => Ok(handle),
            Kind::Link => Err(Closed::Link),
            Kind::Directory | Kind::Other => Err(Closed::Kind),
        }
    }

    /// A new file of that name, for the owner alone.
    ///
    /// # Errors
    /// There is something of that name, or the system refuses.
    pub fn create(&self, name: &[u8]) -> Result<File, Closed> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR).map(File::from).map_err(|_| Closed::Refused)
    }

    /// Gives a file in this directory another name in it, in place of what has that name.
    ///
    /// # Errors
    /// The system refuses.
    pub fn rename(&self, from: &[u8], to: &[u8]) -> Result<(), Closed> {
        rustix::fs::renameat(&self.fd, from, &self.fd, to).map_err(|_| Closed::Refused)
    }

    /// Removes a file.
    ///
    /// # Errors
    /// There is none, or the system refuses.
    pub fn remove(&self, name: &[u8]) -> Result<(), Closed> {
        match rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()) {
            Ok(()) => Ok(()),
            Err(Errno::NOENT) => Err(Closed::Absent),
            Err(_) => Err(Closed::Refused),
        }
    }

    /// A handle on this directory, to be handed to the jail.
    ///
    /// # Errors
    /// There are no descriptors left.
    pub fn handle(&self) -> Result<Handle, Closed> {
        self.fd.try_clone().map_err(|_| Closed::Refused)
    }

    /// Why a name did not open: the same errno stands for several reasons.
    fn why(&self, name: &[u8], errno: Errno) -> Closed {
        if errno == Errno::NOENT {
            return Closed::Absent;
        }
        match (errno, self.facts(name)) {
            (_, Ok(facts)) if facts.kind == Kind::Link => Closed::Link,
            (Errno::NOTDIR | Errno::NXIO | Errno::NODEV, Ok(_)) => Closed::Kind,
            _ => Closed::Refused,
        }
    }
}

/// Names, up to the limit, and whether there are more.
#[cfg(target_os = "linux")]
fn listed(dir: &OwnedFd) -> Result<(Vec<Name>, bool), Closed> {
    // by the system's own call: the library's listing duplicates the descriptor and looks at its flags each time
    let mut buffer = Vec::with_capacity(LISTED);
    let mut listed = rustix::fs::RawDir::new(dir, buffer.spare_capacity_mut());
    let mut names = Vec::new();
    while let Some(entry) = listed.next() {
        let entry = entry.map_err(|_| Closed::Refused)?;
        if !take(&mut names, entry.file_name().to_bytes(), entry.file_type()) {
            return Ok((names, true));
        }
    }
    Ok((names, false))
}

/// The same where the system has no such call.
#[cfg(not(target_os = "linux"))]
fn listed(dir: &OwnedFd) -> Result<(Vec<Name>, bool), Closed> {
    let dir = dir.try_clone().map_err(|_| Closed::Refused)?;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::new(dir).map_err(|_| Closed::Refused)? {
        let entry = entry.map_err(|_| Closed::Refused)?;
        if !take(&mut names, entry.file_name().to_bytes(), entry.file_type()) {
            return Ok((names, true));
        }
    }
    Ok((names, false))
}

/// Adds a name; false where there is no place for it.
fn take(names: &mut Vec<Name>, bytes: &[u8], of: FileType) -> bool {
    if matches!(bytes, b"." | b"..") {
        return true;
    }
    let fits = names.len() < MAX_NAMES;
    if fits {
        names.push(Name { bytes: bytes.to_vec(), kind: kind(of) });
    }
    fits
}

fn kind(kind: FileType) -> Option<Kind> {
    match kind {
        FileType::Directory => Some(Kind::Directory),
        FileType::RegularFile => Some(Kind::File),
        FileType::Symlink => Some(Kind::Link),
        FileType::Unknown => None,
        _ => Some(Kind::Other),
    }
}

#[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = "the widths differ between systems")]
fn facts(stat: &Stat) -> Facts {
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    let stamp = Stamp {
        file: (stat.st_dev as u64, stat.st_ino as u64),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: nanos(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: nanos(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        way: 0,
    };
    let mode = u32::from(stat.st_mode);
    let kind = kind(FileType::from_raw_mode(stat.st_mode)).unwrap_or(Kind::Other);
    Facts { kind, stamp, uid: stat.st_uid, mode: mode & 0o7777 }
}
