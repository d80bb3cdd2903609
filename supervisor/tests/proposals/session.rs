//! The session of these tests: its client is the test, its wire leads to a desk, and the wire does what the test wants.
//! Trust: test code.

use crate::{desk::Desk, support};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    isolation::Demand,
    results::Facts,
};
use bulkhead_ipc::edge::{
    agents,
    gateway::{Body, Exchange, Failure, Outcome},
    read::{Ask, Reply},
    syntax,
    write::{self, Operation},
};
use bulkhead_supervisor::{
    audit::Audit,
    control::Control,
    gateway::Interrupted,
    mcp::{
        SessionIo,
        framing::{Event, Framing},
        run,
        stdio::Outflow,
    },
    outcome::{Answered, CallError},
    reads::{Client, Question, Reads},
    settings::Settings,
};
use serde_json::{Value, json};
use std::{cell::RefCell, collections::VecDeque, rc::Rc};
use tokio::{sync::mpsc, task::LocalSet};

/// What the wire does to the next exchange.
#[derive(Debug, Clone)]
pub enum Do {
    /// The desk answers.
    Desk,
    /// The desk takes the request, and its answer is lost.
    Lose(Failure),
    /// The request does not arrive.
    Drop(Failure, bool),
    /// Somebody else answers.
    Say(u16, &'static str),
    /// The worker falls.
    Fall(bool),
}

/// A wire with a desk at its end, and repositories at every path but a few.
#[derive(Default)]
pub struct Double {
    pub desk: RefCell<Desk>,
    pub script: RefCell<VecDeque<Do>>,
    pub sent: RefCell<Vec<Exchange>>,
    pub noted: RefCell<Vec<String>>,
    pub proves: bool,
}

impl Reads for Double {
    async fn read(&self, question: Question, _control: Control) -> Result<Answered, CallError> {
        let failed = |reason| Err(CallError::Read(ReadFailure::new(reason, "open", "It cannot be read so.")));
        match question.path.as_str() {
            "/gone" | "/w/new" => return failed(Reason::NoSuchPath),
            "/plain" | "/w" => return failed(Reason::NotARepository),
            path if path.starts_with("/outside") || path == "/" => return failed(Reason::OutsideRoots),
            _ => {}
        }
        let reply = match question.ask {
            Ask::Facts(ask) => {
                let facts = Facts { head: Some("1".repeat(40)), ..Facts::default() };
                assert!(self.proves || *ask == Default::default(), "facts are not asked for to be thrown away");
                Reply::Facts(Box::new(facts))
            }
            other => panic!("not taught to answer {other:?}"),
        };
        Ok(Answered { canonical: format!("/real{}", question.path).into_bytes(), reply })
    }

    fn noted(&self, _client: &Client, tool: &str, canonical: &[u8]) {
        self.noted.borrow_mut().push(format!("{tool} {}", String::from_utf8_lossy(canonical)));
    }

    async fn scan(&self, root: Vec<u8>, _: Vec<String>, _: Control) -> Result<[agents::Found; 2], CallError> {
        panic!("the stand-in was not taught who works in {}", String::from_utf8_lossy(&root))
    }

    async fn write(&self, operation: Operation, _control: Control) -> Result<write::Outcome, CallError> {
        panic!("the stand-in was not taught to write {operation:?}")
    }

    async fn syntax(&self, ask: syntax::Ask, _control: Control) -> Result<syntax::Reply, CallError> {
        panic!("not taught to compare {}", String::from_utf8_lossy(&ask.path))
    }

