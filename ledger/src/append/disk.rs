//! The plain implementation on paths: for tests, for a single process, and for the peer of a jailed writer.
//! Trust: the directory must be the user's own and closed to others; links, second names and other file types are refused.

use super::{ActiveFile, Directory, Listing, ReadAt};
use crate::{
    limits::{MAX_CHECKPOINT, MAX_DIRECTORY, MAX_LINE},
    names::{self, CheckpointName, Kind, SegmentName},
    platform::{self, Identity},
};
use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};
use thiserror::Error;

/// Segments and checkpoints that a listing names.
const MAX_LISTED: usize = 64;

/// Why a ledger cannot lie at a path.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// No file name, or one that is not text.
    #[error("the path does not name a file")]
    Name,
    /// Others may read or write the directory.
    #[error("the ledger's directory has mode {0:o}; group and others must have no right to it")]
    Mode(u32),
    /// The directory is another user's.
    #[error("the ledger's directory belongs to another user")]
    Owner,
    /// Something else stands where the directory is, or would be made.
    #[error("{0} is no directory, and the ledger lies beneath it; move it away, or name another ledger")]
    Blocked(PathBuf),
    /// The system refused.
    #[error("the ledger's directory cannot be used: {0}")]
    Io(#[from] io::Error),
}

/// A ledger's directory and lock, opened.
#[derive(Debug)]
pub struct DiskDirectory {
    directory: PathBuf,
    name: String,
    lock: File,
}

/// Opens the directory of the ledger whose active file is (or will be) at `path`. Directories that are missing are made,
/// all with mode 0700; links above are resolved once, here.
///
/// # Errors
/// [`PlaceError`].
pub fn open_directory(path: &Path) -> Result<DiskDirectory, PlaceError> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or(PlaceError::Name)?.to_owned();
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Some(blocked) = blocked(above) {
        return Err(PlaceError::Blocked(blocked));
    }
    make_private(above)?;
    let directory = above.canonicalize()?;
    check_private(&directory)?;
    let lock = platform::open_lock(&directory.join(names::lock_name(&name)))?;
    check_file(&lock)?;
    Ok(DiskDirectory { directory, name, lock })
}

/// Whether [`open_directory`] would fail at what is there now; makes nothing.
///
/// # Errors
/// [`PlaceError`], as it would be.
pub fn check_directory(path: &Path) -> Result<(), PlaceError> {
    path.file_name().and_then(|name| name.to_str()).ok_or(PlaceError::Name)?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let there = above.ancestors().map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { dir });
    let Some(there) = there.into_iter().find(|dir| dir.symlink_metadata().is_ok()) else { return Ok(()) };
    if let Some(blocked) = blocked(above) {
        return Err(PlaceError::Blocked(blocked));
    }
    if there == above {
        check_private(&above.canonicalize()?)?;
    }
    Ok(writable(there)?)
}

/// What is there in place of a directory or of one above it, if that is none; links are followed.
fn blocked(directory: &Path) -> Option<PathBuf> {
    let there = directory.ancestors().find_map(|path| Some((path, path.metadata().ok()?)));
    there.filter(|(_, found)| !found.is_dir()).map(|(path, _)| path.to_owned())
}

/// Whether files can be made in the directory `path`.
#[cfg(unix)]
fn writable(path: &Path) -> io::Result<()> {
    use nix::unistd::{AccessFlags, access};
    Ok(access(path, AccessFlags::W_OK | AccessFlags::X_OK)?)
}

