//! Supervisor ⇄ worker-audit. The first frame to the worker is the launcher's `Init`; all later ones are the supervisor's.
//! Trust: the supervisor may be taken over: it can have lies signed, and nothing that stands in the ledger changed.

use crate::Error;
use bincode::{Decode, Encode};
use bulkhead_contract::isolation::{Demand, Report};

/// Events that one [`ToAudit::Append`] carries at most: one group, one sync.
pub const MAX_EVENTS: usize = 256;
/// Characters of each text of an event; longer ones end the worker.
pub const MAX_TEXT: usize = 2048;
/// Further numbers of one event.
pub const MAX_NUMBERS: usize = 16;

/// What a worker-audit hears.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ToAudit {
    /// First frame, once: what the operator wants, written by the launcher.
    Init(Box<Init>),
    /// Take the ledger up. Comes once, after [`FromAudit::Ready`].
    Open {
        /// The last entry that was acknowledged to this supervisor by an earlier worker: the ledger must hold it.
        known: Option<Known>,
    },
    /// Record these, in this order, with as few syncs as possible. Further ones may follow before the answer.
    Append {
        /// Chosen by the supervisor; numbers of one worker only grow.
        group: u64,
        /// At most [`MAX_EVENTS`].
        events: Vec<Event>,
    },
    /// State where the ledger ends.
    Head {
        /// Chosen by the supervisor.
        id: u64,
    },
    /// Try, from inside, what the jail should refuse.
    SelfProbe {
        /// Chosen by the supervisor.
        id: u64,
    },
}

/// What the operator wants of the ledger. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Init {
    /// What `--isolation` demands.
    pub demand: Demand,
    /// The ledger's active file; `None` starts a worker that only reports its jail.
    pub ledger: Option<Vec<u8>>,
    /// The signing key's file, where the operator named one. Else the key beside the ledger signs, where there is one.
    pub sign_key: Option<Vec<u8>>,
    /// Write the contract's unkeyed fingerprints and no member of our own (`--audit-compat`).
    pub compat: bool,
    /// Private writable memory in bytes (`RLIMIT_DATA`).
    pub memory: u64,
}

/// An entry as it was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Known {
    /// Its sequence.
    pub sequence: u64,
    /// Its `entryHash`, 32 bytes of it.
    pub hash: [u8; 32],
    /// The ledger's id, where it had one.
    pub ledger: Option<String>,
}

/// One event, from the supervisor's own knowledge.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Event {
    /// What happened.
    pub kind: Kind,
    /// Name of a tool as the contract has it, or a word of ours; never what a caller wrote.
    pub tool: String,
    /// How it ended.
    pub result: Outcome,
    /// What it was about.
    pub scope: Scope,
    /// SHA-256 of the canonical arguments, where there were any. The worker keys it.
    pub arguments: Option<[u8; 32]>,
    /// Who asked.
    pub session: String,
    /// Milliseconds that it took.
    pub duration_ms: u64,
    /// A sentence of ours.
    pub summary: String,
    /// What a worker or a client said of it; a member of its own, named so that nobody takes it for ours.
    pub reported: Option<String>,
    /// Milliseconds since 1970 when it happened.
    pub timestamp: u64,
    /// Place of the event among those of its server, from 1 on: a gap or a double shows.
    pub place: u64,
    /// Further numbers, each with a name of ours.
    pub numbers: Vec<(String, u64)>,
    /// Of a call that proposes or withdraws a write; `None` for what only reads.
    pub write: Option<Write>,
}

/// What a ledger says of a write beside the usual.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Write {
    /// Which of its entries this is.
    pub step: Step,
    /// How much harm it can do.
    pub risk: Risk,
    /// SHA-256 of the proposal, where there is one.
    pub proposal: Option<[u8; 32]>,
}

/// A write has two entries: one on disk before the request leaves, one about what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Step {
    /// The one entry of a call of which nothing left.
    Only,
    /// The request may leave now.
    Intent,
    /// What became of it.
    Outcome,
}

