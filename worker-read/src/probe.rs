//! What a worker finds when it tries its own walls from inside, just now.
//! Trust: only calls whose refusal is an error code are tried; the supervisor compares with what it sees from outside.

use bulkhead_contract::isolation::Report;

/// One row for each capability that can be tried; the enforcer is what the kernel answered.
#[must_use]
#[cfg(target_os = "linux")]
pub fn report(_entered: &Report, parent: i32) -> Report {
    crate::jail::report(bulkhead_sandbox::Enforced { rows: bulkhead_sandbox::jail::tried::self_probe(parent) })
}

/// Systems without the layers have nothing to try: the report says so for every capability.
#[must_use]
#[cfg(not(target_os = "linux"))]
pub fn report(entered: &Report, _parent: i32) -> Report {
    entered.clone()
}
