//! Hooks that the operator has run (`--hooks run`): they do what hooks do, are told in each result, and stay within walls.
//! Trust: test code; hooks are shell scripts of the tests, and the real `git` judges what they came to.
#![cfg(target_os = "linux")]

mod planting;
mod refusing;
mod running;
#[path = "../support/mod.rs"]
mod support;
mod told;
mod walls;
mod whose;

use serde_json::Value;
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};
use support::{Place, direct::Served, direct_repository};

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

    /// A server that has hooks run.
    fn served(&self, more: &[&str]) -> Served {
        Served::writing(&self.place, &self.repo, &[&["--hooks", "run"], more].concat())
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.repo.join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
        fs::write(path, text).expect("ours");
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.repo.join(path)).unwrap_or_default()
    }

    /// A program in the working tree.
    fn program(&self, path: &str, script: &str) {
        self.write(path, script);
        executable(&self.repo.join(path));
    }

    /// A hook in its usual place: lines of a shell script.
    fn hook(&self, name: &str, lines: &str) {
        self.program(&format!(".git/hooks/{name}"), &format!("#!/bin/sh\n{lines}\n"));
    }

    /// What git says, without the end of its last line.
    fn git(&self, arguments: &[&str]) -> String {
        git(&self.place, &self.repo, arguments)
    }
}

fn executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
}

fn git(place: &Place, dir: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(dir).args(arguments).env("HOME", place.home()).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = git.output().expect("git is there");
    let said = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    said
}

fn reason(failure: &Value) -> &str {
    failure["reason"].as_str().expect("a reason")
}
