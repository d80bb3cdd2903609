//! The way to the gateway, where a person decides on proposals, and what is said where it leads nowhere.
//! Trust: the address is the operator's.

mod bridge;
mod crew;
pub(crate) mod talk;

pub use bridge::{Bridge, Interrupted};

use serde_json::{Value, json};

/// Message of code 10001.
pub(crate) const NEEDED: &str = "This tool has nothing to answer from here.";
/// Message of code 10003.
pub(crate) const SILENT: &str = "The gateway cannot be asked.";
/// Where the codes are explained.
const LEARN_MORE: &str = "docs/errors.md in the sources of this server";

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
        ("The gateway gave no answer that could be used.", "Ask the person to look at the application.")
    } else {
        (
            "No gateway is configured, so there is nobody who could decide on proposals.",
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
