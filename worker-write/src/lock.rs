//! One write at a time in a working copy, also where several servers serve it.
//! Trust: the directory of locks is the operator's; the name in it is a digest, so no path of a repository reaches it.

use crate::{failure::failed, git::Git};
use bulkhead_contract::{canonical, direct::Class};
use bulkhead_ipc::edge::write::{Allowed, Failed};
use sha2::{Digest, Sha256};
use std::{
    ffi::OsStr,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How often a lock that somebody else holds is tried.
const AGAIN: Duration = Duration::from_millis(20);
/// Waiting ends this long before the call does, so that the answer still gets out.
const MARGIN: Duration = Duration::from_secs(1);

/// Bytes of what a write leaves for the next one at most.
const MAX_RECORD: u64 = 16 << 20;

/// A lock file, where there is a directory for them.
pub type Opened = io::Result<Option<File>>;

/// The lock, held until it is dropped; the kernel drops it when the process ends, however it ends.
#[derive(Debug)]
pub struct Held(Option<File>);

impl Held {
    /// What a write that was ended before its time has left in the lock file; empty where none was.
    #[must_use]
    pub fn left(&self) -> Vec<u8> {
        let mut left = Vec::new();
        if let Some(file) = &self.0 {
            // what cannot be read is as good as nothing: it is a warning and no wall
            let _ = file.take(MAX_RECORD).read_to_end(&mut left);
        }
        left
    }

    /// Leaves this for the next write; nothing, once this one is over. A disk that has no room for it stops no write.
    pub fn leave(&self, record: &[u8]) {
        if let Some(mut file) = self.0.as_ref() {
            let _ = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).and_then(|_| file.write_all(record));
        }
    }
}

/// Opens the lock of a repository, before the walls are closed: what runs behind them has no way to the directory of locks.
///
/// # Errors
/// The directory or the file cannot be made, or something else stands there.
pub fn open(allowed: &Allowed) -> Opened {
    let Some(locks) = &allowed.locks else { return Ok(None) };
    let locks = Path::new(OsStr::from_bytes(locks));
    fs::create_dir_all(locks)?;
    let path = path(locks, Path::new(OsStr::from_bytes(&allowed.common_dir)));
    // a pipe would be waited for
    if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
        return Err(io::Error::other(format!("{} is no regular file", path.display())));
    }
    OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(&path).map(Some)
}

/// The lock file of a repository: all its working trees share one, because they share refs and configuration.
#[must_use]
pub fn path(locks: &Path, common_dir: &Path) -> PathBuf {
    let digest = Sha256::digest(common_dir.as_os_str().as_bytes());
    locks.join(format!("{}.write", &canonical::hex(&digest.into())[..32]))
}

/// Waits for the lock.
///
/// # Errors
/// Class `locked` where another write still holds it shortly before the call's time is over, `cancelled` where the
/// caller gave up before that, `failed` where the lock file cannot be made.
pub fn take(allowed: &Allowed, git: &Git) -> Result<Held, Box<Failed>> {
    let Some(file) = git.lock(allowed).map_err(|error| cannot(&error))? else { return Ok(Held(None)) };
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Held(Some(file))),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(cannot(&error)),
        }
        if git.is_cancelled() {
            return Err(failed(
                Class::Cancelled,
                "The call was cancelled while it waited for another write in this repository. Nothing was done.",
                "Nothing needs to be done.",
            ));
        }
        if Instant::now() + MARGIN >= git.deadline() {
            return Err(failed(
                Class::Locked,
                "Another write of this server, or of another one, holds this repository. Nothing was done.",
                "Try again when that write has ended.",
            ));
        }
        thread::sleep(AGAIN);
    }
}

fn cannot(error: &std::io::Error) -> Box<Failed> {
    failed(
        Class::Failed,
        format!("The lock of this repository cannot be taken: {error}. Nothing was done."),
        "Ask the operator to look at the directory of locks.",
    )
}
