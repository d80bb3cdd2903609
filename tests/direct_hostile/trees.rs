//! Trees whose names a working tree must not have, or that no file system takes; written byte by byte, as git makes none.
//! Trust: hostile by construction.

use crate::{
    support::{
        direct::{Came, Served},
        objects::{put, tree},
        slow,
    },
    sweep::{GIVEN, call, few, reads},
    world::World,
};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// Text that must not come into a git directory.
const PLANTED: &str = "[core]\n\tfsmonitor = touch PWNED\n";

/// A branch upon `main` with this tree in place of the one of `main`.
fn evil(world: &World, branch: &str, tree: &str) {
    let id = world.git(&["commit-tree", "-p", "main", "-m", "evil", tree]);
    fs::write(world.repo.join(".git/refs/heads").join(branch), format!("{id}\n")).expect("ours");
}

/// What of a repository says which commits there are and what Git does in it.
fn state(world: &World) -> (String, Vec<u8>, String) {
    let refs = world.git(&["for-each-ref", "refs/heads"]);
    let config = fs::read(world.repo.join(".git/config")).expect("it is there");
    (refs, config, world.git(&["status", "--porcelain"]))
}

/// Everything that would put the tree of a branch on the disk.
fn to_disk(branch: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("repo_checkout", json!({ "reference": branch })),
        ("repo_create_worktree", json!({"path": "../side", "branch": "side", "base": branch})),
        ("repo_new_child", json!({ "reference": branch })),
        ("repo_rebase", json!({ "onto": branch })),
    ]
}

#[test]
fn names_of_git_directories_in_trees_are_not_checked_out() {
    // what file systems of other machines take for `.git` is refused here as there
    let names: [&[u8]; 9] = [
        b".git",
        b".GIT",
        b".Git",
        b"git~1",
        b"GIT~1",
        ".g\u{200c}it".as_bytes(),
        ".gi\u{feff}t".as_bytes(),
        b".git ",
        b".git::$INDEX_ALLOCATION",
    ];
    let world = World::new();
    let git_dir = world.repo.join(".git");
    let blob = put(&git_dir, "blob", PLANTED.as_bytes());
    let inner = put(&git_dir, "tree", &tree(&[("100644", b"config", &blob)]));
    for (number, name) in names.into_iter().enumerate() {
        let outer = put(&git_dir, "tree", &tree(&[("40000", name, &inner), ("100644", b"x", &blob)]));
        evil(&world, &format!("evil{number}"), &outer);
    }
    let world = world.watched();
    let before = state(&world);
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    for (number, name) in names.into_iter().enumerate() {
        let (branch, shown) = (format!("evil{number}"), String::from_utf8_lossy(name).into_owned());
        // reads say what is in the tree, as git does
        let listed = served.value("repo_list_files", json!({ "rev": branch }));
        assert_eq!(listed.as_array().map(Vec::len), Some(2), "{shown}: {listed}");
        for tool in ["repo_show_file", "repo_annotate"] {
            let came = call(&mut served, tool, &json!({"rev": branch, "path": format!("{shown}/config")}));
            if let Came::Value(value) = &came {
                assert!(value.to_string().contains("fsmonitor"), "{shown} {tool}: {value}");
            }
        }
        call(&mut served, "repo_try_merge", &json!({ "source": branch }));
        for (tool, arguments) in to_disk(&branch).into_iter().take(if number == 0 { 4 } else { 2 }) {
            let came = call(&mut served, tool, &arguments);
            assert!(matches!(came, Came::Failure(..)), "{shown} {tool}: {came:?}");
            assert_eq!(served.value("repo_snapshot", json!({}))["operation"], "Clear", "{shown} {tool}");
        }
        assert_eq!(before, state(&world), "{shown}");
        assert!(!world.base.join("side").exists() && !world.repo.join("x").exists(), "{shown}");
    }
    world.holds(served);
}

