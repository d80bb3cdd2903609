//! The record of one call, from what is known at its beginning to how it ended. Dropped unfinished, it says so itself.
//! Trust: arguments are the agent's; of them a digest is kept, and a count where many repositories are meant.

use super::{Audit, NotRecorded, Noted};
use crate::{mcp::jsonrpc::RpcError, outcome::CallError, work::Done};
use bulkhead_contract::{
    canonical, catalogue,
    failure::{Reason, code},
};
use bulkhead_ipc::edge::audit::{Kind, Outcome, Risk, Scope, Step, Write};
use serde_json::Value;
use std::{cell::Cell, time::Instant};

/// One call on its way.
#[derive(Debug)]
pub struct Entry {
    audit: Audit,
    /// Taken at the end.
    begun: Option<Begun>,
    /// The request of a write may have left: an intent is recorded, perhaps of a proposal with that digest.
    intended: Cell<Option<Option<[u8; 32]>>>,
}

#[derive(Debug, Clone)]
struct Begun {
    tool: &'static str,
    client: Option<String>,
    scope: Scope,
    arguments: Option<[u8; 32]>,
    since: Instant,
}

impl Entry {
    /// `served` is the digest of the one repository that the tool is about, where it takes none.
    pub(super) fn begin(
        audit: Audit,
        tool: Option<&'static str>,
        arguments: &Value,
        served: Option<[u8; 32]>,
        client: Option<&str>,
    ) -> Self {
        let begun = audit.0.is_some().then(|| Begun {
            tool: tool.unwrap_or("unknown"),
            client: client.map(str::to_owned),
            scope: served.map_or_else(|| scope(arguments), Scope::Path),
            arguments: (!arguments.is_null()).then(|| canonical::sha256(arguments)),
            since: Instant::now(),
        });
        Self { audit, begun, intended: Cell::new(None) }
    }

    /// Records that a write is about to leave, and returns when that is on disk. `proposal` is its digest, where it
    /// proposes something.
    ///
    /// # Errors
    /// Why that is not recorded; then nothing may leave.
    pub async fn intend(&self, proposal: Option<[u8; 32]>) -> Result<(), NotRecorded> {
        let Some(Begun { tool, client, scope, arguments, since }) = self.begun.clone() else { return Ok(()) };
        let write = Some(Write { step: Step::Intent, risk: risk(tool), proposal });
        let summary = format!("about to leave{}", named(proposal));
        let noted = Noted {
            kind: kind(tool),
            tool: tool.to_owned(),
            client,
            result: Outcome::Success,
            scope,
            arguments,
            duration: since.elapsed(),
            summary,
            reported: None,
            numbers: Vec::new(),
            write,
        };
        self.audit.durable(noted).await?;
        self.intended.set(Some(proposal));
        Ok(())
    }

    /// A signed statement of where the ledger ends, where there is one to be had.
    pub async fn checkpoint(&self) -> Option<Value> {
        self.begun.as_ref()?;
        self.audit.checkpoint().await
    }

    /// It was refused before it reached a tool.
    pub fn refused(mut self, error: &RpcError) {
        self.finish(Kind::Refused, Outcome::Blocked, format!("refused: {}", error.code), None);
    }

    /// It was not begun: too many are open.
    pub fn busy(mut self) {
        self.finish(Kind::ToolCall, Outcome::Error, format!("error {}: too many calls are open", code::BUSY), None);
    }

