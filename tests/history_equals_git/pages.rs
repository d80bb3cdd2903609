//! Cursors: stable, as cheap on the last page as on the first, right without the worker that gave them, refused if forged.
//! Trust: see the module above.

use super::{expected, generated, listed, same, support};
use serde_json::{Value, json};
use support::{Place, Repo, Start};

#[test]
fn pages_join_whatever_their_size() {
    let place = Place::new();
    let (repo, paths) = generated(&place, "r", 4, 300);
    let mut server = Start::new(&place).root(place.path()).spawn();
    let git = expected(&repo, &["HEAD"]);
    for limit in [1, 2, 7, 50, 200] {
        same(&format!("by {limit}"), &listed(&mut server, repo.path(), &json!({}), limit), &git);
    }
    for path in paths.iter().step_by(5) {
        let git = expected(&repo, &["HEAD", "--", path]);
        same(path, &listed(&mut server, repo.path(), &json!({"path": path}), 2), &git);
    }
    assert!(server.finish().status.success());
}

#[test]
fn a_cursor_outlives_its_worker_and_commits_that_arrive() {
    let place = Place::new();
    let (repo, paths) = generated(&place, "r", 5, 200);
    for arguments in [
        json!({}),
        json!({"path": paths[3]}),
        json!({"path": paths[3], "follow": true}),
        json!({"range": "HEAD~12..HEAD"}),
    ] {
        let mut options = vec!["HEAD".to_owned()];
        if let Some(range) = arguments["range"].as_str() {
            options = vec![range.to_owned()];
        }
        if arguments["follow"] == json!(true) {
            options.insert(0, "--follow".to_owned());
        }
        if let Some(path) = arguments["path"].as_str() {
            options.extend(["--".to_owned(), path.to_owned()]);
        }
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let git = expected(&repo, &options);
        let mut ids: Vec<String> = Vec::new();
        let mut whole = arguments.clone();
        (whole["repoPath"], whole["limit"]) = (json!(repo.path()), json!(9));
        loop {
            let mut server = Start::new(&place).root(place.path()).spawn();
            let outcome = server.call("repo.history", whole.clone());
            let data = outcome.data().clone();
            ids.extend(
                data["commits"]
                    .as_array()
                    .expect("commits")
                    .iter()
                    .filter_map(|c| c["hash"].as_str())
                    .map(str::to_owned),
            );
            assert!(server.finish().status.success());
            let Some(next) = data["nextCursor"].as_str() else { break };
            whole["cursor"] = json!(next);
            repo.git(&["commit", "-q", "--allow-empty", "-m", "arrived meanwhile"]);
        }
        repo.git(&[
            "update-ref",
            "refs/heads/main",
            &expected(&repo, &["--grep=^\\(fix\\|feat\\|docs\\): number 200$", "--all"])[0],
        ]);
        same(&arguments.to_string(), &ids, &git);
    }
}

#[test]
fn what_is_not_understood_is_refused_by_name() {
    let place = Place::new();
    let repo = Repo::honest(&place, "r");
    let other = Repo::honest(&place, "other");
    other.commit("of another repository");
    let mut server = Start::new(&place).root(place.path()).spawn();
    let page = |server: &mut support::Server, repo: &Repo<'_>| {
        let outcome = server.call("repo.history", json!({"repoPath": repo.path(), "limit": 1}));
        outcome.data()["nextCursor"].as_str().expect("there is more").to_owned()
    };
    let (own, foreign) = (page(&mut server, &repo), page(&mut server, &other));
    let bad: Vec<Value> = vec![
        json!({"cursor": "abc"}),
        json!({"cursor": "-5"}),
        json!({"cursor": "2"}),
        json!({"cursor": ""}),
        json!({"cursor": foreign}),
        json!({"cursor": format!("{own}0")}),
        json!({"cursor": own, "path": "a.txt"}),
        json!({"cursor": own, "follow": true, "path": "a.txt"}),
        json!({"range": "--output=/tmp/x"}),
        json!({"range": "-p"}),
        json!({"range": "main..--evil"}),
        json!({"range": "nowhere"}),
        json!({"range": "a..b..c"}),
        json!({"range": "HEAD^{tree}"}),
        json!({"since": "soon"}),
        json!({"until": "--format=evil"}),
        json!({"author": "\\(a\\)\\1"}),
        json!({"grep": "[a"}),
        json!({"path": "../r"}),
        json!({"path": "/etc"}),
        json!({"path": "  "}),
        json!({"follow": true}),
    ];
    for mut arguments in bad {
        arguments["repoPath"] = json!(repo.path());
        let outcome = server.call("repo.history", arguments.clone());
        outcome.expect_refused(&arguments.to_string(), &["bad-argument"]);
    }
    assert!(server.finish().status.success());
}

#[test]
fn unborn_bare_shallow_and_replaced() {
    let place = Place::new();
    let repo = Repo::honest(&place, "r");
    let unborn = Repo::init(&place, "unborn");
    let clone = |name: &str, options: &[&str]| {
        let url = format!("file://{}", repo.path().display());
        let to = place.at(name);
        let mut all = vec!["clone", "-q"];
        all.extend(options);
        all.extend([&url, to.to_str().expect("UTF-8")]);
        repo.git(&all);
        Repo::open(&place, to)
    };
    let (bare, shallow) = (clone("bare.git", &["--bare"]), clone("shallow", &["--depth=2"]));
    let replaced = clone("replaced", &[]);
    replaced.git(&["commit-graph", "write", "--reachable", "--changed-paths"]);
    replaced.git(&["replace", "--graft", "HEAD", "HEAD~2"]);
    let mut server = Start::new(&place).root(place.path()).spawn();
    assert_eq!(listed(&mut server, unborn.path(), &json!({}), 9), Vec::<String>::new());
    for repo in [&bare, &shallow, &replaced] {
        same(
            &repo.path().display().to_string(),
            &listed(&mut server, repo.path(), &json!({}), 9),
            &expected(repo, &["HEAD"]),
        );
        let ours = listed(&mut server, repo.path(), &json!({"path": "a.txt"}), 9);
        same(&format!("{} a.txt", repo.path().display()), &ours, &expected(repo, &["HEAD", "--", "a.txt"]));
    }
    assert!(server.finish().status.success());
}
