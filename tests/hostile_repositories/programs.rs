//! Repositories that try to have a program run: hooks, configuration, filters, promisor remotes.
//! Trust: hostile by construction.

use super::{attack, support::hostile::programs as build};
use serde_json::json;

#[test]
fn every_hook() {
    attack(build::every_hook).all_answered("repo");
    attack(build::hooks_elsewhere).all_answered("repo");
}

#[test]
fn every_configuration_key_that_names_a_program() {
    let report = attack(build::every_key);
    report.all_answered("repo");
    let entries = report.on("repo")[1].data()["entries"].clone();
    let changed = entries.as_array().expect("rows").iter().find(|row| row["path"] == "a.txt").expect("it is changed");
    assert_eq!(changed["status"], " M");
    assert_eq!(changed["filtered"], json!(true), "a row that a filter might have changed says so: {changed}");
}

#[test]
fn one_configuration_key_alone() {
    let report = attack(build::one_key_each);
    for name in ["clean", "process", "smudge", "textconv", "command", "external", "monitor", "merge", "refs"] {
        report.all_answered(name);
    }
}

#[test]
fn signatures_that_a_program_would_verify() {
    attack(build::signatures).all_answered("repo");
}

#[test]
fn a_submodules_own_configuration() {
    attack(build::submodules_own).all_answered("repo");
}

#[test]
fn a_promisor_remote() {
    let report = attack(build::promisor);
    for name in ["promised-command", "promised-network", "promised-program"] {
        report.answered_or(name, &["object-missing"]);
    }
}
