//! The supervisor's own jail, put on before the first byte from a client is read.
//! Trust: reports what the kernel answered; where it falls short of the demand, the pool refuses every call.

use bulkhead_contract::isolation::Report;
use bulkhead_sandbox::enforced;

/// Name of this process in reports.
pub const PROCESS: &str = "supervisor";

/// Gives up everything but speaking: to the client, to the workers, and to the launcher over `launcher`. What needs a
/// new descriptor must have it by now.
#[cfg(target_os = "linux")]
#[must_use]
pub fn confine(launcher: std::os::fd::BorrowedFd<'_>) -> Report {
    Report::of(PROCESS, bulkhead_sandbox::jail::supervisor::supervisor(launcher).into_rows())
}

/// The report of a process on which nothing was tried.
#[must_use]
pub fn unconfined(process: &str, why: &str) -> Report {
    Report::of(process, [("all", enforced::NONE.to_owned(), false, why.to_owned())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_sandbox::Enforced;

    #[test]
    fn rows_keep_their_verdict() {
        let row = |capability, sufficient| bulkhead_sandbox::Row {
            capability,
            enforcer: "seccomp".to_owned(),
            sufficient,
            evidence: "seen".to_owned(),
        };
        let enforced = Enforced { rows: vec![row("exec", true), row("writes", false)] };
        let report = Report::of(PROCESS, enforced.into_rows());
        assert_eq!(report.missing().map(|row| row.capability.as_str()).collect::<Vec<_>>(), ["writes"]);
        assert_eq!(unconfined(PROCESS, "why").missing().count(), 1);
    }
}
