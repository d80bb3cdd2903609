//! Repositories that lead out of themselves: refused at the start, and not followed where they begin to while it is served.
//! Trust: hostile by construction.

use crate::{
    support::{
        Start,
        direct::{Came, Served},
    },
    sweep::{GIVEN, call, reads, writes},
    world::{SECRET, World},
};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

type Turn = fn(&World);

/// Ways in which a repository leads to that of somebody else.
const REDIRECTS: [(&str, Turn); 5] = [
    ("gitfile-redirect", |world| {
        put_aside(world);
        fs::write(world.repo.join(".git"), format!("gitdir: {}\n", world.victim().join(".git").display()))
            .expect("ours");
    }),
    ("symlink-git-dir", |world| {
        put_aside(world);
        symlink(world.victim().join(".git"), world.repo.join(".git")).expect("ours");
    }),
    ("commondir-redirect", |world| {
        let dir = world.repo.join(".git");
        fs::write(dir.join("commondir"), format!("{}\n", world.victim().join(".git").display())).expect("ours");
    }),
    ("nested-empty-dotgit", |world| {
        put_aside(world);
        fs::create_dir(world.repo.join(".git")).expect("ours");
    }),
    ("gitfile to nowhere", |world| {
        put_aside(world);
        fs::write(world.repo.join(".git"), "gitdir: ../nowhere\n").expect("ours");
    }),
];

fn put_aside(world: &World) {
    fs::rename(world.repo.join(".git"), world.base.join("aside")).expect("ours");
}

#[test]
fn a_repository_that_is_somebody_elses_is_refused_at_the_start() {
    for (name, turn) in REDIRECTS {
        let world = World::new();
        // one around it must not be served in its place
        world.git_in(&world.base, &["init", "-q"]);
        turn(&world);
        let world = world.watched();
        for more in [&[][..], &["--allow-write"]] {
            let start = Start::new(&world.place).arguments(&["--surface", "direct", "--repo"]).argument(&world.repo);
            let output = start.arguments(more).output();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{name}: {said}");
            assert!(said.contains(".git") && !said.contains(SECRET), "{name}: {said}");
        }
    }
}

#[test]
fn a_repository_that_becomes_somebody_elses_is_not_followed() {
    for (name, turn) in REDIRECTS {
        for warm in [false, true] {
            let world = World::new().watched();
            let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
            if warm {
                served.value("repo_status", json!({}));
            } else {
                // the start is over; no worker was needed for that
                served.refuses("repo_undo", json!({}));
            }
            turn(&world);
            for (tool, arguments) in [
                ("repo_snapshot", json!({})),
                ("repo_show_file", json!({"rev": "HEAD", "path": "secret.txt"})),
                ("repo_log", json!({"revspec_or_revset": "HEAD", "max": 5})),
                ("repo_branches", json!({})),
                ("repo_create_branch", json!({"name": "evil"})),
                ("repo_commit", json!({"paths": ["a.txt"], "message": "evil", "allow_empty": true})),
                ("repo_checkout", json!({"reference": "feature"})),
                ("repo_fetch", json!({})),
            ] {
                let came = call(&mut served, tool, &arguments);
                // a worker that looked before it turned may answer of what it holds; nothing is written any more
                let writes = ["repo_create_branch", "repo_commit", "repo_checkout", "repo_fetch"].contains(&tool);
                let refused = matches!(&came, Came::Failure(class, _) if class != "failed" && class != "network");
                assert!(refused || !writes && matches!(came, Came::Value(_)), "{name} {warm} {tool}: {came:?}");
            }
            world.holds(served);
        }
    }
}

#[test]
fn a_working_tree_elsewhere_is_neither_read_nor_written() {
    let elsewhere: [fn(&World) -> PathBuf; 3] =
        [|world| world.outside().to_owned(), |world| world.base.join("other"), |_| PathBuf::from("/")];
    for place in elsewhere {
        let build = || {
            let world = World::new();
            let place = place(&world);
            // `a.txt` lies there, with another content
            let _ = fs::write(world.outside().join("a.txt"), format!("{SECRET}\n"));
            world.config("core.worktree", place.to_str().expect("UTF-8"));
            world.watched()
        };
        let before = |world: &World| fs::read(world.base.join("other/a.txt")).expect("it is there");
        let world = build();
        let other = before(&world);
        reads(&world, "a.txt").failed(&["repo_status", "repo_diff"], &["unusable", "refused"]);
        let world = build();
        let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
        for (tool, arguments) in [
            ("repo_checkout", json!({"reference": "clash"})),
            ("repo_commit", json!({"paths": ["a.txt"], "message": "evil"})),
            ("repo_rebase", json!({"onto": "clash"})),
        ] {
            eprintln!("{tool}: {:?}", call(&mut served, tool, &arguments));
        }
        assert_eq!(before(&world), other);
        world.holds(served);
    }
}

