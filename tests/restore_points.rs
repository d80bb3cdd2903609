//! Restore points and timelines: records of a run directory beside the repository's own reflog, with git as the oracle.
//! Trust: test code; run directories are made by hand, hostile ones too.
#![cfg(unix)]

mod support;

use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, path::PathBuf};
use support::{Place, Repo, Server, Start};

/// A repository with a run directory that knows it as `abc`.
struct World {
    place: Place,
    run: PathBuf,
}

impl World {
    fn new() -> Self {
        let place = Place::new();
        Repo::honest(&place, "repo");
        let run = place.directory("run");
        place.directory("run/repos");
        place.directory("run/rebase");
        let world = Self { place, run };
        world.register("abc", world.repo().path().to_str().expect("places have UTF-8 paths"));
        world
    }

    fn repo(&self) -> Repo<'_> {
        Repo::open(&self.place, self.place.at("repo"))
    }

    fn register(&self, id: &str, path: &str) {
        fs::write(self.run.join(format!("repos/{id}.path")), format!("{path}\n")).expect("ours");
    }

    fn record(&self, id: &str, text: &str) {
        fs::write(self.run.join(format!("rebase/{id}.json")), text).expect("ours");
    }

    fn start(&self) -> Start<'_> {
        Start::new(&self.place).root(self.place.at("repo")).argument("--run-dir").argument(&self.run)
    }

    fn arguments(&self, more: Value) -> Value {
        let mut arguments = json!({"repoPath": self.place.at("repo")});
        for (key, value) in more.as_object().expect("an object") {
            arguments[key] = value.clone();
        }
        arguments
    }

    fn data(&self, server: &mut Server, tool: &str, more: Value) -> Value {
        server.call(tool, self.arguments(more)).data().clone()
    }
}

fn record(before: &str, after: &str, branch: &str, undone: bool) -> String {
    json!({
        "operation": "rebase", "before_commit": before, "after_commit": after, "branch_ref": branch, "undone": undone,
        "created_at": 1_800_000_000, "before_ref": "refs/flux/before", "reset_mode": "hard", "plan": {"steps": [1]},
    })
    .to_string()
}

#[test]
fn undo_and_redo_are_possible_exactly_where_the_repository_stands() {
    let world = World::new();
    let repo = world.repo();
    let (head, before) = (repo.git(&["rev-parse", "HEAD"]), repo.git(&["rev-parse", "HEAD~1"]));
    let mut server = world.start().spawn();
    for (text, undo, redo) in [
        (record(&before, &head, "refs/heads/main", false), true, false),
        (record(&head, &before, "refs/heads/main", true), false, true),
        (record(&before, &head, "refs/heads/side", false), false, false),
        (record(&before, &before, "refs/heads/main", false), false, false),
        (record(&before, &head, "refs/heads/main", true), false, false),
        ("{}".to_owned(), false, false),
    ] {
        world.record("abc", &text);
        let point = world.data(&mut server, "flux.latestRestorePoint", json!({}))["latestRestorePoint"].clone();
        assert_eq!((&point["canUndo"], &point["canRedo"]), (&json!(undo), &json!(redo)), "{text}");
        assert_eq!(point["metadata"]["currentHead"], json!(head));
        assert_eq!(point["metadata"]["currentBranchRef"], "refs/heads/main");
    }
    assert!(server.finish().status.success());
}

#[test]
fn one_record_is_found_by_its_id_and_by_no_other() {
    let world = World::new();
    let head = world.repo().git(&["rev-parse", "HEAD"]);
    world.record("abc", &record(&head, &head, "refs/heads/main", false));
    let mut server = world.start().spawn();
    let mut details = |id: Option<&str>| {
        let more = id.map_or(json!({}), |id| json!({ "restorePointId": id }));
        let data = world.data(&mut server, "flux.restorePointDetails", more);
        assert_eq!(data["restoreCount"], 1);
        data["restorePoint"].clone()
    };
    for id in [None, Some("abc"), Some("restore:abc:1800000000")] {
        let point = details(id);
        assert_eq!(point["metadata"]["plan"], json!({"steps": [1]}));
        assert_eq!(point["metadata"]["checkpointPath"], json!(world.run.join("rebase/abc.json")));
    }
    assert_eq!(details(Some("does-not-exist")), Value::Null);
}

#[test]
fn a_record_of_another_repository_is_not_taken() {
    let world = World::new();
    world.register("other", "/somewhere/else");
    world.record("other", "{}");
    world.record("unregistered", "{}");
    let mut server = world.start().argument("--gateway").argument("127.0.0.1:9").spawn();
    let mut count =
        |id: &str| world.data(&mut server, "flux.restorePoints", json!({"repoId": id}))["restoreCount"].clone();
    for id in ["other", "unregistered", "abc", "../rebase/other", "..", "a\0b"] {
        assert_eq!(count(id), 0, "{id}");
    }
    // nobody says whose it is, and this repository is not registered under another id
    fs::remove_file(world.run.join("repos/abc.path")).expect("ours");
    assert_eq!(count("unregistered"), 1);
    assert_eq!(count("other"), 0);
}

