//! Bounded reads of the small files around a repository: never a special file, never more than the caller allows.
//! Trust: names and contents are the repository's; an open cannot block, and a link is followed only where asked for.

use crate::memory;
use bulkhead_contract::failure::{ReadFailure, Reason};
use bulkhead_ipc::edge::FileId;
use std::{
    fs, io,
    io::Read as _,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Bytes from which on it is looked whether there is room for a file.
const LARGE: usize = 1 << 20;

/// Why a file has no contents for us.
#[derive(Debug, thiserror::Error)]
pub enum NoContents {
    /// Nothing of that name.
    #[error("absent")]
    Absent,
    /// A link, a directory, a FIFO, a socket or a device.
    #[error("not a regular file")]
    NotRegular,
    /// Longer than the caller allows.
    #[error("longer than {0} bytes")]
    TooLarge(u64),
    /// Longer than there is memory for.
    #[error("larger than this worker's memory has room for; start the server with a larger --worker-memory")]
    NoRoom,
    /// The operating system refused.
    #[error("refused")]
    Denied,
    /// The disk failed.
    #[error("not readable")]
    Failed,
}

impl NoContents {
    /// The failure of `operation` on the file `name`, a path relative to the repository.
    #[must_use]
    pub fn failure(&self, operation: &str, name: &str) -> ReadFailure {
        let reason = match self {
            NoContents::Absent => Reason::Corrupt,
            NoContents::NotRegular => Reason::SpecialFile,
            NoContents::TooLarge(_) | NoContents::NoRoom => Reason::TooLarge,
            NoContents::Denied => Reason::PermissionDenied,
            NoContents::Failed => Reason::Io,
        };
        let details = match self {
            NoContents::Denied => out_of_reach(&format!("`{name}`")),
            _ => format!("{name} is {self}."),
        };
        ReadFailure::new(reason, operation, details).at(name.as_bytes())
    }

    /// The kind of an operating system's error.
    #[must_use]
    pub fn of(error: &io::Error) -> Self {
        match error.kind() {
            // a name that no file system takes names nothing
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename => {
                NoContents::Absent
            }
            io::ErrorKind::PermissionDenied => NoContents::Denied,
            io::ErrorKind::IsADirectory => NoContents::NotRegular,
            _ if is_link(error) => NoContents::NotRegular,
            _ => NoContents::Failed,
        }
    }
}

/// What is said of `what`, which the operating system does not let this process reach.
#[must_use]
pub fn out_of_reach(what: &str) -> String {
    let root = if is_root() {
        " Workers hold no capabilities, root's included, so a private repository of another user cannot be read."
    } else {
        ""
    };
    format!("The server's own rights do not reach {what}.{root}")
}

fn is_root() -> bool {
    #[cfg(unix)]
    {
        nix::unistd::geteuid().is_root()
    }
    #[cfg(not(unix))]
    {
        false
    }
}

/// True for the error with which an open refuses a link.
#[must_use]
pub fn is_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        error.raw_os_error() == Some(nix::libc::ELOOP)
    }
    #[cfg(not(unix))]
    {
        error.kind() == io::ErrorKind::InvalidInput
    }
}

/// Whether the last component of a path may be a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// A link is [`NoContents::NotRegular`].
    Refuse,
    /// A link is followed, as Git does for the operator's own files and for `info/exclude`.
    Follow,
}

/// The contents of the regular file at `path`, at most `max` bytes.
///
/// # Errors
/// See [`NoContents`].
pub fn read(path: &Path, max: u64, links: Links) -> Result<Vec<u8>, NoContents> {
    let file = open(path, links).map_err(|e| NoContents::of(&e))?;
    read_open(file, max)
}

/// The rest of an open file that must be regular, at most `max` bytes.
///
/// # Errors
/// See [`NoContents`].
pub fn read_open(file: fs::File, max: u64) -> Result<Vec<u8>, NoContents> {
    let meta = file.metadata().map_err(|e| NoContents::of(&e))?;
    if !meta.is_file() {
        return Err(NoContents::NotRegular);
    }
    if meta.len() > max {
        return Err(NoContents::TooLarge(max));
    }
    let length = usize::try_from(meta.len()).unwrap_or(usize::MAX - 1) + 1;
    let mut contents = Vec::new();
    // an allocation that fails ends the process, and whoever reads the contents needs some more
    if length > LARGE && !memory::is_there(length.saturating_add(length / 4)) {
        return Err(NoContents::NoRoom);
    }
    contents.try_reserve_exact(length).map_err(|_| NoContents::NoRoom)?;
    // the file may have grown since; the limit holds all the same
    file.take(max + 1).read_to_end(&mut contents).map_err(|e| NoContents::of(&e))?;
    if contents.len() as u64 > max { Err(NoContents::TooLarge(max)) } else { Ok(contents) }
}

#[cfg(unix)]
fn open(path: &Path, links: Links) -> io::Result<fs::File> {
    use nix::fcntl::OFlag;
    use std::os::unix::fs::OpenOptionsExt as _;
    let nofollow = if links == Links::Refuse { OFlag::O_NOFOLLOW } else { OFlag::empty() };
    fs::OpenOptions::new().read(true).custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY | nofollow).bits()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path, links: Links) -> io::Result<fs::File> {
    if links == Links::Refuse && fs::symlink_metadata(path)?.is_symlink() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    fs::File::open(path)
}

