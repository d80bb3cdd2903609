//! Writes of the direct surface through the whole stack: a day's work, the gate, what is refused, and the way back.
//! Trust: test code; repositories are judged by the real `git` and never by what the server says of them.
#![cfg(target_os = "linux")]

mod beside;
mod bounds;
mod cancelled;
mod day;
mod frozen;
mod gate;
mod pushed;
mod served;
#[path = "../support/mod.rs"]
mod support;
mod told;

use std::{
    path::{Path, PathBuf},
    process::Command,
};
use support::{Place, direct_repository};

/// A place with the recorded repository in it.
struct World {
    place: Place,
    repo: PathBuf,
}

impl World {
    fn new() -> Self {
        let place = Place::new();
        let repo = direct_repository::build(place.path());
        Self { place, repo }
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.repo.join(path), text).expect("the place is ours");
    }

    /// What git says, without the end of its last line.
    fn git(&self, arguments: &[&str]) -> String {
        git(&self.place, &self.repo, arguments)
    }
}

fn git(place: &Place, dir: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(dir).args(arguments).env("HOME", place.home()).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = git.output().expect("git is there");
    let said = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    said
}
