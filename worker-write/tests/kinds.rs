//! Repositories of other kinds: SHA-256, refs in tables, linked working trees, submodules with settings of their own.
//! Trust: test code.
#![cfg(unix)]

mod support;

use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::write::{Operation, Resolved};
use std::fs;
use support::{Bench, checkout, commit, rebase};

/// Most of what can be done, once; afterwards the repository is sound.
fn works(bench: &Bench) {
    bench.write("a.txt", "one\ntwo\nthree mine\n");
    bench.write("untracked", "u\n");
    let done = bench.done(&commit(&["a.txt"], "mine"));
    assert_eq!(done.id.as_deref(), Some(bench.id("HEAD").as_str()));
    let point = done.restore_point.expect("made");
    bench.done(&Operation::CreateBranch { name: "nb".into() });
    bench.done(&Operation::CreateTag { name: "nt".into(), message: Some("said".into()), revision: None });
    bench.done(&checkout("side"));
    bench.write("a.txt", "one\ntwo\nthree side\n");
    bench.done(&commit(&["a.txt"], "side's"));
    let failed = bench.refused(&rebase("nb"), Class::Conflict);
    assert_eq!((failed.state, failed.unmerged.len()), (Some(OperationState::Rebase), 1));
    bench.done(&Operation::Abort);
    for (start, state) in [("cherry-pick", OperationState::CherryPick), ("revert", OperationState::Revert)] {
        assert!(!bench.try_git(&[start, "nb"]).status.success());
        let failed = bench.refused(&checkout("main"), Class::Conflict);
        assert_eq!(failed.state, Some(state), "{failed:#?}");
        let listing = bench.git(&["ls-files", "-u"]);
        let stages = [1, 2, 3].map(|stage| {
            let line = listing.lines().find(|line| line.contains(&format!(" {stage}\t")))?;
            line.split_whitespace().nth(1).map(str::to_owned)
        });
        bench.done(&Operation::Resolve { path: "a.txt".into(), becomes: Resolved::Stage(3), stages });
        assert_eq!(bench.done(&Operation::Continue).state, Some(OperationState::Clear));
        bench.git(&["reset", "-q", "--hard", "HEAD~1"]);
    }
    bench.done(&checkout("nb"));
    bench.done(&Operation::DeleteBranch { name: "side".into(), force: true });
    bench.done(&Operation::RenameBranch { old: "nb".into(), new: "renamed".into() });
    bench.done(&Operation::DeleteTag { name: "nt".into() });
    bench.done(&checkout("main"));
    bench.done(&Operation::Restore { id: point });
    assert_eq!(
        (bench.read("a.txt").as_str(), bench.git(&["status", "--porcelain"]).as_str()),
        ("one\ntwo\nthree mine\n", " M a.txt\n?? untracked")
    );
    bench.git(&["fsck", "--strict"]);
}

#[test]
fn sha_256() {
    works(&Bench::with(&["--object-format=sha256"]).settled());
}

#[test]
fn refs_in_tables() {
    let probe = Bench::empty();
    if !probe.try_git(&["init", "-q", "--ref-format=reftable", "../probe"]).status.success() {
        eprintln!("SKIPPED: this git has no reftables");
        return;
    }
    works(&Bench::with(&["--ref-format=reftable"]).settled());
}

#[test]
fn a_linked_working_tree() {
    let mut bench = Bench::honest();
    let place = bench.beside("linked");
    bench.git(&["checkout", "-q", "-b", "of-the-main-tree"]);
    bench.git(&["worktree", "add", "-q", place.to_str().expect("UTF-8"), "main"]);
    let main = bench.root();
    bench.serving(&place);
    works(&bench);
    assert_eq!(fs::read_to_string(main.join("a.txt")).expect("it is there"), "one\ntwo\nthree main\n");
}

#[test]
fn a_submodules_own_settings_run_nothing() {
    let bench = Bench::honest();
    let canary = bench.beside("canary");
    bench.git(&["clone", "-q", "--bare", ".", "../sub.git"]);
    bench.git(&["submodule", "--quiet", "add", "../sub.git", "sub"]);
    bench.commit("a submodule");
    let program = format!("touch {}; cat", canary.display());
    bench.git(&["-C", "sub", "config", "filter.x.clean", &program]);
    bench.git(&["-C", "sub", "config", "core.fsmonitor", &program]);
    bench.write("sub/.gitattributes", "* filter=x\n");
    bench.write("sub/a.txt", "changed inside\n");
    bench.write("b.txt", "changed\n");
    bench.done(&commit(&["b.txt"], "beside a submodule"));
    assert!(!canary.exists());
    bench.refused(&commit(&["sub"], "only its inside differs"), Class::Refused);
    bench.git(&["checkout", "-q", "-b", "x", "v1"]);
    let _ = fs::remove_file(&canary);
    bench.done(&rebase("v1"));
    bench.done(&checkout("main"));
    assert!(!canary.exists());
}
