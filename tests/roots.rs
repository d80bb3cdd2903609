//! The ceiling: nothing outside of it is read, whatever a path says, and a ceiling that cannot be used is no ceiling.
//! Trust: paths come from an agent; roots come from the operator, who can mistype.

mod support;

use serde_json::json;
use std::{fs, os::unix::fs::symlink, path::Path};
use support::{Outcome, Place, Repo, Start};

/// What a server with that start says about a repository.
fn asked(start: Start<'_>, path: &Path) -> Outcome {
    let mut server = start.spawn();
    let outcome = server.read("repo.status", path);
    assert!(server.finish().status.success());
    outcome
}

#[test]
fn a_repository_outside_is_refused_without_a_word_about_it() {
    let place = Place::new();
    let inside = Repo::honest(&place, "inside/repo");
    let outside = Repo::honest(&place, "outside/repo");
    let mut server = Start::new(&place).root(place.at("inside")).spawn();
    let refused = server.read("repo.status", outside.path());
    assert_eq!(refused.code(), Some(-32011), "{}", refused.message);
    let data = &refused.error().expect("it has a code")["data"];
    assert!(data["repoPathFingerprint"].as_str().is_some_and(|text| text.starts_with("sha256:")), "{data}");
    // there or not there, readable or not: an outside path is an outside path
    let kinds = ["/etc", "/etc/shadow", "/no/such/place", "/root", "/proc/1/root"];
    let codes: Vec<_> = kinds.iter().map(|path| server.read("repo.status", Path::new(path)).code()).collect();
    assert_eq!(codes, vec![Some(-32011); kinds.len()]);
    let prefix = place.at("inside-not");
    Repo::honest(&place, "inside-not");
    assert_eq!(server.read("repo.status", &prefix).code(), Some(-32011), "a name that only begins like a root");
    assert!(server.read("repo.status", inside.path()).is_ok());
    assert!(server.finish().status.success());
}

#[test]
fn links_are_followed_to_where_they_lead_and_judged_there() {
    let place = Place::new();
    let inside = Repo::honest(&place, "inside/repo");
    let outside = Repo::honest(&place, "outside/repo");
    symlink(outside.path(), place.at("inside/out")).expect("ours");
    symlink(inside.path(), place.at("inside/in")).expect("ours");
    symlink(inside.path(), place.at("outside/in")).expect("ours");
    symlink("self", place.at("inside/self")).expect("ours");
    let mut server = Start::new(&place).root(place.at("inside")).spawn();
    assert_eq!(server.read("repo.status", &place.at("inside/out")).code(), Some(-32011));
    assert_eq!(server.read("repo.status", &place.at("inside/../outside/repo")).code(), Some(-32011));
    assert!(!server.read("repo.status", &place.at("inside/self")).is_ok());
    let linked = server.read("repo.status", &place.at("inside/in"));
    assert_eq!(linked.payload()["repoPath"], json!(inside.path()), "the answer names the repository, not the link");
    // a link that was turned after its first use leads to what it names now
    fs::remove_file(place.at("inside/in")).expect("ours");
    symlink(outside.path(), place.at("inside/in")).expect("ours");
    assert_eq!(server.read("repo.status", &place.at("inside/in")).code(), Some(-32011));
    let other = Repo::honest(&place, "inside/other");
    other.write("untracked", "x");
    fs::remove_file(place.at("inside/in")).expect("ours");
    symlink(other.path(), place.at("inside/in")).expect("ours");
    let turned = server.read("repo.status", &place.at("inside/in"));
    assert_eq!(turned.payload()["repoPath"], json!(other.path()));
    assert_eq!(turned.data()["clean"], json!(false), "never the answer of the old repository");
    assert!(server.finish().status.success());
}

#[test]
fn a_repository_put_in_anothers_place_is_another_repository() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let mut server = Start::new(&place).root(place.path()).spawn();
    let before = server.read("repo.brief", repo.path()).data()["head"]["sha"].clone();
    fs::rename(repo.path(), place.at("moved")).expect("ours");
    assert!(!server.read("repo.brief", repo.path()).is_ok(), "it is no longer there");
    let other = Repo::init(&place, "repo");
    other.write("b", "b");
    other.commit("another history");
    let after = server.read("repo.brief", repo.path()).data()["head"]["sha"].clone();
    assert_ne!(before, after);
    assert!(server.finish().status.success());
}

