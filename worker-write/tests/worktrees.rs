//! Working trees: made where the operator allows it, removed with a way back.
//! Trust: test code.
#![cfg(unix)]

mod support;

use bulkhead_contract::direct::Class;
use bulkhead_ipc::edge::write::Operation;
use std::{fs, os::unix::fs::symlink, path::Path};
use support::Bench;

fn create(path: &str, branch: &str, base: &str) -> Operation {
    Operation::CreateWorktree { path: path.to_owned(), branch: branch.to_owned(), base: base.to_owned() }
}

fn remove(path: impl AsRef<Path>, force: bool) -> Operation {
    Operation::RemoveWorktree { path: path.as_ref().to_str().expect("UTF-8").to_owned(), force }
}

#[test]
fn a_working_tree_is_made_beside_and_inside() {
    let bench = Bench::honest();
    bench.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    for (path, branch, base) in
        [("../rel", "relb", "HEAD~1"), ("inside", "inb", "v1"), ("made/below", "belowb", "origin/main")]
    {
        let done = bench.done(&create(path, branch, base));
        assert_eq!(done.id.as_deref(), Some(bench.id(base).as_str()));
        assert_eq!(bench.id(branch), bench.id(base));
        assert!(bench.at(path).join("a.txt").is_file());
        assert!(!bench.try_git(&["config", &format!("branch.{branch}.remote")]).status.success());
    }
    let absolute = bench.beside("absolute");
    bench.done(&create(absolute.to_str().expect("UTF-8"), "absb", "main"));
    assert_eq!(bench.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 5);
}

#[test]
fn no_working_tree_is_made_where_it_may_not_be() {
    let mut bench = Bench::honest();
    let other = Bench::empty();
    symlink(other.root(), bench.beside("leads-out")).expect("ours");
    symlink(bench.git_dir(), bench.beside("leads-in")).expect("ours");
    let outside = other.beside("x");
    let before = bench.picture();
    let cases = [
        (create(outside.to_str().expect("UTF-8"), "nb", "main"), Class::Refused),
        (create("../leads-out/x", "nb", "main"), Class::Refused),
        (create("../leads-in/x", "nb", "main"), Class::Refused),
        (create(".git/evil", "nb", "main"), Class::Refused),
        (create("sub/.GIT/x", "nb", "main"), Class::Refused),
        (create("..", "nb", "main"), Class::Refused),
        (create(".", "nb", "main"), Class::Refused),
        (create("../made/below", "nb", "main"), Class::NotFound),
        (create("../x", "main", "main"), Class::Refused),
        (create("../x", "bad..name", "main"), Class::Refused),
        (create("../x", "nb", "nosuch"), Class::NotFound),
        (create("../x", "nb", "--all"), Class::NotFound),
        (create("-x", "nb", "main"), Class::Refused),
        (create("", "nb", "main"), Class::Refused),
    ];
    for (operation, class) in cases {
        bench.refused(&operation, class);
    }
    assert_eq!(bench.picture(), before);
    assert!(!outside.exists() && !bench.beside("x").exists());
    bench.allowed.roots = vec![bench.allowed.root.clone()];
    bench.refused(&create("../x", "nb", "main"), Class::Refused);
    bench.done(&create("inside", "nb", "main"));
}

#[test]
fn a_clean_one_is_removed_and_its_branch_stays() {
    let bench = Bench::honest();
    bench.done(&create("../tree", "nb", "main"));
    let done = bench.done(&remove("../tree", false));
    assert!(!bench.beside("tree").exists());
    assert_eq!(bench.id("nb"), bench.id("main"));
    assert!(done.restore_point.is_some() && done.notes.is_empty(), "{done:?}");
}

#[test]
fn one_with_changes_needs_force_and_stays_in_the_restore_point() {
    let bench = Bench::honest();
    let tree = bench.beside("tree");
    bench.done(&create("../tree", "nb", "main"));
    fs::write(tree.join("a.txt"), "changed there\n").expect("ours");
    fs::write(tree.join("new"), "new there\n").expect("ours");
    fs::write(tree.join("x.ignored"), "gone\n").expect("ours");
    fs::write(bench.git_dir().join("info/exclude"), "*.ignored\n").expect("ours");
    let failed = bench.refused(&remove(&tree, false), Class::Dirty);
    assert!(failed.reason.contains("a.txt") && failed.reason.contains("new"), "{failed:#?}");
    assert!(tree.join("new").exists());
    let done = bench.done(&remove(&tree, true));
    assert!(!tree.exists());
    let point = done.restore_point.clone().expect("it was made");
    let shown = |what: &str| bench.git(&["show", &format!("refs/bulkhead/restore/{point}/{what}")]);
    assert_eq!((shown("worktree:a.txt"), shown("untracked:new")), ("changed there".to_owned(), "new there".to_owned()));
    assert!(done.notes.iter().any(|note| note.contains("1 ignored")), "{done:?}");
    // it is of that tree, not of this one
    assert_eq!(bench.refused(&Operation::Restore { id: point }, Class::Refused).restore_point, None);
}

#[test]
fn main_served_locked_and_unknown_ones_stay() {
    let mut bench = Bench::honest();
    let tree = bench.beside("tree");
    bench.done(&create("../tree", "nb", "main"));
    bench.git(&["worktree", "lock", "../tree"]);
    bench.refused(&remove(&tree, true), Class::Refused);
    bench.git(&["worktree", "unlock", "../tree"]);
    for (path, class) in [(".", Class::Refused), ("nosuch", Class::NotFound), ("/etc", Class::NotFound)] {
        bench.refused(&remove(path, true), class);
    }
    let main = bench.root();
    bench.serving(&tree);
    for path in [Path::new("."), &tree, &main] {
        bench.refused(&remove(path, true), Class::Refused);
    }
    assert!(tree.join("a.txt").exists() && main.join("a.txt").exists());
}

#[test]
fn one_that_was_deleted_by_hand_is_forgotten() {
    let bench = Bench::honest();
    let tree = bench.beside("tree");
    bench.done(&create("../tree", "nb", "main"));
    fs::remove_dir_all(&tree).expect("ours");
    bench.done(&remove(&tree, false));
    assert_eq!(bench.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
}

#[test]
fn one_with_a_submodule_is_not_removed() {
    let bench = Bench::honest();
    bench.git(&["clone", "-q", "--bare", ".", "../sub.git"]);
    bench.done(&create("../tree", "nb", "main"));
    let tree = bench.beside("tree");
    let git = |arguments: &[&str]| {
        let output = bench.git_command().current_dir(&tree).args(arguments).output().expect("git runs");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    git(&["submodule", "--quiet", "add", "../sub.git", "sub"]);
    git(&["commit", "-q", "-m", "a submodule"]);
    for force in [false, true] {
        let failed = bench.refused(&remove(&tree, force), Class::Refused);
        assert!(failed.reason.contains("sub"), "{failed:#?}");
    }
    assert!(tree.join("sub/a.txt").exists());
}
