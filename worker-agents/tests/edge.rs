//! Both kinds of worker at their edges: what they answer, what ends them, and that nothing is said of what is not there.
//! Trust: the test plays a supervisor, honest and taken over; the worker runs on this thread over queues.
#![cfg(unix)]

#[path = "../../tests/support/queue.rs"]
mod queue;

use bulkhead_contract::{
    isolation::Demand,
    results::{Unseen, UnseenReason},
};
use bulkhead_ipc::{
    channel::WorkerEnds,
    chunk::Joiner,
    codec,
    edge::{
        agents::{self, Found, Scan, Sources, Store, StoreAt, ToAgents},
        errand::{ErrandCall, FromErrand},
        note::{self, Noted, ToNote},
    },
};
use queue::{Heard, Said};
use std::{fs, os::unix::fs::symlink, path::Path, sync::mpsc};

fn ends<H, S>(frames: Vec<Vec<u8>>) -> (WorkerEnds<H, S>, mpsc::Receiver<Vec<u8>>)
where
    WorkerEnds<H, S>: Ends,
{
    let (says, heard) = mpsc::channel();
    (Ends::over(Said::open(frames), Heard(says)), heard)
}

/// What both edges are made of.
trait Ends {
    fn over(said: Said, heard: Heard) -> Self;
}

impl Ends for WorkerEnds<ToAgents, FromErrand> {
    fn over(said: Said, heard: Heard) -> Self {
        WorkerEnds::new(said, heard)
    }
}

impl Ends for WorkerEnds<ToNote, FromErrand> {
    fn over(said: Said, heard: Heard) -> Self {
        WorkerEnds::new(said, heard)
    }
}

fn looked(stores: Vec<StoreAt>, messages: Vec<ToAgents>) -> Vec<FromErrand> {
    let init = agents::Init { demand: Demand::Off, stores, presence: Vec::new(), pid: 1, memory: 0 };
    let all = [ToAgents::Init(Box::new(init))].into_iter().chain(messages);
    let (ends, heard) = ends(all.map(|message| codec::encode(&message).expect("small")).collect());
    bulkhead_worker_agents::run(ends, false);
    heard.try_iter().map(|frame| codec::decode(&frame).expect("it speaks its edge")).collect()
}

fn noted(dir: Option<&Path>, demand: Demand, messages: Vec<ToNote>) -> Vec<FromErrand> {
    let dir = dir.map(|dir| dir.as_os_str().as_encoded_bytes().to_vec());
    let init = note::Init { demand, dir, pid: 77, memory: 0 };
    let all = [ToNote::Init(Box::new(init))].into_iter().chain(messages);
    let (ends, heard) = ends(all.map(|message| codec::encode(&message).expect("small")).collect());
    bulkhead_worker_agents::run_note(ends, false);
    heard.try_iter().map(|frame| codec::decode(&frame).expect("it speaks its edge")).collect()
}

fn call<I, A>(id: u64, ask: A) -> bulkhead_ipc::edge::errand::ToErrand<I, A> {
    bulkhead_ipc::edge::errand::ToErrand::Call(Box::new(ErrandCall { id, budget_ms: 1_000, ask }))
}

fn scan() -> Scan {
    Scan { root: b"/srv/repo".to_vec(), at: Sources::Stores { known: Vec::new() } }
}

/// The answers among messages, by the id of their calls.
fn answers(said: &[FromErrand]) -> Vec<(u64, Vec<u8>)> {
    let mut joiner = Joiner::default();
    let mut all = Vec::new();
    for message in said {
        if let FromErrand::Part { id, last, bytes } = message
            && let Some(whole) = joiner.push(*last, bytes.clone()).expect("within the limit")
        {
            all.push((*id, whole));
        }
    }
    all
}

