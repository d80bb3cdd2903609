//! Appending: events in, durable chained entries out; the same cost at any size, several writers on one ledger.
//! Trust: events are bounded here; what other writers added is verified before anything is chained to it.
//!
//! An [`Appender`] touches files through [`Directory`] and [`ActiveFile`] alone, and takes time, randomness and waiting
//! from [`Host`]. Under the writers' lock it looks at what others added since its last look, writes a whole group of
//! events with one write and one sync, and only then acknowledges. Nothing that it acknowledged is ever cut.

mod directory;
pub mod disk;
mod end;
mod fault;
mod host;
mod look;
mod rotate;
mod scan;
mod settle;
mod write;

use end::Behind;

pub use directory::{ActiveFile, Directory, Listing, ReadAt};
pub use fault::{AppendError, IoFault, Step, Unrecorded};
pub use host::{Host, SystemHost};

use crate::{
    chain::{Anchor, Chained, Tail},
    event::Event,
    hash::Hash,
    head::Head,
    key::{Keys, PrivateKey},
    limits::{MAX_GROUP, ROTATE_AT},
    platform::Identity,
    record::Rules,
    uuid::Uuid,
};
use std::time::Duration;

/// How a ledger is written.
#[derive(Debug)]
pub struct Settings {
    /// Signs entries, checkpoints and heads; `None` writes an unsigned ledger.
    pub key: Option<PrivateKey>,
    /// How long the writers' lock is waited for.
    pub lock_wait: Duration,
    /// A head that the ledger must still contain when it is opened: it is how a ledger that was cut while nobody wrote
    /// is told from one whose last write was torn.
    pub at_least: Option<Head>,
    /// Whether entries carry `ledgerId`. Without it, entries have exactly the contract's members.
    pub ledger_id: bool,
    /// Bytes beyond which the active file is rotated; more than [`ROTATE_AT`] counts as that.
    pub rotate_at: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { key: None, lock_wait: Duration::from_secs(5), at_least: None, ledger_id: true, rotate_at: ROTATE_AT }
    }
}

/// A durable entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ack {
    /// Its sequence.
    pub sequence: u64,
    /// Its `entryHash`.
    pub hash: Hash,
}

/// What happened beside the appending; to be logged, and recorded by whoever finds it worth an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A last line without its end was a whole entry; its end was added. It was never acknowledged.
    Completed {
        /// Its sequence.
        sequence: u64,
    },
    /// A torn last line was cut off. It was never acknowledged.
    TornTailCut {
        /// Bytes that it had.
        bytes: u64,
    },
    /// Other writers added entries since the last look; they continue the chain.
    OthersAdded {
        /// How many.
        entries: u64,
    },
    /// The active file became a segment.
    Rotated {
        /// Sequence of its last entry.
        last: u64,
    },
    /// The oldest segment was deleted; a checkpoint stands for it.
    Pruned {
        /// Sequence of its last entry.
        through: u64,
    },
    /// It could not be deleted; the next rotation tries again.
    PruneFailed(AppendError),
    /// What lies between the last known entry (or the head that was given) and the first retained one was pruned.
    LostSight {
        /// The last entry that was known.
        known: u64,
        /// The first that is retained.
        retained: u64,
    },
}

/// The outcome of one group.
#[derive(Debug)]
pub struct Appended {
    /// One for each event, in order.
    pub results: Vec<Result<Ack, Unrecorded>>,
    /// What happened beside it.
    pub notices: Vec<Notice>,
}

/// The file that is appended to, as far as it was verified.
struct Active<F> {
    file: F,
    identity: Identity,
    /// Bytes that were verified or written; a line ends here.
    length: u64,
    /// Sequence of the first chained entry in it.
    first: Option<u64>,
    /// Where its last line begins, and the hash of its bytes.
    last_line: Option<(u64, Hash)>,
    /// What was not read when it was taken up.
    behind: Option<Behind>,
}

/// One writer of a ledger.
pub struct Appender<D: Directory, H: Host> {
    directory: D,
    host: H,
    key: Option<PrivateKey>,
    rules: Rules,
    lock_wait: Duration,
    ledger_id: bool,
    rotate_at: u64,
    active: Option<Active<D::Active>>,
    anchor: Anchor,
    tail: Tail,
    /// An entry that the ledger must contain when it is read anew.
    must_hold: Option<(u64, Hash, Option<Uuid>)>,
    broken: Option<IoFault>,
    notices: Vec<Notice>,
}

