//! One run of Git: with which words and variables, for how long, and what came of it.
//! Trust: Git may have been taken over by the repository; its output is bytes, cut at a limit, and it never outlives its run.

mod running;
mod words;

use bulkhead_ipc::edge::write::{Allowed, MAX_RAN, MAX_REASON};
pub(crate) use running::Begun;
use std::{
    cell::RefCell,
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
    time::Instant,
};
pub(crate) use words::YIELDING;
use words::{ENVIRONMENT, PINS, PROTOCOLS};

/// Bytes of standard output that a run keeps; what is more is read and dropped.
pub const MAX_OUTPUT: usize = 32 << 20;
/// Bytes of standard error that a run keeps, from its beginning.
pub const MAX_ERRORS: usize = 64 << 10;

/// What came of one run of Git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it: a fault of its own, the kernel short of memory, somebody's `kill`.
    pub signal: Option<i32>,
    /// At most [`MAX_OUTPUT`] bytes.
    pub stdout: Vec<u8>,
    /// At most [`MAX_ERRORS`] bytes.
    pub stderr: Vec<u8>,
    /// There was more of one of them.
    pub cut: bool,
}

/// Why a run has no outcome. Git and all that it started are gone by then; what they left half-done is there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRun {
    /// The call's time was over.
    #[error("the time for this call was over")]
    Deadline,
    /// Nobody waits for the call any more.
    #[error("the call was cancelled")]
    Cancelled,
    /// Git could not be started or not be waited for, and why.
    #[error("git could not be run: {0}")]
    Spawn(String),
}

/// How Git is run on the one repository: program, words, variables, time.
pub struct Git {
    program: PathBuf,
    directory: PathBuf,
    words: Vec<OsString>,
    /// The operator's own settings, as far as the repository does not have its own in their place.
    pinned: RefCell<Vec<(String, String)>>,
    environment: Vec<(OsString, OsString)>,
    deadline: Instant,
    cancelled: Box<dyn Fn() -> bool>,
    /// What ran, where that is logged.
    ran: Option<RefCell<Vec<String>>>,
    /// The repository's lock, where it was opened ahead of its time.
    #[cfg(unix)]
    lock: RefCell<Option<crate::lock::Opened>>,
    #[cfg(target_os = "linux")]
    ward: Result<bulkhead_sandbox::program::Ward, String>,
}

impl fmt::Debug for Git {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Git")
            .field("program", &self.program)
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

impl Git {
    /// Git for the repository of `allowed`, without a network. No run goes on past `deadline`.
    #[must_use]
    pub fn new(allowed: &Allowed, deadline: Instant) -> Self {
        let directory = path(&allowed.root);
        let mut words = vec![
            "--no-pager".into(),
            "--literal-pathspecs".into(),
            // never looked for again: what is served was settled before anything was read
            joined("--git-dir=", path(&allowed.git_dir).as_os_str()),
            joined("--work-tree=", directory.as_os_str()),
        ];
        words.extend(PINS.iter().flat_map(pin));
        let mut environment: Vec<(OsString, OsString)> =
            ENVIRONMENT.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut set = |name: &str, value: OsString| environment.push((name.into(), value));
        if !allowed.programs.exec_path.is_empty() {
            set("GIT_EXEC_PATH", path(&allowed.programs.exec_path).into());
        }
        if allowed.common_dir != allowed.git_dir {
            set("GIT_COMMON_DIR", path(&allowed.common_dir).into());
        }
        if let Some(zone) = &allowed.programs.time_zone {
            set("TZ", zone.into());
        }
        Self {
            program: path(&allowed.programs.git),
            directory,
            words,
            pinned: RefCell::new(allowed.pinned.clone()),
            environment,
            deadline,
            cancelled: Box::new(|| false),
            ran: allowed.log_commands.then(RefCell::default),
            #[cfg(unix)]
            lock: RefCell::default(),
            #[cfg(target_os = "linux")]
            ward: {
                use bulkhead_sandbox::program::Ward;
                // hooks are programs of all kinds, of which many talk to what they start over pairs
                let ward =
                    Ward::new().and_then(|ward| if allowed.hooks.is_some() { ward.with_pairs() } else { Ok(ward) });
                ward.map_err(|e| e.to_string())
            },
        }
    }

    /// With what fetch and push need: ways to a remote, ssh, the operator's agent.
    #[must_use]
    pub fn with_network(mut self, allowed: &Allowed) -> Self {
        self.words.extend(PROTOCOLS.iter().flat_map(pin));
        #[cfg(target_os = "linux")]
        {
            self.ward = self.ward.and_then(|ward| ward.with_pairs().map_err(|e| e.to_string()));
        }
        let mut set = |name: &str, value: OsString| self.environment.push((name.into(), value));
        match (&allowed.ssh_command, ssh(allowed)) {
            (Some(command), _) => set("GIT_SSH_COMMAND", command.into()),
            (None, Some(ssh)) => set("GIT_SSH", ssh.into()),
            (None, None) => {}
        }
        if let Some(agent) = &allowed.programs.ssh_agent {
            set("SSH_AUTH_SOCK", path(agent).into());
        }
        // names are asked for by TCP, the only way that the jail leaves
        set("RES_OPTIONS", "use-vc".into());
        self
    }

