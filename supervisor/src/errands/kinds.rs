//! The kinds of errand: one row for each, over the edge of its worker.
//! Trust: replies come from workers that may be taken over; `fits` holds them to the edge's bounds.

use super::Errand;
use bulkhead_contract::results::{AgentSource, Unseen};
use bulkhead_ipc::{
    Error, codec,
    edge::{
        WorkerKind,
        agents::{self, Finding, Found, Scan, Sources, ToAgents},
        errand::{ErrandAnswer, ErrandCall},
        note::{self, Noted, ToNote},
        syntax::{self, ToSyntax},
        write::{Operation, Outcome, ToWrite},
    },
};

use std::{collections::VecDeque, time::Duration};

/// The messages of an edge with these first messages and questions.
macro_rules! edge {
    ($messages:ident) => {
        fn call(id: u64, budget_ms: u32, ask: Self::Ask) -> Result<VecDeque<Vec<u8>>, Error> {
            $messages::asking(ErrandCall { id, budget_ms, ask })
        }

        fn cancel(id: u64) -> Result<Vec<u8>, Error> {
            codec::encode(&$messages::Cancel { id })
        }

        fn probe(id: u64) -> Result<Vec<u8>, Error> {
            codec::encode(&$messages::SelfProbe { id })
        }

        fn answer(whole: &[u8]) -> Result<ErrandAnswer<Self::Reply>, Error> {
            codec::decode_answer(whole)
        }
    };
}

/// Who works in a repository: a process of its own for each source of each look; those for the next look are kept ready.
#[derive(Debug)]
pub struct Scans;

impl Errand for Scans {
    const KIND: WorkerKind = WorkerKind::Agents;
    const NAME: &'static str = "workers that look for other agents";
    // two looks
    const MOST: usize = 4;
    const SERVES: u64 = 1;
    const SPARE: usize = 2;
    const CLOSED_AT_START: bool = false;
    type Ask = Scan;
    type Reply = Found;
    edge!(ToAgents);

    fn fits(ask: &Scan, reply: &Found) -> bool {
        let own = |finding: &Finding| match ask.at {
            Sources::Processes { .. } => finding.source == AgentSource::Process,
            Sources::Stores { .. } => !matches!(finding.source, AgentSource::Process | AgentSource::RepoTrace),
        };
        let known = reply.known.iter().flat_map(|known| &known.said);
        is_bounded(reply) && reply.findings.iter().chain(known).all(own)
    }
}

/// The own presence file: one process, which keeps it.
#[derive(Debug)]
pub struct Notes;

impl Errand for Notes {
    const KIND: WorkerKind = WorkerKind::Note;
    const NAME: &'static str = "worker that keeps the presence file";
    const MOST: usize = 1;
    const SERVES: u64 = u64::MAX;
    const SPARE: usize = 0;
    const CLOSED_AT_START: bool = true;
    type Ask = note::Ask;
    type Reply = Noted;
    edge!(ToNote);

    fn fits(_ask: &note::Ask, reply: &Noted) -> bool {
        reply.failed.as_deref().is_none_or(is_short)
    }
}

/// A changed file by its definitions: processes that serve until they idle, two so that both cores work.
#[derive(Debug)]
pub struct Comparisons;

impl Errand for Comparisons {
    const KIND: WorkerKind = WorkerKind::Syntax;
    const NAME: &'static str = "workers that parse";
    const MOST: usize = 2;
    const SERVES: u64 = u64::MAX;
    const SPARE: usize = 0;
    const CLOSED_AT_START: bool = true;
    type Ask = syntax::Ask;
    type Reply = syntax::Reply;
    edge!(ToSyntax);

    fn fits(ask: &syntax::Ask, reply: &syntax::Reply) -> bool {
        match reply {
            syntax::Reply::Compared(compared) => compared.fits(ask),
            syntax::Reply::Fallback(_) => true,
        }
    }
}

/// One write, with a network or without: a process of its own for each, since what it may reach depends on the question. Those
/// of a kind take turns, whatever they are: two writes in one repository at a time would meet at Git's own locks.
#[derive(Debug)]
pub struct Writing<const NETWORK: bool>;

/// A write that needs no network.
pub type Writes = Writing<false>;

/// A fetch or a push.
pub type RemoteWrites = Writing<true>;

impl<const NETWORK: bool> Errand for Writing<NETWORK> {
    const KIND: WorkerKind = if NETWORK { WorkerKind::WriteNet } else { WorkerKind::Write };
    const NAME: &'static str = if NETWORK { "the worker that fetches and pushes" } else { "the worker that writes" };
    const MOST: usize = 1;
    const SERVES: u64 = 1;
    const SPARE: usize = 0;
    // Git is let take away its lock files, which nobody else may, and what it does in a moment anyway it is let do whole
    const GRACE: Duration = Duration::from_secs(5);
    const CLOSED_AT_START: bool = false;
    type Ask = Operation;
    type Reply = Outcome;
    edge!(ToWrite);

    fn fits(_ask: &Operation, reply: &Outcome) -> bool {
        reply.is_bounded()
    }
}

fn is_short(text: &str) -> bool {
    text.len() <= agents::MAX_TEXT * 4
}

fn is_bounded(found: &Found) -> bool {
    let finding = |finding: &Finding| {
        let texts = [&finding.branch, &finding.last_tool].into_iter().flatten().chain(&finding.files);
        let client = finding.mcp_client.iter().flat_map(|client| client.version.iter().chain([&client.name]));
        finding.files.len() <= agents::MAX_FILES
            && texts.chain(client).chain([&finding.agent]).all(|text| is_short(text))
    };
    let unseen = |unseen: &Unseen| is_short(&unseen.what);
    let findings = found.findings.iter().chain(found.known.iter().flat_map(|known| &known.said));
    found.findings.len() <= agents::MAX_FINDINGS
        && found.known.len() <= agents::MAX_KNOWN
        && found.known.iter().all(|known| known.said.len() <= agents::MAX_FINDINGS)
        && found.unseen.len() <= agents::MAX_FINDINGS
        && findings.into_iter().all(finding)
        && found.unseen.iter().chain(found.known.iter().filter_map(|known| known.unseen.as_ref())).all(unseen)
}
