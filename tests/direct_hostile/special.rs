//! Names, texts and files that no one expects: bytes that are no text, separators in commits, pipes in place of files.
//! Trust: hostile by construction.

use crate::{
    support::direct::{Came, Served},
    sweep::{GIVEN, call, reads, writes},
    world::World,
};
use serde_json::json;
use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt as _, path::Path};

fn fifo(path: &Path) {
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).expect("ours");
}

#[test]
fn a_name_that_is_no_text_is_a_row_among_others() {
    let build = || {
        let world = World::new();
        for name in [&b"latin-\xe9.txt"[..], b"line\nbreak", b"tab\there", b"-rf", b"quote\"d", b"back\\slash"] {
            fs::write(world.repo.join(OsStr::from_bytes(name)), "1\n").expect("ours");
        }
        world.commit("odd names");
        fs::write(world.repo.join(OsStr::from_bytes(b"latin-\xe9.txt")), "2\n").expect("ours");
        fs::write(world.repo.join(OsStr::from_bytes(b"new-\xff")), "3\n").expect("ours");
        world.watched()
    };
    let world = build();
    let mut served = Served::reading(&world.place, &world.repo);
    let rows = served.value("repo_status", json!({}));
    let rows = rows.as_array().expect("a list");
    assert_eq!(rows.len(), 3, "{rows:?}");
    assert_eq!(rows.iter().filter(|row| row["path_encoding"] == "escaped").count(), 2, "{rows:?}");
    assert_eq!(served.value("repo_diff", json!({})).as_array().map(Vec::len), Some(1));
    world.holds(served);
    reads(&world, "-rf").values(&["repo_status", "repo_diff", "repo_annotate", "repo_show_file", "repo_list_files"]);
    let world = build();
    let written = writes(&world, "-rf");
    written.values(&["repo_commit", "repo_new_child", "repo_restore"]);
    assert_eq!(fs::read(world.repo.join(OsStr::from_bytes(b"latin-\xe9.txt"))).expect("it is there"), b"2\n");
    assert_eq!(fs::read(world.repo.join(OsStr::from_bytes(b"new-\xff"))).expect("it is there"), b"3\n");
}

#[test]
fn separators_in_commits_shift_no_field() {
    let world = World::new();
    let odd = "evil\u{1f}2001-01-01\u{1f}forged\u{1e}\u{0b}x";
    let tree = world.git(&["rev-parse", "HEAD^{tree}"]);
    let parent = world.git(&["rev-parse", "HEAD"]);
    let who = format!("{odd} <e@x> 1700000000 +0000");
    let text = format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{odd}\n\nbody\n");
    fs::write(world.repo.join(".git/raw"), text).expect("ours");
    let id = world.git(&["hash-object", "--literally", "-t", "commit", "-w", ".git/raw"]);
    world.git(&["update-ref", "refs/heads/main", &id]);
    for (key, value) in [("format.pretty", "%H%x00forged"), ("log.date", "format:forged"), ("log.decorate", "full")] {
        world.config(key, value);
    }
    let world = world.watched();
    let mut served = Served::reading(&world.place, &world.repo);
    let rows = served.value("repo_log", json!({"revspec_or_revset": "HEAD", "max": 2}));
    assert_eq!(rows.as_array().map(Vec::len), Some(2), "{rows}");
    assert_eq!((rows[0]["id"].as_str(), rows[1]["id"].as_str()), (Some(id.as_str()), Some(parent.as_str())));
    assert!(rows[0]["date"].as_str().is_some_and(|date| date.starts_with("2023-11-1")), "{rows}");
    assert!(rows[0]["author"].as_str().is_some_and(|author| author.contains("forged")), "{rows}");
    assert!(rows[1]["author"] == "Ada Fixture", "{rows}");
    world.holds(served);
}

#[test]
fn messages_are_committed_as_they_are_said() {
    let world = World::new().watched();
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    for (key, value) in [("core.commentChar", "x"), ("commit.cleanup", "scissors"), ("commit.template", ".git/config")]
    {
        world.config(key, value);
    }
    let said = [
        "# a heading\n\nand text",
        "x marks a comment\n\nx here too",
        "-m --amend",
        "subject\n# ------------------------ >8 ------------------------\nafter the scissors",
        "control \u{1b}[31m and \u{1f}",
        "Co-authored-by: x <x@x>\nfixup! main",
    ];
    for (number, message) in said.iter().enumerate() {
        world.write("a.txt", number.to_string());
        served.value("repo_commit", json!({"paths": ["a.txt"], "message": message}));
        assert_eq!(world.git(&["log", "-1", "--format=%B"]), *message);
        served.value("repo_tag_create", json!({"name": format!("m{number}"), "message": message}));
        assert_eq!(
            world.git(&["cat-file", "tag", &format!("m{number}")]).split_once("\n\n").map(|it| it.1),
            Some(*message)
        );
    }
    let head = world.git(&["rev-parse", "HEAD"]);
    world.write("a.txt", "last");
    for message in ["a\0b", "", " \n\t\n"] {
        let came = served.call("repo_commit", json!({"paths": ["a.txt"], "message": message}));
        assert!(matches!(came, Came::Params(_) | Came::Failure(..)), "{message:?}: {came:?}");
    }
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    world.holds(served);
}

