//! A status by git and by the server, side by side, and the dice of tests that edit at random.
//! Trust: test code; git is the judge.

use super::{
    Repo, Server,
    rows::{self, Row},
};
use serde_json::json;
use std::path::Path;

/// What git says. Settings of the repository that would only change how much is shown are overruled, and the judge
/// believes no cache of its own: now and then git's untracked cache forgets a repository inside the working tree.
pub fn expected(repo: &Repo<'_>) -> Vec<Row> {
    let arguments = [
        "--no-optional-locks",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.untrackedCache=false",
        "-c",
        "status.showUntrackedFiles=normal",
        "-c",
        "status.renames=true",
        "status",
        "--porcelain=v1",
        "-z",
    ];
    let output = repo.try_git(&arguments);
    assert!(output.status.success(), "git status: {}", String::from_utf8_lossy(&output.stderr));
    rows::from_porcelain(&output.stdout)
}

/// What the server says, all pages of it.
pub fn answered(server: &mut Server, repository: &Path) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut cursor = None;
    loop {
        let mut arguments = json!({"repoPath": repository, "limit": 10_000});
        if let Some(cursor) = &cursor {
            arguments["cursor"] = json!(cursor);
        }
        let outcome = server.call("repo.status", arguments);
        let data = outcome.data();
        rows.extend(rows::from_answer(&data["entries"]));
        match data["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => {
                assert_eq!(data["changedFiles"], json!(rows.len()), "the total is the number of rows");
                assert_eq!(data["clean"], json!(rows.is_empty()));
                return rows;
            }
        }
    }
}

pub fn differences(name: &str, git: Vec<Row>, ours: Vec<Row>) -> Vec<String> {
    if git == ours {
        return vec![];
    }
    let (missing, extra): (Vec<_>, Vec<_>) = (
        git.iter().filter(|row| !ours.contains(row)).collect(),
        ours.iter().filter(|row| !git.contains(row)).collect(),
    );
    if missing.is_empty() && extra.is_empty() {
        let at = git.iter().zip(&ours).position(|(a, b)| a != b).unwrap_or(0);
        return vec![format!("{name}: another order from row {at}: {:?} / {:?}", git.get(at), ours.get(at))];
    }
    let missing = missing.into_iter().map(|row| format!("{name}: missing {row:?}"));
    missing.chain(extra.into_iter().map(|row| format!("{name}: extra   {row:?}"))).collect()
}

/// Says that both agree about `repo`.
///
/// # Panics
/// When they do not, or the unstaged diff does not.
pub fn agree(what: &str, repo: &Repo<'_>, server: &mut Server) {
    let faults = differences(what, expected(repo), answered(server, repo.path()));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    diff_agrees(what, repo, server);
}

/// The unstaged diff names as many files as git's own.
///
/// # Panics
/// When it does not.
pub fn diff_agrees(what: &str, repo: &Repo<'_>, server: &mut Server) {
    // git tells a file that only looks changed by comparing it, and then writes the index anew: a copy of it
    let index = "i=$(git rev-parse --path-format=absolute --git-path index) && cp -p \"$i\" \"$i.copy\"";
    let line = format!("alias.judge=!{index} && GIT_INDEX_FILE=\"$i.copy\" git diff --no-ext-diff --name-only -z");
    let names = repo.try_git(&["-c", "core.fsmonitor=false", "-c", &line, "judge"]);
    assert!(names.status.success(), "{what}: {names:?}");
    let names = names.stdout;
    let names = names.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    let mut judged: Vec<String> = names.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    judged.dedup();
    let outcome = server.call("diff.text", json!({"repoPath": repo.path(), "stat": true, "limit": 1_000}));
    let data = outcome.data();
    let files = data["files"].as_array().expect("a list");
    let ours: Vec<&str> = files.iter().filter_map(|file| file["path"].as_str()).collect();
    let faults: Vec<&str> = judged.iter().map(String::as_str).filter(|name| !ours.contains(name)).collect();
    let extra: Vec<&&str> = ours.iter().filter(|name| !judged.iter().any(|other| other == **name)).collect();
    assert!(faults.is_empty() && extra.is_empty(), "{what}: missing {faults:#?}, extra {extra:#?}");
    assert_eq!(data["totalFiles"], json!(ours.len()), "{what}: {data:#}");
}
