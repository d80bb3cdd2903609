//! Landlock: which files this process can reach, and what it can do to processes and sockets outside its domain.
//! Trust: the kernel's answers are read one by one; the crate's "partially enforced" counts as nothing by itself.

use super::{Missing, name};
use ::landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, CreateRulesetError, NetPort, PathBeneath,
    RestrictSelfAttr, RestrictSelfError, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, SFlag, fstat};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

/// The newest ABI whose rights are handled; every right of it that the kernel has is taken away unless a rule grants it.
pub const NEWEST: ABI = ABI::V10;

/// ABIs in which the kernel learnt to refuse something that a report names.
pub mod since {
    /// TCP connect and bind.
    pub const TCP: u32 = 4;
    /// Signals and abstract UNIX sockets outside the domain.
    pub const SCOPES: u32 = 6;
    /// UNIX sockets by path.
    pub const UNIX_PATHS: u32 = 9;
    /// UDP bind, connect and send.
    pub const UDP: u32 = 10;
}

/// A domain that the calling thread entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// The ABI whose rights it handles: the kernel's, or less where that was refused.
    pub abi: u32,
    /// Set where the kernel refused the rights that its own version promises.
    pub lowered_from: Option<u32>,
    /// Whether the call covered threads that exist already.
    pub all_threads: bool,
    /// Paths that got no rule, since they could not be opened as what they should be.
    pub skipped: usize,
}

impl Domain {
    /// The name of the layer in a report.
    #[must_use]
    pub fn layer(&self) -> String {
        format!("landlock(abi {})", self.abi)
    }
}

/// What may still be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Readable<'a> {
    /// Directories: all files and listings beneath.
    pub dirs: &'a [std::path::PathBuf],
    /// Single regular files.
    pub files: &'a [std::path::PathBuf],
}

/// What may still be reached, as open descriptors.
#[derive(Debug, Default)]
pub struct Open {
    /// Directories: all files and listings beneath may be read.
    pub dirs: Vec<OwnedFd>,
    /// Single regular files that may be read.
    pub files: Vec<OwnedFd>,
    /// Directories in which regular files may be read, made, written, renamed within the directory, and removed.
    pub written: Vec<OwnedFd>,
    /// Directories beneath which everything may be done with files, directories and links but executing them.
    pub changed: Vec<OwnedFd>,
    /// Single regular files that may be read and executed.
    pub executed: Vec<OwnedFd>,
    /// Directories: all files and listings beneath may be read, and all files be executed.
    pub programs: Vec<OwnedFd>,
    /// Devices that may be read and written.
    pub devices: Vec<OwnedFd>,
    /// UNIX sockets by path that may be connected to.
    pub sockets: Vec<OwnedFd>,
}

/// To which TCP ports, of whatever host, a process may connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ports<'a> {
    /// To these; no UDP where the kernel can refuse it.
    These(&'a [u16]),
    /// This domain does not say; a later one does.
    NotYet,
}

/// The kernel's ABI version, asked for directly: libraries report the three ways of not having it alike.
///
/// # Errors
/// Says which of them it is.
pub fn version() -> Result<u32, Missing> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: the version query takes no pointer.
    let answer = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0 as libc::size_t, VERSION)
    };
    match Errno::result(answer) {
        Ok(version) => match u32::try_from(version) {
            Ok(version) if version >= 1 => Ok(version),
            _ => Err(Missing(format!("landlock: an outer filter answers {version} for the version"))),
        },
        Err(Errno::ENOSYS) => {
            Err(Missing("landlock: the kernel is without it, or an outer filter hides it (ENOSYS)".into()))
        }
        Err(Errno::EOPNOTSUPP) => {
            Err(Missing("landlock: disabled at boot (EOPNOTSUPP; see lsm= of the kernel)".into()))
        }
        Err(Errno::EPERM) => {
            Err(Missing("landlock: blocked by an outer filter, such as a container profile (EPERM)".into()))
        }
        Err(errno) => Err(Missing(format!("landlock: version query answered {}", name(errno)))),
    }
}

/// Takes every right away but reading what `readable` names. Stacks: a second call can only take more.
/// Covers the calling thread and those it will start, so call it before there are others.
///
/// # Errors
/// Not even ABI 1 could be enforced; nothing changed.
pub fn restrict(readable: Readable<'_>) -> Result<Domain, Missing> {
    version()?;
    enter(&Rules::open(readable), Ports::These(&[]))
}

