//! Locks, lock files that Git left, and changes that nobody asked for.
//! Trust: test code.
#![cfg(unix)]

mod support;

use bulkhead_contract::direct::{Class, OperationState};
use bulkhead_ipc::edge::write::{Operation, Outcome};
use bulkhead_worker_write::{git::Git, guard::Guard, leftover, lock, operations::perform};
use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::CommandExt,
    },
    path::Path,
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

/// What undoing says that left nothing.
const PUT_BACK: &str = "All of it was put back.";

fn guarding(bench: &Bench) -> Guard {
    let git_dir = bench.git_dir();
    Guard::before(&bench.root(), &git_dir, &git_dir, &[git_dir.join("more")]).expect("all of it can be kept")
}

#[test]
fn what_was_planted_is_undone_byte_for_byte() {
    let bench = Bench::honest();
    let git_dir = bench.git_dir();
    fs::create_dir_all(git_dir.join("hooks")).expect("ours");
    fs::write(git_dir.join("hooks/kept"), "#!/bin/sh\n").expect("ours");
    symlink("elsewhere", git_dir.join("hooks/link")).expect("ours");
    let guard = guarding(&bench);
    assert_eq!(guard.changes(), Ok(Vec::new()));
    let files = |directory: &Path| {
        let mut all: Vec<_> =
            fs::read_dir(directory.join("hooks")).expect("ours").flatten().map(|it| it.path()).collect();
        all.extend(["config", "info/exclude", "info/attributes"].map(|name| directory.join(name)));
        all.sort();
        let facts = |path: &Path| (path.to_owned(), fs::read_link(path).ok(), fs::read(path).ok());
        all.iter().map(|path| facts(path)).collect::<Vec<_>>()
    };
    let before = files(&git_dir);
    bench.git(&["config", "core.fsmonitor", "touch x"]);
    fs::write(git_dir.join("hooks/post-commit"), "#!/bin/sh\n").expect("ours");
    fs::set_permissions(git_dir.join("hooks/kept"), fs::Permissions::from_mode(0o755)).expect("ours");
    fs::remove_file(git_dir.join("hooks/link")).expect("ours");
    fs::write(git_dir.join("info/attributes"), "* filter=x\n").expect("ours");
    fs::create_dir(git_dir.join("config.worktree")).expect("ours");
    let changes = guard.changes().expect("all of it can be kept");
    assert_eq!(changes.len(), 6, "{changes:?}");
    assert!(guard.undo().starts_with(PUT_BACK));
    assert_eq!(files(&git_dir), before);
    assert_eq!(guard.changes(), Ok(Vec::new()));
}

#[test]
fn a_directory_that_became_a_link_is_one_again() {
    let bench = Bench::honest();
    let git_dir = bench.git_dir();
    let hooks = git_dir.join("hooks");
    fs::create_dir_all(&hooks).expect("ours");
    fs::write(hooks.join("pre-commit"), "#!/bin/sh\n").expect("ours");
    let guard = guarding(&bench);
    // the same files by the same names, where whoever writes in the working tree can change them later
    let elsewhere = bench.at("scripts");
    fs::rename(&hooks, &elsewhere).expect("ours");
    symlink(&elsewhere, &hooks).expect("ours");
    assert_eq!(guard.changes().map(|changes| changes[0].clone()), Ok(hooks.clone()));
    assert!(guard.undo().starts_with(PUT_BACK));
    assert!(hooks.symlink_metadata().is_ok_and(|it| it.is_dir()));
    assert_eq!(fs::read_to_string(hooks.join("pre-commit")).expect("it is back"), "#!/bin/sh\n");
    assert_eq!(guard.changes(), Ok(Vec::new()));
    // and one that was a link all along stays one
    fs::remove_dir_all(&hooks).expect("ours");
    symlink(&elsewhere, &hooks).expect("ours");
    let guard = guarding(&bench);
    assert_eq!(guard.changes(), Ok(Vec::new()));
    fs::remove_file(&hooks).expect("ours");
    fs::create_dir(&hooks).expect("ours");
    assert!(guard.undo().starts_with(PUT_BACK));
    assert_eq!(fs::read_link(&hooks).ok(), Some(elsewhere.clone()));
    assert_eq!(fs::read_to_string(elsewhere.join("pre-commit")).expect("it is there"), "#!/bin/sh\n");
}

