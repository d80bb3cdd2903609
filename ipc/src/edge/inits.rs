//! What each kind of worker is told first: the one list of kinds that launcher, threads and front door share.
//! Trust: built by the front door from the command line; the only later addition is an opaque path.

use super::{WorkerKind, agents, audit, gateway, note, read, syntax, write};
use crate::{Error, codec};

/// The first message of each kind.
#[derive(Debug, Clone)]
pub struct Inits {
    /// Of worker-read, without a path.
    pub read: read::Init,
    /// Of worker-audit.
    pub audit: audit::Init,
    /// Of worker-agents.
    pub agents: agents::Init,
    /// Of worker-syntax.
    pub syntax: syntax::Init,
    /// Of the worker that keeps the presence file.
    pub note: note::Init,
    /// Of worker-gateway.
    pub gateway: gateway::Init,
    /// Of worker-write, both kinds.
    pub write: write::Init,
}

impl Inits {
    /// The encoded first message to a worker of this kind that is for `path`, where its kind takes one.
    ///
    /// # Errors
    /// Those of the codec.
    pub fn first(&self, kind: WorkerKind, path: Option<Vec<u8>>) -> Result<Vec<u8>, Error> {
        match kind {
            WorkerKind::Read => codec::encode(&read::ToRead::Init(Box::new(read::Init { path, ..self.read.clone() }))),
            WorkerKind::Audit => codec::encode(&audit::ToAudit::Init(Box::new(self.audit.clone()))),
            WorkerKind::Agents => codec::encode(&agents::ToAgents::Init(Box::new(self.agents.clone()))),
            WorkerKind::Syntax => codec::encode(&syntax::ToSyntax::Init(Box::new(self.syntax.clone()))),
            WorkerKind::Note => codec::encode(&note::ToNote::Init(Box::new(self.note.clone()))),
            WorkerKind::Gateway => codec::encode(&gateway::ToGateway::Init(Box::new(self.gateway.clone()))),
            WorkerKind::Write => codec::encode(&write::ToWrite::Init(Box::new(self.write.clone().without_network()))),
            WorkerKind::WriteNet => codec::encode(&write::ToWrite::Init(Box::new(self.write.clone().without_hooks()))),
        }
    }
}
