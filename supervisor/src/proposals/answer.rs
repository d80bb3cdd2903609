//! What is known of a proposal, as a result (contract `gateway.md`, `results.md`, corrected by `corrections.md`).
//! Trust: what the gateway said is passed on as JSON; nothing is concluded from it that it does not say.

use super::wire::{Silence, Standing};
use crate::{gateway, work::Done};
use bulkhead_contract::{
    canonical,
    catalogue::{COMPLETED, FAILED_STATES, OPEN_STATES},
    failure::code,
    tool::Tool,
};
use serde_json::{Map, Value, json};

/// Member `tier` of every result of operation.*.
const TIER: &str = "fluxgit-write-handshake";

/// Why a result is an error.
#[derive(Debug, Clone, PartialEq)]
pub struct Failed {
    /// Code of the contract.
    pub code: i64,
    /// A sentence of ours.
    pub message: String,
    /// Member `data`.
    pub data: Option<Value>,
}

/// What is known of one proposal.
#[derive(Debug, Clone)]
pub(super) struct Story {
    pub tool: &'static Tool,
    /// Its id, the gateway's where it gave one.
    pub id: String,
    /// As the gateway was told it.
    pub key: Option<String>,
    pub digest: Option<[u8; 32]>,
    /// The other side showed that it knows the token; `None` where it said nothing.
    pub proved: Option<bool>,
}

