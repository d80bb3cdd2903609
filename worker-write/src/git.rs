//! One run of Git: with which words and variables, for how long, and what came of it.
//! Trust: Git may have been taken over by the repository; its output is bytes, cut at a limit, and it never outlives its run.

use bulkhead_ipc::edge::write::{Allowed, MAX_RAN, MAX_REASON};
use std::{
    cell::RefCell,
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
    time::{Duration, Instant},
};

/// Bytes of standard output that a run keeps; what is more is read and dropped.
pub const MAX_OUTPUT: usize = 32 << 20;
/// Bytes of standard error that a run keeps, from its beginning.
pub const MAX_ERRORS: usize = 64 << 10;

/// What came of one run of Git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its exit code; `None` where a signal ended it.
    pub code: Option<i32>,
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

/// Options that stand before every subcommand, in `-c` form. They outrank what the repository's own configuration says:
/// nothing of it may name a program, reach another directory, or change more than what was asked for. The jail holds where
/// one is forgotten; with them, an honest repository that names programs can be worked on.
const PINS: &[(&str, &str)] = &[
    // programs
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", ":"),
    ("sequence.editor", ":"),
    ("core.askPass", ""),
    ("core.alternateRefsCommand", ""),
    ("core.gitProxy", ""),
    ("gpg.program", "/dev/null"),
    ("gpg.ssh.program", "/dev/null"),
    ("gpg.x509.program", "/dev/null"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("tag.forceSignAnnotated", "false"),
    ("push.gpgSign", "false"),
    ("merge.verifySignatures", "false"),
    ("log.showSignature", "false"),
    // work that nobody asked for
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("rerere.enabled", "false"),
    ("rerere.autoUpdate", "false"),
    ("rebase.autoStash", "false"),
    ("rebase.autoSquash", "false"),
    ("rebase.updateRefs", "false"),
    ("rebase.rebaseMerges", "false"),
    ("rebase.backend", "merge"),
    ("merge.autoStash", "false"),
    ("merge.branchdesc", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.prune", "false"),
    ("fetch.pruneTags", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("push.recurseSubmodules", "no"),
    ("push.followTags", "false"),
    // what a tree may hold is the same for everybody who has it
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    // how it speaks
    ("color.ui", "false"),
    ("column.ui", "never"),
    ("core.quotePath", "true"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("protocol.allow", "never"),
];

/// What the repository may not say and the operator may: before the operator's settings, of which the last counts.
const OPERATORS: &[(&str, &str)] = &[
    // an empty one forgets those before it
    ("credential.helper", ""),
    ("http.sslVerify", "true"),
    ("http.proxy", ""),
    ("http.extraHeader", ""),
];

/// Which ways to a remote fetch and push have; every other is refused by the pin of `protocol.allow`.
const PROTOCOLS: &[(&str, &str)] = &[
    ("protocol.file.allow", "always"),
    ("protocol.https.allow", "always"),
    ("protocol.ssh.allow", "always"),
    ("protocol.version", "2"),
];

/// The environment, built from nothing. `PATH` leads nowhere: Git finds its own programs in its own directory.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GIT_PAGER", "cat"),
    ("GIT_ADVICE", "0"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    // looking must not write the index
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("LC_ALL", "C"),
    ("HOME", "/nonexistent"),
    ("PATH", "/nonexistent"),
];

/// Keys of the operator's own configuration that the repository's outrank, as they do for the operator's own git.
pub(crate) const YIELDING: &[&str] = &[
    "user.name",
    "user.email",
    "author.name",
    "author.email",
    "committer.name",
    "committer.email",
    "core.autocrlf",
    "core.eol",
    "core.safecrlf",
    "merge.conflictstyle",
];

/// How Git is run on the one repository: program, words, variables, time.
pub struct Git {
    program: PathBuf,
    directory: PathBuf,
    words: Vec<OsString>,
    pinned: Vec<(String, String)>,
    environment: Vec<(OsString, OsString)>,
    deadline: Instant,
    cancelled: Box<dyn Fn() -> bool>,
    /// What ran, where that is logged.
    ran: Option<RefCell<Vec<String>>>,
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
            pinned: allowed.pinned.clone(),
            environment,
            deadline,
            cancelled: Box::new(|| false),
            ran: allowed.log_commands.then(RefCell::default),
            #[cfg(target_os = "linux")]
            ward: bulkhead_sandbox::program::Ward::new().map_err(|e| e.to_string()),
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
    pub fn with_umask(mut self, umask: u32) -> Self {
        #[cfg(target_os = "linux")]
        {
            self.ward = self.ward.map(|ward| ward.with_umask(umask));
        }
        let _ = umask;
        self
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
    /// more; the others stay above it.
    ///
    /// # Errors
    /// Those of [`Git::run`].
    pub fn yield_to_repository(&mut self) -> Result<(), NotRun> {
        let mut names = Vec::new();
        for scope in ["--local", "--worktree"] {
            // without extensions.worktreeConfig both are the same file; a repository without the file has no names
            names.extend(self.run(["config", scope, "--list", "--name-only", "--null"], None)?.stdout);
        }
        let set: Vec<String> =
            names.split(|byte| *byte == 0).map(|name| String::from_utf8_lossy(name).to_ascii_lowercase()).collect();
        self.pinned.retain(|(key, _)| {
            let key = key.to_ascii_lowercase();
            !(YIELDING.contains(&key.as_str()) && set.contains(&key))
        });
        Ok(())
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
        let arguments: Vec<OsString> = arguments.into_iter().map(|word| word.as_ref().to_owned()).collect();
        if let Some(ran) = &self.ran {
            ran.borrow_mut().push(shown(&arguments));
        }
        self.run_words(&arguments, environment, stdin)
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

/// How long a run waits between two looks at who waits for it.
const LOOK: Duration = Duration::from_millis(20);
/// How long it waits for the last of a group that was ended; more means a file system that hangs.
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(target_os = "linux")]
mod running {
    use super::{Git, LOOK, MAX_ERRORS, MAX_OUTPUT, NotRun, OPERATORS, PATIENCE, Run};
    use bulkhead_sandbox::program::Group;
    use std::{
        ffi::{OsStr, OsString},
        io::{Read, Write},
        process::{Command, Stdio},
        sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
        thread,
        time::Instant,
    };

    /// One of the streams came to its end: which, what it said, whether there was more.
    type End = (Stream, Vec<u8>, bool);

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Stream {
        Out,
        Err,
    }

    impl Git {
        pub(super) fn run_words(
            &self,
            arguments: &[OsString],
            environment: &[(&str, &OsStr)],
            stdin: Option<&[u8]>,
        ) -> Result<Run, NotRun> {
            if Instant::now() >= self.deadline {
                return Err(NotRun::Deadline);
            }
            let mut command = Command::new(&self.program);
            command.args(&self.words);
            command.args(arguments).env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
            // not among the words, which every process list shows; words count more than these, these more than files
            let owned = self.pinned.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            let mut count = 0;
            for (key, value) in OPERATORS.iter().copied().chain(owned) {
                command.env(format!("GIT_CONFIG_KEY_{count}"), key).env(format!("GIT_CONFIG_VALUE_{count}"), value);
                count += 1;
            }
            command.env("GIT_CONFIG_COUNT", count.to_string());
            command.envs(environment.iter().copied()).current_dir(&self.directory);
            command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            let ward = self.ward.as_ref().map_err(|e| NotRun::Spawn(e.clone()))?;
            let mut group = ward.start(command).map_err(|e| NotRun::Spawn(e.to_string()))?;
            let ends = converse(&mut group, stdin);
            let ended = ends.and_then(|ends| self.wait(&group, ends));
            // whatever came of it: nothing of it goes on
            let code = group.end(PATIENCE).map_err(|e| NotRun::Spawn(format!("it could not be ended: {e}")))?;
            let (ends, mut said) = ended?;
            // its streams have no other end left, so what is missing comes at once
            while said.len() < 2 {
                match ends.recv_timeout(PATIENCE) {
                    Ok(end) => said.push(end),
                    Err(_) => return Err(NotRun::Spawn("its output did not end".to_owned())),
                }
            }
            let mut run = Run { code, stdout: Vec::new(), stderr: Vec::new(), cut: false };
            for (stream, bytes, cut) in said {
                run.cut |= cut;
                match stream {
                    Stream::Out => run.stdout = bytes,
                    Stream::Err => run.stderr = bytes,
                }
            }
            Ok(run)
        }

        /// Waits until the program itself has ended, whatever it left behind.
        fn wait(&self, group: &Group, ends: Receiver<End>) -> Result<(Receiver<End>, Vec<End>), NotRun> {
            let mut said = Vec::new();
            loop {
                let until = self.deadline.saturating_duration_since(Instant::now());
                match ends.recv_timeout(until.min(LOOK)) {
                    Ok(end) => said.push(end),
                    // both have ended: only its end is missing
                    Err(RecvTimeoutError::Disconnected) => thread::sleep(std::time::Duration::from_millis(1)),
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if group.has_ended() {
                    return Ok((ends, said));
                }
                if Instant::now() >= self.deadline {
                    return Err(NotRun::Deadline);
                }
                if self.is_cancelled() {
                    return Err(NotRun::Cancelled);
                }
            }
        }
    }

    /// Feeds and hears all streams at once, so that none of them can hold up another.
    fn converse(group: &mut Group, stdin: Option<&[u8]>) -> Result<Receiver<End>, NotRun> {
        let child = group.child();
        let (ends, heard) = channel();
        let (out, err) = (child.stdout.take(), child.stderr.take());
        if let Some((mut feed, bytes)) = child.stdin.take().zip(stdin) {
            let bytes = bytes.to_vec();
            // ends with the bytes, or when the program does: a program need not read all
            started(move || drop(feed.write_all(&bytes)))?;
        }
        if let Some(out) = out {
            let ends = ends.clone();
            started(move || hear(Stream::Out, out, MAX_OUTPUT, &ends))?;
        }
        if let Some(err) = err {
            started(move || hear(Stream::Err, err, MAX_ERRORS, &ends))?;
        }
        Ok(heard)
    }

    fn started(body: impl FnOnce() + Send + 'static) -> Result<(), NotRun> {
        thread::Builder::new().spawn(body).map(drop).map_err(|e| NotRun::Spawn(format!("no thread for a stream: {e}")))
    }

    /// Reads a stream to its end and keeps the first `most` bytes.
    fn hear(stream: Stream, mut from: impl Read, most: usize, ends: &Sender<End>) {
        let mut kept = Vec::new();
        let mut piece = [0; 16 << 10];
        let mut cut = false;
        loop {
            match from.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => {
                    let room = most - kept.len();
                    kept.extend_from_slice(&piece[..length.min(room)]);
                    cut |= length > room;
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        // nobody hears it where the run has no outcome
        let _ = ends.send((stream, kept, cut));
    }
}

#[cfg(not(target_os = "linux"))]
impl Git {
    fn run_words(&self, _: &[OsString], _: &[(&str, &OsStr)], _: Option<&[u8]>) -> Result<Run, NotRun> {
        let _ = (LOOK, PATIENCE, OPERATORS, &self.environment, &self.words, &self.pinned);
        Err(NotRun::Spawn("writes need the walls of a Linux system".to_owned()))
    }
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
