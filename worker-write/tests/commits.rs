//! `repo_commit` beside the real git: what lands in it, what stays, what is refused.
//! Trust: test code.
#![cfg(unix)]

mod support;

use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::write::Operation;
use std::{fs, os::unix::fs::PermissionsExt};
use support::{Bench, commit};

#[test]
fn exactly_the_named_paths_are_committed_and_the_rest_stays_staged() {
    let bench = Bench::honest();
    bench.write("a.txt", "new a\n");
    bench.write("b.txt", "new b\n");
    bench.git(&["add", "b.txt"]);
    let done = bench.done(&commit(&["a.txt"], "only a\n\n# kept\n"));
    assert_eq!(done.id.as_deref(), Some(bench.id("HEAD").as_str()));
    assert_eq!(done.signed, Some(false));
    assert_eq!(
        bench.git(&["show", "--name-only", "--format=%an <%ae>%n%B"]),
        "Op Erator <op@example.org>\nonly a\n\n# kept\n\n\na.txt"
    );
    assert_eq!(bench.git(&["diff", "--cached", "--name-only"]), "b.txt");
}

#[test]
fn a_directory_a_deletion_an_absolute_path_and_everything_can_be_named() {
    let bench = Bench::honest();
    bench.write("dir/c.txt", "new\n");
    bench.done(&commit(&["dir/"], "a directory"));
    fs::remove_file(bench.at("b.txt")).expect("it is there");
    bench.done(&commit(&["b.txt"], "a deletion"));
    assert_eq!(bench.git(&["show", "--name-status", "--format="]), "D\tb.txt");
    bench.write("a.txt", "absolute\n");
    let absolute = bench.at("a.txt");
    bench.done(&commit(&[absolute.to_str().expect("UTF-8")], "absolute"));
    bench.write("a.txt", "all\n");
    bench.write("dir/c.txt", "all\n");
    bench.done(&commit(&["."], "all"));
    assert_eq!(bench.git(&["status", "--porcelain"]), "");
    assert_eq!(bench.git(&["show", "--name-only", "--format="]), "a.txt\ndir/c.txt");
}

#[test]
fn names_with_special_characters_are_literal() {
    let bench = Bench::honest();
    for name in ["*.txt", ":(top)x", "sp ace", "-m", "new\nline", "ünï"] {
        bench.write(name, "1\n");
    }
    bench.commit("odd names");
    bench.write("a.txt", "not this\n");
    for name in ["*.txt", ":(top)x", "sp ace", "-m", "new\nline", "ünï"] {
        bench.write(name, "2\n");
        bench.done(&commit(&[name], "odd"));
        assert_eq!(bench.git(&["show", "--name-only", "-z", "--format="]), format!("{name}\0"));
    }
    assert_eq!(bench.git(&["diff", "--name-only"]), "a.txt");
}

#[test]
fn what_cannot_be_committed_is_refused_by_name_and_changes_nothing() {
    let bench = Bench::honest();
    bench.write("new.txt", "untracked\n");
    bench.write("a.txt", "changed\n");
    let cases = [
        (commit(&["new.txt"], "x"), Class::NotFound, "new.txt"),
        (commit(&["a.txt", "nosuch"], "x"), Class::NotFound, "nosuch"),
        (commit(&["a.txt", "b.txt"], "x"), Class::Refused, "b.txt"),
        (commit(&["../x"], "x"), Class::Refused, "../x"),
        (commit(&["/etc/passwd"], "x"), Class::Refused, "/etc/passwd"),
        (commit(&[".git/config"], "x"), Class::Refused, ".git/config"),
        (commit(&["dir/.GIT/x"], "x"), Class::Refused, ".GIT"),
        (commit(&[""], "x"), Class::Refused, "empty path"),
        (commit(&[], "x"), Class::Refused, "No path"),
        (commit(&["a.txt"], " \n"), Class::Refused, "message is empty"),
        (commit(&["a.txt"], "a\0b"), Class::Refused, "NUL"),
    ];
    for (operation, class, named) in cases {
        let failed = bench.unchanged(&operation, class);
        assert!(failed.reason.contains(named), "{failed:#?}");
        assert_eq!((failed.state, &failed.restore_point), (Some(OperationState::Clear), &None), "{failed:#?}");
    }
    assert_eq!(bench.git(&["for-each-ref", "refs/bulkhead"]), "", "there is no way back from what was not done");
}

#[test]
fn an_empty_commit_is_made_where_it_is_asked_for() {
    let bench = Bench::honest();
    let operation = Operation::Commit {
        paths: vec!["a.txt".into()],
        message: "empty".into(),
        allow_empty: true,
        include_untracked: false,
    };
    bench.done(&operation);
    assert_eq!(bench.git(&["show", "--name-only", "--format=%s"]), "empty");
}

#[test]
fn new_files_are_taken_in_where_they_are_meant() {
    let bench = Bench::honest();
    let with = |paths: &[&str]| match commit(paths, "new") {
        Operation::Commit { paths, message, allow_empty, .. } => {
            Operation::Commit { paths, message, allow_empty, include_untracked: true }
        }
        other => other,
    };
    bench.write(".gitignore", "*.ign\n");
    bench.write("new/one.txt", "1\n");
    bench.write("new/two.ign", "2\n");
    bench.write("beside.txt", "3\n");
    bench.write("a.txt", "changed\n");
    let failed = bench.unchanged(&commit(&["new"], "new"), Class::NotFound);
    assert!(failed.next.contains("include_untracked"), "{failed:#?}");
    bench.unchanged(&with(&["new/two.ign"]), Class::NotFound);
    // what fails leaves the index without them
    bench.unchanged(&with(&["new", "nosuch"]), Class::NotFound);
    bench.done(&with(&["new", "a.txt"]));
    assert_eq!(bench.git(&["show", "--name-only", "--format="]), "a.txt\nnew/one.txt");
    assert_eq!(bench.git(&["ls-files", "--others", "--exclude-standard"]), ".gitignore\nbeside.txt");
    assert_eq!(bench.git(&["diff", "--cached", "--name-only"]), "");
}

