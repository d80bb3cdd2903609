//! The vectors of an independent writer, with the outcome that the reference's verifier has for each.
//! Trust: reads test data of this repository.

use crate::support::{options, public, rules, verify_at};
use bulkhead_ledger::{
    key::Keys,
    record::Rules,
    verify::{Kind, Options, Report},
};
use std::path::{Path, PathBuf};

pub fn vector(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name).join("mcp.jsonl")
}

/// Ledger, strict, and the contract's eight lines (values alone).
const OUTCOMES: &[(&str, bool, [&str; 8])] = &[
    ("own-unsigned", false, ["6", "6", "0", "0", "6", "1", "1..6", "false"]),
    ("own-signed", false, ["6", "6", "0", "6", "0", "1", "1..6", "false"]),
    ("own-signed", true, ["6", "6", "0", "6", "0", "1", "1..6", "false"]),
    ("own-unicode", false, ["2", "2", "0", "2", "0", "1", "1..2", "false"]),
    ("own-numbers", false, ["2", "2", "0", "2", "0", "1", "1..2", "false"]),
    ("own-nonsorted", false, ["6", "6", "0", "6", "0", "1", "1..6", "false"]),
    ("own-rotated", false, ["8", "8", "0", "8", "0", "3", "1..8", "false"]),
    ("own-pruned", true, ["5", "5", "0", "5", "0", "2", "4..8", "true"]),
    ("own-six-segments", false, ["6", "6", "0", "6", "0", "6", "1..6", "false"]),
];

fn values(report: &Report) -> Vec<String> {
    let value = |line: String| line.split_once(':').map(|(_, value)| value.trim().to_owned());
    report.lines().into_iter().take(8).filter_map(value).collect()
}

#[test]
fn every_vector_has_its_outcome() {
    for (name, strict, outcome) in OUTCOMES {
        let report = verify_at(&vector(name), &options(*strict));
        assert!(report.is_sound(), "{name}: {:?}", report.findings);
        assert_eq!(values(&report), outcome, "{name}");
    }
}

#[test]
fn every_signed_vector_is_sound_in_strict_verification_and_the_unsigned_one_is_not() {
    for (name, ..) in OUTCOMES.iter().filter(|(name, ..)| *name != "own-unsigned") {
        assert!(verify_at(&vector(name), &options(true)).is_sound(), "{name}");
    }
    let report = verify_at(&vector("own-unsigned"), &options(true));
    assert_eq!(report.findings_total, 6);
    assert!(report.findings.iter().all(|finding| finding.kind == Kind::Unsigned));
    assert_eq!(report.unsigned_ranges, [(1, 6)]);
}

#[test]
fn the_lines_are_the_contracts_to_the_byte_and_ours_follow() {
    let report = verify_at(&vector("own-pruned"), &options(true));
    let lines = report.lines();
    let contract = [
        "entries:   5",
        "chained:   5",
        "legacy:    0",
        "signed:    5",
        "unsigned:  0",
        "segments:  2",
        "sequence:  4..8",
        "retention_checkpoint_used: true",
    ];
    assert_eq!(lines[..8], contract);
    assert_eq!(lines[8], "head_sequence: 8");
    assert_eq!(lines[9], "head_hash: sha256:2b0b471a076be6c0837352fd0d661c88893ff69046e29e1c72404e70e9be3beb");
    assert_eq!(report.failure(), None);
    let json = report.json();
    assert_eq!((json["ok"].as_bool(), json["lastSequence"].as_u64()), (Some(true), Some(8)));
}

#[test]
fn signatures_that_nobody_checked_are_said_to_be_unchecked() {
    let said = |name: &str, options: &Options| {
        verify_at(&vector(name), options).lines().iter().any(|line| line.starts_with("signatures: not checked"))
    };
    assert!(said("own-pruned", &Options::default()));
    assert!(!said("own-pruned", &options(false)), "they were");
    assert!(!said("own-unsigned", &Options::default()), "there are none");
}

#[test]
fn another_key_is_named_and_several_may_be_given() {
    let with = |keys: &[&str]| {
        let keys = Keys::new(keys.iter().map(|name| public(name)).collect()).expect("few keys");
        verify_at(&vector("own-signed"), &Options { rules: Rules { keys, strict: true }, ..Options::default() })
    };
    let report = with(&["b"]);
    assert!(report.findings.iter().all(|finding| finding.kind == Kind::UnknownKey), "{:?}", report.findings);
    let failure = report.failure().expect("a failure");
    assert!(failure.starts_with("segment 0, line 1: unknown-key: "), "{failure}");
    assert!(with(&["b", "a"]).is_sound());
    let unchecked = with(&[]);
    assert!(unchecked.is_sound() && !unchecked.signatures_checked);
    assert!(rules(true).strict);
}

#[test]
fn any_number_of_threads_finds_the_same() {
    let one = verify_at(&vector("own-rotated"), &Options { threads: 1, ..options(true) });
    for threads in [2, 3, 100] {
        assert_eq!(verify_at(&vector("own-rotated"), &Options { threads, ..options(true) }), one);
    }
}

#[test]
fn copies_are_verified_where_they_lie_and_are_not_changed() {
    let base = tempfile::tempdir().expect("a directory");
    let copy = base.path().join("copy");
    std::fs::create_dir(&copy).expect("made");
    for entry in std::fs::read_dir(vector("own-pruned").parent().expect("a directory")).expect("readable") {
        let entry = entry.expect("an entry");
        std::fs::copy(entry.path(), copy.join(entry.file_name())).expect("copied");
    }
    let seal = |mode_of_files: u32, mode: u32| {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            for entry in std::fs::read_dir(&copy).expect("readable") {
                let path = entry.expect("an entry").path();
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode_of_files)).expect("set");
            }
            std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(mode)).expect("set");
        }
        let _ = (mode_of_files, mode);
    };
    let facts = || {
        let mut facts: Vec<_> = std::fs::read_dir(&copy)
            .expect("readable")
            .map(|entry| {
                let entry = entry.expect("an entry");
                let facts = entry.metadata().expect("facts");
                (entry.file_name(), facts.permissions(), facts.modified().expect("a time"), facts.len())
            })
            .collect();
        facts.sort_by(|one, other| one.0.cmp(&other.0));
        facts
    };
    seal(0o444, 0o555);
    let before = facts();
    assert!(verify_at(&copy.join("mcp.jsonl"), &options(true)).is_sound());
    #[cfg(unix)]
    {
        let link = base.path().join("link.jsonl");
        std::os::unix::fs::symlink(copy.join("mcp.jsonl"), &link).expect("linked");
        let report = verify_at(&link, &options(true));
        assert_eq!((report.is_sound(), report.last), (true, 8), "through a link to the file");
        let link = base.path().join("link");
        std::os::unix::fs::symlink(&copy, &link).expect("linked");
        assert!(verify_at(&link.join("mcp.jsonl"), &options(true)).is_sound(), "through a link above");
    }
    assert_eq!(facts(), before, "verifying changes nothing, and adds nothing");
    seal(0o644, 0o755);
}
