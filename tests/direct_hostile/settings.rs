//! Settings that lead to files elsewhere, or have a write do more than was asked for; the real git shows that they do.
//! Trust: hostile by construction.

use crate::{
    support::direct::{Came, Served},
    sweep::{GIVEN, call, calls, reads},
    world::{SECRET, World},
};
use serde_json::json;
use std::{fs, path::Path, process::Stdio};

fn text(path: &Path) -> String {
    path.to_str().expect("places have UTF-8 paths").to_owned()
}

/// All that a git that does as it is told says, standard error too; it is given two seconds.
fn said(world: &World, arguments: &[&str]) -> String {
    let mut git = world.place.command("timeout");
    git.args(["--kill-after=1", "2", "git"]).current_dir(&world.repo).args(arguments).stdin(Stdio::null());
    let output = git.output().expect("git is installed");
    format!("{} {} {}", output.status, String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Appends to the repository's own configuration, which git itself might not read any more.
fn configure(world: &World, lines: &str) {
    let file = world.repo.join(".git/config");
    let before = fs::read_to_string(&file).expect("it is there");
    fs::write(file, format!("{before}{lines}")).expect("ours");
}

#[test]
fn settings_taken_in_from_elsewhere_are_not() {
    type Build = fn(&World);
    let outside = |world: &World| text(&world.outside().join("config"));
    // what is beyond the roots, by every way to name it
    let builds: [(&str, Build); 4] = [
        ("include.path", |world| {
            configure(world, &format!("[include]\n\tpath = {}\n", text(&world.outside().join("config"))));
        }),
        ("include.path", |world| configure(world, "[include]\n\tpath = ../../../outside/config\n")),
        ("includeif", |world| {
            let path = text(&world.outside().join("config"));
            configure(world, &format!("[includeIf \"gitdir:/\"]\n\tpath = {path}\n"));
        }),
        ("include.path", |world| {
            // by a link that lies inside
            std::os::unix::fs::symlink(world.outside().join("config"), world.repo.join(".git/more")).expect("ours");
            configure(world, "[include]\n\tpath = more\n");
        }),
    ];
    for (key, build) in builds {
        let spoilt = || {
            let world = World::new();
            let own = format!("[user]\n\tname = {SECRET}\n[core]\n\tfsmonitor = {}\n", world.program());
            fs::write(outside(&world), own).expect("ours");
            world.git(&["config", "--unset", "user.name"]);
            build(&world);
            world
        };
        let control = spoilt();
        assert!(said(&control, &["config", "user.name"]).contains(SECRET), "a trap that git does not run into: {key}");
        let read = reads(&spoilt().watched(), "a.txt");
        read.values(&["repo_snapshot", "repo_status", "repo_log", "repo_annotate"]);
        let world = spoilt().watched();
        let head = world.git(&["rev-parse", "HEAD"]);
        world.write("a.txt", "one\n");
        let written = calls(
            &world,
            vec![
                ("repo_commit", json!({"paths": ["a.txt"], "message": "x"})),
                ("repo_create_branch", json!({"name": "nb"})),
                ("repo_fetch", json!({})),
            ],
        );
        written.refused(&["repo_commit", "repo_create_branch", "repo_fetch"], key);
        assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    }
}

#[test]
fn settings_taken_in_from_a_pipe_or_without_end_hold_nobody_up() {
    type Build = fn(&World);
    let builds: [(Build, &str); 3] = [
        (
            |world| {
                let pipe = world.repo.join(".git/pipe");
                nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("ours");
                configure(world, "[include]\n\tpath = pipe\n");
            },
            "124",
        ),
        (|world| configure(world, "[include]\n\tpath = config\n"), "include depth"),
        (
            |world| {
                fs::write(world.repo.join(".git/one"), "[include]\n\tpath = two\n").expect("ours");
                fs::write(world.repo.join(".git/two"), "[include]\n\tpath = one\n").expect("ours");
                configure(world, "[include]\n\tpath = one\n");
            },
            "include depth",
        ),
    ];
    for (build, why) in builds {
        let spoilt = || {
            let world = World::new();
            build(&world);
            world.watched()
        };
        let control = said(&spoilt(), &["status"]);
        assert!(control.contains(why), "a trap that git does not run into: {control}");
        let world = spoilt();
        let read = reads(&world, "a.txt");
        for (tool, _, came) in &read.0 {
            let named = matches!(came, Came::Failure(class, _) if class == "unusable");
            assert!(named || matches!(came, Came::Value(_) | Came::Params(_)), "{tool}: {came:?}");
        }
        let mut served = Served::writing(&world.place, &world.repo, &["--timeout", "4"]);
        for (tool, arguments) in [
            ("repo_commit", json!({"paths": ["a.txt"], "message": "x", "allow_empty": true})),
            ("repo_create_branch", json!({"name": "nb"})),
            ("repo_fetch", json!({})),
        ] {
            let came = call(&mut served, tool, &arguments);
            let named =
                matches!(&came, Came::Failure(class, _) if ["refused", "unusable", "timeout"].contains(&&**class));
            assert!(named, "{tool}: {came:?}");
        }
        world.holds(served);
    }
}

#[test]
fn objects_borrowed_from_elsewhere_are_refused_by_reads_and_writes_alike() {
    // straight, quoted, relative, and over one that lies inside
    type Line = fn(&World) -> String;
    let lines: [Line; 3] = [
        |world| text(&world.victim().join(".git/objects")),
        |world| {
            let path = text(&world.victim().join(".git/objects"));
            format!("\"{}\"", path.replace("outside", "outsi\\144e"))
        },
        |world| {
            let between = world.repo.join(".git/between/info");
            fs::create_dir_all(&between).expect("ours");
            let far = text(&world.victim().join(".git/objects"));
            fs::write(between.join("alternates"), format!("{far}\n")).expect("ours");
            "../between".to_owned()
        },
    ];
    for line in lines {
        let spoilt = || {
            let world = World::new();
            let line = line(&world);
            fs::write(world.repo.join(".git/objects/info/alternates"), format!("{line}\n")).expect("ours");
            world
        };
        let victims = |world: &World| world.git_in(&world.victim(), &["rev-parse", "HEAD"]);
        let control = spoilt();
        let shown = said(&control, &["show", &format!("{}:secret.txt", victims(&control))]);
        assert!(shown.contains(SECRET), "a trap that git does not run into: {shown}");
        let refused =
            |came: &Came| matches!(came, Came::Failure(class, _) if class == "unusable" || class == "refused");
        // there at the start, and put there later
        for later in [false, true] {
            let world = if later { World::new() } else { spoilt() }.watched();
            let evil = victims(&world);
            fs::write(world.repo.join(".git/refs/heads/evil"), format!("{evil}\n")).expect("ours");
            let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
            if later {
                served.value("repo_remotes", json!({}));
                let line = line(&world);
                fs::write(world.repo.join(".git/objects/info/alternates"), format!("{line}\n")).expect("ours");
            }
            for (tool, arguments) in [
                ("repo_show_file", json!({"rev": "evil", "path": "secret.txt"})),
                ("repo_log", json!({"revspec_or_revset": "evil", "max": 5})),
                ("repo_checkout", json!({"reference": "evil"})),
                ("repo_commit", json!({"paths": ["a.txt"], "message": "x", "allow_empty": true})),
                ("repo_rebase", json!({"onto": "evil"})),
                ("repo_create_branch", json!({"name": "nb"})),
                ("repo_push", json!({"branch": "evil"})),
            ] {
                let came = call(&mut served, tool, &arguments);
                assert!(refused(&came), "{later} {tool}: {came:?}");
            }
            assert!(!world.repo.join("secret.txt").exists());
            world.holds(served);
        }
    }
}

#[test]
fn a_long_file_of_alternates_is_one_answer() {
    let world = World::new().watched();
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    served.value("repo_remotes", json!({}));
    // behind so many comments a directory that may lend, which git would borrow from
    let objects = text(&world.repo.join(".git/lent"));
    fs::create_dir_all(&objects).expect("ours");
    let long = format!("# {}\n", "x".repeat(97)).repeat(700) + &objects + "\n";
    fs::write(world.repo.join(".git/objects/info/alternates"), long).expect("ours");
    world.write("a.txt", "one\n");
    for (tool, arguments) in [
        ("repo_log", json!({"revspec_or_revset": "HEAD", "max": 1})),
        ("repo_commit", json!({"paths": ["a.txt"], "message": "x"})),
        ("repo_fetch", json!({})),
        ("repo_create_branch", json!({"name": "nb"})),
    ] {
        let failure = served.fails(tool, arguments, "too_large");
        let reason = failure["reason"].as_str().expect("a reason");
        assert!(reason.contains("objects/info/alternates is longer than 65536 bytes"), "{tool}: {reason}");
    }
    world.holds(served);
}

#[test]
fn objects_borrowed_from_beside_are_one_answer() {
    let spoilt = || {
        let world = World::new();
        let objects = text(&world.base.join("other/.git/objects"));
        fs::write(world.repo.join(".git/objects/info/alternates"), format!("{objects}\n")).expect("ours");
        world.write("a.txt", "one\n");
        world.watched()
    };
    let asked = [
        ("repo_log", json!({"revspec_or_revset": "HEAD", "max": 1})),
        ("repo_commit", json!({"paths": ["a.txt"], "message": "x"})),
    ];
    let world = spoilt();
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    for (tool, arguments) in &asked {
        let failure = served.fails(tool, arguments.clone(), "unusable");
        assert!(
            failure["reason"].as_str().is_some_and(|reason| reason.contains("objects/info/alternates")),
            "{failure}"
        );
    }
    world.holds(served);
    // the operator says that it is meant
    let world = spoilt();
    let root = text(&world.base);
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN, "--root", &root]);
    for (tool, arguments) in &asked {
        served.value(tool, arguments.clone());
    }
    world.holds(served);
}

