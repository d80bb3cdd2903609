//! One run from its start to its end, with all that it started.
//! Trust: Git may have been taken over; what it says is bytes up to a limit, and nothing of it outlives the run.

use super::{Git, NotRun, Run};
use std::ffi::{OsStr, OsString};

#[cfg(target_os = "linux")]
mod linux {
    use super::{Git, NotRun, OsStr, OsString, Run};
    use crate::git::{MAX_ERRORS, MAX_OUTPUT, words::OPERATORS};
    use bulkhead_sandbox::program::{Group, Terms};
    use std::{
        os::unix::process::ExitStatusExt,
        process::{Command, Stdio},
        time::{Duration, Instant},
    };

    const TERMS: Terms = Terms {
        stdout: MAX_OUTPUT,
        stderr: MAX_ERRORS,
        // between two looks at who waits
        look: Duration::from_millis(20),
        // more means a file system that hangs
        patience: Duration::from_secs(5),
    };

    /// A run that was begun. Dropping it ends it.
    #[derive(Debug)]
    pub(crate) struct Begun<'g> {
        git: &'g Git,
        group: Group,
        input: Vec<u8>,
    }

    impl Git {
        pub(in crate::git) fn begin_words(
            &self,
            arguments: &[OsString],
            environment: &[(&str, &OsStr)],
            stdin: Option<&[u8]>,
        ) -> Result<Begun<'_>, NotRun> {
            if Instant::now() >= self.deadline {
                return Err(NotRun::Deadline);
            }
            let mut command = Command::new(&self.program);
            command.args(&self.words);
            command.args(arguments).env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
            // not among the words, which every process list shows; words count more than these, these more than files
            let pinned = self.pinned.borrow();
            let owned = pinned.iter().map(|(key, value)| (key.as_str(), value.as_str()));
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
            let group = ward.start(command).map_err(|e| NotRun::Spawn(e.to_string()))?;
            Ok(Begun { git: self, group, input: stdin.unwrap_or_default().to_vec() })
        }
    }

    impl Begun<'_> {
        /// Waits for its end.
        ///
        /// # Errors
        /// [`NotRun`], when nothing of it runs any more.
        pub(crate) fn ended(self) -> Result<Run, NotRun> {
            let Self { git, group, input } = self;
            let unwanted = || match () {
                () if Instant::now() >= git.deadline => Some(NotRun::Deadline),
                () if git.is_cancelled() => Some(NotRun::Cancelled),
                () => None,
            };
            let talk = group.talk(&input, TERMS, unwanted);
            let talk = talk.map_err(|e| NotRun::Spawn(format!("it could not be heard to its end: {e}")))??;
            Ok(Run {
                code: talk.status.code(),
                signal: talk.status.signal(),
                stdout: talk.stdout,
                stderr: talk.stderr,
                cut: talk.cut,
            })
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::Begun;

/// A run that was begun: there is none here.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(crate) enum Begun<'g> {
    #[expect(dead_code, reason = "nothing makes one")]
    Never(std::convert::Infallible, std::marker::PhantomData<&'g Git>),
}

#[cfg(not(target_os = "linux"))]
impl Begun<'_> {
    pub(crate) fn ended(self) -> Result<Run, NotRun> {
        match self {
            Self::Never(never, _) => match never {},
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl Git {
    pub(super) fn begin_words(
        &self,
        _: &[OsString],
        _: &[(&str, &OsStr)],
        _: Option<&[u8]>,
    ) -> Result<Begun<'_>, NotRun> {
        let _ = (super::MAX_OUTPUT, super::MAX_ERRORS, super::words::OPERATORS);
        let _ = (&self.environment, &self.words, &self.pinned, &self.program, &self.directory);
        Err(NotRun::Spawn("writes need the walls of a Linux system".to_owned()))
    }
}
