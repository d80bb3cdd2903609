//! The jail of worker-write and of every Git that it starts: first all that the operator allows, then what one question needs.
//! Trust: programs and roots are the operator's; the paths of the second step come from a question and can only narrow the
//! first.

use super::seen::{Seen, Step};
use super::{Short, install};
use crate::enforced::Enforced;
use crate::layers::landlock::{self, Open, Ports};
use crate::layers::{Missing, capabilities, name, rlimits, seccomp};
use crate::policy::{Live, Policy, Row, write};
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
    /// Directories beneath which everything may be read and executed, those that are changed among them: for hooks, where
    /// the operator has them run. Empty otherwise.
    pub programs: Vec<PathBuf>,
}

/// How much of a reach may be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Executed {
    pub(super) files: usize,
    pub(super) directories: usize,
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

/// What programs of all kinds expect besides.
const DEVICES_OF_HOOKS: [&str; 2] = ["/dev/zero", "/dev/random"];

/// The jail of the calling process after its first step. Dropping it opens nothing again.
#[derive(Debug)]
pub struct WriteJail {
    seen: Seen,
    network: Network,
    demand_required: bool,
    executed: Executed,
}

impl WriteJail {
    /// First step, before a byte of a question or of a repository: no capabilities, Landlock down to `reach`, the filter
    /// that ends the process and the ones that refuse; `bounded` says whether [`crate::program::bound`] did its work. With a network, ports are the second step's business. One thread,
    /// or Landlock would miss others.
    ///
    /// # Errors
    /// [`Short`] when `demand_required` and Landlock or a filter is missing or does not bite, or where hooks run and Landlock does
    /// not know signals.
    pub fn begin(reach: &Reach, network: Network, bounded: bool, demand_required: bool) -> Result<Self, Short> {
        let mut seen = Seen::start(true, "the roots, to be changed, and programs");
        seen.capabilities = capabilities::drop_all().into();
        let ports = if network == Network::None { Ports::These(&[]) } else { Ports::NotYet };
        let executed = enter(&mut seen, reach, ports);
        if !bounded {
            seen.tries.push("limits of programs could not be set".into());
        }
        let policy = policy(network, !reach.programs.is_empty());
        seen.standing = rlimits::standing();
        seen.kill = install(seccomp::kill, policy.kill);
        seen.refuse = install(seccomp::refuse, policy.refuse);
        if seen.refuse.on().is_some()
            && let Step::Failed(missing) = install(hide, Some(&[write::HIDDEN]))
        {
            seen.refuse = Step::Failed(missing);
        }
        if seen.refuse.on().is_some() {
            match no_datagrams() {
                Ok(bite) => seen.bite = bite,
                Err(text) => seen.refuse = Step::Failed(Missing(format!("seccomp: filter is on, but {text}"))),
            }
        }
        Self { seen, network, demand_required, executed }.judged()
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
            self.executed = enter(&mut self.seen, reach, Ports::These(ports));
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
        self.seen.writing(self.executed, self.network, ports)
    }

    fn judged(self) -> Result<Self, Short> {
        // hooks that could signal the process that looks at what they did would keep it from looking
        let scopeless = |domain: &landlock::Domain| domain.abi < landlock::since::SCOPES;
        let hooks_signal = self.executed.directories > 0 && self.seen.landlock.on().is_some_and(scopeless);
        let missing = self.seen.landlock.on().is_none() || self.seen.seccomp_missing() || hooks_signal;
        if self.demand_required && missing {
            return Err(Short { enforced: self.report("no port") });
        }
        Ok(self)
    }
}

/// [`seccomp::hide`] for these tables.
fn hide(tables: &[&[Row]], live: &Live, arch: seccompiler::TargetArch) -> Result<seccompiler::BpfProgram, Missing> {
    seccomp::hide(tables, write::YOUNGEST, live, arch)
}

/// The tables for it. With a network there are no hooks, whatever is asked for.
const fn policy(network: Network, hooks: bool) -> Policy {
    match network {
        Network::None if hooks => write::HOOKS,
        Network::None => write::POLICY,
        Network::Tcp => write::NET,
        Network::TcpAndUnix => write::NET_AND_AGENT,
    }
}

