//! One server process as an agent's host sees it, whoever wrote it: what it does wrong is noted and never fails the run.
//! Trust: nothing that the server prints is believed; lines, sizes and waits are bounded.

use super::{subject::Subject, watch::Watch};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::Path,
    process::{Child, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel},
    },
    time::{Duration, Instant},
};

/// The most that one answer may have, in bytes.
const MAX_ANSWER: usize = 1 << 20;
/// The most of a line that is read; what is longer is a fault anyway.
const MAX_LINE: u64 = 16 << 20;
/// Standard error that is kept.
const MAX_STDERR: u64 = 1 << 20;
/// Lines that wait to be looked at.
const BACKLOG: usize = 1 << 14;
/// Pages of a list of tools that are asked for.
const MAX_PAGES: usize = 20;
/// Faults that are kept of one server.
const MAX_FAULTS: usize = 20;
/// Time that a server gets to end, and those that it started.
const TO_END: Duration = Duration::from_secs(10);

/// How the opening of a session went.
#[derive(Debug)]
pub enum Opening {
    /// The session is open.
    Open,
    /// The server ended first, and said why.
    Refused,
    /// A fault was noted.
    Failed,
}

/// One request that was sent.
#[derive(Debug)]
struct Asked {
    since: Instant,
    answers: usize,
    /// Whether it may stay unanswered.
    excused: bool,
}

/// A running server.
pub struct Client {
    child: Child,
    input: Option<Sender<Vec<u8>>>,
    lines: Receiver<Vec<u8>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    /// Closes when all of standard error was read.
    said: Receiver<()>,
    killed: bool,
    watch: Watch,
    asked: BTreeMap<String, Asked>,
    answers: BTreeMap<String, Value>,
    secrets: Vec<String>,
    faults: Vec<String>,
    deadline: Duration,
    next: u64,
    /// What it can do, as it says itself.
    pub tools: Vec<Value>,
    /// Its first words to an agent.
    pub instructions: String,
    /// Answers so far, to whomever.
    pub answered: usize,
}

