//! Branches, tags and checkouts beside the real git.
//! Trust: test code.
#![cfg(unix)]

mod support;

use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::write::Operation;
use std::fs;
use support::{Bench, checkout};

fn create(name: &str) -> Operation {
    Operation::CreateBranch { name: name.to_owned() }
}

fn delete(name: &str, force: bool) -> Operation {
    Operation::DeleteBranch { name: name.to_owned(), force }
}

fn rename(old: &str, new: &str) -> Operation {
    Operation::RenameBranch { old: old.to_owned(), new: new.to_owned() }
}

fn tag(name: &str, message: Option<&str>, revision: Option<&str>) -> Operation {
    Operation::CreateTag {
        name: name.to_owned(),
        message: message.map(str::to_owned),
        revision: revision.map(str::to_owned),
    }
}

#[test]
fn a_branch_is_made_at_head_and_not_gone_to() {
    let bench = Bench::honest();
    bench.git(&["config", "branch.autoSetupMerge", "always"]);
    let config = fs::read(bench.git_dir().join("config")).expect("it is there");
    for name in ["nb", "feature/x", "ünï"] {
        let done = bench.done(&create(name));
        assert_eq!(done.id.as_deref(), Some(bench.id(name).as_str()));
        assert_eq!((done.restore_point, bench.id(name)), (None, bench.id("HEAD")));
    }
    assert_eq!(bench.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(fs::read(bench.git_dir().join("config")).expect("it is there"), config);
    let done = bench.done(&create("refs/heads/zz"));
    assert!(done.notes[0].contains("refs/heads/refs/heads/zz"), "{done:?}");
}

#[test]
fn a_branch_that_cannot_be_made_is_refused() {
    let bench = Bench::honest();
    for name in ["main", "side", "HEAD", "bad..name", "-x", "a b", "", "x.lock", "x~1", "a//b"] {
        bench.unchanged(&create(name), Class::Refused);
    }
    // a name in the way of another
    bench.unchanged(&create("side/below"), Class::Refused);
    let empty = Bench::empty();
    empty.unchanged(&create("x"), Class::NotFound);
}

#[test]
fn a_merged_branch_is_deleted_with_what_the_configuration_says_of_it() {
    let bench = Bench::honest();
    bench.git(&["config", "branch.side.description", "about it"]);
    bench.git(&["config", "branch.side.x.description", "of another"]);
    let tip = bench.id("side");
    let done = bench.done(&delete("side", false));
    assert_eq!((done.id.as_deref(), &done.notes), (Some(tip.as_str()), &Vec::new()));
    assert!(!bench.try_git(&["rev-parse", "--verify", "-q", "side"]).status.success());
    assert!(!bench.try_git(&["config", "branch.side.description"]).status.success());
    assert_eq!(bench.git(&["config", "branch.side.x.description"]), "of another");
    let point = done.restore_point.expect("it was made");
    assert_eq!(bench.id(&format!("refs/bulkhead/restore/{point}/tip")), tip);
}

#[test]
fn commits_that_nobody_else_has_need_force_and_stay_in_the_restore_point() {
    let bench = Bench::clashing();
    bench.git(&["checkout", "-q", "main"]);
    let tip = bench.id("side");
    let failed = bench.unchanged(&delete("side", false), Class::Refused);
    assert!(failed.reason.contains("HEAD") && failed.next.contains("force"), "{failed:#?}");
    let point = bench.done(&delete("side", true)).restore_point.expect("it was made");
    bench.git(&["reflog", "expire", "--expire=now", "--all"]);
    bench.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(bench.id(&format!("refs/bulkhead/restore/{point}/tip")), tip);
    assert_eq!(bench.git(&["show", "-s", "--format=%s", &tip]), "fourth");
}

#[test]
fn a_branch_is_compared_with_what_it_follows() {
    let bench = Bench::clashing();
    bench.git(&["branch", "base"]);
    bench.git(&["checkout", "-q", "main"]);
    bench.git(&["branch", "-q", "--set-upstream-to=base", "side"]);
    // HEAD has not its commits, and base has
    bench.done(&delete("side", false));
}

#[test]
fn a_branch_that_a_working_tree_holds_stays() {
    let bench = Bench::honest();
    let place = bench.beside("linked");
    bench.git(&["worktree", "add", "-q", place.to_str().expect("UTF-8"), "side"]);
    for (name, force) in [("main", true), ("side", true), ("side", false)] {
        bench.unchanged(&delete(name, force), Class::Refused);
    }
    let failed = bench.unchanged(&delete("nosuch", false), Class::NotFound);
    assert!(failed.reason.contains("nosuch"), "{failed:#?}");
}

#[test]
fn a_branch_is_renamed_but_onto_nothing() {
    let bench = Bench::honest();
    bench.git(&["config", "branch.side.description", "about it"]);
    bench.done(&rename("side", "aside"));
    assert_eq!(bench.git(&["config", "branch.aside.description"]), "about it");
    bench.done(&rename("main", "trunk"));
    assert_eq!(bench.git(&["symbolic-ref", "HEAD"]), "refs/heads/trunk");
    bench.unchanged(&rename("aside", "trunk"), Class::Refused);
    bench.unchanged(&rename("aside", "bad..name"), Class::Refused);
    bench.unchanged(&rename("side", "x"), Class::NotFound);
    let empty = Bench::empty();
    empty.done(&rename("main", "trunk"));
    assert_eq!(empty.git(&["symbolic-ref", "HEAD"]), "refs/heads/trunk");
}

#[test]
fn tags_are_made_light_and_annotated() {
    let bench = Bench::honest();
    assert_eq!(bench.done(&tag("light", None, None)).signed, None);
    assert_eq!(bench.git(&["cat-file", "-t", "light"]), "commit");
    assert_eq!(bench.id("light"), bench.id("HEAD"));
    let done = bench.done(&tag("full", Some("what it is\n\n# kept"), Some("side")));
    assert_eq!((done.signed, done.id.as_deref()), (Some(false), Some(bench.id("side").as_str())));
    assert_eq!(bench.git(&["cat-file", "-t", "full"]), "tag");
    assert_eq!(bench.git(&["for-each-ref", "--format=%(contents)", "refs/tags/full"]), "what it is\n\n# kept");
    assert_eq!(bench.id("full^{commit}"), bench.id("side"));
    bench.done(&tag("of-a-file", None, Some("HEAD:a.txt")));
    assert_eq!(bench.git(&["cat-file", "-t", "of-a-file"]), "blob");
}

#[test]
fn tags_that_cannot_be_made_are_refused() {
    let bench = Bench::honest();
    bench.unchanged(&tag("v1", None, None), Class::Refused);
    bench.unchanged(&tag("v1", Some("x"), None), Class::Refused);
    bench.unchanged(&tag("bad..name", None, None), Class::Refused);
    bench.unchanged(&tag("x", Some(" "), None), Class::Refused);
    bench.unchanged(&tag("x", None, Some("nosuch")), Class::NotFound);
    bench.unchanged(&tag("x", None, Some("--all")), Class::NotFound);
    let mut signs = Bench::honest();
    signs.allowed.pinned.push(("tag.gpgSign".into(), "1".into()));
    signs.unchanged(&tag("x", Some("x"), None), Class::Refused);
    signs.done(&tag("x", None, None));
}

#[test]
fn a_deleted_tag_stays_in_the_restore_point_with_its_annotation() {
    let bench = Bench::honest();
    bench.git(&["tag", "-a", "-m", "said", "full"]);
    let object = bench.id("full");
    let point = bench.done(&Operation::DeleteTag { name: "full".into() }).restore_point.expect("it was made");
    assert_eq!(bench.git(&["tag", "--list", "full"]), "");
    assert_eq!(bench.id(&format!("refs/bulkhead/restore/{point}/tip")), object);
    bench.unchanged(&Operation::DeleteTag { name: "full".into() }, Class::NotFound);
}

#[test]
fn a_branch_a_tag_a_commit_and_the_one_before_can_be_gone_to() {
    let bench = Bench::honest();
    let done = bench.done(&checkout("side"));
    assert_eq!((done.id, bench.git(&["symbolic-ref", "HEAD"])), (Some(bench.id("side")), "refs/heads/side".to_owned()));
    bench.done(&checkout("-"));
    assert_eq!(bench.git(&["symbolic-ref", "HEAD"]), "refs/heads/main");
    let done = bench.done(&checkout("v1"));
    assert!(!bench.try_git(&["symbolic-ref", "-q", "HEAD"]).status.success());
    assert_eq!((done.id, done.notes.len()), (Some(bench.id("v1")), 1));
    bench.done(&checkout("main~2"));
    bench.done(&checkout("@{-2}"));
    assert_eq!(bench.git(&["status", "--porcelain"]), "");
}

#[test]
fn changes_that_are_not_in_the_way_come_along() {
    let bench = Bench::honest();
    bench.write("dir/c.txt", "mine\n");
    bench.write("new.txt", "mine\n");
    bench.done(&checkout("side"));
    assert_eq!((bench.read("dir/c.txt"), bench.read("new.txt")), ("mine\n".to_owned(), "mine\n".to_owned()));
}

#[test]
fn what_is_in_the_way_is_named_and_stays() {
    let bench = Bench::honest();
    bench.write("a.txt", "mine\n");
    let failed = bench.unchanged(&checkout("side"), Class::Dirty);
    assert!(failed.reason.contains("In the way: a.txt."), "{failed:#?}");
    assert!(failed.restore_point.is_some());
    bench.git(&["checkout", "-q", "a.txt"]);

    bench.git(&["checkout", "-q", "side"]);
    bench.write("ignored.txt", "theirs\n");
    bench.write("untracked.txt", "theirs\n");
    bench.commit("with more files");
    bench.git(&["checkout", "-q", "main"]);
    fs::write(bench.git_dir().join("info/exclude"), "ignored.txt\n").expect("ours");
    bench.write("ignored.txt", "mine\n");
    let failed = bench.unchanged(&checkout("side"), Class::Dirty);
    assert!(failed.reason.contains("In the way: ignored.txt."), "{failed:#?}");
    fs::remove_file(bench.at("ignored.txt")).expect("it is there");
    bench.write("untracked.txt", "mine\n");
    let failed = bench.unchanged(&checkout("side"), Class::Dirty);
    assert!(failed.reason.contains("In the way: untracked.txt."), "{failed:#?}");
}

#[test]
fn names_that_lead_nowhere_are_not_found() {
    let bench = Bench::honest();
    for name in ["nosuch", "a.txt", "-b", "--orphan", "", "main..side", "a\0b", "HEAD:a.txt"] {
        let class = if matches!(name, "-b" | "--orphan" | "" | "a\0b") { Class::Refused } else { Class::NotFound };
        bench.unchanged(&checkout(name), class);
    }
}

#[test]
fn a_branch_that_one_remote_has_is_made_and_said() {
    let bench = Bench::honest();
    bench.git(&["config", "branch.autoSetupRebase", "always"]);
    for remote in ["one", "two"] {
        bench.git(&["remote", "add", remote, "../nowhere"]);
    }
    bench.git(&["update-ref", "refs/remotes/one/there", "side"]);
    let done = bench.done(&checkout("there"));
    assert!(done.notes.iter().any(|note| note.contains("refs/remotes/one/there")), "{done:?}");
    assert_eq!(bench.git(&["rev-parse", "--abbrev-ref", "there@{upstream}"]), "one/there");
    assert!(!bench.try_git(&["config", "branch.there.rebase"]).status.success());
    bench.git(&["update-ref", "refs/remotes/one/both", "side"]);
    bench.git(&["update-ref", "refs/remotes/two/both", "side"]);
    let failed = bench.unchanged(&checkout("both"), Class::Refused);
    assert!(failed.reason.contains("refs/remotes/two/both"), "{failed:#?}");
}

#[test]
fn nobody_leaves_an_open_operation_by_a_checkout() {
    let bench = Bench::clashing();
    assert!(!bench.try_git(&["merge", "main"]).status.success());
    let failed = bench.unchanged(&checkout("main"), Class::Conflict);
    assert_eq!((failed.state, failed.unmerged), (Some(OperationState::Merge), vec!["a.txt".to_owned()]));
    bench.git(&["add", "a.txt"]);
    bench.unchanged(&checkout("main"), Class::Refused);
}

#[test]
fn a_branch_that_another_working_tree_holds_is_not_gone_to() {
    let bench = Bench::honest();
    let place = bench.beside("linked");
    bench.git(&["worktree", "add", "-q", place.to_str().expect("UTF-8"), "side"]);
    let failed = bench.unchanged(&checkout("side"), Class::Refused);
    assert!(failed.reason.contains("linked"), "{failed:#?}");
}
