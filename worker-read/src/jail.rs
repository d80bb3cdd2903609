//! The worker's way into its jail: ceilings, discovery, one repository or run directory, no more calls; or the same
//! without layers.
//! Trust: what is discovered can only narrow the jail; a layer that is demanded and missing ends the worker.

use crate::{
    discover::{self, Bounds, Found},
    run_dir::RunDir,
};
use bulkhead_contract::{failure::ReadFailure, isolation::Report};
use bulkhead_sandbox::Enforced;
use std::path::{Path, PathBuf};

/// Name of this kind of process in reports.
const PROCESS: &str = "worker-read";

/// What a worker is for.
#[derive(Debug, Clone)]
pub enum Home {
    /// One repository.
    Repository(Found),
    /// One of the operator's run directories.
    RunDirectory(RunDir),
}

/// Descriptors that a worker may hold, where the host lets it: directories stay open between calls, the rest is for work.
#[cfg(target_os = "linux")]
const MAX_DESCRIPTORS: u64 = 4_096;
/// Of these, those that are for work: two threads on their way through directories as deep as they go.
#[cfg(target_os = "linux")]
const FOR_WORK: u64 = 512;

/// Where a worker stands once its jail is closed.
#[derive(Debug)]
pub enum Jailed {
    /// The jail is on.
    In {
        /// What was found; `Ok(None)` for a worker without a repository.
        found: Box<Result<Option<Home>, ReadFailure>>,
        /// What holds.
        report: Report,
        /// Directories that may stay open between calls.
        directories: usize,
    },
    /// A layer that is demanded is missing; nothing of the repository was parsed.
    Short(Report),
}

/// What decides about the jail.
#[derive(Debug, Clone, Copy)]
pub struct Plan<'a> {
    /// The caller's path.
    pub path: Option<&'a [u8]>,
    /// The path again, where it is a run directory: then nothing else is looked at, the ceilings included.
    pub run_dir: Option<&'a Path>,
    /// Ceilings and trust.
    pub bounds: Bounds<'a>,
    /// Ask for the empty root.
    pub empty_root: bool,
    /// Private writable memory in bytes; zero sets no limit.
    pub memory: u64,
    /// End where a demanded layer is missing.
    pub demand_required: bool,
}

/// Puts the jail on around the discovery of the repository.
#[cfg(target_os = "linux")]
#[must_use]
pub fn enter(plan: Plan<'_>) -> Jailed {
    use bulkhead_sandbox::jail::read::{ReadJail, ReadPlan, Short};
    let short = |short: Short| Jailed::Short(report(short.enforced));
    // the limit on memory is known only now; what could not be set is a row of the report
    let limit =
        bulkhead_sandbox::early::early((plan.memory > 0).then_some(plan.memory), MAX_DESCRIPTORS, c"bulkhead-read");
    let directories = limit.map_or(0, |limit| limit.saturating_sub(FOR_WORK));
    let own = plan.run_dir.map(Path::to_path_buf);
    let ceilings = own.as_ref().map_or(plan.bounds.ceilings, std::slice::from_ref);
    let layers = ReadPlan { ceilings, empty_root: plan.empty_root, demand_required: plan.demand_required };
    let jail = match ReadJail::begin(&layers) {
        Ok(jail) => jail,
        Err(missing) => return short(missing),
    };
    let found = find(plan);
    // a refusal is answered from within the closed jail, too
    let dirs = found.as_ref().ok().and_then(Option::as_ref).map(Home::directories).unwrap_or_default();
    match jail.narrow(&dirs, &[]).and_then(|jail| jail.close()) {
        Ok(enforced) => Jailed::In {
            found: Box::new(found),
            report: report(enforced),
            directories: usize::try_from(directories).unwrap_or(0),
        },
        Err(missing) => short(missing),
    }
}

/// Systems without the layers serve in a single process; nothing here pretends otherwise.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn enter(plan: Plan<'_>) -> Jailed {
    if plan.demand_required { Jailed::Short(unconfined()) } else { without(plan) }
}

/// The same discovery in a process that has no layers.
#[must_use]
pub fn without(plan: Plan<'_>) -> Jailed {
    // the limit of the process is for all workers in it
    Jailed::In { found: Box::new(find(plan)), report: unconfined(), directories: 0 }
}

fn find(plan: Plan<'_>) -> Result<Option<Home>, ReadFailure> {
    match plan.run_dir {
        Some(path) => RunDir::find(path.to_path_buf()).map(Home::RunDirectory).map(Some),
        None => plan.path.map(|path| discover::discover(path, plan.bounds).map(Home::Repository)).transpose(),
    }
}

impl Home {
    /// Everything that may be read from now on.
    #[must_use]
    pub fn directories(&self) -> Vec<PathBuf> {
        match self {
            Home::Repository(found) => found.directories(),
            Home::RunDirectory(dir) => dir.directories(),
        }
    }
}

pub(crate) fn report(enforced: Enforced) -> Report {
    Report::of(PROCESS, enforced.into_rows())
}

fn unconfined() -> Report {
    report(Enforced::nothing())
}

/// The ceilings of an `Init`; what is no absolute path of this system is left out, which only narrows.
#[must_use]
pub fn ceilings(init: &[Vec<u8>]) -> Vec<PathBuf> {
    init.iter().filter_map(|bytes| crate::files::bytes_path(bytes)).filter(|path| path.is_absolute()).collect()
}
