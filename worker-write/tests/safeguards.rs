//! Locks, lock files that Git left, and what a write refuses to begin on.
//! Trust: test code.
#![cfg(unix)]

mod support;

use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::write::{Operation, Outcome};
use bulkhead_worker_write::{git::Git, leftover, lock, operations::perform};
use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    process::{Command, Stdio},
    time::{Duration, Instant, SystemTime},
};
use support::{Bench, checkout, commit};

/// The longest that a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_lock_file_of_a_git_that_was_killed_is_named_and_never_removed() {
    let bench = Bench::honest();
    bench.write("a.txt", "mine\n");
    // an editor that does not end: the commit holds the index meanwhile
    let mut command = bench.git_command();
    command.args(["-c", "core.editor=sleep 600 #", "commit", "-q", "-a"]).env_remove("GIT_EDITOR");
    command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let mut git = command.spawn().expect("git runs");
    let lock = bench.git_dir().join("index.lock");
    let until = Instant::now() + PATIENCE;
    while !lock.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    // the editor too, which is nobody's afterwards
    let group = format!("-{}", git.id());
    assert!(Command::new("kill").args(["-KILL", "--", &group]).status().expect("kill is there").success());
    git.wait().expect("it ended");
    assert!(lock.exists());

    let failed = bench.refused(&commit(&["a.txt"], "x"), Class::Locked);
    assert!(failed.reason.contains("index.lock") && failed.reason.contains(" s old"), "{failed:#?}");
    assert_eq!((failed.restore_point, failed.state), (None, Some(OperationState::Clear)));
    assert!(lock.exists());
    assert!(bench.git(&["for-each-ref", "refs/bulkhead"]).is_empty());
    fs::remove_file(&lock).expect("it is there");
    bench.done(&commit(&["a.txt"], "x"));
}

#[test]
fn lock_files_are_found_wherever_git_makes_them() {
    let bench = Bench::honest();
    let place = bench.beside("linked");
    bench.git(&["worktree", "add", "-q", place.to_str().expect("UTF-8"), "side"]);
    let common = bench.git_dir();
    let own = common.join("worktrees/linked");
    let names = ["config.lock", "packed-refs.lock", "refs/heads/deep/er/x.lock", "shallow.lock"];
    let mut expected: Vec<_> = names.iter().map(|name| common.join(name)).collect();
    expected.extend([own.join("HEAD.lock"), own.join("index.lock")]);
    for path in &expected {
        fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
        fs::write(path, "").expect("ours");
    }
    // of another working tree: not in the way here
    fs::write(common.join("worktrees/linked/x.lock.txt"), "").expect("ours");
    expected.sort();
    let found: Vec<_> = leftover::find(&own, &common).into_iter().map(|it| it.path).collect();
    assert_eq!(found, expected);
    for path in &expected {
        fs::remove_file(path).expect("ours");
    }
    let old = common.join("refs/heads/main.lock");
    let file = fs::File::create(&old).expect("ours");
    file.set_modified(std::time::SystemTime::now() - Duration::from_secs(3 * 86_400)).expect("ours");
    let failed = bench.refused(&checkout("v1"), Class::Locked);
    assert!(failed.reason.contains("main.lock (3 days old)"), "{failed:#?}");
}

/// What the failure says to do is done, for each kind by itself, and then the write passes.
#[test]
fn every_kind_of_lock_file_is_named_and_its_removal_is_all_there_is_to_do() {
    let bench = Bench::honest();
    let git_dir = bench.git_dir();
    let of_refs = ["refs/heads/main.lock", "refs/heads/deep/er.lock", "refs/tags/v1.lock", "reftable/tables.list.lock"];
    let of_files = [
        "index.lock",
        "HEAD.lock",
        "ORIG_HEAD.lock",
        "MERGE_HEAD.lock",
        "MERGE_MSG.lock",
        "CHERRY_PICK_HEAD.lock",
        "REVERT_HEAD.lock",
        "REBASE_HEAD.lock",
        "AUTO_MERGE.lock",
        "config.lock",
        "config.worktree.lock",
        "packed-refs.lock",
        "packed-refs.new",
        "shallow.lock",
    ];
    for (at, name) in of_files.into_iter().chain(of_refs).enumerate() {
        let lock = git_dir.join(name);
        fs::create_dir_all(lock.parent().expect("it has one")).expect("ours");
        fs::write(&lock, "").expect("ours");
        let old = SystemTime::now() - Duration::from_secs(7_200);
        fs::File::options().write(true).open(&lock).and_then(|file| file.set_modified(old)).expect("ours");
        let create = Operation::CreateBranch { name: format!("after-{at}") };
        let failed = bench.refused(&create, Class::Locked);
        assert!(failed.reason.contains(&format!("{} (2 h old)", lock.display())), "{name}: {failed:#?}");
        assert!(failed.next.contains("If no other Git runs") && failed.next.contains("delete exactly"), "{failed:#?}");
        assert!(lock.exists(), "{name}");
        fs::remove_file(&lock).expect("it is there");
        if name.starts_with("reftable") {
            fs::remove_dir(git_dir.join("reftable")).expect("ours");
        }
        bench.done(&create);
    }
}

