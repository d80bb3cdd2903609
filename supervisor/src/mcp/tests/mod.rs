//! A session without processes: a stand-in answers, time stands still, and the test is the client.
//! Trust: test code.

mod calls;
mod eras;
mod hostile;
mod probes;

use super::{
    framing::{Event, Framing},
    session::{SessionIo, run},
    stdio::Outflow,
};
use crate::{
    audit::Audit,
    control::{Control, Tick},
    gateway::Interrupted,
    outcome::{Answered, CallError},
    reads::{Question, Reads},
    settings::{LogLevel, OutputSchemas, Settings, ToolNames},
    work::Done,
};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    isolation::Demand,
    results::{Brief, BriefHead, BriefSubmodules, BriefWorkingTree, Changes, ChangesTotals, Conventions, Status},
};
use bulkhead_ipc::edge::{
    agents,
    gateway::{Exchange, Outcome},
    read::{Ask, Reply},
    syntax,
    write::{self, Operation},
};
use serde_json::{Value, json};
use std::{cell::Cell, rc::Rc, time::Duration};
use tokio::{
    sync::{Semaphore, mpsc},
    task::LocalSet,
};

pub(crate) fn settings() -> Settings {
    Settings {
        demand: Demand::Required,
        standing: Default::default(),
        empty_root: false,
        deadline: Duration::from_secs(30),
        surface: Default::default(),
        direct: Default::default(),
        tool_names: ToolNames::Auto,
        output_schemas: OutputSchemas::Brief,
        listed_tools: None,
        workers_per_repository: 2,
        max_workers: 8,
        idle_stop: Duration::from_secs(60),
        roots_text: vec!["/w".into()],
        roots_invalid: None,
        run_dirs: vec![],
        gateway: None,
        agents: Default::default(),
        gateway_token: false,
        audit: Default::default(),
        log: LogLevel::Warn,
        log_json: false,
    }
}

pub(super) fn status() -> Status {
    Status {
        branch: Some("main".into()),
        detached: false,
        head: Some("0".repeat(40)),
        upstream: None,
        upstream_gone: false,
        ahead: 0,
        behind: 0,
        clean: true,
        changed_files: 0,
        entries: Vec::new(),
        truncated: false,
        next_cursor: None,
        partial: None,
    }
}

pub(super) fn answered() -> Done {
    let data = serde_json::to_value(status()).expect("a status is JSON");
    Done::of(Some(b"/w/app".to_vec()), data)
}

fn reply(ask: &Ask) -> Reply {
    match ask {
        Ask::Status(_) => Reply::Status(Box::new(status())),
        Ask::Changes(_) => Reply::Changes(Box::new(Changes {
            staged: Vec::new(),
            unstaged: Vec::new(),
            untracked: Vec::new(),
            conflicted: Vec::new(),
            totals: ChangesTotals::default(),
            truncated: false,
            next_cursor: None,
            partial: None,
        })),
        Ask::Brief { .. } => Reply::Brief(Box::new(Brief {
            head: BriefHead {
                branch: Some("main".into()),
                detached: false,
                id: None,
                sha: None,
                upstream: None,
                upstream_gone: false,
                ahead: 0,
                behind: 0,
            },
            operation_in_progress: None,
            working_tree: BriefWorkingTree {
                clean: true,
                staged: 0,
                unstaged: 0,
                untracked: 0,
                rows: 0,
                conflicted: 0,
                bare: false,
            },
            stashes: 0,
            submodules: BriefSubmodules::default(),
            recent_commits: Vec::new(),
            conventions: Conventions { conventional_commit_ratio: None, default_branch: None },
            hints: Vec::new(),
            partial: None,
        })),
        Ask::SelfProbe => Reply::SelfProbe(bulkhead_contract::isolation::Report::default()),
        other => panic!("the stand-in was not taught to answer {other:?}"),
    }
}

/// Answers by the path it is asked for.
#[derive(Debug)]
pub(super) struct Fake {
    /// Questions that came.
    asked: Cell<usize>,
    /// Questions that were stopped.
    stopped: Cell<usize>,
    /// `/gate` waits for a permit.
    gate: Semaphore,
}

impl Default for Fake {
    fn default() -> Self {
        Fake { asked: Cell::new(0), stopped: Cell::new(0), gate: Semaphore::new(0) }
    }
}

