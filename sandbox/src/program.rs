//! Programs that a jailed process starts: each in a group that it cannot leave, and which is ended as a whole.
//! Trust: what runs there may be taken over, ignore signals, and start others; nothing of it outlives the group's end.

mod keeper;
mod talk;

pub use talk::{Talk, Terms};

use keeper::Keeper;

use crate::early;
use crate::layers::{landlock, seccomp};
use crate::policy::{
    Live, Row,
    write::{NO_PAIR, STAY},
};
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{Signal, killpg};
use nix::sys::stat::{Mode, umask};
use nix::sys::wait::{Id, WaitPidFlag, waitid, waitpid};
use nix::unistd::Pid;
use seccompiler::BpfProgram;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What every program that this process starts is put under. Made once; cheap to use.
#[derive(Debug, Clone)]
pub struct Ward {
    stay: Arc<BpfProgram>,
    umask: Option<Mode>,
    keeper: Keeper,
    /// By which no program can signal this process, or another program of it, where the kernel can tell.
    apart: Option<Arc<OwnedFd>>,
}

/// How long a group that is dropped may take to go away.
const PATIENCE: Duration = Duration::from_secs(1);
/// Pause between two looks at a group that is being ended.
const PAUSE: Duration = Duration::from_millis(1);
/// How long a program that has not ended by itself is given to take away its lock files and what else it has begun, also where
/// it just waits for a disk. Less than what this process itself is given where nobody waits for it any more.
const LEAVE: Duration = Duration::from_secs(1);

impl Ward {
    /// For the calling process, which from now on takes in what its programs leave behind: orphans become its children,
    /// so that it can wait for the last of them. Where it is killed itself, a process that it starts here ends them, with the
    /// walls of this moment.
    ///
    /// # Errors
    /// The step that the kernel refused.
    pub fn new() -> io::Result<Self> {
        early::set(libc::PR_SET_CHILD_SUBREAPER, 1)?;
        let apart = landlock::apart().map_err(|missing| io::Error::other(missing.to_string()))?;
        Ok(Self { stay: filter(&[STAY, NO_PAIR])?, umask: None, keeper: Keeper::start()?, apart: apart.map(Arc::new) })
    }

    /// For programs that talk over a network, and to what they start over pairs of sockets.
    ///
    /// # Errors
    /// No filter can be built for this machine.
    pub fn with_pairs(self) -> io::Result<Self> {
        Ok(Self { stay: filter(&[STAY])?, ..self })
    }

    /// With files that get permissions by this mask, in place of the process's own.
    #[must_use]
    pub fn with_umask(self, umask: u32) -> Self {
        Self { umask: Some(Mode::from_bits_truncate(umask)), ..self }
    }

    /// Does something under the mask of permissions that programs are started with. The mask is the whole process's.
    pub fn with_its_umask<T>(&self, something: impl FnOnce() -> T) -> T {
        let Some(mask) = self.umask else { return something() };
        let own = umask(mask);
        let done = something();
        umask(own);
        done
    }

    /// Starts a program in a group of its own that ends with this thread. Only the calling thread may wait for it.
    ///
    /// # Errors
    /// When there is no process to be had, or the program cannot be executed.
    pub fn start(&self, mut command: Command) -> io::Result<Group> {
        let (stay, mask, parent) = (Arc::clone(&self.stay), self.umask, Pid::this());
        let (announce, apart) = (self.keeper.announce(), self.apart.clone());
        let birth = move || {
            nix::unistd::setsid()?;
            announce()?;
            mask.map(umask);
            early::set(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong)?;
            // the parent may have died before the signal was asked for
            if nix::unistd::getppid() != parent {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            // one that could end its maker would have nobody look at what it did; where the kernel takes no domain at all, the
            // jail has said so already
            let _ = apart.as_deref().map(landlock::enter_apart);
            seccomp::install_here(&stay)
        };
        // SAFETY: plain system calls on numbers and on a filter that was built before the fork; nothing is allocated, no
        // lock is taken, and nothing is unwound.
        unsafe { command.pre_exec(birth) };
        let child = command.spawn()?;
        Ok(Group { leader: Pid::from_raw(child.id().cast_signed()), child, status: None, keeper: self.keeper.clone() })
    }
}

fn filter(tables: &[&[Row]]) -> io::Result<Arc<BpfProgram>> {
    let program = seccomp::host().and_then(|host| seccomp::refuse(tables, &Live::worker(), host));
    program.map(Arc::new).map_err(|missing| io::Error::other(missing.to_string()))
}

/// A program and whatever it started.
#[derive(Debug)]
pub struct Group {
    leader: Pid,
    child: Child,
    status: Option<ExitStatus>,
    keeper: Keeper,
}

impl Group {
    /// The program, for its streams. Not to be waited for.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Whether the program has ended; does not wait, and leaves its number taken, so that what follows ends nobody else.
    fn has_ended(&self) -> bool {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(self.leader), flags) {
            Ok(nix::sys::wait::WaitStatus::StillAlive) | Err(Errno::EINTR) => false,
            // also where its end was by a signal without a name
            Ok(_) | Err(_) => true,
        }
    }

