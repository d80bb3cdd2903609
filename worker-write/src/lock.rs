//! One write at a time in a working copy, also where several servers serve it.
//! Trust: the directory of locks is the operator's; the name in it is a digest, so no path of a repository reaches it.

use crate::{failure::failed, git::Git};
use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::{Allowed, Failed};
use sha2::{Digest, Sha256};
use std::{
    ffi::OsStr,
    fs::{File, OpenOptions, TryLockError},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How often a lock that somebody else holds is tried.
const AGAIN: Duration = Duration::from_millis(20);
/// Waiting ends this long before the call does, so that the answer still gets out.
const MARGIN: Duration = Duration::from_secs(1);

/// The lock, held until it is dropped; the kernel drops it when the process ends, however it ends.
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "closing the file gives the lock back")] Option<File>);

/// The lock file of a repository: all its working trees share one, because they share refs and configuration.
#[must_use]
pub fn path(locks: &Path, common_dir: &Path) -> PathBuf {
    let digest = Sha256::digest(common_dir.as_os_str().as_bytes());
    let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    locks.join(format!("{name}.write"))
}

/// Waits for the lock.
///
/// # Errors
/// Class `locked` where another write still holds it shortly before the call's time is over, `cancelled` where the
/// caller gave up before that, `failed` where the lock file cannot be made.
pub fn take(allowed: &Allowed, git: &Git) -> Result<Held, Box<Failed>> {
    let Some(locks) = &allowed.locks else { return Ok(Held(None)) };
    let path = path(Path::new(OsStr::from_bytes(locks)), Path::new(OsStr::from_bytes(&allowed.common_dir)));
    let open = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = open.map_err(|error| cannot(&error))?;
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
