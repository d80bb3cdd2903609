//! Restore points: everything that was there comes back, byte for byte, whatever happened in between.
//! Trust: test code.
#![cfg(unix)]

mod support;

use bulkhead_contract::direct::{Class, OperationState, point::Message};
use bulkhead_ipc::edge::write::Operation;
use bulkhead_worker_write::restore::{MAX_POINTS, MAX_UNTRACKED, PREFIX};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};
use support::{Bench, checkout, commit, rebase};

fn restore(id: &str) -> Operation {
    Operation::Restore { id: id.to_owned() }
}

/// Ids of the points that there are, newest first.
fn ids(bench: &Bench) -> Vec<String> {
    let listing = bench.git(&["for-each-ref", "--sort=-refname", "--format=%(refname)", &format!("{PREFIX}*/index")]);
    let id = |name: &str| Some(name.strip_prefix(PREFIX)?.strip_suffix("/index")?.to_owned());
    listing.lines().map(|name| id(name).expect("git lists what was asked for")).collect()
}

/// What the message of a point says.
fn message(bench: &Bench, id: &str) -> Message {
    let text = bench.git(&["log", "-1", "--format=%B", &format!("{PREFIX}{id}/index")]);
    Message::read(&text).expect("the message is ours")
}

/// The picture, and what of the index no listing of entries shows.
fn everything(bench: &Bench) -> String {
    format!("{}\n{}\n{}", bench.picture(), bench.git(&["ls-files", "-v"]), bench.git(&["diff", "--cached", "--raw"]))
}

/// A working tree in which everything is out of step.
fn mess(bench: &Bench) {
    bench.write("a.txt", "staged\n");
    bench.git(&["add", "a.txt"]);
    bench.write("a.txt", "staged, then changed\r\n");
    fs::remove_file(bench.at("b.txt")).expect("it is there");
    bench.write("staged-new", "new\n");
    bench.git(&["add", "staged-new"]);
    bench.write("intended", "to be added\n");
    bench.git(&["add", "-N", "intended"]);
    fs::set_permissions(bench.at("dir/c.txt"), fs::Permissions::from_mode(0o755)).expect("ours");
    bench.write("untracked", "mine\n");
    bench.write("deep/er/unt\nracked \"q\"", b"\xff\0\r\n");
    symlink("nowhere/at all", bench.at("link")).expect("ours");
    bench.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(bench.at("run.sh"), fs::Permissions::from_mode(0o755)).expect("ours");
}

#[test]
fn a_mess_comes_back_after_everything_else_happened() {
    let bench = Bench::honest();
    bench.write("local.conf", "everybody's\n");
    bench.commit("with a file that is often skipped");
    mess(&bench);
    bench.git(&["update-index", "--assume-unchanged", "dir/c.txt"]);
    bench.git(&["update-index", "--skip-worktree", "local.conf"]);
    bench.write("local.conf", "mine, and never committed\n");
    let before = everything(&bench);
    let point = bench.done(&commit(&["a.txt"], "x")).restore_point.expect("it was made");
    // all of it goes: other branch, other files, other index
    bench.git(&["update-index", "--no-skip-worktree", "local.conf"]);
    bench.git(&["reset", "-q", "--hard", "side"]);
    bench.git(&["clean", "-q", "-f", "-d", "-x"]);
    bench.write("untracked", "of somebody else\n");
    bench.write("deep", "a file where a directory was\n");
    bench.git(&["checkout", "-q", "-B", "elsewhere"]);
    bench.git(&["branch", "-f", "main", "v1"]);
    bench.git(&["reflog", "expire", "--expire=now", "--all"]);
    bench.git(&["gc", "-q", "--prune=now"]);
    let done = bench.done(&restore(&point));
    bench.git(&["branch", "-D", "-q", "elsewhere"]);
    assert_eq!(everything(&bench), before);
    assert_eq!(done.id.as_deref(), Some(bench.id("HEAD").as_str()));
    // what was there before going back is in the point that was made then
    let other = done.restore_point.expect("it was made");
    assert_eq!(bench.git(&["show", &format!("{PREFIX}{other}/untracked:deep")]), "a file where a directory was");
    assert_eq!(bench.id(&format!("{PREFIX}{other}/tip")), bench.id("v1"));
    assert!(bench.git_dir().join("bulkhead-scratch").symlink_metadata().is_err());
}