/// Each of these was undone in part, or cost what stood there, or was not seen at all.
#[test]
fn nothing_that_is_planted_keeps_the_rest_from_being_undone() {
    let bench = Bench::honest();
    let git_dir = bench.git_dir();
    let hooks = git_dir.join("hooks");
    fs::create_dir_all(hooks.join("pre-commit.d/deep")).expect("ours");
    fs::write(hooks.join("pre-commit.d/deep/check"), "#!/bin/sh\n").expect("ours");
    for number in 0..1_000 {
        fs::write(hooks.join(format!("other-{number}")), number.to_string()).expect("ours");
    }
    let module = git_dir.join("modules/a/b");
    fs::create_dir_all(module.join("modules/inner")).expect("ours");
    for (dir, name) in [(&module, "HEAD"), (&module, "config"), (&module.join("modules/inner"), "HEAD")] {
        fs::write(dir.join(name), "x\n").expect("ours");
    }
    bench.git(&["worktree", "add", "-q", "../linked"]);
    let config = format!("{}# {}\n", fs::read_to_string(git_dir.join("config")).expect("ours"), "x".repeat(2 << 20));
    fs::write(git_dir.join("config"), &config).expect("ours");
    let guard = guarding(&bench);
    assert_eq!(guard.changes(), Ok(Vec::new()));
    type Plant<'p> = (&'p str, &'p dyn Fn());
    let remove = |path: &Path| fs::remove_file(path).expect("ours");
    let plants: &[Plant<'_>] = &[
        ("a directory of very many in a hook's place, and a hook", &|| {
            let mut deep = hooks.join("applypatch-msg");
            for _ in 0..900 {
                fs::create_dir(&deep).expect("ours");
                deep.push("d");
            }
            fs::write(hooks.join("post-checkout"), "#!/bin/sh\n").expect("ours");
        }),
        ("a long configuration", &|| fs::write(git_dir.join("config"), config.replace('x', "y")).expect("ours")),
        ("one of the same length and time", &|| {
            let file = fs::File::options().write(true).open(git_dir.join("config")).expect("ours");
            let time = file.metadata().and_then(|it| it.modified()).expect("ours");
            fs::write(git_dir.join("config"), config.replacen('x', "y", 1)).expect("ours");
            file.set_modified(time).expect("ours");
        }),
        ("no configuration", &|| remove(&git_dir.join("config"))),
        ("files of a full directory", &|| (0..500).for_each(|number| remove(&hooks.join(format!("other-{number}"))))),
        ("more files than are looked at", &|| {
            (0..25_000).for_each(|number| fs::write(hooks.join(format!("new-{number}")), "").expect("ours"));
        }),
        ("a hook's own hook", &|| {
            fs::write(hooks.join("pre-commit.d/deep/check"), "#!/bin/sh\nid\n").expect("ours");
            fs::write(hooks.join("pre-commit.d/new"), "#!/bin/sh\nid\n").expect("ours");
        }),
        ("a file in a directory's place", &|| {
            fs::remove_dir_all(hooks.join("pre-commit.d")).expect("ours");
            fs::write(hooks.join("pre-commit.d"), "").expect("ours");
        }),
        ("hooks without rights to them", &|| {
            fs::write(hooks.join("post-commit"), "#!/bin/sh\n").expect("ours");
            fs::set_permissions(&hooks, fs::Permissions::from_mode(0o000)).expect("ours");
        }),
        ("a submodule's configuration and hook", &|| {
            fs::write(module.join("config"), "[core]\n\tfsmonitor = x\n").expect("ours");
            fs::create_dir(module.join("modules/inner/hooks")).expect("ours");
            fs::write(module.join("modules/inner/hooks/post-checkout"), "#!/bin/sh\n").expect("ours");
        }),
        ("where another working tree has its configuration", &|| {
            fs::write(git_dir.join("worktrees/linked/commondir"), "../../../evil\n").expect("ours");
        }),
        ("a file that the configuration takes in", &|| fs::write(git_dir.join("more"), "[core]\n").expect("ours")),
        ("objects by a link", &|| {
            fs::rename(git_dir.join("objects/info"), bench.at("info")).expect("ours");
            symlink(bench.at("info"), git_dir.join("objects/info")).expect("ours");
        }),
    ];
    for (name, plant) in plants {
        plant();
        assert_ne!(guard.changes(), Ok(Vec::new()), "{name} is not seen");
        let told = guard.undo();
        assert!(told.starts_with(PUT_BACK), "{name}: {told}");
        assert_eq!(guard.changes(), Ok(Vec::new()), "{name}");
        assert_eq!(fs::read_to_string(git_dir.join("config")).expect("it is there"), config, "{name}");
    }
    // what is taken away as a whole, as `git worktree prune` does, is nobody's plant
    fs::remove_dir_all(git_dir.join("worktrees/linked")).expect("ours");
    assert_eq!(guard.changes(), Ok(Vec::new()));
}

#[test]
fn what_could_not_be_put_back_is_not_begun() {
    let bench = Bench::honest();
    let config = bench.git_dir().join("config");
    let text = fs::read_to_string(&config).expect("ours");
    fs::create_dir_all(bench.git_dir().join("hooks")).expect("ours");
    let long = fs::File::create(bench.git_dir().join("hooks/long")).expect("ours");
    long.set_len(65 << 20).expect("ours");
    let failed = bench.refused(&checkout("v1"), Class::TooLarge);
    assert!(failed.reason.contains("hooks") && failed.reason.contains("64 MiB"), "{failed:#?}");
    assert_eq!(fs::read_to_string(&config).expect("ours"), text);
    long.set_len(1).expect("ours");
    bench.done(&checkout("v1"));
}

