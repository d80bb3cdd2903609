//! The chain: what an entry says of its predecessor, and whether it continues what came before.
//! Trust: entries may be forged; only what their hashes prove is taken on.

use crate::{hash::Hash, uuid::Uuid};
use std::fmt;
use thiserror::Error;

/// What an entry's `previousHash` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Nothing: the first entry of a ledger.
    Genesis,
    /// The anchor over records of before the chain.
    Legacy(Hash),
    /// The entry before.
    Entry(Hash),
}

const LEGACY: &str = "legacy-";

impl Link {
    /// Reads `genesis`, `legacy-sha256:<hex>` or `sha256:<hex>`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        match text.strip_prefix(LEGACY) {
            Some(label) => Hash::from_label(label).map(Self::Legacy),
            None if text == "genesis" => Some(Self::Genesis),
            None => Hash::from_label(text).map(Self::Entry),
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Genesis => out.write_str("genesis"),
            Self::Legacy(hash) => write!(out, "{LEGACY}{hash}"),
            Self::Entry(hash) => write!(out, "{hash}"),
        }
    }
}

/// Running anchor over the unchained records that may precede a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anchor {
    records: u64,
    hash: Hash,
}

impl Anchor {
    /// Over no record.
    #[must_use]
    pub fn start() -> Self {
        Self { records: 0, hash: Hash([0; 32]) }
    }

    /// Takes in the next record's canonical text.
    pub fn add(&mut self, canonical: &[u8]) {
        self.hash = Hash::of(&[b"fluxgit-mcp-legacy-prefix-v1\0", &self.hash.0, canonical]);
        self.records += 1;
    }

    /// What the first chained entry must name.
    #[must_use]
    pub fn link(&self) -> Link {
        if self.records == 0 { Link::Genesis } else { Link::Legacy(self.hash) }
    }

    /// Records taken in.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }
}

/// What one chained entry says of itself, and what its hash comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chained {
    /// `sequence`.
    pub sequence: u64,
    /// `previousHash`.
    pub previous: Link,
    /// `entryHash`, as it stands there.
    pub stated: Hash,
    /// The hash over the entry.
    pub computed: Hash,
    /// `segmentId`.
    pub segment: Uuid,
    /// `ledgerId`, where its writer records one.
    pub ledger: Option<Uuid>,
}

/// Why an entry does not continue the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ChainFault {
    /// Entries are missing before it.
    #[error("sequence {found} after {}: entries are missing", expected.saturating_sub(1))]
    Gap {
        /// The sequence that should stand here.
        expected: u64,
        /// The one that does.
        found: u64,
    },
    /// Its sequence was there already: entries were repeated or put in another order.
    #[error("sequence {found} where {expected} should stand: entries were repeated or reordered")]
    Backwards {
        /// The sequence that should stand here.
        expected: u64,
        /// The one that does.
        found: u64,
    },
    /// It continues another history: its predecessor is not the entry before.
    #[error("entry {sequence} continues another history: it names {named} as its predecessor, not {actual}")]
    Forked {
        /// Its sequence.
        sequence: u64,
        /// What it names.
        named: Link,
        /// What is there.
        actual: Link,
    },
    /// Its content is not what its hash says.
    #[error("entry {0} was altered: its hash does not match its content")]
    Altered(u64),
    /// It belongs to another segment than the entries before it in the file.
    #[error("entry {0} belongs to another segment than this file")]
    OtherSegment(u64),
    /// Its file begins with the id of the file before.
    #[error("entry {0} reuses the segment id of the file before")]
    SegmentReused(u64),
    /// It names another ledger than the entries before.
    #[error("entry {0} is of another ledger")]
    OtherLedger(u64),
}

/// The end of a chain: what the next entry must continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// Sequence of the last entry; 0 before the first.
    pub sequence: u64,
    /// What the next entry names as its predecessor.
    pub link: Link,
    /// Segment of the file at hand; `None` before its first chained entry.
    pub segment: Option<Uuid>,
    /// Segment of the file before.
    pub before: Option<Uuid>,
    /// The ledger's id, once an entry named it.
    pub ledger: Option<Uuid>,
}

impl Tail {
    /// Before the first entry, after the records of `anchor`.
    #[must_use]
    pub fn start(anchor: &Anchor) -> Self {
        Self { sequence: 0, link: anchor.link(), segment: None, before: None, ledger: None }
    }

    /// After the entry `sequence`, whose hash is known from elsewhere, at the beginning of a file.
    #[must_use]
    pub fn after(sequence: u64, hash: Hash) -> Self {
        Self { sequence, link: Link::Entry(hash), segment: None, before: None, ledger: None }
    }