#[test]
fn going_back_can_be_gone_back_from() {
    let bench = Bench::honest();
    bench.write("a.txt", "dirty\n");
    bench.write("untracked", "1\n");
    let first = bench.done(&commit(&["a.txt"], "x")).restore_point.expect("it was made");
    bench.write("untracked", "2\n");
    bench.write("b.txt", "dirty\n");
    let before = everything(&bench);
    let second = bench.done(&restore(&first)).restore_point.expect("it was made");
    assert_eq!(
        (bench.read("untracked"), bench.git(&["status", "--porcelain"])),
        ("1\n".into(), " M a.txt\n?? untracked".into())
    );
    bench.done(&restore(&second));
    assert_eq!(everything(&bench), before);
}

#[test]
fn line_ends_and_filters_take_no_part() {
    let bench = Bench::honest();
    bench.write(".gitattributes", "*.crlf text eol=crlf\n*.id ident\n*.f filter=upper\n");
    let canary = bench.beside("canary");
    bench.write("x.crlf", "1\r\n2\r\n");
    bench.write("x.id", "$Id$\n");
    bench.write("x.f", "plain\n");
    bench.commit("converted files");
    bench.git(&["config", "filter.upper.clean", &format!("touch {}; tr a-z A-Z", canary.display())]);
    bench.git(&["config", "filter.upper.smudge", &format!("touch {}; tr A-Z a-z", canary.display())]);
    bench.git(&["config", "core.autocrlf", "true"]);
    for (name, content) in
        [("x.crlf", "1\n2\r\n3\r"), ("x.id", "$Id: mine $\n"), ("x.f", "Mixed\r\n"), ("a.txt", "a\r\nb\n")]
    {
        bench.write(name, content);
    }
    bench.write("new.crlf", "n\n");
    let files = ["x.crlf", "x.id", "x.f", "a.txt", "new.crlf"];
    let before = files.map(|name| fs::read(bench.at(name)).expect("it is there"));
    let point = bench.done(&Operation::DeleteBranch { name: "side".into(), force: false }).restore_point.expect("made");
    for name in files {
        bench.write(name, "other\n");
    }
    bench.done(&restore(&point));
    assert_eq!(files.map(|name| fs::read(bench.at(name)).expect("it is there")), before);
    assert!(!canary.exists());
}

#[test]
fn an_unmerged_index_comes_back_with_its_stages() {
    let bench = Bench::clashing();
    assert!(!bench.try_git(&["merge", "main"]).status.success());
    bench.write("a.txt", "half resolved\n");
    let before = (bench.git(&["ls-files", "-u"]), bench.read("a.txt"));
    let point = bench.done(&Operation::Abort).restore_point.expect("it was made");
    assert_eq!(bench.git(&["ls-files", "-u"]), "");
    bench.git(&["reflog", "expire", "--expire=now", "--all"]);
    bench.git(&["gc", "-q", "--prune=now"]);
    let done = bench.done(&restore(&point));
    assert_eq!((bench.git(&["ls-files", "-u"]), bench.read("a.txt")), before);
    assert!(done.notes.iter().any(|note| note.contains("a merge")), "{done:?}");
    for line in before.0.lines() {
        let id = line.split_whitespace().nth(1).expect("an id");
        assert!(!bench.git(&["cat-file", "blob", id]).is_empty());
    }
}

#[test]
fn a_rebase_that_was_finished_can_be_gone_back_from() {
    let bench = Bench::honest();
    bench.git(&["checkout", "-q", "side"]);
    bench.write("s.txt", "s\n");
    let tip = bench.commit("own");
    let point = bench.done(&rebase("main")).restore_point.expect("it was made");
    assert_ne!(bench.id("side"), tip);
    bench.done(&restore(&point));
    assert_eq!((bench.id("side"), bench.git(&["status", "--porcelain"])), (tip, String::new()));
    assert_eq!(
        bench.git(&["reflog", "-1", "--format=%gs", "side"]),
        format!("bulkhead: back to restore point {point}")
    );
}

#[test]
fn a_detached_head_and_an_unborn_branch_come_back() {
    let bench = Bench::honest();
    bench.git(&["checkout", "-q", "--detach", "v1"]);
    let point = bench.done(&checkout("main")).restore_point.expect("it was made");
    bench.done(&restore(&point));
    assert!(!bench.try_git(&["symbolic-ref", "-q", "HEAD"]).status.success());
    assert_eq!(bench.id("HEAD"), bench.id("v1"));

    let bench = Bench::empty();
    bench.write("a.txt", "a\n");
    bench.git(&["add", "a.txt"]);
    bench.write("untracked", "u\n");
    let before = bench.git(&["ls-files", "--stage"]);
    let point = bench.done(&commit(&["a.txt"], "first")).restore_point.expect("it was made");
    let done = bench.done(&restore(&point));
    assert!(!bench.try_git(&["rev-parse", "--verify", "-q", "HEAD"]).status.success());
    assert_eq!((bench.git(&["ls-files", "--stage"]), bench.read("untracked").as_str()), (before, "u\n"));
    assert!(done.restore_point.is_some() && bench.git(&["for-each-ref", "refs/heads"]).is_empty());
}