/// A write whose process is killed has looked at nothing: the next one says what differs, once.
#[test]
fn a_write_that_was_ended_before_it_looked_is_told_by_the_next() {
    let mut bench = Bench::honest();
    let locks = bench.beside("locks");
    bench.allowed.locks = Some(locks.to_str().expect("UTF-8").as_bytes().to_vec());
    let git_dir = bench.git_dir();
    let record = guarding(&bench).record();
    bench.done(&checkout("v1"));
    let lock = lock::path(&locks, &git_dir);
    assert_eq!(fs::read(&lock).expect("it is there"), b"", "nothing is left by a write that looked");
    // nothing changed since: nothing to say
    fs::write(&lock, &record).expect("ours");
    bench.done(&checkout("main"));
    fs::write(&lock, &record).expect("ours");
    bench.git(&["config", "core.fsmonitor", "evil"]);
    fs::create_dir_all(git_dir.join("hooks")).expect("ours");
    fs::write(git_dir.join("hooks/post-checkout"), "#!/bin/sh\n").expect("ours");
    let failed = bench.refused(&checkout("v1"), Class::Refused);
    assert!(failed.reason.contains("config") && failed.reason.contains("hooks/post-checkout"), "{failed:#?}");
    bench.done(&checkout("v1"));
    fs::write(&lock, b"garbage").expect("ours");
    bench.done(&checkout("main"));
}

/// The guard was passed over where Git had no time left, or could not read what was planted.
#[test]
fn what_is_planted_is_undone_where_no_time_is_left_and_where_it_cannot_be_read() {
    for plant in [
        "printf '[core]\\n\\tfsmonitor = evil\\n[broken' >> .git/config",
        "git config core.fsmonitor evil; exec sleep 600",
    ] {
        let mut bench = Bench::honest();
        let config = fs::read(bench.git_dir().join("config")).expect("it is there");
        let real = String::from_utf8(bench.allowed.programs.git.clone()).expect("UTF-8");
        let fake = bench.beside("git");
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *' commit '*) PATH=/usr/local/bin:/usr/bin:/bin; cd {}; {plant};; esac\nexec {real} \"$@\"\n",
            bench.root().display()
        );
        fs::write(&fake, script).expect("ours");
        fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("ours");
        bench.allowed.programs.git = fake.to_str().expect("UTF-8").as_bytes().to_vec();
        bench.write("a.txt", "mine\n");
        let Outcome::Failed(failed) = bench.perform_within(&commit(&["a.txt"], "x"), Duration::from_secs(3)) else {
            panic!("{plant}: it was not seen")
        };
        assert!(failed.reason.contains(".git/config") && failed.reason.contains(PUT_BACK), "{plant}: {failed:#?}");
        assert_eq!(fs::read(bench.git_dir().join("config")).expect("it is there"), config, "{plant}");
    }
}

#[test]
fn a_git_directory_that_was_moved_away_is_back_in_its_place() {
    for by_link in [false, true] {
        let mut bench = Bench::honest();
        let real = String::from_utf8(bench.allowed.programs.git.clone()).expect("UTF-8");
        let fake = bench.beside("git");
        let planted = if by_link { "ln -s evil .git" } else { "echo 'gitdir: evil' > .git" };
        let script = format!(
            "#!/bin/sh\n{real} \"$@\"; code=$?\ncase \"$*\" in *' commit '*) PATH=/usr/bin:/bin; cd {}; mv .git evil; {planted};; esac\nexit $code\n",
            bench.root().display()
        );
        fs::write(&fake, script).expect("ours");
        fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("ours");
        bench.allowed.programs.git = fake.to_str().expect("UTF-8").as_bytes().to_vec();
        bench.write("a.txt", "mine\n");
        let Outcome::Failed(failed) = bench.perform(&commit(&["a.txt"], "x")) else { panic!("it was not seen") };
        assert!(failed.reason.contains(".git is another one") && failed.reason.contains(PUT_BACK), "{failed:#?}");
        assert!(bench.git_dir().symlink_metadata().is_ok_and(|found| found.is_dir()) && !bench.at("evil").exists());
        bench.git(&["fsck"]);
    }
}

#[test]
fn an_operation_that_changes_more_than_it_says_is_refused() {
    let mut bench = Bench::honest();
    let config = fs::read(bench.git_dir().join("config")).expect("it is there");
    // a Git that was taken over: it does what it is told, and more
    let real = String::from_utf8(bench.allowed.programs.git.clone()).expect("UTF-8");
    let fake = bench.beside("git");
    let script = format!(
        "#!/bin/sh\n{real} \"$@\"; code=$?\ncase \"$*\" in *' commit '*) {real} -C {} config core.fsmonitor evil;; esac\nexit $code\n",
        bench.root().display()
    );
    fs::write(&fake, script).expect("ours");
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("ours");
    bench.allowed.programs.git = fake.to_str().expect("UTF-8").as_bytes().to_vec();
    bench.write("a.txt", "mine\n");
    let failed = bench.refused(&commit(&["a.txt"], "x"), Class::Refused);
    assert!(failed.reason.contains("core.fsmonitor") && failed.reason.contains("put back"), "{failed:#?}");
    assert!(failed.restore_point.is_some());
    assert_eq!(fs::read(bench.git_dir().join("config")).expect("it is there"), config);
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
