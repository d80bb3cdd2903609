//! What a caller asks to have recorded: the members of an entry that are not the ledger's own.
//! Trust: texts may stem from an agent; each has a bound, and no member of the ledger's own can be set through them.

use crate::limits::{MAX_NAME, MAX_SUMMARY};
use serde_json::{Map, Value};
use thiserror::Error;

/// How much harm the tool can do, by the contract's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Risk {
    /// Reads, cancellations, unknown tools.
    None,
    /// A worktree, a commit, a branch.
    Low,
    /// Merge, rebase, patch, plan, push, branch deletion, submodule pointers.
    Medium,
    /// Reset, discard.
    High,
}

/// Who agreed to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Reads, cancellations, unknown tools.
    NotRequired,
    /// A person, in the handshake with a user interface.
    UiHandshake,
    /// Nobody: the call was refused.
    Denied,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As asked.
    Success,
    /// The tool answered that it failed.
    Error,
    /// The call never reached the tool.
    Blocked,
}

/// One event. Texts are written as given where their bounds allow; see [`Event::members`].
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// `tool_call`, `write_proposal`, `proposal_cancel`, `write_block`, or another name of `[a-z0-9_]`, up to 64 long.
    pub event_type: String,
    /// Name of the tool, at most [`MAX_NAME`] characters.
    pub tool: String,
    /// Its risk.
    pub risk: Risk,
    /// Its approval.
    pub approval: Approval,
    /// Its end.
    pub result: Outcome,
    /// What it was about: `repoPath:<fingerprint>`, `fleet:<n>` or `unknown`; at most [`MAX_NAME`] characters.
    pub repo_scope: String,
    /// `sha256:` or `hmac-sha256:` with 64 hex digits; `None` where there were no arguments.
    pub args_fingerprint: Option<String>,
    /// The agent, at most [`MAX_NAME`] characters.
    pub session_id: String,
    /// Milliseconds that it took.
    pub duration_ms: u64,
    /// Free text; see [`summary`].
    pub summary: String,
    /// Whether the tool only reads.
    pub read_only: bool,
    /// The clock's milliseconds since 1970 when it happened. Order is the sequence's alone: a clock that goes back
    /// is recorded as it went.
    pub timestamp: u64,
    /// Further members; names of the ledger's own are refused, and so are numbers other than integers.
    pub further: Map<String, Value>,
}

/// Why an event was not recorded. Nothing of it was written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EventFault {
    /// A text is beyond its bound.
    #[error("{member} has {length} characters; the bound is {bound}")]
    TooLong {
        /// The member.
        member: &'static str,
        /// Its characters.
        length: usize,
        /// The characters allowed.
        bound: usize,
    },
    /// A text does not have the form of its member.
    #[error("{0} does not have the form of that member")]
    Form(&'static str),
    /// A further member has a name that is the ledger's or the event's own.
    #[error("the member {0:?} is not the caller's to set")]
    Reserved(String),
    /// A further member holds a number that is no integer within 64 bits. Some readers do not round such numbers
    /// correctly (the reference's verifier is one), and would find another hash.
    #[error("the member {0:?} holds a number that is not an integer within 64 bits")]
    Number(String),
    /// The finished line is beyond [`crate::limits::MAX_LINE`].
    #[error("the entry takes {length} bytes; the bound is {bound}")]
    Oversize {
        /// Bytes of the line.
        length: usize,
        /// Bytes allowed.
        bound: usize,
    },
    /// The sequence is at its end.
    #[error("there is no sequence after the last one")]
    SequenceEnd,
}

/// Members that only the ledger sets, or that would make a record look like another kind of object.
const RESERVED: &[&str] = &[
    "id",
    "auditSchemaVersion",
    "auditChainVersion",
    "sequence",
    "segmentId",
    "previousHash",
    "entryHash",
    "signature",
    "signatureKeyId",
    "signatureVersion",
    "ledgerId",
    "sidecarReadOnly",
    "auditCheckpointVersion",
    "auditHeadVersion",
];

impl Event {
    /// The event's members of an entry.
    ///
    /// # Errors
    /// [`EventFault`]; all but `Oversize` and `SequenceEnd`.
    pub fn members(&self) -> Result<Map<String, Value>, EventFault> {
        for (member, text) in [("tool", &self.tool), ("repo_scope", &self.repo_scope), ("session_id", &self.session_id)]
        {
            let length = text.chars().count();
            if length > MAX_NAME {
                return Err(EventFault::TooLong { member, length, bound: MAX_NAME });
            }
        }
        let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if !(1..=64).contains(&self.event_type.len()) || !self.event_type.bytes().all(word) {
            return Err(EventFault::Form("event_type"));
        }
        if !self.args_fingerprint.as_deref().is_none_or(is_fingerprint) {
            return Err(EventFault::Form("args_fingerprint"));
        }
        if let Some((name, _)) = self.further.iter().find(|(_, value)| has_float(value)) {
            return Err(EventFault::Number(name.clone()));
        }
        let own: [(&str, Value); 13] = [
            ("event_type", self.event_type.as_str().into()),
            ("tool", self.tool.as_str().into()),
            ("risk", self.risk.word().into()),
            ("approval", self.approval.word().into()),
            ("result", self.result.word().into()),
            ("repo_scope", self.repo_scope.as_str().into()),
            ("args_fingerprint", self.args_fingerprint.as_deref().map_or(Value::Null, Value::from)),
            ("session_id", self.session_id.as_str().into()),
            ("duration_ms", self.duration_ms.into()),
            ("summary", summary(&self.summary).into()),
            ("readOnly", self.read_only.into()),
            ("sidecarReadOnly", true.into()),
            ("timestamp", self.timestamp.into()),
        ];
        let mut members = self.further.clone();
        for (name, value) in own {
            if members.insert(name.to_owned(), value).is_some() {
                return Err(EventFault::Reserved(name.to_owned()));
            }
        }
        match RESERVED.iter().find(|name| self.further.contains_key(**name)) {
            Some(name) => Err(EventFault::Reserved((*name).to_owned())),
            None => Ok(members),
        }
    }
}

