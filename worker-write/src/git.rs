//! Git as a child process: pinned, without the user's environment, bounded in time and output.
//! Trust: what Git writes is data; it may have been taken over by what it reads.

use bulkhead_ipc::edge::write::Allowed;
use std::{
    ffi::{OsStr, OsString},
    io::{Read, Write},
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Bytes of each stream that are kept.
pub const MAX_OUTPUT: usize = 32 << 20;

/// Settings that no repository may choose.
const PINS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
];

/// One run of Git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// How it ended; `None` by a signal.
    pub code: Option<i32>,
    /// At most [`MAX_OUTPUT`] bytes.
    pub stdout: Vec<u8>,
    /// At most [`MAX_OUTPUT`] bytes.
    pub stderr: Vec<u8>,
    /// One of them was longer.
    pub cut: bool,
}

/// Why it did not run to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRun {
    /// The call's time passed.
    #[error("the time of the call passed")]
    Deadline,
    /// The caller does not want it any more.
    #[error("the call was cancelled")]
    Cancelled,
    /// It could not be started.
    #[error("git could not be started: {0}")]
    Spawn(String),
}

/// The one Git, in the one repository.
#[derive(Debug)]
pub struct Git {
    program: PathBuf,
    root: PathBuf,
    arguments: Vec<OsString>,
    deadline: Instant,
}

impl Git {
    /// Of what the operator allows, until then.
    #[must_use]
    pub fn new(allowed: &Allowed, deadline: Instant) -> Self {
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let mut arguments: Vec<OsString> = vec!["--no-pager".into(), "--literal-pathspecs".into()];
        for (name, value) in [("--git-dir=", &allowed.git_dir), ("--work-tree=", &allowed.root)] {
            let mut argument = OsString::from(name);
            argument.push(path(value));
            arguments.push(argument);
        }
        let pinned = allowed.pinned.iter().map(|(key, value)| format!("{key}={value}"));
        for pin in pinned.chain(PINS.iter().map(|pin| (*pin).to_owned())) {
            arguments.extend(["-c".into(), pin.into()]);
        }
        Self { program: path(&allowed.programs.git), root: path(&allowed.root), arguments, deadline }
    }

    /// When the call's time is over.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Whether the caller does not want it any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        false
    }

    /// Runs it, standing in the working tree.
    ///
    /// # Errors
    /// The time passed, the call was cancelled, or it could not be started.
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
    /// As above.
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
        if Instant::now() >= self.deadline {
            return Err(NotRun::Deadline);
        }
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).args(arguments).current_dir(&self.root).env_clear();
        for (name, value) in [
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_EDITOR", ":"),
            ("GIT_SEQUENCE_EDITOR", ":"),
            ("LC_ALL", "C"),
            ("HOME", "/nonexistent"),
            ("PATH", "/nonexistent"),
        ] {
            command.env(name, value);
        }
        command.envs(environment.iter().copied()).process_group(0);
        command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| NotRun::Spawn(error.to_string()))?;
        thread::scope(|scope| self.attend(scope, &mut child, stdin))
    }

    fn attend<'scope>(
        &self,
        scope: &'scope thread::Scope<'scope, '_>,
        child: &mut Child,
        stdin: Option<&'scope [u8]>,
    ) -> Result<Run, NotRun> {
        if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), stdin) {
            scope.spawn(move || pipe.write_all(bytes).is_ok());
        }
        let out = child.stdout.take().map(|pipe| scope.spawn(|| bounded(pipe)));
        let err = child.stderr.take().map(|pipe| scope.spawn(|| bounded(pipe)));
        let ended = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Ok(status),
                Ok(None) if Instant::now() >= self.deadline => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break Err(NotRun::Deadline);
                }
                Ok(None) => thread::sleep(Duration::from_millis(1)),
                Err(error) => break Err(NotRun::Spawn(error.to_string())),
            }
        };
        let read = |reader: Option<thread::ScopedJoinHandle<'_, (Vec<u8>, bool)>>| {
            reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
        };
        let ((stdout, more), (stderr, further)) = (read(out), read(err));
        Ok(Run { code: ended?.code(), stdout, stderr, cut: more || further })
    }
}

fn bounded(mut pipe: impl Read) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let whole = pipe.by_ref().take(MAX_OUTPUT as u64).read_to_end(&mut kept).is_ok();
    let further = std::io::copy(&mut pipe, &mut std::io::sink()).unwrap_or(0);
    (kept, !whole || further > 0)
}