#[test]
fn hostile_files_are_told_and_stop_nothing() {
    let world = World::new();
    let file = world.run.join("rebase/abc.json");
    let secret = world.place.at("secret.json");
    fs::write(&secret, r#"{"operation":"secret"}"#).expect("ours");
    let mut server = world.start().spawn();
    let fifo = |path: &std::path::Path| nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    let makers: [(&str, &dyn Fn()); 5] = [
        ("garbage", &|| fs::write(&file, "{not json").expect("ours")),
        ("a FIFO", &|| fifo(&file)),
        ("a link", &|| symlink(&secret, &file).expect("a link")),
        ("a directory", &|| fs::create_dir(&file).expect("ours")),
        ("too long", &|| fs::write(&file, vec![b' '; (1 << 20) + 1]).expect("ours")),
    ];
    for (what, make) in makers {
        make();
        let data = world.data(&mut server, "flux.restorePoints", json!({}));
        assert_eq!((&data["restorePoints"], &data["restoreCount"]), (&json!([]), &json!(0)), "{what}");
        assert!(
            data["problems"][0].as_str().is_some_and(|problem| problem.contains("rebase/abc.json")),
            "{what}: {data}"
        );
        let removed = if file.is_dir() { fs::remove_dir(&file) } else { fs::remove_file(&file) };
        removed.expect("ours");
    }
    world.record("abc", "{}");
    fifo(&world.run.join("repos/z.path"));
    symlink("/etc/passwd", world.run.join("repos/y.path")).expect("a link");
    let data = world.data(&mut server, "flux.restorePoints", json!({}));
    assert_eq!(data["restoreCount"], 1);
    assert!(data["problems"][0].as_str().is_some_and(|problem| problem.starts_with("2 files of repos")), "{data}");
    assert!(!server.said().contains("secret\""));
    assert!(server.finish().status.success());
}

#[test]
fn run_directories_are_the_operators() {
    let world = World::new();
    world.record("abc", "{}");
    let evil = world.place.directory("evil");
    world.place.directory("evil/repos");
    fs::write(world.place.directory("evil/rebase").join("abc.json"), r#"{"operation":"evil"}"#).expect("ours");
    let mut server = world.start().spawn();
    let call =
        |server: &mut Server, dir: &PathBuf| server.call("flux.restorePoints", world.arguments(json!({"runDir": dir})));
    let refused = call(&mut server, &evil);
    refused.expect_refused("a directory of the caller's", &["bad-argument"]);
    assert!(refused.message.to_string().contains("--run-dir") && !server.said().contains("\"evil\""));
    for named in [world.run.clone(), world.place.at("evil/../run")] {
        assert_eq!(call(&mut server, &named).data()["restoreCount"], 1, "{}", named.display());
    }
    // the directory is no repository, and its worker says so
    server.read("repo.status", &world.run).expect_refused("the run directory", &["not-a-repository"]);
    assert!(server.finish().status.success());
}

#[test]
fn both_run_directories_are_looked_at() {
    let world = World::new();
    world.record("abc", r#"{"operation":"reset","created_at":10}"#);
    let second = world.place.directory("home/.local/share/FluxGit/run");
    for part in ["repos", "rebase"] {
        fs::create_dir(second.join(part)).expect("ours");
    }
    fs::copy(world.run.join("repos/abc.path"), second.join("repos/xyz.path")).expect("ours");
    fs::write(second.join("rebase/xyz.json"), r#"{"operation":"rebase","created_at":20}"#).expect("ours");
    let mut server = world.start().spawn();
    let data = world.data(&mut server, "flux.latestRestorePoint", json!({}));
    assert_eq!(data["restoreCount"], if cfg!(target_os = "macos") { 1 } else { 2 });
    assert_eq!(data["latestRestorePoint"]["repoId"], "xyz");
}

#[test]
fn without_gateway_and_record_the_payload_says_what_to_do() {
    let world = World::new();
    let mut server = world.start().spawn();
    for tool in ["safety.timeline", "safety.eventDetails", "flux.latestRestorePoint", "flux.restorePoints"] {
        let outcome = server.call(tool, world.arguments(json!({})));
        assert_eq!(outcome.code(), Some(10001), "{}", outcome.message);
        let payload = outcome.payload();
        assert_eq!((&payload["tier"], payload.get("source")), (&json!("fluxgit"), None));
        let data = &payload["error"]["data"];
        let keys: Vec<_> = data.as_object().expect("an object").keys().map(String::as_str).collect();
        let right = ["freeShellAlternative", "gatewayConfigured", "learnMore", "reason", "tier", "tool", "upgradeHint"];
        assert_eq!((keys.as_slice(), &data["tool"]), (&right[..], &json!(tool)));
    }
    for (gateway, configured) in [(None, false), (Some("http://localhost:80/"), true)] {
        let start = gateway.into_iter().fold(world.start(), |start, it| start.environment("FLUXGIT_GATEWAY_URL", it));
        let outcome = start.spawn().call("operation.status", json!({"previewId": "abc"}));
        assert_eq!(outcome.code(), Some(10003));
        let payload = outcome.payload();
        assert_eq!((&payload["tier"], payload.get("source")), (&json!("fluxgit-write-handshake"), None));
        assert_eq!(payload["error"]["data"]["gatewayConfigured"], json!(configured));
    }
}

#[test]
fn an_address_that_is_no_loopback_is_told_at_start() {
    let world = World::new();
    let output = world.start().arguments(&["--gateway", "10.0.0.1:1", "tools"]).output();
    assert_eq!(output.status.code(), Some(2));
    let output = world.start().environment("FLUXGIT_GATEWAY_ADDR", "10.0.0.1:1").argument("tools").output();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("FLUXGIT_GATEWAY_ADDR"));
}

#[test]
fn events_are_those_of_gits_reflog_and_are_found_again() {
    let world = World::new();
    let repo = world.repo();
    repo.git(&["checkout", "-q", "side"]);
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let gateway = |world: &World| world.start().argument("--gateway").argument("127.0.0.1:9").spawn();
    let mut server = gateway(&world);
    let arguments = json!({"reflogLimit": 100});
    let data = world.data(&mut server, "safety.timeline", arguments.clone());
    let events = data["events"].as_array().expect("a list").clone();
    let format = "--format=%H%x09%gd%x09%gs";
    let git = repo.git(&["reflog", "show", "HEAD", format]);
    let ours: Vec<String> = events
        .iter()
        .map(|event| {
            [&event["headAfter"], &event["reflogSelector"], &event["summary"]]
                .map(|v| v.as_str().unwrap_or(""))
                .join("\t")
        })
        .collect();
    assert_eq!(ours, git.lines().collect::<Vec<_>>());
    assert_eq!((&data["eventCount"], &data["totalEvents"]), (&json!(events.len()), &json!(events.len())));
    for pair in events.windows(2) {
        assert_eq!(pair[0]["headBefore"], pair[1]["headAfter"]);
    }
    assert_eq!(events.last().expect("commits were made")["headBefore"], Value::Null);
    assert_eq!((&events[0]["severity"], &events[0]["canCompare"]), (&json!("warning"), &json!(true)));
    let ids: std::collections::BTreeSet<_> = events.iter().map(|event| event["id"].to_string()).collect();
    assert_eq!(ids.len(), events.len(), "ids are unique");
    // the log grows, beyond what a timeline shows
    for number in 0..120 {
        repo.git(&["commit", "-q", "--allow-empty", "-m", &format!("later {number}")]);
    }
    for event in &events {
        let found = world.data(&mut server, "safety.eventDetails", json!({"eventId": event["id"]}));
        assert_eq!(found["eventFound"], true, "{event}");
        for member in ["headBefore", "headAfter", "summary", "occurredAtUnix", "identity"] {
            assert_eq!(found["event"][member], event[member], "{member}");
        }
    }
    let data = world.data(&mut server, "safety.timeline", json!({"limit": 3}));
    assert_eq!((&data["eventCount"], &data["truncated"]), (&json!(3), &json!(true)));
    assert_eq!(data["totalEvents"], json!(events.len() + 120));
    for id in ["nope", "reflog:HEAD@{0}:0:0", "reflog:HEAD@{99999}", "restore:abc:1", ""] {
        let found = world.data(&mut server, "safety.eventDetails", json!({"eventId": id}));
        assert_eq!((&found["eventFound"], &found["event"]), (&json!(false), &Value::Null), "{id}");
    }
    // records join the reflog by their time
    world.record("abc", r#"{"operation":"rebase","created_at":9000000000}"#);
    let data = world.data(&mut server, "safety.timeline", json!({}));
    assert_eq!(data["events"][0]["id"], "restore:abc:9000000000");
    let data = world.data(&mut server, "safety.timeline", json!({"includeReflog": false}));
    assert_eq!(data["totalEvents"], 1);
    let data = world.data(&mut server, "safety.timeline", json!({"includeRestorePoints": false, "limit": 1}));
    assert_eq!(data["events"][0]["source"], "reflog");
    assert!(server.finish().status.success());
}

#[test]
fn an_unborn_repository_has_an_empty_timeline() {
    let place = Place::new();
    let repo = Repo::init(&place, "repo");
    let mut server = Start::new(&place).root(repo.path()).arguments(&["--gateway", "[::1]:9"]).spawn();
    let outcome = server.read("safety.timeline", repo.path());
    assert_eq!((&outcome.data()["events"], &outcome.data()["totalEvents"]), (&json!([]), &json!(0)));
    assert!(server.finish().status.success());
}
