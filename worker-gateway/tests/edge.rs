//! The worker at its edge: what it answers, and what of a taken-over supervisor ends it with nothing sent.
//! Trust: the test plays a supervisor, honest and taken over; the worker runs on this thread over queues.

#[path = "../../tests/support/queue.rs"]
mod queue;

use bulkhead_contract::isolation::Demand;
use bulkhead_ipc::{
    channel::WorkerEnds,
    chunk::{Joiner, split},
    codec::{decode, decode_answer, encode, encode_answer},
    edge::gateway::{Exchange, Failure, FromGateway, Init, MAX_OPEN, Method, Outcome, ToGateway},
};
use bulkhead_worker_gateway::{Ends, run};
use queue::{DEADLINE, Heard, Said};
use std::{
    net::{Ipv4Addr, TcpListener},
    sync::mpsc,
};

/// What the worker says when it is told this after its `Init`, until it ends or has told `outcomes` outcomes.
fn told(address: Option<TcpListener>, messages: Vec<ToGateway>, outcomes: usize) -> Vec<FromGateway> {
    let address = address.as_ref().map(|listener| listener.local_addr().expect("it listens"));
    let init = Init { demand: Demand::Off, address, token: None, memory: 0 };
    let all = [ToGateway::Init(Box::new(init))].into_iter().chain(messages);
    let frames = all.map(|message| encode(&message).expect("small")).collect();
    let ((enough, end), (heard, hears)) = (mpsc::channel(), mpsc::channel());
    let worker = std::thread::spawn(move || run(Ends::Thread(WorkerEnds::new(Said::until(frames, end), Heard(heard)))));
    let mut said = Vec::new();
    let mut open = outcomes;
    while let Ok(frame) = hears.recv_timeout(DEADLINE) {
        let message = decode(&frame).expect("it speaks its edge");
        open -= usize::from(matches!(message, FromGateway::Part { last: true, .. })).min(open);
        said.push(message);
        if open == 0 && outcomes > 0 {
            let _ = enough.send(());
        }
    }
    worker.join().expect("no panic");
    said
}

fn get(path: &str) -> Exchange {
    Exchange { method: Method::Get, path: path.to_owned(), body: None, budget_ms: 20_000, authentic: false }
}

fn ask(id: u64, exchange: &Exchange) -> Vec<ToGateway> {
    let whole = encode_answer(exchange).expect("within the limit");
    split(&whole).map(|(last, bytes)| ToGateway::Part { id, last, bytes: bytes.to_vec() }).collect()
}

fn outcome(said: &[FromGateway]) -> Option<Outcome> {
    let mut joiner = Joiner::default();
    said.iter().find_map(|message| match message {
        FromGateway::Part { last, bytes, .. } => joiner
            .push(*last, bytes.clone())
            .expect("within the limit")
            .map(|whole| decode_answer(&whole).expect("honest")),
        _ => None,
    })
}

fn nobody() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port")
}

#[test]
fn it_greets_and_says_of_nobody_that_nobody_is_there() {
    let said = told(None, ask(1, &get("/v1/mcp/x")), 1);
    assert!(matches!(said.first(), Some(FromGateway::Ready { token: false, .. })), "{said:?}");
    assert_eq!(outcome(&said), Some(Outcome::Failed { why: Failure::Unreachable, sent: false }));
}

#[test]
fn what_is_out_of_bounds_or_out_of_place_ends_it_and_nothing_leaves() {
    let piece = |id, last, bytes: &[u8]| ToGateway::Part { id, last, bytes: bytes.to_vec() };
    let init = Init { demand: Demand::Off, address: None, token: None, memory: 0 };
    let fits = get("/v1/mcp/x");
    let bad: Vec<(&str, Vec<ToGateway>)> = vec![
        ("a path", ask(1, &get("/v1/mcp/x\r\nx: y"))),
        ("another host", ask(1, &get("http://192.0.2.1/v1/mcp/x"))),
        ("a GET with a body", ask(1, &Exchange { body: Some(Vec::new()), ..fits.clone() })),
        ("no time", ask(1, &Exchange { budget_ms: 0, ..fits.clone() })),
        ("nonsense", vec![piece(1, true, &[250, 3, 3])]),
        ("an empty piece", vec![piece(1, false, &[])]),
        ("two at once in pieces", vec![piece(1, false, &[1]), piece(2, true, &[1])]),
        ("a second beginning", vec![ToGateway::Init(Box::new(init))]),
    ];
    for (what, messages) in bad {
        let listener = nobody();
        listener.set_nonblocking(true).expect("a socket");
        let watched = listener.try_clone().expect("a descriptor");
        // what comes after it is not heard
        let messages = messages.into_iter().chain(ask(9, &fits)).collect();
        let said = told(Some(listener), messages, 0);
        assert!(matches!(said.as_slice(), [FromGateway::Ready { .. }]), "{what}: {said:?}");
        assert!(watched.accept().is_err(), "{what}: it was dialled");
    }
}

#[test]
fn more_than_may_be_open_and_the_same_id_twice_end_it() {
    let listener = nobody();
    let many = (0..=MAX_OPEN as u64).flat_map(|id| ask(id, &get("/v1/mcp/x"))).collect();
    let said = told(Some(listener), many, 0);
    assert!(outcome(&said).is_none(), "{said:?}");
    let twice = [ask(1, &get("/v1/mcp/x")), ask(1, &get("/v1/mcp/x"))].concat();
    assert!(outcome(&told(Some(nobody()), twice, 0)).is_none());
    let probe = [ask(1, &get("/v1/mcp/x")), vec![ToGateway::SelfProbe { id: 2 }]].concat();
    let said = told(Some(nobody()), probe, 0);
    assert!(!said.iter().any(|message| matches!(message, FromGateway::SelfProbe { .. })), "{said:?}");
}

#[test]
fn what_is_cancelled_is_closed_and_told() {
    let cancelled =
        [ask(1, &get("/v1/mcp/x")), vec![ToGateway::Cancel { id: 7 }, ToGateway::Cancel { id: 1 }]].concat();
    let said = told(Some(nobody()), cancelled, 1);
    assert!(matches!(outcome(&said), Some(Outcome::Failed { why: Failure::Timeout, .. })), "{said:?}");
}
