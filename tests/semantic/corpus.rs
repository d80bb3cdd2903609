//! The history of a real repository, named by `BULKHEAD_SEMANTIC_REPOSITORY`, with `BULKHEAD_SLOW=1`: the same rules for
//! every commit, and how much of it is compared by its structure.
//! Trust: the repository is the developer's; it is only read.

use crate::{
    rules,
    support::{self, Place, Repo, Start},
};
use serde_json::json;
use std::collections::BTreeMap;

/// Commits that are looked at, spread over the history.
const COMMITS: usize = 400;
/// Larger commits are imports and say little for their time.
const MAX_FILES: usize = 60;

#[test]
fn every_commit_of_a_real_repository_keeps_the_rules() {
    let Some(path) = std::env::var_os("BULKHEAD_SEMANTIC_REPOSITORY").filter(|_| support::slow()) else { return };
    let place = Place::new();
    let repo = Repo::open(&place, path.into());
    let mut server = Start::new(&place).root(repo.path()).spawn();
    let commits = repo.git(&["rev-list", "--no-merges", "--min-parents=1", "HEAD"]);
    let commits: Vec<&str> = commits.lines().collect();
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    let (mut seen, mut lines, mut moved) = (0, 0, 0);
    for commit in commits.iter().step_by((commits.len() / COMMITS).max(1)) {
        let parent = format!("{commit}^");
        let git = rules::of_git(&repo, &[&parent, commit]);
        if git.len() > MAX_FILES {
            continue;
        }
        seen += 1;
        let arguments = json!({"repoPath": repo.path(), "base": parent, "head": commit});
        for file in rules::all_pages(&mut server, &arguments) {
            let reason = file["reason"].as_str().or(file["language"].as_str()).unwrap_or("none");
            *reasons.entry(reason.to_owned()).or_default() += 1;
            let path = file["path"].as_str().expect("a text");
            if file["fallbackToText"] == json!(true) || file.get("pathEncoding").is_some() {
                continue;
            }
            let what = format!("{path} in {commit}");
            let ours = rules::lines_of(&file, &what);
            rules::same(&ours, git.get(path).unwrap_or(&rules::Lines::default()), &what);
            lines += ours.old.len() + ours.new.len();
            moved += file["hunks"].as_array().expect("hunks").iter().filter(|hunk| hunk["change"] == "moved").count();
        }
    }
    eprintln!("{seen} commits, {lines} lines, {moved} moved hunks; {reasons:?}");
    assert!(seen > 0 && lines > 0, "the history has something to compare");
    assert!(server.finish().status.success());
}
