//! Waiting for standard input or output, which a host may have made non-blocking for everybody who shares them; and trying
//! them without waiting, whatever their flags are.
//! Trust: the descriptor is our own; whoever shares it may change its flags at any time.

use std::time::Duration;
#[cfg(target_os = "linux")]
use std::{io, os::fd::AsRawFd as _};

#[cfg(unix)]
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
#[cfg(unix)]
use std::os::fd::AsFd;

/// How long [`pause`] takes: short enough for an agent, long enough for an idle machine.
const PAUSE: Duration = Duration::from_millis(5);

/// Waits until reading makes sense (data, the end or an error), at most for `patience`. May return early, so that the
/// caller reads again and waits again.
#[cfg(unix)]
pub fn readable(stream: impl AsFd, patience: Duration) {
    wait(&stream, PollFlags::POLLIN, patience);
}

/// Waits until writing makes sense (room or an error), at most for `patience`. May return early, so that the caller
/// writes again and waits again.
#[cfg(unix)]
pub fn writable(stream: impl AsFd, patience: Duration) {
    wait(&stream, PollFlags::POLLOUT, patience);
}

/// Whether nothing more will come by `stream`, even where not all that came was read yet. Never of a regular file.
#[cfg(unix)]
pub fn hung_up(stream: impl AsFd) -> bool {
    #[cfg(target_os = "linux")]
    let asked = PollFlags::from_bits_retain(libc::POLLRDHUP);
    #[cfg(not(target_os = "linux"))]
    let asked = PollFlags::empty();
    let mut fds = [PollFd::new(stream.as_fd(), asked)];
    let ready = poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ready| ready > 0);
    ready && fds[0].revents().is_some_and(|seen| seen.intersects(asked | PollFlags::POLLHUP | PollFlags::POLLERR))
}

/// This system has no common way to look: never.
#[cfg(not(unix))]
pub fn hung_up<S>(_stream: S) -> bool {
    false
}

/// Waits a little, because this system has no common way to wait for a stream.
#[cfg(not(unix))]
pub fn readable<S>(_stream: S, _patience: Duration) {
    pause();
}

/// Waits a little, because this system has no common way to wait for a stream.
#[cfg(not(unix))]
pub fn writable<S>(_stream: S, _patience: Duration) {
    pause();
}

/// Waits a little: for streams that nothing else can wait for.
pub fn pause() {
    std::thread::sleep(PAUSE);
}

/// Whether `stream` is a pipe or a socket: the kinds that [`read_now`] and [`write_now`] can try.
#[cfg(target_os = "linux")]
pub fn is_pipe_or_socket(stream: impl AsFd) -> bool {
    use nix::sys::stat::{SFlag, fstat};
    fstat(stream).is_ok_and(|stat| {
        let kind = SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits());
        kind == SFlag::S_IFIFO || kind == SFlag::S_IFSOCK
    })
}

/// Reads what is there, at most `into.len()` bytes; 0 at the end. Never blocks, whatever the flags of the stream are.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] while nothing is there, [`io::ErrorKind::Unsupported`] where the kernel cannot try streams of
/// this kind (pipes and sockets since Linux 6.4), and the stream's own.
#[cfg(target_os = "linux")]
pub fn read_now(stream: impl AsFd, into: &mut [u8]) -> io::Result<usize> {
    let buffer = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    // SAFETY: the one buffer is valid for writes of its length and outlives the call; the descriptor is borrowed.
    let got = unsafe { libc::preadv2(stream.as_fd().as_raw_fd(), &raw const buffer, 1, -1, libc::RWF_NOWAIT) };
    length(got)
}

/// Writes as much of `bytes` as the stream takes now. Never blocks, whatever its flags are.
///
/// # Errors
/// As [`read_now`].
#[cfg(target_os = "linux")]
pub fn write_now(stream: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let buffer = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: the one buffer is valid for reads of its length, is not written to, and outlives the call.
    let put = unsafe { libc::pwritev2(stream.as_fd().as_raw_fd(), &raw const buffer, 1, -1, libc::RWF_NOWAIT) };
    length(put)
}

#[cfg(target_os = "linux")]
fn length(returned: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| {
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            // the kernel's word, the C library's for an old kernel, and a filter's
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => io::ErrorKind::Unsupported.into(),
            _ => error,
        }
    })
}

#[cfg(unix)]
fn wait(stream: &impl AsFd, events: PollFlags, patience: Duration) {
    let mut one = [PollFd::new(stream.as_fd(), events)];
    let timeout = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
    // an error must not turn the caller's loop into a busy one
    if poll(&mut one, timeout).is_err() {
        pause();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::{
        io::{self, Read, Write},
        sync::mpsc,
        thread,
    };

    /// Longer than any test may take: a wait that only its patience ends fails the test.
    const FOREVER: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_pipe_is_waited_for_until_it_has_data_or_its_end() {
        let (mut read, mut write) = io::pipe().expect("a pipe");
        readable(&read, Duration::ZERO);
        let (waits, waited) = mpsc::channel();
        let reader = thread::spawn(move || {
            waits.send(()).expect("the test waits");
            readable(&read, FOREVER);
            let mut byte = [0];
            read.read_exact(&mut byte).expect("a byte");
            readable(&read, FOREVER);
            read.read(&mut byte).expect("the end")
        });
        waited.recv().expect("the reader lives");
        write.write_all(b"x").expect("the reader lives");
        drop(write);
        assert_eq!(reader.join().expect("no panic"), 0);
    }

    #[test]
    fn a_pipe_without_a_reader_is_not_waited_for() {
        let (read, write) = io::pipe().expect("a pipe");
        writable(&write, FOREVER);
        drop(read);
        writable(&write, FOREVER);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_there_is_taken_and_nothing_is_waited_for() {
        use std::os::unix::net::UnixStream;
        fn both_ways(read: &(impl AsFd + Read), write: &(impl AsFd + Write), kind: &str) {
            assert!(is_pipe_or_socket(read) && is_pipe_or_socket(write));
            let mut piece = [0; 4096];
            let error = read_now(read, &mut piece).expect_err("nothing is there").kind();
            if error == io::ErrorKind::Unsupported {
                eprintln!("SKIPPED {kind}: this kernel cannot try it without waiting (Linux 6.4 can)");
                return;
            }
            assert_eq!(error, io::ErrorKind::WouldBlock, "{kind}");
            let mut put = 0;
            let full = loop {
                match write_now(write, &piece) {
                    Ok(length) => put += length,
                    Err(error) => break error.kind(),
                }
            };
            assert_eq!(full, io::ErrorKind::WouldBlock, "{kind}");
            let mut got = 0;
            while let Ok(length) = read_now(read, &mut piece) {
                got += length;
            }
            assert_eq!((got, got > 0), (put, true), "{kind}");
        }
        let (read, write) = io::pipe().expect("a pipe");
        both_ways(&read, &write, "pipe");
        drop(write);
        assert!(matches!(read_now(&read, &mut [0; 8]), Ok(0) | Err(_)), "the end");
        let (one, other) = UnixStream::pair().expect("a pair");
        both_ways(&one, &other, "socket");
        assert!(!is_pipe_or_socket(std::fs::File::open("/dev/null").expect("it is there")));
    }
}
