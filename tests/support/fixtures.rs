//! Repositories that scripts under `tests/fixtures` build.
//! Trust: test code.

use super::place::Place;
use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

/// A place with repositories in it.
#[derive(Debug)]
pub struct Fixture {
    /// Holds the home of the builder; servers are started in it.
    pub place: Place,
    directory: PathBuf,
}

impl Fixture {
    /// Directory of the repositories.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// One of them.
    pub fn at(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

/// The repositories that the recorded answers were made on (`recorded/README.md`).
pub const RECORDED: &str = "make_recorded.sh";
/// Repositories in every state that a reader must get right.
pub const STATES: &str = "make_states.sh";

/// Runs a builder. The repositories go when the value is dropped, so keep it as long as they are needed.
pub fn build(script: &str) -> Fixture {
    let place = Place::new();
    let directory = place.at("repositories");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(script);
    let mut command = place.command("bash");
    let output = command.arg(&script).arg(&directory).stdin(Stdio::null()).output().expect("bash is installed");
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} failed: {why}", script.display());
    Fixture { place, directory }
}