#[test]
fn points_are_ordered_by_their_ids_and_none_is_taken_that_is_not_ours() {
    let bench = Bench::honest();
    bench.write("a.txt", "1\n");
    let first = bench.done(&commit(&["a.txt"], "1")).restore_point.expect("made");
    let second = bench.done(&checkout("v1")).restore_point.expect("made");
    assert_eq!(ids(&bench), [second.as_str(), first.as_str()]);
    let newest = message(&bench, &second);
    assert_eq!((newest.before.as_str(), newest.branch.as_deref()), ("repo_checkout", Some("main")));
    assert_eq!(newest.head.as_deref(), Some(bench.id("main").as_str()));
    assert!(newest.made > 1_700_000_000);
    // what reads otherwise than ours is not one
    bench.git(&["update-ref", &format!("{PREFIX}20000101T000000Z-000000-0000/index"), "HEAD"]);
    bench.refused(&restore("20000101T000000Z-000000-0000"), Class::NotFound);
    bench.refused(&restore("../../heads"), Class::NotFound);
}

#[test]
fn the_oldest_points_make_room() {
    let bench = Bench::honest();
    bench.write("a.txt", "1\n");
    let point = bench.done(&commit(&["a.txt"], "1")).restore_point.expect("made");
    let index = bench.id(&format!("{PREFIX}{point}/index"));
    let mut orders = String::new();
    for number in 0..MAX_POINTS {
        orders.push_str(&format!("create {PREFIX}20200101T000000Z-{number:06}-0000/index {index}\n"));
    }
    let file = bench.beside("orders");
    fs::write(&file, orders).expect("ours");
    let output =
        bench.git_command().args(["update-ref", "--stdin"]).stdin(fs::File::open(&file).expect("ours")).output();
    assert!(output.expect("git runs").status.success());
    bench.write("a.txt", "2\n");
    let done = bench.done(&commit(&["a.txt"], "2"));
    assert!(done.notes.iter().any(|note| note.contains("2 of the oldest")), "{done:?}");
    assert_eq!(ids(&bench).len(), MAX_POINTS);
    let left = bench.git(&["for-each-ref", "--format=%(refname)", PREFIX]);
    assert!(!left.contains("-000000-0000") && !left.contains("-000001-0000") && left.contains("-000002-0000"));
    assert!(left.contains(&point));
}

#[test]
fn more_untracked_files_than_a_point_holds_are_told_and_never_overwritten() {
    let bench = Bench::honest();
    bench.write("b.txt", "dirty\n");
    let first = bench.done(&commit(&["b.txt"], "x")).restore_point.expect("made");
    bench.git(&["rm", "-q", "--cached", "b.txt"]);
    bench.git(&["commit", "-q", "-m", "not tracked any more"]);
    for number in 0..=MAX_UNTRACKED {
        bench.write(format!("many/{number}"), "");
    }
    bench.write("a.txt", "2\n");
    let done = bench.done(&commit(&["a.txt"], "2"));
    assert!(done.notes.iter().any(|note| note.contains(&format!("{} of them", MAX_UNTRACKED + 2))), "{done:?}");
    let before = bench.picture();
    let failed = bench.refused(&restore(&first), Class::Refused);
    assert!(failed.reason.contains("b.txt"), "{failed:#?}");
    assert_eq!(bench.picture(), before);
}

#[test]
fn no_point_is_gone_back_to_in_the_middle_of_an_operation_or_from_another_tree() {
    let mut bench = Bench::clashing();
    let point = bench.refused(&rebase("main"), Class::Conflict).restore_point.expect("made");
    let failed = bench.refused(&restore(&point), Class::Refused);
    assert_eq!(failed.state, Some(OperationState::Rebase));
    bench.done(&Operation::Abort);
    let place = bench.beside("linked");
    bench.git(&["worktree", "add", "-q", place.to_str().expect("UTF-8"), "main"]);
    bench.serving(&place);
    let failed = bench.refused(&restore(&point), Class::Refused);
    assert!(failed.reason.contains("repo"), "{failed:#?}");
    bench.write("a.txt", "in the linked one\n");
    let own = bench.done(&commit(&["a.txt"], "x")).restore_point.expect("made");
    bench.done(&restore(&own));
    assert_eq!(bench.git(&["log", "-1", "--format=%s"]), "third");
    let of = |id: &String| message(&bench, id).root;
    let own = place.to_str().expect("UTF-8");
    assert_eq!(ids(&bench).iter().map(of).filter(|root| root == own).count(), 2);
}

