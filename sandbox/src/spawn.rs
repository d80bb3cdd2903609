//! Starting a worker: three pipes, a fork, an exec of this same file, everything else closed.
//! Trust: the kind is a word of the launcher's table; nothing that a peer wrote reaches argv or the environment.

use crate::image::Image;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pipe2};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// Milliseconds that a child may take from fork to exec; more means a file system that hangs.
const EXEC_DEADLINE_MS: u16 = 10_000;

/// A worker that was started. The three ends are blocking and close on exec.
#[derive(Debug)]
pub struct Child {
    /// Its process id; a child of the caller, to be reaped by [`crate::children::Deaths`].
    pub pid: i32,
    /// What it is asked; we write.
    pub requests: OwnedFd,
    /// What it answers; we read.
    pub answers: OwnedFd,
    /// Its standard error; we read.
    pub stderr: OwnedFd,
}

/// Why no worker runs. No child is left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{step} failed with errno {errno}")]
pub struct SpawnError {
    /// Which step.
    pub step: &'static str,
    /// The system's reason.
    pub errno: i32,
}

impl SpawnError {
    fn at(step: &'static str) -> impl Fn(Errno) -> SpawnError {
        move |errno| SpawnError { step, errno: errno as i32 }
    }
}

/// Starts a worker of this kind from the image: argv `bulkhead-<kind> worker <kind> <our pid>`, a constant environment,
/// descriptors 0 and 1 `/dev/null`, 2 a pipe, 3 and 4 its request and answer pipes, 5 `extra` where there is one, no
/// others. Returns when exec is done.
/// The worker dies with the calling *thread*, so only the launcher's one thread may call this.
///
/// # Errors
/// The step that failed, on either side of the fork.
pub fn worker(image: &Image, kind: &str, extra: Option<BorrowedFd<'_>>) -> Result<Child, SpawnError> {
    let text = |text: String| CString::new(text).map_err(|_| SpawnError { step: "argv", errno: libc::EINVAL });
    let argv = [
        text(format!("bulkhead-{kind}"))?,
        c"worker".to_owned(),
        text(kind.to_owned())?,
        text(Pid::this().as_raw().to_string())?,
    ];
    start(image.as_fd(), &argv, extra)
}

/// Starts a program by descriptor.
fn start(image: BorrowedFd<'_>, argv: &[CString], extra: Option<BorrowedFd<'_>>) -> Result<Child, SpawnError> {
    let pipe = || pipe2(OFlag::O_CLOEXEC).map_err(SpawnError::at("pipe"));
    let (their_requests, requests) = pipe()?;
    let (answers, their_answers) = pipe()?;
    let (stderr, their_stderr) = pipe()?;
    let (status, their_status) = pipe()?;
    let argv: Vec<_> = argv.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect();
    let birth = Birth {
        parent: Pid::this(),
        image: image.as_raw_fd(),
        requests: their_requests.as_raw_fd(),
        answers: their_answers.as_raw_fd(),
        stderr: their_stderr.as_raw_fd(),
        status: their_status.as_raw_fd(),
        extra: extra.map(|fd| fd.as_raw_fd()),
        argv: &argv,
    };
    // SAFETY: the child makes async-signal-safe calls only, on memory prepared above, and never returns from `run`.
    match unsafe { fork() }.map_err(SpawnError::at("fork"))? {
        ForkResult::Child => birth.run(),
        ForkResult::Parent { child } => {
            drop((their_requests, their_answers, their_stderr, their_status));
            match outcome(status) {
                None => Ok(Child { pid: child.as_raw(), requests, answers, stderr }),
                Some(error) => {
                    // an error means that it has left or hangs; neither may stay behind as a child nobody knows
                    let _ = nix::sys::signal::kill(child, nix::sys::signal::Signal::SIGKILL);
                    let _ = waitpid(child, None);
                    Err(error)
                }
            }
        }
    }
}

/// Lets reads and writes of this descriptor return instead of wait. The flag belongs to the open pipe end, so it also
/// holds for whoever receives the descriptor.
///
/// # Errors
/// When the descriptor has no flags.
pub fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    let flags = OFlag::from_bits_retain(fcntl(fd, FcntlArg::F_GETFL)?);
    fcntl(fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    Ok(())
}

