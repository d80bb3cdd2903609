//! What a merge would do is what `git merge-tree` says it would, for generated merges and for real ones.
//! Trust: test only; `BULKHEAD_MERGE_REPO` names a repository whose merges are tried, and whose side branches are rebased
//! in a clone; `BULKHEAD_SLOW=1` makes more merges, and tries more.
#![cfg(unix)]

mod generated;

use bulkhead_worker_read::{
    discover::{self, Bounds},
    merge::{self, Verdict, rebase},
    open::Caches,
    pace::Pace,
    repo::{Operator, Repo},
};
use generated::{generate, generate_rebases};
use std::{
    collections::BTreeSet,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};

fn opened(path: &Path) -> Repo {
    let operator = Operator::default();
    let ceilings = [path.to_path_buf()];
    let bounds = Bounds { ceilings: &ceilings, trust: &operator.trust };
    let found = discover::discover(path.as_os_str().as_bytes(), bounds).expect("a repository");
    Repo::open(found, operator, Caches::Main).expect("it can be read")
}

fn pace() -> Pace {
    Pace::alone(600_000)
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

/// The unmerged paths that git predicts, and those that it only names because it cannot tell where a renamed directory
/// went; `None` for unrelated histories.
fn expected(repo: &Path, ours: &str, theirs: &str) -> Option<BTreeSet<String>> {
    let output = git(repo, &["merge-tree", "--write-tree", "--name-only", "--messages", "-z", ours, theirs]);
    let code = output.status.code();
    if code != Some(0) && code != Some(1) {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout).replace(ours, "HEAD");
    let mut parts = text.split('\0').skip(1);
    let mut paths: BTreeSet<String> = parts.by_ref().take_while(|name| !name.is_empty()).map(str::to_owned).collect();
    while let Some(count) = parts.next().and_then(|count| count.parse().ok()) {
        let named: Vec<&str> = parts.by_ref().take(count).collect();
        let (Some(kind), Some(_)) = (parts.next(), parts.next()) else { break };
        let unclear = ["(directory rename split)", "(implicit dir rename)", "(directory rename unclear split)"];
        if unclear.iter().any(|words| kind.contains(words)) || kind.contains("dir rename") {
            paths.extend(named.first().map(|path| (*path).to_owned()));
        }
    }
    assert_eq!(paths.is_empty(), code == Some(0), "{ours} {theirs}: {text:?}");
    Some(paths)
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
    let (mut conflicting, mut faults) = (0, Vec::new());
    for (at, (left, right)) in pairs.iter().enumerate() {
        let git = expected(&path, left, right);
        let mine = ours(&repo, left, right);
        conflicting += usize::from(git.as_ref().is_some_and(|set| !set.is_empty()));
        if git != mine {
            faults.push(format!("{at} {left} {right}\n  git  {git:?}\n  ours {mine:?}"));
        }
    }
    eprintln!("{count} merges, {conflicting} conflicting, {} differ", faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Everything below the object directory, with contents.
fn objects(repo: &Path) -> BTreeSet<(std::path::PathBuf, Vec<u8>)> {
    let mut all = BTreeSet::new();
    let mut open = vec![repo.join(".git")];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).expect("readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                let bytes = std::fs::read(&path).expect("readable");
                all.insert((path, bytes));
            }
        }
    }
    all
}

/// Where a real rebase stops and the paths that it leaves unmerged; nothing where it comes to its end.
fn rebased(repo: &Path, onto: &str, topic: &str) -> Option<(String, BTreeSet<String>)> {
    let checkout = git(repo, &["checkout", "-q", "-f", "--detach", topic]);
    assert!(checkout.status.success(), "{}", String::from_utf8_lossy(&checkout.stderr));
    git(repo, &["clean", "-fdqx"]);
    let output = git(repo, &["-c", "advice.mergeConflict=false", "rebase", "-q", onto]);
    if output.status.success() {
        return None;
    }
    let commit = line(repo, &["rev-parse", "REBASE_HEAD"]);
    let names = git(repo, &["diff", "--name-only", "-z", "--diff-filter=U"]);
    let text = String::from_utf8_lossy(&names.stdout).into_owned();
    let paths = text.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    git(repo, &["rebase", "--abort"]);
    Some((commit, paths))
}

