//! What the direct surface alone asks: answers are those of git, and of the records of the surface that it stands in for.
//! Trust: test only; the judge is the real git.
#![cfg(unix)]

#[path = "../support/mod.rs"]
mod support;

#[path = "../../../tests/support/direct_repository.rs"]
mod direct_repository;

#[path = "../../../tests/support/dice.rs"]
mod dice;

mod annotate;
mod conflicts;
mod contents;
mod histories;

use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    path::bytes_of,
    results::{NamedPath, PathList},
};
use bulkhead_ipc::edge::read::Reply;
use std::path::PathBuf;
use support::{Operator, Worker, start};

/// Room for all of an answer.
const ALL: u32 = u32::MAX;

/// A directory, the recorded repository in it, and a worker for that.
fn recorded() -> (tempfile::TempDir, PathBuf, Worker) {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let repo = direct_repository::build(&temp.path().canonicalize().expect("it is there"));
    let worker = start(&repo, &Operator::default()).expect("a repository");
    (temp, repo, worker)
}

/// The paths of a list as their own bytes.
fn bytes(paths: &[NamedPath]) -> Vec<Vec<u8>> {
    paths.iter().map(|row| bytes_of(&row.path, row.path_encoding).expect("escaped by us")).collect()
}

fn list_of(answer: Result<Reply, ReadFailure>) -> PathList {
    match answer {
        Ok(Reply::ListFiles(list) | Reply::Unmerged(list)) => *list,
        other => panic!("another answer: {other:?}"),
    }
}

/// What an answer that is a failure says.
fn refused(answer: Result<Reply, ReadFailure>, reason: Reason, what: &str) -> String {
    let failure = answer.expect_err(what);
    assert_eq!(failure.reason, reason, "{what}: {}", failure.details);
    failure.details
}
