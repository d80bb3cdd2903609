//! Network: every kind of socket, and the ways to reach somebody that a port rule does not see.
//! Trust: part of the attacker; see `probe`.

use super::raw::{descriptor, sys};
use super::{No, Probe, Step, Targets, Tried, done, reached};
use libc::{AF_INET, AF_INET6, AF_UNIX, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_NONBLOCK, SOCK_RAW, SOCK_STREAM};
use nix::errno::Errno;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

/// A protocol that is TCP for the application and not for a port rule.
const MPTCP: i32 = 262;
const SCTP: i32 = 132;

/// The family `net`.
pub const ALL: &[Probe] = &[
    Probe { name: "net.tcp-gw", attempt: |t| tcp(Ipv4Addr::LOCALHOST, t.gateway_port, 0) },
    Probe { name: "net.tcp-other", attempt: |t| tcp(Ipv4Addr::LOCALHOST, t.other_port, 0) },
    Probe { name: "net.tcp-ext-gwport", attempt: |t| tcp(second_address(t)?, t.gateway_port, 0) },
    Probe { name: "net.tcp-ext-other", attempt: |t| tcp(second_address(t)?, t.other_port, 0) },
    Probe { name: "net.tfo-other", attempt: |t| fast_open(Ipv4Addr::LOCALHOST, t.other_port) },
    Probe { name: "net.tfo-ext", attempt: |t| fast_open(second_address(t)?, t.other_port) },
    Probe {
        name: "net.tcp-bind",
        attempt: |_| {
            let socket = socket(AF_INET, SOCK_STREAM, 0).step("socket")?;
            sys!(libc::SYS_bind, &socket, &ipv4(Ipv4Addr::LOCALHOST, 0), 16).step("bind")?;
            done(sys!(libc::SYS_listen, &socket, 1))
        },
    },
    Probe {
        name: "net.tcp6-other",
        attempt: |t| {
            let socket = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0).step("socket")?;
            let mut address = [0u8; 28];
            address[..2].copy_from_slice(&(AF_INET6 as u16).to_ne_bytes());
            address[2..4].copy_from_slice(&t.other_port.to_be_bytes());
            address[23] = 1;
            reached(sys!(libc::SYS_connect, &socket, &address, 28), &UNDER_WAY)
        },
    },
    Probe { name: "net.mptcp-other", attempt: |t| tcp(Ipv4Addr::LOCALHOST, t.other_port, MPTCP) },
    Probe {
        name: "net.udp",
        attempt: |t| {
            let socket = socket(AF_INET, SOCK_DGRAM, 0).step("socket")?;
            done(sys!(libc::SYS_sendto, &socket, b"x", 1, 0, &ipv4(Ipv4Addr::LOCALHOST, t.other_port), 16))
        },
    },
    Probe { name: "net.udp6", attempt: |_| done(socket(AF_INET6, SOCK_DGRAM, 0)) },
    Probe { name: "net.raw", attempt: |_| done(socket(AF_INET, SOCK_RAW, libc::IPPROTO_ICMP)) },
    Probe { name: "net.netlink", attempt: |_| done(socket(libc::AF_NETLINK, SOCK_RAW, 0)) },
    Probe { name: "net.packet", attempt: |_| done(socket(libc::AF_PACKET, SOCK_RAW, 0)) },
    Probe { name: "net.vsock", attempt: |_| done(socket(libc::AF_VSOCK, SOCK_STREAM, 0)) },
    Probe { name: "net.alg", attempt: |_| done(socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0)) },
    Probe { name: "net.sctp", attempt: |_| done(socket(AF_INET, SOCK_STREAM, SCTP)) },
    Probe { name: "net.unix-path", attempt: |t| unix(t.unix_path.as_bytes()) },
    Probe { name: "net.unix-abstract", attempt: |t| unix(format!("\0{}", t.abstract_name).as_bytes()) },
    Probe { name: "net.unix-dgram", attempt: |_| done(socket(AF_UNIX, SOCK_DGRAM, 0)) },
    Probe {
        name: "net.socketpair",
        attempt: |_| done(sys!(libc::SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, &mut [0i32; 2])),
    },
];

/// A connection attempt that was let through: it is under way, or the other end refuses it.
const UNDER_WAY: [Errno; 2] = [Errno::EINPROGRESS, Errno::ECONNREFUSED];

fn second_address(targets: &Targets) -> Result<Ipv4Addr, No> {
    targets.second_address.ok_or(No::Nothing("this machine has loopback addresses only"))
}

fn socket(family: i32, kind: i32, protocol: i32) -> Result<OwnedFd, Errno> {
    descriptor(sys!(libc::SYS_socket, family, kind | SOCK_CLOEXEC, protocol))
}

/// `struct sockaddr_in`.
fn ipv4(host: Ipv4Addr, port: u16) -> [u8; 16] {
    let mut address = [0u8; 16];
    address[..2].copy_from_slice(&(AF_INET as u16).to_ne_bytes());
    address[2..4].copy_from_slice(&port.to_be_bytes());
    address[4..8].copy_from_slice(&host.octets());
    address
}

fn tcp(host: Ipv4Addr, port: u16, protocol: i32) -> Tried {
    let socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, protocol).step("socket")?;
    reached(sys!(libc::SYS_connect, &socket, &ipv4(host, port), 16), &UNDER_WAY)
}

/// Connects without `connect`.
fn fast_open(host: Ipv4Addr, port: u16) -> Tried {
    let socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0).step("socket")?;
    let sent = sys!(libc::SYS_sendto, &socket, b"x", 1, libc::MSG_FASTOPEN, &ipv4(host, port), 16);
    reached(sent, &UNDER_WAY)
}

/// Connects a stream to this name: a path, or a zero and an abstract name.
fn unix(name: &[u8]) -> Tried {
    let socket = socket(AF_UNIX, SOCK_STREAM, 0).step("socket")?;
    let mut address = [0u8; 110];
    address[..2].copy_from_slice(&(AF_UNIX as u16).to_ne_bytes());
    let Some(room) = address.get_mut(2..2 + name.len()) else { return Err(No::Nothing("the name is too long")) };
    room.copy_from_slice(name);
    done(sys!(libc::SYS_connect, &socket, &address, 2 + name.len()))
}