/// Another working tree has an index and a HEAD of its own, and shares the rest.
#[test]
fn locks_of_a_linked_working_tree_are_in_the_way_of_its_writes_alone() {
    let mut bench = Bench::honest();
    let main = bench.root();
    let place = bench.beside("linked");
    bench.git(&["worktree", "add", "-q", place.to_str().expect("UTF-8"), "side"]);
    bench.serving(&place);
    let own = bench.git_dir();
    let common = main.join(".git");
    let allowed = bench.allowed.clone();
    for (at, (lock, shared)) in [
        (own.join("index.lock"), false),
        (own.join("HEAD.lock"), false),
        (own.join("config.worktree.lock"), false),
        (own.join("refs/bisect/bad.lock"), false),
        (common.join("index.lock"), true),
        (common.join("config.lock"), true),
        (common.join("packed-refs.new"), true),
        (common.join("refs/heads/side.lock"), true),
    ]
    .into_iter()
    .enumerate()
    {
        fs::create_dir_all(lock.parent().expect("it has one")).expect("ours");
        fs::write(&lock, "").expect("ours");
        let old = SystemTime::now() - Duration::from_secs(60);
        fs::File::options().write(true).open(&lock).and_then(|file| file.set_modified(old)).expect("ours");
        let create = Operation::CreateBranch { name: format!("here-{at}") };
        let failed = bench.refused(&create, Class::Locked);
        assert!(failed.reason.contains(&*lock.to_string_lossy()), "{failed:#?}");
        bench.allowed.root = main.to_str().expect("UTF-8").as_bytes().to_vec();
        bench.allowed.git_dir = bench.allowed.common_dir.clone();
        let there = bench.perform(&Operation::CreateBranch { name: format!("there-{at}") });
        assert_eq!(matches!(there, Outcome::Done(_)), !shared, "{lock:?}: {there:?}");
        bench.allowed = allowed.clone();
        fs::remove_file(&lock).expect("it is there");
        bench.done(&create);
    }
}

/// A Git that was killed amid a rebase leaves locks among its steps: in the way of who goes on, and of nobody else.
#[test]
fn locks_among_the_steps_of_a_rebase_are_named_to_who_goes_on_and_go_with_it() {
    for abort in [false, true] {
        let bench = Bench::clashing();
        let tip = bench.id("side");
        assert!(!bench.try_git(&["rebase", "main"]).status.success(), "it conflicts");
        bench.write("a.txt", "both\n");
        bench.git(&["add", "a.txt"]);
        let lock = bench.git_dir().join("rebase-merge/git-rebase-todo.lock");
        fs::write(&lock, "").expect("ours");
        bench.done(&Operation::CreateBranch { name: "beside".to_owned() });
        let head = bench.id("HEAD");
        let failed = bench.unchanged(&Operation::Continue, Class::Locked);
        assert!(failed.reason.contains(&*lock.to_string_lossy()), "{failed:#?}");
        assert_eq!((bench.id("HEAD"), failed.state), (head, Some(OperationState::Rebase)));
        if abort {
            bench.done(&Operation::Abort);
            assert!(!lock.exists() && bench.id("HEAD") == tip);
        } else {
            fs::remove_file(&lock).expect("it is there");
            bench.done(&Operation::Continue);
            assert_eq!(bench.id("HEAD~1"), bench.id("main"));
        }
    }
}

