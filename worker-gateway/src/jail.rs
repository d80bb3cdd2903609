//! The worker's way into its jail, and what it finds when it tries its walls; or the report that there are none.
//! Trust: reports what the kernel answered.

use bulkhead_contract::isolation::Report;
use bulkhead_sandbox::Enforced;

/// Name of this kind of process in reports.
const PROCESS: &str = "worker-gateway";

/// What a process gives up before it reads a byte.
#[cfg(target_os = "linux")]
pub fn early(memory: u64) {
    // what could not be set is a row of the report
    use bulkhead_sandbox::early;
    let _ = early::early((memory > 0).then_some(memory), early::FEW_DESCRIPTORS, c"bulkhead-gateway");
}

/// Puts the jail on.
#[cfg(target_os = "linux")]
pub fn enter() -> Report {
    report(bulkhead_sandbox::jail::gateway::gateway())
}

/// Tries from inside what should be refused.
#[cfg(target_os = "linux")]
pub fn probe(_entered: &Report, parent: i32) -> Report {
    report(Enforced { rows: bulkhead_sandbox::jail::tried::self_probe(parent) })
}

/// Systems without the layers have nothing to try.
#[cfg(not(target_os = "linux"))]
pub fn probe(entered: &Report, _parent: i32) -> Report {
    entered.clone()
}

/// The report of a thread, which nothing confines.
pub fn unconfined() -> Report {
    report(Enforced::nothing())
}

fn report(enforced: Enforced) -> Report {
    Report::of(PROCESS, enforced.into_rows())
}
