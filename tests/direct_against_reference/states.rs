//! Repositories in the states that the reference is asked about, built by driving the real `git`.
//! Trust: test code.

use crate::support::{Place, Repo, direct_repository};
use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
};

/// A state's name, and what builds it and gives the directory to serve.
type State = (&'static str, fn(&Place) -> PathBuf);

/// The same of a clone of a given repository.
type StateOfClone = (&'static str, fn(&Place, &Path) -> PathBuf);

/// All states that are built here.
pub const STATES: &[State] = &[
    ("clean", |place| recorded(place).path().to_owned()),
    ("dirty", dirty),
    ("settings", settings),
    ("detached", detached),
    ("unborn", unborn),
    ("merge", merge),
    ("merge in diff3", merge_in_diff3),
    ("rebase", rebase),
    ("cherry-pick", |place| stopped(place, &["cherry-pick", "clash"])),
    ("revert", |place| stopped(place, &["revert", "--no-edit", "HEAD~1"])),
    ("bisect", bisect),
    ("upstream gone", upstream_gone),
    ("linked worktree", linked_worktree),
    ("superproject", |place| submodule(place).0),
    ("submodule", |place| submodule(place).1),
    ("subdirectory", |place| recorded(place).at("dir")),
    ("names", names),
    ("not UTF-8", not_utf8),
];

/// States of a clone of a given repository.
pub const OF_CLONES: &[StateOfClone] =
    &[("as cloned", |place, of| clone(place, of).path().to_owned()), ("edited", edited)];

fn recorded(place: &Place) -> Repo<'_> {
    Repo::open(place, direct_repository::build(place.path()))
}

/// Every kind of change, staged, unstaged and both.
fn dirty(place: &Place) -> PathBuf {
    let repo = recorded(place);
    many_changes(&repo);
    repo.path().to_owned()
}

fn many_changes(repo: &Repo<'_>) {
    for name in
        ["staged", "both", "removed", "gone", "moved", "moved-edited", "mode", "to-link", "cr", "tail", "bin", "bytes"]
    {
        let text: String = (1..=40).map(|line| format!("{name} {line}\n")).collect();
        repo.write(format!("many/{name}"), text);
    }
    repo.write("many/cr", "one\r\ntwo\r\nthree\r\n");
    repo.write("many/bin", b"a\0b\n");
    repo.write("many/bytes", b"caf\xe9\n");
    repo.write("many/.gitignore", "*.o\n");
    symlink("staged", repo.at("many/link")).expect("the place is ours");
    symlink("staged", repo.at("many/from-link")).expect("the place is ours");
    repo.commit("many files");
    let edit = |path: &str, from: &str, to: &str| {
        let text = fs::read_to_string(repo.at(path)).expect("it is there");
        repo.write(path, text.replace(from, to));
    };
    edit("many/staged", "staged 3\n", "staged three\n");
    edit("many/both", "both 3\n", "both three\n");
    repo.git(&["mv", "many/moved", "many/moved-there"]);
    repo.git(&["mv", "many/moved-edited", "many/moved-and-edited"]);
    edit("many/moved-and-edited", "edited 7\n", "edited seven\n");
    repo.git(&["rm", "-q", "many/removed"]);
    repo.git(&["add", "many/staged", "many/both", "many/moved-and-edited"]);
    edit("many/both", "both 30\n", "both thirty\nand one more\n");
    fs::remove_file(repo.at("many/gone")).expect("the place is ours");
    fs::set_permissions(repo.at("many/mode"), fs::Permissions::from_mode(0o755)).expect("the place is ours");
    fs::remove_file(repo.at("many/to-link")).expect("the place is ours");
    symlink("cr", repo.at("many/to-link")).expect("the place is ours");
    fs::remove_file(repo.at("many/from-link")).expect("the place is ours");
    repo.write("many/from-link", "a file now\n");
    fs::remove_file(repo.at("many/link")).expect("the place is ours");
    symlink("both", repo.at("many/link")).expect("the place is ours");
    repo.write("many/cr", "one\r\nTWO\r\nthree\n");
    edit("many/tail", "tail 40\n", "tail 40");
    repo.write("many/bin", b"a\0c\n");
    repo.write("many/bytes", b"caf\xe9s\n");
    repo.write("many/intent", "to be added\n");
    repo.git(&["add", "-N", "many/intent"]);
    repo.write("many/added", "added\n");
    repo.git(&["add", "many/added"]);
    repo.write("many/added-and-edited", "added\n");
    repo.git(&["add", "many/added-and-edited"]);
    repo.write("many/added-and-edited", "added\nedited\n");
    repo.write("many/added-and-gone", "added\n");
    repo.git(&["add", "many/added-and-gone"]);
    fs::remove_file(repo.at("many/added-and-gone")).expect("the place is ours");
    repo.write("many/untracked", "");
    repo.write("many/new/deep/untracked", "");
    repo.write("many/ignored.o", "");
}

/// The repository's own configuration of diffs and status, which counts but for prefixes.
fn settings(place: &Place) -> PathBuf {
    let repo = recorded(place);
    for (name, value) in [
        ("diff.context", "1"),
        ("diff.algorithm", "patience"),
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("status.renames", "copies"),
        ("core.quotePath", "false"),
        ("log.showSignature", "false"),
        ("core.abbrev", "12"),
    ] {
        repo.git(&["config", name, value]);
    }
    many_changes(&repo);
    repo.path().to_owned()
}

fn detached(place: &Place) -> PathBuf {
    let repo = recorded(place);
    repo.git(&["checkout", "-q", "--detach", "HEAD~1"]);
    repo.write("one", "");
    repo.path().to_owned()
}

fn unborn(place: &Place) -> PathBuf {
    let repo = Repo::init_with(place, "unborn", &["-b", "trunk"]);
    repo.write("f", "x\ny\n");
    repo.git(&["add", "f"]);
    repo.write("u", "");
    repo.path().to_owned()
}

/// Both sides of every kind of conflict.
fn conflicting(place: &Place) -> Repo<'_> {
    let repo = Repo::init(place, "conflicting");
    let lines = |at: usize, word: &str| -> String {
        (1..=30).map(|line| if line == at { format!("{word}\n") } else { format!("line {line}\n") }).collect()
    };
    for name in ["content", "ours-gone", "theirs-gone", "renamed", "fine"] {
        repo.write(name, lines(0, "") + name + "\n");
    }
    repo.write("cr", "one\r\ntwo\r\nthree\r\n");
    repo.write("binary", b"a\0b");
    repo.commit("base");
    repo.git(&["tag", "v1"]);
    repo.git(&["checkout", "-q", "-b", "other"]);
    repo.write("content", lines(5, "theirs") + "content\n");
    repo.write("ours-gone", lines(7, "theirs") + "ours-gone\n");
    repo.git(&["rm", "-q", "theirs-gone"]);
    repo.git(&["mv", "renamed", "renamed-theirs"]);
    repo.write("added", "theirs\n");
    repo.write("cr", "one\r\nTHEIRS\r\nthree\r\n");
    repo.write("binary", b"a\0theirs");
    repo.write("fine", lines(25, "theirs") + "fine\n");
    repo.commit("theirs");
    repo.git(&["checkout", "-q", "-"]);
    repo.write("content", lines(5, "ours") + "content\n");
    repo.git(&["rm", "-q", "ours-gone"]);
    repo.write("theirs-gone", lines(7, "ours") + "theirs-gone\n");
    repo.git(&["mv", "renamed", "renamed-ours"]);
    repo.write("added", "ours\n");
    repo.write("cr", "one\r\nOURS\r\nthree\r\n");
    repo.write("binary", b"a\0ours");
    repo.write("fine", lines(2, "ours") + "fine\n");
    repo.commit("ours");
    repo
}