/// What a commit of single paths keeps beside `index.lock` is left with it, and Git itself never takes it away.
#[test]
fn the_next_index_of_a_commit_that_was_killed_is_named_with_its_lock() {
    let bench = Bench::honest();
    let dir = bench.git_dir();
    let (lock, next) = (dir.join("index.lock"), dir.join("next-index-4711.lock"));
    for path in [&lock, &next] {
        fs::write(path, "").expect("ours");
    }
    bench.write("a.txt", "mine\n");
    let failed = bench.refused(&commit(&["a.txt"], "x"), Class::Locked);
    assert!(failed.reason.contains("index.lock") && failed.reason.contains("next-index-4711.lock"), "{failed:#?}");
    // alone it is in nobody's way
    fs::remove_file(&lock).expect("it is there");
    bench.done(&commit(&["a.txt"], "x"));
}

/// A Git that was killed with its server is followed by no failure: the next write that goes well tells of what it left.
#[test]
fn unfinished_objects_are_named_wherever_they_lie() {
    let bench = Bench::honest();
    let objects = bench.git_dir().join("objects");
    let names =
        ["00/tmp_obj_AbCdEf", "ff/tmp_obj_xYz", "pack/tmp_pack_a", "pack/tmp_idx_b", "tmp_obj_old", ".tmpOurs12"];
    for (at, name) in names.iter().enumerate() {
        let path = objects.join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
        fs::write(path, "x".repeat(at + 1)).expect("ours");
    }
    // what is pushed to a repository arrives in a directory of its own
    let incoming = objects.join("tmp_objdir-incoming-Q/pack");
    fs::create_dir_all(&incoming).expect("ours");
    fs::write(incoming.join("tmp_pack_c"), "x".repeat(1_000)).expect("ours");
    let create = |name: &str| Operation::CreateBranch { name: name.to_owned() };
    let notes = bench.done(&create("one")).notes.join("\n");
    for (at, name) in names.iter().enumerate() {
        assert!(notes.contains(&format!("{name} ({} bytes", at + 1)), "{name}: {notes}");
    }
    assert!(notes.contains("tmp_objdir-incoming-Q (1000 bytes") && notes.contains(", 1021 bytes in all"), "{notes}");
    for name in names {
        fs::remove_file(objects.join(name)).expect("it is there");
    }
    fs::remove_dir_all(objects.join("tmp_objdir-incoming-Q")).expect("it is there");
    assert_eq!(bench.done(&create("two")).notes, Vec::<String>::new());
    // beyond so many entries nobody looks, and what is said of the rest holds
    fs::create_dir_all(objects.join("00")).expect("ours");
    (0..8_000).for_each(|number| fs::write(objects.join(format!("00/tmp_obj_{number}")), "x").expect("ours"));
    fs::write(objects.join("ff/tmp_obj_z"), "x").expect("ours");
    let notes = bench.done(&create("three")).notes.join("\n");
    assert!(notes.contains("at least ") && notes.contains(" bytes in all") && notes.contains(" more ("), "{notes}");
}

#[test]
fn one_write_at_a_time_and_the_next_waits_no_longer_than_its_call() {
    let bench = Bench::honest();
    let locks = bench.beside("locks");
    let path = lock::path(&locks, &bench.git_dir());
    assert_eq!(path.parent(), Some(locks.as_path()));
    let other = fs::File::create(&path).expect("ours");
    other.lock().expect("nobody else has it");
    let begun = Instant::now();
    let outcome = bench.perform_within(&checkout("v1"), Duration::from_millis(1_300));
    let Outcome::Failed(failed) = outcome else { panic!("{outcome:?}") };
    assert_eq!(failed.class, Class::Locked, "{failed:#?}");
    assert!(begun.elapsed() >= Duration::from_millis(250));
    let allowed = bench.allowed.clone();
    let waiting = std::thread::spawn(move || {
        let git = Git::new(&allowed, Instant::now() + PATIENCE);
        perform(&checkout("v1"), &allowed, &git)
    });
    std::thread::sleep(Duration::from_millis(100));
    drop(other);
    let outcome = waiting.join().expect("it ends");
    assert!(matches!(outcome, Outcome::Done(_)), "{outcome:?}");
    assert_eq!(bench.id("HEAD"), bench.id("v1"));
}

