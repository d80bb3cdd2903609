//! Fleet calls against a stand-in that answers, fails, hangs and panics by the path it is asked for; time stands still.
//! Trust: test code.

use super::*;
use crate::{
    control::{Stopper, Tick},
    gateway::Interrupted,
    mcp,
    outcome::Answered,
    reads::Question,
};
use bulkhead_contract::{
    args, catalogue,
    failure::{ReadFailure, Reason},
    results::{DigestEvent, DigestEvents, DigestKind, DigestSource, RadarEntry},
};
use bulkhead_ipc::edge::{
    agents,
    gateway::{Exchange, Outcome},
    read::{Ask, Reply},
    syntax,
    write::{self, Operation},
};
use serde_json::json;
use std::{cell::Cell, collections::BTreeMap, time::Duration};
use tokio::sync::mpsc;

/// Answers by the last name of the path.
#[derive(Debug, Default)]
struct Fake {
    asked: Cell<usize>,
    open: Cell<usize>,
    most_open: Cell<usize>,
    stopped: Cell<usize>,
    dropped: Cell<usize>,
}

/// Counts a reading as over, however it ends.
struct Open<'a>(&'a Fake, bool);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get() - 1);
        self.0.dropped.set(self.0.dropped.get() + usize::from(!self.1));
    }
}

impl Reads for Fake {
    async fn read(&self, question: Question, mut control: Control) -> Result<Answered, CallError> {
        self.asked.set(self.asked.get() + 1);
        self.open.set(self.open.get() + 1);
        self.most_open.set(self.most_open.get().max(self.open.get()));
        let mut open = Open(self, false);
        let limit = control.limit().expect("a part of a fleet call is limited");
        tokio::time::sleep(Duration::from_millis(10)).await;
        let failure = |reason| Err(CallError::Read(ReadFailure::new(reason, "open", "It cannot be read so.")));
        let name = question.path.rsplit('/').next().unwrap_or_default();
        let outcome = match name.trim_end_matches(char::is_numeric) {
            "outside" => failure(Reason::OutsideRoots),
            "broken" => failure(Reason::Corrupt),
            "panic" => panic!("the stand-in breaks, as it was told to"),
            "died" => Err(CallError::WorkerDied { how: "signal 6".into() }),
            "unconfined" => {
                Err(CallError::IsolationMissing { layer: "network".into(), cause: "no seccomp".to_owned() })
            }
            "stuck" => tokio::select! {
                () = tokio::time::sleep(limit) => Err(CallError::Deadline { seconds: limit.as_secs() }),
                () = control.stopped() => {
                    self.stopped.set(self.stopped.get() + 1);
                    Err(CallError::Cancelled)
                }
            },
            _ => Ok(Answered { canonical: question.path.clone().into_bytes(), reply: reply(name, &question.ask) }),
        };
        open.1 = true;
        outcome
    }

    fn noted(&self, _client: &crate::reads::Client, _tool: &str, _canonical: &[u8]) {}

    async fn scan(&self, root: Vec<u8>, _: Vec<String>, _: Control) -> Result<[agents::Found; 2], CallError> {
        panic!("the stand-in was not taught who works in {}", String::from_utf8_lossy(&root))
    }

    async fn exchange(&self, exchange: Exchange, _control: Control) -> Result<Outcome, Interrupted> {
        panic!("the stand-in was not taught to carry {exchange:?}")
    }

    async fn write(&self, operation: Operation, _control: Control) -> Result<write::Outcome, CallError> {
        panic!("the stand-in was not taught to write {operation:?}")
    }

    async fn syntax(&self, ask: syntax::Ask, _control: Control) -> Result<syntax::Reply, CallError> {
        panic!("the stand-in was not taught to compare {}", String::from_utf8_lossy(&ask.path))
    }
}