/// What the child says before exec closes its end: nothing, or the step that failed and its errno.
fn outcome(status: OwnedFd) -> Option<SpawnError> {
    let ready = poll(&mut [PollFd::new(status.as_fd(), PollFlags::POLLIN)], PollTimeout::from(EXEC_DEADLINE_MS));
    if let Ok(0) = ready {
        return Some(SpawnError { step: "exec", errno: libc::ETIMEDOUT });
    }
    let mut said = [0u8; 8];
    match File::from(status).read(&mut said) {
        Ok(0) => None,
        Ok(8) => {
            let [a, b, c, d, e, f, g, h] = said;
            let step = usize::try_from(u32::from_ne_bytes([a, b, c, d])).ok().and_then(|step| STEPS.get(step));
            Some(SpawnError { step: step.unwrap_or(&"set-up"), errno: i32::from_ne_bytes([e, f, g, h]) })
        }
        Ok(_) => Some(SpawnError { step: "set-up", errno: libc::EPROTO }),
        Err(error) => Some(SpawnError { step: "set-up", errno: error.raw_os_error().unwrap_or(libc::EIO) }),
    }
}

/// The steps of the child, by the number it reports.
const STEPS: [&str; 8] = [
    "parent-death signal",
    "parent check",
    "no new privileges",
    "/dev/null",
    "descriptors",
    "chdir",
    "signals",
    "exec",
];

/// Where its pipe ends, and what it has besides, must be after exec; the two above serve until then and close with it.
const AT_REQUESTS: RawFd = 3;
const AT_ANSWERS: RawFd = 4;
const AT_EXTRA: RawFd = 5;
const AT_STATUS: RawFd = 6;
const AT_IMAGE: RawFd = 7;
/// Everything is lifted above this first, so that no placing overwrites another's source.
const LIFTED: RawFd = 10;
/// How many descriptors are closed one by one where `close_range` is missing; all of ours close on exec besides.
const MAX_BY_HAND: RawFd = 65_536;

/// The environment, built from nothing. Without `HOME`, Git libraries and libc ask the name service, which opens a
/// socket; a POSIX `TZ` keeps libc from reading zone files.
const ENVIRONMENT: [&CStr; 3] = [c"HOME=/nonexistent", c"TZ=UTC0", c"LC_ALL=C"];

/// What the child needs between fork and exec, prepared by the parent.
struct Birth<'a> {
    parent: Pid,
    image: RawFd,
    requests: RawFd,
    answers: RawFd,
    stderr: RawFd,
    status: RawFd,
    extra: Option<RawFd>,
    argv: &'a [*const libc::c_char],
}

