//! Who else works in a repository: what the repository's worker sees of it, and what the one that looks for agents sees.
//! Trust: both workers may be taken over; their answers are typed, bounded, and only put together here.

mod note;
mod others;
mod rows;

pub use note::Presence as OwnPresence;
pub use others::{OtherAgents, other_agents, proposal_paths};
pub use rows::{Asker, rows};

use crate::{
    control::Control,
    outcome::CallError,
    reads::{Question, Reads},
    settings::Settings,
    work::Done,
};
use bulkhead_contract::{
    path::text_of,
    results::{Agent, AgentSource, Caller, Presence, Traces, Unseen},
};
use bulkhead_ipc::edge::{agents::Finding, read::Reply};
use std::{collections::BTreeMap, time::Duration};

/// Agents of one answer.
pub const MAX_AGENTS: usize = 32;
/// Reasons of one answer.
const MAX_REASONS: usize = 32;
/// The questions of a call watch the deadline themselves; this is for their sum.
const GRACE: Duration = Duration::from_millis(100);

const PRIVACY: &str = "Looked at were: directories, programs and command lines of processes of this user; times, branches, tool \
    names and file names in other agents' session stores; times of editors' workspaces; presence files. Never: environment or \
    memory of processes, processes of other users, what anybody wrote to an agent or an agent answered.";
const GUIDANCE: &str = "This is informational. Where another agent is working on the files or the branch that you are about to \
    change, tell the person before you go on. Rows with likelyCaller are probably you.";

/// The question who else works in a repository.
#[derive(Debug, Clone)]
pub struct Company {
    /// What the repository's worker is asked: where the repository is, and which agents left a trace in it.
    pub question: Question,
    /// Who asks.
    pub asker: Asker,
}

/// What came of looking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Around {
    /// Canonical path of the repository.
    pub canonical: Vec<u8>,
    /// At most [`MAX_AGENTS`].
    pub agents: Vec<Agent>,
    /// How many there are.
    pub total: usize,
    /// What could not be looked at.
    pub unseen: Vec<Unseen>,
}

impl Company {
    /// Looks, and answers.
    ///
    /// # Errors
    /// [`CallError::DetectionOff`] where the operator wants no looking, and what the questions end in.
    pub async fn done<R: Reads>(self, reads: &R, settings: &Settings, control: Control) -> Result<Done, CallError> {
        let around = self.around(reads, settings, control).await?;
        let presence = Presence {
            agent_count: around.agents.len() as u64,
            truncated: around.total > around.agents.len(),
            agents: around.agents,
            caller: Caller {
                client_name: self.asker.client.clone(),
                agent: self.asker.agent.clone(),
                own_mcp_presence_excluded: true,
            },
            partial: !around.unseen.is_empty(),
            partial_reasons: around.unseen,
            repo_path: text_of(&around.canonical).0,
            privacy: PRIVACY.to_owned(),
            guidance: GUIDANCE.to_owned(),
        };
        // going through a value sorts the keys
        let data = serde_json::to_value(presence)
            .map_err(|_| CallError::WorkerDied { how: "its answer cannot be written as JSON".into() })?;
        Ok(Done::of(Some(around.canonical), data))
    }

    /// Looks: first in the repository, then around it.
    ///
    /// # Errors
    /// As [`Company::done`].
    pub async fn around<R: Reads>(
        &self,
        reads: &R,
        settings: &Settings,
        control: Control,
    ) -> Result<Around, CallError> {
        if !settings.agents.detect {
            return Err(CallError::DetectionOff);
        }
        match tokio::time::timeout(settings.deadline + GRACE, self.look(reads, control)).await {
            Ok(around) => around,
            Err(_) => Err(CallError::Deadline { seconds: settings.deadline.as_secs() }),
        }
    }

    async fn look<R: Reads>(&self, reads: &R, control: Control) -> Result<Around, CallError> {
        let answered = reads.read(self.question.clone(), control.clone()).await?;
        let Reply::Traces(traces) = answered.reply else {
            return Err(CallError::WorkerDied { how: "it answered another question".to_owned() });
        };
        let traced = traced(&traces);
        let root = answered.canonical.clone();
        let names = traced.iter().map(|finding| finding.agent.clone()).collect();
        let [processes, stores] = reads.scan(root, names, control).await?;
        let at_ms = processes.at_ms.max(stores.at_ms);
        let findings = processes.findings.into_iter().chain(stores.findings).chain(traced);
        let (agents, total) = rows(findings, &self.asker, at_ms);
        let unseen = together(processes.unseen.into_iter().chain(stores.unseen));
        Ok(Around { canonical: answered.canonical, agents, total, unseen })
    }
}

/// What could not be looked at, each thing and reason once, in their order, at most [`MAX_REASONS`].
fn together(unseen: impl Iterator<Item = Unseen>) -> Vec<Unseen> {
    let mut counts = BTreeMap::new();
    for Unseen { what, reason, count } in unseen {
        let sum: &mut u32 = counts.entry((what, reason)).or_default();
        *sum = sum.saturating_add(count);
    }
    let rows = counts.into_iter().map(|((what, reason), count)| Unseen { what, reason, count });
    rows.take(MAX_REASONS).collect()
}

/// What the repository's own files say.
fn traced(traces: &Traces) -> Vec<Finding> {
    let trace = |agent: &str, at_ms: Option<i64>| {
        let source = AgentSource::RepoTrace;
        at_ms.map(|at| Finding { agent: agent.to_owned(), source, last_activity_ms: Some(at), ..Finding::default() })
    };
    [trace("aider", traces.aider_ms), trace("crush", traces.crush_ms)].into_iter().flatten().collect()
}
