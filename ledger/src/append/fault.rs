//! Why something could not be appended.
//! Trust: texts of the system are carried for people, never taken apart.

use crate::{
    chain::ChainFault,
    event::EventFault,
    limits::{MAX_FILE, MAX_GROUP, MAX_SEGMENTS},
    record::RecordFault,
};
use std::{fmt, io, time::Duration};
use thiserror::Error;

/// What was being done when the system refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Taking the lock.
    Lock,
    /// Giving it back.
    Unlock,
    /// Finding or opening the active file.
    Open,
    /// Listing the directory.
    List,
    /// Reading.
    Read,
    /// Writing entries.
    Write,
    /// Making them durable.
    Sync,
    /// Cutting a torn tail.
    Cut,
    /// Giving the active file its segment's name.
    Rotate,
    /// Writing a checkpoint or deleting what it stands for.
    Prune,
}

/// The system's refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoFault {
    /// During what.
    pub step: Step,
    /// Its kind; [`io::ErrorKind::StorageFull`] is a full disk.
    pub kind: io::ErrorKind,
    text: String,
}

impl IoFault {
    pub(super) fn new(step: Step, fault: &io::Error) -> Self {
        Self { step, kind: fault.kind(), text: fault.to_string() }
    }
}

impl fmt::Display for IoFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?}: {}", self.step, self.text)
    }
}

impl std::error::Error for IoFault {}

/// Why an event of a group was not recorded, or not known to be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unrecorded {
    /// The event itself; nothing of it was written.
    #[error(transparent)]
    Event(#[from] EventFault),
    /// The files. After a failed sync the entry may stand in the ledger all the same; it was not acknowledged.
    #[error(transparent)]
    Storage(#[from] AppendError),
}

/// Why nothing can be appended.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AppendError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] IoFault),
    /// Another writer held the lock all the time.
    #[error("another writer held the lock for {0:?}")]
    LockTimeout(Duration),
    /// More than [`MAX_GROUP`] events.
    #[error("{0} events in one group; the bound is {MAX_GROUP}")]
    Group(usize),
    /// An earlier failure left it unknown what is on the disk. Open the ledger anew.
    #[error("an earlier failure ({0}) left it unknown what is on the disk; the ledger must be opened anew")]
    Broken(IoFault),
    /// The active file is another than the one that was written, and that one is no segment.
    #[error("the ledger was swapped: the active file is another, and the one that was written is no segment")]
    Swapped,
    /// The active file is shorter than it was.
    #[error("the ledger was truncated: {found} bytes, of which {expected} were verified")]
    Truncated {
        /// Bytes that were verified.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// The last entry that was written or verified is not what stands there.
    #[error("the ledger was rewritten: its last known entry has changed")]
    Rewritten,
    /// The ledger ends before an entry that it must contain.
    #[error("the ledger was cut: it ends at {last}, and must contain entry {expected}")]
    Cut {
        /// The entry.
        expected: u64,
        /// The ledger's last.
        last: u64,
    },
    /// The ledger contains another entry in the place of one that it must contain.
    #[error("the ledger was replaced: its entry {0} is not the one that was known")]
    Replaced(u64),
    /// An entry does not continue the chain.
    #[error("the ledger is damaged at byte {at}: {fault}")]
    Chain {
        /// Where its line begins in its file.
        at: u64,
        /// How it does not.
        fault: ChainFault,
    },
    /// A line is no sound record.
    #[error("the ledger is damaged at byte {at}: {fault}")]
    Record {
        /// Where it begins in its file.
        at: u64,
        /// What is wrong with it.
        fault: RecordFault,
    },
    /// The active file holds something that was never the beginning of an entry.
    #[error("the active file is no ledger")]
    NotALedger,
    /// A rotated segment does not hold what its name says, or segments are missing.
    #[error("the rotated segments do not fit together")]
    Segments,
    /// Retention could not delete, and one more segment would be too many.
    #[error("{MAX_SEGMENTS} rotated segments, and the oldest cannot be deleted: {0}")]
    Retention(Box<AppendError>),
    /// A file cannot be rotated (it has no chained entry) and is full.
    #[error("the active file is full ({MAX_FILE} bytes)")]
    FileFull,
}