impl Birth<'_> {
    /// Runs the steps; says where they failed, if they did, and leaves.
    fn run(&self) -> ! {
        let (step, status) = self.steps();
        let errno = Errno::last_raw();
        let mut said = [0u8; 8];
        said[..4].copy_from_slice(&step.to_ne_bytes());
        said[4..].copy_from_slice(&errno.to_ne_bytes());
        // SAFETY: 8 readable bytes; a write this small to a pipe is whole or fails. `_exit` runs none of the parent's code.
        unsafe {
            libc::write(status, said.as_ptr().cast(), said.len());
            libc::_exit(127)
        }
    }

    /// Only async-signal-safe calls: another thread of the parent may have held any lock at the fork. Returns the step
    /// that failed and where to report it.
    fn steps(&self) -> (u32, RawFd) {
        // SAFETY: plain system calls on numbers and on strings that the parent prepared and this copy of it keeps.
        unsafe {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) != 0 {
                return (0, self.status);
            }
            // the parent may have died before the signal was asked for
            if libc::getppid() != self.parent.as_raw() {
                return (1, self.status);
            }
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1u64, 0u64, 0u64, 0u64) != 0 {
                return (2, self.status);
            }
            let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if null < 0 {
                return (3, self.status);
            }
            let lift = |fd| libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, LIFTED);
            let status = lift(self.status);
            if status < 0 {
                return (4, self.status);
            }
            let (null, requests, answers) = (lift(null), lift(self.requests), lift(self.answers));
            let (stderr, image) = (lift(self.stderr), lift(self.image));
            let extra = self.extra.map_or(null, lift);
            let placed = [null, requests, answers, stderr, image, extra].iter().all(|fd| *fd >= 0)
                && libc::dup2(null, 0) >= 0
                && libc::dup2(null, 1) >= 0
                && libc::dup2(stderr, 2) >= 0
                && libc::dup2(requests, AT_REQUESTS) >= 0
                && libc::dup2(answers, AT_ANSWERS) >= 0
                && libc::dup2(extra, AT_EXTRA) >= 0
                && libc::dup3(status, AT_STATUS, libc::O_CLOEXEC) >= 0
                && libc::dup3(image, AT_IMAGE, libc::O_CLOEXEC) >= 0;
            if !placed {
                return (4, status);
            }
            if self.extra.is_none() {
                libc::close(AT_EXTRA);
            }
            if libc::syscall(libc::SYS_close_range, AT_IMAGE + 1, u32::MAX, 0) != 0 {
                let mut limit: libc::rlimit = std::mem::zeroed();
                libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
                for fd in AT_IMAGE + 1..RawFd::try_from(limit.rlim_cur).unwrap_or(MAX_BY_HAND).min(MAX_BY_HAND) {
                    libc::close(fd);
                }
            }
            if libc::chdir(c"/".as_ptr()) != 0 {
                return (5, AT_STATUS);
            }
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            if libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) != 0
                || libc::signal(libc::SIGPIPE, libc::SIG_DFL) == libc::SIG_ERR
            {
                return (6, AT_STATUS);
            }
            let [home, zone, locale] = ENVIRONMENT;
            let environment = [home.as_ptr(), zone.as_ptr(), locale.as_ptr(), std::ptr::null()];
            libc::syscall(
                libc::SYS_execveat,
                AT_IMAGE,
                c"".as_ptr(),
                self.argv.as_ptr(),
                environment.as_ptr(),
                libc::AT_EMPTY_PATH,
            );
            (7, AT_STATUS)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::children::{Deaths, Ended};
    use crate::trial::{ensure, passes};
    use nix::fcntl::open;
    use nix::sys::stat::Mode;
    use std::io::Write;

    fn program(path: &str) -> OwnedFd {
        open(path, OFlag::O_PATH | OFlag::O_CLOEXEC, Mode::empty()).expect("a program")
    }

    fn shell(script: &str) -> Result<Child, SpawnError> {
        let word = |text: &str| CString::new(text).expect("no null byte");
        start(program("/bin/sh").as_fd(), &[word("bulkhead-trial"), word("-c"), word(script)], None)
    }

    fn answer(child: Child) -> (String, String) {
        drop(child.requests);
        let text = |fd: OwnedFd| io::read_to_string(File::from(fd)).expect("text");
        (text(child.answers), text(child.stderr))
    }

    #[test]
    fn it_starts_with_five_descriptors_three_variables_and_no_way_up() {
        let child = shell(
            "out=$(readlink /proc/$$/fd/1)
             ls /proc/self/fd >&4; readlink /proc/$$/cwd >&4; tr '\\0' '\\n' </proc/$$/environ >&4
             grep NoNewPrivs /proc/self/status >&4; grep SigBlk /proc/self/status >&4
             readlink /proc/$$/fd/0 >&4; echo $out >&4; echo aside >&2",
        )
        .expect("a child");
        let pid = Pid::from_raw(child.pid);
        let (said, aside) = answer(child);
        // 5 is the directory that `ls` reads
        let expected = "0\n1\n2\n3\n4\n5\n/\nHOME=/nonexistent\nTZ=UTC0\nLC_ALL=C\n\
            NoNewPrivs:\t1\nSigBlk:\t0000000000000000\n/dev/null\n/dev/null\n";
        assert_eq!((said.as_str(), aside.as_str()), (expected, "aside\n"));
        waitpid(pid, None).expect("our own child");
    }

    #[test]
    fn requests_come_by_3_and_answers_go_by_4() {
        let mut child = shell("read line <&3; echo \"got $line\" >&4").expect("a child");
        let pid = Pid::from_raw(child.pid);
        let mut requests = File::from(child.requests.try_clone().expect("a copy"));
        requests.write_all(b"question\n").expect("a reader");
        drop(requests);
        child.requests = program("/dev/null");
        assert_eq!(answer(child).0, "got question\n");
        waitpid(pid, None).expect("our own child");
    }

    #[test]
    fn a_failed_exec_says_so_and_leaves_no_child() {
        passes(|| {
            let error = start(program("/dev/null").as_fd(), &[c"x".to_owned()], None).err();
            ensure(error == Some(SpawnError { step: "exec", errno: libc::EACCES }), format!("{error:?}"))?;
            ensure(waitpid(None::<Pid>, None) == Err(Errno::ECHILD), "a child is left")
        });
    }

    #[test]
    fn every_death_is_told_once() {
        passes(|| {
            let text = |error: io::Error| error.to_string();
            let mut deaths = Deaths::watch().map_err(text)?;
            let good = shell("exit 3").map_err(|error| error.to_string())?;
            let hangs = shell("read line <&3").map_err(|error| error.to_string())?;
            crate::children::kill_child(hangs.pid).map_err(text)?;
            let mut told = Vec::new();
            while told.len() < 2 {
                poll(&mut [PollFd::new(deaths.fd(), PollFlags::POLLIN)], PollTimeout::NONE)
                    .map_err(|e| e.to_string())?;
                told.extend(deaths.drain());
            }
            told.sort_unstable_by_key(|(pid, _)| *pid != good.pid);
            let expected = [(good.pid, Ended::Exit(3)), (hangs.pid, Ended::Signal(libc::SIGKILL))];
            ensure(told == expected && deaths.drain().is_empty(), format!("{told:?}"))
        });
    }
}