fn fails(repo: &Repo<'_>, arguments: &[&str]) {
    let output = repo.try_git(arguments);
    assert!(!output.status.success(), "git {arguments:?} was to stop at a conflict");
}

fn merge(place: &Place) -> PathBuf {
    let repo = conflicting(place);
    fails(&repo, &["merge", "-q", "other"]);
    repo.path().to_owned()
}

fn merge_in_diff3(place: &Place) -> PathBuf {
    let repo = conflicting(place);
    fails(&repo, &["-c", "merge.conflictStyle=diff3", "merge", "-q", "other"]);
    repo.path().to_owned()
}

fn rebase(place: &Place) -> PathBuf {
    let repo = conflicting(place);
    fails(&repo, &["rebase", "-q", "other"]);
    repo.path().to_owned()
}

fn stopped(place: &Place, arguments: &[&str]) -> PathBuf {
    let repo = recorded(place);
    fails(&repo, arguments);
    repo.path().to_owned()
}

fn bisect(place: &Place) -> PathBuf {
    let repo = recorded(place);
    repo.git(&["bisect", "start"]);
    repo.git(&["bisect", "bad"]);
    repo.git(&["bisect", "good", "HEAD~2"]);
    repo.path().to_owned()
}

fn upstream_gone(place: &Place) -> PathBuf {
    let repo = recorded(place);
    repo.git(&["checkout", "-q", "-b", "lost"]);
    repo.git(&["config", "branch.lost.remote", "origin"]);
    repo.git(&["config", "branch.lost.merge", "refs/heads/lost"]);
    repo.path().to_owned()
}

