//! Conflicts that mislead by what their texts hold, or that have no text at all; each can be resolved to both sides.
//! Trust: test code; what is right is what git has in its stages.

use crate::{
    support::direct::{Came, Served},
    sweep::GIVEN,
    world::World,
};
use serde_json::json;
use std::fs;

/// A merge of two branches that stopped.
fn merging(base: impl Fn(&World), ours: impl Fn(&World), theirs: impl Fn(&World)) -> World {
    let world = World::new();
    base(&world);
    world.commit("base of both");
    world.git(&["checkout", "-q", "-b", "theirs"]);
    theirs(&world);
    world.commit("theirs");
    world.git(&["checkout", "-q", "main"]);
    ours(&world);
    world.commit("ours");
    assert!(!world.try_git(&world.repo, &["merge", "-q", "theirs"]).status.success(), "it should not merge");
    world
}

fn served(world: &World) -> Served {
    Served::writing(&world.place, &world.repo, &["--timeout", GIVEN])
}

fn unmerged(served: &mut Served) -> Vec<String> {
    let paths = served.value("repo_conflicts", json!({}));
    paths.as_array().expect("a list").iter().map(|path| path.as_str().expect("text").to_owned()).collect()
}

/// Takes a side of every unmerged path, finishes, and gives what is then in this path of the merge.
fn taken(world: World, side: &str, path: &str) -> Option<Vec<u8>> {
    taken_of(world, side, &[path]).pop().flatten()
}

/// The same of several paths.
fn taken_of(world: World, side: &str, paths: &[&str]) -> Vec<Option<Vec<u8>>> {
    let world = world.watched();
    let tips = world.tips();
    let mut served = served(&world);
    for _ in 0..4 {
        for path in unmerged(&mut served) {
            served.value("repo_resolve_conflict", json!({"path": path, "side": side}));
        }
    }
    assert_eq!(unmerged(&mut served), Vec::<String>::new());
    let went_on = served.value("repo_continue_in_progress", json!({}));
    assert_eq!(went_on["operation_state"], "Clear");
    assert_eq!(world.git(&["rev-list", "--parents", "-1", "HEAD"]).split(' ').count(), 3, "it is a merge");
    assert_eq!(world.git(&["status", "--porcelain", "-uno"]), "", "the working tree is what was committed");
    let found = |path: &&str| {
        let found = world.try_git(&world.repo, &["cat-file", "blob", &format!("HEAD:{path}")]);
        found.status.success().then_some(found.stdout)
    };
    let found = paths.iter().map(found).collect();
    world.lost_nothing(&tips);
    world.holds(served);
    found
}

/// Lines that look like the markers of conflicts, of every length.
const MISLEADING: &str = "=======\nmiddle\n<<<<<<< HEAD\n>>>>>>> x\n||||||| y\n=======\n==========\nend\n";

#[test]
fn texts_that_hold_markers_of_their_own() {
    let (ours, theirs) = (format!("ours\n{MISLEADING}"), format!("theirs\n{MISLEADING}more\n"));
    let build = || {
        merging(
            |world| world.write("m.txt", "base\n"),
            |world| world.write("m.txt", &ours),
            |world| world.write("m.txt", &theirs),
        )
    };
    assert_eq!(taken(build(), "ours", "m.txt"), Some(ours.clone().into_bytes()));
    assert_eq!(taken(build(), "theirs", "m.txt"), Some(theirs.clone().into_bytes()));
}

#[test]
fn markers_of_another_length_and_line_ends_of_two_kinds() {
    let build = || {
        merging(
            |world| {
                world.write(".gitattributes", "m.txt conflict-marker-size=10\n");
                world.write("m.txt", "first\r\nbase\r\nlast\r\n");
            },
            |world| world.write("m.txt", "first\r\nours\r\nlast\r\n"),
            |world| world.write("m.txt", "first\r\ntheirs\nlast\r\n"),
        )
    };
    assert_eq!(taken(build(), "ours", "m.txt").expect("it is there"), b"first\r\nours\r\nlast\r\n");
    assert_eq!(taken(build(), "theirs", "m.txt").expect("it is there"), b"first\r\ntheirs\nlast\r\n");
}

#[test]
fn one_side_deleted_what_the_other_changed() {
    let build = |ours_deletes: bool| {
        let delete = |world: &World| fs::remove_file(world.repo.join("m.txt")).expect("it is there");
        let change = |world: &World| world.write("m.txt", "changed\n");
        let base = |world: &World| world.write("m.txt", "base\n");
        if ours_deletes { merging(base, delete, change) } else { merging(base, change, delete) }
    };
    assert_eq!(taken(build(true), "ours", "m.txt"), None);
    assert_eq!(taken(build(true), "theirs", "m.txt").expect("it is there"), b"changed\n");
    assert_eq!(taken(build(false), "ours", "m.txt").expect("it is there"), b"changed\n");
    assert_eq!(taken(build(false), "theirs", "m.txt"), None);
}

#[test]
fn binary_files() {
    let build = || {
        merging(
            |world| world.write("m.bin", b"\0base"),
            |world| world.write("m.bin", b"\0ours\xff"),
            |world| world.write("m.bin", b"\0theirs\xfe\n"),
        )
    };
    assert_eq!(taken(build(), "ours", "m.bin").expect("it is there"), b"\0ours\xff");
    assert_eq!(taken(build(), "theirs", "m.bin").expect("it is there"), b"\0theirs\xfe\n");
}

#[test]
fn both_renamed_a_file() {
    let text: String = (0..30).map(|number| format!("line {number}\n")).collect();
    let build = || {
        let rename = |to: &'static str| move |world: &World| drop(world.git(&["mv", "m.txt", to]));
        merging(|world| world.write("m.txt", &text), rename("ours.txt"), rename("theirs.txt"))
    };
    for (side, stays, goes) in [("ours", "ours.txt", "theirs.txt"), ("theirs", "theirs.txt", "ours.txt")] {
        let found = taken_of(build(), side, &[stays, goes, "m.txt"]);
        assert_eq!(found, [Some(text.clone().into_bytes()), None, None], "{side}");
    }
}

#[test]
fn markers_are_never_committed_and_what_looks_like_them_is_no_conflict() {
    let world = merging(
        |world| world.write("m.txt", "base\n"),
        |world| world.write("m.txt", "ours\n"),
        |world| world.write("m.txt", "theirs\n"),
    );
    world.write("looks.txt", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n");
    world.git(&["add", "looks.txt"]);
    let world = world.watched();
    let mut served = served(&world);
    let head = world.git(&["rev-parse", "HEAD"]);
    for paths in [json!(["m.txt"]), json!(["."]), json!(["looks.txt"])] {
        let came = served.call("repo_commit", json!({"paths": paths, "message": "markers"}));
        let named = matches!(&came, Came::Failure(class, _) if class == "conflict" || class == "refused");
        assert!(named, "{paths}: {came:?}");
    }
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(unmerged(&mut served), ["m.txt"]);
    assert_eq!(served.value("repo_continue_in_progress", json!({}))["operation_state"], "Conflict");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    let came = served.call("repo_resolve_conflict", json!({"path": "looks.txt", "side": "ours"}));
    assert!(matches!(came, Came::Failure(..)), "{came:?}");
    let text = fs::read_to_string(world.repo.join("looks.txt")).expect("it is there");
    assert!(text.contains("=======\nb\n"), "{text}");
    served.value("repo_abort_in_progress", json!({}));
    world.holds(served);
}