#[test]
fn names_that_differ_in_case_alone_lose_nothing() {
    for ignoring in ["false", "true"] {
        let build = || {
            let world = World::new();
            let git_dir = world.repo.join(".git");
            world.git(&["checkout", "-q", "feature"]);
            let [lower, upper] = [&b"lower\n"[..], b"upper\n"].map(|text| put(&git_dir, "blob", text));
            world.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{lower},case/readme")]);
            world.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{upper},case/README")]);
            world.git(&["commit", "-q", "-m", "both"]);
            world.git(&["checkout", "-q", "-f", "main"]);
            world.config("core.ignoreCase", ignoring);
            world.watched()
        };
        let world = build();
        let tips = world.tips();
        let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
        let files = served.value("repo_list_files", json!({"rev": "feature"}));
        let both = files
            .as_array()
            .expect("a list")
            .iter()
            .filter(|path| path.as_str().is_some_and(|path| path.to_lowercase() == "case/readme"));
        assert_eq!(both.count(), 2, "{files}");
        for (path, text) in [("case/readme", "lower\n"), ("case/README", "upper\n")] {
            assert_eq!(served.value("repo_show_file", json!({"rev": "feature", "path": path})), text);
        }
        // an untracked file that differs in case alone from a tracked one is not overwritten
        fs::create_dir_all(world.repo.join("case")).expect("ours");
        fs::write(world.repo.join("case/Readme"), "mine\n").expect("ours");
        let came = call(&mut served, "repo_checkout", &json!({"reference": "feature"}));
        eprintln!("ignoreCase={ignoring}: {came:?}");
        assert_eq!(fs::read(world.repo.join("case/Readme")).expect("it is there"), b"mine\n", "{came:?}");
        if matches!(came, Came::Value(_)) {
            assert_eq!(fs::read(world.repo.join("case/README")).expect("it is there"), b"upper\n");
            served.value("repo_checkout", json!({"reference": "main"}));
        }
        assert_eq!(fs::read(world.repo.join("case/Readme")).expect("it is there"), b"mine\n");
        world.holds(served);
        world.lost_nothing(&tips);
        reads(&build(), "a.txt").values(&["repo_status", "repo_diff", "repo_list_files"]);
        few(&build(), "a.txt").values(&["repo_commit", "repo_create_branch", "repo_checkout"]);
    }
}

/// A tree of so many levels, one name in each.
fn deep(git_dir: &Path, levels: usize) -> String {
    let mut id = put(git_dir, "blob", b"deep\n");
    let mut mode = "100644";
    for _ in 0..levels {
        id = put(git_dir, "tree", &tree(&[(mode, b"d", &id)]));
        mode = "40000";
    }
    id
}

#[test]
fn a_tree_of_thousands_of_levels_ends_in_time() {
    let levels = if slow() { 3_000 } else { 2_100 };
    let build = || {
        let world = World::new();
        let top = deep(&world.repo.join(".git"), levels);
        evil(&world, "evil", &top);
        world.watched()
    };
    let path = vec!["d"; levels].join("/");
    // longer than any path that the system takes
    assert!(path.len() > 4_096);
    let world = build();
    let before = state(&world);
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    for (tool, arguments) in [
        ("repo_list_files", json!({"rev": "evil"})),
        ("repo_show_file", json!({"rev": "evil", "path": path})),
        ("repo_annotate", json!({"rev": "evil", "path": path})),
        ("repo_log", json!({"revspec_or_revset": "evil", "max": 5})),
        ("repo_try_merge", json!({"source": "evil"})),
    ] {
        let came = call(&mut served, tool, &arguments);
        let came = format!("{came:?}");
        eprintln!("{tool}: {}", came.chars().take(200).collect::<String>());
        // the worker is the one that answered, whatever it said
        assert!(!came.contains("signal"), "{tool}: {came}");
    }
    for (tool, arguments) in to_disk("evil") {
        let came = call(&mut served, tool, &arguments);
        eprintln!("{tool}: {came:?}");
        assert!(matches!(came, Came::Failure(..)), "{tool}: {came:?}");
        assert_eq!(served.value("repo_snapshot", json!({}))["operation"], "Clear", "{tool}");
    }
    assert_eq!(before, state(&world));
    world.holds(served);
    few(&build(), "a.txt").values(&["repo_commit", "repo_create_branch", "repo_checkout"]);
}

#[test]
fn a_working_tree_deeper_than_any_path_ends_in_time() {
    let world = World::new();
    // step by step, as no path leads there
    let name = "n".repeat(100);
    let mut dir = fs::File::open(&world.repo).expect("it is there");
    for _ in 0..60 {
        nix::sys::stat::mkdirat(&dir, name.as_str(), nix::sys::stat::Mode::S_IRWXU).expect("ours");
        let flags = nix::fcntl::OFlag::O_DIRECTORY;
        dir = nix::fcntl::openat(&dir, name.as_str(), flags, nix::sys::stat::Mode::empty()).expect("ours").into();
    }
    let file = nix::fcntl::openat(
        &dir,
        "bottom.txt",
        nix::fcntl::OFlag::O_CREAT | nix::fcntl::OFlag::O_WRONLY,
        nix::sys::stat::Mode::S_IRWXU,
    );
    drop(file.expect("ours"));
    let world = world.watched();
    reads(&world, "a.txt").values(&["repo_log", "repo_list_files", "repo_diff", "repo_status"]);
    few(&world, "a.txt").values(&["repo_create_branch", "repo_tag_create"]);
    let kept = nix::sys::stat::fstatat(&dir, "bottom.txt", nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW);
    kept.expect("what no path leads to stays as well");
}
