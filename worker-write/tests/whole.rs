//! Files of a git directory that are longer than what is read of them: nothing is done by a part of one.
//! Trust: test code.
#![cfg(unix)]

mod support;

use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::write::Operation;
use bulkhead_worker_write::guard::Guard;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};
use support::{Bench, checkout, commit};

const MIB: usize = 1 << 20;

/// Comments by the line, this many bytes of them at least.
fn comments(bytes: usize) -> String {
    format!("# {}\n", "x".repeat(97)).repeat(bytes / 100 + 1)
}

/// A file as it is, with so much before what is in it.
fn behind(path: &Path, before: &str) {
    let text = fs::read_to_string(path).expect("it is there");
    fs::write(path, before.to_owned() + &text).expect("ours");
}

/// A rebase that has stopped at a conflict.
fn stopped() -> Bench {
    let bench = Bench::clashing();
    assert!(!bench.try_git(&["rebase", "main"]).status.success(), "it conflicts");
    bench
}

#[test]
fn objects_that_a_long_file_of_alternates_lends_are_not_borrowed() {
    let (bench, other) = (Bench::honest(), Bench::honest());
    let foreign = other.commit("of another repository");
    let alternates = bench.git_dir().join("objects/info/alternates");
    let line = format!("{}\n", other.git_dir().join("objects").display());
    fs::write(&alternates, comments(64 << 10) + &line).expect("ours");
    assert_eq!(bench.id(&foreign), foreign, "git reads it to its end");
    for operation in [checkout(&foreign), Operation::CreateBranch { name: "nb".to_owned() }, Operation::Fetch] {
        let failed = bench.unchanged(&operation, Class::TooLarge);
        assert!(failed.reason.contains("objects/info/alternates is longer than 65536 bytes"), "{failed:#?}");
    }
    // nor over a link, which git follows
    let beside = bench.beside("alternates");
    fs::rename(&alternates, &beside).expect("ours");
    symlink(&beside, &alternates).expect("ours");
    let failed = bench.unchanged(&checkout(&foreign), Class::Unusable);
    assert!(failed.reason.contains("objects/info/alternates is no regular file"), "{failed:#?}");
    // one that is lent by way of another
    fs::remove_file(&alternates).expect("ours");
    let between = bench.git_dir().join("between");
    fs::create_dir_all(between.join("info")).expect("ours");
    fs::write(between.join("info/alternates"), comments(64 << 10) + &line).expect("ours");
    fs::write(&alternates, "../between\n").expect("ours");
    assert_eq!(bench.id(&foreign), foreign, "git follows it");
    bench.unchanged(&checkout(&foreign), Class::TooLarge);
}

#[test]
fn a_remote_whose_alternates_are_too_long_is_refused_by_name() {
    let bench = Bench::honest();
    let origin = bench.beside("origin.git");
    let origin = origin.to_str().expect("UTF-8");
    bench.git(&["clone", "-q", "--bare", ".", origin]);
    bench.git(&["remote", "add", "origin", origin]);
    let alternates = PathBuf::from(origin).join("objects/info/alternates");
    fs::write(&alternates, comments(64 << 10)).expect("ours");
    for operation in [Operation::Fetch, Operation::Push { branch: "main".to_owned() }] {
        let failed = bench.unchanged(&operation, Class::TooLarge);
        assert!(failed.reason.contains("of the remote's repository"), "{failed:#?}");
    }
    fs::remove_file(&alternates).expect("ours");
    bench.done(&Operation::Push { branch: "main".to_owned() });
}

#[test]
fn steps_that_run_programs_are_seen_however_far_behind_they_stand() {
    let bench = stopped();
    bench.write("a.txt", "resolved\n");
    bench.git(&["add", "a.txt"]);
    let todo = bench.git_dir().join("rebase-merge/git-rebase-todo");
    let run = format!("exec touch {}\n", bench.beside("ran").display());
    fs::write(&todo, comments(MIB) + &run).expect("ours");
    let failed = bench.unchanged(&Operation::Continue, Class::Refused);
    assert!(failed.reason.contains("exec touch"), "{failed:#?}");
    fs::write(&todo, comments(16 * MIB) + &run).expect("ours");
    let failed = bench.unchanged(&Operation::Continue, Class::TooLarge);
    assert!(failed.reason.contains("rebase-merge/git-rebase-todo"), "{failed:#?}");
    assert!(!bench.beside("ran").exists());
    fs::write(&todo, "").expect("ours");
    assert_eq!(bench.done(&Operation::Continue).state, Some(OperationState::Clear));
}

#[test]
fn giving_up_does_not_follow_a_part_of_where_it_leads() {
    let bench = stopped();
    let head = bench.git_dir().join("rebase-merge/orig-head");
    let text = fs::read_to_string(&head).expect("git writes it");
    fs::write(&head, text.clone() + &"\n".repeat(MIB)).expect("ours");
    let failed = bench.unchanged(&Operation::Abort, Class::TooLarge);
    assert!(failed.reason.contains("rebase-merge/orig-head"), "{failed:#?}");
    assert_eq!(failed.state, Some(OperationState::Rebase));
    fs::write(&head, text).expect("ours");
    assert_eq!(bench.done(&Operation::Abort).state, Some(OperationState::Clear));
}

