//! What a verification finds wrong, by kind and place.
//! Trust: texts are our own; sequences and ids in them were read in form.

use crate::{chain::ChainFault, checkpoint::CheckpointFault, record::RecordFault, signature::SignatureFault};
use std::fmt;

/// What was done to the ledger, as far as it can be told. The words are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// There is no such ledger.
    Missing,
    /// There is one, without a single record.
    Empty,
    /// It, or a file of it, cannot be read.
    Unreadable,
    /// Entries at its beginning or its end are gone.
    Cut,
    /// Entries in its middle are gone.
    Gap,
    /// Entries stand twice, or in another order.
    Reordered,
    /// It goes on from another history.
    Forked,
    /// It is another ledger.
    Replaced,
    /// An entry's content was changed.
    Altered,
    /// A signature does not verify, or has no sound form.
    BadSignature,
    /// A signature was taken off.
    Stripped,
    /// Signed by a key that was not given.
    UnknownKey,
    /// Not signed, where it must be.
    Unsigned,
    /// A line is no sound record.
    Malformed,
    /// A key stands twice in one object.
    DuplicateKey,
    /// Not spelled canonically, where it must be.
    Spelling,
    /// The last line has no end: a write was torn, or the file was cut.
    Torn,
    /// A record of before the chain stands after its beginning.
    LegacyAfterChain,
    /// Segment ids or file names do not fit the content.
    Segment,
    /// A checkpoint is no sound one, or disagrees with the entries.
    Checkpoint,
    /// A file, or the number of files, is beyond the format's bounds.
    TooLarge,
    /// The earlier head lies before what is retained, and nothing vouches for what lies between.
    BeyondRetention,
}

impl Kind {
    /// The stable word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Empty => "empty",
            Self::Unreadable => "unreadable",
            Self::Cut => "cut",
            Self::Gap => "gap",
            Self::Reordered => "reordered",
            Self::Forked => "forked",
            Self::Replaced => "replaced",
            Self::Altered => "altered",
            Self::BadSignature => "bad-signature",
            Self::Stripped => "stripped-signature",
            Self::UnknownKey => "unknown-key",
            Self::Unsigned => "unsigned",
            Self::Malformed => "malformed",
            Self::DuplicateKey => "duplicate-key",
            Self::Spelling => "spelling",
            Self::Torn => "torn",
            Self::LegacyAfterChain => "legacy-after-chain",
            Self::Segment => "segment",
            Self::Checkpoint => "checkpoint",
            Self::TooLarge => "too-large",
            Self::BeyondRetention => "beyond-retention",
        }
    }

    pub(super) fn of_signature(fault: &SignatureFault) -> Self {
        match fault {
            SignatureFault::Stripped => Self::Stripped,
            SignatureFault::UnknownKey(_) => Self::UnknownKey,
            _ => Self::BadSignature,
        }
    }

    pub(super) fn of_record(fault: &RecordFault) -> Self {
        match fault {
            RecordFault::TooLong => Self::TooLarge,
            RecordFault::Unterminated => Self::Torn,
            RecordFault::DuplicateKey(_) => Self::DuplicateKey,
            RecordFault::Spelling => Self::Spelling,
            RecordFault::Signature(fault) => Self::of_signature(fault),
            RecordFault::Unsigned => Self::Unsigned,
            RecordFault::Altered => Self::Altered,
            _ => Self::Malformed,
        }
    }

    pub(super) fn of_chain(fault: &ChainFault) -> Self {
        match fault {
            ChainFault::Gap { .. } => Self::Gap,
            ChainFault::Backwards { .. } => Self::Reordered,
            ChainFault::Forked { .. } => Self::Forked,
            ChainFault::Altered(_) => Self::Altered,
            ChainFault::OtherSegment(_) | ChainFault::SegmentReused(_) => Self::Segment,
            ChainFault::OtherLedger(_) => Self::Replaced,
        }
    }

    pub(super) fn of_checkpoint(fault: &CheckpointFault) -> Self {
        match fault {
            CheckpointFault::Signature(fault) => Self::of_signature(fault),
            CheckpointFault::Unsigned => Self::Unsigned,
            CheckpointFault::Spelling => Self::Spelling,
            _ => Self::Checkpoint,
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// Which file, 0 being the oldest; `None` for the ledger as a whole.
    pub segment: Option<usize>,
    /// Which line, from 1; 0 for a whole file.
    pub line: u64,
    /// The entry's sequence, where it could be read.
    pub sequence: Option<u64>,
    /// In words.
    pub text: String,
}

impl Finding {
    /// About the ledger as a whole.
    #[must_use]
    pub fn whole(kind: Kind, text: String) -> Self {
        Self { kind, segment: None, line: 0, sequence: None, text }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segment = self.segment.unwrap_or(0);
        write!(out, "segment {segment}, line {}: {}: {}", self.line, self.kind.word(), self.text)
    }
}
