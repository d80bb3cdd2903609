//! Feeding a program and hearing it until it has ended: one loop over its streams and its end, without threads or pauses.
//! Trust: the program may say anything at any length, or nothing, and may read none of what it is fed.

use super::Group;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::process::{ChildStdin, ExitStatus};
use std::time::{Duration, Instant};

/// Bytes that are read or written in one go: what a pipe holds.
const PIECE: usize = 64 << 10;

/// What is kept of a program's streams, how often somebody looks whether it is still wanted, and how long its end may take.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Bytes of standard output that are kept; more is read and dropped.
    pub stdout: usize,
    /// The same of standard error.
    pub stderr: usize,
    /// The longest time between two looks.
    pub look: Duration,
    /// How long the last of a group that was ended may stay.
    pub patience: Duration,
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub struct Talk {
    /// Its exit code, or the signal that ended it.
    pub status: ExitStatus,
    /// At most [`Terms::stdout`] bytes, from its beginning.
    pub stdout: Vec<u8>,
    /// At most [`Terms::stderr`] bytes, from its beginning.
    pub stderr: Vec<u8>,
    /// One of them was longer.
    pub cut: bool,
}

impl Group {
    /// Feeds it these bytes, hears it until it has ended, and ends whatever it left behind. `unwanted` is asked at least
    /// once in [`Terms::look`]; when it gives a reason, all of the group is ended and the reason is the outcome.
    ///
    /// # Errors
    /// Those of the kernel; `TimedOut` where something of the group does not go away. The group was told to end by then.
    pub fn talk<T>(
        mut self,
        input: &[u8],
        terms: Terms,
        mut unwanted: impl FnMut() -> Option<T>,
    ) -> io::Result<Result<Talk, T>> {
        let heard = self.hear(input, terms, &mut unwanted);
        // whatever came of it: nothing of it goes on
        let status = self.end(terms.patience);
        let (mut out, mut err) = match heard? {
            Ok(streams) => streams,
            Err(why) => return status.map(|_| Err(why)),
        };
        let status = status?;
        let until = Instant::now() + terms.patience;
        // nobody else holds their other ends any more, so what is missing is there already
        while out.is_open() || err.is_open() {
            if Instant::now() >= until {
                return Err(io::Error::other("its output did not end"));
            }
            let mut wanted: Vec<_> = [out.wanted(), err.wanted()].into_iter().flatten().collect();
            wait(&mut wanted, terms.look)?;
            drop(wanted);
            out.take()?;
            err.take()?;
        }
        let cut = out.cut || err.cut;
        Ok(Ok(Talk { status, stdout: out.kept, stderr: err.kept, cut }))
    }

    /// Until the program itself has ended, whatever it left behind.
    fn hear<T>(
        &mut self,
        input: &[u8],
        terms: Terms,
        unwanted: &mut impl FnMut() -> Option<T>,
    ) -> io::Result<Result<(Stream, Stream), T>> {
        let end = self.watched()?;
        let child = self.child();
        let mut out = Stream::of(child.stdout.take().map(OwnedFd::from), terms.stdout)?;
        let mut err = Stream::of(child.stderr.take().map(OwnedFd::from), terms.stderr)?;
        let mut feed = Feed::of(child.stdin.take(), input)?;
        loop {
            feed.give();
            let mut wanted = vec![PollFd::new(end.as_fd(), PollFlags::POLLIN)];
            wanted.extend([out.wanted(), err.wanted(), feed.wanted()].into_iter().flatten());
            wait(&mut wanted, terms.look)?;
            let ended = wanted[0].any().unwrap_or(true);
            drop(wanted);
            out.take()?;
            err.take()?;
            if ended {
                return Ok(Ok((out, err)));
            }
            if let Some(why) = unwanted() {
                return Ok(Err(why));
            }
        }
    }

