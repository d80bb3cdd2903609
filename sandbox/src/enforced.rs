//! The report: what a process cannot do, and which layer of the live process refuses it.
//! Trust: written by the process itself from what the kernel answered; a reader outside checks it against `/proc`.

/// What the live process has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Enforced {
    /// One row for each capability, in the order of [`CAPABILITIES`]; a kind of process may leave rows out.
    pub rows: Vec<Row>,
}

/// One capability and what takes it away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What a taken-over process would like to do; one of [`CAPABILITIES`].
    pub capability: &'static str,
    /// The layers that refuse it, for example `landlock(abi 7)+seccomp`; [`NONE`] where nothing does.
    pub enforcer: String,
    /// False where `--isolation required` cannot be met because of this row.
    pub sufficient: bool,
    /// What was seen in the live process, or why a layer is missing.
    pub evidence: String,
}

/// One mechanism of the kernel that jails are made of, as the live process got it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// `landlock` or `seccomp`.
    pub name: &'static str,
    /// It is on, and what it should refuse was refused.
    pub on: bool,
    /// What of it there is, or why it is missing.
    pub detail: String,
}

/// The enforcer of a capability that nothing takes away.
pub const NONE: &str = "none";

/// Every capability that a report speaks about, in its order.
pub const CAPABILITIES: [&str; 15] = [
    "files-outside-roots",
    "writes",
    "metadata-outside-roots",
    "exec",
    "network-tcp",
    "network-udp",
    "network-unix",
    "network-other",
    "signals",
    "ptrace-and-proc",
    "kernel-surface",
    "capabilities",
    "new-privileges",
    "core-dumps",
    "memory-limit",
];

impl Enforced {
    /// What a thread of a single process has: nothing, of every capability.
    #[must_use]
    pub fn nothing() -> Self {
        let row = |capability| Row {
            capability,
            enforcer: NONE.to_owned(),
            sufficient: false,
            evidence: "none (single process)".to_owned(),
        };
        Self { rows: CAPABILITIES.map(row).to_vec() }
    }

    /// The rows for a report in other words: capability, enforcer, whether that is sufficient, evidence.
    pub fn into_rows(self) -> impl Iterator<Item = (&'static str, String, bool, String)> {
        self.rows.into_iter().map(|row| (row.capability, row.enforcer, row.sufficient, row.evidence))
    }

    /// The rows that keep `--isolation required` from being met.
    pub fn missing(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.sufficient)
    }
}
