//! The words in which isolation is asked for and reported.
//! Trust: a report comes from a worker, so its reader checks it against what it can see from outside.

mod standing;

pub use standing::{Layer, Standing, step};

use bincode::{Decode, Encode};
use serde::Serialize;

/// What the operator demands (`--isolation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Encode, Decode, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Demand {
    /// Every capability that must be confined is, or calls are refused.
    #[default]
    Required,
    /// Whatever the machine offers; what is missing is said.
    BestEffort,
    /// One process, no layers.
    Off,
}

impl Demand {
    /// The word on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Demand::Required => "required",
            Demand::BestEffort => "best-effort",
            Demand::Off => "off",
        }
    }
}

/// One capability and what takes it away.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// What a taken-over process would like to do, for example `files-outside-roots`.
    pub capability: String,
    /// The layers that refuse it, for example `landlock(abi 7)+seccomp`; `none` where nothing does.
    pub enforcer: String,
    /// False where `--isolation required` cannot be met because of this row.
    pub sufficient: bool,
    /// What was seen in the live process, or why a layer is missing.
    pub evidence: String,
}

/// What one live process really has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Kind of the process, for example `worker-read`.
    pub process: String,
    /// Capabilities in a fixed order.
    pub rows: Vec<Row>,
}

impl Report {
    /// A report of a kind of process. Rows come as the crate of the layers hands them out, which knows no contract:
    /// capability, enforcer, whether that is sufficient, evidence.
    pub fn of<Name: Into<String>>(process: &str, rows: impl IntoIterator<Item = (Name, String, bool, String)>) -> Self {
        let row = |(capability, enforcer, sufficient, evidence): (Name, String, bool, String)| Row {
            capability: capability.into(),
            enforcer,
            sufficient,
            evidence,
        };
        Self { process: process.to_owned(), rows: rows.into_iter().map(row).collect() }
    }

    /// The rows that keep `--isolation required` from being met.
    pub fn missing(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.sufficient)
    }
}
