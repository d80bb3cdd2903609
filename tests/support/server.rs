//! The product as a client sees it: a child process, JSON lines, a deadline on every wait.
//! Trust: each line of standard output must be one JSON-RPC message; a second answer to a request fails the test.

use super::{outcome::Outcome, place::Place};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    time::{Duration, Instant},
};

/// The longest that a test waits for one answer. Generous: it tells a hang from slowness, it measures nothing.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// Names another copy of the product to be tested: one that another user can reach.
pub const TESTED: &str = "BULKHEAD_TESTED";
/// Longest line that the server may write (contract `protocol.md`, *Framing*).
const MAX_LINE: usize = 8 << 20;
/// Lines that are taken off the server while the test does something else, so that no write of it waits.
const BACKLOG: usize = 1 << 16;
/// Standard error that is kept.
const MAX_STDERR: u64 = 4 << 20;

/// `params._meta` of a stateless request.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "bulkhead-tests", "version": "1"},
    })
}

/// How to start the product.
#[derive(Debug, Clone)]
pub struct Start<'place> {
    place: &'place Place,
    wrapper: Vec<OsString>,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    cwd: PathBuf,
    backlog: usize,
}

impl<'place> Start<'place> {
    /// In the place, as a host would: `HOME`, `PATH` and `USER` are all that is inherited.
    pub fn new(place: &'place Place) -> Self {
        Self {
            place,
            wrapper: vec![],
            arguments: vec![],
            environment: vec![],
            cwd: place.path().to_owned(),
            backlog: BACKLOG,
        }
    }

    /// Allows reading beneath `directory`.
    pub fn root(self, directory: impl AsRef<OsStr>) -> Self {
        self.argument("--root").argument(directory)
    }

    /// Adds a command-line argument.
    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds several.
    pub fn arguments(self, arguments: &[&str]) -> Self {
        arguments.iter().fold(self, |start, argument| start.argument(argument))
    }

    /// Sets an environment variable.
    pub fn environment(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Starts it in this directory.
    pub fn cwd(mut self, directory: impl AsRef<Path>) -> Self {
        self.cwd = directory.as_ref().to_owned();
        self
    }

    /// Starts it through another program, which gets the product's command line after its own arguments.
    pub fn wrapper<S: AsRef<OsStr>>(mut self, words: &[S]) -> Self {
        self.wrapper = words.iter().map(|word| word.as_ref().to_owned()).collect();
        self
    }

    /// Takes only so many lines off the server before the test asks for one: a client that does not read.
    pub fn backlog(mut self, lines: usize) -> Self {
        self.backlog = lines;
        self
    }

    /// The command that starts it.
    pub fn command(&self) -> Command {
        let product = std::env::var_os(TESTED).unwrap_or_else(|| env!("CARGO_BIN_EXE_bulkhead").into());
        let mut words = self.wrapper.iter().chain([&product]).chain(&self.arguments);
        let mut command = Command::new(words.next().expect("the product at least"));
        command.args(words).env_clear().current_dir(&self.cwd);
        command.env("HOME", self.place.home()).env("USER", "test");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it to its end with nothing on standard input: for the commands that are not the server.
    pub fn output(self) -> Output {
        self.command().stdin(Stdio::null()).output().expect("the product starts")
    }

    /// Starts the server.
    pub fn spawn(self) -> Server {
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the product starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, lines) = sync_channel(self.backlog);
        std::thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                match stdout.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    // nobody listens any more: the test is over
                    Ok(_) => drop(sender.send(line)),
                }
            }
        });
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&stderr);
        let mut pipe = child.stderr.take().expect("it is piped").take(MAX_STDERR);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = pipe.read(&mut piece) {
                kept.lock().expect("no holder panics").extend_from_slice(&piece[..n]);
            }
        });
        let stdin = child.stdin.take();
        Server {
            child,
            stdin,
            lines,
            stderr,
            asked: HashMap::new(),
            waiting: HashMap::new(),
            heard: String::new(),
            next: 1,
        }
    }
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Vec<u8>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    asked: HashMap<String, Instant>,
    waiting: HashMap<String, Outcome>,
    heard: String,
    next: i64,
}

/// A server that has ended.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// Between the end of its input, or the signal, and its own.
    pub elapsed: Duration,
    /// Everything that it ever wrote, standard output first.
    pub said: String,
    /// Messages that nobody had taken.
    pub rest: Vec<Value>,
}