/// The same for directories and files that are open already, so that no path is looked up again.
///
/// # Errors
/// As [`restrict`].
pub fn restrict_to(open: Open) -> Result<Domain, Missing> {
    restrict_with(open, Ports::These(&[]))
}

/// The same with a word about ports.
///
/// # Errors
/// As [`restrict`].
pub fn restrict_with(open: Open, ports: Ports<'_>) -> Result<Domain, Missing> {
    enter(&Rules { open, skipped: 0 }, ports)
}

/// A domain that takes nothing away but signals to whoever is outside of it, to be entered by a child between fork and exec;
/// `None` where the kernel knows none.
///
/// # Errors
/// The kernel refused what its version promises.
pub fn apart() -> Result<Option<OwnedFd>, Missing> {
    if !version().is_ok_and(|version| version >= since::SCOPES) {
        return Ok(None);
    }
    let all = open(Path::new("/"), OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty())
        .map_err(|errno| Missing(format!("landlock: / cannot be opened ({})", name(errno))))?;
    let made = || -> Result<_, RulesetError> {
        // every domain keeps files from changing their directory, unless it says that they may
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        let ruleset = ruleset.handle_access(AccessFs::Refer)?.scope(Scope::Signal)?;
        ruleset.create()?.add_rule(PathBeneath::new(&all, AccessFs::Refer))
    };
    made().map(Option::from).map_err(|error| Missing(format!("landlock: {error}")))
}

/// Has the calling thread enter it. Allocates nothing and takes no lock.
///
/// # Errors
/// The kernel refused.
pub fn enter_apart(domain: &OwnedFd) -> std::io::Result<()> {
    // SAFETY: a plain system call on numbers; the descriptor is open.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, domain.as_raw_fd(), 0) };
    Errno::result(answer).map(drop).map_err(std::io::Error::from)
}

fn enter(rules: &Rules, ports: Ports<'_>) -> Result<Domain, Missing> {
    let kernel = version()?;
    let newest = kernel.min(NEWEST as u32);
    let mut abi = newest;
    loop {
        match attempt(rules, ports, abi) {
            Ok(all_threads) => {
                let lowered_from = (abi < newest).then_some(newest);
                return Ok(Domain { abi, lowered_from, all_threads, skipped: rules.skipped });
            }
            // a kernel and a patch set that disagree about the rights of a version answer EINVAL: ask for less
            Err(Refused { errno: Some(Errno::EINVAL), .. }) if abi > 1 => abi -= 1,
            Err(refused) => return Err(Missing(format!("landlock: {}", refused.text))),
        }
    }
}

/// The paths of the rules, opened.
struct Rules {
    open: Open,
    skipped: usize,
}

impl Rules {
    /// Opens without following a link in the last place: the paths are canonical, so a link there was put there since.
    fn open(readable: Readable<'_>) -> Rules {
        let take = |path: &Path, kind: SFlag| -> Option<OwnedFd> {
            let fd = open(path, OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty()).ok()?;
            let mode = SFlag::from_bits_truncate(fstat(&fd).ok()?.st_mode) & SFlag::S_IFMT;
            (mode == kind).then_some(fd)
        };
        let dirs: Vec<_> = readable.dirs.iter().filter_map(|path| take(path, SFlag::S_IFDIR)).collect();
        let files: Vec<_> = readable.files.iter().filter_map(|path| take(path, SFlag::S_IFREG)).collect();
        let skipped = readable.dirs.len() + readable.files.len() - dirs.len() - files.len();
        Rules { open: Open { dirs, files, ..Open::default() }, skipped }
    }
}

/// Why one attempt failed.
struct Refused {
    errno: Option<Errno>,
    text: String,
}

impl From<RulesetError> for Refused {
    fn from(error: RulesetError) -> Refused {
        let source = match &error {
            RulesetError::CreateRuleset(CreateRulesetError::CreateRulesetCall { source, .. })
            | RulesetError::RestrictSelf(RestrictSelfError::RestrictSelfCall { source, .. }) => source.raw_os_error(),
            _ => None,
        };
        Refused { errno: source.map(Errno::from_raw), text: error.to_string() }
    }
}

