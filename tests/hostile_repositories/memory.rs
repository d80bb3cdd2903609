//! More than a worker's memory holds: a call ends before the memory does, and says what is missing.
//! Trust: hostile by construction; limits are the smallest that the server takes, so that little is needed to reach them.

use super::support::{index::Index, objects as raw, *};
use raw::EMPTY_BLOB;
use serde_json::json;

/// Every tool on `repo`, whose worker may use 64 MiB: what each said, and no worker was lost.
fn all(place: &Place, repo: &Repo<'_>) -> Vec<(&'static str, Outcome)> {
    let mut server = Start::new(place).root(repo.path()).arguments(&["--worker-memory", "64"]).spawn();
    let said = |(tool, arguments)| (tool, server.call(tool, arguments));
    let outcomes: Vec<_> = calls::on(repo.path()).into_iter().map(said).collect();
    for (tool, outcome) in &outcomes {
        let lost = matches!(outcome.code(), Some(10021..=10024));
        assert!(!lost, "{tool}: a worker was lost: {}", outcome.message);
        assert_ne!(outcome.reason(), Some("internal"), "{tool}: {}", outcome.message);
    }
    outcomes
}

#[test]
fn a_tree_of_very_many_files() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let names: Vec<String> = (0..400_000).map(|n| format!("f{n:07}")).collect();
    let entries: Vec<_> = names.iter().map(|name| ("100644", name.as_bytes(), EMPTY_BLOB)).collect();
    raw::put(&repo.git_dir(), "blob", b"");
    raw::set_main(&repo.git_dir(), &raw::put(&repo.git_dir(), "tree", &raw::tree(&entries)));
    for (tool, outcome) in all(&place, &repo) {
        if outcome.is_ok() && ["repo.status", "repo.brief", "worktree.changes"].contains(&tool) {
            assert_eq!(outcome.data()["partial"]["reason"], "too-large", "{tool}: {}", outcome.message);
        }
    }
}

#[test]
fn an_index_of_very_many_files() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let index = (0..400_000).fold(Index::default(), |index, n| index.entry(format!("d{n:07}/file").as_bytes()));
    index.write(&repo.git_dir());
    for (tool, outcome) in all(&place, &repo) {
        if ["repo.status", "repo.brief", "worktree.changes"].contains(&tool) {
            outcome.expect_refused(tool, &["too-large"]);
            assert!(outcome.message.to_string().contains("--worker-memory"), "{tool}: {}", outcome.message);
        }
    }
    // what needs no index is not refused for it
    let mut server = Start::new(&place).root(repo.path()).arguments(&["--worker-memory", "64"]).spawn();
    assert!(server.call("repo.history", json!({"repoPath": repo.path()})).is_ok());
}

#[test]
fn a_list_of_packed_references_that_takes_all_of_it() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let id = repo.git(&["rev-parse", "HEAD"]);
    let mut text = String::from("# pack-refs with: peeled fully-peeled sorted \n");
    for n in 0..900_000 {
        text.push_str(&format!("{id} refs/heads/b{n:08}\n"));
    }
    std::fs::write(repo.git_dir().join("packed-refs"), text).expect("ours");
    for (tool, outcome) in all(&place, &repo) {
        if tool == "repo.refs" || tool == "repo.branchStack" {
            outcome.expect_refused(tool, &["too-large"]);
        }
    }
}
