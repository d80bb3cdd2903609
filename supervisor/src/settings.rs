//! What the operator decided before anything was read: filled from flags and environment by the front door.
//! Trust: the operator's own words, already checked; no MCP message changes any of them.

use crate::{audit::AuditSettings, direct};
use bulkhead_contract::{
    catalogue::Surface,
    isolation::{Demand, Standing},
};
use std::{net::SocketAddr, time::Duration};

/// How tool names are spelled in `tools/list`. Every tool is callable under both spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolNames {
    /// Underscores for clients known to refuse dots, dots for all others.
    #[default]
    Auto,
    /// `repo.status`.
    Dotted,
    /// `repo_status`.
    Underscore,
}

/// How much of the output schemas `tools/list` carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputSchemas {
    /// The members of `data`, one level deep.
    #[default]
    Brief,
    /// Everything, for code generators.
    Full,
    /// None.
    None,
}

/// What the operator decided.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `--isolation`.
    pub demand: Demand,
    /// What the machine gives of the jail; measured when the supervisor locks itself down, before that nothing.
    pub standing: Standing,
    /// `--empty-root`: the operator asked for it, so its absence is told.
    pub empty_root: bool,
    /// `--surface`: which tools there are.
    pub surface: Surface,
    /// What the direct surface serves; means nothing without it.
    pub direct: direct::Settings,
    /// `--deadline`: time for one call.
    pub deadline: Duration,
    /// `--tool-names`.
    pub tool_names: ToolNames,
    /// `--output-schemas`.
    pub output_schemas: OutputSchemas,
    /// `--tools` and `--toolsets`, resolved to contract names; `None` lists all.
    pub listed_tools: Option<Vec<&'static str>>,
    /// Read workers of one repository at most (one per core).
    pub workers_per_repository: usize,
    /// Live read workers at most.
    pub max_workers: usize,
    /// Time after which an idle worker is stopped.
    pub idle_stop: Duration,
    /// The ceilings as text, for `doctor`, `instructions` and refusals; not for decisions.
    pub roots_text: Vec<String>,
    /// Why every call is refused with code -32010: the configured roots cannot be used.
    pub roots_invalid: Option<RootsInvalid>,
    /// Run directories, in the order in which they count.
    pub run_dirs: Vec<RunDirectory>,
    /// `--gateway`: where proposals would be decided on.
    pub gateway: Option<SocketAddr>,
    /// What is done about other agents.
    pub agents: AgentSettings,
    /// `--gateway-token-file` names a file: the application has to show that it knows what stands there.
    pub gateway_token: bool,
    /// `--audit` and what belongs to it.
    pub audit: AuditSettings,
    /// `--log`: least severity that is written to standard error.
    pub log: LogLevel,
    /// `--log-format json`.
    pub log_json: bool,
}

/// The contract's switch: set, whatever it says, nobody looks for other agents.
pub const DETECTION_DISABLED: &str = "FLUXGIT_MCP_AGENT_DETECTION_DISABLED";

/// The contract's switch: set, whatever it says, no presence file is written.
pub const PRESENCE_DISABLED: &str = "FLUXGIT_MCP_PRESENCE_DISABLED";

/// What is done about other agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentSettings {
    /// They are looked for.
    pub detect: bool,
    /// They are shown what this server does.
    pub note: bool,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self { detect: true, note: false }
    }
}

/// A directory for what outlives a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDirectory {
    /// Canonical where it exists.
    pub path: String,
    /// As the operator wrote it; callers may name it so, too.
    pub written: String,
    /// It existed at start; one that did not holds nothing, and no worker is started for it.
    pub exists: bool,
}

/// Why the configured roots cannot be used (contract `protocol.md`, code -32010).
#[derive(Debug, Clone)]
pub struct RootsInvalid {
    /// Environment variable or flag that they came from.
    pub source: String,
    /// Our own sentence.
    pub details: String,
}

/// Severity of a line on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum LogLevel {
    /// What the operator should act on.
    #[default]
    Warn,
    /// Starts and ends of workers.
    Info,
    /// Everything.
    Debug,
}
