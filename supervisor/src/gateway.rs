//! What is asked of the gateway, where a person decides on proposals. This build does not dial: it says so by code.
//! Trust: the address is the operator's; the id in a question is the caller's and was checked against its row.

mod bridge;
mod crew;
pub(crate) mod talk;

pub use bridge::{Bridge, Interrupted};

use crate::{outcome::CallError, settings::Settings, work::Done};
use bulkhead_contract::args::Checked;
use serde_json::{Value, json};

/// Message of code 10001.
pub(crate) const NEEDED: &str = "This tool has nothing to answer from here.";
/// Message of code 10003.
pub(crate) const SILENT: &str = "The gateway cannot be asked.";
/// Where the codes are explained.
const LEARN_MORE: &str = "docs/errors.md in the sources of this server";

/// A question to the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Which proposal.
    pub preview_id: String,
}

impl Gateway {
    /// The question that a call is; `None` for a tool that asks the gateway nothing.
    #[must_use]
    pub fn plan(tool: &str, checked: &Checked<'_>) -> Option<Self> {
        match tool {
            "operation.status" => Some(Self { preview_id: checked.text("previewId")?.to_owned() }),
            _ => None,
        }
    }

    /// Asks it.
    ///
    /// # Errors
    /// Always, as long as nothing here talks to a gateway.
    pub fn done(self, settings: &Settings) -> Result<Done, CallError> {
        Err(CallError::GatewaySilent { configured: settings.gateway.is_some() })
    }
}

/// Data of code 10001.
pub(crate) fn needed(tool: &str) -> Value {
    json!({
        "tool": tool,
        "tier": "fluxgit",
        "gatewayConfigured": false,
        "reason": "No gateway is configured, and no run directory of this server holds a restore record of this repository.",
        "upgradeHint": "The operator can name the loopback address of the application with --gateway or BULKHEAD_GATEWAY, or the \
                        directory with its records with --run-dir or BULKHEAD_RUN_DIR.",
        "learnMore": LEARN_MORE,
        "freeShellAlternative": "git reflog shows where HEAD was; the tool repo.reflog lists the same.",
    })
}

/// Data of code 10003.
pub(crate) fn silent(tool: &str, configured: bool) -> Value {
    let (reason, recommendation) = if configured {
        (
            "A gateway is configured, and this build does not talk to it yet.",
            "Do not ask again: the answer will be the same. Ask the person to look at the proposal in the application.",
        )
    } else {
        (
            "No gateway is configured, so there are no proposals whose state could be asked for.",
            "Do not ask again: the answer will be the same until the operator names a gateway with --gateway or \
             BULKHEAD_GATEWAY and starts the server anew.",
        )
    };
    json!({
        "tool": tool,
        "tier": "fluxgit-write-handshake",
        "gatewayConfigured": configured,
        "reason": reason,
        "agentRecommendation": recommendation,
        "learnMore": LEARN_MORE,
    })
}
