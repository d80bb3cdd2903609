//! Rebases, conflicts, going on and giving up, for each operation that git can stop in.
//! Trust: test code.
#![cfg(unix)]

mod support;

use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::write::{Operation, Resolved};
use std::fs;
use support::{Bench, rebase};

/// Stages 1 to 3 of a path, as the index has them.
fn stages(bench: &Bench, path: &str) -> [Option<String>; 3] {
    let listing = bench.git(&["ls-files", "-u", "--", path]);
    [1, 2, 3].map(|stage| {
        let line = listing.lines().find(|line| line.split_whitespace().nth(2) == Some(&stage.to_string()))?;
        line.split_whitespace().nth(1).map(str::to_owned)
    })
}

fn resolve(bench: &Bench, path: &str, becomes: Resolved) -> Operation {
    Operation::Resolve { path: path.to_owned(), becomes, stages: stages(bench, path) }
}

#[test]
fn a_rebase_moves_the_branch_and_says_what_went_missing() {
    let bench = Bench::honest();
    bench.git(&["checkout", "-q", "side"]);
    bench.write("side.txt", "s\n");
    bench.commit("side's own");
    bench.git(&["cherry-pick", "main"]);
    let old = bench.id("HEAD");
    let done = bench.done(&rebase("main"));
    assert_eq!(done.id.as_deref(), Some(bench.id("HEAD").as_str()));
    assert_eq!(bench.git(&["log", "--format=%s", "main..side"]), "side's own");
    assert!(done.notes.iter().any(|note| note.contains("Of 2 commits 1 are not there")), "{done:?}");
    let point = done.restore_point.expect("it was made");
    assert_eq!(bench.id(&format!("refs/bulkhead/restore/{point}/head")), old);
    // once more: nothing moves
    let done = bench.done(&rebase("main"));
    assert_eq!((done.state, done.signed), (Some(OperationState::Clear), None));
}

#[test]
fn what_the_repository_says_of_rebases_is_not_done() {
    let bench = Bench::honest();
    bench.git(&["checkout", "-q", "side"]);
    for number in 0..2 {
        bench.write(format!("{number}.txt"), "s\n");
        bench.commit(&format!("own {number}"));
        bench.git(&["branch", "-f", &format!("below-{number}")]);
    }
    for (key, value) in [("rebase.updateRefs", "true"), ("rebase.autoStash", "true"), ("rebase.backend", "apply")] {
        bench.git(&["config", key, value]);
    }
    let below = bench.id("below-0");
    bench.write("a.txt", "dirty\n");
    let before = bench.picture();
    let failed = bench.refused(&rebase("main"), Class::Dirty);
    assert!(failed.reason.contains("a.txt"), "{failed:#?}");
    assert_eq!(bench.picture(), before);
    bench.git(&["checkout", "-q", "a.txt"]);
    bench.done(&rebase("main"));
    assert_eq!(bench.id("below-0"), below);
}

#[test]
fn a_rebase_that_cannot_begin_is_refused() {
    let bench = Bench::honest();
    bench.refused(&rebase("nosuch"), Class::NotFound);
    bench.refused(&rebase("-i"), Class::NotFound);
    fs::write(bench.git_dir().join("info/exclude"), "ignored.txt\n").expect("ours");
    bench.write("ignored.txt", "theirs\n");
    bench.git(&["add", "-f", "ignored.txt"]);
    bench.commit("an ignored file");
    bench.git(&["checkout", "-q", "side"]);
    bench.write("ignored.txt", "mine\n");
    let failed = bench.refused(&rebase("main"), Class::Dirty);
    assert!(failed.reason.contains("ignored.txt"), "{failed:#?}");
    assert_eq!(bench.read("ignored.txt"), "mine\n");
}

