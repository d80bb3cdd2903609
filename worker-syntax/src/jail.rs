//! The worker's way into its jail, and what it finds when it tries its walls; or the report that there are none.
//! Trust: reports what the kernel answered.

use bulkhead_contract::isolation::{Report, Row};
#[cfg(target_os = "linux")]
use bulkhead_sandbox::early;

/// Name of this kind of process in reports.
const PROCESS: &str = "worker-syntax";

/// Puts the jail on, before a byte of a source is there.
#[cfg(target_os = "linux")]
pub fn enter(memory: u64) -> Report {
    // what could not be set is a row of the report
    let _ = early::early((memory > 0).then_some(memory), early::FEW_DESCRIPTORS, c"bulkhead-syntax");
    report(bulkhead_sandbox::jail::syntax::syntax())
}

/// Tries from inside what should be refused.
#[cfg(target_os = "linux")]
pub fn probe(parent: i32) -> Report {
    report(bulkhead_sandbox::Enforced { rows: bulkhead_sandbox::jail::tried::self_probe(parent) })
}

/// Systems without the layers serve in a single process; nothing here pretends otherwise.
#[cfg(not(target_os = "linux"))]
pub fn enter(_memory: u64) -> Report {
    unconfined()
}

/// Systems without the layers have nothing to try.
#[cfg(not(target_os = "linux"))]
pub fn probe(_parent: i32) -> Report {
    unconfined()
}

/// The report of a thread, which nothing confines.
pub fn unconfined() -> Report {
    let row = |capability: &&str| Row {
        capability: (*capability).to_owned(),
        enforcer: bulkhead_sandbox::enforced::NONE.to_owned(),
        sufficient: false,
        evidence: "none (single process)".to_owned(),
    };
    Report { process: PROCESS.to_owned(), rows: bulkhead_sandbox::enforced::CAPABILITIES.iter().map(row).collect() }
}

#[cfg(target_os = "linux")]
fn report(enforced: bulkhead_sandbox::Enforced) -> Report {
    let row = |row: bulkhead_sandbox::Row| Row {
        capability: row.capability.to_owned(),
        enforcer: row.enforcer,
        sufficient: row.sufficient,
        evidence: row.evidence,
    };
    Report { process: PROCESS.to_owned(), rows: enforced.rows.into_iter().map(row).collect() }
}

/// Process id of the launcher, asked before the jail is on.
#[cfg(unix)]
pub fn parent() -> i32 {
    i32::try_from(std::os::unix::process::parent_id()).unwrap_or(0)
}

/// Systems without worker processes have no launcher.
#[cfg(not(unix))]
pub fn parent() -> i32 {
    0
}
