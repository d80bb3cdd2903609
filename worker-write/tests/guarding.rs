//! Changes of configuration, hooks and the like that nobody asked for: seen, undone, and told.
//! Trust: test code; what is planted names programs that are not there.
#![cfg(unix)]

mod support;

use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::{Failed, Outcome};
use bulkhead_worker_write::{guard::Guard, lock};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    time::Duration,
};
use support::{Bench, checkout, commit};

/// What undoing says that left nothing.
const PUT_BACK: &str = "All of it was put back.";

fn guarding(bench: &Bench) -> Guard {
    let git_dir = bench.git_dir();
    Guard::before(&bench.root(), &git_dir, &git_dir, &[git_dir.join("more")]).expect("all of it can be kept")
}

/// Has commits made by a Git that was taken over: these lines of a shell run in its place, in the working tree, where `$git` is the
/// real one. Gives what became of one in that time.
fn taken_over(bench: &mut Bench, lines: &str, seconds: u64) -> Box<Failed> {
    let real = String::from_utf8(bench.allowed.programs.git.clone()).expect("UTF-8");
    let fake = bench.beside("git");
    let script = format!(
        "#!/bin/sh\ngit={real}\ncase \"$*\" in *' commit '*) ;; *) exec $git \"$@\";; esac\n\
         PATH=/usr/local/bin:/usr/bin:/bin\ncd {}\n{lines}\n",
        bench.root().display()
    );
    fs::write(&fake, script).expect("ours");
    fs::set_permissions(&fake, fs::Permissions::from_mode(0o755)).expect("ours");
    bench.allowed.programs.git = fake.to_str().expect("UTF-8").as_bytes().to_vec();
    bench.write("a.txt", "mine\n");
    match bench.perform_within(&commit(&["a.txt"], "x"), Duration::from_secs(seconds)) {
        Outcome::Failed(failed) => failed,
        done @ Outcome::Done(_) => panic!("{lines}: it was not seen: {done:?}"),
    }
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
    for (plant, seconds) in [
        ("printf '[core]\\n\\tfsmonitor = evil\\n[broken' >> .git/config; exec $git \"$@\"", 120),
        ("$git config core.fsmonitor evil; exec sleep 600", 3),
    ] {
        let mut bench = Bench::honest();
        let config = fs::read(bench.git_dir().join("config")).expect("it is there");
        let failed = taken_over(&mut bench, plant, seconds);
        assert!(failed.reason.contains(".git/config") && failed.reason.contains(PUT_BACK), "{plant}: {failed:#?}");
        assert_eq!(fs::read(bench.git_dir().join("config")).expect("it is there"), config, "{plant}");
    }
}

#[test]
fn a_git_directory_that_was_moved_away_is_back_in_its_place() {
    for planted in ["ln -s evil .git", "echo 'gitdir: evil' > .git"] {
        let mut bench = Bench::honest();
        let failed = taken_over(&mut bench, &format!("$git \"$@\"; code=$?; mv .git evil; {planted}; exit $code"), 120);
        assert!(failed.reason.contains(".git is another one") && failed.reason.contains(PUT_BACK), "{failed:#?}");
        assert!(bench.git_dir().symlink_metadata().is_ok_and(|found| found.is_dir()) && !bench.at("evil").exists());
        bench.git(&["fsck"]);
    }
}

#[test]
fn an_operation_that_changes_more_than_it_says_is_refused() {
    let mut bench = Bench::honest();
    let config = fs::read(bench.git_dir().join("config")).expect("it is there");
    // it does what it is told, and more
    let failed = taken_over(&mut bench, "$git \"$@\"; code=$?; $git config core.fsmonitor evil; exit $code", 120);
    assert_eq!(failed.class, Class::Refused, "{failed:#?}");
    assert!(failed.reason.contains("core.fsmonitor") && failed.reason.contains("put back"), "{failed:#?}");
    assert!(failed.restore_point.is_some());
    assert_eq!(fs::read(bench.git_dir().join("config")).expect("it is there"), config);
}
