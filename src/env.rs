//! Every environment variable in one table: name, alias of the review contract, flag that outranks it, meaning.
//! Trust: the operator's own environment; values are checked where the flag of the same meaning is checked.

use std::ffi::OsString;

/// One variable.
#[derive(Debug)]
pub struct Variable {
    /// Our name.
    pub name: &'static str,
    /// Names in the review contract (`env.md`), read in this order when ours is absent.
    pub aliases: &'static [&'static str],
    /// The flag that outranks both.
    pub flag: &'static str,
    /// What it says, for the help text.
    pub meaning: &'static str,
}

/// Allowed roots.
pub const ROOTS: Variable = Variable {
    name: "BULKHEAD_ROOTS",
    aliases: &["FLUXGIT_MCP_ALLOWED_ROOTS"],
    flag: "--root",
    meaning: "Directories that may be read, separated like PATH",
};
/// Run directory.
pub const RUN_DIR: Variable = Variable {
    name: "BULKHEAD_RUN_DIR",
    aliases: &["FLUXGIT_RUN_DIR"],
    flag: "--run-dir",
    meaning: "Directory for what outlives a session",
};
/// Where proposals are decided on.
pub const GATEWAY: Variable = Variable {
    name: "BULKHEAD_GATEWAY",
    aliases: &["FLUXGIT_MCP_HANDSHAKE_ADDR", "FLUXGIT_GATEWAY_ADDR", "FLUXGIT_GATEWAY_URL"],
    flag: "--gateway",
    meaning: "Loopback address of the gateway",
};
/// What the gateway is known by.
pub const GATEWAY_TOKEN_FILE: Variable = Variable {
    name: "BULKHEAD_GATEWAY_TOKEN_FILE",
    aliases: &[],
    flag: "--gateway-token-file",
    meaning: "File with the token that the gateway must know too",
};
/// Demand on isolation.
pub const ISOLATION: Variable =
    Variable { name: "BULKHEAD_ISOLATION", aliases: &[], flag: "--isolation", meaning: "required, best-effort or off" };
/// Trusted owners.
pub const TRUST_OWNER: Variable = Variable {
    name: "BULKHEAD_TRUST_OWNER",
    aliases: &[],
    flag: "--trust-owner",
    meaning: "User ids whose repositories are read, separated by commas, or any",
};
/// Deadline of a call.
pub const DEADLINE: Variable =
    Variable { name: "BULKHEAD_DEADLINE", aliases: &[], flag: "--deadline", meaning: "Seconds one call may take" };
/// Memory of a worker.
pub const WORKER_MEMORY: Variable = Variable {
    name: "BULKHEAD_WORKER_MEMORY",
    aliases: &[],
    flag: "--worker-memory",
    meaning: "MiB of private memory of one worker",
};
/// Spelling of tool names.
pub const TOOL_NAMES: Variable =
    Variable { name: "BULKHEAD_TOOL_NAMES", aliases: &[], flag: "--tool-names", meaning: "auto, dotted or underscore" };
/// Listed tools.
pub const TOOLS: Variable =
    Variable { name: "BULKHEAD_TOOLS", aliases: &[], flag: "--tools", meaning: "Tools to serve, separated by commas" };
/// Listed groups of tools.
pub const TOOLSETS: Variable = Variable {
    name: "BULKHEAD_TOOLSETS",
    aliases: &[],
    flag: "--toolsets",
    meaning: "Groups of tools to serve, separated by commas",
};
/// Recording of calls.
pub const AUDIT: Variable = Variable {
    name: "BULKHEAD_AUDIT",
    aliases: &[],
    flag: "--audit",
    meaning: "required, best-effort or off; off too where FLUXGIT_MCP_AUDIT_DISABLED is set",
};
/// Where calls are recorded.
pub const AUDIT_LEDGER: Variable = Variable {
    name: "BULKHEAD_AUDIT_LEDGER",
    aliases: &["FLUXGIT_MCP_AUDIT_LOG"],
    flag: "--audit-ledger",
    meaning: "File of the ledger that calls are recorded in",
};
/// What signs the records.
pub const AUDIT_SIGN_KEY: Variable = Variable {
    name: "BULKHEAD_AUDIT_SIGN_KEY",
    aliases: &["FLUXGIT_MCP_AUDIT_SIGN_KEY"],
    flag: "--audit-sign-key",
    meaning: "File of the Ed25519 key that signs records",
};
/// The contract's switch: set, whatever it says, nothing is recorded unless we are told otherwise.
pub const AUDIT_DISABLED: &str = "FLUXGIT_MCP_AUDIT_DISABLED";
/// What writes.
pub const GIT: Variable = Variable {
    name: "BULKHEAD_GIT_PATH",
    aliases: &["FLUXGIT_MCP_GIT_PATH"],
    flag: "--git",
    meaning: "The git that writes on the direct surface, an absolute path",
};
/// Severity of log lines.
pub const LOG: Variable =
    Variable { name: "BULKHEAD_LOG", aliases: &[], flag: "--log", meaning: "warn, info or debug" };

/// All of them, in the order of the help text.
pub const ALL: [&Variable; 16] = [
    &ROOTS,
    &TRUST_OWNER,
    &ISOLATION,
    &DEADLINE,
    &WORKER_MEMORY,
    &TOOL_NAMES,
    &TOOLSETS,
    &TOOLS,
    &RUN_DIR,
    &GATEWAY,
    &GATEWAY_TOKEN_FILE,
    &AUDIT,
    &AUDIT_LEDGER,
    &AUDIT_SIGN_KEY,
    &GIT,
    &LOG,
];

impl Variable {
    /// The value and the name that it came from; our own name outranks the aliases, also when it is empty.
    #[must_use]
    pub fn read(&self) -> Option<(OsString, &'static str)> {
        let mut names = [self.name].into_iter().chain(self.aliases.iter().copied());
        names.find_map(|name| Some((std::env::var_os(name)?, name)))
    }

    /// The value as text.
    ///
    /// # Errors
    /// A sentence for the operator when it is not UTF-8.
    pub fn text(&self) -> Result<Option<String>, String> {
        match self.read() {
            None => Ok(None),
            Some((value, name)) => match value.into_string() {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(format!("{name} is not valid UTF-8")),
            },
        }
    }
}

/// Variables that are named like ours and mean nothing: a misspelt one must not leave the default roots in force
/// unnoticed.
#[must_use]
pub fn unknown() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let ours = names.filter(|name| name.starts_with("BULKHEAD_"));
    ours.filter(|name| ALL.iter().all(|variable| variable.name != name)).collect()
}

/// The ENVIRONMENT part of the help text.
#[must_use]
pub fn help() -> String {
    let mut out = String::from("ENVIRONMENT (a flag outranks its variable)\n");
    for variable in ALL {
        out.push_str(&format!("  {:<24} {} [{}]", variable.name, variable.meaning, variable.flag));
        match variable.aliases {
            [] => {}
            [alias] => out.push_str(&format!("; alias {alias}")),
            aliases => out.push_str(&format!("; aliases {}", aliases.join(", "))),
        }
        out.push('\n');
    }
    out
}
