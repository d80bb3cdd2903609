//! One repository after another, each operation in a worker of its own.
//! Trust: test code.

use crate::house::{House, Place};
use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::{
    WorkerKind,
    write::{Done, Failed, Operation, Outcome, Resolved},
};
use std::fs;

type Case = (&'static str, fn());

/// All of them.
pub const ALL: &[Case] = &[
    ("commits_branches_and_tags_are_made_and_gone_back_from", local),
    ("a_conflict_is_resolved_and_finished", conflict),
    ("a_worktree_is_made_and_removed", worktree),
    ("a_file_remote_is_fetched_from_and_pushed_to", remote),
    ("a_repository_that_names_programs_is_worked_on", hostile),
    ("a_call_that_is_over_says_so", deadline),
];

fn outcome(house: &House, operation: Operation, budget_ms: u32) -> Outcome {
    let kind = if operation.is_remote() { WorkerKind::WriteNet } else { WorkerKind::Write };
    let mut worker = house.start(kind);
    worker.call(operation, budget_ms);
    let (report, outcome) = worker.outcome();
    worker.leave();
    assert!(report.rows.iter().all(|row| row.sufficient), "{report:?}");
    outcome
}

fn done(house: &House, operation: Operation) -> Done {
    match outcome(house, operation, 60_000) {
        Outcome::Done(done) => *done,
        Outcome::Failed(failed) => panic!("{failed:#?}"),
    }
}

fn failed(house: &House, operation: Operation, class: Class) -> Failed {
    match outcome(house, operation, 60_000) {
        Outcome::Done(done) => panic!("{done:#?}"),
        Outcome::Failed(failed) => {
            assert_eq!(failed.class, class, "{failed:#?}");
            *failed
        }
    }
}

fn commit(path: &str, message: &str) -> Operation {
    Operation::Commit {
        paths: vec![path.to_owned()],
        message: message.to_owned(),
        allow_empty: false,
        include_untracked: false,
    }
}

fn checkout(reference: &str) -> Operation {
    Operation::Checkout { reference: reference.to_owned() }
}

/// A place whose directory of locks is there.
fn place() -> Place {
    let place = Place::new();
    fs::create_dir_all(place.dir.parent().expect("it has one").join("locks")).expect("ours");
    place
}

fn write(place: &Place, name: &str, content: &str) {
    fs::write(place.at("repo").join(name), content).expect("ours");
}

fn local() {
    let place = place();
    let house = place.serve();
    write(&place, "a.txt", "changed\n");
    write(&place, "untracked", "mine\n");
    let made = done(&house, commit("a.txt", "by the jail"));
    assert_eq!(place.git(&["log", "-1", "--format=%s %an"]), "by the jail Jailed");
    let point = made.restore_point.expect("it was made");
    done(&house, Operation::CreateBranch { name: "nb".into() });
    done(&house, Operation::RenameBranch { old: "nb".into(), new: "nc".into() });
    done(&house, Operation::CreateTag { name: "nt".into(), message: Some("said".into()), revision: None });
    done(&house, Operation::DeleteTag { name: "nt".into() });
    done(&house, checkout("nc"));
    done(&house, checkout("main~1"));
    done(&house, checkout("main"));
    done(&house, Operation::DeleteBranch { name: "nc".into(), force: false });
    write(&place, "untracked", "changed\n");
    let points = place.git(&["for-each-ref", "--format=%(refname)", "refs/bulkhead/restore/*/index"]);
    assert_eq!(points.lines().count(), 6, "{points}");
    done(&house, Operation::Restore { id: point });
    assert_eq!(place.git(&["status", "--porcelain"]), " M a.txt\n?? untracked");
    assert_eq!(fs::read_to_string(place.at("repo/untracked")).expect("it is there"), "mine\n");
    assert_eq!(place.git(&["log", "-1", "--format=%s"]), "b.txt");
    assert_eq!(place.git(&["fsck", "--strict", "--no-dangling"]), "");
}

fn conflict() {
    let place = place();
    let house = place.serve();
    place.git(&["checkout", "-q", "-b", "side"]);
    write(&place, "a.txt", "side\n");
    done(&house, commit("a.txt", "side's"));
    done(&house, checkout("main"));
    write(&place, "a.txt", "main\n");
    done(&house, commit("a.txt", "main's"));
    done(&house, checkout("side"));
    let stopped = failed(&house, Operation::Rebase { onto: "main".into() }, Class::Conflict);
    assert_eq!((stopped.state, stopped.unmerged), (Some(OperationState::Rebase), vec!["a.txt".to_owned()]));
    assert_eq!(done(&house, Operation::Abort).state, Some(OperationState::Clear));
    failed(&house, Operation::Rebase { onto: "main".into() }, Class::Conflict);
    let listing = place.git(&["ls-files", "-u"]);
    let ids: Vec<_> = listing.lines().filter_map(|line| line.split(' ').nth(1).map(str::to_owned)).collect();
    let stages = [Some(ids[0].clone()), Some(ids[1].clone()), Some(ids[2].clone())];
    let becomes = Resolved::Content { bytes: b"both\n".to_vec(), mode_of: 2, conflicts: 1 };
    done(&house, Operation::Resolve { path: "a.txt".into(), becomes, stages });
    assert_eq!(done(&house, Operation::Continue).state, Some(OperationState::Clear));
    assert_eq!(place.git(&["log", "--format=%s", "-2"]), "side's\nmain's");
    assert_eq!(fs::read_to_string(place.at("repo/a.txt")).expect("it is there"), "both\n");
}

fn worktree() {
    let place = place();
    let house = place.serve();
    let create = |path: &str| Operation::CreateWorktree { path: path.into(), branch: "nb".into(), base: "main".into() };
    // one directory is made on the way
    let beside = place.text("beside/below");
    done(&house, create(&beside));
    fs::write(place.at("beside/below/new"), "new\n").expect("ours");
    let remove = |force| Operation::RemoveWorktree { path: "../beside/below".into(), force };
    failed(&house, remove(false), Class::Dirty);
    let point = done(&house, remove(true)).restore_point.expect("it was made");
    assert!(!place.at("beside/below").exists());
    assert_eq!(place.git(&["show", &format!("refs/bulkhead/restore/{point}/untracked:new")]), "new");
    failed(&house, create(".git/evil"), Class::Refused);
}

fn remote() {
    let place = place();
    let house = place.serve();
    let origin = place.text("origin.git");
    place.git(&["clone", "-q", "--bare", ".", &origin]);
    place.git(&["remote", "add", "origin", &origin]);
    place.git(&["--git-dir", &origin, "branch", "theirs", "main~1"]);
    done(&house, Operation::Fetch);
    assert_eq!(place.git(&["rev-parse", "origin/theirs"]), place.git(&["rev-parse", "main~1"]));
    write(&place, "a.txt", "pushed\n");
    done(&house, commit("a.txt", "pushed"));
    done(&house, Operation::Push { branch: "main".into() });
    assert_eq!(place.git(&["--git-dir", &origin, "rev-parse", "main"]), place.git(&["rev-parse", "main"]));
    assert_eq!(place.git(&["rev-parse", "--abbrev-ref", "main@{upstream}"]), "origin/main");
    place.git(&["reset", "-q", "--hard", "HEAD~2"]);
    write(&place, "b.txt", "other\n");
    place.git(&["add", "b.txt"]);
    place.git(&["commit", "-q", "-m", "other"]);
    failed(&house, Operation::Push { branch: "main".into() }, Class::RejectedNonFastForward);
    let outside = place.dir.parent().expect("it has one").join("outside.git");
    place.git(&["clone", "-q", "--bare", ".", outside.to_str().expect("plain")]);
    place.git(&["remote", "set-url", "origin", outside.to_str().expect("plain")]);
    failed(&house, Operation::Fetch, Class::Refused);
}

fn hostile() {
    let place = place();
    let house = place.serve();
    let canary = place.at("canary");
    let touch = format!("touch {}", canary.display());
    for key in [
        "core.fsmonitor",
        "core.editor",
        "core.pager",
        "filter.x.clean",
        "filter.x.smudge",
        "diff.x.textconv",
        "gpg.program",
    ] {
        place.git(&["config", key, &touch]);
    }
    place.git(&["config", "commit.gpgSign", "true"]);
    let info = place.at("repo/.git/info");
    fs::create_dir_all(&info).expect("ours");
    fs::write(info.join("attributes"), "b.txt filter=x diff=x\n").expect("ours");
    write(&place, "a.txt", "changed\n");
    write(&place, "b.txt", "changed\n");
    let honest = done(&house, commit("a.txt", "honest"));
    failed(&house, commit("b.txt", "filtered"), Class::Refused);
    // the restore point's bytes are those of the file, whatever filter there is
    let shown = format!("refs/bulkhead/restore/{}/worktree:b.txt", honest.restore_point.expect("it was made"));
    assert_eq!(place.git(&["-c", "core.fsmonitor=false", "cat-file", "blob", &shown]), "changed");
    assert!(!canary.exists());
}

fn deadline() {
    let place = place();
    let house = place.serve();
    // beneath the top, where nobody looks what kind of file it is before Git opens it
    let beneath = place.at("repo/beneath");
    fs::create_dir_all(&beneath).expect("ours");
    fs::write(beneath.join("file"), "untracked\n").expect("ours");
    let exclude = beneath.join(".gitignore");
    nix::unistd::mkfifo(&exclude, nix::sys::stat::Mode::S_IRWXU).expect("ours");
    write(&place, "a.txt", "changed\n");
    let Outcome::Failed(over) = outcome(&house, commit("a.txt", "never"), 3_000) else {
        panic!("nothing can be listed")
    };
    assert_eq!(over.class, Class::Timeout, "{over:#?}");
    fs::remove_file(&exclude).expect("ours");
    done(&house, commit("a.txt", "after all"));
}
