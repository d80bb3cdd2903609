//! The same cases as an ordinary user, where this run is root's: who may be denied something meets other refusals.
//! Trust: test code; the second run is this program, from copies that every user can reach.

use crate::support::{server::TESTED, slow, unmet};
use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    process::{Command, Stdio},
};

/// Nobody, as most systems number it.
const USER: u32 = 65_534;

#[test]
fn every_case_as_an_ordinary_user() {
    // an ordinary user has run all of them already
    if !nix::unistd::geteuid().is_root() {
        return;
    }
    if !slow() {
        unmet::unmet("BULKHEAD_SLOW=1 (every case a second time, as an ordinary user)");
        return;
    }
    let dir = tempfile::Builder::new().prefix("bulkhead-user-").tempdir().expect("a temporary directory");
    let open = |path: &std::path::Path| fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("ours");
    open(dir.path());
    let (tests, product, own) = (dir.path().join("tests"), dir.path().join("bulkhead"), dir.path().join("own"));
    for (from, to) in [("/proc/self/exe", &tests), (env!("CARGO_BIN_EXE_bulkhead"), &product)] {
        fs::copy(from, to).expect("room");
        open(to);
    }
    fs::create_dir(&own).expect("ours");
    chown(&own, Some(USER), Some(USER)).expect("root may");
    let mut command = Command::new(&tests);
    command.args(["--test-threads=2"]).uid(USER).gid(USER).env("TMPDIR", &own).env("HOME", &own).env(TESTED, &product);
    // the sizes were gone through as root
    command.env_remove("BULKHEAD_SLOW").current_dir("/").stdin(Stdio::null());
    match command.output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{said}");
            assert!(said.contains(" 0 failed"), "{said}");
        }
        Err(e) => drop(unmet::unmet(&format!("a way to run as another user ({e})"))),
    }
}
