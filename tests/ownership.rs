//! Whose repositories are read: the operator's own, those that the operator's configuration lists, those that a flag names.
//! Trust: a repository of another user may be a trap (CVE-2022-24765); only root can build one here.

mod support;

use std::{fs, os::unix::fs::chown, path::Path};
use support::{Outcome, Place, Repo, Start, unmet};

/// A user who is nobody's friend.
const STRANGER: u32 = 65_534;

/// Gives a tree to another user.
fn give(path: &Path, user: u32) {
    if !path.is_symlink() && path.is_dir() {
        fs::read_dir(path).expect("ours").for_each(|entry| give(&entry.expect("an entry").path(), user));
    }
    std::os::unix::fs::lchown(path, Some(user), Some(user)).expect("root may");
}

fn asked(start: Start<'_>, path: &Path) -> Outcome {
    let mut server = start.spawn();
    let outcome = server.read("repo.status", path);
    assert!(server.finish().status.success());
    outcome
}

/// A place with a stranger's repository in it that everybody may read.
fn strangers() -> (Place, std::path::PathBuf) {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let path = repo.path().to_owned();
    give(&path, STRANGER);
    (place, path)
}

#[test]
fn a_strangers_repository_is_refused_and_the_refusal_names_the_flag() {
    if !unmet::has_root() {
        return;
    }
    let (place, path) = strangers();
    let outcome = asked(Start::new(&place).root(place.path()), &path);
    outcome.expect_refused("a stranger's", &["untrusted-owner"]);
    let text = outcome.error().expect("refused").to_string();
    assert!(text.contains(&format!("--trust-owner {STRANGER}")), "the flag stands in the refusal: {text}");
}

#[test]
fn a_git_directory_of_a_stranger_in_a_tree_of_ours_is_refused_too() {
    if !unmet::has_root() {
        return;
    }
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    give(&repo.git_dir(), STRANGER);
    let refused = asked(Start::new(&place).root(place.path()), repo.path());
    refused.expect_refused("its git directory is a stranger's", &["untrusted-owner"]);
    let repo = Repo::honest(&place, "other");
    chown(repo.path(), Some(STRANGER), Some(STRANGER)).expect("root may");
    let refused = asked(Start::new(&place).root(place.path()), repo.path());
    refused.expect_refused("its working tree is a stranger's", &["untrusted-owner"]);
}

#[test]
fn the_flag_and_the_variable_trust_whom_they_name() {
    if !unmet::has_root() {
        return;
    }
    let (place, path) = strangers();
    let start = || Start::new(&place).root(place.path());
    let uid = STRANGER.to_string();
    assert!(asked(start().arguments(&["--trust-owner", &uid]), &path).is_ok());
    assert!(asked(start().arguments(&["--trust-owner", "1", "--trust-owner", &uid]), &path).is_ok());
    assert!(asked(start().arguments(&["--trust-owner", "any"]), &path).is_ok());
    assert!(asked(start().environment("BULKHEAD_TRUST_OWNER", &uid), &path).is_ok());
    assert!(asked(start().environment("SUDO_UID", &uid), &path).is_ok(), "root trusts the user behind sudo");
    asked(start().arguments(&["--trust-owner", "1"]), &path).expect_refused("somebody else", &["untrusted-owner"]);
    asked(start().environment("SUDO_UID", "1"), &path).expect_refused("somebody else", &["untrusted-owner"]);
    let output = start().arguments(&["--trust-owner", "nobody", "doctor"]).output();
    assert_eq!(output.status.code(), Some(2), "a name is not a user id");
}

#[test]
fn the_operators_own_configuration_is_honoured_and_the_repositorys_is_not() {
    if !unmet::has_root() {
        return;
    }
    let (place, path) = strangers();
    let config = place.home().join(".gitconfig");
    let before = fs::read_to_string(&config).expect("it is there");
    let start = || Start::new(&place).root(place.path());
    for (directory, trusted) in [
        (path.display().to_string(), true),
        ("*".to_owned(), true),
        (format!("{}/*", place.path().display()), true),
        (place.at("other").display().to_string(), false),
    ] {
        fs::write(&config, format!("{before}[safe]\n\tdirectory = {directory}\n")).expect("ours");
        let outcome = asked(start(), &path);
        assert_eq!(outcome.is_ok(), trusted, "safe.directory = {directory}: {}", outcome.message);
    }
    // an empty value takes back what stands before it
    fs::write(&config, format!("{before}[safe]\n\tdirectory = *\n\tdirectory =\n")).expect("ours");
    asked(start(), &path).expect_refused("taken back", &["untrusted-owner"]);
    fs::write(&config, before).expect("ours");
    let local = path.join(".git/config");
    let text = fs::read_to_string(&local).expect("it is there");
    fs::write(local, text + "[safe]\n\tdirectory = *\n").expect("root may");
    asked(start(), &path).expect_refused("its own word", &["untrusted-owner"]);
}

#[test]
fn a_private_repository_of_another_user_is_not_read_by_override() {
    if !unmet::has_root() {
        return;
    }
    use std::os::unix::fs::PermissionsExt as _;
    let (place, path) = strangers();
    fs::set_permissions(path.join(".git"), fs::Permissions::from_mode(0o700)).expect("root may");
    let start = Start::new(&place).root(place.path()).arguments(&["--trust-owner", "any"]);
    // root's workers have no capabilities: what only an override could read is not read
    asked(start, &path).expect_refused("private", &["permission-denied", "not-a-repository"]);
}
