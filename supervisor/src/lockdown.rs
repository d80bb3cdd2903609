//! The supervisor's own jail, put on before the first byte from a client is read.
//! Trust: reports what the kernel answered; where it falls short of the demand, the pool refuses every call.

use bulkhead_contract::isolation::{Report, Row};
use bulkhead_sandbox::Enforced;

/// Name of this process in reports.
pub const PROCESS: &str = "supervisor";

/// Gives up everything but speaking: to the client, to the workers, and to the launcher over `launcher`. What needs a
/// new descriptor must have it by now.
#[cfg(target_os = "linux")]
#[must_use]
pub fn confine(launcher: std::os::fd::BorrowedFd<'_>) -> Report {
    report(PROCESS, &bulkhead_sandbox::jail::supervisor::supervisor(launcher))
}

/// The report of a process on which nothing was tried.
#[must_use]
pub fn unconfined(process: &str, why: &str) -> Report {
    let row =
        Row { capability: "all".to_owned(), enforcer: "none".to_owned(), sufficient: false, evidence: why.to_owned() };
    Report { process: process.to_owned(), rows: vec![row] }
}

/// What a process has, in the words of the contract.
#[must_use]
pub fn report(process: &str, enforced: &Enforced) -> Report {
    let row = |row: &bulkhead_sandbox::Row| Row {
        capability: row.capability.to_owned(),
        enforcer: row.enforcer.clone(),
        sufficient: row.sufficient,
        evidence: row.evidence.clone(),
    };
    Report { process: process.to_owned(), rows: enforced.rows.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_verdict() {
        let row = |capability, sufficient| bulkhead_sandbox::Row {
            capability,
            enforcer: "seccomp".to_owned(),
            sufficient,
            evidence: "seen".to_owned(),
        };
        let report = report(PROCESS, &Enforced { rows: vec![row("exec", true), row("writes", false)] });
        assert_eq!(report.missing().map(|row| row.capability.as_str()).collect::<Vec<_>>(), ["writes"]);
        assert_eq!(unconfined(PROCESS, "why").missing().count(), 1);
    }
}
