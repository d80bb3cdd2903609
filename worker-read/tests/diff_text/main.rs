//! Diffs are byte for byte what `git diff` prints with its defaults.
//! Trust: test only; `BULKHEAD_DIFF_REPOSITORY` names one more repository, of which `BULKHEAD_SLOW=1` compares 500 pairs.
#![cfg(unix)]

#[path = "../../../tests/support/dice.rs"]
mod dice;
mod drivers;
mod generated;
mod indented;
mod real;
#[path = "../support/mod.rs"]
mod support;
mod unread;

use bulkhead_contract::results::{Omission, TextDiff};
use bulkhead_ipc::edge::{
    asks,
    read::{Ask, Page, Reply},
};
use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use support::{Operator, Worker, start};

fn ask(base: Option<&str>, head: Option<&str>) -> asks::TextDiff {
    asks::TextDiff {
        compared: asks::Compared {
            base: base.map(str::to_owned),
            head: head.map(str::to_owned),
            ..asks::Compared::default()
        },
        repo_path: String::new(),
        paths: Vec::new(),
        staged: false,
        context: Some(3),
        ignore_whitespace: false,
        stat: false,
        max_bytes: 1 << 20,
        max_lines: None,
        page: Page { limit: 10_000, chars: 10_000_000, cursor: None },
    }
}

fn answer(worker: &mut Worker, ask: asks::TextDiff) -> TextDiff {
    match worker.try_ask(Ask::TextDiff(ask)) {
        Some(Ok(Reply::TextDiff(diff))) => *diff,
        other => panic!("a diff expected, not {other:?}"),
    }
}

/// What Git prints: its defaults, without what runs programs or colours.
fn git_diff(repo: &Path, arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new("git");
    command.args(["--no-pager", "--no-optional-locks", "--literal-pathspecs", "-c", "core.fsmonitor=false"]);
    command.arg("-C").arg(repo).args(["diff", "--no-ext-diff", "--no-textconv", "--no-color"]).args(arguments);
    let output = command.stdin(Stdio::null()).env("GIT_OPTIONAL_LOCKS", "0").output().expect("git is installed");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Asks for all pages; pages never repeat what their text does not say.
fn whole(worker: &mut Worker, ask: asks::TextDiff) -> (String, TextDiff) {
    let diff = answer(worker, ask);
    (diff.diff.clone(), diff)
}

fn compare(worker: &mut Worker, repo: &Path, ask: asks::TextDiff, arguments: &[&str]) -> Result<(), String> {
    let theirs = git_diff(repo, arguments);
    let (ours, diff) = whole(worker, ask);
    if diff.omitted.iter().any(|file| file.reason == Omission::Filtered) {
        // Git ran the filter to know; here the file is only named
        let named = diff.omitted.iter().all(|file| !ours.contains(&file.path));
        return if named { Ok(()) } else { Err(format!("{arguments:?}: {ours}")) };
    }
    let theirs_text = String::from_utf8_lossy(&theirs);
    let shown = if diff.truncated { &theirs_text[..ours.len().min(theirs_text.len())] } else { &theirs_text };
    if ours == shown && (diff.partial.is_some() || diff.total_bytes == theirs.len() as u64) {
        return Ok(());
    }
    let differing = ours.lines().zip(shown.lines()).position(|(ours, theirs)| ours != theirs);
    let at = differing.unwrap_or(ours.lines().count().min(shown.lines().count()));
    let around = |text: &str| text.lines().skip(at.saturating_sub(6)).take(14).collect::<Vec<_>>().join("\n");
    Err(format!(
        "{} {arguments:?}: line {at}, {} and {} bytes\n--- ours\n{}\n--- git\n{}\n",
        repo.display(),
        diff.total_bytes,
        theirs.len(),
        around(&ours),
        around(shown)
    ))
}

fn worker(repo: &Path, ceiling: &Path) -> Worker {
    let operator = Operator { ceilings: vec![ceiling.to_path_buf()], ..Operator::default() };
    start(repo, &operator).unwrap_or_else(|failure| panic!("{}: {failure:?}", repo.display()))
}

fn fixtures(script: &str) -> (tempfile::TempDir, PathBuf) {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let directory = temp.path().canonicalize().expect("it is there").join("repositories");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(script);
    let mut command = Command::new("bash");
    command.arg(script).arg(&directory).env("HOME", temp.path()).env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Test Author").env(format!("GIT_{who}_EMAIL"), "author@example.org");
    }
    let config = "[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n[gc]\n\tauto = 0\n";
    let file = temp.path().join(".gitconfig");
    std::fs::write(&file, config).expect("writable");
    command.env("GIT_CONFIG_GLOBAL", &file).env("LC_ALL", "C").env("TZ", "UTC");
    let output = command.stdin(Stdio::null()).output().expect("bash is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (temp, directory)
}

/// All ways to compare what is there; the faults.
fn all_ways(repo: &Path, ceiling: &Path) -> Vec<String> {
    let operator = Operator { ceilings: vec![ceiling.to_path_buf()], ..Operator::default() };
    // what cannot be opened is refused by name, which other tests look at
    let Ok(mut worker) = start(repo, &operator) else { return Vec::new() };
    let mut faults = Vec::new();
    let has_head = Command::new("git").arg("-C").arg(repo).args(["rev-parse", "-q", "--verify", "HEAD"]).output();
    let has_head = has_head.expect("git is installed").status.success();
    let mut ways =
        vec![(ask(None, None), vec![]), (asks::TextDiff { staged: true, ..ask(None, None) }, vec!["--cached"])];
    if has_head {
        ways.push((ask(Some("HEAD"), None), vec!["HEAD"]));
        ways.push((asks::TextDiff { context: Some(0), ..ask(Some("HEAD"), None) }, vec!["-U0", "HEAD"]));
        ways.push((asks::TextDiff { ignore_whitespace: true, ..ask(Some("HEAD"), None) }, vec!["-w", "HEAD"]));
    }
    ways.push((asks::TextDiff { context: Some(0), ..ask(None, None) }, vec!["-U0"]));
    ways.push((asks::TextDiff { context: Some(11), ..ask(None, None) }, vec!["-U11"]));
    for (ask, arguments) in ways {
        faults.extend(compare(&mut worker, repo, ask, &arguments).err());
    }
    faults
}

#[test]
fn every_state_is_shown_as_git_shows_it() {
    let mut faults = Vec::new();
    let mut count = 0;
    for script in ["make_states.sh", "make_recorded.sh"] {
        let (_temp, directory) = fixtures(script);
        let mut repositories: Vec<PathBuf> =
            std::fs::read_dir(&directory).expect("readable").flatten().map(|entry| entry.path()).collect();
        repositories.retain(|path| path.join(".git").exists());
        repositories.sort();
        for repo in repositories {
            count += 1;
            faults.extend(all_ways(&repo, &directory));
        }
    }
    assert!(count > 20, "only {count} repositories");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
