//! The supervisor's own jail, put on before the first byte from a client is read.
//! Trust: reports what the kernel answered; where it falls short of the demand, the pool refuses every call.

use bulkhead_contract::isolation::{Demand, Layer, Report, Standing};
use bulkhead_sandbox::enforced;

/// Name of this process in reports.
pub const PROCESS: &str = "supervisor";

/// Gives up everything but speaking: to the client, to the workers, and to the launcher over `launcher`. What needs a
/// new descriptor must have it by now. Gives what this process has, and what the machine gave for it.
#[cfg(target_os = "linux")]
#[must_use]
pub fn confine(launcher: std::os::fd::BorrowedFd<'_>, demand: Demand) -> (Report, Standing) {
    let (enforced, layers) = bulkhead_sandbox::jail::supervisor::with_layers(launcher);
    let layers = layers.into_iter().map(|layer| Layer::new(layer.name, layer.on, layer.detail)).collect();
    (Report::of(PROCESS, enforced.into_rows()), Standing { demand, layers, hooks: false })
}

/// The same of a process on which nothing was tried.
#[must_use]
pub fn untried(demand: Demand, why: &str) -> (Report, Standing) {
    (unconfined(PROCESS, why), Standing::single(demand, why))
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
