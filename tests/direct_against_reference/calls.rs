//! Which reads are asked of a repository: every tool once, and those about a path or a revision several times.
//! Trust: test code; paths come from the real `git`.

use crate::support::Place;
use serde_json::{Value, json};
use std::path::Path;

/// Paths that are asked about, spread over all there are.
const PATHS: usize = 12;
/// Branches of which merges are tried.
const MERGES: usize = 6;

/// Tools and arguments.
pub fn of(place: &Place, dir: &Path) -> Vec<(&'static str, Value)> {
    let mut calls = vec![
        ("repo_snapshot", json!({})),
        ("repo_info", json!({})),
        ("repo_status", json!({})),
        ("repo_diff_stat", json!({})),
        ("repo_diff", json!({})),
        ("repo_branches", json!({})),
        ("repo_current_branch", json!({})),
        ("repo_conflicts", json!({})),
        ("repo_worktrees", json!({})),
        ("repo_remotes", json!({})),
    ];
    for rev in ["HEAD", "HEAD~1", "HEAD~1..HEAD", "HEAD^{tree}", "v1", "nosuch", "", "-x", "refs/heads/main", "@{-1}"] {
        calls.push(("repo_log", json!({"revspec_or_revset": rev, "max": 30})));
    }
    for max in [0, 1, 3] {
        calls.push(("repo_log", json!({"revspec_or_revset": "HEAD", "max": max})));
    }
    let tracked = paths(place, dir, &["ls-files", "-z"]);
    let changed = paths(place, dir, &["diff", "--name-only", "-z", "--relative", "HEAD"]);
    for path in spread(&tracked).chain(spread(&changed)) {
        calls.push(("repo_show_file", json!({"rev": "HEAD", "path": path})));
        calls.push(("repo_annotate", json!({"path": path})));
        calls.push(("repo_annotate", json!({"path": path, "rev": "HEAD"})));
        calls.push(("repo_conflict_regions", json!({"path": path})));
    }
    for path in ["nosuch", "", "-x", "../outside", "/etc/passwd"] {
        calls.push(("repo_show_file", json!({"rev": "HEAD", "path": path})));
        calls.push(("repo_annotate", json!({"path": path})));
        calls.push(("repo_conflict_regions", json!({"path": path})));
    }
    let branches = text(place, dir, &["for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes"]);
    let branches: Vec<String> = branches.lines().map(str::to_owned).filter(|name| name != "origin").collect();
    for source in branches.iter().take(MERGES).map(String::as_str).chain(["nosuch", "", "-x"]) {
        calls.push(("repo_try_merge", json!({"source": source})));
    }
    // once more after all that: nothing was left behind by either
    calls.extend([("repo_snapshot", json!({})), ("repo_status", json!({}))]);
    calls
}

fn spread(paths: &[String]) -> impl Iterator<Item = &String> {
    paths.iter().step_by(paths.len().div_ceil(PATHS).max(1))
}

fn paths(place: &Place, dir: &Path, arguments: &[&str]) -> Vec<String> {
    text(place, dir, arguments).split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

/// What git prints, which may fail where there is no commit; names that are not UTF-8 cannot be asked about.
fn text(place: &Place, dir: &Path, arguments: &[&str]) -> String {
    let mut git = place.command("git");
    let output = git.arg("--no-optional-locks").args(arguments).current_dir(dir).output().expect("git is there");
    let bytes = output.stdout.split(|byte| *byte == 0).filter_map(|piece| std::str::from_utf8(piece).ok());
    bytes.collect::<Vec<_>>().join("\0")
}