    /// The next file begins.
    pub fn next_file(&mut self) {
        if self.segment.is_some() {
            self.before = self.segment.take();
        }
    }

    /// Judges the next entry; the checks are in the contract's order.
    ///
    /// # Errors
    /// [`ChainFault`].
    pub fn judge(&self, next: &Chained) -> Result<(), ChainFault> {
        let (expected, found) = (self.sequence.saturating_add(1), next.sequence);
        if found > expected {
            Err(ChainFault::Gap { expected, found })
        } else if found < expected {
            Err(ChainFault::Backwards { expected, found })
        } else if next.previous != self.link {
            Err(ChainFault::Forked { sequence: found, named: next.previous, actual: self.link })
        } else if next.stated != next.computed {
            Err(ChainFault::Altered(found))
        } else if self.segment.is_some_and(|segment| segment != next.segment) {
            Err(ChainFault::OtherSegment(found))
        } else if self.segment.is_none() && self.before == Some(next.segment) {
            Err(ChainFault::SegmentReused(found))
        } else if self.ledger.is_some() && next.ledger.is_some() && self.ledger != next.ledger {
            Err(ChainFault::OtherLedger(found))
        } else {
            Ok(())
        }
    }

    /// Goes on from an entry, whatever was thought of it: so that one fault is told once.
    pub fn advance(&mut self, to: &Chained) {
        self.sequence = to.sequence;
        self.link = Link::Entry(to.stated);
        self.segment = Some(to.segment);
        self.ledger = to.ledger.or(self.ledger);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uuid(of: u8) -> Uuid {
        Uuid::v4([of; 16])
    }

    fn entry(sequence: u64, previous: Link) -> Chained {
        let hash = Hash::of(&[&sequence.to_be_bytes()]);
        Chained { sequence, previous, stated: hash, computed: hash, segment: uuid(1), ledger: Some(uuid(9)) }
    }

    #[test]
    fn each_way_of_not_continuing_has_its_name() {
        let mut tail = Tail::start(&Anchor::start());
        let first = entry(1, Link::Genesis);
        assert_eq!(tail.judge(&first), Ok(()));
        tail.advance(&first);
        let fine = entry(2, Link::Entry(first.stated));
        assert_eq!(tail.judge(&fine), Ok(()));
        assert_eq!(tail.judge(&Chained { sequence: 4, ..fine }), Err(ChainFault::Gap { expected: 2, found: 4 }));
        assert_eq!(tail.judge(&Chained { sequence: 1, ..fine }), Err(ChainFault::Backwards { expected: 2, found: 1 }));
        let other = Link::Entry(Hash([7; 32]));
        let forked = ChainFault::Forked { sequence: 2, named: other, actual: Link::Entry(first.stated) };
        assert_eq!(tail.judge(&Chained { previous: other, ..fine }), Err(forked));
        assert_eq!(tail.judge(&Chained { computed: Hash([7; 32]), ..fine }), Err(ChainFault::Altered(2)));
        assert_eq!(tail.judge(&Chained { segment: uuid(2), ..fine }), Err(ChainFault::OtherSegment(2)));
        assert_eq!(tail.judge(&Chained { ledger: Some(uuid(8)), ..fine }), Err(ChainFault::OtherLedger(2)));
        assert_eq!(tail.judge(&Chained { ledger: None, ..fine }), Ok(()), "other writers do not record it");
        tail.next_file();
        assert_eq!(tail.judge(&fine), Err(ChainFault::SegmentReused(2)));
        assert_eq!(tail.judge(&Chained { segment: uuid(2), ..fine }), Ok(()));
    }

    #[test]
    fn the_legacy_anchor_covers_records_and_their_order() {
        let over = |records: &[&[u8]]| {
            let mut anchor = Anchor::start();
            records.iter().for_each(|record| anchor.add(record));
            anchor.link()
        };
        assert_eq!(over(&[]), Link::Genesis);
        let one = over(&[b"{}"]);
        // SHA-256 over the domain with its zero byte, 32 zero bytes, and the record, computed elsewhere
        let elsewhere = "legacy-sha256:440b50d187b71b0f9ca220598770c0aab1d33ce99489ac26d997d5eaee7d86dc";
        assert_eq!(one.to_string(), elsewhere);
        assert_eq!(Link::read(&one.to_string()), Some(one));
        assert_ne!(over(&[b"{}", b"[]"]), over(&[b"[]", b"{}"]));
        for text in ["Genesis", "legacy-genesis", "sha256:00", "legacy-legacy-sha256:00", ""] {
            assert_eq!(Link::read(text), None, "{text}");
        }
    }
}
