//! What a client is told of repositories that are in an unusual state, or served from within: a first commit that is missing, a
//! partial clone, a subdirectory (contract `direct/corrections.md` B14, B15b). Trust: test code.

use crate::{World, git, support::direct::Served};
use serde_json::json;

#[test]
fn a_branch_without_a_commit_has_no_id() {
    let place = crate::support::Place::new();
    let repo = place.directory("fresh");
    git(&place, &repo, &["init", "-q", "-b", "main"]);
    let zeros = git(&place, &repo, &["worktree", "list", "--porcelain"]);
    assert!(zeros.contains("HEAD 0000000"), "git has another word for it: {zeros}");
    let mut served = Served::writing(&place, &repo, &[]);
    let shown = repo.to_str().expect("places have UTF-8 paths");
    let rows = json!([{"path": shown, "branch": "main", "commit": null, "is_bare": false}]);
    assert_eq!(served.value("repo_worktrees", json!({})), rows);
    assert_eq!(served.value("repo_current_branch", json!({})), "main");
    assert_eq!(served.value("repo_snapshot", json!({}))["head"], json!(null));
    std::fs::write(repo.join("a.txt"), "first\n").expect("ours");
    let first = json!({"paths": ["a.txt"], "message": "first", "include_untracked": true});
    let id = served.value("repo_commit", first)["id"].clone();
    assert_eq!(served.value("repo_worktrees", json!({}))[0]["commit"], id);
}

#[test]
fn a_remote_that_promises_objects_has_a_plain_address() {
    let world = World::new();
    for (key, value) in [
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.partialclonefilter", "blob:none"),
    ] {
        world.git(&["config", key, value]);
    }
    assert!(world.git(&["remote", "-v"]).contains("[blob:none]"), "git adds nothing to it");
    let mut served = Served::reading(&world.place, &world.repo);
    let origin = world.place.path().join("origin.git");
    let rows = json!([
        {"name": "backup", "url": "https://user:***@example.invalid/x/y.git"},
        {"name": "origin", "url": origin.to_str().expect("places have UTF-8 paths")},
    ]);
    assert_eq!(served.value("repo_remotes", json!({})), rows);
}

#[test]
fn paths_are_from_the_top_wherever_it_is_served_from() {
    let world = World::new();
    let dir = world.repo.join("dir");
    let mut served = Served::writing(&world.place, &dir, &[]);
    let info = served.value("repo_info", json!({}));
    let text = |path: &std::path::Path| json!(path.to_str().expect("places have UTF-8 paths"));
    assert_eq!((&info["root"], &info["cwd"]), (&text(&world.repo), &text(&dir)));
    // both take the same paths, which are those of status, and of commits
    world.write("dir/b.txt", "changed\n");
    assert_eq!(served.value("repo_status", json!({}))[0]["path"], "dir/b.txt");
    for path in ["dir/b.txt", "./dir/b.txt", "a.txt"] {
        served.value("repo_show_file", json!({"rev": "HEAD", "path": path}));
        served.value("repo_annotate", json!({"path": path}));
        served.value("repo_annotate", json!({"path": path, "rev": "HEAD"}));
    }
    for path in ["b.txt", "./b.txt", "sub/c.txt"] {
        served.fails("repo_show_file", json!({"rev": "HEAD", "path": path}), "not_found");
        served.fails("repo_annotate", json!({"path": path}), "not_found");
        served.fails("repo_annotate", json!({"path": path, "rev": "HEAD"}), "not_found");
    }
    for path in ["../a.txt", "dir/../a.txt"] {
        served.refuses("repo_show_file", json!({"rev": "HEAD", "path": path}));
        served.refuses("repo_annotate", json!({"path": path}));
    }
    served.fails("repo_commit", json!({"paths": ["b.txt"], "message": "x"}), "not_found");
    served.value("repo_commit", json!({"paths": ["dir/b.txt"], "message": "x"}));
    assert_eq!(world.git(&["show", "--format=", "--name-only", "HEAD"]), "dir/b.txt");
    // a place for a working tree is meant from the top as well
    served.value("repo_create_worktree", json!({"path": "../side", "branch": "side", "base": "main"}));
    assert!(world.place.at("side/a.txt").is_file());
    served.value("repo_remove_worktree", json!({"path": "../side"}));
}