#[test]
fn a_conflict_is_resolved_from_stages_and_gone_on_from() {
    let bench = Bench::clashing();
    let failed = bench.refused(&rebase("main"), Class::Conflict);
    assert_eq!(failed.state, Some(OperationState::Rebase));
    assert_eq!(failed.unmerged, ["a.txt"]);
    assert!(failed.restore_point.is_some());

    let done = bench.done(&Operation::Continue);
    assert_eq!(done.state, Some(OperationState::Conflict));
    assert!(done.notes[0].contains("a.txt"), "{done:?}");
    let failed = bench.refused(&rebase("main"), Class::Refused);
    assert_eq!(failed.state, Some(OperationState::Rebase));

    let done = bench.done(&resolve(&bench, "a.txt", Resolved::Stage(3)));
    assert_eq!((done.conflicts_resolved, bench.read("a.txt").as_str()), (1, "one\ntwo\nthree side\n"));
    assert_eq!(bench.git(&["ls-files", "-u"]), "");
    let done = bench.done(&Operation::Continue);
    assert_eq!(done.state, Some(OperationState::Clear));
    assert_eq!(bench.git(&["log", "-1", "--format=%s", "side"]), "fourth");
    assert_eq!(bench.id("side~1"), bench.id("main"));
    assert_eq!(bench.done(&Operation::Continue).state, Some(OperationState::Clear));
}

#[test]
fn a_step_that_became_empty_is_told() {
    let bench = Bench::clashing();
    bench.refused(&rebase("main"), Class::Conflict);
    bench.done(&resolve(&bench, "a.txt", Resolved::Stage(2)));
    let done = bench.done(&Operation::Continue);
    assert!(done.notes.iter().any(|note| note.contains("fourth") && note.contains("became empty")), "{done:?}");
    assert_eq!(bench.id("side"), bench.id("main"));
}

#[test]
fn a_rebase_that_stops_again_says_so() {
    let bench = Bench::clashing();
    bench.write("a.txt", "one\ntwo\nthree side again\n");
    bench.commit("fifth");
    bench.refused(&rebase("main"), Class::Conflict);
    bench.done(&resolve(&bench, "a.txt", Resolved::Stage(2)));
    let done = bench.done(&Operation::Continue);
    assert_eq!(done.state, Some(OperationState::Conflict));
    assert!(done.notes.iter().any(|note| note.contains("a.txt")), "{done:?}");
    assert_eq!(bench.done(&Operation::Abort).state, Some(OperationState::Clear));
    assert_eq!(bench.git(&["log", "-1", "--format=%s"]), "fifth");
}

#[test]
fn steps_that_run_programs_are_refused() {
    let bench = Bench::clashing();
    let canary = bench.beside("canary");
    let program = format!("touch {}", canary.display());
    assert!(!bench.try_git(&["rebase", "--exec", &program, "main"]).status.success());
    bench.done(&resolve(&bench, "a.txt", Resolved::Stage(3)));
    let failed = bench.refused(&Operation::Continue, Class::Refused);
    assert!(failed.reason.contains("touch"), "{failed:#?}");
    assert!(!canary.exists());
    assert_eq!(bench.done(&Operation::Abort).state, Some(OperationState::Clear));
}

#[test]
fn a_merge_driver_of_the_repository_does_not_run() {
    let bench = Bench::clashing();
    let canary = bench.beside("canary");
    bench.git(&["config", "merge.mine.driver", &format!("touch {} #", canary.display())]);
    bench.git(&["config", "merge.unused.driver", "false"]);
    assert!(matches!(bench.refused(&rebase("main"), Class::Conflict).state, Some(OperationState::Rebase)));
    bench.done(&Operation::Abort);
    fs::write(bench.git_dir().join("info/attributes"), "a.txt merge=mine\n").expect("ours");
    let failed = bench.refused(&rebase("main"), Class::Refused);
    assert!(failed.reason.contains("merge.mine.driver") && failed.state == Some(OperationState::Clear), "{failed:#?}");
    assert!(!canary.exists());
}