#[test]
fn a_series_is_known_by_its_first_step_however_many_there_are() {
    let bench = Bench::honest();
    let sequencer = bench.git_dir().join("sequencer");
    fs::create_dir(&sequencer).expect("ours");
    fs::write(sequencer.join("todo"), format!("pick {} x\n", bench.id("HEAD")).repeat(30_000)).expect("ours");
    fs::write(sequencer.join("head"), bench.id("HEAD")).expect("ours");
    let failed = bench.refused(&checkout("v1"), Class::Refused);
    assert_eq!(failed.state, Some(OperationState::CherryPick), "{failed:#?}");
}

#[test]
fn files_that_a_long_configuration_takes_in_are_seen() {
    let bench = Bench::honest();
    let outside = bench.beside("outside");
    fs::write(&outside, "[user]\n\tname = Out Side\n").expect("ours");
    bench.git(&["config", "include.path", outside.to_str().expect("UTF-8")]);
    let config = bench.git_dir().join("config");
    behind(&config, &comments(MIB));
    assert_eq!(bench.git(&["config", "user.name"]), "Out Side", "git reads it to its end");
    let failed = bench.unchanged(&checkout("v1"), Class::Refused);
    assert!(failed.reason.contains("include.path"), "{failed:#?}");
    // one that takes in nothing is as good as a short one
    bench.git(&["config", "--unset", "include.path"]);
    bench.done(&checkout("v1"));
}

#[test]
fn a_common_directory_is_not_named_by_a_part_of_a_file() {
    let mut bench = Bench::honest();
    let linked = bench.beside("linked");
    bench.git(&["worktree", "add", "-q", linked.to_str().expect("UTF-8"), "side"]);
    bench.serving(&linked);
    let commondir = bench.git_dir().join("commondir");
    let text = fs::read_to_string(&commondir).expect("git writes it");
    fs::write(&commondir, text.clone() + &"\n".repeat(MIB)).expect("ours");
    let failed = bench.refused(&checkout("v1"), Class::Unusable);
    assert!(failed.reason.contains("commondir is longer than"), "{failed:#?}");
    let beside = bench.beside("commondir");
    fs::write(&beside, &text).expect("ours");
    fs::remove_file(&commondir).expect("ours");
    symlink(&beside, &commondir).expect("ours");
    let failed = bench.refused(&checkout("v1"), Class::Unusable);
    assert!(failed.reason.contains("commondir is no regular file"), "{failed:#?}");
    fs::remove_file(&commondir).expect("ours");
    fs::write(&commondir, text).expect("ours");
    bench.done(&checkout("v1"));
}

#[test]
fn a_working_tree_without_a_point_is_not_removed() {
    let bench = Bench::honest();
    let linked = bench.beside("linked");
    let name = linked.to_str().expect("UTF-8").to_owned();
    bench.git(&["worktree", "add", "-q", &name, "side"]);
    fs::write(linked.join("untracked"), "mine\n").expect("ours");
    let gitdir = bench.git_dir().join("worktrees/linked/gitdir");
    let text = fs::read_to_string(&gitdir).expect("git writes it");
    fs::write(&gitdir, text.clone() + &"\n".repeat(MIB)).expect("ours");
    assert!(bench.git(&["worktree", "list"]).contains(&name), "git reads it to its end");
    let remove = Operation::RemoveWorktree { path: name, force: true };
    let failed = bench.unchanged(&remove, Class::Refused);
    assert!(failed.reason.contains("no restore point can be made of it"), "{failed:#?}");
    assert_eq!(fs::read_to_string(linked.join("untracked")).expect("it is there"), "mine\n");
    fs::write(&gitdir, text).expect("ours");
    bench.done(&remove);
    assert!(!linked.exists());
}

#[test]
fn a_hook_that_is_planted_among_very_many_files_is_seen() {
    let bench = Bench::honest();
    let hooks = bench.git_dir().join("hooks");
    fs::create_dir_all(&hooks).expect("ours");
    (0..2_000).for_each(|number| fs::write(hooks.join(format!("other-{number}")), "").expect("ours"));
    for name in ["post-commit", "reference-transaction", "fsmonitor-watchman"] {
        let git_dir = bench.git_dir();
        let guard = Guard::before(&bench.root(), &git_dir, &git_dir, &[]).expect("all of it can be kept");
        fs::write(hooks.join(name), "#!/bin/sh\n").expect("ours");
        assert_eq!(guard.changes(), Ok(vec![hooks.join(name)]));
        assert!(guard.undo().starts_with("All of it was put back."));
        assert!(!hooks.join(name).exists());
    }
    bench.write("a.txt", "mine\n");
    bench.done(&commit(&["a.txt"], "x"));
}
