//! A repository to be spoiled, what lies outside of it, and what must hold whatever was done.
//! Trust: test code.

use crate::{
    support::{Place, direct::Served, snapshot::Snapshot},
    template,
};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Output,
};

/// Name of the file that appears when something of the repository was run.
pub const MARKER: &str = "PWNED";
/// Text of files outside, which no answer, error or log line may hold.
pub const SECRET: &str = "TOP-SECRET-OUTSIDE";
/// Text of an untracked file that nobody may lose.
pub const KEPT: &str = "kept by nobody but this file\n";

/// A place with a repository beneath the roots, and a secret beyond them.
pub struct World {
    pub place: Place,
    /// The one root: it holds `repo`, `origin.git` and `other`.
    pub base: PathBuf,
    pub repo: PathBuf,
    outside: PathBuf,
    before: Option<Snapshot>,
}

impl World {
    pub fn new() -> Self {
        let place = Place::new();
        let base = place.directory("src");
        template::copy(&place);
        let (repo, outside) = (base.join("repo"), place.at("outside"));
        Self { place, base, repo, outside, before: None }
    }

    /// A repository beyond the roots.
    pub fn victim(&self) -> PathBuf {
        self.outside.join("victim")
    }

    /// What lies beyond the roots.
    pub fn outside(&self) -> &Path {
        &self.outside
    }

    /// Remembers what lies outside; from here on it may not change.
    pub fn watched(mut self) -> Self {
        self.before = Some(Snapshot::of(&self.outside));
        self
    }

    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.repo.join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
        fs::write(path, content).expect("ours");
    }

    /// Adds everything but the file that stays untracked, and commits it.
    pub fn commit(&self, message: &str) {
        self.git(&["add", "-A", "--", ".", ":!keep.txt"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    pub fn config(&self, key: &str, value: &str) {
        self.git(&["config", key, value]);
    }

    /// What git says, without the end of its last line.
    pub fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.repo, arguments)
    }

    pub fn git_in(&self, dir: &Path, arguments: &[&str]) -> String {
        let output = self.try_git(dir, arguments);
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub fn try_git(&self, dir: &Path, arguments: &[&str]) -> Output {
        // a trap that works may also hang whoever runs into it
        let mut git = self.place.command("timeout");
        git.args(["--kill-after=1", "60", "git"]).current_dir(dir).args(arguments).stdin(std::process::Stdio::null());
        git.output().expect("git is installed")
    }

    /// Words for a shell that leave the marker wherever that is possible, without a program of their own.
    pub fn words(&self) -> String {
        let places = [&self.repo.join(".git"), &self.repo, &self.base.join("origin.git"), &self.base, &self.outside];
        let places: Vec<_> = places.iter().map(|place| format!("'{}'", place.display())).collect();
        format!("for place in . {}; do :>\"$place/{MARKER}\"; done 2>/dev/null; ", places.join(" "))
    }

    /// A command line for settings that a shell reads. It waits for nothing: its input may be a conversation.
    pub fn shell(&self) -> String {
        format!("{} :", self.words())
    }

    /// An executable file in the repository that leaves the marker.
    pub fn program(&self) -> String {
        let path = self.repo.join(".git/program");
        if !path.exists() {
            self.executable(&path);
        }
        path.to_str().expect("places have UTF-8 paths").to_owned()
    }

    /// Makes such a file.
    pub fn executable(&self, path: &Path) {
        fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
        fs::write(path, format!("#!/bin/sh\n{}\n", self.words())).expect("ours");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
    }

    /// Whether something of the repository was run.
    pub fn fired(&self) -> bool {
        self.place.holds_file_named(MARKER)
    }

    /// What must hold, whatever was done: nothing ran, nothing outside changed, nothing of it was said, and the server ends
    /// as it is told to.
    pub fn holds(&self, served: Served) {
        let said = served.0.said();
        let ended = served.0.finish();
        assert!(ended.status.success(), "it ended with {}: {}", ended.status, ended.said);
        for text in [SECRET, "root:x:0:0", "s3cret"] {
            assert!(!ended.said.contains(text), "{text} came out: {said}");
        }
        assert!(!self.fired(), "something of the repository was run");
        let before = self.before.as_ref().expect("it was watched");
        let differences = before.differences(&Snapshot::of(&self.outside));
        assert!(differences.is_empty(), "outside: {differences:#?}");
    }

    /// Tips of all branches.
    pub fn tips(&self) -> Vec<String> {
        let listing = self.git(&["for-each-ref", "--format=%(objectname)", "refs/heads"]);
        listing.lines().map(str::to_owned).collect()
    }

    /// These commits can still be reached by a name, and the untracked file has its content or a restore point has it.
    pub fn lost_nothing(&self, tips: &[String]) {
        let refs = self.git(&["for-each-ref", "--format=%(refname)"]);
        let reachable = self.git(&["rev-list", "--all"]);
        for tip in tips {
            assert!(reachable.lines().any(|id| id == tip), "{tip} cannot be reached any more: {refs}");
        }
        if fs::read(self.repo.join("keep.txt")).is_ok_and(|content| content == KEPT.as_bytes()) {
            return;
        }
        let kept = refs.lines().filter(|name| name.ends_with("/untracked")).any(|name| {
            self.try_git(&self.repo, &["cat-file", "blob", &format!("{name}:keep.txt")]).stdout == KEPT.as_bytes()
        });
        assert!(kept, "the untracked file is lost");
    }
}
