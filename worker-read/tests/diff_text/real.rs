//! Diffs of a real repository: its commits, its commits under the drivers of all languages, and edits of a clone of it.
//! Trust: test code; `BULKHEAD_DIFF_REPOSITORY` names the repository, `BULKHEAD_SLOW=1` compares more;
//! `BULKHEAD_SEED=N` makes other edits.

use super::{
    all_ways, ask, compare,
    dice::Dice,
    support::{git, try_git},
    worker,
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Which driver each kind of file gets: those that Git brings along, configured ones, and the attribute alone.
const DRIVERS: &str = "\
*.rs diff=rust
*.toml diff=toml
*.md diff=markdown
*.adoc diff=heading
*.txt diff=heading
*.[ch] diff=cpp
*.cc diff=cpp
*.py diff=python
*.sh diff=bash
*.bash diff=bash
*.pl diff=perl
*.perl diff=perl
*.pm diff=perl
*.rb diff=ruby
*.html diff=html
*.css diff=css
*.js diff=java
*.java diff=java
*.go diff=golang
*.php diff=php
*.tcl diff=patient
*.el diff=scheme
*.tex diff=tex
*.m4 diff=patient
*.ac diff=patient
*.in diff=unknown
*.[1-9] diff=manual
*.svg diff=html
*.lock -diff
*.po diff
*.json diff=raw
";

/// What the configuration says of drivers that Git does not have. None demands `minimal`: that algorithm leaves no frequent
/// line out, as in Git from 2.51 on, which the Git at hand may be older than.
const CONFIGURED: &[[&str; 2]] = &[
    ["diff.toml.xfuncname", "^\\[+(.*)\\]+$"],
    ["diff.heading.xfuncname", "!^[-=~]+$\n^([A-Z][A-Za-z ]+)$"],
    ["diff.manual.xfuncname", "^\\.S[HShs] (.*)$"],
    ["diff.patient.algorithm", "histogram"],
    ["diff.raw.binary", "true"],
];

fn named() -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("BULKHEAD_DIFF_REPOSITORY")?);
    Some(path.canonicalize().expect("it is there"))
}

fn slow() -> bool {
    std::env::var_os("BULKHEAD_SLOW").is_some_and(|value| value == "1")
}

/// A clone that may be changed.
fn cloned() -> Option<(tempfile::TempDir, PathBuf)> {
    let of = named()?;
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let directory = temp.path().canonicalize().expect("it is there");
    git(&directory, &["clone", "-q", of.to_str().expect("a path of the caller"), "clone"]);
    Some((temp, directory.join("clone")))
}

fn lines(repo: &Path, arguments: &[&str]) -> Vec<String> {
    String::from_utf8_lossy(&git(repo, arguments)).lines().map(str::to_owned).collect()
}

/// Compares pairs of commits from all over the history, near ones and far ones.
fn pairs_agree(repo: &Path, wanted: usize, offset: usize) {
    let commits = lines(repo, &["rev-list", "HEAD"]);
    let mut worker = worker(repo, repo);
    let (mut same, mut hunks, mut faults) = (0, 0, Vec::new());
    for number in 0..wanted {
        let from = (offset + number * 7919) % (commits.len() - 1);
        let span = [1, 1, 5, 40, 200][number % 5];
        let (old, new) = (&commits[(from + span).min(commits.len() - 1)], &commits[from]);
        match compare(&mut worker, repo, ask(Some(old), Some(new)), &[old, new]) {
            Ok(()) => same += 1,
            Err(fault) => faults.push(fault),
        }
        hunks += usize::from(number % 10 == 0) * lines(repo, &["diff", old, new]).len();
    }
    eprintln!("{same} of {wanted} agree; each tenth of them together has {hunks} lines");
    assert!(faults.is_empty(), "{same} of {wanted} agree:\n{}", faults.join("\n"));
}

#[test]
fn commits_of_a_named_repository_are_shown_as_git_shows_them() {
    let Some(repo) = named() else { return };
    pairs_agree(&repo, if slow() { 500 } else { 40 }, 0);
}

#[test]
fn commits_of_a_named_repository_under_all_drivers() {
    let Some((_temp, repo)) = cloned() else { return };
    for [key, value] in CONFIGURED {
        git(&repo, &["config", key, value]);
    }
    fs::create_dir_all(repo.join(".git/info")).expect("ours");
    fs::write(repo.join(".git/info/attributes"), DRIVERS).expect("ours");
    pairs_agree(&repo, if slow() { 500 } else { 40 }, 3);
}

#[test]
fn edits_in_a_clone_of_a_named_repository() {
    let Some((_temp, repo)) = cloned() else { return };
    let files: Vec<String> = lines(&repo, &["ls-files"])
        .into_iter()
        .filter(|name| fs::symlink_metadata(repo.join(name)).is_ok_and(|meta| meta.is_file()))
        .collect();
    let mut dice = Dice::of_run();
    let (mut faults, rounds) = (Vec::new(), if slow() { 25 } else { 3 });
    for _ in 0..rounds {
        for _ in 0..12 {
            let name = &files[dice.below(files.len())];
            edit(&repo, name, &mut dice);
        }
        faults.extend(all_ways(&repo, &repo));
    }
    eprintln!("{rounds} rounds of edits, {} diffs differ", faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// One edit of a file, in the working tree or of the index as well.
fn edit(repo: &Path, name: &str, dice: &mut Dice) {
    let path = repo.join(name);
    let Ok(bytes) = fs::read(&path) else {
        // it was removed or moved before
        try_git(repo, &["checkout", "-q", "HEAD", "--", name]);
        return;
    };
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
    let at = dice.below(lines.len() + 1);
    let count = dice.below(6).min(lines.len() - at);
    match dice.below(9) {
        0 | 1 => drop(lines.drain(at..at + count)),
        2 => lines.insert(at, b"    an inserted line\n"),
        3 => {
            let moved: Vec<&[u8]> = lines.drain(at..at + count).collect();
            let to = dice.below(lines.len() + 1);
            drop(lines.splice(to..to, moved));
        }
        4 => lines.push(b"no end of line"),
        5 => {
            try_git(repo, &["mv", name, &format!("{name}.moved")]);
            return;
        }
        6 => {
            try_git(repo, &["rm", "-q", "--cached", name]);
            return;
        }
        _ => {
            try_git(repo, &["add", "-A", "--", name]);
            return;
        }
    }
    let text = lines.concat();
    // white space in other places, for -w
    let text = if dice.below(4) == 0 { String::from_utf8_lossy(&text).replace("  ", "\t").into_bytes() } else { text };
    fs::write(&path, text).expect("the clone is ours");
}