impl<D: Directory, H: Host> std::fmt::Debug for Appender<D, H> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Appender(at {})", self.tail.sequence)
    }
}

impl<D: Directory, H: Host> Appender<D, H> {
    /// Takes up a ledger: verifies the active file's end and what it continues, and mends a torn tail. A short file is
    /// verified whole; what was left out of a long one is the work of [`Appender::read_behind`].
    ///
    /// # Errors
    /// [`AppendError`]; nothing but a torn tail was changed.
    pub fn open(directory: D, host: H, settings: Settings) -> Result<(Self, Vec<Notice>), AppendError> {
        let own = settings.key.iter().map(PrivateKey::public).collect();
        let rules = Rules { keys: Keys::new(own).unwrap_or_default(), strict: false };
        let anchor = Anchor::start();
        let mut appender = Self {
            directory,
            host,
            key: settings.key,
            rules,
            lock_wait: settings.lock_wait,
            ledger_id: settings.ledger_id,
            rotate_at: settings.rotate_at.min(ROTATE_AT),
            active: None,
            tail: Tail::start(&anchor),
            anchor,
            must_hold: settings.at_least.map(|head| (head.sequence, head.hash, head.ledger)),
            broken: None,
            notices: Vec::new(),
        };
        appender.lock()?;
        let settled = appender.settle();
        appender.unlock();
        settled?;
        let notices = std::mem::take(&mut appender.notices);
        Ok((appender, notices))
    }

    /// Appends a group of at most [`MAX_GROUP`] events with one write and one sync (a rotation in between adds one
    /// of each). An event that cannot be recorded does not keep the others from it.
    ///
    /// # Errors
    /// [`AppendError`] where nothing of the group was written.
    pub fn append(&mut self, events: &[Event]) -> Result<Appended, AppendError> {
        if events.len() > MAX_GROUP {
            return Err(AppendError::Group(events.len()));
        }
        if let Some(fault) = &self.broken {
            return Err(AppendError::Broken(fault.clone()));
        }
        self.lock()?;
        let results = self.look().map(|()| self.write(events));
        self.unlock();
        // what was noticed before a failure is told with the next success
        Ok(Appended { results: results?, notices: std::mem::take(&mut self.notices) })
    }

    /// Sequence of the last entry that is known here; 0 before the first.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.tail.sequence
    }

    /// Where the ledger ends as far as this writer knows, signed if it has a key; `None` before the first entry.
    #[must_use]
    pub fn head(&mut self) -> Option<String> {
        let crate::chain::Link::Entry(hash) = self.tail.link else { return None };
        let created_at = self.host.now();
        let head = Head { ledger: self.tail.ledger, sequence: self.tail.sequence, hash, created_at };
        Some(head.text(self.key.as_ref()))
    }

    /// The ledger's id, once an entry that is known here named it.
    #[must_use]
    pub fn ledger(&self) -> Option<Uuid> {
        self.tail.ledger
    }

    /// The key's public half, for verifiers.
    #[must_use]
    pub fn public_key(&self) -> Option<crate::key::PublicKey> {
        self.key.as_ref().map(PrivateKey::public)
    }

    fn lock(&mut self) -> Result<(), AppendError> {
        let mut waited = Duration::ZERO;
        let mut pause = Duration::from_micros(20);
        while !self.directory.try_lock().map_err(|fault| IoFault::new(Step::Lock, &fault))? {
            if waited >= self.lock_wait {
                return Err(AppendError::LockTimeout(self.lock_wait));
            }
            self.host.pause(pause);
            waited += pause;
            pause = (pause * 2).min(Duration::from_millis(2));
        }
        Ok(())
    }

    fn unlock(&mut self) {
        if let Err(fault) = self.directory.unlock() {
            // what was written is durable all the same; but the others wait for a lock that this one cannot give back
            self.broken.get_or_insert(IoFault::new(Step::Unlock, &fault));
        }
    }

    /// Takes an entry into account that stands in the active file.
    fn took(tail: &mut Tail, active: &mut Active<D::Active>, chained: &Chained) {
        tail.advance(chained);
        active.first.get_or_insert(chained.sequence);
    }
}
