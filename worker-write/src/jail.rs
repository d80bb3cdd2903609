//! The worker's way into its jail, and what it finds when it tries its walls; or the report that there are none.
//! Trust: reports what the kernel answered.

use crate::reach::Reach;
use bulkhead_contract::isolation::Report;
use bulkhead_sandbox::Enforced;

/// The jail of the process, as far as it is.
pub struct Jail {
    #[cfg(target_os = "linux")]
    begun: Option<bulkhead_sandbox::jail::write::WriteJail>,
    /// What stands.
    pub report: Report,
    /// Permissions that files of the operator's own git get.
    pub umask: u32,
    process: &'static str,
    parent: i32,
    #[cfg(target_os = "linux")]
    hooks: bool,
    finished: bool,
}

/// Name of a kind of process in reports.
fn process(network: bool) -> &'static str {
    if network { "worker-write-net" } else { "worker-write" }
}

impl Jail {
    /// First half: down to all that the operator allows. `network` is for fetch and push, with an ssh `agent` or without;
    /// `demanded` ends it where a layer is missing that must be there.
    ///
    /// # Errors
    /// The report that says what is missing.
    #[cfg(target_os = "linux")]
    pub fn begin(memory: u64, reach: Reach, network: bool, agent: bool, demanded: bool) -> Result<Self, Report> {
        use bulkhead_sandbox::{
            early, identity,
            jail::write::{Network, WriteJail},
            program,
        };
        let (parent, process) = (identity::parent(), process(network));
        let umask = program::take_umask();
        // what could not be set is a row of the report
        let _ = early::early((memory > 0).then_some(memory), DESCRIPTORS, c"bulkhead-write");
        let bounded = program::bound(&BOUNDS).is_ok();
        let hooks = !reach.programs.is_empty();
        let granted = match (network, agent) {
            (false, _) => Network::None,
            (true, false) => Network::Tcp,
            (true, true) => Network::TcpAndUnix,
        };
        let begun = WriteJail::begin(&of(reach).0, granted, bounded, demanded);
        let begun = begun.map_err(|short| report(process, short.enforced))?;
        Ok(Self {
            report: report(process, begun.so_far()),
            begun: Some(begun),
            umask,
            process,
            parent,
            hooks,
            finished: false,
        })
    }

    /// Systems without the layers have no writes.
    ///
    /// # Errors
    /// Always: the report says that nothing is enforced.
    #[cfg(not(target_os = "linux"))]
    pub fn begin(_memory: u64, _reach: Reach, network: bool, _agent: bool, _demanded: bool) -> Result<Self, Report> {
        Err(report(process(network), Enforced::nothing()))
    }

    /// Second half, once: what one question needs. The report of what stands; `None` where it was finished before.
    ///
    /// # Errors
    /// The report that says what is missing.
    pub fn finish(&mut self, reach: Reach) -> Result<Option<Report>, Report> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(None);
        }
        #[cfg(target_os = "linux")]
        if let Some(begun) = self.begun.take() {
            let (reach, ports) = of(reach);
            let entered = begun.narrow(&reach, &ports).map_err(|short| report(self.process, short.enforced))?;
            self.report = report(self.process, entered);
        }
        #[cfg(not(target_os = "linux"))]
        drop(reach);
        Ok(Some(self.report.clone()))
    }

    /// Tries from inside what should be refused.
    pub fn probe(&self) -> Report {
        #[cfg(target_os = "linux")]
        {
            let rows = bulkhead_sandbox::jail::tried::probe_of_writer(self.parent, self.hooks);
            report(self.process, Enforced { rows })
        }
        #[cfg(not(target_os = "linux"))]
        self.report.clone()
    }
}

/// Descriptors that Git may have: it opens packs while it can, and closes some when it cannot.
#[cfg(target_os = "linux")]
const DESCRIPTORS: u64 = 1_024;

/// What Git may use up. A file as long as the longest pack that is still served; more of the processor than any deadline
/// leaves is a run that hangs where no deadline is looked at.
#[cfg(target_os = "linux")]
const BOUNDS: bulkhead_sandbox::program::Bounds =
    bulkhead_sandbox::program::Bounds { file: 16 << 30, seconds: 2 * 3_600 };

#[cfg(target_os = "linux")]
fn of(reach: Reach) -> (bulkhead_sandbox::jail::write::Reach, Vec<u16>) {
    let Reach { changed, read, executed, programs, ports } = reach;
    (bulkhead_sandbox::jail::write::Reach { changed, read, executed, programs }, ports)
}

fn report(process: &str, enforced: Enforced) -> Report {
    Report::of(process, enforced.into_rows())
}

impl std::fmt::Debug for Jail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jail").field("process", &self.process).field("parent", &self.parent).finish_non_exhaustive()
    }
}