impl Client {
    /// Starts the subject's command about these paths. What it must never say is `secrets`.
    ///
    /// # Errors
    /// Where the command cannot be started.
    pub fn start(subject: &Subject, at: &At<'_>, secrets: &[String]) -> std::io::Result<Self> {
        let mut command = subject.command(at);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = subject.spawn(&mut command)?;
        let mut stdin = child.stdin.take().expect("it is piped");
        let (input, chunks) = channel::<Vec<u8>>();
        // a server that does not read must not hold up who watches it
        std::thread::spawn(move || {
            for chunk in chunks {
                if stdin.write_all(&chunk).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, lines) = sync_channel(if at.reads { BACKLOG } else { 1 });
        std::thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                match stdout.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
                    Ok(1..) if sender.send(line).is_ok() => {}
                    _ => return,
                }
            }
        });
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&stderr);
        let (all_said, said) = channel::<()>();
        let mut pipe = child.stderr.take().expect("it is piped");
        std::thread::spawn(move || {
            let _all_said = all_said;
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = pipe.read(&mut piece) {
                let mut kept = kept.lock().expect("no holder panics");
                if (kept.len() as u64) < MAX_STDERR {
                    kept.extend_from_slice(&piece[..n]);
                }
            }
        });
        let watch = Watch::on(child.id());
        Ok(Self {
            child,
            input: Some(input),
            lines,
            stderr,
            said,
            killed: false,
            watch,
            asked: BTreeMap::new(),
            answers: BTreeMap::new(),
            secrets: secrets.to_vec(),
            faults: Vec::new(),
            deadline: subject.deadline,
            next: 1,
            tools: Vec::new(),
            instructions: String::new(),
            answered: 0,
        })
    }

    /// Says hello and asks for the tools.
    pub fn open(&mut self) -> Opening {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "attack", "version": "1"}});
        let id = self.ask("initialize", hello);
        let Some(answer) = self.answer(&id) else { return self.unopened() };
        if answer.get("result").is_none() {
            self.fault(format!("initialize is answered by {}", cut(&answer.to_string())));
            return Opening::Failed;
        }
        self.instructions = answer["result"]["instructions"].as_str().unwrap_or_default().to_owned();
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let id =
                self.ask("tools/list", cursor.map_or_else(|| json!({}), |cursor: Value| json!({"cursor": cursor})));
            let Some(answer) = self.answer(&id) else { return self.unopened() };
            self.tools.extend(answer["result"]["tools"].as_array().cloned().unwrap_or_default());
            match &answer["result"]["nextCursor"] {
                Value::Null => return Opening::Open,
                next => cursor = Some(next.clone()),
            }
        }
        Opening::Open
    }

    /// Whether it refused to begin: it ended of itself, as something failed, and said why.
    fn unopened(&mut self) -> Opening {
        match self.status() {
            Some(status) if status.code().is_some_and(|code| code != 0) && !self.stderr().trim().is_empty() => {
                self.faults.clear();
                Opening::Refused
            }
            Some(status) => {
                self.fault(format!("it ended at the start ({status}), and said {:?}", cut(&self.stderr())));
                Opening::Failed
            }
            None => Opening::Failed,
        }
    }

    /// Calls a tool and waits.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        let id = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let answer = self.answer(&id);
        if answer.is_none() && self.faults.len() < MAX_FAULTS {
            let shown = format!("{tool} {arguments}");
            if let Some(last) = self.faults.last_mut() {
                last.push_str(&format!(" ({})", cut(&shown)));
            }
        }
        answer
    }

    /// Sends a request under a fresh id; the id.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = json!(self.next);
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a message. A request among them has to be answered once.
    pub fn send(&mut self, message: &Value) {
        if message.get("method").is_some() && message.get("id").is_some() {
            let asked = Asked { since: Instant::now(), answers: 0, excused: false };
            self.asked.insert(message["id"].to_string(), asked);
        }
        self.write(format!("{message}\n").into_bytes());
    }

    /// Sends bytes as they are.
    pub fn write(&mut self, bytes: Vec<u8>) {
        if let Some(input) = &self.input {
            // whether it still reads shows in what it answers
            let _ = input.send(bytes);
        }
    }

    /// Waits for the answer to a request; none, with a fault noted, where none comes in time.
    pub fn answer(&mut self, id: &Value) -> Option<Value> {
        let key = id.to_string();
        let until = Instant::now() + self.deadline;
        loop {
            if let Some(answer) = self.answers.remove(&key) {
                return Some(answer);
            }
            match self.receive(until.saturating_duration_since(Instant::now())) {
                Heard::Message(_) => {}
                Heard::Silence => {
                    let since = self.asked.get(&key).map_or(self.deadline, |asked| asked.since.elapsed());
                    self.fault(format!("no answer within {} s", since.as_secs()));
                    return None;
                }
                Heard::End => {
                    let status = self.status().map_or_else(|| "its output".to_owned(), |status| status.to_string());
                    self.fault(format!("it ended ({status}): {}", cut(&self.stderr())));
                    return None;
                }
            }
        }
    }

    /// Waits until every request was answered; false where that takes longer than `patience`.
    pub fn settle(&mut self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        while self.asked.values().any(|asked| asked.answers == 0 && !asked.excused) {
            if !matches!(self.receive(until.saturating_duration_since(Instant::now())), Heard::Message(_)) {
                return false;
            }
        }
        true
    }

    /// Forgets requests that need not be answered, because they were cancelled.
    pub fn forgive(&mut self) {
        self.asked.values_mut().for_each(|asked| asked.excused = true);
    }

    /// Everything that comes until the answer to a ping that is sent now; none where that does not come.
    pub fn until_ping(&mut self) -> Option<Vec<Value>> {
        let id = json!(format!("ping {}", self.next));
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        let until = Instant::now() + self.deadline;
        let mut before = Vec::new();
        loop {
            match self.receive(until.saturating_duration_since(Instant::now())) {
                Heard::Message(message) if message["id"] == id => {
                    self.answers.remove(&id.to_string());
                    return Some(before);
                }
                Heard::Message(message) => before.push(message),
                Heard::Silence | Heard::End => return None,
            }
        }
    }

    /// The next message.
    pub fn receive(&mut self, patience: Duration) -> Heard {
        match self.lines.recv_timeout(patience) {
            Ok(line) => Heard::Message(self.take_in(&line)),
            Err(RecvTimeoutError::Timeout) => Heard::Silence,
            Err(RecvTimeoutError::Disconnected) => Heard::End,
        }
    }

    fn take_in(&mut self, line: &[u8]) -> Value {
        if line.len() > MAX_ANSWER {
            self.fault(format!("an answer of {} bytes", line.len()));
        }
        if self.killed && !line.ends_with(b"\n") {
            return Value::Null;
        }
        let text = String::from_utf8_lossy(line);
        let came_out = self.secrets.iter().find(|secret| text.contains(secret.as_str())).cloned();
        if let Some(secret) = came_out {
            self.fault(format!("{secret:?} came out: …{}…", around(&text, &secret)));
        }
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(why) => {
                self.fault(format!("a line that is no JSON ({why}): {}", cut(&text)));
                return Value::Null;
            }
        };
        if message["jsonrpc"] != "2.0" && !message.is_array() {
            self.fault(format!("a line that is no JSON-RPC: {}", cut(&text)));
        }
        if message.get("method").is_none() {
            self.answered += 1;
            if let Some(asked) = message.get("id").and_then(|id| self.asked.get_mut(&id.to_string())) {
                asked.answers += 1;
                if asked.answers > 1 {
                    self.fault(format!("a second answer to {}", message["id"]));
                }
                self.answers.insert(message["id"].to_string(), message.clone());
            }
        }
        message
    }

    /// Notes a fault.
    pub fn fault(&mut self, what: String) {
        if self.faults.len() < MAX_FAULTS && !self.faults.contains(&what) {
            self.faults.push(what);
        }
    }

    /// Whether a fault was noted.
    pub fn is_faulty(&self) -> bool {
        !self.faults.is_empty()
    }

    /// How it ended, if it did.
    pub fn status(&mut self) -> Option<ExitStatus> {
        // its output closes before it is gone
        let until = Instant::now() + Duration::from_millis(500);
        loop {
            match self.child.try_wait().expect("it is our child") {
                None if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
                Some(status) => {
                    // its last words may still be on their way
                    let _ = self.said.recv_timeout(Duration::from_secs(1));
                    return Some(status);
                }
                None => return None,
            }
        }
    }

    /// Whether it runs.
    pub fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_none()
    }

    /// Kills it; what it was writing then may be cut.
    pub fn kill(&mut self) {
        self.killed = true;
        let _ = self.child.kill();
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What is watched of its processes.
    pub fn watch(&self) -> &Watch {
        &self.watch
    }

    /// What it wrote on standard error.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().expect("no holder panics")).into_owned()
    }

    /// Closes its input, waits for its end and that of all that it started, and gives what was noted.
    pub fn end(mut self, most: u64) -> Vec<String> {
        drop(self.input.take());
        // whoever was caught already is not waited for as long
        let patience = if self.is_faulty() { TO_END / 10 } else { TO_END };
        let until = Instant::now() + patience;
        let mut open = true;
        while self.child.try_wait().expect("it is our child").is_none() && Instant::now() < until {
            // a full pipe would keep it from ending
            open = open && !matches!(self.receive(Duration::from_millis(20)), Heard::End);
            if !open {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        while let Heard::Message(_) = self.receive(Duration::ZERO) {}
        if self.is_alive() {
            self.fault(format!("it does not end within {} s of the end of its input", patience.as_secs()));
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
        let left = self.watch.left(Duration::from_secs(2));
        if !left.is_empty() {
            self.fault(format!("processes that outlive it: {}", left.join(", ")));
        }
        let over = |(name, kib): &(String, u64)| {
            // a grammar's tree may take more than a repository's worker, and says so in its own limit
            *kib > if name.contains("worker syntax") { most.max(512 << 10) } else { most }
        };
        let over: Vec<(String, u64)> = self.watch.peaks().into_iter().filter(over).collect();
        if let Some((name, kib)) = over.iter().max_by_key(|(_, kib)| kib) {
            let more = if over.len() > 1 {
                format!(", and {} other processes too much", over.len() - 1)
            } else {
                String::new()
            };
            self.fault(format!("{name:?} held {} MiB of memory of its own{more}", kib >> 10));
        }
        let said = self.stderr();
        for secret in self.secrets.clone() {
            if said.contains(&secret) {
                self.fault(format!("{secret:?} came out on standard error: …{}…", around(&said, &secret)));
            }
        }
        std::mem::take(&mut self.faults)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // the normal end has reaped it
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What was heard of a server.
#[derive(Debug)]
pub enum Heard {
    /// A line of it.
    Message(Value),
    /// Nothing in time.
    Silence,
    /// Its output is closed.
    End,
}

/// What a server is started about.
#[derive(Debug)]
pub struct At<'a> {
    /// Its working directory, and the home of its user.
    pub place: &'a super::support::Place,
    /// What stands for `{repo}`.
    pub repo: &'a Path,
    /// What stands for `{root}`.
    pub root: &'a Path,
    /// What may be read, where a server takes several.
    pub roots: &'a [std::path::PathBuf],
    /// Whether somebody takes off what it writes.
    pub reads: bool,
}

/// The beginning of a text, in one line.
pub fn cut(text: &str) -> String {
    let line = text.trim().replace(char::is_control, " ");
    match line.char_indices().nth(240) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

fn around(text: &str, part: &str) -> String {
    let at = text.find(part).unwrap_or(0);
    let from = text[..at].char_indices().rev().nth(80).map_or(0, |(at, _)| at);
    cut(&text[from..])
}
