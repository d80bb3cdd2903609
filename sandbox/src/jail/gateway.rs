//! The jail of worker-gateway, in one step: no file, no path, no way to any address; streams come connected.
//! Trust: no input; the kernel's answers are read.

use super::install;
use super::seen::Seen;
use crate::enforced::Enforced;
use crate::layers::{capabilities, seccomp};
use crate::policy::Live;
use crate::policy::gateway::POLICY;

/// Locks the calling process down: no capabilities, a Landlock domain without a rule (neither for files nor for ports), the
/// filter that ends the process, the allow-list. The token must be loaded and the event loop built by then; streams come by
/// the launcher's socket afterwards. Call it with one thread. Never fails: the rows say what is missing.
#[must_use]
pub fn gateway() -> Enforced {
    let mut seen = unfiltered();
    seen.kill = install(seccomp::kill, POLICY.kill);
    seen.admit_only(&POLICY, &Live::worker());
    seen.confined()
}

/// What stands before the filters.
fn unfiltered() -> Seen {
    let mut seen = Seen::start(false, "no file");
    seen.capabilities = capabilities::drop_all().into();
    seen.leave_all_files();
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::landlock::since;
    use crate::policy::{Call, Row, base, gateway};
    use crate::trial::{ended, ensure, passes};
    use nix::errno::Errno;
    use nix::sys::socket::{
        AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, shutdown, socket, sockopt,
    };
    use nix::sys::wait::WaitStatus;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
    use std::os::fd::{AsRawFd, OwnedFd};

    /// A connected stream as it is handed over, and the end that the application holds.
    fn stream() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let ours = TcpStream::connect(listener.local_addr().expect("its address")).expect("it listens");
        (ours, listener.accept().expect("a connection").0)
    }

    fn dials(address: SocketAddrV4) -> Result<(), Errno> {
        let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
        connect(fd.as_raw_fd(), &SockaddrIn::from(address))
    }

    /// At a number that is not the one of the launcher's socket, whatever the harness has open.
    fn aside(fd: OwnedFd) -> Result<std::fs::File, String> {
        use nix::fcntl::{FcntlArg, fcntl};
        let number = fcntl(&fd, FcntlArg::F_DUPFD_CLOEXEC(50)).map_err(|errno| errno.to_string())?;
        // SAFETY: the kernel has just returned it as new, so nobody else owns it.
        Ok(unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(number) }.into())
    }

    #[test]
    fn a_stream_can_be_read_and_written_and_nothing_else_be_done_with_it() {
        let (ours, theirs) = stream();
        passes(|| {
            // written by `write`, as the jail wants it of this end too
            let mut theirs = aside(OwnedFd::from(theirs))?;
            let mut file = aside(OwnedFd::from(ours))?;
            crate::early::early(Some(256 << 20), crate::early::FEW_DESCRIPTORS, c"trial")
                .map_err(|error| error.to_string())?;
            let enforced = gateway();
            ensure(enforced.missing().count() == 0, format!("{enforced:?}"))?;
            let text = |error: std::io::Error| error.to_string();
            file.write_all(b"asked").map_err(text)?;
            theirs.write_all(b"answered").map_err(text)?;
            let mut answer = [0; 8];
            file.read_exact(&mut answer).map_err(text)?;
            let refused = [
                ("shut down", shutdown(file.as_raw_fd(), nix::sys::socket::Shutdown::Both)),
                ("an option set", setsockopt(&file, sockopt::ReuseAddr, &true)),
                ("a socket made", dials(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1))),
                (
                    "a message sent",
                    nix::sys::socket::send(file.as_raw_fd(), b"x", nix::sys::socket::MsgFlags::empty()).map(drop),
                ),
                (
                    "a message received",
                    nix::sys::socket::recv(file.as_raw_fd(), &mut answer, nix::sys::socket::MsgFlags::empty())
                        .map(drop),
                ),
            ];
            for (what, answer) in refused {
                ensure(answer == Err(Errno::ENOSYS), format!("{what}: {answer:?}"))?;
            }
            ensure(std::fs::File::open("/dev/null").is_err(), "opened")?;
            ensure(std::thread::Builder::new().spawn(|| ()).is_err(), "a thread")?;
            // SAFETY: a number that is open and one that is not; refused by the filter.
            let replaced = Errno::result(unsafe { libc::dup2(file.as_raw_fd(), 99) });
            ensure(replaced == Err(Errno::ENOSYS), format!("put in another's place: {replaced:?}"))?;
            // in the place of the launcher's socket a packet could leave over it, and still none to an address
            let place = gateway::DIALLER.cast_signed();
            let elsewhere = [libc::AF_INET as u16, 80u16.to_be(), 0x7f00, 0x0200];
            // SAFETY: numbers of this child alone; the address is as long as it says.
            let answer = unsafe {
                // whichever of these has that number already
                let aside = libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 50);
                libc::close(place);
                let there = libc::fcntl(aside, libc::F_DUPFD_CLOEXEC, place);
                ensure(there == place, format!("{there} instead of {place}"))?;
                let flags = libc::MSG_FASTOPEN;
                Errno::result(libc::sendto(place, b"x".as_ptr().cast(), 1, flags, elsewhere.as_ptr().cast(), 8))
            };
            ensure(answer == Err(Errno::ENOSYS), format!("sent to an address: {answer:?}"))
        });
    }

    #[test]
    fn aiming_a_stream_anew_ends_the_process() {
        let (ours, _theirs) = stream();
        let (status, said) = ended(|| {
            crate::early::early(Some(256 << 20), crate::early::FEW_DESCRIPTORS, c"trial")
                .map_err(|error| error.to_string())?;
            let _ = gateway();
            let elsewhere = SockaddrIn::from(SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 2), 1));
            Err(format!("{:?}", connect(ours.as_raw_fd(), &elsewhere)))
        });
        assert!(matches!(status, WaitStatus::Signaled(_, nix::sys::signal::Signal::SIGSYS, _)), "{status:?} {said}");
    }

    /// The allow-list with what it would take to dial, and no list that ends the process: what is left is Landlock.
    const PATCHED: &[Row] = &[
        Row { call: Call(libc::SYS_socket), when: &[], why: "patched in by this test" },
        Row { call: Call(libc::SYS_connect), when: &[], why: "patched in by this test" },
    ];

    /// In a network of its own: the loopback device up, with a second address of this machine that is no loopback address.
    fn own_network() -> Result<Ipv4Addr, Errno> {
        use nix::sched::{CloneFlags, unshare};
        let flags = CloneFlags::CLONE_NEWNET;
        unshare(flags).or_else(|_| unshare(flags | CloneFlags::CLONE_NEWUSER))?;
        let fd = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        let second = Ipv4Addr::new(10, 77, 0, 1);
        // SAFETY: all-zero is a valid request; names and addresses are written within their arrays below.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        let mut named = |name: &[u8]| {
            request.ifr_name = [0; libc::IFNAMSIZ];
            for (to, from) in request.ifr_name.iter_mut().zip(name) {
                *to = from.cast_signed();
            }
            request
        };
        let mut up = named(b"lo");
        up.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        // SAFETY: an interface request, alive for the call.
        Errno::result(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const up) })?;
        let mut alias = named(b"lo:1");
        let address = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: 0,
            sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(second.octets()) },
            sin_zero: [0; 8],
        };
        // SAFETY: `sockaddr_in` and `sockaddr` have the same size; the field is a union that may hold either.
        alias.ifr_ifru.ifru_addr = unsafe { std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(address) };
        // SAFETY: as above.
        Errno::result(unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCSIFADDR, &raw const alias) })?;
        Ok(second)
    }

    #[test]
    fn with_connect_patched_in_the_same_port_of_another_address_stays_out_of_reach() {
        const UNMET: &str = "unmet: ";
        let (status, said) = ended(|| {
            let second = own_network().map_err(|errno| format!("{UNMET}no network of its own here ({errno})"))?;
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).map_err(|error| error.to_string())?;
            let port = listener.local_addr().map_err(|error| error.to_string())?.port();
            let all = [Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2), second];
            for host in all {
                dials(SocketAddrV4::new(host, port)).map_err(|errno| format!("{host} before the jail: {errno}"))?;
            }
            crate::early::early(Some(256 << 20), crate::early::FEW_DESCRIPTORS, c"trial")
                .map_err(|error| error.to_string())?;
            let seen = unfiltered();
            if seen.landlock(since::TCP).is_none() {
                return Err(format!("{UNMET}this kernel's Landlock knows no TCP"));
            }
            let tables: &[&[Row]] = &[base::BASE, gateway::GATEWAY, gateway::LEGACY, PATCHED];
            ensure(install(seccomp::allow, Some(tables)).on().is_some(), "no filter")?;
            for host in all {
                let answer = dials(SocketAddrV4::new(host, port));
                ensure(answer == Err(Errno::EACCES), format!("{host}: {answer:?}"))?;
            }
            Ok(())
        });
        if said.starts_with(UNMET) {
            eprintln!("SKIPPED 1: {said}");
            return;
        }
        assert!(matches!(status, WaitStatus::Exited(_, 0)), "{status:?}: {said}");
    }
}
