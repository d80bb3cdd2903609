//! Packets with descriptors over the SEQPACKET socket between supervisor and launcher.
//! Trust: the peer may be taken over: a packet or a list of descriptors that does not fit is refused whole.

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, sendmsg, socketpair};
use std::io::{self, IoSlice};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// Descriptors that one packet can carry at most, in either direction.
pub const MAX_DESCRIPTORS: usize = 8;

/// Room for [`MAX_DESCRIPTORS`] behind one control header, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// A connected pair of sockets for packets, blocking, closing on exec.
///
/// # Errors
/// When there are no descriptors to be had.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?)
}

/// Sends one packet, with copies of these descriptors. Never raises SIGPIPE.
///
/// # Errors
/// `WouldBlock` when the socket is non-blocking and full, `BrokenPipe` when the peer is gone, `InvalidInput` for more
/// than [`MAX_DESCRIPTORS`].
pub fn send(socket: BorrowedFd<'_>, packet: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    if fds.len() > MAX_DESCRIPTORS {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "more descriptors than a packet carries"));
    }
    let sent = if fds.is_empty() {
        nix::sys::socket::send(socket.as_raw_fd(), packet, MsgFlags::MSG_NOSIGNAL)?
    } else {
        let numbers: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
        let rights = [ControlMessage::ScmRights(&numbers)];
        sendmsg::<()>(socket.as_raw_fd(), &[IoSlice::new(packet)], &rights, MsgFlags::MSG_NOSIGNAL, None)?
    };
    match sent == packet.len() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::WriteZero, "a packet was sent in part")),
    }
}

/// What came with a packet.
#[derive(Debug)]
pub enum Received {
    /// All descriptors that were sent.
    Whole(Vec<OwnedFd>),
    /// This process had no room for all that were sent (its limit of open files); those that came are closed again.
    Cut,
}

/// Receives one packet and at most `max_fds` descriptors, which close on exec. `Ok((0, ..))` means that the peer is gone
/// (peers never send an empty packet).
///
/// # Errors
/// `InvalidData` when the packet is longer than the buffer, carries more descriptors than `max_fds` or than this process
/// has room for, or other control data; what was received is closed. `WouldBlock` when the socket is non-blocking and
/// empty.
pub fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8], max_fds: usize) -> io::Result<(usize, Vec<OwnedFd>)> {
    match receive_or_cut(socket, buffer, max_fds)? {
        (length, Received::Whole(fds)) => Ok((length, fds)),
        (_, Received::Cut) => Err(io::Error::new(io::ErrorKind::InvalidData, "descriptors of a packet were lost")),
    }
}

/// As [`receive`], for one who can go on without the descriptors: a packet stays readable where they were cut.
///
/// # Errors
/// As [`receive`], except where this process had no room for the descriptors.
pub fn receive_or_cut(socket: BorrowedFd<'_>, buffer: &mut [u8], max_fds: usize) -> io::Result<(usize, Received)> {
    let max_fds = max_fds.min(MAX_DESCRIPTORS);
    let mut control = Control([0; 64]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all-zero is a valid `msghdr`: no address, no parts, no control data.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    if max_fds > 0 {
        header.msg_control = control.0.as_mut_ptr().cast();
        // exactly the wanted number: the aligned length would let one more in
        let bytes = max_fds * size_of::<RawFd>();
        // SAFETY: pure arithmetic.
        header.msg_controllen = unsafe { libc::CMSG_LEN(u32::try_from(bytes).unwrap_or(0)) } as _;
    }
    // SAFETY: the header points to the caller's buffer and to `control`, both alive and writable for the call, with
    // their true lengths (8 descriptors need 48 of the 64 bytes).
    let length = Errno::result(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC) })?;
    let (fds, strange) = descriptors(&header);
    // the kernel cuts where its list outgrows the control buffer, which is full then, or where a number cannot be given
    let cut = header.msg_flags & libc::MSG_CTRUNC != 0;
    let too_many = cut && fds.len() == max_fds || fds.len() > max_fds;
    if header.msg_flags & libc::MSG_TRUNC != 0 || strange || too_many {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a packet or its descriptors did not fit"));
    }
    let length = usize::try_from(length).map_err(|_| io::ErrorKind::InvalidData)?;
    Ok((length, if cut { Received::Cut } else { Received::Whole(fds) }))
}