#[test]
fn a_look_is_one_answer_after_which_the_worker_ends() {
    let said = looked(Vec::new(), vec![call(1, scan()), call(2, scan()), call(3, scan())]);
    assert!(matches!(said[0], FromErrand::Ready(_)));
    assert!(matches!(said[1], FromErrand::Closed { id: 1, .. }));
    let answers = answers(&said);
    assert_eq!(answers.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_probe_finishes_the_jail_and_leaves_the_look_to_come() {
    let said = looked(Vec::new(), vec![ToAgents::SelfProbe { id: 1 }, call(2, scan())]);
    let closed = said.iter().filter(|message| matches!(message, FromErrand::Closed { .. })).count();
    assert_eq!(closed, 1, "{said:?}");
    assert!(matches!(said[2], FromErrand::SelfProbe { id: 1, .. }));
    assert_eq!(answers(&said).len(), 1);
}

#[test]
fn what_does_not_belong_ends_a_worker_without_a_word() {
    let init = agents::Init { demand: Demand::Off, stores: Vec::new(), presence: Vec::new(), pid: 1, memory: 0 };
    let said = looked(Vec::new(), vec![ToAgents::Init(Box::new(init)), call(1, scan())]);
    assert_eq!(said.len(), 1, "only its greeting: {said:?}");
    let said = looked(Vec::new(), vec![ToAgents::Cancel { id: 9 }, call(1, scan())]);
    assert_eq!(answers(&said).len(), 1, "a late cancellation is nothing");
}

#[test]
fn a_store_behind_a_link_is_said_to_be_unseen() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let base = temp.path().canonicalize().expect("it exists");
    fs::create_dir(base.join("real")).expect("ours");
    symlink("real", base.join("link")).expect("links are possible here");
    let at = |name: &str| base.join(name).into_os_string().into_encoded_bytes();
    let stores = vec![
        StoreAt { store: Store::CodexSessions, path: at("link") },
        StoreAt { store: Store::AmpThreads, path: at("nothing") },
        StoreAt { store: Store::QwenProjects, path: b"relative".to_vec() },
    ];
    let (_, answer) = answers(&looked(stores, vec![call(1, scan())])).remove(0);
    let found: Found = codec::decode_answer::<agents::Answer>(&answer).expect("ours").expect("an answer");
    let unseen = |what: &str, reason| Unseen { what: what.to_owned(), reason, count: 1 };
    assert!(found.unseen.contains(&unseen("codex", UnseenReason::Link)), "{:?}", found.unseen);
    assert!(found.unseen.contains(&unseen("qwen-code", UnseenReason::Unreadable)), "{:?}", found.unseen);
    assert!(found.unseen.iter().all(|unseen| unseen.what != "amp"), "{:?}", found.unseen);
}

#[test]
fn a_note_is_kept_replaced_and_removed() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let dir = temp.path().canonicalize().expect("it exists").join("run/presence/mcp");
    let ask = || {
        let repo = note::NotedRepo { path: "/srv/r".to_owned(), tool: "repo.brief".to_owned(), at_ms: 5 };
        note::Ask::Note(note::Note { client: None, version: None, repos: vec![repo] })
    };
    let said = noted(Some(&dir), Demand::Off, vec![call(1, ask()), call(2, ask())]);
    for (_, answer) in answers(&said) {
        let noted = codec::decode_answer::<note::Answer>(&answer).expect("ours").expect("an answer");
        assert_eq!(noted, Noted { failed: None });
    }
    let text = fs::read_to_string(dir.join("77.json")).expect("written");
    assert!(text.contains(r#""client":{"name":null,"version":null},"pid":77"#), "{text}");
    noted(Some(&dir), Demand::Off, vec![call(1, note::Ask::Leave)]);
    assert_eq!(fs::read_dir(&dir).expect("there").count(), 0);
}

#[test]
fn without_a_directory_or_a_jail_there_is_no_note_and_a_reason() {
    let (_, answer) = answers(&noted(None, Demand::Off, vec![call(1, note::Ask::Leave)])).remove(0);
    let noted_so = codec::decode_answer::<note::Answer>(&answer).expect("ours").expect("an answer");
    assert!(noted_so.failed.is_some_and(|why| why.contains("no directory")));
    let said = noted(None, Demand::Required, vec![call(1, note::Ask::Leave)]);
    assert!(matches!(&said[..], [FromErrand::Short(_)]), "a thread meets no demand: {said:?}");
}