    /// It ended so.
    pub fn ended(mut self, outcome: &Result<Done, CallError>) {
        let kind = self.begun.as_ref().map_or(Kind::ToolCall, |begun| kind(begun.tool));
        let (kind, result, summary, reported) = match outcome {
            Ok(Done { failed: Some(failed), .. }) => (kind, Outcome::Error, format!("error {}", failed.code), None),
            Ok(_) => (kind, Outcome::Success, "answered".to_owned(), None),
            Err(CallError::Read(failure)) if failure.reason == Reason::OutsideRoots => {
                (Kind::Refused, Outcome::Blocked, format!("refused: {}", code::OUTSIDE_ROOTS), None)
            }
            Err(CallError::Unrecorded { .. }) => {
                let summary = format!("refused: {}, it could not be recorded then", code::UNRECORDED);
                (Kind::Refused, Outcome::Blocked, summary, None)
            }
            Err(CallError::Forbidden { .. }) => {
                (Kind::Refused, Outcome::Blocked, format!("refused: {}", code::INVALID_PARAMS), None)
            }
            Err(error) => {
                let (summary, reported) = told(error);
                (kind, Outcome::Error, summary, reported)
            }
        };
        self.finish(kind, result, summary, reported);
    }

    fn finish(&mut self, kind: Kind, result: Outcome, summary: String, reported: Option<String>) {
        let Some(Begun { tool, client, scope, arguments, since }) = self.begun.take() else { return };
        let intended = self.intended.get();
        let write = is_write(tool).then(|| Write {
            step: if intended.is_some() { Step::Outcome } else { Step::Only },
            risk: risk(tool),
            proposal: intended.flatten(),
        });
        let summary = summary + &named(intended.flatten());
        let (tool, duration) = (tool.to_owned(), since.elapsed());
        let numbers = Vec::new();
        let noted = Noted { kind, tool, client, result, scope, arguments, duration, summary, reported, numbers, write };
        self.audit.note(noted);
    }
}

impl Drop for Entry {
    /// A call that broke inside of us, or was cut off by the end of the server, was a call all the same.
    fn drop(&mut self) {
        let kind = self.begun.as_ref().map_or(Kind::ToolCall, |begun| kind(begun.tool));
        self.finish(kind, Outcome::Error, "it was cut off before it had an end".to_owned(), None);
    }
}

fn is_write(tool: &str) -> bool {
    catalogue::row(tool).is_some_and(|tool| !tool.annotations.read_only)
}

fn kind(tool: &str) -> Kind {
    match catalogue::row(tool) {
        Some(row) if row.is_direct() => Kind::ToolCall,
        Some(row) if row.proposes().is_some() => Kind::Proposal,
        Some(row) if !row.annotations.read_only => Kind::Cancel,
        _ => Kind::ToolCall,
    }
}

/// The contract's table (`audit.md`).
fn risk(tool: &str) -> Risk {
    let row = catalogue::row(tool);
    match row.and_then(|row| row.proposes()) {
        None if row.is_some_and(|row| row.is_direct()) => direct_risk(tool),
        None => Risk::None,
        Some("worktree" | "commit" | "branch") => Risk::Low,
        Some("reset" | "discard") => Risk::High,
        Some(_) => Risk::Medium,
    }
}

/// The direct surface's tools by what could be lost by them; the contract's table has none of them.
fn direct_risk(tool: &str) -> Risk {
    match catalogue::row(tool) {
        Some(row) if row.annotations.read_only => Risk::None,
        Some(row) if row.annotations.destructive => Risk::High,
        Some(row) if row.annotations.open_world => Risk::Medium,
        _ => Risk::Low,
    }
}

/// The short form of a digest, for a summary.
fn named(proposal: Option<[u8; 32]>) -> String {
    proposal.map_or_else(String::new, |digest| format!("; proposal {}", canonical::short(&digest)))
}

