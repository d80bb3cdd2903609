//! The few places where systems differ: flags of an open, positions of a read, identity of a file.
//! Trust: paths may lead to FIFOs or links set as traps; nothing here waits on one.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

/// Which file a descriptor is: device and inode. Two names, or one name at two times, are the same file if this is equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Device.
    pub device: u64,
    /// Inode.
    pub inode: u64,
}

/// Opens for reading alone; a FIFO does not block, and a link is refused where `no_link` says so.
pub(crate) fn open_reading(path: &Path, no_link: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    flags(&mut options, no_link);
    options.open(path)
}

#[cfg(unix)]
fn flags(options: &mut OpenOptions, no_link: bool) {
    use nix::fcntl::OFlag;
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = OFlag::O_NONBLOCK | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
    options.custom_flags(if no_link { flags | OFlag::O_NOFOLLOW } else { flags }.bits());
    options.mode(0o600);
}

#[cfg(not(unix))]
fn flags(_: &mut OpenOptions, _: bool) {}

/// Opens for appending (and for nothing else), made with mode 0600 where it is not there; never through a link.
pub(crate) fn open_appending(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    flags(&mut options, true);
    options.open(path)
}

/// Opens a lock as [`open_appending`] does. Where a system locks no file that is open for appending alone (`File::lock`), it is
/// open for reading too.
pub(crate) fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).read(cfg!(windows));
    flags(&mut options, true);
    options.open(path)
}

/// Makes a file that must not be there yet, mode 0600.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    flags(&mut options, true);
    options.open(path)
}

/// Opens for cutting the file's end.
pub(crate) fn open_cutting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    flags(&mut options, true);
    options.open(path)
}

/// Reads at an offset without moving any position.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, into, offset)
}

/// Reads at an offset; the position that moves is used by nobody else.
#[cfg(windows)]
pub(crate) fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, into, offset)
}

/// The identity of an opened file.
#[cfg(unix)]
pub(crate) fn identity(file: &std::fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    Identity { device: file.dev(), inode: file.ino() }
}

/// Without inodes the time of creation must do.
#[cfg(not(unix))]
pub(crate) fn identity(file: &std::fs::Metadata) -> Identity {
    let created = file.created().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    Identity { device: 0, inode: created.map_or(0, |at| at.as_nanos() as u64) }
}

/// Makes renames, creations and removals in a directory durable.
#[cfg(unix)]
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Directories cannot be synced here; the file system's own journal must do.
#[cfg(not(unix))]
pub(crate) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
