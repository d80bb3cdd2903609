//! One TCP connection to one loopback address, made without waiting.
//! Trust: the address is the operator's; whoever listens there may accept late, never, or refuse.

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, connect, getpeername, getsockname, getsockopt, setsockopt,
    socket, sockopt,
};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A connection that may still be under way. Non-blocking, closes on exec.
#[derive(Debug)]
pub struct Dialling(OwnedFd);

/// Begins to connect. Nothing waits: [`Dialling::connected`] says how far it is, once the descriptor can be written.
///
/// # Errors
/// `InvalidInput` for an address that is not a loopback address; a refusal that comes at once; no more descriptors.
pub fn begin(address: SocketAddr) -> io::Result<Dialling> {
    if !address.ip().is_loopback() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a loopback address"));
    }
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let fd = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)?;
    // requests are written whole: waiting to fill a packet only delays them
    setsockopt(&fd, sockopt::TcpNoDelay, &true)?;
    match connect(fd.as_raw_fd(), &SockaddrStorage::from(address)) {
        Ok(()) | Err(Errno::EINPROGRESS | Errno::EINTR) => Ok(Dialling(fd)),
        Err(errno) => Err(errno.into()),
    }
}

impl Dialling {
    /// To be waited for until it can be written.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// How it went, once the descriptor can be written.
    ///
    /// # Errors
    /// Why it failed: refused, unreachable.
    pub fn connected(self) -> io::Result<OwnedFd> {
        match getsockopt(&self.0, sockopt::SocketError)? {
            0 => {}
            errno => return Err(io::Error::from_raw_os_error(errno)),
        }
        let (ours, theirs) =
            (getsockname::<SockaddrStorage>(self.0.as_raw_fd())?, getpeername::<SockaddrStorage>(self.0.as_raw_fd())?);
        // nobody listens and the system chose that very port for our end: the connection is to ourselves
        if ours == theirs {
            return Err(Errno::ECONNREFUSED.into());
        }
        Ok(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener};

    fn waited(dialling: Dialling) -> io::Result<OwnedFd> {
        poll(&mut [PollFd::new(dialling.fd(), PollFlags::POLLOUT)], PollTimeout::NONE)?;
        dialling.connected()
    }

    #[test]
    fn a_listener_is_reached_and_nobody_is_told_apart() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = listener.local_addr().expect("its address");
        let fd = begin(address).and_then(waited).expect("it listens");
        let mut stream = std::net::TcpStream::from(fd);
        assert!(stream.nodelay().expect("a stream"));
        assert_eq!(stream.read(&mut [0]).expect_err("nothing is there").kind(), io::ErrorKind::WouldBlock);
        let (mut accepted, _) = listener.accept().expect("a connection");
        stream.write_all(b"x").expect("room");
        accepted.read_exact(&mut [0]).expect("a byte");
        drop(listener);
        let refused = begin(address).and_then(waited).expect_err("nobody listens");
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn no_address_but_a_loopback_one_is_dialled() {
        for address in ["0.0.0.0:80", "192.0.2.1:80", "[::]:80", "[::ffff:127.0.0.1]:80", "[2001:db8::1]:80"] {
            let refused = begin(address.parse().expect("an address")).map(drop).map_err(|e| e.kind());
            assert_eq!(refused, Err(io::ErrorKind::InvalidInput), "{address}");
        }
    }
}