#[test]
fn a_git_that_hangs_is_ended_with_the_call() {
    let bench = Bench::honest();
    // what stands in a file's place at the top is refused before anything runs
    fs::remove_file(bench.git_dir().join("info/exclude")).expect("git makes one");
    let top = bench.git_dir().join("info/exclude");
    assert!(Command::new("mkfifo").arg(&top).status().expect("mkfifo is there").success());
    bench.write("a.txt", "mine\n");
    let Outcome::Failed(refused) = bench.perform_within(&commit(&["a.txt"], "x"), PATIENCE) else { panic!("a pipe") };
    assert_eq!(refused.class, Class::Unusable, "{refused:#?}");
    fs::remove_file(&top).expect("ours");
    // beneath it Git meets the pipe itself
    bench.write("beneath/file", "untracked\n");
    let fifo = bench.at("beneath/.gitignore");
    let made = Command::new("mkfifo").arg(&fifo).status().expect("mkfifo is there");
    assert!(made.success());
    let begun = Instant::now();
    let Outcome::Failed(failed) = bench.perform_within(&commit(&["a.txt"], "x"), Duration::from_secs(2)) else {
        panic!("nothing can be listed")
    };
    assert_eq!(failed.class, Class::Timeout, "{failed:#?}");
    assert!(begun.elapsed() < PATIENCE);
    fs::remove_file(&fifo).expect("ours");
    bench.done(&commit(&["a.txt"], "x"));
}

#[test]
fn settings_from_outside_of_the_repository_are_refused() {
    let bench = Bench::honest();
    let outside = bench.beside("outside");
    fs::write(&outside, "[core]\n\tfsmonitor = evil\n").expect("ours");
    for value in ["../../outside", outside.to_str().expect("UTF-8"), "~/x"] {
        bench.git(&["config", "include.path", value]);
        let failed = bench.refused(&checkout("v1"), Class::Refused);
        assert!(failed.reason.contains("include.path"), "{failed:#?}");
    }
    fs::write(bench.git_dir().join("more"), "[user]\n\tname = In Side\n").expect("ours");
    bench.git(&["config", "include.path", "more"]);
    bench.done(&checkout("v1"));
}

#[test]
fn a_damaged_repository_is_told_as_such() {
    let bench = Bench::honest();
    bench.write("a.txt", "mine\n");
    fs::write(bench.git_dir().join("index"), "DIRCgarbage").expect("ours");
    bench.refused(&commit(&["a.txt"], "x"), Class::Unusable);
    let bench = Bench::honest();
    fs::write(bench.git_dir().join("config"), "[core\n").expect("ours");
    let Outcome::Failed(failed) = bench.perform(&checkout("v1")) else { panic!("it cannot be read") };
    assert!(failed.reason.contains("config"), "{failed:#?}");
}

#[test]
fn what_a_git_that_was_killed_left_is_told_with_the_way_back() {
    let mut bench = Bench::honest();
    // a Git that is killed in the middle
    let real = String::from_utf8(bench.allowed.programs.git.clone()).expect("UTF-8");
    let (fake, lock) = (bench.beside("git"), bench.git_dir().join("index.lock"));
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *' checkout '*) : > {}; echo x >{}; kill -9 $$;; esac\nexec {real} \"$@\"\n",
        lock.display(),
        bench.git_dir().join("objects/ab/tmp_obj_Xyz").display()
    );
    fs::create_dir_all(bench.git_dir().join("objects/ab")).expect("ours");
    fs::write(&fake, script).expect("ours");
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("ours");
    bench.allowed.programs.git = fake.to_str().expect("UTF-8").as_bytes().to_vec();
    bench.write("untracked", "mine\n");
    let failed = bench.refused(&checkout("side"), Class::Failed);
    assert!(failed.reason.contains("index.lock"), "{failed:#?}");
    assert!(failed.reason.contains("ab/tmp_obj_Xyz (2 bytes"), "{failed:#?}");
    let point = failed.restore_point.clone().expect("it was made before");
    bench.allowed.programs.git = real.into_bytes();
    bench.refused(&checkout("side"), Class::Locked);
    fs::remove_file(&lock).expect("it was left");
    bench.git(&["checkout", "-q", "side"]);
    fs::remove_file(bench.at("untracked")).expect("ours");
    bench.done(&Operation::Restore { id: point });
    assert_eq!((bench.read("untracked").as_str(), bench.id("HEAD")), ("mine\n", bench.id("main")));
}
