//! Worker-audit ⇄ launcher, over a SEQPACKET socket of its own: what a jailed writer asks of who may open paths.
//! Trust: the worker may be taken over; each request is checked against the files, and none can rewrite what stands there.

use super::FileId;
use bincode::{Decode, Encode};

/// Bytes of the longest packet in either direction: a checkpoint with its name, or a listing.
pub const MAX_PACKET: usize = 40 * 1024;
/// Descriptors of one answer at most.
pub const MAX_DESCRIPTORS: usize = 2;

/// A rotated segment, by its name.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Segment {
    /// Sequence of its first entry.
    pub first: u64,
    /// Sequence of its last.
    pub last: u64,
    /// Its id, a UUID.
    pub id: String,
}

/// What the writer asks. One request is open at a time.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ToHolder {
    /// A descriptor of the lock file that nobody else holds.
    Lock,
    /// Which file the active name means now.
    Active,
    /// The active file, made where there is none: one descriptor to append, one to read.
    OpenActive,
    /// Which segments and checkpoints there are.
    List,
    /// A segment, to read.
    OpenSegment(Segment),
    /// A checkpoint's content.
    ReadCheckpoint(String),
    /// Give the active file, which must be `file`, a segment's name.
    Rename {
        /// Which.
        file: FileId,
        /// The name.
        to: Segment,
    },
    /// Cut a torn last line off the active file, which must be `file` and `from` bytes long.
    Cut {
        /// Which.
        file: FileId,
        /// Its length.
        from: u64,
        /// Its length afterwards.
        to: u64,
    },
    /// Write a checkpoint.
    WriteCheckpoint {
        /// First sequence that it does not stand for.
        next: u64,
        /// A UUID.
        id: String,
        /// Its text.
        content: Vec<u8>,
    },
    /// Delete the oldest segment, for which a checkpoint stands.
    RemoveSegment(Segment),
    /// Delete a checkpoint that a newer one replaced.
    RemoveCheckpoint(String),
}

/// What the holder answers.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum FromHolder {
    /// Done; for `Lock` and `OpenSegment` with one descriptor.
    Done,
    /// To `Active`.
    Active(Option<FileId>),
    /// To `OpenActive`, with two descriptors of this file.
    Opened(FileId),
    /// To `List`.
    Listing {
        /// At most 65.
        segments: Vec<Segment>,
        /// At most 65.
        checkpoints: Vec<String>,
    },
    /// To `ReadCheckpoint`.
    Checkpoint(Vec<u8>),
    /// It was refused or failed.
    Failed {
        /// The system's reason, where it was the system.
        errno: Option<i32>,
        /// In words.
        why: String,
    },
}