fn linked_worktree(place: &Place) -> PathBuf {
    let repo = recorded(place);
    let linked = place.at("linked");
    let name = linked.to_str().expect("places have UTF-8 paths");
    repo.git(&["worktree", "add", "-q", "-b", "beside", name, "HEAD~1"]);
    repo.git(&["worktree", "add", "-q", "--detach", place.at("third").to_str().expect("as above")]);
    repo.git(&["worktree", "lock", place.at("third").to_str().expect("as above")]);
    fs::write(linked.join("a.txt"), "changed here\n").expect("the place is ours");
    linked
}

/// A superproject whose submodule has a new commit, changes and an untracked file; and the submodule.
fn submodule(place: &Place) -> (PathBuf, PathBuf) {
    let library = Repo::honest(place, "library");
    let above = Repo::honest(place, "above");
    let from = library.path().to_str().expect("places have UTF-8 paths").to_owned();
    for name in ["sub", "still"] {
        above.git(&["submodule", "--quiet", "add", &from, name]);
    }
    above.commit("submodules");
    let sub = Repo::open(place, above.at("sub"));
    sub.write("a.txt", "other\n");
    sub.commit("further");
    sub.write("a.txt", "and other\n");
    sub.write("untracked", "");
    (above.path().to_owned(), sub.path().to_owned())
}

/// Names that git quotes, and contents that look like a diff's own lines.
fn names(place: &Place) -> PathBuf {
    let repo = Repo::init(place, "names");
    let names =
        ["a b", "tab\there", "quote\"here", "back\\slash", "line\nbreak", "ünï", "-dash", ":colon", "a/b c/d", "*star"];
    for name in names {
        repo.write(name, format!("{name:?}\n--- minus\n+++ plus\n@@ -1 +1 @@ at\nlast\n"));
    }
    repo.commit("names");
    for name in names {
        repo.write(name, format!("{name:?}\n-- minus\n++ plus\n@@ -1 +2 @@ at\n\\ last"));
    }
    repo.write("new ünï", "");
    repo.git(&["mv", "-f", "a b", "a c"]);
    repo.path().to_owned()
}

fn not_utf8(place: &Place) -> PathBuf {
    let repo = Repo::honest(place, "bytes");
    fs::write(repo.path().join(OsStr::from_bytes(b"caf\xe9")), "x\n").expect("the place is ours");
    repo.path().to_owned()
}

fn clone<'place>(place: &'place Place, of: &Path) -> Repo<'place> {
    let repo = Repo::open(place, place.at("clone"));
    let mut git = place.command("git");
    git.args(["clone", "-q"]).arg(of).arg(repo.path());
    assert!(git.status().expect("git is there").success(), "git clone {}", of.display());
    for (name, back) in [("near", "HEAD~3"), ("far", "HEAD~40")] {
        repo.git(&["branch", name, back]);
    }
    repo
}

/// A clone with edits in files all over it.
fn edited(place: &Place, of: &Path) -> PathBuf {
    let repo = clone(place, of);
    let files = repo.git(&["ls-files"]);
    let files: Vec<&str> = files.lines().filter(|name| !name.contains('"')).collect();
    for (at, name) in files.iter().step_by(files.len().div_ceil(24).max(1)).enumerate() {
        let Ok(text) = fs::read_to_string(repo.at(name)) else { continue };
        if repo.at(name).is_symlink() {
            continue;
        }
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        match at % 6 {
            0 => fs::remove_file(repo.at(name)).expect("the place is ours"),
            1 => {
                repo.git(&["mv", name, &format!("{name}.moved")]);
            }
            2 => repo.write(
                name,
                lines.iter().enumerate().filter(|(n, _)| n % 17 != 3).map(|(_, l)| *l).collect::<String>(),
            ),
            3 => repo.write(
                name,
                lines
                    .iter()
                    .enumerate()
                    .map(|(n, l)| if n % 23 == 5 { format!("{l}{l}") } else { (*l).to_owned() })
                    .collect::<String>(),
            ),
            4 => repo.write(name, lines.iter().rev().copied().collect::<String>()),
            _ => {
                repo.write(name, text.replace("the", "teh"));
                repo.git(&["add", name]);
            }
        }
    }
    repo.path().to_owned()
}
