//! How a call that reached the workers can end, in types that the MCP layer renders.
//! Trust: built by the supervisor from its own knowledge; worker texts in it have passed the edge's checks.

use crate::{audit::NotRecorded, carrier::StartError};
use bulkhead_contract::{
    args::Violation,
    failure::{ReadFailure, Reason},
};
use bulkhead_ipc::edge::read::Reply;

/// A good answer.
#[derive(Debug)]
pub struct Answered {
    /// Canonical path of the repository that answered; envelope field `repoPath`.
    pub canonical: Vec<u8>,
    /// The typed result.
    pub reply: Reply,
}

/// An argument of a proposal that may not stand as it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Where, and what.
    pub violation: Violation,
    /// The kind of it.
    pub reason: Reason,
}

/// Why there is no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// An argument is missing that nothing on this machine stands in for. Code -32602, in a result.
    #[error("{details}")]
    Incomplete {
        /// What is missing, and what to do.
        details: String,
    },
    /// A proposal breaks rules, or what it is about cannot be worked on; all of it is named, and nothing was sent. Code -32602.
    #[error("{} of the arguments break rules", violations.len())]
    Forbidden {
        /// What is wrong.
        violations: Vec<Broken>,
    },
    /// A call of the direct surface came to nothing, and says why itself.
    #[error("{}", .0.reason)]
    Direct(Box<crate::direct::Failure>),
    /// The worker says that the repository cannot be read so.
    #[error("{}", .0.details)]
    Read(ReadFailure),
    /// `--isolation required` is not met. Code 10020.
    #[error("isolation: {layer} is missing: {cause}")]
    IsolationMissing {
        /// Capability that nothing takes away.
        layer: String,
        /// Why.
        cause: String,
    },
    /// The deadline passed. Code 10021.
    #[error("no answer within {seconds} s; the worker was stopped")]
    Deadline {
        /// `--deadline` in seconds.
        seconds: u64,
    },
    /// The worker died or broke its protocol. Code 10022.
    #[error("the worker that served this call ended: {how}")]
    WorkerDied {
        /// In our own words, for example `signal 6`.
        how: String,
    },
    /// No worker can be had now. Code 10023.
    #[error("no worker can be had: {why}")]
    Unavailable {
        /// Why, and what to do.
        why: String,
    },
    /// No worker can be had in this server's life. Code 10023.
    #[error("no worker can be had any more: {why}")]
    Gone {
        /// Why, and what to do.
        why: String,
    },
    /// This very call killed its worker twice. Code 10024.
    #[error("this call ended its worker twice and is refused for {seconds} s")]
    Poisoned {
        /// Time left.
        seconds: u64,
    },
    /// It cannot be recorded, and `--audit required` demands it. Code 10026.
    #[error("the call cannot be recorded: {why}")]
    Unrecorded {
        /// Why.
        why: String,
        /// Nothing will be recorded in this server's life.
        for_good: bool,
    },
    /// The operator wants nobody to look for other agents. Code 10011.
    #[error("looking for other agents is switched off")]
    DetectionOff,
    /// Nothing local can answer, and no gateway is configured. Code 10001.
    #[error("no gateway is configured and no run directory holds a record of this repository")]
    GatewayNeeded,
    /// The gateway cannot be asked. Code 10003.
    #[error("the gateway cannot be asked")]
    GatewaySilent {
        /// One is configured.
        configured: bool,
    },
    /// The worker ended because the server was stopping. Code 10022.
    #[error("the server was stopping")]
    Stopping,
    /// The asker does not wait any more: the client cancelled, and nothing is sent for it, or the server is stopping.
    #[error("cancelled")]
    Cancelled,
}

impl From<StartError> for CallError {
    fn from(StartError { why, for_good, .. }: StartError) -> Self {
        if for_good { Self::Gone { why } } else { Self::Unavailable { why } }
    }
}

impl From<NotRecorded> for CallError {
    fn from(NotRecorded { why, for_good }: NotRecorded) -> Self {
        Self::Unrecorded { why, for_good }
    }
}
