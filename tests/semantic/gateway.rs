//! Files without a grammar, and a gateway that has an engine: what leaves, what is shown of the answer, and that nothing waits
//! for a gateway that has none. Trust: the gateway is the tests' own.

use crate::support::{
    Place, Repo, Start,
    gateway::{Answer, Gateway},
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn changed(place: &Place) -> Repo<'_> {
    let repo = Repo::honest(place, "repo");
    for (file, text) in [("a.zzz", "one\n"), ("b.zzz", "one\n"), ("c.rs", "fn one() {}\n")] {
        repo.write(file, text);
    }
    repo.git(&["add", "-A"]);
    repo.commit("old");
    for file in ["a.zzz", "b.zzz"] {
        repo.write(file, "two\n");
    }
    repo
}

fn line() -> Value {
    json!({"type": "modified", "oldLine": 1, "newLine": 1, "content": "two", "oldContent": "one",
        "changedTokens": ["two"], "oldChangedTokens": ["one"]})
}

#[test]
fn files_without_a_grammar_are_shown_as_an_engine_behind_the_gateway_compares_them() {
    let place = Place::new();
    let repo = changed(&place);
    let gateway = Gateway::start();
    let run_dir = place.directory("run");
    std::fs::create_dir(run_dir.join("repos")).expect("the place is ours");
    std::fs::write(run_dir.join("repos/repo-abc.path"), repo.path().to_str().expect("text")).expect("it is ours");
    let start = Start::new(&place).root(repo.path()).environment("BULKHEAD_RUN_DIR", &run_dir);
    let mut server = start.arguments(&["--gateway", &gateway.address()]).spawn();
    let hunks = json!([{"header": "chapter", "lines": [line()]}]);
    let body = json!({"files": [
        {"path": "a.zzz", "fallbackToText": false, "hunks": hunks},
        {"path": "/etc/passwd", "fallbackToText": false, "hunks": hunks},
    ]});
    gateway.script([Answer::Say(200, body.to_string().into())]);
    let outcome = server.read("diff.semantic", repo.path());
    let data = outcome.data();
    assert_eq!(
        (&outcome.payload()["source"], &data["engine"]),
        (&json!("fluxgit-gateway"), &json!("fluxgit-diff-engine"))
    );
    assert_eq!(outcome.payload()["readOnly"], json!(true));
    let [a, b] = data["files"].as_array().expect("files").as_slice() else { panic!("two rows: {data}") };
    assert_eq!((&a["path"], &a["hunks"]), (&json!("a.zzz"), &hunks));
    assert_eq!((&b["path"], &b["reason"]), (&json!("b.zzz"), &json!("unsupported-language")));
    let [seen] = &gateway.seen()[..] else { panic!("one request") };
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/v1/mcp/diff/semantic"));
    let right = json!({"baseRef": "", "headRef": "", "paths": ["a.zzz", "b.zzz"], "repoId": "repo-abc",
        "repoPath": repo.path()});
    assert_eq!(seen.body, right.to_string().as_bytes(), "compact, and sorted");

    // the gateway has no such engine: the answer is ours, at once, and says that it was asked
    gateway.always(|_| Answer::Say(404, b"{\"error\":\"x\"}".to_vec()));
    for tool in ["diff.semantic", "diff.semanticFallbacks"] {
        let outcome = server.read(tool, repo.path());
        assert_eq!(outcome.payload()["source"], json!("local-git"));
        assert!(outcome.data().to_string().contains("HTTP status 404"), "{}", outcome.message);
    }
    assert_eq!(gateway.seen().len(), 2);

    // one file with a grammar is enough for ours
    repo.write("c.rs", "fn two() {}\n");
    let outcome = server.read("diff.semantic", repo.path());
    assert_eq!(outcome.data()["engine"], json!("tree-sitter"));
    assert!(gateway.seen().is_empty());
    assert!(server.finish().status.success());
}

#[test]
fn a_gateway_that_hangs_holds_such_a_read_up_for_no_longer_than_its_call_lasts() {
    let place = Place::new();
    let repo = changed(&place);
    let gateway = Gateway::start();
    gateway.always(|_| Answer::After(Duration::from_secs(30), Box::new(Answer::Bytes(Vec::new()))));
    let start = Start::new(&place).root(place.path());
    let mut server = start.arguments(&["--gateway", &gateway.address(), "--deadline", "3"]).spawn();
    let begun = Instant::now();
    let outcome = server.call("diff.semantic", json!({"repoPath": repo.path(), "repoId": "mine"}));
    assert_eq!(outcome.payload()["source"], json!("local-git"));
    let reason = outcome.data()["reason"].as_str().expect("why").to_owned();
    assert!(reason.contains("did not answer within"), "{reason}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(server.finish().status.success());
}