#[test]
fn a_list_of_revisions_that_is_somebody_elses_file() {
    let spoilt = || {
        let world = World::new();
        world.config("blame.ignoreRevsFile", &text(&world.outside().join("secret.txt")));
        world.watched()
    };
    let control = said(&spoilt(), &["blame", "a.txt"]);
    assert!(control.contains(SECRET), "a trap that git does not run into: {control}");
    reads(&spoilt(), "a.txt").values(&["repo_annotate", "repo_status"]);
}

#[test]
fn a_rebase_moves_no_other_branch_and_puts_nothing_aside() {
    let spoilt = || {
        let world = World::new();
        for (key, value) in [("rebase.updateRefs", "true"), ("rebase.autoStash", "true"), ("rebase.autoSquash", "true")]
        {
            world.config(key, value);
        }
        world.git(&["checkout", "-q", "-b", "upper", "feature"]);
        world.git(&["branch", "between"]);
        world.write("feat.txt", "more\n");
        world.git(&["commit", "-q", "-am", "fixup! f1: feature adds a file"]);
        world.watched()
    };
    let control = spoilt();
    let between = control.git(&["rev-parse", "between"]);
    control.write("a.txt", "put aside\n");
    control.git(&["rebase", "-q", "main"]);
    assert_ne!(control.git(&["rev-parse", "between"]), between, "a trap that git does not run into");

    let world = spoilt();
    let tips = world.tips();
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    world.write("a.txt", "not to be put aside\n");
    served.fails("repo_rebase", json!({"onto": "main"}), "dirty");
    assert_eq!(fs::read_to_string(world.repo.join("a.txt")).expect("it is there"), "not to be put aside\n");
    world.git(&["checkout", "-q", "a.txt"]);
    served.value("repo_rebase", json!({"onto": "main"}));
    assert_eq!(world.git(&["rev-parse", "between"]), between);
    assert_eq!(world.git(&["rev-list", "--count", "main..upper"]), "2", "nothing was squashed");
    assert_eq!(world.git(&["stash", "list"]), "");
    world.holds(served);
    world.lost_nothing(&tips);
}

#[test]
fn a_setting_that_hides_files_hides_none() {
    let world = World::new();
    world.config("status.showUntrackedFiles", "no");
    let world = world.watched();
    assert!(!world.git(&["status", "--porcelain"]).contains("keep.txt"), "a trap that git does not run into");
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    let rows = served.value("repo_status", json!({}));
    assert_eq!(rows, json!([{"path": "keep.txt", "old_path": null, "kind": "Added"}]));
    let snapshot = served.value("repo_snapshot", json!({}));
    assert_eq!((&snapshot["dirty"], &snapshot["untracked"]), (&json!(true), &json!(1)));
    // and the way back has it too
    world.write("a.txt", "one\n");
    let done = served.value("repo_commit", json!({"paths": ["a.txt"], "message": "x"}));
    fs::remove_file(world.repo.join("keep.txt")).expect("it is there");
    served.value("repo_restore", json!({"id": done["restore_point"]}));
    world.lost_nothing(&[]);
    world.holds(served);
}
