//! A ledger's files as they were at one moment, opened for reading.
//! Trust: the directory may hold links, FIFOs, masses of files and names made to deceive; nothing here waits or writes.

use super::finding::{Finding, Kind};
use crate::{
    limits::{MAX_CHECKPOINT, MAX_CHECKPOINTS, MAX_DIRECTORY, MAX_FILE, MAX_SEGMENTS},
    names::{self, SegmentName},
    platform,
};
use std::{
    fmt,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};
use thiserror::Error;

/// How long the writers' lock is waited for; after that the files are read as they are.
const LOCK_WAIT: Duration = Duration::from_secs(1);

/// Why there is nothing to verify.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// Neither an active file nor a segment.
    #[error("there is no ledger at this path")]
    Missing,
    /// The path has no file name in text.
    #[error("the path does not name a file")]
    Name,
    /// It cannot be listed or opened.
    #[error("the ledger cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl SnapshotError {
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }
}

/// One file with entries.
pub struct SnapshotFile {
    /// What its name says; `None` for the active file.
    pub name: Option<SegmentName>,
    /// Bytes at the moment of the snapshot; what was added later is not read.
    pub length: u64,
    /// Its content.
    pub reader: Box<dyn Read + Send>,
}

impl fmt::Debug for SnapshotFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SnapshotFile({:?}, {} bytes)", self.name, self.length)
    }
}

/// All files of a ledger.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Rotated segments from the oldest on, then the active file.
    pub files: Vec<SnapshotFile>,
    /// Contents of the checkpoint files.
    pub checkpoints: Vec<Vec<u8>>,
    /// What was wrong with the directory.
    pub faults: Vec<Finding>,
}

/// Opens everything that belongs to the ledger whose active file is at `path`. Where the writers' lock can be opened it
/// is held, shared, while files are listed and opened, so that no rotation falls in between.
///
/// # Errors
/// [`SnapshotError`].
pub fn of_path(path: &Path) -> Result<Snapshot, SnapshotError> {
    let path = match path.canonicalize() {
        Ok(path) => path,
        // after an interrupted rotation there are segments, and no active file
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
            let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let above = above.canonicalize().map_err(|_| SnapshotError::Missing)?;
            above.join(path.file_name().ok_or(SnapshotError::Name)?)
        }
        Err(fault) => return Err(fault.into()),
    };
    let name = path.file_name().and_then(|name| name.to_str()).ok_or(SnapshotError::Name)?;
    let directory = path.parent().ok_or(SnapshotError::Name)?;
    let _lock = shared_lock(&directory.join(names::lock_name(name)));
    take(directory, name, &path)
}

fn take(directory: &Path, name: &str, active: &Path) -> Result<Snapshot, SnapshotError> {
    let mut snapshot = Snapshot::default();
    let mut segments: Vec<(SegmentName, PathBuf)> = Vec::new();
    let mut checkpoints: Vec<PathBuf> = Vec::new();
    let mut add = |kind, text: String| snapshot.faults.push(Finding::whole(kind, text));
    for (seen, entry) in std::fs::read_dir(directory)?.enumerate() {
        if seen == MAX_DIRECTORY {
            add(Kind::TooLarge, format!("the directory holds more than {MAX_DIRECTORY} entries"));
            break;
        }
        let entry = entry?;
        match entry.file_name().to_str().map(|file| names::kind(name, file)) {
            Some(names::Kind::Segment(segment)) => segments.push((segment, entry.path())),
            Some(names::Kind::BadSegment) => {
                add(Kind::Segment, format!("{:?} is not the name of a segment", entry.file_name()));
            }
            Some(names::Kind::Checkpoint) => checkpoints.push(entry.path()),
            Some(names::Kind::Other) | None => {}
        }
    }
    segments.sort_unstable();
    checkpoints.sort_unstable();
    if segments.len() > MAX_SEGMENTS {
        add(Kind::TooLarge, format!("{} rotated segments; at most {MAX_SEGMENTS} may be there", segments.len()));
        segments.truncate(MAX_SEGMENTS);
    }
    if checkpoints.len() > MAX_CHECKPOINTS {
        add(Kind::TooLarge, format!("{} checkpoints; at most {MAX_CHECKPOINTS} may be there", checkpoints.len()));
        checkpoints.truncate(MAX_CHECKPOINTS);
    }
    for path in &checkpoints {
        let mut bytes = Vec::new();
        open(path)?.take(MAX_CHECKPOINT as u64 + 1).read_to_end(&mut bytes)?;
        snapshot.checkpoints.push(bytes);
    }
    let exists = active.symlink_metadata().is_ok();
    if !exists && segments.is_empty() && checkpoints.is_empty() {
        return Err(SnapshotError::Missing);
    }
    let segments = segments.into_iter().map(|(name, path)| (Some(name), path));
    for (name, path) in segments.chain(exists.then(|| (None, active.to_owned()))) {
        let file = open(&path)?;
        let length = file.metadata()?.len();
        snapshot.files.push(SnapshotFile { name, length, reader: Box::new(file) });
    }
    if !exists {
        let text =
            "the active file is missing: it was deleted, or a rotation was interrupted and no writer started since";
        snapshot.faults.push(Finding::whole(Kind::Cut, text.to_owned()));
    }
    for (index, file) in snapshot.files.iter().enumerate().filter(|(_, file)| file.length > MAX_FILE) {
        let text = format!("{} bytes; a file has at most {MAX_FILE}", file.length);
        snapshot.faults.push(Finding { segment: Some(index), ..Finding::whole(Kind::TooLarge, text) });
    }
    Ok(snapshot)
}

/// Opens a regular file for reading.
fn open(path: &Path) -> io::Result<File> {
    let name = path.file_name().unwrap_or_default().display();
    let named = |fault: io::Error| io::Error::new(fault.kind(), format!("{name}: {fault}"));
    let file = platform::open_reading(path, false).map_err(named)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(named(io::Error::other("not a regular file"))) }
}

/// The writers' lock, shared, if it can be had in time. Its absence is no fault: copies have none.
fn shared_lock(path: &Path) -> Option<File> {
    let file = open(path).ok()?;
    let deadline = Instant::now() + LOCK_WAIT;
    while file.try_lock_shared().is_err() {
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
    Some(file)
}
