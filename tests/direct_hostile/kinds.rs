//! Repositories of another kind: what holds in the usual one holds in them, and a day's work can be done.
//! Trust: test code.

use crate::{
    sweep::{reads, writes},
    world::World,
};
use std::fs;

/// The same history with ids of SHA-256, and an origin of its kind.
fn in_sha256() -> World {
    let world = World::new();
    let bare = world.base.join("origin.git");
    fs::remove_dir_all(&bare).expect("it is there");
    let stream = world.place.at("stream");
    let exported = world.try_git(&world.repo, &["fast-export", "--all", "--signed-tags=strip"]);
    fs::write(&stream, exported.stdout).expect("ours");
    fs::rename(world.repo.join(".git"), world.base.join("sha1")).expect("ours");
    world.git_in(&world.base, &["init", "-q", "--object-format=sha256", "--bare", "-b", "main", "origin.git"]);
    world.git(&["init", "-q", "--object-format=sha256", "-b", "main"]);
    let mut import = world.place.command("git");
    import.current_dir(&world.repo).args(["fast-import", "--quiet"]);
    let import = import.stdin(fs::File::open(&stream).expect("it was made")).output().expect("git is installed");
    assert!(import.status.success(), "{}", String::from_utf8_lossy(&import.stderr));
    world.git(&["reset", "-q", "--hard", "main"]);
    for name in world.git(&["for-each-ref", "--format=%(refname)", "refs/remotes"]).lines() {
        world.git(&["update-ref", "-d", name]);
    }
    world.git(&["remote", "add", "origin", bare.to_str().expect("places have UTF-8 paths")]);
    world.git(&["push", "-q", "-u", "origin", "main", "feature"]);
    world
}

#[test]
fn ids_of_sha_256() {
    let world = in_sha256();
    assert_eq!(world.git(&["rev-parse", "HEAD"]).len(), 64);
    assert_eq!(world.git(&["status", "--porcelain"]), "?? keep.txt");
    let world = world.watched();
    reads(&world, "a.txt").values(&[
        "repo_snapshot",
        "repo_status",
        "repo_diff",
        "repo_diff_stat",
        "repo_log",
        "repo_show_file",
        "repo_annotate",
        "repo_branches",
        "repo_tags",
        "repo_list_files",
        "repo_merge_base",
        "repo_try_merge",
        "repo_restore_points",
    ]);
    writes(&world, "a.txt").values(&[
        "repo_commit",
        "repo_create_branch",
        "repo_checkout",
        "repo_new_child",
        "repo_resolve_conflict",
        "repo_continue_in_progress",
        "repo_tag_create",
        "repo_create_worktree",
        "repo_remove_worktree",
        "repo_fetch",
        "repo_push",
        "repo_rename_branch",
        "repo_delete_branch",
        "repo_restore",
    ]);
    world.git(&["fsck", "--strict", "--no-dangling"]);
}
