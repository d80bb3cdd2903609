//! The result of a verification: counters, head, findings; as the contract's lines and as JSON.
//! Trust: holds what the walk judged.

use super::finding::Finding;
use crate::{hash::Hash, head::Head, limits::MAX_FINDINGS, uuid::Uuid};
use serde_json::{Value, json};

/// Ranges of unsigned records that a report lists.
const MAX_RANGES: usize = 64;

/// How the ledger stands to an earlier head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// It contains that very entry.
    Held,
    /// The entry was pruned. Where the ledger's id is the same and everything is signed this is no finding.
    BeyondRetention,
    /// It does not; a finding says how.
    Broken,
}

/// What was found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Records of all kinds.
    pub entries: u64,
    /// Chained ones.
    pub chained: u64,
    /// Records of before the chain.
    pub legacy: u64,
    /// With a signature that verifies (or that no key was given to check; see `signatures_checked`).
    pub signed: u64,
    /// Without.
    pub unsigned: u64,
    /// Files: rotated segments and the active one.
    pub segments: u64,
    /// First chained sequence; 0 where there is none.
    pub first: u64,
    /// Last chained sequence; 0 where there is none.
    pub last: u64,
    /// `entryHash` of the last.
    pub head: Option<Hash>,
    /// The ledger's id, where a writer recorded one.
    pub ledger: Option<Uuid>,
    /// Whether a checkpoint stands in for pruned segments.
    pub retention_checkpoint_used: bool,
    /// Whether keys were given.
    pub signatures_checked: bool,
    /// Sequences of unsigned chained entries, from and to; at most 64 ranges.
    pub unsigned_ranges: Vec<(u64, u64)>,
    /// How many ranges there are.
    pub unsigned_ranges_total: u64,
    /// Entries whose clock read earlier than that of the entry before. No fault: order is the sequence's.
    pub clock_steps_back: u64,
    /// How it stands to the earlier head that was given.
    pub since: Option<Since>,
    /// What is wrong, in the order of the files; at most [`MAX_FINDINGS`].
    pub findings: Vec<Finding>,
    /// How many findings there are.
    pub findings_total: u64,
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.findings_total == 0
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        }
        self.findings_total += 1;
    }

    pub(super) fn add_unsigned(&mut self, sequence: u64) {
        match self.unsigned_ranges.last_mut() {
            Some((_, to)) if self.unsigned_ranges_total <= MAX_RANGES as u64 && to.checked_add(1) == Some(sequence) => {
                *to = sequence
            }
            _ => {
                self.unsigned_ranges_total += 1;
                if self.unsigned_ranges.len() < MAX_RANGES {
                    self.unsigned_ranges.push((sequence, sequence));
                }
            }
        }
    }

    /// A statement of where the ledger ends, as of `now`; `None` without entries.
    #[must_use]
    pub fn head_statement(&self, now: u64) -> Option<Head> {
        Some(Head { ledger: self.ledger, sequence: self.last, hash: self.head?, created_at: now })
    }

    /// The contract's eight lines, then our own: where the ledger ends, and what else is worth knowing.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = [
            ("entries:", self.entries.to_string()),
            ("chained:", self.chained.to_string()),
            ("legacy:", self.legacy.to_string()),
            ("signed:", self.signed.to_string()),
            ("unsigned:", self.unsigned.to_string()),
            ("segments:", self.segments.to_string()),
            ("sequence:", format!("{}..{}", self.first, self.last)),
            ("retention_checkpoint_used:", self.retention_checkpoint_used.to_string()),
            ("head_sequence:", self.last.to_string()),
            ("head_hash:", self.head.map_or_else(|| "none".to_owned(), |hash| hash.to_string())),
        ]
        .into_iter()
        .map(|(label, value)| format!("{label:<10} {value}"))
        .collect();
        if let Some(ledger) = self.ledger {
            lines.push(format!("ledger_id: {ledger}"));
        }
        if self.signed > 0 && !self.unsigned_ranges.is_empty() {
            let shown: Vec<String> = self.unsigned_ranges.iter().map(|(from, to)| format!("{from}..{to}")).collect();
            let further = self.unsigned_ranges_total - self.unsigned_ranges.len() as u64;
            let further = if further > 0 { format!(" and {further} more") } else { String::new() };
            lines.push(format!("unsigned_ranges: {}{further}", shown.join(" ")));
        }
        if self.signed > 0 && !self.signatures_checked {
            lines.push("signatures: not checked, no public key was given".to_owned());
        }
        if self.since == Some(Since::BeyondRetention) {
            lines.push("since: beyond retention".to_owned());
        }
        lines
    }

    /// The contract's one line about a failure; `None` where there is none.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let first = self.findings.first()?;
        let more = self.findings_total - 1;
        Some(if more == 0 { first.to_string() } else { format!("{first} (and {more} more)") })
    }

    /// Everything, for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let findings: Vec<Value> = self
            .findings
            .iter()
            .map(|finding| {
                json!({
                    "kind": finding.kind.word(), "segment": finding.segment, "line": finding.line,
                    "sequence": finding.sequence, "text": finding.text,
                })
            })
            .collect();
        json!({
            "ok": self.is_sound(),
            "entries": self.entries, "chained": self.chained, "legacy": self.legacy,
            "signed": self.signed, "unsigned": self.unsigned, "signaturesChecked": self.signatures_checked,
            "segments": self.segments, "firstSequence": self.first, "lastSequence": self.last,
            "headHash": self.head.map(|hash| hash.to_string()),
            "ledgerId": self.ledger.map(|id| id.to_string()),
            "retentionCheckpointUsed": self.retention_checkpoint_used,
            "unsignedRanges": self.unsigned_ranges, "unsignedRangesTotal": self.unsigned_ranges_total,
            "clockStepsBack": self.clock_steps_back,
            "since": self.since.map(|since| match since {
                Since::Held => "held",
                Since::BeyondRetention => "beyond-retention",
                Since::Broken => "broken",
            }),
            "findings": findings, "findingsTotal": self.findings_total,
        })
    }
}