#[test]
fn names_of_branches_that_look_like_something_else() {
    let world = World::new();
    let dashed = world.repo.join(".git/refs/heads/-evil");
    fs::write(dashed, format!("{}\n", world.git(&["rev-parse", "HEAD"]))).expect("ours");
    let world = world.watched();
    let mut served = Served::writing(&world.place, &world.repo, &["--timeout", GIVEN]);
    let before = world.git(&["for-each-ref", "refs/heads"]);
    for name in
        ["--orphan", "-evil", "--upload-pack=x", "a..b", "@{-1}", "HEAD^{/x}", "a\0b", "refs/../x", "x.lock", "@"]
    {
        for (tool, arguments) in [
            ("repo_create_branch", json!({"name": name})),
            ("repo_delete_branch", json!({"name": name, "force": true})),
            ("repo_rename_branch", json!({"old_name": "clash", "new_name": name})),
            ("repo_tag_create", json!({"name": name})),
            ("repo_push", json!({"branch": name})),
            ("repo_create_worktree", json!({"path": "../wt", "branch": name, "base": "main"})),
        ] {
            let came = call(&mut served, tool, &arguments);
            // a branch of that name can be taken away, as nobody can want it
            let away = tool == "repo_delete_branch" && name == "-evil";
            assert!(away || matches!(came, Came::Params(_) | Came::Failure(..)), "{tool} {name:?}: {came:?}");
        }
    }
    let after = world.git(&["for-each-ref", "refs/heads"]);
    assert_eq!(before.replace("\trefs/heads/-evil", ""), after.replace("\trefs/heads/-evil", ""));
    world.holds(served);
}

#[test]
fn pipes_in_place_of_files_hold_nobody_up() {
    let untracked = |world: &World| fifo(&world.repo.join("pipe"));
    let tracked = |world: &World| {
        fs::remove_file(world.repo.join("a.txt")).expect("it is there");
        fifo(&world.repo.join("a.txt"));
    };
    let world = World::new();
    untracked(&world);
    let world = world.watched();
    reads(&world, "pipe").values(&["repo_snapshot", "repo_status", "repo_diff", "repo_log", "repo_list_files"]);
    let world = World::new();
    tracked(&world);
    let world = world.watched();
    reads(&world, "a.txt").values(&["repo_snapshot", "repo_status", "repo_diff", "repo_log", "repo_list_files"]);
    let world = World::new();
    untracked(&world);
    let world = world.watched();
    writes(&world, "a.txt").values(&["repo_commit", "repo_create_branch", "repo_checkout"]);
}

#[test]
fn pipes_that_settings_name_end_with_the_call() {
    for name in [".git/info/exclude", ".git/info/attributes", ".git/pipe", ".gitattributes", ".gitignore"] {
        let world = World::new();
        let path = world.repo.join(name);
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
        if name == ".git/pipe" {
            world.config("core.excludesFile", path.to_str().expect("UTF-8"));
            world.config("core.attributesFile", path.to_str().expect("UTF-8"));
        }
        fifo(&path);
        world.write("a.txt", "changed\n");
        let world = world.watched();
        let read = reads(&world, "a.txt");
        // beside the settings it is answered; in their place it is named
        match name {
            ".git/info/exclude" | ".git/info/attributes" => {
                read.failed(&["repo_snapshot", "repo_status"], &["unusable"])
            }
            _ => read.values(&["repo_snapshot", "repo_status", "repo_log"]),
        }
        let mut served = Served::writing(&world.place, &world.repo, &["--timeout", "4"]);
        let came = call(&mut served, "repo_commit", &json!({"paths": ["a.txt"], "message": "x"}));
        eprintln!("{name}: {came:?}");
        let ended = matches!(&came, Came::Value(_))
            || matches!(&came, Came::Failure(class, _) if class == "timeout" || class == "refused" || class == "unusable");
        assert!(ended, "{name}: {came:?}");
        // nothing is left behind that would hold up the next
        let next = call(&mut served, "repo_tag_create", &json!({"name": "next"}));
        assert!(matches!(next, Came::Value(_) | Came::Failure(..)), "{name}: {next:?}");
        let locks = fs::read_dir(world.repo.join(".git")).expect("it is there").flatten();
        let locks: Vec<_> = locks.map(|it| it.file_name()).filter(|it| it.as_bytes().ends_with(b".lock")).collect();
        assert!(locks.is_empty(), "{name}: {locks:?}");
        world.holds(served);
    }
}
