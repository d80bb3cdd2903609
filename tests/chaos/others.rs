//! The supervisor or the launcher is killed, or the program is replaced on disk, while calls are under way.
//! Trust: test code.

use crate::{
    load::{Load, dice},
    support::{
        Place, is_root,
        process::{self, Process},
        unmet,
    },
};
use nix::sys::signal::Signal;
use serde_json::json;
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
    time::Duration,
};

/// A second, and what a loaded machine adds to it.
const SOON: Duration = Duration::from_secs(4);

#[test]
fn nobody_outlives_a_supervisor_that_is_killed_at_work() {
    let place = Place::new();
    let mut dice = dice("killed supervisor");
    let mut load = Load::new(&place, |start| start);
    load.run(Duration::from_millis(200 + dice.below(100) as u64));
    let others = load.processes();
    assert!(others.len() > crate::load::REPOSITORIES, "a launcher, and a worker for each repository: {others:?}");
    Process(load.server.pid()).signal(Signal::SIGKILL);
    let left = || others.iter().filter(|process| process.is_alive()).collect::<Vec<_>>();
    assert!(process::until(SOON, || left().is_empty()), "still there: {:?}", left());
    assert!(!load.server.ended().status.success());
}

#[test]
fn a_launcher_that_is_killed_at_work_leaves_refusals_that_name_it() {
    let place = Place::new();
    let mut dice = dice("killed launcher");
    let mut load = Load::new(&place, |start| start);
    load.run(Duration::from_millis(200 + dice.below(100) as u64));
    let others = load.processes();
    process::launcher(load.server.pid()).signal(Signal::SIGKILL);
    // what was under way is answered, each call once
    load.drain();
    let left = || others.iter().filter(|process| process.is_alive()).collect::<Vec<_>>();
    assert!(process::until(SOON, || left().is_empty()), "still there: {:?}", left());
    let errors = load.errors();
    assert_eq!(errors.len(), crate::load::REPOSITORIES, "nothing can be read any more");
    for outcome in errors {
        assert_eq!(outcome.code(), Some(10023), "{}", outcome.message);
        let why = outcome.error().expect("it has a code").to_string();
        assert!(why.contains("launcher"), "the reason is named: {why}");
    }
    let id = load.server.request("ping", json!({}));
    assert_eq!(load.server.answer(&id).message["result"], json!({}), "the session goes on");
    assert!(load.server.finish().status.success(), "and ends as it is told to");
}

#[test]
fn a_program_that_is_replaced_on_disk_goes_on_as_what_was_started() {
    let place = Place::new();
    let mut dice = dice("replaced program");
    let copy = place.at("bulkhead");
    fs::copy(env!("CARGO_BIN_EXE_bulkhead"), &copy).expect("the place is ours");
    let original = fs::metadata(&copy).expect("just made");
    // the first word of what the wrapper gets is the program that was built, in whose place the copy is run
    let words = ["sh".to_owned(), "-c".to_owned(), format!("shift; exec '{}' \"$@\"", copy.display()), "sh".to_owned()];
    let mut load = Load::new(&place, |start| start.wrapper(&words));
    load.run(Duration::from_millis(100 + dice.below(100) as u64));
    let marker = place.at("REPLACED");
    for replacement in [Some(format!("#!/bin/sh\n: > '{}'\n", marker.display())), None] {
        replace(&copy, replacement.as_deref());
        let before = process::workers(load.server.pid());
        for worker in &before {
            // it may have ended by itself in the meantime
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(worker.0), Signal::SIGKILL);
        }
        load.until_all_answer("after the program was replaced");
        let after = process::workers(load.server.pid());
        assert!(!after.is_empty() && after.iter().all(|worker| !before.contains(worker)), "they were started anew");
        if is_root() || unmet::unmet("root's rights (seeing what a jailed process runs)") {
            for worker in after {
                let runs = fs::metadata(worker.proc("exe")).expect("it runs, and root may look");
                assert_eq!((runs.dev(), runs.ino()), (original.dev(), original.ino()), "the image that was started");
            }
        }
    }
    assert!(!marker.exists(), "what took the program's place was run");
    load.drain();
    assert!(load.server.finish().status.success());
}

/// Puts a program in that place as an upgrade does, or takes it away.
fn replace(program: &Path, by: Option<&str>) {
    match by {
        Some(text) => {
            let new = program.with_extension("new");
            fs::write(&new, text).expect("the place is ours");
            fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("the place is ours");
            fs::rename(new, program).expect("the place is ours");
        }
        None => fs::remove_file(program).expect("the place is ours"),
    }
}