#[test]
fn links_that_lead_out_are_shown_as_links() {
    let build = || {
        let world = World::new();
        symlink(world.outside().join("secret.txt"), world.repo.join("out.txt")).expect("ours");
        symlink(world.outside(), world.repo.join("out")).expect("ours");
        symlink("/etc/passwd", world.repo.join("passwd")).expect("ours");
        world.commit("links");
        fs::remove_file(world.repo.join("dir/b.txt")).expect("it is there");
        fs::remove_dir_all(world.repo.join("dir")).expect("it is there");
        symlink(world.outside(), world.repo.join("dir")).expect("ours");
        fs::write(world.outside().join("b.txt"), SECRET).expect("ours");
        world.watched()
    };
    for path in ["out.txt", "passwd", "out/secret.txt", "dir/b.txt"] {
        reads(&build(), path).values(&["repo_status", "repo_diff", "repo_snapshot"]);
    }
    let world = build();
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    for (tool, arguments) in [
        ("repo_commit", json!({"paths": ["out/secret.txt"], "message": "evil"})),
        ("repo_commit", json!({"paths": ["dir/b.txt"], "message": "evil"})),
        ("repo_create_worktree", json!({"path": "out/wt", "branch": "evil", "base": "main"})),
        ("repo_checkout", json!({"reference": "clash"})),
        ("repo_rebase", json!({"onto": "clash"})),
    ] {
        eprintln!("{tool} {arguments}: {:?}", call(&mut served, tool, &arguments));
    }
    assert!(!world.git(&["log", "--all", "-p", "--format="]).contains(SECRET));
    world.holds(served);
}

#[test]
fn files_that_settings_name_elsewhere_are_not_echoed() {
    let build = || {
        let world = World::new();
        let secret = world.outside().join("secret.txt");
        let secret = secret.to_str().expect("UTF-8").to_owned();
        for key in
            ["blame.ignoreRevsFile", "core.excludesFile", "core.attributesFile", "commit.template", "mailmap.file"]
        {
            world.config(key, &secret);
        }
        world.watched()
    };
    reads(&build(), "a.txt").values(&["repo_status", "repo_annotate", "repo_log"]);
    writes(&build(), "a.txt").values(&["repo_commit", "repo_checkout", "repo_restore"]);
}

#[test]
fn working_trees_stay_where_they_may_be() {
    let world = World::new();
    fs::create_dir(world.base.join("plain")).expect("ours");
    world.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    let world = world.watched();
    let linked = world.base.join("linked");
    let at = |repo: &Path| Served::writing(&world.place, repo, &["--timeout", GIVEN]);
    let mut served = at(&linked);
    for path in [".", linked.to_str().expect("UTF-8"), "../linked", "../repo", "../other", "../plain", "/", ""] {
        let came = call(&mut served, "repo_remove_worktree", &json!({"path": path, "force": true}));
        assert!(matches!(came, Came::Failure(..) | Came::Params(_)), "{path}: {came:?}");
    }
    for path in [
        ".git/evil",
        "../repo/.git/evil",
        "../repo/.git/worktrees/linked/evil",
        "../../outside/evil",
        "/tmp/evil-worktree",
        "-b",
        "",
        "../origin.git/evil",
    ] {
        let came = call(&mut served, "repo_create_worktree", &json!({"path": path, "branch": "e", "base": "main"}));
        assert!(matches!(came, Came::Failure(..) | Came::Params(_)), "{path}: {came:?}");
    }
    assert!(linked.join("a.txt").is_file() && world.base.join("other/a.txt").is_file());
    assert!(world.repo.join("a.txt").is_file() && world.base.join("plain").is_dir());
    world.holds(served);
}