    /// With files that get permissions by this mask, in place of this process's own.
    #[must_use]
    pub fn with_umask(self, umask: u32) -> Self {
        #[cfg(target_os = "linux")]
        let with = Self { ward: self.ward.map(|ward| ward.with_umask(umask)), ..self };
        #[cfg(not(target_os = "linux"))]
        let with = {
            let _ = umask;
            self
        };
        with
    }

    /// Does something with files as a run of Git does, their permissions by its mask. For the process as a whole, which has
    /// one thread where it has a mask of its own.
    #[cfg(unix)]
    pub(crate) fn with_its_umask<T>(&self, something: impl FnOnce() -> T) -> T {
        #[cfg(target_os = "linux")]
        if let Ok(ward) = &self.ward {
            return ward.with_its_umask(something);
        }
        something()
    }

    /// With a lock that was opened before the walls were closed.
    #[cfg(unix)]
    #[must_use]
    pub fn with_lock(self, lock: crate::lock::Opened) -> Self {
        self.lock.replace(Some(lock));
        self
    }

    /// That one, once; else the one that can be opened now.
    #[cfg(unix)]
    pub(crate) fn lock(&self, allowed: &Allowed) -> crate::lock::Opened {
        self.lock.take().unwrap_or_else(|| crate::lock::open(allowed))
    }

    /// With runs that end soon after `cancelled` says that nobody waits any more; it is asked every few hundredths of a
    /// second.
    #[must_use]
    pub fn cancelled_by(mut self, cancelled: impl Fn() -> bool + 'static) -> Self {
        self.cancelled = Box::new(cancelled);
        self
    }

    /// The instant past which no run goes on.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether nobody waits for the outcome any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        (self.cancelled)()
    }

    /// Gives up those of the operator's settings that the repository's own configuration has too, since there it counts
    /// more; the others stay above it. `has` is asked about keys as Git lists them, in small letters.
    pub fn yield_to(&self, has: impl Fn(&str) -> bool) {
        self.pinned.borrow_mut().retain(|(key, _)| {
            let key = key.to_ascii_lowercase();
            !(YIELDING.contains(&key.as_str()) && has(&key))
        });
    }

    /// Runs Git with these arguments, which begin with the subcommand, and these bytes as its standard input.
    ///
    /// # Errors
    /// [`NotRun`], when nothing of it runs any more.
    pub fn run<I, S>(&self, arguments: I, stdin: Option<&[u8]>) -> Result<Run, NotRun>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.run_with(arguments, &[], stdin)
    }

    /// The same with environment variables besides.
    ///
    /// # Errors
    /// As [`Git::run`].
    pub fn run_with<I, S>(
        &self,
        arguments: I,
        environment: &[(&str, &OsStr)],
        stdin: Option<&[u8]>,
    ) -> Result<Run, NotRun>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.begin_with(arguments, environment, stdin)?.ended()
    }

    /// Begins a run that goes on beside others.
    pub(crate) fn begin_with<I, S>(
        &self,
        arguments: I,
        environment: &[(&str, &OsStr)],
        stdin: Option<&[u8]>,
    ) -> Result<Begun<'_>, NotRun>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let arguments: Vec<OsString> = arguments.into_iter().map(|word| word.as_ref().to_owned()).collect();
        if let Some(ran) = &self.ran {
            ran.borrow_mut().push(shown(&arguments));
        }
        self.begin_words(&arguments, environment, stdin)
    }

    /// The commands that ran so far, where they are logged, within the bounds of the edge.
    #[must_use]
    pub fn ran(&self) -> Vec<String> {
        let mut ran = self.ran.as_ref().map(RefCell::take).unwrap_or_default();
        let more = (ran.len() + 1).saturating_sub(MAX_RAN);
        if more > 1 {
            ran.truncate(MAX_RAN - 1);
            ran.push(format!("(and {more} more)"));
        }
        ran
    }
}

/// A command as one line: words of other than plain characters stand quoted, so that no word begins a line of its own.
fn shown(arguments: &[OsString]) -> String {
    let plain =
        |word: &str| word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:@^~+,%".contains(c)) && !word.is_empty();
    let mut line = "git".to_owned();
    for word in arguments {
        let word = word.to_string_lossy();
        let next = if plain(&word) { word.into_owned() } else { format!("{word:?}") };
        if line.chars().count() + next.chars().count() + 4 > MAX_REASON {
            return line + " …";
        }
        line.push(' ');
        line.push_str(&next);
    }
    line
}

/// The ssh program among those that may be executed.
fn ssh(allowed: &Allowed) -> Option<PathBuf> {
    allowed.programs.network_files.iter().map(|file| path(file)).find(|file| file.file_name() == Some("ssh".as_ref()))
}

fn pin((key, value): &(&str, &str)) -> [OsString; 2] {
    ["-c".into(), format!("{key}={value}").into()]
}

fn joined(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}

/// A path as it came over the edge.
#[cfg(unix)]
#[must_use]
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// A path as it came over the edge.
#[cfg(not(unix))]
#[must_use]
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}