#[test]
fn a_root_inside_a_repository_never_climbs() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    repo.write("sub/file", "x");
    repo.commit("a directory");
    let outcome = asked(Start::new(&place).root(repo.at("sub")), &repo.at("sub"));
    outcome.expect_refused("discovery stops at the ceiling", &["not-a-repository", "outside-roots"]);
    let outcome = asked(Start::new(&place).root(repo.at("sub")), repo.path());
    outcome.expect_refused("the repository itself", &["outside-roots"]);
    // from the top of the ceiling downwards it is found from any directory
    let outcome = asked(Start::new(&place).root(repo.path()), &repo.at("sub"));
    assert_eq!(outcome.payload()["repoPath"], json!(repo.path()));
}

#[test]
fn a_root_that_cannot_be_used_refuses_every_call() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    fs::write(place.at("file"), "x").expect("ours");
    symlink("/", place.at("slash")).expect("ours");
    for root in [Path::new("/"), Path::new("//"), &place.at("slash"), &place.at("file"), &place.at("missing")] {
        for start in [
            Start::new(&place).root(root),
            // one bad root is not made good by another
            Start::new(&place).root(place.path()).root(root),
            Start::new(&place).environment("BULKHEAD_ROOTS", root),
            Start::new(&place).environment("FLUXGIT_MCP_ALLOWED_ROOTS", root),
        ] {
            let outcome = asked(start, repo.path());
            assert_eq!(outcome.code(), Some(-32010), "{}: {}", root.display(), outcome.message);
        }
    }
}

#[test]
fn roots_come_from_flags_then_environment_then_the_surroundings() {
    let place = Place::new();
    let one = Repo::honest(&place, "one/repo");
    let two = Repo::honest(&place, "two/repo");
    let at_home = Repo::honest(&place, "home/repo");
    let both = std::env::join_paths([place.at("one"), place.at("two")]).expect("no colon in them");
    let start = || Start::new(&place).cwd("/");
    for variable in ["BULKHEAD_ROOTS", "FLUXGIT_MCP_ALLOWED_ROOTS"] {
        assert!(asked(start().environment(variable, &both), two.path()).is_ok());
        assert_eq!(asked(start().environment(variable, &both), at_home.path()).code(), Some(-32011));
        let flagged = start().environment(variable, &both).root(place.at("one"));
        assert_eq!(asked(flagged, two.path()).code(), Some(-32011), "a flag outranks {variable}");
    }
    let ours = start().environment("BULKHEAD_ROOTS", place.at("one"));
    let ours = ours.environment("FLUXGIT_MCP_ALLOWED_ROOTS", place.at("two"));
    assert_eq!(asked(ours, two.path()).code(), Some(-32011), "our name outranks the alias");
    // without any: home, and the repository around the current directory
    assert!(asked(start(), at_home.path()).is_ok());
    assert_eq!(asked(start(), one.path()).code(), Some(-32011));
    assert!(asked(Start::new(&place).cwd(one.path()), one.path()).is_ok());
    // a server that a host starts in `/` works, too
    assert!(asked(start().root(place.at("one")), one.path()).is_ok());
}

#[test]
fn paths_must_be_absolute() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let mut server = Start::new(&place).root(place.path()).cwd(repo.path()).spawn();
    for path in [".", "repo", "./repo", "", " ", "~", "~/repo", "file:///etc"] {
        let outcome = server.call("repo.status", json!({"repoPath": path}));
        assert_eq!(outcome.code(), Some(-32602), "{path:?}: {}", outcome.message);
    }
    assert!(server.finish().status.success());
}

#[test]
fn the_command_line_takes_the_repository_that_it_stands_in() {
    let place = Place::new();
    let repo = Repo::honest(&place, "repo");
    let call = |words: &[&str]| Start::new(&place).cwd(repo.path()).arguments(&["call"]).arguments(words).output();
    let output = call(&["repo.status"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let payload: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one line of JSON");
    assert_eq!(payload["repoPath"], json!(repo.path()));
    assert_eq!(call(&["repo.status", "repoPath=/etc"]).status.code(), Some(1));
    assert_eq!(call(&["repo.status", "not-a-pair"]).status.code(), Some(2));
}