#[test]
fn a_split_index_comes_back_whole() {
    let bench = Bench::honest();
    bench.git(&["update-index", "--split-index"]);
    bench.write("a.txt", "staged\n");
    bench.git(&["add", "a.txt"]);
    let before = bench.git(&["ls-files", "--stage"]);
    let point = bench.done(&Operation::DeleteBranch { name: "side".into(), force: false }).restore_point.expect("made");
    bench.git(&["update-index", "--no-split-index"]);
    bench.git(&["reset", "-q", "--hard"]);
    for entry in fs::read_dir(bench.git_dir()).expect("ours").flatten() {
        if entry.file_name().to_string_lossy().starts_with("sharedindex.") {
            fs::remove_file(entry.path()).expect("ours");
        }
    }
    bench.done(&restore(&point));
    assert_eq!(bench.git(&["ls-files", "--stage"]), before);
}

#[test]
fn an_ignored_file_is_never_overwritten_by_going_back() {
    let bench = Bench::honest();
    bench.write("local.log", "then\n");
    bench.write("a.txt", "1\n");
    let point = bench.done(&commit(&["a.txt"], "1")).restore_point.expect("made");
    fs::write(bench.git_dir().join("info/exclude"), "*.log\n").expect("ours");
    // the same content: nothing is lost
    bench.done(&restore(&point));
    bench.write("local.log", "now\n");
    let before = bench.picture();
    let failed = bench.refused(&restore(&point), Class::Refused);
    assert!(failed.reason.contains("local.log"), "{failed:#?}");
    assert_eq!(bench.picture(), before);
    fs::remove_file(bench.at("local.log")).expect("ours");
    bench.done(&restore(&point));
    assert_eq!(bench.read("local.log"), "then\n");
}

#[test]
fn a_file_that_is_not_tracked_any_more_is_kept_before_it_is_overwritten() {
    let bench = Bench::honest();
    let point = bench.done(&checkout("v1")).restore_point.expect("made");
    bench.git(&["rm", "-q", "--cached", "b.txt"]);
    bench.write("b.txt", "mine now\n");
    let second = bench.done(&restore(&point)).restore_point.expect("made");
    assert_eq!((bench.read("b.txt").as_str(), bench.id("HEAD")), ("b\nb2\n", bench.id("main")));
    assert_eq!(bench.git(&["show", &format!("{PREFIX}{second}/untracked:b.txt")]), "mine now");
}

#[test]
fn repositories_inside_are_told_and_left_alone() {
    let bench = Bench::honest();
    bench.write("nested", "a file\n");
    let point = bench.done(&checkout("side")).restore_point.expect("made");
    fs::remove_file(bench.at("nested")).expect("ours");
    bench.git(&["init", "-q", "nested"]);
    bench.write("nested/x", "x\n");
    let done = bench.done(&checkout("main"));
    assert!(done.notes.iter().any(|note| note.contains("nested")), "{done:?}");
    let failed = bench.refused(&restore(&point), Class::Refused);
    assert!(failed.reason.contains("nested"), "{failed:#?}");
    assert_eq!(bench.read("nested/x"), "x\n");
}

#[test]
fn a_change_that_no_time_tells_is_kept() {
    let bench = Bench::honest();
    // times of changes alone, as where a clock is coarse
    bench.git(&["config", "core.trustctime", "false"]);
    bench.git(&["config", "core.checkStat", "minimal"]);
    let time = std::time::SystemTime::now() - std::time::Duration::from_secs(100);
    let at_that_time = |path: std::path::PathBuf| {
        fs::OpenOptions::new().write(true).open(path).and_then(|file| file.set_modified(time)).expect("ours");
    };
    bench.write("a.txt", "same size 1\n");
    at_that_time(bench.at("a.txt"));
    bench.git(&["add", "a.txt"]);
    bench.write("a.txt", "same size 2\n");
    at_that_time(bench.at("a.txt"));
    at_that_time(bench.git_dir().join("index"));
    let point = bench.done(&checkout("main")).restore_point.expect("made");
    assert_eq!(bench.git(&["show", &format!("{PREFIX}{point}/worktree:a.txt")]), "same size 2");
    bench.git(&["reset", "-q", "--hard"]);
    bench.done(&restore(&point));
    assert_eq!(bench.read("a.txt"), "same size 2\n");
    assert_eq!(bench.git(&["show", ":a.txt"]), "same size 1");
    assert_eq!(bench.git(&["diff", "--name-only"]), "a.txt");
}