    async fn exchange(&self, exchange: Exchange, _control: Control) -> Result<Outcome, Interrupted> {
        exchange.check().expect("it may leave");
        self.sent.borrow_mut().push(exchange.clone());
        let next = self.script.borrow_mut().pop_front().unwrap_or(Do::Desk);
        tokio::task::yield_now().await;
        let body = exchange.body.unwrap_or_default();
        let desk = || self.desk.borrow_mut().answer(exchange.method.name(), &exchange.path, &body);
        let answered =
            |status, body: Vec<u8>| Outcome::Answered { status, body: Body::Whole(body), authentic: self.proves };
        match next {
            Do::Desk => {
                let (status, body) = desk();
                Ok(answered(status, body.to_string().into_bytes()))
            }
            Do::Lose(why) => {
                desk();
                Ok(Outcome::Failed { why, sent: true })
            }
            Do::Drop(why, sent) => Ok(Outcome::Failed { why, sent }),
            Do::Say(status, body) => Ok(answered(status, body.as_bytes().to_vec())),
            Do::Fall(sent) => Err(Interrupted { why: CallError::WorkerDied { how: "signal 9".into() }, sent }),
        }
    }
}

/// A session whose client is the test.
pub struct Agent {
    pub input: mpsc::Sender<Vec<Event>>,
    pub output: mpsc::Receiver<String>,
    pub framing: Framing,
    pub next: i64,
    pub wire: Rc<Double>,
}

impl Agent {
    pub async fn ask(&mut self, tool: &str, arguments: Value) -> i64 {
        self.next += 1;
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "probe client", "version": "1"},
        });
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let message = json!({"jsonrpc": "2.0", "id": self.next, "method": "tools/call", "params": params});
        let mut events = Vec::new();
        self.framing.push(format!("{message}\n").as_bytes(), &mut events);
        self.input.send(events).await.expect("the session lives");
        self.next
    }

    pub async fn answer(&mut self) -> Value {
        serde_json::from_str(&self.output.recv().await.expect("an answer")).expect("JSON")
    }

    /// The structure of a result, or the protocol error.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask(tool, arguments).await;
        let mut answer = self.answer().await;
        match answer["result"].get_mut("structuredContent") {
            Some(content) => {
                let mut content = content.take();
                content["isError"] = answer["result"]["isError"].clone();
                content
            }
            None => answer["error"].take(),
        }
    }

    pub async fn merge(&mut self, further: Value) -> Value {
        self.call("operation.preview.merge", merge(further)).await
    }

    pub fn script(&self, steps: impl IntoIterator<Item = Do>) {
        self.wire.script.borrow_mut().extend(steps);
    }

    pub fn cards(&self) -> usize {
        self.wire.desk.borrow().cards.len()
    }

    /// What left since the last look: method and path.
    pub fn left(&self) -> Vec<String> {
        let sent = std::mem::take(&mut *self.wire.sent.borrow_mut());
        sent.into_iter().map(|exchange| format!("{} {}", exchange.method.name(), exchange.path)).collect()
    }
}

pub fn merge(further: Value) -> Value {
    let mut arguments = json!({"repoPath": "/w/app", "reason": "r", "sourceRef": "a", "targetRef": "b"});
    for (name, value) in further.as_object().expect("an object") {
        arguments[name] = value.clone();
    }
    arguments
}

pub fn settings(token: bool) -> Settings {
    let mut settings = support::settings(Demand::Required);
    settings.gateway = Some("127.0.0.1:7777".parse().expect("an address"));
    settings.gateway_token = token;
    settings.agents.detect = false;
    settings
}

pub async fn with(proves: bool, test: impl AsyncFnOnce(&mut Agent)) {
    with_settings(settings(proves), proves, test).await;
}

pub async fn with_settings(settings: Settings, proves: bool, test: impl AsyncFnOnce(&mut Agent)) {
    let (input, incoming) = mpsc::channel(4);
    let (outgoing, output) = mpsc::channel(512);
    let wire = Rc::new(Double { proves, ..Double::default() });
    wire.desk.borrow_mut().facts = proves;
    let mut agent = Agent { input, output, framing: Framing::default(), next: 0, wire: Rc::clone(&wire) };
    LocalSet::new()
        .run_until(async {
            let io = SessionIo { input: incoming, output: outgoing, outflow: Outflow::default(), hung_up: || false };
            let session = tokio::task::spawn_local(run(io, wire, Rc::new(settings), Audit::off()));
            test(&mut agent).await;
            drop(agent);
            session.await.expect("the session does not break");
        })
        .await;
}