impl Reads for Fake {
    async fn read(&self, question: Question, mut control: Control) -> Result<Answered, CallError> {
        self.asked.set(self.asked.get() + 1);
        let good = || Answered { canonical: question.path.clone().into_bytes(), reply: reply(&question.ask) };
        let failure = |reason| Err(CallError::Read(ReadFailure::new(reason, "open", "It cannot be read so.")));
        match question.path.as_str() {
            "/fail" => failure(Reason::NotARepository),
            "/outside" => failure(Reason::OutsideRoots),
            "/panic" => panic!("the stand-in breaks, as it was told to"),
            "/stuck" => {
                control.stopped().await;
                self.stopped.set(self.stopped.get() + 1);
                Err(CallError::Cancelled)
            }
            "/gate" => {
                self.gate.acquire().await.expect("the gate is never closed").forget();
                Ok(good())
            }
            "/long" => {
                for done in [3, 3, 7] {
                    control.tick(Tick { done, total: Some(10) });
                    tokio::time::sleep(Duration::from_millis(1_500)).await;
                }
                Ok(good())
            }
            _ => Ok(good()),
        }
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

/// The other end of a session.
struct Client {
    input: Option<mpsc::Sender<Vec<Event>>>,
    output: mpsc::Receiver<String>,
    framing: Framing,
    reads: Rc<Fake>,
}

const WAITING_LINES: usize = 16;

impl Client {
    /// Sends bytes as they are.
    async fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        let mut events = Vec::new();
        self.framing.push(bytes.as_ref(), &mut events);
        let input = self.input.as_ref().expect("the input is open");
        input.send(events).await.expect("the session lives");
    }

    /// Sends one message.
    async fn send(&mut self, value: Value) {
        self.raw(format!("{value}\n")).await;
    }

    /// Calls `repo.status` of a path.
    async fn status(&mut self, id: impl Into<Value>, path: &str) {
        self.send(call(id, path)).await;
    }

    /// The next line.
    async fn next(&mut self) -> Value {
        let line = self.output.recv().await.expect("the session answers");
        assert!(!line.contains('\n'), "one line is one line");
        serde_json::from_str(&line).expect("lines are JSON")
    }

    /// Sends one message and takes the next line.
    async fn ask(&mut self, value: Value) -> Value {
        self.send(value).await;
        self.next().await
    }

    /// Says that nothing has come: what was sent before this ping was not answered.
    async fn quiet(&mut self) {
        let pong = self.ask(json!({"jsonrpc": "2.0", "id": "quiet?", "method": "ping"})).await;
        assert_eq!(pong, json!({"jsonrpc": "2.0", "id": "quiet?", "result": {}}));
    }

    /// Ends the input and takes all lines that still come.
    async fn end(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        self.framing.finish(&mut events);
        if let Some(input) = self.input.take() {
            input.send(events).await.expect("the session lives");
        }
        let mut lines = Vec::new();
        while let Some(line) = self.output.recv().await {
            lines.push(serde_json::from_str(&line).expect("lines are JSON"));
        }
        lines
    }
}

fn call(id: impl Into<Value>, path: &str) -> Value {
    let params = json!({"name": "repo.status", "arguments": {"repoPath": path}});
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": params})
}

fn initialize(version: &str) -> Value {
    let params =
        json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
}

fn modern_meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Runs a session with these settings against the test's client.
async fn with_settings(settings: Settings, test: impl AsyncFnOnce(&mut Client)) {
    let (input, incoming) = mpsc::channel(4);
    let (outgoing, output) = mpsc::channel(WAITING_LINES);
    let reads = Rc::new(Fake::default());
    let mut client = Client { input: Some(input), output, framing: Framing::default(), reads: Rc::clone(&reads) };
    let local = LocalSet::new();
    local
        .run_until(async {
            let io = SessionIo { input: incoming, output: outgoing, outflow: Outflow::default(), hung_up: || false };
            let session = tokio::task::spawn_local(run(io, reads, Rc::new(settings), Audit::off()));
            test(&mut client).await;
            client.end().await;
            session.await.expect("the session does not break");
        })
        .await;
}

async fn with(test: impl AsyncFnOnce(&mut Client)) {
    with_settings(settings(), test).await;
}
