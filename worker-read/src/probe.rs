//! What a worker finds when it tries its own walls from inside, just now.
//! Trust: only calls whose refusal is an error code are tried; the supervisor compares with what it sees from outside.

use bulkhead_contract::isolation::Report;

/// Process id of the launcher, asked before the jail is on: inside, that call is not there.
#[must_use]
#[cfg(unix)]
pub fn parent() -> i32 {
    i32::try_from(std::os::unix::process::parent_id()).unwrap_or(0)
}

/// Systems without worker processes have no launcher.
#[must_use]
#[cfg(not(unix))]
pub fn parent() -> i32 {
    0
}

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