    /// Ends all of the group, and waits until the last of it is gone, at most for `patience`. A program that is still at work
    /// is told to end first, and given a moment: Git removes its lock files then, which nobody else may. Gives how the
    /// program ended; where a signal did it, that may have been ours.
    ///
    /// # Errors
    /// `TimedOut` where something of it hangs in the kernel.
    pub fn end(mut self, patience: Duration) -> io::Result<ExitStatus> {
        self.gone(patience)
    }

    fn gone(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        if self.status.is_none() && !self.has_ended() {
            let leave = Instant::now() + LEAVE;
            let _ = killpg(self.leader, Signal::SIGTERM);
            while !self.has_ended() && Instant::now() < leave {
                std::thread::sleep(PAUSE);
            }
        }
        let until = Instant::now() + patience;
        loop {
            // the leader's number is not given away before the last member is waited for below
            let _ = killpg(self.leader, Signal::SIGKILL);
            if self.status.is_none() {
                self.status = self.child.try_wait()?;
            }
            if let Some(status) = self.status
                && !self.left()
            {
                self.keeper.forget(self.leader);
                return Ok(status);
            }
            if Instant::now() >= until {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Takes away members that have ended, and says whether others are left. Only after the leader was waited for.
    fn left(&self) -> bool {
        loop {
            match waitpid(Pid::from_raw(-self.leader.as_raw()), Some(WaitPidFlag::WNOHANG)) {
                Ok(nix::sys::wait::WaitStatus::StillAlive) => return true,
                Err(Errno::ECHILD) => return false,
                // one was taken away, or ended by a signal without a name
                Ok(_) | Err(_) => {}
            }
        }
    }
}

/// One that nobody heard or ended goes away with the value: what it was to do, nobody wants any more.
impl Drop for Group {
    fn drop(&mut self) {
        if self.status.is_none() {
            // what does not go away hangs in the kernel, and is ended with this process
            let _ = self.gone(PATIENCE);
        }
    }
}

/// What programs may use up. How many processes they are is not limited: the kernel counts all of the user's, also those
/// that cannot be seen from a container, so a limit would at times be under what there is already.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes of the longest file that they write.
    pub file: u64,
    /// Seconds of processor time of one of them.
    pub seconds: u64,
}

/// Sets the limits that programs inherit; lower ones stay.
///
/// # Errors
/// The kernel refused.
pub fn bound(bounds: &Bounds) -> io::Result<()> {
    let lower = |what, value: u64| -> io::Result<()> {
        let (_, outer) = getrlimit(what)?;
        let value = value.min(outer);
        Ok(setrlimit(what, value, value)?)
    };
    lower(Resource::RLIMIT_FSIZE, bounds.file)?;
    lower(Resource::RLIMIT_CPU, bounds.seconds)
}

/// The mask of permissions that this process was started with, which programs that write for the user must have; it is
/// 077 afterwards.
#[must_use]
pub fn take_umask() -> u32 {
    umask(Mode::from_bits_truncate(0o077)).bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{ensure, passes};
    use std::process::Stdio;

    /// Where a domain that knows nothing of files is entered, files would stay in their directories.
    #[test]
    fn a_program_moves_files_between_directories() {
        let keep = tempfile::tempdir().expect("a directory");
        let place = keep.path().to_owned();
        for name in ["a", "b"] {
            std::fs::create_dir(place.join(name)).expect("ours");
        }
        std::fs::write(place.join("a/file"), "").expect("ours");
        passes(|| {
            let text = |error: io::Error| error.to_string();
            let ward = Ward::new().map_err(text)?;
            let mut command = Command::new("perl");
            command.args(["-e", "rename 'a/file', 'b/file' or die $!"]).current_dir(&place);
            let mut group = ward.start(command).map_err(text)?;
            let status = group.child().wait().map_err(text)?;
            ensure(status.success() && place.join("b/file").exists(), format!("{status}"))
        });
    }

    /// Signals reach what a program started itself, and neither its maker nor another program of that.
    #[test]
    fn a_program_signals_its_own_and_nobody_else() {
        if !landlock::version().is_ok_and(|version| version >= landlock::since::SCOPES) {
            // what a jail for hooks then lacks is shown where that is put together
            return;
        }
        passes(|| {
            let text = |error: io::Error| error.to_string();
            let ward = Ward::new().map_err(text)?;
            let shell = |script: &str| {
                let mut command = Command::new("sh");
                command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
                command
            };
            let beside = ward.start(shell("sleep 600")).map_err(text)?;
            let maker = Pid::this();
            let script = format!(
                "sleep 600 & kill -0 $! && kill $! && echo own; kill -0 {maker} || echo maker; kill -STOP {maker} || echo stop; \
                 kill -0 {} || echo beside",
                beside.leader
            );
            let mut group = ward.start(shell(&script)).map_err(text)?;
            let mut said = String::new();
            let out = group.child().stdout.take().ok_or("no output")?;
            io::Read::read_to_string(&mut io::BufReader::new(out), &mut said).map_err(text)?;
            ensure(said == "own\nmaker\nstop\nbeside\n", said)?;
            group.end(Duration::from_secs(30)).and(beside.end(Duration::from_secs(30))).map(drop).map_err(text)
        });
    }
}
