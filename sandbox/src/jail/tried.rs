//! What a finished jail refuses, tried from inside, for `doctor` and for a worker's own report.
//! Trust: only calls that a filter of ours answers with an errno, never one that it kills for; none leaves a trace where
//! it succeeds.

use crate::enforced::{NONE, Row};
use crate::layers::name;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::signal::kill;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};
use nix::sys::stat::{Mode, stat};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

/// Tries, and reports one row for each capability that can be tried: the enforcer is what the kernel answered, or
/// [`NONE`] where the attempt succeeded. `parent` is the process that argv names; it is sent no signal, only asked after.
#[must_use]
pub fn self_probe(parent: i32) -> Vec<Row> {
    let opens = |path: &str, flags| open(path, flags | OFlag::O_CLOEXEC, Mode::empty()).map(drop);
    let makes =
        |family, kind, protocol: Option<SockProtocol>| socket(family, kind, SockFlag::SOCK_CLOEXEC, protocol).map(drop);
    let (stream, datagram) = (SockType::Stream, SockType::Datagram);
    vec![
        row("files-outside-roots", "open of /etc to read", opens("/etc", OFlag::O_RDONLY | OFlag::O_DIRECTORY)),
        row("writes", "open of /dev/null to write", opens("/dev/null", OFlag::O_WRONLY)),
        // nothing needs to refuse it, see the report's row
        Row { sufficient: true, ..row("metadata-outside-roots", "stat of /etc", stat("/etc").map(drop)) },
        row("network-tcp", "a TCP socket", makes(AddressFamily::Inet, stream, None)),
        row("network-udp", "a UDP socket", makes(AddressFamily::Inet, datagram, None)),
        row("network-unix", "a UNIX socket", makes(AddressFamily::Unix, stream, None)),
        row(
            "network-other",
            "a netlink socket",
            makes(AddressFamily::Netlink, SockType::Raw, Some(SockProtocol::NetlinkRoute)),
        ),
        row("signals", "asking after the parent by kill", kill(Pid::from_raw(parent.max(1)), None)),
        row("kernel-surface", "a process of its own by clone", process()),
    ]
}

/// The same for a process that may start Git and change a repository, of either kind; `hooks` says that it may execute more
/// than single files.
#[must_use]
pub fn probe_of_writer(parent: i32, hooks: bool) -> Vec<Row> {
    let opens = |path: &str, flags| open(path, flags | OFlag::O_CLOEXEC, Mode::empty()).map(drop);
    let makes =
        |family, kind, protocol: Option<SockProtocol>| socket(family, kind, SockFlag::SOCK_CLOEXEC, protocol).map(drop);
    let open_to = |row: Row| Row { sufficient: true, ..row };
    let exec = row("exec", "a program of its own", program("/proc/self/exe"));
    vec![
        row("files-outside-roots", "open of /etc to read", opens("/etc", OFlag::O_RDONLY | OFlag::O_DIRECTORY)),
        // everybody may, where nothing stands in the way
        row("writes", "open of /dev/full to write", opens("/dev/full", OFlag::O_WRONLY)),
        open_to(row("metadata-outside-roots", "stat of /etc", stat("/etc").map(drop))),
        if hooks { open_to(exec) } else { exec },
        // the kind with a network has these, to the ports that its report names
        open_to(row("network-tcp", "a TCP socket", makes(AddressFamily::Inet, SockType::Stream, None))),
        row("network-udp", "a UDP socket", makes(AddressFamily::Inet, SockType::Datagram, None)),
        open_to(row("network-unix", "a UNIX socket", makes(AddressFamily::Unix, SockType::Stream, None))),
        row(
            "network-other",
            "a netlink socket",
            makes(AddressFamily::Netlink, SockType::Raw, Some(SockProtocol::NetlinkRoute)),
        ),
        // a matter of the kernel's version, as the report says
        open_to(row("signals", "asking after the parent by kill", kill(Pid::from_raw(parent.max(1)), None))),
        row("kernel-surface", "a namespace of its own by clone", clone_with(libc::CLONE_NEWUSER)),
    ]
}

/// Starts a program in a process of its own.
fn program(path: &str) -> nix::Result<()> {
    match std::process::Command::new(path).arg("--version").output() {
        Ok(_) => Ok(()),
        Err(error) => Err(Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))),
    }
}

fn row(capability: &'static str, tried: &str, answer: nix::Result<()>) -> Row {
    let (enforcer, evidence) = match answer {
        Ok(()) => (NONE.to_owned(), format!("{tried}: succeeded")),
        Err(errno) => (name(errno), format!("{tried}: {}", name(errno))),
    };
    Row { capability, enforcer, sufficient: answer.is_err(), evidence }
}

/// Starts a process, which leaves at once.
fn process() -> nix::Result<()> {
    clone_with(0)
}

/// The same with flags besides.
fn clone_with(flags: libc::c_int) -> nix::Result<()> {
    let zero = 0 as libc::c_long;
    // SAFETY: with no flags that share anything and no stack this is fork by the call that filters see; the child makes one
    // async-signal-safe call.
    let answer = Errno::result(unsafe {
        libc::syscall(libc::SYS_clone, libc::c_long::from(libc::SIGCHLD | flags), zero, zero, zero, zero)
    })?;
    match i32::try_from(answer) {
        // SAFETY: leaves at once.
        Ok(0) => unsafe { libc::_exit(0) },
        Ok(child) => waitpid(Pid::from_raw(child), None).map(drop),
        Err(_) => Err(Errno::EOVERFLOW),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jail::read::{ReadJail, ReadPlan};
    use crate::trial::{ensure, passes};
    use nix::unistd::getppid;

    #[test]
    fn everything_but_metadata_is_refused_in_the_jail_and_nothing_outside_of_it() {
        passes(|| {
            let parent = getppid().as_raw();
            let outside = self_probe(parent);
            ensure(outside.iter().all(|row| row.enforcer == NONE), format!("outside: {outside:?}"))?;
            let plan = ReadPlan { ceilings: &[], empty_root: false, demand_required: true };
            let closed = ReadJail::begin(&plan).and_then(|jail| jail.narrow(&[], &[])?.close());
            ensure(closed.is_ok(), format!("{closed:?}"))?;
            for row in self_probe(parent) {
                let refused = row.enforcer != NONE;
                ensure(row.sufficient && refused == (row.capability != "metadata-outside-roots"), format!("{row:?}"))?;
            }
            Ok(())
        });
    }
}