/// Enters a domain of what is there of `reach`, and tries what is outside. Gives how much may be executed.
fn enter(seen: &mut Seen, reach: &Reach, ports: Ports<'_>) -> Executed {
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
    for path in &reach.programs {
        match handle(path) {
            Some((fd, SFlag::S_IFDIR)) => opened.programs.push(fd),
            _ => skipped += 1,
        }
    }
    let of_hooks = if reach.programs.is_empty() { &[][..] } else { &DEVICES_OF_HOOKS[..] };
    for path in DEVICES.iter().chain(of_hooks) {
        match handle(Path::new(path)) {
            Some((fd, SFlag::S_IFCHR)) => opened.devices.push(fd),
            _ => skipped += 1,
        }
    }
    let executed = Executed { files: opened.executed.len(), directories: opened.programs.len() };
    let domain = landlock::restrict_with(opened, ports);
    seen.enter(domain.map(|domain| landlock::Domain { skipped, ..domain }));
    seen.try_outside();
    executed
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Ward;
    use crate::trial::{ended, ensure, passes};
    use nix::sys::signal::Signal;
    use nix::sys::wait::WaitStatus;
    use std::fs;
    use std::process::Command;
    use std::time::Duration;

    /// A repository and its neighbour, beneath one root.
    struct Place {
        _keep: tempfile::TempDir,
        root: PathBuf,
        executed: Vec<PathBuf>,
    }

    fn place() -> Place {
        let keep = tempfile::tempdir().expect("a directory");
        let root = keep.path().canonicalize().expect("it is there");
        for dir in ["repository", "neighbour"] {
            fs::create_dir(root.join(dir)).expect("a directory");
            fs::write(root.join(dir).join("file"), "x").expect("a file");
        }
        Place { _keep: keep, root, executed: executed() }
    }

    impl Place {
        fn whole(&self) -> Reach {
            Reach { changed: vec![self.root.clone()], executed: self.executed.clone(), ..Reach::default() }
        }

        fn one(&self) -> Reach {
            Reach { changed: vec![self.root.join("repository")], ..self.whole() }
        }

        fn closed(&self, network: Network) -> Result<Enforced, String> {
            early()?;
            let short = |short: Short| format!("{:?}", short.enforced);
            let jail = WriteJail::begin(&self.whole(), network, true, true).map_err(short)?;
            jail.narrow(&self.one(), &[]).map_err(short)
        }
    }

    fn early() -> Result<(), String> {
        let early = crate::early::early(Some(256 << 20), crate::early::FEW_DESCRIPTORS, c"trial");
        early.map(drop).map_err(|error| error.to_string())
    }

    /// `true`, and what it needs: the loader and libc, where this machine has them.
    fn executed() -> Vec<PathBuf> {
        let list = Command::new("ldd").arg("/bin/true").output().map(|output| output.stdout).unwrap_or_default();
        let text = String::from_utf8_lossy(&list).into_owned();
        let words = text.split_whitespace().filter(|word| word.starts_with('/'));
        let all = words.chain(["/bin/true"]).filter_map(|path| Path::new(path).canonicalize().ok());
        all.collect()
    }

    fn starts(program: &str) -> Result<(), Errno> {
        let output = Command::new(program).output();
        output.map(drop).map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))
    }

    fn writes(path: &Path) -> Result<(), Errno> {
        open(path, OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_CLOEXEC, Mode::S_IRUSR | Mode::S_IWUSR).map(drop)
    }

    #[test]
    fn one_repository_is_changed_and_one_program_runs() {
        let place = place();
        passes(|| {
            let enforced = place.closed(Network::None)?;
            ensure(enforced.missing().count() == 0, format!("{enforced:?}"))?;
            let names: Vec<_> = enforced.rows.iter().map(|row| row.capability).collect();
            ensure(names == crate::enforced::CAPABILITIES, format!("{names:?}"))?;
            let repository = place.root.join("repository");
            ensure(writes(&repository.join("new")).is_ok(), "a new file")?;
            ensure(fs::rename(repository.join("file"), repository.join("moved")).is_ok(), "a move")?;
            ensure(fs::create_dir(repository.join("dir")).is_ok(), "a directory")?;
            ensure(writes(&place.root.join("neighbour/file")) == Err(Errno::EACCES), "the neighbour")?;
            ensure(starts("/bin/true") == Ok(()), "a program that was granted")?;
            ensure(starts("/bin/sh") == Err(Errno::EACCES), "a shell")
        });
    }

    /// What each layer is there for: with the others alone, the same succeeds.
    #[test]
    fn without_one_layer_what_it_refuses_succeeds() {
        let place = place();
        // without Landlock: files and programs
        passes(|| {
            early()?;
            let refuse = install(seccomp::refuse, policy(Network::None, false).refuse);
            ensure(refuse.on().is_some(), format!("{refuse:?}"))?;
            ensure(starts("/bin/sh") == Ok(()), "a shell")?;
            ensure(writes(&place.root.join("neighbour/file")) == Ok(()), "the neighbour")
        });
        // without the refusals: sockets and limits of others
        passes(|| {
            early()?;
            let mut seen = Seen::start(true, "one repository");
            enter(&mut seen, &place.one(), Ports::These(&[]));
            ensure(seen.landlock.on().is_some(), format!("{:?}", seen.landlock))?;
            let datagram = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None);
            ensure(datagram.is_ok(), format!("{datagram:?}"))
        });
        // without the list that ends the process
        let memory = || nix::sys::memfd::memfd_create(c"x", nix::sys::memfd::MFdFlags::MFD_CLOEXEC).map(drop);
        passes(|| {
            early()?;
            ensure(memory() == Ok(()), "memory with a name")
        });
        let (status, said) = ended(|| {
            place.closed(Network::None)?;
            Err(format!("{:?}", memory()))
        });
        assert!(matches!(status, WaitStatus::Signaled(_, Signal::SIGSYS, _)), "{status:?} {said}");
    }

    #[test]
    fn a_network_is_of_streams_and_unix_ones_are_for_an_agent() {
        let place = place();
        for (network, inet, unix) in [
            (Network::None, Err(Errno::EACCES), Err(Errno::EACCES)),
            (Network::Tcp, Ok(()), Err(Errno::EACCES)),
            (Network::TcpAndUnix, Ok(()), Ok(())),
        ] {
            passes(|| {
                let enforced = place.closed(network)?;
                let makes = |family, kind| socket(family, kind, SockFlag::SOCK_CLOEXEC, None).map(drop);
                let stream = makes(AddressFamily::Inet, SockType::Stream);
                ensure(stream == inet, format!("{network:?}: a TCP socket: {stream:?}"))?;
                let path = makes(AddressFamily::Unix, SockType::Stream);
                ensure(path == unix, format!("{network:?}: a UNIX socket: {path:?}"))?;
                for (family, kind) in [
                    (AddressFamily::Inet, SockType::Datagram),
                    (AddressFamily::Inet6, SockType::Raw),
                    (AddressFamily::Unix, SockType::Datagram),
                    (AddressFamily::Unix, SockType::SeqPacket),
                    (AddressFamily::Netlink, SockType::Raw),
                ] {
                    ensure(makes(family, kind) == Err(Errno::EACCES), format!("{network:?}: {family:?} {kind:?}"))?;
                }
                let pair = |kind| nix::sys::socket::socketpair(AddressFamily::Unix, kind, None, SockFlag::SOCK_CLOEXEC);
                let datagrams = pair(SockType::Datagram).map(drop);
                ensure(datagrams == Err(Errno::EACCES), format!("{network:?}: a pair of datagrams: {datagrams:?}"))?;
                let row = enforced.rows.iter().find(|row| row.capability == "network-tcp").ok_or("no row")?;
                let told = row.evidence.contains("any host on no port");
                ensure(told == (network != Network::None), row.evidence.clone())
            });
        }
    }

    #[test]
    fn hooks_have_a_shell_and_no_way_out() {
        let place = place();
        let system = ["/usr", "/bin", "/lib", "/lib64"].map(Path::new).into_iter();
        let system: Vec<_> = system.filter_map(|dir| dir.canonicalize().ok()).collect();
        let hook = place.root.join("repository/hook");
        fs::write(&hook, "#!/bin/sh\ntrue\n").expect("a file");
        fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
        fs::copy(&hook, place.root.join("neighbour/hook")).expect("ours");
        let with = |reach: Reach| Reach { programs: [&reach.changed[..], &system].concat(), ..reach };
        passes(|| {
            early()?;
            let short = |short: Short| format!("{:?}", short.enforced);
            let jail = WriteJail::begin(&with(place.whole()), Network::None, true, true).map_err(short)?;
            let enforced = jail.narrow(&with(place.one()), &[]).map_err(short)?;
            ensure(enforced.missing().count() == 0, format!("{enforced:?}"))?;
            let exec = enforced.rows.iter().find(|row| row.capability == "exec").ok_or("no row")?;
            ensure(exec.evidence.contains("for hooks"), exec.evidence.clone())?;
            let path = |path: &Path| path.display().to_string();
            ensure(starts("/bin/sh") == Ok(()) && starts(&path(&hook)) == Ok(()), "a shell, and a hook")?;
            let beside = starts(&path(&place.root.join("neighbour/hook")));
            ensure(beside == Err(Errno::EACCES), format!("the neighbour's: {beside:?}"))?;
            ensure(writes(&place.root.join("neighbour/file")) == Err(Errno::EACCES), "the neighbour")?;
            ensure(writes(&system[0].join("new")) == Err(Errno::EACCES), "the system")?;
            // programs of all kinds try these and go on without
            let makes = |family| socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).map(drop);
            for family in [AddressFamily::Inet, AddressFamily::Unix, AddressFamily::Netlink] {
                ensure(makes(family) == Err(Errno::EACCES), format!("{family:?}"))?;
            }
            let memory = nix::sys::memfd::memfd_create(c"x", nix::sys::memfd::MFdFlags::MFD_CLOEXEC).map(drop);
            ensure(memory == Err(Errno::EACCES), format!("memory with a name: {memory:?}"))?;
            let pair = nix::sys::socket::socketpair;
            let of = |family| pair(family, SockType::Stream, None, SockFlag::SOCK_CLOEXEC).map(drop);
            ensure(of(AddressFamily::Unix) == Ok(()), "a pair to talk over")?;
            let datagrams = pair(AddressFamily::Unix, SockType::Datagram, None, SockFlag::SOCK_CLOEXEC).map(drop);
            ensure(datagrams == Err(Errno::EACCES), format!("a pair that sends elsewhere: {datagrams:?}"))?;
            // by their numbers, with arguments that a kernel which has them answers otherwise
            // SAFETY: no pointer among the arguments is followed by a kernel that takes them.
            let call = |number| Errno::result(unsafe { libc::syscall(number, -1, 0, 0, 0, 0, 0) }).map(drop);
            for (number, answer) in
                [(463, Errno::EACCES), (466, Errno::EACCES), (469, Errno::EACCES), (470, Errno::ENOSYS)]
            {
                ensure(call(number) == Err(answer), format!("call {number}: {:?}", call(number)))?;
            }
            ensure(call(10_000) == Err(Errno::ENOSYS), "calls that are not there yet")
        });
        // whatever is asked for, a process with a network has none of the tables for hooks
        assert_eq!(policy(Network::Tcp, true).refuse, write::NET.refuse);
    }

    /// A filter around this process that answers a call by itself, as container profiles do.
    fn answers(call: libc::c_long, errno: i32) -> Result<(), String> {
        use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
        let rules = [(call, vec![])].into_iter().collect();
        let host = seccomp::host().map_err(|missing| missing.to_string())?;
        SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno.cast_unsigned()), host)
            .and_then(BpfProgram::try_from)
            .map_err(|error| error.to_string())
            .and_then(|program| seccomp::install(&program).map_err(|missing| missing.to_string()))
    }

    #[test]
    fn a_machine_without_a_layer_is_found_out_and_nothing_goes_on() {
        let place = place();
        let files: &[&str] = &["files-outside-roots", "writes", "exec"];
        for (call, errno, wanted) in [
            (libc::SYS_landlock_create_ruleset, libc::ENOSYS, files),
            (libc::SYS_landlock_create_ruleset, libc::EPERM, files),
            // one that only says yes
            (libc::SYS_landlock_restrict_self, 0, files),
            (libc::SYS_seccomp, libc::EPERM, &["network-tcp", "network-udp", "network-unix", "network-other"]),
        ] {
            passes(|| {
                early()?;
                answers(call, errno)?;
                let short = WriteJail::begin(&place.whole(), Network::None, true, true).err().ok_or("went on")?;
                let missing: Vec<_> = short.enforced.missing().map(|row| row.capability).collect();
                ensure(wanted.iter().all(|row| missing.contains(row)), format!("{call} {errno}: {missing:?}"))
            });
            // asked for as well as it goes, it goes on and says the same
            passes(|| {
                early()?;
                answers(call, errno)?;
                let jail = WriteJail::begin(&place.whole(), Network::None, true, false);
                let enforced = jail.map(|jail| jail.so_far()).map_err(|short| format!("{short:?}"))?;
                let missing: Vec<_> = enforced.missing().map(|row| row.capability).collect();
                ensure(wanted.iter().all(|row| missing.contains(row)), format!("{call} {errno}: {missing:?}"))
            });
        }
    }

    #[test]
    fn a_program_cannot_leave_the_group_by_which_it_is_ended() {
        passes(|| {
            let text = |error: std::io::Error| error.to_string();
            let ward = Ward::new().map_err(text)?;
            let mut command = Command::new("sh");
            // `setsid` of util-linux says so and fails where the call is refused
            command.args(["-c", "setsid true; echo $?; sleep 60 & sleep 60"]).stdout(std::process::Stdio::piped());
            let mut group = ward.start(command).map_err(text)?;
            let mut said = [0; 2];
            let mut out = group.child().stdout.take().ok_or("no output")?;
            std::io::Read::read_exact(&mut out, &mut said).map_err(text)?;
            ensure(said == *b"1\n", format!("{said:?}"))?;
            let status = group.end(Duration::from_secs(30)).map_err(text)?;
            ensure(status.code().is_none(), format!("it left with {status:?}"))?;
            // both of what it started are gone: nobody holds the pipe any more
            let rest = std::io::read_to_string(out).map_err(text)?;
            ensure(rest.is_empty(), rest)
        });
    }
}