    /// A descriptor that can be read once the program has ended.
    fn watched(&self) -> io::Result<OwnedFd> {
        // SAFETY: a plain system call on numbers; the program is a child that was not waited for, so its number is its own.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, self.leader.as_raw(), 0) };
        let fd = i32::try_from(Errno::result(fd)?).map_err(io::Error::other)?;
        // SAFETY: the kernel just made this descriptor, with close-on-exec, and nobody else knows it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// One of its streams, as far as it was heard.
struct Stream {
    from: Option<std::fs::File>,
    kept: Vec<u8>,
    most: usize,
    cut: bool,
}

impl Stream {
    fn of(from: Option<OwnedFd>, most: usize) -> io::Result<Self> {
        if let Some(from) = &from {
            without_waiting(from)?;
        }
        Ok(Self { from: from.map(std::fs::File::from), kept: Vec::new(), most, cut: false })
    }

    fn is_open(&self) -> bool {
        self.from.is_some()
    }

    fn wanted(&self) -> Option<PollFd<'_>> {
        self.from.as_ref().map(|from| PollFd::new(from.as_fd(), PollFlags::POLLIN))
    }

    /// Takes what is there, one piece of it: a program that never stops speaking must not keep anybody from looking.
    fn take(&mut self) -> io::Result<()> {
        let Some(from) = &mut self.from else { return Ok(()) };
        let mut piece = [0; PIECE];
        match from.read(&mut piece) {
            Ok(0) => self.from = None,
            Ok(length) => {
                let room = self.most - self.kept.len();
                self.kept.extend_from_slice(&piece[..length.min(room)]);
                self.cut |= length > room;
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }
}

/// What is still to be fed; the stream is closed behind the last of it, and where nobody reads any more.
struct Feed<'i> {
    to: Option<ChildStdin>,
    rest: &'i [u8],
}

impl<'i> Feed<'i> {
    fn of(to: Option<ChildStdin>, input: &'i [u8]) -> io::Result<Self> {
        if let Some(to) = &to {
            without_waiting(to)?;
        }
        Ok(Self { to, rest: input })
    }

    fn wanted(&self) -> Option<PollFd<'_>> {
        self.to.as_ref().map(|to| PollFd::new(to.as_fd(), PollFlags::POLLOUT))
    }

    fn give(&mut self) {
        let Some(to) = &mut self.to else { return };
        let done = match self.rest {
            [] => true,
            rest => match to.write(&rest[..rest.len().min(PIECE)]) {
                Ok(length) => {
                    self.rest = &rest[length..];
                    self.rest.is_empty()
                }
                // a program need not read all
                Err(e) => !matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
            },
        };
        if done {
            self.to = None;
        }
    }
}

fn without_waiting(fd: &impl AsFd) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

fn wait(fds: &mut [PollFd<'_>], at_most: Duration) -> io::Result<()> {
    let timeout = PollTimeout::try_from(at_most).unwrap_or(PollTimeout::MAX);
    match poll(fds, timeout) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Ward;
    use std::process::{Command, Stdio};

    const TERMS: Terms =
        Terms { stdout: 100_000, stderr: 10, look: Duration::from_millis(20), patience: Duration::from_secs(30) };

    fn shell(script: &str) -> Group {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ward::new().expect("a filter").start(command).expect("a shell")
    }

    fn heard(script: &str, input: &[u8]) -> Talk {
        shell(script).talk(input, TERMS, || None::<()>).expect("the kernel answers").expect("nobody objects")
    }

    #[test]
    fn more_than_a_pipe_holds_passes_in_both_directions() {
        let input: Vec<u8> = (0..90_000_u32).map(|at| u8::try_from(at % 251).expect("it is below 256")).collect();
        let talk = heard("cat", &input);
        assert_eq!((talk.stdout == input, talk.cut, talk.status.code()), (true, false, Some(0)));
        // a program that reads nothing, and one that speaks before it reads
        assert_eq!(heard("exit 3", &vec![0; 1 << 20]).status.code(), Some(3));
        assert_eq!(heard("head -c 90000 /dev/zero; cat >/dev/null", &input).stdout.len(), 90_000);
    }

    #[test]
    fn what_is_too_long_is_cut_and_told_and_what_was_left_behind_is_ended() {
        let talk = heard("head -c 200000 /dev/zero; echo 0123456789abc >&2; sleep 600 & exit 0", b"");
        assert_eq!((talk.stdout.len(), talk.stderr.as_slice(), talk.cut), (100_000, &b"0123456789"[..], true));
    }

    #[test]
    fn a_signal_is_told_and_a_reason_ends_all() {
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(heard("kill -TERM $$", b"").status.signal(), Some(15));
        let mut looks = 0;
        let unwanted = shell("yes & sleep 600").talk(b"", TERMS, || {
            looks += 1;
            (looks > 3).then_some("enough")
        });
        assert_eq!(unwanted.expect("the kernel answers").err(), Some("enough"));
    }
}
