//! A temporary directory with its own home, and commands that see nothing of the machine but `PATH`.
//! Trust: test code; the directory is removed when the value is dropped.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Author and committer of everything that the tests commit, unless they say otherwise.
const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Test Author"),
    ("GIT_AUTHOR_EMAIL", "author@example.org"),
    ("GIT_COMMITTER_NAME", "Test Author"),
    ("GIT_COMMITTER_EMAIL", "author@example.org"),
];

/// Git configuration of the place's user: what git needs to build repositories without asking or waiting.
const CONFIG: &str = "[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[advice]\n\tdetachedHead = \
                      false\n[commit]\n\tgpgSign = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";

/// A temporary directory with its own home.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    // removed last: `path` is inside it
    _directory: tempfile::TempDir,
}

impl Place {
    /// A fresh place. Its path is canonical, so that it can be compared with the paths that answers carry.
    pub fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("bulkhead-test-").tempdir().expect("a temporary directory");
        let path = directory.path().canonicalize().expect("it was just made");
        let place = Self { path, _directory: directory };
        std::fs::create_dir(place.home()).expect("the place is empty");
        std::fs::write(place.home().join(".gitconfig"), CONFIG).expect("the home is ours");
        place
    }

    /// The place itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path inside the place.
    pub fn at(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.path.join(relative)
    }

    /// `HOME` of every command started here.
    pub fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    /// A new directory inside the place.
    pub fn directory(&self, relative: impl AsRef<Path>) -> PathBuf {
        let path = self.at(relative);
        std::fs::create_dir_all(&path).expect("the place is ours");
        path
    }

    /// A command with a cleared environment: `PATH`, the place's `HOME`, and what makes Git repeatable.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(&self.path).envs(IDENTITY);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.home());
        command.env("LC_ALL", "C").env("TZ", "UTC").env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_CONFIG_GLOBAL", self.home().join(".gitconfig")).env("GIT_TERMINAL_PROMPT", "0");
        command
    }

    /// Whether a file of that name lies anywhere in the place.
    pub fn holds_file_named(&self, name: &str) -> bool {
        fn search(directory: &Path, name: &str) -> bool {
            let Ok(entries) = std::fs::read_dir(directory) else { return false };
            entries.flatten().any(|entry| {
                entry.file_name() == name
                    || entry.file_type().is_ok_and(|kind| kind.is_dir()) && search(&entry.path(), name)
            })
        }
        search(&self.path, name)
    }
}