#[test]
fn the_first_commit_is_made_like_any_other() {
    let bench = Bench::empty();
    bench.write("a.txt", "a\n");
    bench.write("b.txt", "b\n");
    bench.git(&["add", "a.txt", "b.txt"]);
    let done = bench.done(&commit(&["a.txt"], "first"));
    assert!(done.restore_point.is_some());
    assert_eq!(bench.git(&["ls-tree", "--name-only", "HEAD"]), "a.txt");
    assert_eq!(bench.git(&["diff", "--cached", "--name-only"]), "b.txt");
}

#[test]
fn markers_of_a_conflict_are_never_committed() {
    let bench = Bench::clashing();
    bench.write("b.txt", "b\nb2\nb3\n");
    bench.commit("fifth");
    assert!(!bench.try_git(&["rebase", "main"]).status.success());
    let failed = bench.unchanged(&commit(&["a.txt"], "x"), Class::Conflict);
    assert_eq!((failed.state, failed.unmerged), (Some(OperationState::Rebase), vec!["a.txt".to_owned()]));
    bench.write("b.txt", "other\n");
    let failed = bench.unchanged(&commit(&["b.txt"], "x"), Class::Conflict);
    assert!(failed.reason.contains("a.txt"), "{failed:#?}");
}

#[test]
fn in_the_middle_of_a_merge_nothing_is_committed_in_part() {
    let bench = Bench::clashing();
    assert!(!bench.try_git(&["merge", "main"]).status.success());
    bench.write("a.txt", "resolved\n");
    bench.git(&["add", "a.txt"]);
    let failed = bench.unchanged(&commit(&["a.txt"], "x"), Class::Refused);
    assert_eq!(failed.state, Some(OperationState::Merge));
    assert!(failed.next.contains("repo_continue_in_progress"), "{failed:#?}");
}

#[test]
fn in_the_middle_of_a_rebase_a_resolved_path_is_committed() {
    let bench = Bench::clashing();
    assert!(!bench.try_git(&["rebase", "main"]).status.success());
    bench.write("a.txt", "resolved\n");
    bench.git(&["add", "a.txt"]);
    bench.done(&commit(&["a.txt"], "by hand"));
    assert_eq!(bench.git(&["log", "-1", "--format=%s"]), "by hand");
}

#[test]
fn paths_of_a_filter_are_refused_and_no_filter_runs() {
    let bench = Bench::honest();
    bench.write(".gitattributes", "*.big filter=lfs\n");
    bench.write("x.big", "content\n");
    bench.commit("a filtered file");
    let canary = bench.beside("canary");
    let program = format!("touch {}; cat", canary.display());
    bench.git(&["config", "filter.lfs.clean", &program]);
    bench.git(&["config", "filter.lfs.required", "true"]);
    bench.write("x.big", "other\n");
    let failed = bench.unchanged(&commit(&["x.big"], "x"), Class::Refused);
    assert!(failed.reason.contains("x.big") && failed.reason.contains("lfs"), "{failed:#?}");
    // so far the owner's own git may have run it
    let _ = fs::remove_file(&canary);
    bench.write("a.txt", "fine\n");
    bench.done(&commit(&["a.txt"], "another path"));
    assert!(!canary.exists());
}

#[test]
fn hooks_are_named_and_do_not_run() {
    let bench = Bench::honest();
    let canary = bench.beside("canary");
    for name in ["pre-commit", "post-commit", "pre-push"] {
        let path = bench.git_dir().join("hooks").join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
        fs::write(&path, format!("#!/bin/sh\ntouch {}\nexit 1\n", canary.display())).expect("ours");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
    }
    bench.write("a.txt", "hooked\n");
    let done = bench.done(&commit(&["a.txt"], "x"));
    assert_eq!(done.hooks_skipped, ["pre-commit", "post-commit"]);
    assert!(!canary.exists());
}

#[test]
fn an_operator_who_signs_is_not_given_an_unsigned_commit() {
    let mut bench = Bench::honest();
    bench.allowed.pinned.push(("commit.gpgsign".into(), "true".into()));
    bench.write("a.txt", "signed?\n");
    let failed = bench.unchanged(&commit(&["a.txt"], "x"), Class::Refused);
    assert!(failed.next.contains("--allow-unsigned"), "{failed:#?}");
    bench.allowed.allow_unsigned = true;
    assert_eq!(bench.done(&commit(&["a.txt"], "x")).signed, Some(false));
}

#[test]
fn a_repository_cannot_ask_for_signatures() {
    let bench = Bench::honest();
    let canary = bench.beside("canary");
    let program = bench.beside("gpg");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", canary.display())).expect("ours");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
    bench.git(&["config", "commit.gpgSign", "true"]);
    bench.git(&["config", "gpg.program", program.to_str().expect("UTF-8")]);
    bench.write("a.txt", "x\n");
    bench.done(&commit(&["a.txt"], "x"));
    assert!(!canary.exists());
}

#[test]
fn without_an_identity_the_operator_is_told() {
    let mut bench = Bench::honest();
    bench.allowed.pinned.clear();
    bench.write("a.txt", "x\n");
    // Git would make one up from the machine's name
    bench.git(&["config", "user.useConfigOnly", "true"]);
    let failed = bench.refused(&commit(&["a.txt"], "x"), Class::Refused);
    assert!(failed.next.contains("user.email"), "{failed:#?}");
    assert!(failed.restore_point.is_some());
}
