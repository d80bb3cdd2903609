//! The direct surface: one repository, typed tools, reads always, writes where the operator opened the gate
//! (contract `direct/`). Trust: arguments are an agent's; answers come from workers that may be taken over, are typed and bounded.

mod answer;
mod budget;
mod commands;
mod forge;
mod guards;
mod instructions;
mod patch;
mod reads;
mod shapes;
mod wanted;
mod writes;

pub use answer::{busy, rendered};
pub use commands::CommandLog;
pub use forge::Forge;
pub use instructions::sentences;
pub use wanted::{Direct, prepare};

use bulkhead_contract::direct::{Class, OperationState, gate::Gate};
use serde_json::{Map, Value};

/// What the operator decided about it.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The name that the program was started under, for what it says on standard error.
    pub program: &'static str,
    /// Canonical directory of the working tree that is served.
    pub root: String,
    /// What the operator named, made absolute.
    pub cwd: String,
    /// Which gated tools are let through.
    pub gate: Gate,
    /// `--hide-gated`: tools that are not are not listed.
    pub hide_gated: bool,
    /// `--output-budget`: bytes of one answer; `None` for no budget of the operator's.
    pub budget: Option<usize>,
    /// `--max-output-bytes`: an answer that would be longer is an error; `None` for no such ceiling.
    pub ceiling: Option<usize>,
    /// `--forge`: what the remote is taken for.
    pub forge: Option<Forge>,
    /// `--json-case camel`: names of members are in camel case.
    pub camel: bool,
    /// `--hooks run`, with the gate open for a write.
    pub hooks: bool,
    /// `--log-commands`: where commands of Git are logged.
    pub log_commands: Option<CommandLog>,
}

impl Settings {
    /// Bytes that an answer has.
    fn room(&self) -> usize {
        self.budget.unwrap_or(budget::MOST).min(budget::MOST)
    }
}

/// A call that came to nothing, and what the caller should know.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The kind.
    pub class: Class,
    /// All of the reason.
    pub reason: String,
    /// What to do next.
    pub next: String,
    /// What the repository is in the middle of, where that was looked at.
    pub state: Option<OperationState>,
    /// Further members, of writes.
    pub more: Map<String, Value>,
}

impl Failure {
    /// A failure without more to say.
    #[must_use]
    pub fn new(class: Class, reason: impl Into<String>, next: impl Into<String>) -> Self {
        Self { class, reason: reason.into(), next: next.into(), state: None, more: Map::new() }
    }
}
