//! What a call is to the workers: mostly one question; for some tools several, put together here into one answer.
//! Trust: answers come from workers that may be taken over; they are typed, bounded, and only ever put together.

use crate::{
    company::{Asker, Company},
    control::Control,
    fleet::Fleet,
    gateway::Gateway,
    outcome::CallError,
    reads::{Question, Reads},
    safety::Safety,
    semantic::Semantic,
    settings::Settings,
};
use bulkhead_ipc::edge::read::Reply;
use serde_json::Value;

/// The work of one call.
#[derive(Debug, Clone)]
pub enum Work {
    /// One question to one repository.
    Read(Question),
    /// The same question to many repositories.
    Fleet(Fleet),
    /// A question to one repository that is answered with the run directory's records beside it.
    Safety(Safety),
    /// Changed files of one repository, compared by a worker that parses.
    Semantic(Semantic),
    /// The question who else works in a repository.
    Company(Company),
    /// A question to the gateway.
    Gateway(Gateway),
}

/// A good end.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// Canonical path of the repository that answered; `None` where the answer is not about one alone.
    pub canonical: Option<Vec<u8>>,
    /// Member `data`; its keys are sorted, as the contract has them.
    pub data: Value,
}

impl Work {
    /// The caller's path, for refusals; empty where there is not one.
    #[must_use]
    pub fn asked(&self) -> &str {
        match self {
            Work::Read(question)
            | Work::Safety(Safety { question, .. })
            | Work::Semantic(Semantic { question, .. }) => &question.path,
            Work::Company(Company { question, .. }) => &question.path,
            Work::Fleet(_) | Work::Gateway(_) => "",
        }
    }

    /// The same, asked by a client of that name.
    #[must_use]
    pub fn asked_by(self, client: Option<&str>) -> Self {
        match self {
            Work::Company(company) => Work::Company(Company { asker: Asker::of(client), ..company }),
            work => work,
        }
    }

    /// Does it.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn done<R: Reads>(self, reads: &R, settings: &Settings, control: Control) -> Result<Done, CallError> {
        match self {
            Work::Read(question) => {
                let answered = reads.read(question, control).await?;
                Ok(Done { canonical: Some(answered.canonical), data: data(answered.reply)? })
            }
            Work::Fleet(fleet) => fleet.done(reads, settings, control).await,
            Work::Safety(safety) => safety.done(reads, settings, control).await,
            Work::Company(company) => company.done(reads, settings, control).await,
            Work::Semantic(semantic) => semantic.done(reads, settings, control).await,
            Work::Gateway(gateway) => gateway.done(settings),
        }
    }
}

/// A worker's reply as JSON; the pool saw to it that it fits the question.
///
/// # Errors
/// [`CallError::WorkerDied`] for a reply that is no tool's answer.
pub fn data(reply: Reply) -> Result<Value, CallError> {
    // going through a value sorts the keys
    let value = match reply {
        Reply::Brief(it) => serde_json::to_value(it),
        Reply::Status(it) => serde_json::to_value(it),
        Reply::Changes(it) => serde_json::to_value(it),
        Reply::Refs(it) => serde_json::to_value(it),
        Reply::Reflog(it) => serde_json::to_value(it),
        Reply::BranchStack(it) => serde_json::to_value(it),
        Reply::History(it) => serde_json::to_value(it),
        Reply::Scope(it) => serde_json::to_value(it),
        Reply::TextDiff(it) => serde_json::to_value(it),
        Reply::CommitDetails(it) => serde_json::to_value(it),
        Reply::Worktrees(it) => serde_json::to_value(it),
        Reply::Submodules(it) => serde_json::to_value(it),
        Reply::Preflight(it) => serde_json::to_value(it),
        Reply::Conflict(it) => serde_json::to_value(it),
        Reply::Timeline(it) => serde_json::to_value(it),
        Reply::TimelineEvent(it) => serde_json::to_value(it),
        Reply::RestorePoints(it) => serde_json::to_value(it),
        Reply::SelfProbe(_)
        | Reply::Sources(_)
        | Reply::Radar(_)
        | Reply::Digest(_)
        | Reply::Traces(_)
        | Reply::Records(_)
        | Reply::Facts(_) => {
            return Err(CallError::WorkerDied { how: "it answered another question".into() });
        }
    };
    value.map_err(|_| CallError::WorkerDied { how: "its answer cannot be written as JSON".into() })
}
