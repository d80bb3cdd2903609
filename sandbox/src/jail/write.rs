//! The jail of worker-write and of every Git that it starts: first all that the operator allows, then what one question needs.
//! Trust: programs and roots are the operator's; the paths of the second step come from a question and can only narrow the
//! first.

use super::seen::{Seen, Step};
use super::{Short, install};
use crate::enforced::Enforced;
use crate::layers::landlock::{self, Open, Ports};
use crate::layers::{Missing, capabilities, name, rlimits, seccomp};
use crate::policy::{Policy, write};
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::stat::{Mode, SFlag, fstat};
use std::path::{Path, PathBuf};

/// What may be reached. Paths are absolute and canonical; one that is a link by now, or gone, gets no rule and is counted.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// Directories beneath which everything may be done with files, directories and links but executing them.
    pub changed: Vec<PathBuf>,
    /// Directories, regular files and UNIX sockets that are read, or connected to.
    pub read: Vec<PathBuf>,
    /// Single files that may be executed, and mapped as libraries.
    pub executed: Vec<PathBuf>,
}

/// What a process has of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Nothing.
    None,
    /// It dials by TCP.
    Tcp,
    /// It also connects to UNIX sockets by path: the ssh agent's.
    TcpAndUnix,
}

/// Devices that Git and libc cannot do without: both answer to everybody, and lead nowhere.
const DEVICES: [&str; 2] = ["/dev/null", "/dev/urandom"];

/// The jail of the calling process after its first step. Dropping it opens nothing again.
#[derive(Debug)]
pub struct WriteJail {
    seen: Seen,
    network: Network,
    demand_required: bool,
    programs: usize,
}

impl WriteJail {
    /// First step, before a byte of a question or of a repository: no capabilities, Landlock down to `reach`, the filter
    /// that ends the process and the ones that refuse; `bounded` says whether [`crate::program::bound`] did its work. With a network, ports are the second step's business. One thread,
    /// or Landlock would miss others.
    ///
    /// # Errors
    /// [`Short`] when `demand_required` and Landlock or a filter is missing or does not bite.
    pub fn begin(reach: &Reach, network: Network, bounded: bool, demand_required: bool) -> Result<Self, Short> {
        let mut seen = Seen::start(true, "the roots, to be changed, and programs");
        seen.capabilities = capabilities::drop_all().into();
        let ports = if network == Network::None { Ports::These(&[]) } else { Ports::NotYet };
        let programs = enter(&mut seen, reach, ports);
        if !bounded {
            seen.tries.push("limits of programs could not be set".into());
        }
        let policy = policy(network);
        seen.standing = rlimits::standing();
        seen.kill = install(seccomp::kill, policy.kill);
        seen.refuse = install(seccomp::refuse, policy.refuse);
        if seen.refuse.on().is_some()
            && let Step::Failed(missing) = install(seccomp::hide, Some(&[write::HIDDEN]))
        {
            seen.refuse = Step::Failed(missing);
        }
        if seen.refuse.on().is_some() {
            match no_datagrams() {
                Ok(bite) => seen.bite = bite,
                Err(text) => seen.refuse = Step::Failed(Missing(format!("seccomp: filter is on, but {text}"))),
            }
        }
        Self { seen, network, demand_required, programs }.judged()
    }

    /// What stands after the first step.
    #[must_use]
    pub fn so_far(&self) -> Enforced {
        self.report("any port")
    }

    /// Second step, before anything of the repository is parsed but the addresses of its remotes: only this stays
    /// reachable, and connections go to these ports alone, where the kernel can tell them apart.
    ///
    /// # Errors
    /// As for [`WriteJail::begin`].
    pub fn narrow(mut self, reach: &Reach, ports: &[u16]) -> Result<Enforced, Short> {
        // without the first domain there is nothing to narrow; the report has its reason already
        if self.seen.landlock.on().is_some() {
            self.seen.tries.clear();
            self.seen.keeps = "one repository, to be changed, and programs";
            self.programs = enter(&mut self.seen, reach, Ports::These(ports));
        }
        let text = match ports {
            [] => "no port".to_owned(),
            ports => {
                let list: Vec<String> = ports.iter().map(u16::to_string).collect();
                format!("port {}", list.join(", "))
            }
        };
        Ok(self.judged()?.report(&text))
    }

    fn report(&self, ports: &str) -> Enforced {
        self.seen.writing(self.programs, self.network, ports)
    }

    fn judged(self) -> Result<Self, Short> {
        if self.demand_required && (self.seen.landlock.on().is_none() || self.seen.seccomp_missing()) {
            return Err(Short { enforced: self.report("no port") });
        }
        Ok(self)
    }
}

/// The tables for it.
const fn policy(network: Network) -> Policy {
    match network {
        Network::None => write::POLICY,
        Network::Tcp => write::NET,
        Network::TcpAndUnix => write::NET_AND_AGENT,
    }
}

/// Enters a domain of what is there of `reach`, and tries what is outside. Gives how many files may be executed.
fn enter(seen: &mut Seen, reach: &Reach, ports: Ports<'_>) -> usize {
    let mut opened = Open::default();
    let mut skipped = 0;
    for path in &reach.changed {
        match handle(path) {
            Some((fd, SFlag::S_IFDIR)) => opened.changed.push(fd),
            _ => skipped += 1,
        }
    }
    for path in &reach.executed {
        match handle(path) {
            Some((fd, SFlag::S_IFREG)) => opened.executed.push(fd),
            _ => skipped += 1,
        }
    }
    for path in &reach.read {
        match handle(path) {
            Some((fd, SFlag::S_IFDIR)) => opened.dirs.push(fd),
            Some((fd, SFlag::S_IFREG)) => opened.files.push(fd),
            Some((fd, SFlag::S_IFSOCK)) => opened.sockets.push(fd),
            _ => skipped += 1,
        }
    }
    for path in DEVICES {
        match handle(Path::new(path)) {
            Some((fd, SFlag::S_IFCHR)) => opened.devices.push(fd),
            _ => skipped += 1,
        }
    }
    let programs = opened.executed.len();
    let domain = landlock::restrict_with(opened, ports);
    seen.enter(domain.map(|domain| landlock::Domain { skipped, ..domain }));
    seen.try_outside();
    programs
}

/// What lies at a path, without following a link in its last place, and what kind of thing it is.
fn handle(path: &Path) -> Option<(std::os::fd::OwnedFd, SFlag)> {
    let fd = open(path, OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty()).ok()?;
    let kind = SFlag::from_bits_truncate(fstat(&fd).ok()?.st_mode) & SFlag::S_IFMT;
    Some((fd, kind))
}

/// Tries to make a socket that neither kind may have.
fn no_datagrams() -> Result<String, String> {
    match socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None) {
        Ok(_) => Err("a datagram socket could be made".into()),
        Err(errno @ Errno::EACCES) => Ok(format!("a datagram socket answers {}", name(errno))),
        Err(errno) => Err(format!("a datagram socket answers {}, not the filter's EACCES", name(errno))),
    }
}