impl Server {
    /// Process id: the supervisor's, unless a wrapper was used.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("process ids are small")
    }

    /// Calls a tool in the stateless era and waits for its answer.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Outcome {
        let id = self.ask(tool, arguments);
        self.answer(&id)
    }

    /// Calls a tool on one repository.
    pub fn read(&mut self, tool: &str, repository: &Path) -> Outcome {
        self.call(tool, json!({"repoPath": repository.to_str().expect("places have UTF-8 paths")}))
    }

    /// Sends a call and does not wait; its id.
    pub fn ask(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments, "_meta": meta()}))
    }

    /// Sends any request under a fresh id; the id.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = json!(self.next);
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a message as it is. A request among them is answered at most once.
    pub fn send(&mut self, message: &Value) {
        if message.get("method").is_some() && message.get("id").is_some() {
            self.asked.insert(message["id"].to_string(), Instant::now());
        }
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        assert!(self.write(&line), "the server closed its input: {}", self.stderr());
    }

    /// Sends bytes as they are; false when the server no longer reads.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        let stdin = self.stdin.as_mut().expect("its input is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).is_ok()
    }

    /// Waits for the answer to that request.
    pub fn answer(&mut self, id: &Value) -> Outcome {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(outcome) = self.waiting.remove(&id.to_string()) {
                return outcome;
            }
            let message = self.receive(deadline.saturating_duration_since(Instant::now()));
            assert!(message.is_some(), "no answer to {id} in time, or the server ended: {}", self.stderr());
        }
    }

    /// The next message, if one comes in time; answers to requests are also kept for [`Server::answer`].
    ///
    /// # Panics
    /// On a line that is not one JSON-RPC message, and on a second answer to a request.
    pub fn receive(&mut self, patience: Duration) -> Option<Value> {
        let line = match self.lines.recv_timeout(patience) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        };
        Some(self.take_in(&line))
    }

    fn take_in(&mut self, line: &[u8]) -> Value {
        let shown = || String::from_utf8_lossy(&line[..line.len().min(300)]).into_owned();
        assert!(line.len() <= MAX_LINE && line.ends_with(b"\n"), "an overlong or unfinished line: {}", shown());
        let text = std::str::from_utf8(line).unwrap_or_else(|_| panic!("a line is not UTF-8: {}", shown()));
        self.heard.push_str(text);
        let message: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e} in: {}", shown()));
        assert_eq!(message["jsonrpc"], "2.0", "not JSON-RPC: {}", shown());
        let parts = ["result", "error", "method"].iter().filter(|part| message.get(**part).is_some()).count();
        assert_eq!(parts, 1, "neither answer nor notification: {}", shown());
        if message.get("method").is_some() {
            assert!(message.get("id").is_none(), "the server sends no requests: {}", shown());
            return message;
        }
        if let Some(id) = message.get("id") {
            assert!(!id.is_null(), "an id that cannot be read is left out, not null: {}", shown());
            let id = id.to_string();
            let elapsed = self.asked.get(&id).map_or(Duration::ZERO, Instant::elapsed);
            let outcome = Outcome { message: message.clone(), bytes: line.len(), elapsed };
            assert!(self.waiting.insert(id, outcome).is_none(), "a second answer: {}", shown());
        }
        message
    }

    /// Everything on standard error so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().expect("no holder panics")).into_owned()
    }

    /// Everything heard so far: lines of standard output, then standard error.
    pub fn said(&self) -> String {
        self.heard.clone() + &self.stderr()
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_none()
    }

    /// Closes its input and waits for its end.
    pub fn finish(mut self) -> Ended {
        drop(self.stdin.take());
        self.ended()
    }

    /// Waits for its end, which something else has caused.
    pub fn ended(mut self) -> Ended {
        let since = Instant::now();
        let mut rest = Vec::new();
        loop {
            // a full channel would keep it from ending
            while let Ok(line) = self.lines.try_recv() {
                rest.push(self.take_in(&line));
            }
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                let elapsed = since.elapsed();
                while let Ok(line) = self.lines.recv_timeout(Duration::from_secs(1)) {
                    rest.push(self.take_in(&line));
                }
                return Ended { status, elapsed, said: self.said(), rest };
            }
            assert!(since.elapsed() < PATIENCE, "the server does not end: {}", self.stderr());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // the normal end has reaped it; after a failed assertion nothing may stay behind
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