#[test]
fn generated_rebases_agree_and_nothing_is_written() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let path = std::fs::canonicalize(temp.path()).expect("it is there");
    let slow = std::env::var_os("BULKHEAD_SLOW").is_some_and(|value| value == "1");
    let seed = std::env::var("BULKHEAD_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let pairs = generate_rebases(&path, if slow { 200 } else { 25 }, seed);
    let repo = opened(&path);
    let id = |hex: &str| gix::ObjectId::from_hex(hex.as_bytes()).expect("an id");
    let before = objects(&path);
    let replays: Vec<_> = pairs
        .iter()
        .map(|(upstream, topic)| rebase::replay(&repo, id(topic), id(upstream), &pace()).expect("it can be replayed"))
        .collect();
    assert!(before == objects(&path), "a prediction wrote something");
    let mut faults = Vec::new();
    let mut stops = 0;
    for ((upstream, topic), replay) in pairs.iter().zip(&replays) {
        let git = rebased(&path, upstream, topic);
        let mine = replay.stopped.as_ref().map(|(at, conflicts)| {
            let paths = conflicts.iter().map(|one| String::from_utf8_lossy(&one.path).into_owned()).collect();
            (replay.commits[*at].to_string(), paths)
        });
        stops += usize::from(git.is_some());
        if git != mine {
            faults.push(format!("{topic} onto {upstream}\n  git  {git:?}\n  ours {mine:?}"));
        }
        let picks = line(
            &path,
            &["rev-list", "--count", "--no-merges", "--cherry-pick", "--right-only", &format!("{upstream}...{topic}")],
        );
        if picks != replay.commits.len().to_string() && !replay.up_to_date {
            faults.push(format!("{topic} onto {upstream}: git replays {picks}, ours {}", replay.commits.len()));
        }
    }
    eprintln!("{} rebases, {stops} stop, {} differ", pairs.len(), faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A clone of the repository that `BULKHEAD_MERGE_REPO` names.
fn cloned() -> Option<(tempfile::TempDir, PathBuf)> {
    let of = std::fs::canonicalize(std::env::var_os("BULKHEAD_MERGE_REPO")?).expect("it is there");
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let path = std::fs::canonicalize(temp.path()).expect("it is there").join("clone");
    let clone = Command::new("git").args(["clone", "-q", "-n"]).arg(&of).arg(&path).status();
    assert!(clone.expect("git is installed").success());
    Some((temp, path))
}

/// The parents of all merges of two, the latest first.
fn sides(repo: &Path) -> Vec<(String, String)> {
    let merges = line(repo, &["rev-list", "--merges", "--parents", "HEAD"]);
    let pair = |line: &str| {
        let ids: Vec<&str> = line.split(' ').collect();
        (ids.len() == 3).then(|| (ids[1].to_owned(), ids[2].to_owned()))
    };
    merges.lines().filter_map(pair).collect()
}

/// From places all over the first-parent history: a commit that takes back what happened before one, that commit's
/// descendant, and nothing of either in the other. This makes merges and rebases where a history has no branches.
fn against_the_grain(repo: &Path, wanted: usize, length: usize) -> Vec<(String, String)> {
    let all = line(repo, &["rev-list", "--first-parent", "HEAD"]);
    let all: Vec<&str> = all.lines().collect();
    let step = (all.len().saturating_sub(400) / wanted).max(1);
    let mut pairs = Vec::new();
    for (number, at) in (0..all.len().saturating_sub(400)).step_by(step).take(wanted).enumerate() {
        let (topic, fork) = (all[at], all[at + length]);
        let older = all[at + length + [1, 5, 40, 300][number % 4]];
        let back = line(repo, &["commit-tree", &format!("{older}^{{tree}}"), "-p", fork, "-m", "back"]);
        assert!(!back.is_empty(), "a commit is made");
        pairs.push((back, topic.to_owned()));
    }
    pairs
}

/// Historic merges of a real repository, and arbitrary pairs of its commits.
#[test]
fn merges_of_a_real_repository_agree() {
    let Some((_temp, path)) = cloned() else { return };
    let all = sides(&path);
    let mut pairs: Vec<_> = all.iter().take(200).cloned().collect();
    // sides of different merges meet as well, and commits that are far apart from each other
    let crossed: Vec<_> = pairs.windows(30).step_by(7).map(|part| (part[0].0.clone(), part[29].1.clone())).collect();
    pairs.extend(crossed);
    let far: Vec<_> = all.iter().step_by((all.len() / 60).max(1)).cloned().collect();
    pairs.extend(far.windows(2).map(|pair| (pair[0].1.clone(), pair[1].1.clone())));
    pairs.extend(far);
    let branches = line(&path, &["for-each-ref", "--format=%(objectname)", "refs/remotes", "refs/heads"]);
    let branches: Vec<&str> = branches.lines().collect();
    pairs.extend(branches.windows(2).take(60).map(|two| (two[0].to_owned(), two[1].to_owned())));
    pairs.extend(against_the_grain(&path, 200, 60));
    if std::env::var_os("BULKHEAD_SLOW").is_none_or(|value| value != "1") {
        pairs = pairs.iter().step_by((pairs.len() / 100).max(1)).cloned().collect();
    }
    let repo = opened(&path);
    let mut faults = Vec::new();
    let (mut spent, mut git_spent, mut conflicting) = (Duration::ZERO, Duration::ZERO, 0);
    for (left, right) in &pairs {
        let start = Instant::now();
        let mine = ours(&repo, left, right);
        spent += start.elapsed();
        let start = Instant::now();
        let git = expected(&path, left, right);
        git_spent += start.elapsed();
        conflicting += usize::from(git.as_ref().is_some_and(|set| !set.is_empty()));
        if git != mine {
            faults.push(format!("{left} {right}\n  git  {git:?}\n  ours {mine:?}"));
        }
    }
    eprintln!("{} merges, {conflicting} conflicting, {} differ", pairs.len(), faults.len());
    eprintln!("ours {spent:?}, git {git_spent:?}");
    assert!(faults.is_empty(), "{} differ:\n{}", faults.len(), faults.join("\n"));
}

/// Side branches of historic merges, rebased onto the other side, to where others went on, and onto commits that take
/// something back, in a clone.
#[test]
fn rebases_in_a_real_repository_agree() {
    let Some((_temp, path)) = cloned() else { return };
    let head = line(&path, &["rev-parse", "HEAD"]);
    let sides: Vec<_> = sides(&path);
    let spread: Vec<_> = sides.iter().take(4_000).step_by((sides.len().min(4_000) / 90).max(1)).collect();
    let mut pairs: Vec<(String, String)> = Vec::new();
    for (number, (upstream, topic)) in spread.iter().enumerate() {
        let onto = match number % 3 {
            0 => upstream,
            1 => &spread[number - 1].0,
            _ => &head,
        };
        pairs.push((onto.clone(), topic.clone()));
    }
    let taken_back = against_the_grain(&path, 120, 2);
    let short = |(onto, topic): &&(String, String)| {
        let count = line(&path, &["rev-list", "--count", &format!("{onto}..{topic}")]);
        (1..=12).contains(&count.parse().unwrap_or(0))
    };
    let some = if std::env::var_os("BULKHEAD_SLOW").is_some_and(|value| value == "1") { 40 } else { 8 };
    let all = pairs.iter().filter(short).take(some).chain(taken_back.iter().filter(short));
    let pairs: Vec<_> = all.take(2 * some).collect();
    let repo = opened(&path);
    let id = |hex: &str| gix::ObjectId::from_hex(hex.as_bytes()).expect("an id");
    let (mut stops, mut faults) = (0, Vec::new());
    for (onto, topic) in &pairs {
        let replay = rebase::replay(&repo, id(topic), id(onto), &pace()).expect("it can be replayed");
        let git = rebased(&path, onto, topic);
        let mine = replay.stopped.as_ref().map(|(at, conflicts)| {
            let paths = conflicts.iter().map(|one| String::from_utf8_lossy(&one.path).into_owned()).collect();
            (replay.commits[*at].to_string(), paths)
        });
        stops += usize::from(git.is_some());
        if git != mine {
            faults.push(format!("{topic} onto {onto}\n  git  {git:?}\n  ours {mine:?}"));
        }
    }
    eprintln!("{} rebases, {stops} stop, {} differ", pairs.len(), faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
