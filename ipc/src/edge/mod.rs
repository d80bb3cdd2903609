//! One file per edge between two processes: its request and reply enums and what is legal in which phase.
//! Trust: definitions only; the receiving side of each edge asks `legal` before it acts on a message.

pub mod agents;
pub mod asks;
pub mod audit;
pub mod dialler;
pub mod errand;
pub mod gateway;
mod inits;
pub mod launcher;
pub mod ledger;
pub mod note;
pub mod read;
pub mod syntax;
pub mod write;

pub use inits::Inits;

use bincode::{Decode, Encode};

/// Kind of a worker; the launcher's table has one row for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum WorkerKind {
    /// Reads one repository.
    Read,
    /// Appends to the audit ledger.
    Audit,
    /// Looks who else works in a repository.
    Agents,
    /// Parses source files.
    Syntax,
    /// Keeps the presence file of this server.
    Note,
    /// Talks to the application behind the gateway's address.
    Gateway,
    /// Changes the one repository that may be written, by running Git without a network.
    Write,
    /// The same with a network, for fetch and push.
    WriteNet,
}

impl WorkerKind {
    /// All kinds, in the order of the launcher's table.
    pub const ALL: [WorkerKind; 8] = [
        WorkerKind::Read,
        WorkerKind::Audit,
        WorkerKind::Agents,
        WorkerKind::Note,
        WorkerKind::Syntax,
        WorkerKind::Gateway,
        WorkerKind::Write,
        WorkerKind::WriteNet,
    ];

    /// Name of the policy, the edge and the process, without the `worker-` prefix; of the crate too, but for the note, which
    /// is a second kind of process of worker-agents, and for `write-net`, a second kind of worker-write.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WorkerKind::Read => "read",
            WorkerKind::Audit => "audit",
            WorkerKind::Agents => "agents",
            WorkerKind::Syntax => "syntax",
            WorkerKind::Note => "note",
            WorkerKind::Gateway => "gateway",
            WorkerKind::Write => "write",
            WorkerKind::WriteNet => "write-net",
        }
    }

    /// Whether a worker of this kind is started for a path. Every other kind is told all that it needs by the table.
    #[must_use]
    pub fn takes_a_path(self) -> bool {
        self == WorkerKind::Read
    }

    /// Whether it runs Git in a repository: a launcher without the gate's row in its table starts none of these.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, WorkerKind::Write | WorkerKind::WriteNet)
    }

    /// The kind of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Which file an open or a stat reached: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct FileId {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
}
