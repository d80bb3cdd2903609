//! The worker's way into its jail, and what it finds when it tries its walls; or the report that there are none.
//! Trust: reports what the kernel answered.

use bulkhead_contract::isolation::Report;
use bulkhead_sandbox::Enforced;
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
    report(Enforced { rows: bulkhead_sandbox::jail::tried::self_probe(parent) })
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
    report(Enforced::nothing())
}

fn report(enforced: Enforced) -> Report {
    Report::of(PROCESS, enforced.into_rows())
}
