//! Repositories built by driving the real `git`, at times that are the same in every run.
//! Trust: test code.

use super::{
    place::Place,
    rows::{self, Row},
};
use std::{
    cell::Cell,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// Seconds since the epoch of the first commit; every further one is a minute later.
const FIRST_COMMIT: u64 = 1_700_000_000;

/// A repository under construction.
#[derive(Debug)]
pub struct Repo<'place> {
    place: &'place Place,
    path: PathBuf,
    clock: Cell<u64>,
}

impl<'place> Repo<'place> {
    /// An empty repository at `relative` inside the place.
    pub fn init(place: &'place Place, relative: impl AsRef<Path>) -> Self {
        Self::init_with(place, relative, &[])
    }

    /// The same with further arguments to `git init`.
    pub fn init_with(place: &'place Place, relative: impl AsRef<Path>, arguments: &[&str]) -> Self {
        let path = place.directory(relative);
        let repo = Self::open(place, path);
        let mut all = vec!["init", "-q"];
        all.extend(arguments);
        repo.git(&all);
        repo
    }

    /// A small repository with three commits, a tag and a second branch: something to spoil.
    pub fn honest(place: &'place Place, relative: impl AsRef<Path>) -> Self {
        let repo = Self::init(place, relative);
        let mut text = String::new();
        for number in 1..=3 {
            text.push_str(&format!("line {number}\n"));
            repo.write("a.txt", &text);
            repo.commit(&format!("commit {number}"));
        }
        repo.git(&["tag", "v1"]);
        repo.git(&["branch", "side"]);
        repo
    }

    /// A repository that is already there.
    pub fn open(place: &'place Place, path: PathBuf) -> Self {
        Self { place, path, clock: Cell::new(FIRST_COMMIT) }
    }

    /// A copy at another path of the place. What is committed there is later than everything that was committed here.
    pub fn copy(&self, relative: impl AsRef<Path>) -> Self {
        let path = self.place.at(relative);
        copy_tree(&self.path, &path);
        let copy = Self::open(self.place, path);
        copy.clock.set(FIRST_COMMIT + 3_600);
        copy
    }

    /// The directory that `git init` was run in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path inside that directory.
    pub fn at(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.path.join(relative)
    }

    /// The git directory of a repository that is neither bare nor linked.
    pub fn git_dir(&self) -> PathBuf {
        self.path.join(".git")
    }

    /// Writes a file, with the directories above it.
    pub fn write(&self, relative: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.at(relative);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("the place is ours");
        }
        std::fs::write(path, content).expect("the place is ours");
    }

    /// Appends to a file that is there.
    pub fn append(&self, relative: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let mut bytes = std::fs::read(self.at(relative.as_ref())).expect("the file is there");
        bytes.extend_from_slice(content.as_ref());
        self.write(relative, bytes);
    }

    /// Adds everything and commits it; the full id of the commit.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Runs git and returns its trimmed output.
    ///
    /// # Panics
    /// When git fails.
    pub fn git<S: AsRef<OsStr>>(&self, arguments: &[S]) -> String {
        let output = self.try_git(arguments);
        assert!(
            output.status.success(),
            "git {:?} in {}: {}",
            arguments.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
            self.path.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Runs git, which may fail.
    pub fn try_git<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Output {
        let output = self.git_command().args(arguments).output().expect("git is installed");
        self.clock.set(self.clock.get() + 60);
        output
    }

    /// The rows of `git status`, in git's order, with git's own configuration of this place.
    pub fn status(&self) -> Vec<Row> {
        let arguments = ["--no-optional-locks", "status", "--porcelain=v1", "-z"];
        let output = self.try_git(&arguments);
        assert!(output.status.success(), "git status: {}", String::from_utf8_lossy(&output.stderr));
        rows::from_porcelain(&output.stdout)
    }

    fn git_command(&self) -> Command {
        let date = format!("{} +0000", self.clock.get());
        let mut command = self.place.command("git");
        command.current_dir(&self.path).stdin(Stdio::null());
        command.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        command
    }
}

/// Copies directories and files; an honest repository has nothing else.
fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the place is ours");
    for entry in std::fs::read_dir(from).expect("it is there").flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().expect("it is there").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("the place is ours");
        }
    }
}