/// Takes every received descriptor into ownership, so that none can leak, and says whether there was anything else.
fn descriptors(header: &libc::msghdr) -> (Vec<OwnedFd>, bool) {
    let mut fds = Vec::new();
    let mut strange = false;
    // SAFETY: the kernel filled the control buffer and its length; the macros stay inside it. Every descriptor number in
    // an SCM_RIGHTS message was installed for this process and has no other owner.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(header);
        while !next.is_null() {
            let head = next.read_unaligned();
            if head.cmsg_level == libc::SOL_SOCKET && head.cmsg_type == libc::SCM_RIGHTS {
                let data = libc::CMSG_DATA(next).cast::<RawFd>();
                let bytes = (head.cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
                for index in 0..bytes / size_of::<RawFd>() {
                    fds.push(OwnedFd::from_raw_fd(data.add(index).read_unaligned()));
                }
            } else {
                strange = true;
            }
            next = libc::CMSG_NXTHDR(header, next);
        }
    }
    (fds, strange)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{ensure, passes};
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
    use std::fs;
    use std::os::fd::AsFd;

    fn pair() -> (OwnedFd, OwnedFd) {
        socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC).expect("two ends")
    }

    fn open_descriptors() -> usize {
        fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
    }

    #[test]
    fn a_packet_and_its_descriptors_arrive_whole_and_close_on_exec() {
        let (left, right) = pair();
        let (read, write) = nix::unistd::pipe().expect("a pipe");
        send(left.as_fd(), b"spawned", &[read.as_fd(), write.as_fd()]).expect("room");
        send(left.as_fd(), b"plain", &[]).expect("room");
        let mut buffer = [0; 16];
        let (length, fds) = receive(right.as_fd(), &mut buffer, 2).expect("a packet");
        assert_eq!((&buffer[..length], fds.len()), (&b"spawned"[..], 2));
        nix::unistd::write(&fds[1], b"x").expect("the pipe's other end");
        assert_eq!(nix::unistd::read(&fds[0], &mut buffer).expect("a byte"), 1);
        assert_eq!(fcntl(&fds[0], FcntlArg::F_GETFD).expect("open") & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
        let (length, fds) = receive(right.as_fd(), &mut buffer, 2).expect("a packet");
        assert_eq!((&buffer[..length], fds.len()), (&b"plain"[..], 0));
        drop(left);
        assert_eq!(receive(right.as_fd(), &mut buffer, 2).expect("the end").0, 0);
    }

    #[test]
    fn what_does_not_fit_is_refused_and_closed() {
        passes(|| {
            let (left, right) = pair();
            let (read, write) = nix::unistd::pipe().map_err(|error| error.to_string())?;
            let before = open_descriptors();
            let mut buffer = [0; 4];
            for (packet, fds, max) in [
                (&b"abcd"[..], &[read.as_fd(), write.as_fd()][..], 1),
                (b"abcd", &[read.as_fd()], 0),
                (b"abcde", &[read.as_fd()], 1),
                (b"abcde", &[], 0),
            ] {
                send(left.as_fd(), packet, fds).map_err(|error| error.to_string())?;
                let kind = receive(right.as_fd(), &mut buffer, max).map(drop).map_err(|error| error.kind());
                ensure(kind == Err(io::ErrorKind::InvalidData), format!("{packet:?} {} {max}: {kind:?}", fds.len()))?;
                ensure(open_descriptors() == before, "a descriptor stays open")?;
            }
            send(left.as_fd(), b"good", &[read.as_fd()]).map_err(|error| error.to_string())?;
            ensure(receive(right.as_fd(), &mut buffer, 1).is_ok_and(|(_, fds)| fds.len() == 1), "the next one")
        });
    }

    #[test]
    fn descriptors_without_room_are_closed_and_the_packet_is_told() {
        passes(|| {
            let text = |error: nix::Error| error.to_string();
            let (left, right) = pair();
            let (read, write) = nix::unistd::pipe().map_err(text)?;
            let mut buffer = [0; 8];
            let free = nix::unistd::dup(&read).map_err(text)?.as_raw_fd();
            let limits = getrlimit(Resource::RLIMIT_NOFILE).map_err(text)?;
            for room in [0, 1] {
                let highest = libc::rlim_t::try_from(free + room).map_err(|error| error.to_string())?;
                for _ in 0..2 {
                    send(left.as_fd(), b"abcd", &[read.as_fd(), write.as_fd()]).map_err(|error| error.to_string())?;
                }
                setrlimit(Resource::RLIMIT_NOFILE, highest, limits.1).map_err(text)?;
                let told = receive_or_cut(right.as_fd(), &mut buffer, 2);
                let refused = receive(right.as_fd(), &mut buffer, 2).map(drop).map_err(|error| error.kind());
                setrlimit(Resource::RLIMIT_NOFILE, limits.0, limits.1).map_err(text)?;
                ensure(matches!(told, Ok((4, Received::Cut))) && buffer.starts_with(b"abcd"), format!("{told:?}"))?;
                ensure(refused == Err(io::ErrorKind::InvalidData), format!("{refused:?}"))?;
                let next = nix::unistd::dup(&read).map_err(text)?.as_raw_fd();
                ensure(next == free, format!("{next} instead of {free}: a descriptor stays open"))?;
            }
            send(left.as_fd(), b"good", &[read.as_fd()]).map_err(|error| error.to_string())?;
            ensure(receive(right.as_fd(), &mut buffer, 1).is_ok_and(|(_, fds)| fds.len() == 1), "the next one")
        });
    }

    #[test]
    fn too_many_descriptors_are_not_sent() {
        let (left, _right) = pair();
        let many = [left.as_fd(); MAX_DESCRIPTORS + 1];
        assert_eq!(send(left.as_fd(), b"x", &many).map_err(|error| error.kind()), Err(io::ErrorKind::InvalidInput));
        send(left.as_fd(), b"x", &many[1..]).expect("as many as fit");
    }

    #[test]
    fn a_peer_that_is_gone_is_an_error_and_no_signal() {
        let (left, right) = pair();
        drop(right);
        assert_eq!(send(left.as_fd(), b"x", &[]).map_err(|error| error.kind()), Err(io::ErrorKind::BrokenPipe));
    }
}