#[cfg(not(unix))]
fn writable(path: &Path) -> io::Result<()> {
    if path.metadata()?.permissions().readonly() { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}

#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn make_private(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

#[cfg(unix)]
fn check_private(path: &Path) -> Result<(), PlaceError> {
    use std::os::unix::fs::MetadataExt as _;
    let facts = path.metadata()?;
    if facts.uid() != nix::unistd::geteuid().as_raw() {
        return Err(PlaceError::Owner);
    }
    if facts.mode() & 0o077 != 0 { Err(PlaceError::Mode(facts.mode() & 0o7777)) } else { Ok(()) }
}

#[cfg(not(unix))]
fn check_private(_: &Path) -> Result<(), PlaceError> {
    Ok(())
}

/// A regular file with one name, closed to others from now on.
#[cfg(unix)]
fn check_file(file: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let facts = file.metadata()?;
    if !facts.is_file() || facts.nlink() != 1 {
        return Err(io::Error::other("not a regular file with one name"));
    }
    if facts.mode() & 0o777 != 0o600 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_file(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { Ok(()) } else { Err(io::Error::other("not a regular file")) }
}

/// The active file by two descriptors: one opened for appending alone, one for reading alone.
#[derive(Debug)]
pub struct Descriptors {
    append: File,
    read: File,
    identity: Identity,
}

impl Descriptors {
    /// Takes two descriptors, which must be of one file.
    ///
    /// # Errors
    /// They are not, or the system does not say.
    pub fn new(append: File, read: File) -> io::Result<Self> {
        let identity = platform::identity(&append.metadata()?);
        if platform::identity(&read.metadata()?) != identity {
            return Err(io::Error::other("the two descriptors are of two files"));
        }
        Ok(Self { append, read, identity })
    }

    /// Takes two descriptors of the file `identity`, for a process that may not ask which file a descriptor is of: who
    /// handed them over knows.
    #[must_use]
    pub fn of(append: File, read: File, identity: Identity) -> Self {
        Self { append, read, identity }
    }

    /// The appending and the reading descriptor, to be handed to a writer, and which file they are of.
    #[must_use]
    pub fn into_parts(self) -> (File, File, Identity) {
        (self.append, self.read, self.identity)
    }
}

/// The length, without asking for the file's facts: a jailed writer may not (libc does that by a call that takes a path).
/// Nothing here reads at a position of its own.
fn length(mut file: &File) -> io::Result<u64> {
    file.seek(SeekFrom::End(0))
}

impl ReadAt for Descriptors {
    fn length(&self) -> io::Result<u64> {
        length(&self.read)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        platform::read_at(&self.read, into, offset)
    }
}

impl ActiveFile for Descriptors {
    fn identity(&self) -> io::Result<Identity> {
        Ok(self.identity)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append.write(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.append.sync_data()
    }
}

/// A segment's descriptor.
#[derive(Debug)]
pub struct ReadOnly(pub File);

impl ReadAt for ReadOnly {
    fn length(&self) -> io::Result<u64> {
        length(&self.0)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        platform::read_at(&self.0, into, offset)
    }
}

impl DiskDirectory {
    fn at(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn sync(&self) -> io::Result<()> {
        platform::sync_directory(&self.directory)
    }

    /// Name of the active file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the active file; `None` where there is none.
    ///
    /// # Errors
    /// What the system says; a name that is no regular file is an error.
    pub fn active_length(&mut self) -> io::Result<Option<u64>> {
        match self.active()? {
            Some(_) => Ok(Some(fs::symlink_metadata(self.at(&self.name))?.len())),
            None => Ok(None),
        }
    }

    /// The lock file, opened anew: a lock taken by this descriptor is its holder's alone, and goes with its last copy.
    ///
    /// # Errors
    /// What the system says.
    pub fn open_lock(&self) -> io::Result<File> {
        let lock = platform::open_lock(&self.at(&names::lock_name(&self.name)))?;
        check_file(&lock)?;
        Ok(lock)
    }

    /// The active name must mean `file`.
    fn expect_active(&mut self, file: Identity) -> io::Result<()> {
        if self.active()? == Some(file) { Ok(()) } else { Err(io::Error::other("another file is active")) }
    }
}

impl Directory for DiskDirectory {
    type Active = Descriptors;
    type Segment = ReadOnly;

    fn try_lock(&mut self) -> io::Result<bool> {
        match self.lock.try_lock() {
            Ok(()) => Ok(true),
            Err(fs::TryLockError::WouldBlock) => Ok(false),
            Err(fs::TryLockError::Error(fault)) => Err(fault),
        }
    }

    fn unlock(&mut self) -> io::Result<()> {
        self.lock.unlock()
    }

    fn active(&mut self) -> io::Result<Option<Identity>> {
        match fs::symlink_metadata(self.at(&self.name)) {
            Ok(facts) if facts.is_file() => Ok(Some(platform::identity(&facts))),
            Ok(_) => Err(io::Error::other("the active file is not a regular file")),
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    fn open_active(&mut self) -> io::Result<Descriptors> {
        let path = self.at(&self.name);
        let is_new = self.active()?.is_none();
        let append = platform::open_appending(&path)?;
        check_file(&append)?;
        if is_new {
            self.sync()?;
        }
        Descriptors::new(append, platform::open_reading(&path, true)?)
    }

    fn list(&mut self) -> io::Result<Listing> {
        let mut listing = Listing::default();
        for (seen, entry) in fs::read_dir(&self.directory)?.enumerate() {
            let file = entry?.file_name();
            match file.to_str().map_or(Kind::Other, |file| names::kind(&self.name, file)) {
                Kind::Segment(segment) => listing.segments.push(segment),
                Kind::BadSegment => return Err(io::Error::other("a file has a malformed segment name")),
                Kind::Checkpoint => listing.checkpoints.extend(file.into_string()),
                Kind::Other => {}
            }
            if seen >= MAX_DIRECTORY || listing.segments.len().max(listing.checkpoints.len()) > MAX_LISTED {
                return Err(io::Error::other("too many files in the ledger's directory"));
            }
        }
        listing.segments.sort_unstable();
        Ok(listing)
    }

    fn open_segment(&mut self, name: &SegmentName) -> io::Result<ReadOnly> {
        let file = platform::open_reading(&self.at(&name.file_name(&self.name)), true)?;
        if file.metadata()?.is_file() { Ok(ReadOnly(file)) } else { Err(io::Error::other("not a regular file")) }
    }

    fn read_checkpoint(&mut self, name: &str) -> io::Result<Vec<u8>> {
        if names::kind(&self.name, name) != Kind::Checkpoint || name.contains('/') {
            return Err(io::Error::other("not the name of a checkpoint"));
        }
        let mut bytes = Vec::new();
        let file = platform::open_reading(&self.at(name), true)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a regular file"));
        }
        file.take(MAX_CHECKPOINT as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn rename_active(&mut self, file: Identity, to: &SegmentName) -> io::Result<()> {
        self.expect_active(file)?;
        let to = self.at(&to.file_name(&self.name));
        if to.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        fs::rename(self.at(&self.name), to)?;
        self.sync()
    }

    fn cut_tail(&mut self, file: Identity, from: u64, to: u64) -> io::Result<()> {
        let refuse = |why: &str| Err(io::Error::other(why.to_owned()));
        let opened = platform::open_cutting(&self.at(&self.name))?;
        let facts = opened.metadata()?;
        if platform::identity(&facts) != file || facts.len() != from {
            return refuse("the active file is another, or has another length");
        }
        if to >= from {
            return refuse("nothing to cut");
        }
        // from the byte before the cut on: it must be the end of a line, and no line may end after it
        let start = to.saturating_sub(1);
        let Some(length) = from.checked_sub(start).filter(|length| *length <= MAX_LINE as u64) else {
            return refuse("more than a torn line");
        };
        let mut bytes = vec![0; length as usize];
        let mut read = 0;
        while read < bytes.len() {
            match platform::read_at(&opened, &mut bytes[read..], start + read as u64)? {
                0 => return refuse("the active file became shorter"),
                more => read += more,
            }
        }
        let torn = if to == 0 { &bytes[..] } else { &bytes[1..] };
        if to > 0 && bytes[0] != b'\n' || torn.contains(&b'\n') || torn.is_empty() {
            return refuse("not a torn line");
        }
        opened.set_len(to)?;
        opened.sync_all()
    }

    fn write_checkpoint(&mut self, name: &CheckpointName, content: &[u8]) -> io::Result<()> {
        let finished = self.at(&name.file_name(&self.name));
        if finished.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        // under another name until it is whole: a torn checkpoint would make the ledger unverifiable
        let unfinished = self.at(&format!("{}.unfinished-checkpoint", self.name));
        match fs::remove_file(&unfinished) {
            Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault),
            _ => {}
        }
        let mut file = platform::create_new(&unfinished)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&unfinished, finished)?;
        self.sync()
    }

    fn remove_segment(&mut self, name: &SegmentName) -> io::Result<()> {
        fs::remove_file(self.at(&name.file_name(&self.name)))?;
        self.sync()
    }

    fn remove_checkpoint(&mut self, name: &str) -> io::Result<()> {
        if names::kind(&self.name, name) != Kind::Checkpoint || name.contains('/') {
            return Err(io::Error::other("not the name of a checkpoint"));
        }
        fs::remove_file(self.at(name))
    }
}
