//! What is recorded, where, and what signs it: settled once at start from flags, environment and the run directory.
//! Trust: the operator's own words; the file system is asked whether a ledger is there, nothing is read or made.

use crate::{
    cli::{self, Flags},
    env,
    options::{bytes, choice},
};
use bulkhead_contract::isolation::Demand;
use bulkhead_ipc::edge::audit::Init;
use bulkhead_supervisor::audit::{AuditSettings, Mode};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Private memory of a worker-audit in bytes.
const MEMORY: u64 = 256 << 20;
/// The ledger in the run directory (contract `audit.md`).
const IN_RUN_DIR: &str = "audit/mcp.jsonl";

/// What was settled.
#[derive(Debug)]
pub struct Settled {
    /// For the supervisor.
    pub settings: AuditSettings,
    /// For the launcher's table.
    pub init: Init,
    /// The signing key's file, where one is named.
    pub sign_key: Option<PathBuf>,
    /// The ledger, for commands about it; `Err` says why there is none.
    pub ledger: Result<PathBuf, String>,
}

/// Settles it.
///
/// # Errors
/// One sentence that names the flag or variable.
pub fn settle(flags: &Flags, demand: Demand, run_dir: Option<&Path>, cwd: Option<&Path>) -> Result<Settled, String> {
    let disabled = std::env::var_os(env::AUDIT_DISABLED).is_some();
    let mode = match choice(flags.audit, &env::AUDIT)? {
        Some(cli::Audit::Required) => Mode::Required,
        Some(cli::Audit::Off) => Mode::Off,
        Some(cli::Audit::BestEffort) => Mode::BestEffort,
        None if disabled => Mode::Off,
        None => Mode::BestEffort,
    };
    let absolute = |path: PathBuf| cwd.map_or(path.clone(), |cwd| cwd.join(&path));
    let named = file(flags.audit_ledger.as_deref(), &env::AUDIT_LEDGER)?.map(absolute);
    let ledger = named.or_else(|| run_dir.map(|dir| dir.join(IN_RUN_DIR)));
    let ledger = ledger.ok_or_else(|| "there is no run directory for a ledger: neither HOME nor XDG_STATE_HOME is set, and neither --run-dir nor --audit-ledger is given".to_owned());
    let sign_key = file(flags.audit_sign_key.as_deref(), &env::AUDIT_SIGN_KEY)?.map(absolute);
    let shown = ledger.as_ref().map(|path| path.display().to_string()).map_err(Clone::clone);
    let exists = ledger.as_ref().is_ok_and(|path| path.symlink_metadata().is_ok());
    let settings = AuditSettings { mode, ledger: Some(shown), compat: flags.audit_compat, exists };
    let init = Init {
        demand,
        ledger: ledger.as_ref().ok().filter(|_| mode != Mode::Off).map(|path| bytes(path.clone().into_os_string())),
        sign_key: sign_key.clone().map(|path| bytes(path.into_os_string())),
        compat: flags.audit_compat,
        memory: MEMORY,
    };
    Ok(Settled { settings, init, sign_key, ledger })
}

/// A file from a flag, else a variable; one that is set and empty is a mistake.
fn file(flag: Option<&Path>, variable: &env::Variable) -> Result<Option<PathBuf>, String> {
    let (value, source): (OsString, &str) = match (flag, variable.read()) {
        (Some(path), _) => (path.as_os_str().to_owned(), variable.flag),
        (None, Some((value, name))) => (value, name),
        (None, None) => return Ok(None),
    };
    if value.is_empty() {
        Err(format!("{source} is empty: name a file, or leave it out"))
    } else {
        Ok(Some(value.into()))
    }
}
