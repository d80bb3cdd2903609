//! Formats that a reader may not know, index files that are wrong, and paths of any bytes.
//! Trust: hostile by construction.

use super::{
    attack,
    support::{
        hostile::{formats as build, texts},
        *,
    },
};
use serde_json::json;
use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};

#[test]
fn formats_that_nobody_here_can_read_are_refused_by_name() {
    let report = attack(build::unknown);
    for name in ["future", "extension", "marked-reftable", "other-hash"] {
        report.all_refused(name, &["unsupported-format"]);
    }
    for name in ["negative", "not-a-number"] {
        report.answered_or(name, &["unsupported-format", "corrupt"]);
    }
}

#[test]
fn index_files_that_lie() {
    let report = attack(build::indexes);
    for name in build::INDEXES {
        report.answered_or(&format!("index-{name}"), &["corrupt", "unsupported-format", "too-large", "object-missing"]);
    }
    for name in ["count", "short", "rubbish"] {
        for outcome in report.on(&format!("index-{name}")) {
            assert!(!outcome.is_ok(), "{name}: a wrong answer without a mark: {}", outcome.message);
        }
    }
}

#[test]
fn modules_that_climb_or_hold_themselves() {
    let report = attack(build::modules);
    report.answered_or("repo", &["corrupt", "redirected"]);
    report.answered_or("own", &["corrupt", "redirected"]);
}

#[test]
fn attributes_and_patterns_beyond_measure() {
    let report = attack(build::attributes);
    for name in ["endless", "many", "backtracking"] {
        report.answered_or(name, &["too-large", "corrupt"]);
    }
}

#[test]
fn paths_of_any_bytes_come_back_as_they_are() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    texts::write_names(&repo);
    let mut server = Start::new(&place).root(place.path()).spawn();
    for stage in ["untracked", "added", "changed"] {
        match stage {
            "added" => drop(repo.git(&["add", "-A"])),
            "changed" => {
                repo.commit("names");
                texts::NAMES.iter().for_each(|name| repo.append(OsStr::from_bytes(name), "more\n"));
            }
            _ => {}
        }
        let outcome = server.call("repo.status", json!({"repoPath": repo.path()}));
        let entries = &outcome.data()["entries"];
        assert_eq!(rows::sorted(rows::from_answer(entries)), rows::sorted(repo.status()), "{stage}");
        for row in entries.as_array().expect("rows") {
            let text = row["path"].as_str().expect("text");
            let marked = row["pathEncoding"] == "escaped";
            assert_eq!(marked, text.contains("\\xFF\\xFE"), "what is not the path's own bytes is marked: {row}");
        }
    }
}