fn reply(name: &str, ask: &Ask) -> Reply {
    let has_upstream = !name.starts_with("alone");
    match ask {
        Ask::Radar(_) => Reply::Radar(Box::new(RadarEntry {
            has_upstream,
            upstream: has_upstream.then(|| "origin/main".to_owned()),
            branch: Some("main".into()),
            changed_files: u64::from(name.starts_with("dirty")),
            dirty: name.starts_with("dirty"),
            ..RadarEntry::default()
        })),
        Ask::Digest(ask) => {
            let events = (0..ask.max_events.min(3)).map(|n| DigestEvent {
                at_ms: 1_000 * i64::from(10 - n),
                ref_name: "HEAD".into(),
                ref_name_encoding: None,
                kind: DigestKind::Commit,
                old_oid: None,
                new_oid: None,
                message: "m".repeat(10_000),
                identity: "A <a@example.org>".into(),
                rewrote: false,
                source: DigestSource::Git,
            });
            let events = if name.starts_with("quiet") { Vec::new() } else { events.collect() };
            let event_count = if name.starts_with("quiet") { 0 } else { 3 };
            Reply::Digest(Box::new(DigestEvents { events, event_count, truncated: false, partial: None }))
        }
        other => panic!("a fleet call does not ask {other:?}"),
    }
}

/// Runs a call on a paused clock.
fn run(tool: &str, arguments: &Value, fake: &Fake, ticks: Option<mpsc::Sender<Tick>>) -> Result<Value, CallError> {
    let (_stopper, control) = Control::pair(ticks);
    paused(async { call(tool, arguments, fake, control).await })
}

async fn call(tool: &str, arguments: &Value, fake: &Fake, control: Control) -> Result<Value, CallError> {
    let row = catalogue::find(tool).expect("it has a row");
    let checked = args::check(row, arguments).expect("the arguments fit");
    let fleet = Fleet::plan(tool, &checked, [0; 32]).expect("it is of this family");
    let done = fleet.done(fake, &mcp::tests::settings(), control).await?;
    assert_eq!(done.canonical, None);
    Ok(done.data.expect("an answer has data"))
}

fn paused<T>(test: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(true).build().expect("a runtime").block_on(test)
}

fn radar(paths: &[&str], fake: &Fake) -> Value {
    run("fleet.radar", &json!({ "repoPaths": paths }), fake, None).expect("it answers")
}

#[test]
fn no_repository_makes_the_call_fail() {
    let fake = Fake::default();
    let paths = ["/w/a", "/w/outside", "/w/panic", "/w/died", "/w/broken", "/w/stuck", "/w/dirty", "/w/alone"];
    let data = radar(&paths, &fake);
    let rows: BTreeMap<&str, &Value> = data["entries"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| (row["label"].as_str().expect("a label"), row))
        .collect();
    assert_eq!(rows.len(), paths.len());
    for (label, status, error) in [
        ("a", "clean", ""),
        ("outside", "unknown", "outside-roots: "),
        ("panic", "unknown", "worker-died: "),
        ("died", "unknown", "worker-died: the process that read it ended (signal 6)."),
        ("broken", "unknown", "corrupt: "),
        ("stuck", "unknown", "deadline: it did not answer within 10 s."),
        ("dirty", "local_changes", ""),
        ("alone", "no_upstream", ""),
    ] {
        assert_eq!(rows[label]["status"], status, "{label}");
        let said = rows[label]["error"].as_str().expect("a text");
        assert!(said.starts_with(error) && said.is_empty() == error.is_empty(), "{label}: {said}");
    }
    let stack: Vec<_> = data["attentionStack"].as_array().expect("rows").iter().map(|row| &row["label"]).collect();
    assert_eq!(stack, ["dirty", "alone", "outside", "panic", "died", "broken", "stuck"]);
    let counts =
        ["requestedCount", "scannedCount", "failedCount", "dirtyCount", "truncatedCount"].map(|name| &data[name]);
    assert_eq!(counts, [8, 8, 5, 1, 0].map(|count| json!(count)).each_ref());
    assert!(data.get("partial").is_none() && data.get("unansweredCount").is_none());
}