impl Story {
    fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("tier".to_owned(), TIER.into());
        members.insert("previewId".to_owned(), self.id.as_str().into());
        if let Some(key) = &self.key {
            members.insert("idempotencyKey".to_owned(), key.as_str().into());
        }
        if let Some(digest) = &self.digest {
            members.insert("proposalDigest".to_owned(), canonical::hex(digest).into());
            members.insert("proposalShort".to_owned(), canonical::short(digest).into());
        }
        if let Some(proved) = self.proved {
            members.insert("bridgeAuthenticated".to_owned(), proved.into());
        }
        members
    }

    fn failed(&self, code: i64, message: &str, data: Option<Value>) -> Done {
        let failed = Failed { code, message: message.to_owned(), data };
        Done { members: self.members(), failed: Some(failed), ..Done::default() }
    }

    /// The gateway took it; where `certain` it said so, else only a record shows it.
    pub fn accepted(self, standing: Standing, certain: bool) -> Done {
        match standing {
            Standing::Record { status: Some(status), body, .. } => self.stands(&status, body),
            _ if certain => self.waits("pending"),
            Standing::Record { status: None, .. } => {
                let reason = "The gateway did not say plainly that it took the proposal, and its record has no status.";
                self.silent(Silence { reason: reason.to_owned(), sent: true, may_be_held: true })
            }
            Standing::Unknown { .. } => {
                let reason = "The gateway did not say plainly that it took the proposal, and knows none by its id.";
                self.silent(Silence { reason: reason.to_owned(), sent: true, may_be_held: true })
            }
            Standing::Silent(silence) => {
                let reason = format!("The gateway did not say plainly that it took the proposal. {}", silence.reason);
                self.silent(Silence { reason, sent: true, may_be_held: true })
            }
        }
    }

    /// It was proposed before under this key; this is how it stands, and nothing was proposed now.
    pub fn again(mut self, standing: Standing) -> Done {
        let mut done = match standing {
            Standing::Record { status, body, proved } => {
                self.proved = Some(proved);
                match status {
                    Some(status) => self.stands(&status, body),
                    None => self.waits("pending"),
                }
            }
            Standing::Unknown { proved } => {
                self.proved = Some(proved);
                self.unknown()
            }
            Standing::Silent(silence) => self.silent(Silence { sent: true, may_be_held: true, ..silence }),
        };
        done.members.insert("repeated".to_owned(), true.into());
        done
    }

    /// It stands so.
    fn stands(self, status: &str, body: Value) -> Done {
        if OPEN_STATES.contains(&status) {
            return self.waits(status);
        }
        if status == COMPLETED {
            let mut members = self.members();
            members.insert("status".to_owned(), status.into());
            return Done { members, data: Some(body), ..Done::default() };
        }
        if FAILED_STATES.contains(&status) {
            return self.ended(status, body);
        }
        let mut done = self.silent(Silence {
            reason:
                "The gateway's record has a status that is none of the contract's, so nothing is concluded from it."
                    .to_owned(),
            sent: true,
            may_be_held: true,
        });
        if let Some(data) = done.failed.as_mut().and_then(|failed| failed.data.as_mut()) {
            data["lastStatus"] = status.chars().take(64).collect::<String>().into();
        }
        done
    }

    /// It is over without having been carried out.
    pub fn ended(self, status: &str, body: Value) -> Done {
        let message = match status {
            "expired" => "The proposal expired before anybody decided.",
            "cancelled" => "The proposal was withdrawn.",
            "failed" => "The proposal was approved, and carrying it out failed.",
            _ => "A person rejected the proposal.",
        };
        let data = json!({"previewId": self.id, "status": status, "statusBody": body});
        let mut done = self.failed(code::PROPOSAL_OVER, message, Some(data));
        done.members.insert("status".to_owned(), status.into());
        done
    }

    /// A person has yet to decide.
    fn waits(self, status: &str) -> Done {
        let mut members = self.members();
        members.insert("accepted".to_owned(), true.into());
        members.insert("status".to_owned(), status.into());
        let next = json!({
            "tool": "operation.status",
            "message": format!("The proposal ({}) waits for a person.", self.tool.proposes().unwrap_or("write")),
            "data": {
                "previewId": self.id,
                "lastStatus": status,
                "reason": "A person decides on the proposal in the application. Nothing in the repository has changed, and \
                           nothing will before that.",
                "agentRecommendation": "Tell the person that the proposal waits for them, then call operation.status with \
                           this previewId every few seconds, at most for five minutes: after that it expires. Do not \
                           propose the same again meanwhile, and do not do it by other means.",
            },
        });
        members.insert("nextAction".to_owned(), next);
        Done { members, ..Done::default() }
    }

    /// The gateway refused it.
    pub fn refused(self, http: u16, body: Value) -> Done {
        let message = "The gateway refused the proposal; no card was opened.";
        let mut done = self.failed(code::PROPOSAL_REFUSED, message, Some(json!({"httpStatus": http, "gateway": body})));
        done.members.insert("status".to_owned(), "refused".into());
        done
    }

    /// The gateway took it under an id that is none, so it cannot be asked about.
    pub fn bad_id(self) -> Done {
        let message = "The gateway gave the proposal an id that cannot be used.";
        let mut done = self.failed(code::BAD_PREVIEW_ID, message, None);
        done.members.remove("previewId");
        done
    }

    /// The gateway knows no proposal by that id.
    pub fn unknown(self) -> Done {
        let data = json!({
            "previewId": self.id,
            "reason": "The gateway knows no proposal by this previewId: it was never made, belongs to another gateway, or \
                       ended more than an hour ago.",
            "agentRecommendation": "Do not conclude that it was carried out or that it was not: look at the repository, with \
                       repo.brief or safety.timeline.",
        });
        self.failed(code::PROPOSAL_UNKNOWN, "The gateway knows no such proposal.", Some(data))
    }

    /// A withdrawal was refused.
    pub fn not_cancelled(self, http: u16, body: Option<Value>) -> Done {
        let data = json!({
            "httpStatus": http,
            "previewId": self.id,
            "gateway": body,
            "agentRecommendation": "Call operation.status: the proposal may be decided on already, or be another agent's.",
        });
        self.failed(code::PROPOSAL_REFUSED, "The gateway did not withdraw the proposal.", Some(data))
    }

    /// There is no answer that could be used. What is known is said, and ids where something may have arrived.
    pub fn silent(self, silence: Silence) -> Done {
        let Silence { reason, sent, may_be_held } = silence;
        let mut data = gateway::silent(self.tool.name, true);
        data["reason"] = reason.into();
        data["sent"] = sent.into();
        let recommendation = match (sent, self.tool.proposes().is_some()) {
            (false, _) => {
                "Nothing was sent. Tell the person that the application cannot be reached; call again when it runs."
            }
            (true, true) if may_be_held => {
                "The request may have arrived: do not propose the same under another key. Call operation.status with the \
                 previewId, or repeat this call with the same idempotencyKey, which opens no second card."
            }
            (true, true) => {
                "No card was opened. Tell the person that what listens at the gateway's address answers wrongly."
            }
            (true, false) => "Call again in a few seconds; until then nothing is known.",
        };
        data["agentRecommendation"] = recommendation.into();
        let mut members = self.members();
        if sent && may_be_held {
            data["previewId"] = self.id.as_str().into();
            if let Some(key) = &self.key {
                data["idempotencyKey"] = key.as_str().into();
            }
        } else {
            members.remove("previewId");
            members.remove("idempotencyKey");
        }
        let failed = Failed { code: code::GATEWAY_SILENT, message: gateway::SILENT.to_owned(), data: Some(data) };
        Done { members, failed: Some(failed), ..Done::default() }
    }

    /// The gateway's own words about a proposal, verbatim.
    pub fn record(self, body: Value) -> Done {
        let over = body.get("status").and_then(Value::as_str).filter(|status| FAILED_STATES.contains(status));
        let mut done = match over.map(str::to_owned) {
            Some(status) => self.ended(&status, body.clone()),
            None => Done { members: self.members(), ..Done::default() },
        };
        done.members.remove("status");
        done.data = Some(body);
        done
    }

    /// It was withdrawn.
    pub fn cancelled(self, body: Value) -> Done {
        let mut members = self.members();
        members.insert("status".to_owned(), "cancelled".into());
        Done { members, data: Some(body), ..Done::default() }
    }
}