/// One attempt with the rights of one ABI. ABI 1 is demanded, so that a silent nothing is an error; the rest is whatever
/// the kernel has. Returns whether all threads were covered.
fn attempt(rules: &Rules, ports: Ports<'_>, abi: u32) -> Result<bool, Refused> {
    let abi = ABI::from(i32::try_from(abi).unwrap_or(1));
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))?;
    // an empty set is an error to the library
    let ports = match ports {
        Ports::These(ports) if !AccessNet::from_all(abi).is_empty() => {
            ruleset = ruleset.handle_access(AccessNet::from_all(abi))?;
            ports
        }
        _ => &[],
    };
    if !Scope::from_all(abi).is_empty() {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    let within: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let written = within | AccessFs::WriteFile | AccessFs::MakeReg | AccessFs::RemoveFile;
    let special = AccessFs::MakeSock | AccessFs::MakeFifo | AccessFs::MakeChar | AccessFs::MakeBlock;
    let changed = AccessFs::from_all(ABI::V3) & !(special | AccessFs::Execute);
    let Open { dirs, files, written: in_place, changed: beneath, executed, programs, devices, sockets } = &rules.open;
    let granted = [
        (dirs, within),
        (files, AccessFs::ReadFile.into()),
        (in_place, written),
        (beneath, changed),
        (executed, AccessFs::ReadFile | AccessFs::Execute),
        (programs, within | AccessFs::Execute),
        (devices, AccessFs::ReadFile | AccessFs::WriteFile),
        (sockets, AccessFs::ResolveUnix.into()),
    ];
    let handled = AccessFs::from_all(abi);
    let rules = granted.into_iter().flat_map(|(fds, rights)| fds.iter().map(move |fd| (fd, rights & handled)));
    // no right of this version is no rule to make
    let rules = rules.filter(|(_, rights)| !rights.is_empty());
    let status = ruleset
        .create()?
        .add_rules(rules.map(|(fd, rights)| Ok::<_, RulesetError>(PathBeneath::new(fd, rights))))?
        .add_rules(ports.iter().map(|port| Ok::<_, RulesetError>(NetPort::new(*port, AccessNet::ConnectTcp))))?
        .all_threads(abi >= ABI::V8)?
        .restrict_self()?;
    match status.ruleset {
        RulesetStatus::NotEnforced => {
            Err(Refused { errno: None, text: "restrict_self returned, nothing enforced".into() })
        }
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(status.all_threads),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{ensure, passes};
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

    /// A filter around this process that answers a call by itself, as container profiles do.
    fn answers(call: libc::c_long, errno: i32) -> Result<(), String> {
        let rules = [(call, vec![])].into_iter().collect();
        let host = crate::layers::seccomp::host().map_err(|missing| missing.to_string())?;
        SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno.cast_unsigned()), host)
            .and_then(BpfProgram::try_from)
            .map_err(|error| error.to_string())
            .and_then(|program| crate::layers::seccomp::install(&program).map_err(|missing| missing.to_string()))
    }

    #[test]
    fn the_three_ways_of_not_having_it_are_told_apart() {
        for (errno, word) in [
            (libc::ENOSYS, "without it"),
            (libc::EOPNOTSUPP, "disabled at boot"),
            (libc::EPERM, "blocked by an outer filter"),
        ] {
            passes(|| {
                answers(libc::SYS_landlock_create_ruleset, errno)?;
                let version = version();
                ensure(version.as_ref().is_err_and(|missing| missing.0.contains(word)), format!("{version:?}"))?;
                ensure(restrict(Readable::default()) == version.map(|_| unreachable!("it is an error")), "restrict")
            });
        }
    }

    #[test]
    fn a_kernel_that_refuses_every_abi_is_reported() {
        passes(|| {
            answers(libc::SYS_landlock_restrict_self, libc::EINVAL)?;
            let domain = restrict(Readable::default());
            ensure(domain.as_ref().is_err_and(|missing| missing.0.contains("restrict")), format!("{domain:?}"))?;
            ensure(std::fs::read_dir("/").is_ok(), "something is on all the same")
        });
    }

    #[test]
    fn a_single_file_can_be_readable_without_its_directory() {
        let dir = tempfile::tempdir().expect("a directory");
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        for path in [&one, &two] {
            std::fs::write(path, "x").expect("a file");
        }
        passes(|| {
            let files = [one.clone(), dir.path().to_path_buf()];
            let domain = restrict(Readable { dirs: &[], files: &files }).map_err(|missing| missing.to_string())?;
            ensure(domain.skipped == 1, "a directory among files got a rule")?;
            ensure(std::fs::read(&one).is_ok() && std::fs::read(&two).is_err(), "which file")?;
            ensure(std::fs::read_dir(dir.path()).is_err(), "listing")
        });
    }
}