/// A sentence of ours, and what others said in a field of its own.
fn told(error: &CallError) -> (String, Option<String>) {
    match error {
        CallError::Read(failure) => (format!("error {}: {}", code::LOCAL_READ, failure.reason.name()), None),
        CallError::Incomplete { .. } => (format!("error {}: an argument is missing", code::INVALID_PARAMS), None),
        CallError::IsolationMissing { layer, cause } => {
            let summary = format!("error {}: isolation falls short of what is demanded", code::ISOLATION_MISSING);
            (summary, Some(format!("{layer}: {cause}")))
        }
        CallError::Deadline { seconds } => {
            (format!("error {}: no answer within {seconds} s; the worker was ended", code::DEADLINE), None)
        }
        CallError::WorkerDied { how } => {
            (format!("error {}: the worker that served it ended", code::WORKER_DIED), Some(how.clone()))
        }
        CallError::Unavailable { why } | CallError::Gone { why } => {
            (format!("error {}: no worker could be had", code::WORKER_UNAVAILABLE), Some(why.clone()))
        }
        CallError::Poisoned { .. } => (format!("error {}: it ended two workers before", code::POISONED), None),
        CallError::Unrecorded { .. } => (format!("error {}: it could not be recorded", code::UNRECORDED), None),
        CallError::DetectionOff => (format!("error {}: detection is switched off", code::DETECTION_OFF), None),
        CallError::Forbidden { .. } => (format!("error {}: arguments break rules", code::INVALID_PARAMS), None),
        CallError::GatewayNeeded => (format!("error {}: it needs a gateway", code::GATEWAY_NEEDED), None),
        CallError::GatewaySilent { .. } => (format!("error {}: the gateway is silent", code::GATEWAY_SILENT), None),
        CallError::Direct(failure) => (format!("error: {}", failure.class.name()), None),
        CallError::Stopping => (format!("error {}: the server was stopping", code::WORKER_DIED), None),
        CallError::Cancelled => ("cancelled".to_owned(), None),
    }
}

/// What a call is about, by the contract's order; no name that a caller chose gets in.
fn scope(arguments: &Value) -> Scope {
    let many = |name: &str| arguments.get(name).and_then(Value::as_array).map(Vec::len);
    match (arguments.get("repoPath"), many("repoPaths").or_else(|| many("repositories"))) {
        (Some(path @ Value::String(_)), _) => Scope::Path(canonical::sha256(path)),
        (_, Some(count)) => Scope::Fleet(u32::try_from(count).unwrap_or(u32::MAX)),
        _ => Scope::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn risks_and_kinds_are_the_contract_s() {
        for (tool, right_kind, right_risk) in [
            ("repo.status", Kind::ToolCall, Risk::None),
            ("operation.status", Kind::ToolCall, Risk::None),
            ("operation.cancel", Kind::Cancel, Risk::None),
            ("operation.preview.reset", Kind::Proposal, Risk::High),
            ("operation.preview.discard", Kind::Proposal, Risk::High),
            ("operation.preview.branchDelete", Kind::Proposal, Risk::Medium),
            ("operation.preview.branch", Kind::Proposal, Risk::Low),
            ("unknown", Kind::ToolCall, Risk::None),
        ] {
            assert_eq!((kind(tool), risk(tool)), (right_kind, right_risk), "{tool}");
            assert_eq!(is_write(tool), right_kind != Kind::ToolCall, "{tool}");
        }
        for (tool, right) in [
            ("repo_status", Risk::None),
            ("repo_commit", Risk::Low),
            ("repo_push", Risk::Medium),
            ("repo_delete_branch", Risk::High),
        ] {
            assert_eq!((kind(tool), risk(tool)), (Kind::ToolCall, right), "{tool}");
            assert_eq!(is_write(tool), right != Risk::None, "{tool}");
        }
    }

    #[test]
    fn a_scope_is_a_digest_or_a_number_and_never_a_name() {
        let path = canonical::sha256(&json!("/w"));
        for (arguments, expected) in [
            (json!({"repoPath": "/w", "repoId": "chosen"}), Scope::Path(path)),
            (json!({"repoId": "chosen", "repo_id": "chosen"}), Scope::Unknown),
            (json!({"repoPath": 7}), Scope::Unknown),
            (json!({"repoPaths": ["/a", "/b"]}), Scope::Fleet(2)),
            (json!({"repositories": []}), Scope::Fleet(0)),
            (json!(null), Scope::Unknown),
        ] {
            assert_eq!(scope(&arguments), expected, "{arguments}");
        }
    }
}