fn has_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_float),
        Value::Object(map) => map.values().any(has_float),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// `sha256:` or `hmac-sha256:` and 64 lower-case hex digits.
fn is_fingerprint(text: &str) -> bool {
    text.strip_prefix("hmac-").unwrap_or(text).strip_prefix("sha256:").and_then(crate::hash::Hash::from_hex).is_some()
}

/// A summary as entries hold it: control characters become spaces; beyond [`MAX_SUMMARY`] characters, the first 511 and
/// a full stop.
#[must_use]
pub fn summary(text: &str) -> String {
    let clean = |character: char| if character.is_control() { ' ' } else { character };
    if text.chars().count() <= MAX_SUMMARY {
        return text.chars().map(clean).collect();
    }
    text.chars().map(clean).take(MAX_SUMMARY - 1).chain(['.']).collect()
}

impl Risk {
    /// The contract's word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl Approval {
    /// The contract's word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NotRequired => "not_required",
            Self::UiHandshake => "ui_handshake",
            Self::Denied => "denied",
        }
    }
}

impl Outcome {
    /// The contract's word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Blocked => "blocked",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> Event {
        Event {
            event_type: "tool_call".into(),
            tool: "repo.status".into(),
            risk: Risk::None,
            approval: Approval::NotRequired,
            result: Outcome::Success,
            repo_scope: "unknown".into(),
            args_fingerprint: None,
            session_id: "agent".into(),
            duration_ms: 1,
            summary: "done".into(),
            read_only: true,
            timestamp: 1,
            further: Map::new(),
        }
    }

    #[test]
    fn the_contracts_members_are_all_there() {
        let members = event().members().expect("a sound event");
        let names: Vec<&str> = members.keys().map(String::as_str).collect();
        let contract = [
            "approval",
            "args_fingerprint",
            "duration_ms",
            "event_type",
            "readOnly",
            "repo_scope",
            "result",
            "risk",
            "session_id",
            "sidecarReadOnly",
            "summary",
            "timestamp",
            "tool",
        ];
        assert_eq!(names, contract);
        assert_eq!(members["args_fingerprint"], Value::Null);
    }

    #[test]
    fn nothing_of_the_ledgers_own_can_be_set() {
        for name in RESERVED.iter().chain(&["tool", "timestamp"]) {
            let mut event = event();
            event.further.insert((*name).to_owned(), Value::from(1));
            assert_eq!(event.members(), Err(EventFault::Reserved((*name).to_owned())));
        }
    }

    #[test]
    fn texts_have_bounds_and_forms() {
        let long = "é".repeat(MAX_NAME + 1);
        let bound = Err(EventFault::TooLong { member: "tool", length: MAX_NAME + 1, bound: MAX_NAME });
        assert_eq!(Event { tool: long, ..event() }.members(), bound);
        for event_type in ["", "Tool", "a b", &"a".repeat(65)] {
            let refused = Event { event_type: event_type.into(), ..event() }.members();
            assert_eq!(refused, Err(EventFault::Form("event_type")), "{event_type}");
        }
        for (text, fine) in [("sha256:", true), ("hmac-sha256:", true), ("md5:", false), ("", false), ("hmac-", false)]
        {
            let event = Event { args_fingerprint: Some(format!("{text}{}", "0".repeat(64))), ..event() };
            assert_eq!(event.members().is_ok(), fine, "{text}");
        }
    }

    #[test]
    fn numbers_are_integers() {
        for (value, fine) in [
            (serde_json::json!([u64::MAX, {"a": i64::MIN}]), true),
            (serde_json::json!(1.5), false),
            (serde_json::json!([{"a": [1.0]}]), false),
        ] {
            let mut event = event();
            event.further.insert("more".into(), value);
            let expected = if fine { None } else { Some(EventFault::Number("more".into())) };
            assert_eq!(event.members().err(), expected);
        }
    }

    #[test]
    fn summaries_are_cut_to_511_characters_and_a_full_stop() {
        assert_eq!(summary("a\nb\u{7f}\u{85}c"), "a b  c");
        assert_eq!(summary(&"é".repeat(512)), "é".repeat(512));
        assert_eq!(summary(&"é".repeat(513)), format!("{}.", "é".repeat(511)));
    }
}
