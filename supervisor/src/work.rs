//! What a call is to the workers: mostly one question; for some tools several, put together here into one answer.
//! Trust: answers come from workers that may be taken over; they are typed, bounded, and only ever put together.

use crate::{
    company::{Asker, Company},
    control::Control,
    direct::Direct,
    fleet::Fleet,
    outcome::CallError,
    proposals::{self, Failed, One, Proposal},
    reads::{Question, Reads},
    safety::Safety,
    semantic::Semantic,
    settings::Settings,
};
use bulkhead_ipc::edge::read::Reply;
use serde_json::{Map, Value};

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
    /// A proposal of a write.
    Propose(Box<Proposal>),
    /// A question to the gateway about one proposal, or its withdrawal.
    One(One),
    /// A call of the direct surface.
    Direct(Box<Direct>),
}

/// An end that the call itself came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Done {
    /// Canonical path of the repository that answered; `None` where the answer is not about one alone.
    pub canonical: Option<Vec<u8>>,
    /// Member `data`; its keys are sorted, as the contract has them. Only results of proposals may lack it.
    pub data: Option<Value>,
    /// Members beside it, and in place of the tool's own: of results of proposals, and of a read that the gateway took part in.
    pub members: Map<String, Value>,
    /// The result is an error for what the gateway said.
    pub failed: Option<Failed>,
    /// Canonical path of the repository that the call was about, where the result does not name it.
    pub about: Option<Vec<u8>>,
}

impl Done {
    /// An answer, perhaps about the repository at `canonical`.
    #[must_use]
    pub fn of(canonical: Option<Vec<u8>>, data: Value) -> Self {
        Self { canonical, data: Some(data), ..Self::default() }
    }
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
            Work::Propose(proposal) => proposal.asked(),
            Work::Fleet(_) | Work::One(_) | Work::Direct(_) => "",
        }
    }

    /// Bytes that it holds until it is done, where that is much: proposals carry patches.
    #[must_use]
    pub fn held(&self) -> usize {
        match self {
            Work::Propose(proposal) => proposal.size(),
            Work::Direct(direct) => direct.held,
            _ => 0,
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
    pub async fn done<R: Reads>(
        self,
        reads: &R,
        settings: &Settings,
        asker: proposals::Asker<'_>,
        control: Control,
    ) -> Result<Done, CallError> {
        match self {
            Work::Read(question) => {
                let answered = reads.read(question, control).await?;
                Ok(Done::of(Some(answered.canonical), data(answered.reply)?))
            }
            Work::Fleet(fleet) => fleet.done(reads, settings, control).await,
            Work::Safety(safety) => safety.done(reads, settings, control).await,
            Work::Company(company) => company.done(reads, settings, control).await,
            Work::Semantic(semantic) => semantic.done(reads, settings, control).await,
            Work::Propose(proposal) => proposal.done(reads, settings, asker, control).await,
            Work::One(one) => one.done(reads, settings, asker, control).await,
            Work::Direct(direct) => direct.done(reads, settings, asker, control).await,
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
        | Reply::Facts(_)
        | Reply::Annotate(_)
        | Reply::ShowFile(_)
        | Reply::ListFiles(_)
        | Reply::MergeBase(_)
        | Reply::Remotes(_)
        | Reply::Unmerged(_)
        | Reply::Points(_)
        | Reply::ConflictRegions(_)
        | Reply::Resolve(_) => {
            return Err(CallError::WorkerDied { how: "it answered another question".into() });
        }
    };
    value.map_err(|_| CallError::WorkerDied { how: "its answer cannot be written as JSON".into() })
}
