//! What a merge would do is what `git merge-tree` says it would, for generated merges and for real ones.
//! Trust: test only; `BULKHEAD_SLOW=1` makes more merges, `BULKHEAD_MERGE_REPO` names a repository whose merges are tried.
#![cfg(unix)]

mod generated;

use bulkhead_worker_read::{
    discover::{self, Bounds},
    merge::{self, Verdict},
    open::Caches,
    pace::Pace,
    repo::{Operator, Repo},
};
use generated::{Dice, Files, generate};
use std::{
    collections::BTreeSet,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    process::{Command, Output},
    sync::{Arc, atomic::AtomicU64},
};

fn opened(path: &Path) -> Repo {
    let operator = Operator::default();
    let ceilings = [path.to_path_buf()];
    let bounds = Bounds { ceilings: &ceilings, trust: &operator.trust };
    let found = discover::discover(path.as_os_str().as_bytes(), bounds).expect("a repository");
    Repo::open(found, operator, Caches::Main).expect("it can be read")
}

fn pace() -> Pace {
    Pace::new(1, Arc::new(AtomicU64::new(0)), 600_000, |_| {})
}

fn git(repo: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.arg("-C").arg(repo).args(arguments).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    for (name, value) in [("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b"), ("GIT_COMMITTER_NAME", "a")] {
        command.env(name, value);
    }
    command.env("GIT_COMMITTER_EMAIL", "a@b").output().expect("git is installed")
}

fn line(repo: &Path, arguments: &[&str]) -> String {
    String::from_utf8_lossy(&git(repo, arguments).stdout).trim().to_owned()
}

/// The unmerged paths that git predicts; `None` for unrelated histories.
fn expected(repo: &Path, ours: &str, theirs: &str) -> Option<BTreeSet<String>> {
    let output = git(repo, &["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs]);
    match output.status.code() {
        Some(0) => Some(BTreeSet::new()),
        Some(1) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            Some(text.split('\0').skip(1).filter(|name| !name.is_empty()).map(str::to_owned).collect())
        }
        _ => None,
    }
}

fn ours(repo: &Repo, ours: &str, theirs: &str) -> Option<BTreeSet<String>> {
    let id = |hex: &str| gix::ObjectId::from_hex(hex.as_bytes()).expect("an id");
    let (_, verdict) = merge::preflight(repo, id(ours), id(theirs), &pace()).expect("it can be merged");
    match verdict {
        Verdict::Unrelated => None,
        Verdict::UpToDate | Verdict::FastForward | Verdict::Clean => Some(BTreeSet::new()),
        Verdict::Conflicts(all) => {
            Some(all.iter().map(|one| String::from_utf8_lossy(&one.path).into_owned()).collect())
        }
    }
}

#[test]
fn generated_merges_agree() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let path = std::fs::canonicalize(temp.path()).expect("it is there");
    let slow = std::env::var_os("BULKHEAD_SLOW").is_some_and(|value| value == "1");
    let seed = std::env::var("BULKHEAD_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let count = if slow { 1_000 } else { 100 };
    let pairs = generate(&path, count, seed);
    let repo = opened(&path);
    let (mut verdicts, mut sets, mut conflicting) = (0, 0, 0);
    let mut faults = Vec::new();
    for (at, (left, right)) in pairs.iter().enumerate() {
        let git = expected(&path, left, right);
        let mine = ours(&repo, left, right);
        let shape = |set: &Option<BTreeSet<String>>| set.as_ref().map(BTreeSet::is_empty);
        conflicting += usize::from(git.as_ref().is_some_and(|set| !set.is_empty()));
        if shape(&git) != shape(&mine) {
            verdicts += 1;
        }
        if git != mine {
            sets += 1;
            faults.push(format!("{at} {left} {right}\n  git  {git:?}\n  ours {mine:?}"));
        }
    }
    println!("{count} merges, {conflicting} conflicting, {verdicts} other verdicts, {sets} other paths");
    if std::env::var_os("BULKHEAD_KEEP").is_some() {
        println!("{}", temp.keep().display());
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
