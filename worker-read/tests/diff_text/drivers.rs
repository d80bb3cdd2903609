//! An algorithm that a driver demands: it is that of the old name's driver, and it stays for the files that follow.
//! Trust: test code.

use super::{
    answer, ask, compare, git_diff,
    support::{git, git_line},
    worker,
};
use bulkhead_ipc::edge::{asks, read::Page};
use std::{fs, path::Path};

/// Two texts that Myers' algorithm and the histogram compare differently: a part that is frequent moves around a rare one.
fn texts() -> [String; 2] {
    let part = |word: &str| format!("{{\n{word}\n}}\n\n");
    let frequent = part("call").repeat(3);
    let old = format!("{frequent}{}{}{frequent}", part("rare"), part("one"));
    let new = format!("{}{frequent}{}{frequent}{}", part("one"), part("two"), part("rare"));
    [old, new]
}

fn commit(repo: &Path, message: &str) -> String {
    git(repo, &["add", "-A"]);
    git(repo, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", message]);
    git_line(repo, &["rev-parse", "HEAD"]).expect("a commit")
}

#[test]
fn a_demanded_algorithm_stays_for_what_follows() {
    let temp = tempfile::tempdir().expect("a writable temporary directory");
    let repo = temp.path().canonicalize().expect("it is there");
    git(&repo, &["init", "-q", "."]);
    let [old, new] = texts();
    let write = |name: &str, text: &str| fs::write(repo.join(name), text).expect("ours");
    for name in ["a.c", "b.rare", "c.c", "d.c", "e.c", "f.myers", "g.c"] {
        write(name, &old);
    }
    let first = commit(&repo, "old");
    for name in ["a.c", "b.rare", "c.c", "e.c", "f.myers", "g.c"] {
        write(name, &new);
    }
    // a driver of the new name demands nothing
    fs::rename(repo.join("d.c"), repo.join("Z.other")).expect("it is there");
    write("Z.other", &format!("{old}one line more\n"));
    let second = commit(&repo, "new");
    let attributes = "*.rare diff=rare\n*.myers diff=myers\n*.other diff=other\n";
    fs::write(repo.join(".git/info/attributes"), attributes).expect("ours");
    let (alone, first, second) = (&repo, first.as_str(), second.as_str());
    assert_ne!(
        git_diff(alone, &["--diff-algorithm=myers", first, second]),
        git_diff(alone, &["--diff-algorithm=histogram", first, second]),
        "the texts tell the algorithms apart"
    );
    for [name, value] in [["rare", "histogram"], ["other", "minimal"], ["myers", "myers"]] {
        git(&repo, &["config", &format!("diff.{name}.algorithm"), value]);
    }
    let mut worker = worker(&repo, &repo);
    let mut faults = Vec::new();
    for (old, new) in [(first, second), (second, first)] {
        faults.extend(compare(&mut worker, &repo, ask(Some(old), Some(new)), &[old, new]).err());
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));

    // a page that starts behind the file with the driver knows of it
    let whole = String::from_utf8(git_diff(&repo, &[first, second])).expect("ASCII");
    let cut = whole.find("diff --git a/c.c").expect("it is in there");
    let page = |cursor: Option<String>, bytes: usize| asks::TextDiff {
        max_bytes: u32::try_from(bytes).expect("small"),
        page: Page { limit: 100, chars: 1_000_000, cursor },
        ..ask(Some(first), Some(second))
    };
    let one = answer(&mut worker, page(None, cut));
    assert_eq!(one.diff, whole[..cut]);
    let two = answer(&mut worker, page(one.next_cursor, whole.len()));
    assert_eq!(two.diff, whole[cut..]);

    // counts, as `--numstat` has them
    let counted = answer(&mut worker, asks::TextDiff { stat: true, ..ask(Some(first), Some(second)) });
    let ours: Vec<String> = counted
        .files
        .expect("files were asked for")
        .iter()
        .map(|file| format!("{}\t{}", file.added.unwrap_or_default(), file.removed.unwrap_or_default()))
        .collect();
    let git = String::from_utf8(git_diff(&repo, &["--numstat", first, second])).expect("ASCII");
    let git: Vec<String> =
        git.lines().map(|line| line.rsplit_once('\t').expect("counts and a name").0.to_owned()).collect();
    assert_eq!(ours, git);
}