/// How much harm an operation can do, by the contract's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Risk {
    /// A withdrawal.
    None,
    /// A worktree, a commit, a branch.
    Low,
    /// Merge, rebase, patch, plan, push, branch deletion, submodule pointers.
    Medium,
    /// Reset, discard.
    High,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Kind {
    /// A call was answered, well or with an error.
    ToolCall,
    /// A write was proposed.
    Proposal,
    /// A proposal was withdrawn.
    Cancel,
    /// A call was refused before it reached a tool.
    Refused,
    /// A server began: isolation, roots and gate in force.
    Start,
    /// Events before this one could not be recorded.
    Gap,
    /// A worker ended that nobody had told to.
    WorkerEnded,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Outcome {
    /// As asked.
    Success,
    /// With an error of the tool.
    Error,
    /// Before it reached the tool.
    Blocked,
}

/// What an event was about.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Scope {
    /// Nothing that can be named.
    Unknown,
    /// One repository: SHA-256 of the canonical JSON of the caller's path.
    Path([u8; 32]),
    /// So many repositories.
    Fleet(u32),
}

/// What a worker-audit says.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum FromAudit {
    /// The jail falls short of `Demand::Required`; the worker ends.
    Short(Report),
    /// A key or the ledger's place cannot be used; the worker ends.
    Refused {
        /// In our own words.
        why: String,
    },
    /// The jail is on, keys are loaded.
    Ready(Box<Ready>),
    /// Answer to `Open`: the ledger is taken up.
    Opened(Standing),
    /// Answer to `Open`, or said after a group: nothing can be recorded any more, and the worker ends.
    Lost {
        /// In our own words.
        why: String,
        /// The ledger is not what it was: trying again is of no use.
        tampered: bool,
    },
    /// Answer to `Append`.
    Recorded {
        /// Of the group.
        group: u64,
        /// For each event, in order, why it was not recorded, if so.
        faults: Vec<Fault>,
        /// Where the ledger ends now.
        standing: Standing,
    },
    /// Answer to `Head`; `None` before the first entry.
    Head {
        /// Of the request.
        id: u64,
        /// A signed statement, one JSON object.
        text: Option<String>,
    },
    /// Answer to `SelfProbe`.
    SelfProbe {
        /// Of the request.
        id: u64,
        /// What came of each attempt.
        report: Report,
    },
}

/// An event that was not recorded.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Fault {
    /// Its place in the group.
    pub index: u32,
    /// In our own words.
    pub why: String,
    /// The disk's fault: the same event may be tried again.
    pub again: bool,
}

/// Where the ledger ends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Standing {
    /// The last entry; `None` before the first.
    pub last: Option<Known>,
    /// What happened beside it, for the log: mended tails, rotations, others' entries.
    pub notices: Vec<String>,
}

/// The jail is on.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Ready {
    /// What this process really has.
    pub report: Report,
    /// Short name of the signing key; `None` where entries are not signed.
    pub key: Option<String>,
    /// The keys' memory is kept out of swap.
    pub locked: bool,
}

/// Where the conversation stands, as the supervisor sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The worker was started and has not said that it is ready.
    Starting,
    /// Ready, ledger not asked for.
    Ready,
    /// Taking the ledger up.
    Opening,
    /// Recording.
    Open,
}

impl FromAudit {
    /// Says whether a worker may say this now. Anything else is a protocol violation, for which it is killed.
    ///
    /// # Errors
    /// [`Error::Illegal`] with the names of message and phase.
    pub fn legal(&self, phase: Phase) -> Result<(), Error> {
        let (message, fine) = match self {
            FromAudit::Short(_) => ("Short", phase == Phase::Starting),
            FromAudit::Refused { .. } => ("Refused", phase == Phase::Starting),
            FromAudit::Ready(_) => ("Ready", phase == Phase::Starting),
            FromAudit::Opened(_) => ("Opened", phase == Phase::Opening),
            FromAudit::Lost { .. } => ("Lost", matches!(phase, Phase::Opening | Phase::Open)),
            FromAudit::Recorded { .. } => ("Recorded", phase == Phase::Open),
            FromAudit::Head { .. } => ("Head", phase == Phase::Open),
            FromAudit::SelfProbe { .. } => ("SelfProbe", phase != Phase::Starting),
        };
        let phase = match phase {
            Phase::Starting => "starting",
            Phase::Ready => "ready",
            Phase::Opening => "opening",
            Phase::Open => "open",
        };
        if fine { Ok(()) } else { Err(Error::Illegal { message, phase }) }
    }
}
