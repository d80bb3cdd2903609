//! From an event of the edge to one of the ledger: words of the contract, fingerprints under this process's key.
//! Trust: texts of an event are bounded and written as data; no member of the ledger's own can be set through them.

use crate::fingerprint::{FingerprintKey, unkeyed};
use bulkhead_ipc::edge::audit::{self, Kind, MAX_EVENTS, MAX_NUMBERS, MAX_TEXT, Scope, Step};
use bulkhead_ledger::event::{Approval, Event, Outcome, Risk};
use serde_json::{Map, Value};

/// Whether a group keeps the edge's bounds.
pub fn is_bounded(events: &[audit::Event]) -> bool {
    let short = |text: &str| text.chars().take(MAX_TEXT + 1).count() <= MAX_TEXT;
    events.len() <= MAX_EVENTS
        && events.iter().all(|event| {
            let texts = [&event.tool, &event.session, &event.summary];
            texts.into_iter().chain(&event.reported).all(|text| short(text))
                && event.numbers.len() <= MAX_NUMBERS
                && event.numbers.iter().all(|(name, _)| short(name))
        })
}

/// The same event as the ledger writes it; without a key, as the contract's own program would.
pub fn told(event: &audit::Event, key: Option<&FingerprintKey>) -> Event {
    let label = |digest: &[u8; 32]| key.map_or_else(|| unkeyed(digest), |key| key.label(digest));
    let mut further = Map::new();
    if let Some(key) = key {
        further.insert("sessionEvent".to_owned(), event.place.into());
        if event.arguments.is_some() || matches!(event.scope, Scope::Path(_)) {
            further.insert("fingerprintKeyId".to_owned(), key.id().into());
        }
        if let Some(reported) = &event.reported {
            further.insert("reported".to_owned(), reported.as_str().into());
        }
        if let Some(write) = &event.write {
            match write.step {
                Step::Only => None,
                Step::Intent => further.insert("phase".to_owned(), "intent".into()),
                Step::Outcome => further.insert("phase".to_owned(), "outcome".into()),
            };
            // not keyed: a proposal is no secret from whoever decides on it, and its random ids cannot be tried out
            if let Some(digest) = &write.proposal {
                further.insert("proposalDigest".to_owned(), unkeyed(digest).into());
            }
        }
        further.extend(event.numbers.iter().map(|(name, number)| (name.clone(), Value::from(*number))));
    }
    Event {
        event_type: match event.kind {
            Kind::ToolCall => "tool_call",
            Kind::Proposal => "write_proposal",
            Kind::Cancel => "proposal_cancel",
            Kind::Refused => "write_block",
            Kind::Start => "server_start",
            Kind::Gap => "audit_gap",
            Kind::WorkerEnded => "worker_end",
        }
        .to_owned(),
        tool: event.tool.clone(),
        risk: match event.write.as_ref().map(|write| write.risk) {
            None | Some(audit::Risk::None) => Risk::None,
            Some(audit::Risk::Low) => Risk::Low,
            Some(audit::Risk::Medium) => Risk::Medium,
            Some(audit::Risk::High) => Risk::High,
        },
        approval: match event.kind {
            Kind::Refused => Approval::Denied,
            Kind::Proposal => Approval::UiHandshake,
            _ => Approval::NotRequired,
        },
        result: match event.result {
            audit::Outcome::Success => Outcome::Success,
            audit::Outcome::Error => Outcome::Error,
            audit::Outcome::Blocked => Outcome::Blocked,
        },
        repo_scope: match &event.scope {
            Scope::Unknown => "unknown".to_owned(),
            Scope::Path(digest) => format!("repoPath:{}", label(digest)),
            Scope::Fleet(count) => format!("fleet:{count}"),
        },
        args_fingerprint: event.arguments.as_ref().map(label),
        session_id: event.session.clone(),
        duration_ms: event.duration_ms,
        summary: event.summary.clone(),
        read_only: event.write.is_none(),
        timestamp: event.timestamp,
        further,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event() -> audit::Event {
        audit::Event {
            kind: Kind::ToolCall,
            tool: "repo.status".into(),
            result: audit::Outcome::Success,
            scope: Scope::Path([1; 32]),
            arguments: Some([2; 32]),
            session: "bulkhead".into(),
            duration_ms: 3,
            summary: "answered".into(),
            reported: Some("words of a worker".into()),
            timestamp: 4,
            place: 5,
            numbers: vec![("pid".into(), 6)],
            write: None,
        }
    }

    #[test]
    fn with_a_key_no_plain_digest_stands_in_the_entry() {
        let key = FingerprintKey::read(&[9; 32]).expect("32 bytes");
        let told = told(&event(), Some(&key));
        let members = told.members().expect("a sound event");
        let text = Value::Object(members.clone()).to_string();
        for digest in [[1; 32], [2; 32]] {
            let plain = unkeyed(&digest);
            assert!(!text.contains(plain.trim_start_matches("sha256:")), "{text}");
        }
        assert_eq!(members["fingerprintKeyId"], key.id());
        assert_eq!(members["args_fingerprint"], key.label(&[2; 32]));
        assert_eq!((&members["sessionEvent"], &members["reported"]), (&5.into(), &"words of a worker".into()));
    }

    #[test]
    fn without_a_key_an_entry_has_the_contracts_members_alone() {
        let told = told(&event(), None);
        assert!(told.further.is_empty());
        assert_eq!(told.args_fingerprint, Some(unkeyed(&[2; 32])));
        assert_eq!(told.repo_scope, format!("repoPath:{}", unkeyed(&[1; 32])));
    }

    #[test]
    fn a_proposal_has_its_risk_its_phase_and_its_digest() {
        let key = FingerprintKey::read(&[9; 32]).expect("32 bytes");
        let write = audit::Write { step: Step::Intent, risk: audit::Risk::High, proposal: Some([7; 32]) };
        let proposed = audit::Event { kind: Kind::Proposal, write: Some(write), ..event() };
        let members = told(&proposed, Some(&key)).members().expect("a sound event");
        for (name, right) in [
            ("event_type", "write_proposal"),
            ("risk", "high"),
            ("approval", "ui_handshake"),
            ("phase", "intent"),
            ("proposalDigest", &unkeyed(&[7; 32])),
        ] {
            assert_eq!(members[name], right, "{name}");
        }
        assert_eq!(members["readOnly"], false);
        assert!(told(&proposed, None).further.is_empty(), "the contract's entries have no such members");
    }

    #[test]
    fn no_number_can_stand_for_a_member_of_the_ledgers_own() {
        let key = FingerprintKey::read(&[9; 32]).expect("32 bytes");
        let forged = audit::Event { numbers: vec![("sequence".into(), 1)], ..event() };
        assert!(told(&forged, Some(&key)).members().is_err());
    }

    #[test]
    fn bounds_are_those_of_the_edge() {
        assert!(is_bounded(&vec![event(); MAX_EVENTS]));
        assert!(!is_bounded(&vec![event(); MAX_EVENTS + 1]));
        assert!(!is_bounded(&[audit::Event { summary: "é".repeat(MAX_TEXT + 1), ..event() }]));
        assert!(!is_bounded(&[audit::Event { numbers: vec![("n".into(), 1); MAX_NUMBERS + 1], ..event() }]));
    }
}
