//! Questions of safety.* and flux.*, and the one that a run directory's worker is asked for them.
//! Trust: arguments within the contract's bounds; texts in them are the caller's, records are another worker's.

use bincode::{Decode, Encode};
use bulkhead_contract::results::RestoreRecord;

/// `safety.timeline`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Timeline {
    /// What the run directories hold for this repository.
    pub held: Held,
    /// Events at most.
    pub limit: u32,
    /// Reflog entries among them at most; zero leaves the reflog out.
    pub reflog_limit: u32,
    /// Leave restore points out.
    pub without_restore_points: bool,
    /// Characters of JSON that events may take.
    pub chars: u32,
}

/// `safety.eventDetails`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TimelineEvent {
    /// What the run directories hold for this repository.
    pub held: Held,
    /// Which event; the newest where it is absent.
    pub id: Option<String>,
}

/// `flux.latestRestorePoint`, `flux.restorePoints` and `flux.restorePointDetails`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct RestorePoints {
    /// What the run directories hold for this repository.
    pub held: Held,
    /// What is to be seen of it.
    pub view: RestoreView,
    /// Characters of JSON that restore points may take.
    pub chars: u32,
}

/// What is to be seen of restore points.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum RestoreView {
    /// The newest, and the list.
    Latest,
    /// So many of the list.
    All {
        /// Restore points at most.
        limit: u32,
    },
    /// One.
    One {
        /// Which; the newest where it is absent.
        id: Option<String>,
    },
}

/// What run directories hold for one repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Held {
    /// Restore records, in the order of the run directories.
    pub records: Vec<RestoreRecord>,
    /// Files that could not be used.
    pub problems: Vec<String>,
}

/// What a run directory holds.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Records {
    /// A path of the caller's; the answer says whether it names this run directory.
    pub named: Option<Vec<u8>>,
    /// Of what.
    pub of: RecordsOf,
}

/// Of what a run directory's records are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum RecordsOf {
    /// All repositories that it knows, without their restore records.
    Registry,
    /// The restore records of one repository.
    Repository {
        /// Canonical path of the repository.
        canonical: Vec<u8>,
        /// Name by which the caller knows it.
        id: Option<String>,
    },
}
