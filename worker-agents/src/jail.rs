//! The worker's way into its jail, and what it finds when it tries its walls; or the report that there are none.
//! Trust: reports what the kernel answered.

use crate::place::Handle;
use bulkhead_contract::isolation::Report;
use bulkhead_sandbox::{Enforced, identity};

/// Names of these kinds of process in reports.
const PROCESS: &str = "worker-agents";
const NOTE: &str = "worker-note";

/// The jail of one who looks, as far as it is.
pub struct Jail {
    #[cfg(target_os = "linux")]
    begun: Option<bulkhead_sandbox::jail::agents::AgentsJail>,
    /// What stands, or what there would be to stand.
    pub report: Report,
    parent: i32,
    finished: bool,
}

impl Jail {
    /// First half. `demanded` ends it where a layer is missing that must be there.
    ///
    /// # Errors
    /// The report that says what is missing.
    #[cfg(target_os = "linux")]
    pub fn begin(memory: u64, demanded: bool) -> Result<Self, Report> {
        use bulkhead_sandbox::{early, jail::agents::AgentsJail};
        let parent = identity::parent();
        // what could not be set is a row of the report
        let _ = early::early((memory > 0).then_some(memory), early::FEW_DESCRIPTORS, c"bulkhead-agents");
        let begun = AgentsJail::begin(demanded).map_err(|short| report(PROCESS, short.enforced))?;
        Ok(Self { report: report(PROCESS, begun.so_far()), begun: Some(begun), parent, finished: false })
    }

    /// Systems without the layers serve in a single process; nothing here pretends otherwise.
    ///
    /// # Errors
    /// None.
    #[cfg(not(target_os = "linux"))]
    pub fn begin(_memory: u64, _demanded: bool) -> Result<Self, Report> {
        Ok(Self::unconfined())
    }

    /// Of a thread, which nothing confines.
    pub fn unconfined() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            begun: None,
            report: unconfined(PROCESS),
            parent: identity::parent(),
            finished: false,
        }
    }

    /// Second half, once: these directories and files can be read. The report of what stands; `None` where it was finished before.
    ///
    /// # Errors
    /// The report that says what is missing.
    pub fn finish(&mut self, dirs: Vec<Handle>, files: Vec<Handle>) -> Result<Option<Report>, Report> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(None);
        }
        #[cfg(target_os = "linux")]
        if let Some(begun) = self.begun.take() {
            let entered = begun.read(dirs, files).map_err(|short| report(PROCESS, short.enforced))?;
            self.report = report(PROCESS, entered);
        }
        #[cfg(not(target_os = "linux"))]
        drop((dirs, files));
        Ok(Some(self.report.clone()))
    }

    /// Tries from inside what should be refused.
    pub fn probe(&self) -> Report {
        probe(&self.report, self.parent)
    }
}

/// The jail of one who keeps a note, in one step.
#[cfg(target_os = "linux")]
pub fn note(memory: u64, dir: Option<Handle>) -> Report {
    use bulkhead_sandbox::early;
    // what could not be set is a row of the report
    let _ = early::early((memory > 0).then_some(memory), early::FEW_DESCRIPTORS, c"bulkhead-note");
    report(NOTE, bulkhead_sandbox::jail::note::note(dir))
}

/// Systems without the layers serve in a single process; nothing here pretends otherwise.
#[cfg(not(target_os = "linux"))]
pub fn note(_memory: u64, _dir: Option<Handle>) -> Report {
    unconfined(NOTE)
}

/// Of a thread that keeps a note.
pub fn unconfined_note() -> Report {
    unconfined(NOTE)
}

/// Tries from inside what should be refused, unless nothing was ever taken away.
pub fn probe(entered: &Report, parent: i32) -> Report {
    #[cfg(target_os = "linux")]
    if entered.rows.iter().any(|row| row.enforcer != bulkhead_sandbox::enforced::NONE) {
        let rows = bulkhead_sandbox::jail::tried::self_probe(parent);
        return report(&entered.process, Enforced { rows });
    }
    let _ = parent;
    entered.clone()
}

fn unconfined(process: &str) -> Report {
    report(process, Enforced::nothing())
}

fn report(process: &str, enforced: Enforced) -> Report {
    Report::of(process, enforced.into_rows())
}
