//! What an appender needs of files, split by power: what a descriptor can do, and what only one who opens paths can.
//! Trust: implementations stand before real files or before a peer with descriptors; their answers are verified.

use crate::{
    names::{CheckpointName, SegmentName},
    platform::Identity,
};
use std::io;

/// Reads at positions.
pub trait ReadAt {
    /// Bytes that there are.
    ///
    /// # Errors
    /// What the system says.
    fn length(&self) -> io::Result<u64>;

    /// Reads at `offset`; fewer bytes than asked for only near the end, 0 at the end.
    ///
    /// # Errors
    /// What the system says.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
}

/// The active file by its descriptors: one that can append and nothing else, one that can read and nothing else.
pub trait ActiveFile: ReadAt {
    /// Which file it is.
    ///
    /// # Errors
    /// What the system says.
    fn identity(&self) -> io::Result<Identity>;

    /// Writes at the end; how many bytes were taken, which may be fewer than given.
    ///
    /// # Errors
    /// What the system says; nothing was taken.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Returns when all bytes, and the length, are on the disk.
    ///
    /// # Errors
    /// What the system says; afterwards nothing is known about the bytes since the last sync.
    fn sync(&mut self) -> io::Result<()>;
}

/// What lies beside the active file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Rotated segments, from the oldest on; at most 64.
    pub segments: Vec<SegmentName>,
    /// File names of checkpoints; at most 64.
    pub checkpoints: Vec<String>,
}

/// What only one who may open paths can do. A jailed writer asks a peer; every request is checked there by what the peer
/// can see (identity, lengths, newlines), so that it is no power to rewrite the ledger.
pub trait Directory {
    /// The active file.
    type Active: ActiveFile;
    /// A rotated segment, for reading.
    type Segment: ReadAt;

    /// Takes the writers' lock, exclusively, without waiting; false if another has it.
    ///
    /// # Errors
    /// What the system says.
    fn try_lock(&mut self) -> io::Result<bool>;

    /// Gives the lock back.
    ///
    /// # Errors
    /// What the system says.
    fn unlock(&mut self) -> io::Result<()>;

    /// Which file the active name means now; `None` if there is none.
    ///
    /// # Errors
    /// What the system says; a name that is no regular file with one name is an error.
    fn active(&mut self) -> io::Result<Option<Identity>>;

    /// Opens the active file, and makes it where there is none, durably.
    ///
    /// # Errors
    /// What the system says.
    fn open_active(&mut self) -> io::Result<Self::Active>;

    /// What lies beside it.
    ///
    /// # Errors
    /// What the system says; more than [`crate::limits::MAX_DIRECTORY`] entries are one.
    fn list(&mut self) -> io::Result<Listing>;

    /// Opens a rotated segment.
    ///
    /// # Errors
    /// What the system says.
    fn open_segment(&mut self, name: &SegmentName) -> io::Result<Self::Segment>;

    /// A checkpoint's content, at most [`crate::limits::MAX_CHECKPOINT`] bytes and one more.
    ///
    /// # Errors
    /// What the system says.
    fn read_checkpoint(&mut self, name: &str) -> io::Result<Vec<u8>>;

    /// Gives the active file, which must be `file`, a segment's name, durably. Must not replace anything.
    ///
    /// # Errors
    /// What the system says.
    fn rename_active(&mut self, file: Identity, to: &SegmentName) -> io::Result<()>;

    /// Cuts the active file, which must be `file` and `from` bytes long, down to `to` bytes, durably. Must refuse unless
    /// what is cut is less than a line and holds no newline, and what is kept ends with one (or is nothing).
    ///
    /// # Errors
    /// What the system says, or the refusal.
    fn cut_tail(&mut self, file: Identity, from: u64, to: u64) -> io::Result<()>;

    /// Writes a checkpoint, durably and whole or not at all. Must not replace anything.
    ///
    /// # Errors
    /// What the system says.
    fn write_checkpoint(&mut self, name: &CheckpointName, content: &[u8]) -> io::Result<()>;

    /// Deletes a rotated segment, durably.
    ///
    /// # Errors
    /// What the system says.
    fn remove_segment(&mut self, name: &SegmentName) -> io::Result<()>;

    /// Deletes a checkpoint.
    ///
    /// # Errors
    /// What the system says.
    fn remove_checkpoint(&mut self, name: &str) -> io::Result<()>;
}
