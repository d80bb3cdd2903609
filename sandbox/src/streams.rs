//! Waiting for standard input or output, which a host may have made non-blocking for everybody who shares them.
//! Trust: the descriptor is our own; whoever shares it may change its flags at any time.

use std::time::Duration;

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
}
