//! The reference gateway without its socket: cards, keys, quota, policy, expiry, as the contract has them. It executes
//! nothing: a card that is completed says so in its result.
//! Trust: test code; bodies are checked as a strict gateway would, unknown members included.

use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Milliseconds that a proposal lives.
pub const LIFE: u64 = 5 * 60_000;
/// Milliseconds that the record of one that is over is kept.
pub const KEPT: u64 = 60 * 60_000;
/// Proposals of one agent that may wait at once.
pub const PENDING: usize = 10;

/// Members of a proposal beside its operation's own.
const COMMON: [&str; 7] =
    ["previewId", "agentId", "idempotencyKey", "operationType", "repoPath", "reason", "requestedAt"];
/// Operations, members that they must have, and members that they may have.
const OPERATIONS: [(&str, &[&str], &[&str]); 12] = [
    ("merge", &["sourceRef", "targetRef", "strategy"], &[]),
    ("rebase", &["currentRef", "ontoRef", "interactive"], &[]),
    ("discard", &["paths"], &[]),
    ("reset", &["targetRef", "mode"], &[]),
    ("patch", &["patchContent", "applyToIndex"], &[]),
    ("plan", &["steps"], &[]),
    ("worktree", &["branch"], &["path"]),
    ("commit", &["message", "stageAll"], &["paths"]),
    ("push", &["remote", "setUpstream", "forceWithLease"], &["branch"]),
    ("branch", &["name", "checkout"], &["startPoint"]),
    ("branchDelete", &["targets"], &[]),
    (
        "submodulePointer",
        &["parentPath", "relativePath", "direction"],
        &["message", "expectedRecordedOid", "expectedCheckedOutOid"],
    ),
];

/// A proposal that somebody decides on.
#[derive(Debug, Clone)]
pub struct Card {
    /// As it came.
    pub proposal: Map<String, Value>,
    /// `pending` and so on.
    pub status: String,
    /// When it came.
    pub opened: u64,
    /// When it was over.
    pub over: Option<u64>,
    rejection: Option<String>,
}

/// The cards.
#[derive(Debug, Default)]
pub struct Desk {
    /// By canonical id.
    pub cards: BTreeMap<String, Card>,
    /// Operations that the policy forbids.
    pub forbidden: Vec<String>,
    /// Facts are accepted: the wire is authentic.
    pub facts: bool,
    now: u64,
}

/// Status and body.
pub type Reply = (u16, Value);

impl Desk {
    /// Lets time go by.
    pub fn advance(&mut self, millis: u64) {
        self.now += millis;
        let now = self.now;
        for card in self.cards.values_mut().filter(|card| card.status == "pending" && now >= card.opened + LIFE) {
            card.status = "expired".to_owned();
            card.over = Some(card.opened + LIFE);
        }
        self.cards.retain(|_, card| card.over.is_none_or(|over| now < over + KEPT));
    }

    /// A person decides.
    pub fn decide(&mut self, id: &str, status: &str, reason: Option<&str>) {
        let now = self.now;
        let card = self.cards.get_mut(id).expect("a card of that id");
        assert_eq!(card.status, "pending", "a card is decided on once");
        card.status = status.to_owned();
        card.rejection = reason.map(str::to_owned);
        card.over = (!matches!(status, "approved" | "executing")).then_some(now);
    }

    /// Answers a request.
    pub fn answer(&mut self, method: &str, path: &str, body: &[u8]) -> Reply {
        let Some(rest) = path.strip_prefix("/v1/mcp/operation/") else { return error(404, "no_such_endpoint") };
        match (method, rest.split_once('/')) {
            ("POST", Some(("preview", operation))) => self.preview(operation, body),
            ("GET", Some(("status", id))) => match self.cards.get(id) {
                Some(card) => (200, record(id, card)),
                None => error(404, "no_such_preview"),
            },
            ("POST", Some(("cancel", id))) => self.cancel(id, body),
            _ => error(404, "no_such_endpoint"),
        }
    }

    fn preview(&mut self, operation: &str, body: &[u8]) -> Reply {
        let Ok(Value::Object(proposal)) = serde_json::from_slice(body) else { return error(400, "not_an_object") };
        let Some((_, needed, allowed)) = OPERATIONS.iter().find(|(name, ..)| *name == operation) else {
            return error(404, "no_such_operation");
        };
        let known = |name: &str| {
            let own = needed.contains(&name) || allowed.contains(&name);
            own || COMMON.contains(&name) || (name == "facts" && self.facts)
        };
        if let Some(name) = proposal.keys().find(|name| !known(name)) {
            return error(400, &format!("unknown_member {name}"));
        }
        if let Some(name) = COMMON.iter().chain(*needed).find(|name| !proposal.contains_key(**name)) {
            return error(400, &format!("missing_member {name}"));
        }
        if proposal["operationType"] != operation {
            return error(400, "operation_type");
        }
        let text = |name: &str| proposal[name].as_str().unwrap_or_default().to_owned();
        let (agent, id) = (text("agentId"), text("previewId"));
        if self.forbidden.iter().any(|forbidden| forbidden == operation) {
            return error(403, "agent_policy_violation");
        }
        // the same key is the same card
        let same = |card: &&Card| {
            card.proposal["agentId"] == agent && card.proposal["idempotencyKey"] == text("idempotencyKey")
        };
        if let Some((id, card)) = self.cards.iter().find(|(_, card)| same(card)) {
            return (202, opened(id, card));
        }
        if id.is_empty() || self.cards.contains_key(&id) {
            return error(409, "preview_id_taken");
        }
        let waits = |card: &&Card| card.status == "pending" && card.proposal["agentId"] == agent;
        if self.cards.values().filter(waits).count() >= PENDING {
            return error(429, "agent_pending_cap_exceeded");
        }
        let card = Card { proposal, status: "pending".to_owned(), opened: self.now, over: None, rejection: None };
        let answer = opened(&id, &card);
        self.cards.insert(id, card);
        (202, answer)
    }

    fn cancel(&mut self, id: &str, body: &[u8]) -> Reply {
        let Ok(body) = serde_json::from_slice::<Value>(body) else { return error(400, "not_json") };
        let now = self.now;
        let Some(card) = self.cards.get_mut(id) else { return error(404, "no_such_preview") };
        if card.proposal["agentId"] != body["agentId"] {
            return error(403, "not_yours");
        }
        if card.status != "pending" {
            return error(409, "decided");
        }
        card.status = "cancelled".to_owned();
        card.over = Some(now);
        (200, json!({"previewId": id, "status": "cancelled"}))
    }
}

fn opened(id: &str, card: &Card) -> Value {
    json!({"previewId": id, "status": card.status, "expiresAt": "2030-01-01T00:05:00.000Z"})
}

fn record(id: &str, card: &Card) -> Value {
    let mut record = json!({"previewId": id, "operationType": card.proposal["operationType"], "status": card.status});
    if let Some(reason) = &card.rejection {
        record["rejectionReason"] = reason.as_str().into();
    }
    if card.status == "completed" {
        record["result"] =
            json!({"status": "completed", "message": "Nothing was executed: this gateway is a stand-in for tests."});
    }
    record
}

fn error(status: u16, error: &str) -> Reply {
    (status, json!({ "error": error }))
}
