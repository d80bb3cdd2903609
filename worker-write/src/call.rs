//! A run of Git in the words of an operation: put together, run, and read as what was expected of it.
//! Trust: arguments are ours, names in them were checked or stand behind `--`; what Git says is data.

use crate::{
    failure::{Step, failed, git_failed, not_run},
    git::{Begun, Run},
    repo::{Repo, lossy},
};
use bulkhead_contract::direct::Class;
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStringExt,
};

/// One run of Git.
#[derive(Debug)]
#[must_use]
pub(crate) struct Call<'r, 'a> {
    repo: &'r Repo<'a>,
    /// Words before the subcommand, besides the repository's.
    globals: Vec<OsString>,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    stdin: Option<Vec<u8>>,
}

impl<'r, 'a> Call<'r, 'a> {
    pub(crate) fn of(repo: &'r Repo<'a>, arguments: Vec<OsString>) -> Self {
        Self { repo, globals: Vec::new(), arguments, environment: Vec::new(), stdin: None }
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    pub(crate) fn paths(mut self, paths: &[Vec<u8>]) -> Self {
        self.arguments.extend(paths.iter().map(|path| OsString::from_vec(path.clone())));
        self
    }

    /// An argument before the subcommand.
    pub(crate) fn global(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.globals.push(argument.as_ref().to_owned());
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name, value.as_ref().to_owned()));
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Runs it; how it ended is the caller's to read.
    pub(crate) fn run(self) -> Step<Run> {
        self.begin()?.ended().map_err(|why| not_run(&why))
    }

    /// Begins it, to go on beside others.
    pub(crate) fn begin(self) -> Step<Begun<'a>> {
        let arguments = self.repo.globals.iter().chain(&self.globals).chain(&self.arguments);
        // nothing is fetched because an object is missing, whatever the repository says
        let mut environment: Vec<(&str, &OsStr)> = vec![("GIT_NO_LAZY_FETCH", OsStr::new("1"))];
        if !self.environment.iter().any(|(name, _)| *name == "GIT_ALLOW_PROTOCOL") {
            environment.push(("GIT_ALLOW_PROTOCOL", OsStr::new("none")));
        }
        environment.extend(self.environment.iter().map(|(name, value)| (*name, value.as_os_str())));
        self.repo.git.begin_with(arguments, &environment, self.stdin.as_deref()).map_err(|why| not_run(&why))
    }

    /// Runs it, and takes what it wrote, all of it, where it succeeded.
    pub(crate) fn output(self) -> Step<Option<Vec<u8>>> {
        output(self.run()?)
    }

    /// The first line of that, as text; `None` where there is none.
    pub(crate) fn line(self) -> Step<Option<String>> {
        let output = self.output()?.unwrap_or_default();
        let line = output.split(|byte| *byte == b'\n').next().unwrap_or_default();
        if line.is_empty() {
            return Ok(None);
        }
        String::from_utf8(line.to_vec()).map(Some).map_err(|_| {
            failed(
                Class::Unsupported,
                format!("{} is not UTF-8.", lossy(line)),
                "Rename it with Git itself; this server writes only where names are UTF-8.",
            )
        })
    }

    /// Runs it; anything but success is this failure.
    pub(crate) fn all(self, sentence: &str) -> Step<Vec<u8>> {
        whole(self.run()?, sentence)
    }
}

/// What a run wrote, all of it, where it succeeded.
pub(crate) fn output(run: Run) -> Step<Option<Vec<u8>>> {
    match run.code {
        Some(0) if run.cut => Err(too_much()),
        Some(0) => Ok(Some(run.stdout)),
        // no answer is not the answer no
        _ if run.signal.is_some() => Err(git_failed("A question to Git was not answered.", &run)),
        _ => Ok(None),
    }
}

/// What a run wrote, all of it; anything but success is this failure.
pub(crate) fn whole(run: Run, sentence: &str) -> Step<Vec<u8>> {
    match run.code {
        Some(0) if run.cut => Err(too_much()),
        Some(0) => Ok(run.stdout),
        _ => Err(git_failed(sentence, &run)),
    }
}

fn too_much() -> Box<bulkhead_ipc::edge::write::Failed> {
    failed(
        Class::TooLarge,
        "Git wrote more than this server reads of one run, so the operation was not begun or not finished.",
        "Name fewer paths, or do it with Git itself.",
    )
}