/// Whether the file system at `path` is known to change the times of a directory with every name that comes, goes or is
/// renamed in it. Network and user-space file systems may not, and are not known.
#[cfg(target_os = "linux")]
#[must_use]
pub fn tells_times(path: &Path) -> bool {
    /// From `statfs(2)`: ext2 to ext4, XFS, Btrfs, tmpfs, overlayfs, F2FS, ZFS, bcachefs.
    const KNOWN: [u64; 8] =
        [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630, 0xf2f5_2010, 0x2fc1_2fc1, 0xca45_1a4e];
    // the type's width and sign differ between architectures
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast)]
    nix::sys::statfs::statfs(path).is_ok_and(|of| KNOWN.contains(&u64::from(of.filesystem_type().0 as u32)))
}

/// Not known on other systems.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn tells_times(_path: &Path) -> bool {
    false
}

/// Time after which a further change of a file shows in its change time, where the file system keeps fractions of seconds.
const GRAIN: Duration = Duration::from_millis(100);
/// And where it keeps whole seconds, or two.
const COARSE_GRAIN: Duration = Duration::from_secs(3);

/// What tells one version of a file from the next without reading it.
///
/// A version that was taken right after the file changed is equal to none, not even to itself: within one tick of the clock
/// the file may change again, keep its size, and even get its inode number back.
#[derive(Debug, Clone, Copy, Default)]
pub struct Version {
    id: Option<(u64, u64)>,
    size: u64,
    modified: Option<SystemTime>,
    changed: (i64, i64),
    young: bool,
}

impl Version {
    /// True where there was no file.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.id.is_none()
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        let fields = |of: &Version| (of.id, of.size, of.modified, of.changed);
        !self.young && !other.young && fields(self) == fields(other)
    }
}

/// The present version of the file or directory at `path`; the default value where there is none.
#[must_use]
pub fn version(path: &Path) -> Version {
    let now = SystemTime::now();
    let Ok(meta) = fs::metadata(path) else { return Version::default() };
    let id = file_id(&meta);
    let changed = change_time(&meta);
    let modified = meta.modified().ok();
    let seconds = u64::try_from(changed.0).ok().filter(|&seconds| seconds > 0);
    let last = match seconds.and_then(|seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds))) {
        Some(last) => last.checked_add(Duration::from_nanos(changed.1.unsigned_abs())),
        None => modified,
    };
    let fraction = last.and_then(|last| last.duration_since(UNIX_EPOCH).ok()).map_or(0, |since| since.subsec_nanos());
    let grain = if fraction == 0 { COARSE_GRAIN } else { GRAIN };
    // a clock that is far ahead is another machine's, and says nothing about now
    let young = last.is_some_and(|last| match now.duration_since(last) {
        Ok(age) => age < grain,
        Err(ahead) => ahead.duration() < grain,
    });
    Version { id: Some((id.dev, id.ino)), size: meta.len(), modified, changed, young }
}

/// Device and inode of `meta`; zeros where the system has none to give.
#[must_use]
pub fn file_id(meta: &fs::Metadata) -> FileId {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        FileId { dev: meta.dev(), ino: meta.ino() }
    }
    #[cfg(not(unix))]
    {
        let _ = meta;
        FileId { dev: 0, ino: 0 }
    }
}

fn change_time(meta: &fs::Metadata) -> (i64, i64) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (meta.ctime(), meta.ctime_nsec())
    }
    #[cfg(not(unix))]
    {
        let _ = meta;
        (0, 0)
    }
}

/// The bytes of a path, as Git stores them.
#[must_use]
pub fn path_bytes(path: &Path) -> Vec<u8> {
    gix::path::into_bstr(path).map(|bytes| bytes.into_owned().into()).unwrap_or_default()
}

/// The path of these bytes; `None` where the system cannot hold them.
#[must_use]
pub fn bytes_path(bytes: &[u8]) -> Option<std::path::PathBuf> {
    gix::path::from_byte_slice(bytes).ok().map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_of_bounded_size_is_read() {
        let dir = tempfile::tempdir().expect("a writable temporary directory");
        let path = dir.path().join("f");
        fs::write(&path, b"12345").expect("writable");
        assert_eq!(read(&path, 5, Links::Refuse).expect("fits"), b"12345");
        assert!(matches!(read(&path, 4, Links::Refuse), Err(NoContents::TooLarge(4))));
        assert!(matches!(read(dir.path(), 4, Links::Refuse), Err(NoContents::NotRegular)));
        assert!(matches!(read(&dir.path().join("none"), 4, Links::Refuse), Err(NoContents::Absent)));
    }

    #[test]
    fn a_version_right_after_a_change_is_equal_to_none() {
        let dir = tempfile::tempdir().expect("a writable temporary directory");
        let path = dir.path().join("f");
        assert_eq!(version(&path), Version::default(), "absent");
        fs::write(&path, b"1").expect("writable");
        let young = version(&path);
        assert_ne!(young, young);
        let old = (0..100).find_map(|_| {
            std::thread::sleep(GRAIN);
            Some(version(&path)).filter(|version| !version.young)
        });
        let old = old.expect("it grows old");
        assert_eq!(old, version(&path));
        fs::write(&path, b"2").expect("writable");
        assert_ne!(old, version(&path), "same size");
    }

    #[cfg(unix)]
    #[test]
    fn a_fifo_does_not_block_and_a_link_is_followed_only_where_asked() {
        let dir = tempfile::tempdir().expect("a writable temporary directory");
        let fifo = dir.path().join("fifo");
        let mode = nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR;
        nix::unistd::mkfifo(&fifo, mode).expect("FIFOs are possible here");
        assert!(matches!(read(&fifo, 9, Links::Follow), Err(NoContents::NotRegular)));
        fs::write(dir.path().join("f"), b"x").expect("writable");
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("f", &link).expect("links are possible here");
        assert!(matches!(read(&link, 9, Links::Refuse), Err(NoContents::NotRegular)));
        assert_eq!(read(&link, 9, Links::Follow).expect("followed"), b"x");
    }
}
