//! What each tool is asked, and how a fresh `git` process would be asked the same.
//! Trust: arguments name our own fixture or what the person at the keyboard named.

use std::{path::Path, process::Command};

/// One question.
pub struct Question {
    /// The tool.
    pub tool: &'static str,
    /// Its arguments as JSON.
    pub arguments: String,
    /// Arguments of `git` for the largest part of the same question, several commands separated by `;`; none where git has
    /// no answer.
    pub git: Vec<Vec<String>>,
}

/// Tool, arguments beside the repository, and git's commands. `$FILE` is a tracked file, `$DIR` the directory of most of
/// them, `$OTHER` another branch or the parent of HEAD.
const TABLE: &[(&str, &str, &str)] = &[
    ("repo.brief", "", "status --porcelain=v2 --branch;log -10 --format=%h%x00%s%x00%an%x00%aI;stash list"),
    (
        "repo.scope",
        r#""path":"$DIR""#,
        "status --porcelain=v2 -- $DIR;log -10 --format=%h%x00%s%x00%an%x00%aI -- $DIR;log --no-merges --name-only --format=%h%x00%an --since=90.days -- $DIR",
    ),
    ("repo.status", "", "status --porcelain=v2 --branch"),
    ("worktree.changes", "", "status --porcelain=v2 --branch"),
    ("repo.refs", "", "for-each-ref --format=%(refname)%00%(objectname)%00%(upstream:short)%00%(upstream:track)"),
    ("repo.reflog", "", "log -g -50 --format=%H%x00%gd%x00%gs%x00%aI HEAD"),
    ("repo.branchStack", "", "for-each-ref --format=%(refname)%00%(objectname)%00%(ahead-behind:HEAD) refs/heads"),
    ("repo.history", "", "log -50 --format=%H%x00%P%x00%an%x00%aI%x00%s"),
    ("commit.details", r#""commit":"HEAD""#, "show --format=fuller --numstat HEAD"),
    ("diff.text", "", "diff HEAD"),
    ("diff.text", r#""base":"$OTHER","head":"HEAD""#, "diff $OTHER HEAD"),
    ("diff.semantic", r#""base":"$OTHER","head":"HEAD""#, "diff $OTHER HEAD"),
    ("diff.semanticFallbacks", r#""base":"$OTHER","head":"HEAD""#, "diff --numstat $OTHER HEAD"),
    ("repo.conflictPreflight", r#""targetRef":"$OTHER","currentRef":"HEAD""#, "merge-tree --write-tree HEAD $OTHER"),
    ("conflict.read", "", "ls-files -u"),
    ("worktree.list", "", "worktree list --porcelain"),
    ("submodule.status", "", "submodule status --recursive"),
    ("fleet.radar", r#""repoPaths":["$REPO"]"#, "status --porcelain=v2 --branch"),
    ("fleet.digest", r#""sinceMs":0,"repoPaths":["$REPO"]"#, "log -50 --all --format=%H%x00%an%x00%aI%x00%s"),
    ("safety.timeline", "", "log -g -50 --format=%H%x00%gd%x00%gs%x00%aI HEAD"),
    ("flux.restorePoints", "", ""),
    ("flux.latestRestorePoint", "", ""),
    ("agents.presence", "", ""),
];

/// All questions about `repository`.
pub fn questions(repository: &Path) -> Vec<Question> {
    let path = repository.to_str().expect("fixtures have plain names");
    let ask = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(repository).output().expect("git is there");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let files = ask(&["ls-files"]);
    let plain = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
    let file = files.lines().find(plain).unwrap_or("README.md").to_owned();
    let mut tops: Vec<(usize, &str)> = Vec::new();
    for top in files.lines().filter_map(|name| name.split_once('/')).map(|(top, _)| top).filter(plain) {
        match tops.iter_mut().find(|(_, known)| *known == top) {
            Some((count, _)) => *count += 1,
            None => tops.push((1, top)),
        }
    }
    let dir = tops.iter().max().map_or(file.as_str(), |(_, top)| top).to_owned();
    let parents = ask(&["rev-parse", "--verify", "-q", "HEAD~1"]);
    let other = if parents.trim().is_empty() { "HEAD" } else { parents.trim() };
    let fill =
        |text: &str| text.replace("$FILE", &file).replace("$DIR", &dir).replace("$OTHER", other).replace("$REPO", path);
    let question = |&(tool, arguments, git): &(&'static str, &str, &str)| {
        let own = if arguments.contains("repoPaths") { String::new() } else { format!("\"repoPath\":\"{path}\"") };
        let all = [own, fill(arguments)].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(",");
        let git = git.split(';').filter(|one| !one.is_empty());
        let git = git.map(|one| one.split(' ').map(&fill).collect()).collect();
        Question { tool, arguments: format!("{{{all}}}"), git }
    };
    TABLE.iter().map(question).collect()
}

/// Runs fresh `git` processes.
pub fn git(repository: &Path, commands: &[Vec<String>]) {
    for arguments in commands {
        let output = Command::new("git")
            .args([
                "--no-optional-locks",
                "--no-pager",
                "-c",
                "core.fsmonitor=false",
                "-c",
                "core.untrackedCache=false",
            ])
            .args(arguments)
            .current_dir(repository)
            .output()
            .expect("git is there");
        // a merge with conflicts says so by its status
        assert!(output.status.code().is_some_and(|code| code <= 1), "git {arguments:?}");
    }
}