#[test]
fn several_are_read_at_once_and_room_is_left_for_others() {
    let fake = Fake::default();
    let paths: Vec<String> = (0..60).map(|n| format!("/w/r{n}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    radar(&paths, &fake);
    let settings = mcp::tests::settings();
    assert_eq!(fake.most_open.get(), settings.workers_per_repository + 2);
    assert!(fake.most_open.get() < settings.max_workers);
}

#[test]
fn what_is_there_is_answered_before_the_deadline() {
    let fake = Fake::default();
    // four at once, ten seconds each: two rounds are over after twenty of twenty-four seconds
    let mut paths: Vec<String> = (0..30).map(|n| format!("/w/stuck{n}")).collect();
    paths.insert(0, "/w/a".into());
    let data = run("fleet.radar", &json!({ "repoPaths": paths }), &fake, None).expect("it answers");
    let (scanned, missing) = (data["scannedCount"].as_u64(), data["unansweredCount"].as_u64());
    assert_eq!(scanned.zip(missing).map(|(scanned, missing)| scanned + missing), Some(31));
    assert!(missing > Some(10), "{data}");
    assert_eq!((&data["truncatedCount"], &data["partial"]["reason"]), (&json!(missing), &json!("deadline")));
    assert!(data["elapsedMs"].as_u64() <= Some(24_100), "{}", data["elapsedMs"]);
    assert_eq!(data["entries"][0]["label"], "a");
    assert_eq!(fake.open.get(), 0, "nobody is left waiting");
}

#[test]
fn a_cancelled_call_stops_its_parts() {
    let fake = Fake::default();
    let paths: Vec<String> = (0..30).map(|n| format!("/w/stuck{n}")).collect();
    let arguments = json!({ "repoPaths": paths });
    let (stopper, control): (Stopper, Control) = Control::pair(None);
    let outcome = paused(async {
        tokio::join!(call("fleet.radar", &arguments, &fake, control), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            stopper.stop();
        })
        .0
    });
    assert!(matches!(outcome, Err(CallError::Cancelled)), "{outcome:?}");
    assert_eq!((fake.asked.get(), fake.open.get()), (4, 0), "no further one was asked, and none goes on");
    assert_eq!(fake.dropped.get() + fake.stopped.get(), 4);
}

#[test]
fn what_holds_for_every_repository_is_no_row() {
    let outcome = run("fleet.radar", &json!({"repoPaths": ["/w/a", "/w/unconfined"]}), &Fake::default(), None);
    assert!(matches!(outcome, Err(CallError::IsolationMissing { .. })), "{outcome:?}");
}

#[test]
fn progress_counts_repositories() {
    let (sender, mut ticks) = mpsc::channel(16);
    let arguments = json!({"repoPaths": ["/w/a", "/w/b", "/w/broken"]});
    run("fleet.radar", &arguments, &Fake::default(), Some(sender)).expect("it answers");
    let told: Vec<_> = std::iter::from_fn(|| ticks.try_recv().ok()).collect();
    assert_eq!(told, [1, 2, 3].map(|done| Tick { done, total: Some(3) }));
}

#[test]
fn one_that_is_named_twice_is_read_once_and_has_two_rows() {
    let fake = Fake::default();
    let arguments = json!({
        "repoPaths": ["/w/a", "/w/a", "/w/b"],
        "repositories": [{"repoPath": "/w/a", "label": "A", "repoId": "7"}],
        "maxRepos": 500,
    });
    let data = run("fleet.radar", &arguments, &fake, None).expect("it answers");
    assert_eq!(fake.asked.get(), 2);
    let labels: Vec<_> = data["entries"].as_array().expect("rows").iter().map(|row| &row["label"]).collect();
    assert_eq!(labels, ["a", "a", "b", "A"]);
    assert_eq!(data["entries"][3]["repoId"], "7");
    let digest = run("fleet.digest", &json!({"sinceMs": 0, "repoPaths": ["/w/a", "/w/a"]}), &fake, None);
    assert_eq!(digest.expect("it answers")["requestedRepoCount"], 1);
}

#[test]
fn no_more_are_read_than_were_asked_for() {
    let fake = Fake::default();
    let arguments = json!({"repoPaths": ["/w/a", "/w/b", "/w/c"], "maxRepos": 1});
    let data = run("fleet.radar", &arguments, &fake, None).expect("it answers");
    assert_eq!(fake.asked.get(), 1);
    let counts = ["requestedCount", "scannedCount", "truncatedCount"].map(|name| &data[name]);
    assert_eq!(counts, [3, 1, 2].map(|count| json!(count)).each_ref());
}

#[test]
fn a_long_answer_keeps_what_is_urgent_and_declares_the_rest() {
    let mut paths: Vec<String> = (0..190).map(|n| format!("/w/clean{n}")).collect();
    paths.push("/w/broken".into());
    paths.push("/w/dirty".into());
    let data = run("fleet.radar", &json!({ "repoPaths": paths }), &Fake::default(), None).expect("it answers");
    let entries = data["entries"].as_array().expect("rows");
    assert!(data.to_string().chars().count() <= 40_000 - 200);
    assert!((20..192).contains(&entries.len()), "{}", entries.len());
    assert_eq!(data["truncatedCount"], 192 - entries.len());
    assert_eq!((&data["scannedCount"], &data["failedCount"]), (&json!(192), &json!(1)));
    let last: Vec<_> = entries[entries.len() - 2..].iter().map(|row| &row["label"]).collect();
    assert_eq!(last, ["broken", "dirty"], "in the order of the arguments");
    assert_eq!(data["attentionStack"][0]["label"], "dirty");
}

#[test]
fn events_of_all_repositories_stand_in_one_order_within_bounds() {
    let arguments = json!({"sinceMs": 5, "repoPaths": ["/w/b", "/w/a", "/w/quiet", "/w/outside", "/w/stuck"]});
    let data = run("fleet.digest", &arguments, &Fake::default(), None).expect("it answers");
    let events = data["events"].as_array().expect("rows");
    let order: Vec<_> = events.iter().map(|event| (event["atMs"].as_i64(), event["repoPath"].as_str())).collect();
    let expected =
        [(10_000, "/w/a"), (10_000, "/w/b"), (9_000, "/w/a"), (9_000, "/w/b"), (8_000, "/w/a"), (8_000, "/w/b")];
    assert_eq!(order, expected.map(|(at, path)| (Some(at), Some(path))));
    assert!(events.iter().all(|event| event["message"].as_str().is_some_and(|text| text.chars().count() == 200)));
    assert_eq!((&data["eventCount"], &data["truncated"], &data["sinceMs"]), (&json!(6), &json!(false), &json!(5)));
    assert_eq!((&data["excludedOutsideAllowedRoots"], &data["repoSource"]), (&json!(1), &json!("arguments")));
    let errors: Vec<_> = data["repos"].as_array().expect("rows").iter().map(|row| row["error"].is_null()).collect();
    assert_eq!(errors, [true, true, true, false, false]);

    let many: Vec<String> =
        (0..300).map(|n| format!("/w/r{n}")).chain((0..200).map(|n| format!("/w/quiet{n}"))).collect();
    let data =
        run("fleet.digest", &json!({"sinceMs": 0, "repoPaths": many}), &Fake::default(), None).expect("it answers");
    assert!(data.to_string().chars().count() <= 40_000 - 200);
    assert_eq!((&data["truncated"], &data["requestedRepoCount"]), (&json!(true), &json!(500)));
    let repos = data["repos"].as_array().expect("rows");
    assert_eq!(data["reposOmitted"], 500 - repos.len());
    assert!(repos.len() > 100 && repos.iter().all(|row| row["eventCount"] == 3), "quiet ones go first");
    assert!(data["eventCount"].as_u64() > Some(20), "{}", data["eventCount"]);
}

#[test]
fn without_repositories_the_registry_is_missed_by_name() {
    let outcome = run("fleet.digest", &json!({"sinceMs": 0}), &Fake::default(), None);
    let Err(CallError::Incomplete { details }) = outcome else { panic!("{outcome:?}") };
    assert!(details.contains("repoPaths"), "{details}");
}