#[test]
fn a_merge_is_gone_on_with_without_lines_of_comments() {
    let bench = Bench::clashing();
    assert!(!bench.try_git(&["merge", "main"]).status.success());
    let text = Resolved::Content { bytes: b"one\ntwo\nboth\n".to_vec(), mode_of: 2, conflicts: 3 };
    let done = bench.done(&resolve(&bench, "a.txt", text));
    assert_eq!((done.conflicts_resolved, bench.read("a.txt").as_str()), (3, "one\ntwo\nboth\n"));
    let done = bench.done(&Operation::Continue);
    assert_eq!(done.state, Some(OperationState::Clear));
    assert_eq!(bench.git(&["log", "-1", "--format=%B"]), "Merge branch 'main' into side");
    assert_eq!(bench.id("HEAD^2"), bench.id("main"));
    assert_eq!(bench.git(&["log", "-1", "--format=%an"]), "Op Erator");
}

#[test]
fn every_operation_can_be_given_up() {
    let bench = Bench::clashing();
    let patch = bench.beside("patch");
    fs::write(&patch, bench.git(&["format-patch", "--stdout", "-1", "side"]) + "\n").expect("ours");
    bench.git(&["checkout", "-q", "main"]);
    let head = bench.id("HEAD");
    let patch = patch.to_str().expect("UTF-8").to_owned();
    let starts: &[(&[&str], OperationState)] = &[
        (&["merge", "side"], OperationState::Merge),
        (&["rebase", "side"], OperationState::Rebase),
        (&["rebase", "--apply", "side"], OperationState::Rebase),
        (&["cherry-pick", "side"], OperationState::CherryPick),
        (&["revert", "side"], OperationState::Revert),
        (&["am", "-3", &patch], OperationState::ApplyMailbox),
    ];
    for (start, state) in starts {
        assert!(!bench.try_git(start).status.success(), "{start:?}");
        let failed = bench.refused(&Operation::DeleteTag { name: "nosuch".into() }, Class::NotFound);
        assert_eq!(failed.state, Some(*state), "{start:?}");
        assert_eq!(bench.done(&Operation::Continue).state, Some(OperationState::Conflict), "{start:?}");
        let done = bench.done(&Operation::Abort);
        assert_eq!(done.state, Some(OperationState::Clear), "{start:?}");
        assert!(done.restore_point.is_some());
        assert_eq!((bench.id("HEAD"), bench.git(&["status", "--porcelain"])), (head.clone(), String::new()));
        assert_eq!(bench.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    }
    let done = bench.done(&Operation::Abort);
    assert_eq!((done.state, done.restore_point), (Some(OperationState::Clear), None));
}

#[test]
fn cherry_picks_reverts_and_patches_are_gone_on_with() {
    let bench = Bench::clashing();
    let patch = bench.beside("patch");
    fs::write(&patch, bench.git(&["format-patch", "--stdout", "-1", "side"]) + "\n").expect("ours");
    let patch = patch.to_str().expect("UTF-8").to_owned();
    let starts: &[&[&str]] = &[&["cherry-pick", "side"], &["revert", "side"], &["am", "-3", &patch]];
    for start in starts {
        bench.git(&["checkout", "-q", "main"]);
        assert!(!bench.try_git(start).status.success(), "{start:?}");
        let text = Resolved::Content { bytes: b"settled\n".to_vec(), mode_of: 3, conflicts: 1 };
        bench.done(&resolve(&bench, "a.txt", text));
        let done = bench.done(&Operation::Continue);
        assert_eq!(done.state, Some(OperationState::Clear), "{start:?}");
        assert_eq!(bench.git(&["show", "HEAD:a.txt"]), "settled", "{start:?}");
        assert!(!bench.git(&["log", "-1", "--format=%B"]).contains('#'), "{start:?}");
        bench.git(&["reset", "-q", "--hard", "HEAD~1"]);
    }
    // one that comes to nothing is not dropped without a word
    assert!(!bench.try_git(&["cherry-pick", "side"]).status.success());
    bench.done(&resolve(&bench, "a.txt", Resolved::Stage(2)));
    let failed = bench.refused(&Operation::Continue, Class::Failed);
    assert!(failed.reason.contains("became empty"), "{failed:#?}");
}

#[test]
fn a_bisection_can_be_given_up_and_not_gone_on_with() {
    let bench = Bench::honest();
    bench.git(&["bisect", "start", "main", "main~2"]);
    assert_eq!(bench.refused(&Operation::Continue, Class::Unsupported).state, Some(OperationState::Bisect));
    assert_eq!(bench.done(&Operation::Abort).state, Some(OperationState::Clear));
    assert_eq!(bench.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
}

#[test]
fn a_side_that_deleted_can_be_taken_and_the_other_too() {
    for (becomes, there) in [(Resolved::Deleted, false), (Resolved::Stage(3), true)] {
        let bench = Bench::honest();
        bench.git(&["checkout", "-q", "side"]);
        bench.write("a.txt", "changed\n");
        bench.commit("changes");
        bench.git(&["checkout", "-q", "main"]);
        bench.git(&["rm", "-q", "a.txt"]);
        bench.commit("deletes");
        assert!(!bench.try_git(&["merge", "side"]).status.success());
        let missing = bench.refused(&resolve(&bench, "a.txt", Resolved::Stage(2)), Class::NotFound);
        assert!(missing.reason.contains("ours"), "{missing:#?}");
        bench.done(&resolve(&bench, "a.txt", becomes));
        assert_eq!((bench.is_there("a.txt"), bench.git(&["ls-files", "-u"])), (there, String::new()));
        assert_eq!(bench.git(&["ls-files", "a.txt"]).is_empty(), !there);
    }
}

#[test]
fn binary_files_and_modes_come_from_their_stages() {
    let bench = Bench::honest();
    bench.git(&["checkout", "-q", "side"]);
    bench.write("bin", b"\0side\xff");
    fs::set_permissions(bench.at("bin"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    bench.commit("binary");
    bench.git(&["checkout", "-q", "main"]);
    bench.write("bin", b"\0main\xff");
    bench.commit("binary too");
    assert!(!bench.try_git(&["merge", "side"]).status.success());
    bench.done(&resolve(&bench, "bin", Resolved::Stage(3)));
    assert_eq!(fs::read(bench.at("bin")).expect("it is there"), b"\0side\xff");
    assert!(bench.git(&["ls-files", "-s", "bin"]).starts_with("100755"));
}

#[test]
fn a_file_that_both_renamed_keeps_one_name() {
    let bench = Bench::empty();
    bench.write("old", "line 1\nline 2\nline 3\nline 4\n");
    bench.commit("first");
    bench.git(&["checkout", "-q", "-b", "side"]);
    bench.git(&["mv", "old", "theirs"]);
    bench.commit("one name");
    bench.git(&["checkout", "-q", "main"]);
    bench.git(&["mv", "old", "ours"]);
    bench.commit("another");
    assert!(!bench.try_git(&["merge", "side"]).status.success());
    let done = bench.done(&resolve(&bench, "ours", Resolved::Stage(2)));
    assert!(done.notes.iter().any(|note| note.contains("old") && note.contains("theirs")), "{done:?}");
    assert_eq!((bench.git(&["ls-files"]), bench.is_there("theirs")), ("ours".to_owned(), false));
    assert_eq!(bench.done(&Operation::Continue).state, Some(OperationState::Clear));
}

#[test]
fn a_resolution_of_other_stages_is_not_taken() {
    let bench = Bench::clashing();
    assert!(!bench.try_git(&["merge", "main"]).status.success());
    let mut stages = stages(&bench, "a.txt");
    let before = bench.picture();
    stages[2] = Some("0".repeat(40));
    let operation = Operation::Resolve { path: "a.txt".into(), becomes: Resolved::Stage(2), stages };
    bench.refused(&operation, Class::Conflict);
    let operation =
        Operation::Resolve { path: "b.txt".into(), becomes: Resolved::Stage(2), stages: [None, None, None] };
    bench.refused(&operation, Class::Refused);
    assert_eq!(bench.picture(), before);
}
