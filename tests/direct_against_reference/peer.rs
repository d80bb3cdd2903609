//! The reference as a client sees it: a child, JSON lines, a deadline on every wait.
//! Trust: another program's; what it says is compared and never acted on.

use crate::support::Place;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{Receiver, sync_channel},
    time::Duration,
};

/// The longest that one answer is waited for: the reference takes minutes to blame through a long history.
const PATIENCE: Duration = Duration::from_secs(300);

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A value.
    Value(Value),
    /// Arguments that were refused.
    Params,
    /// A failure, in its own words.
    Failure(String),
}

/// The running reference.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    next: u64,
}

impl Peer {
    /// Starts it on the repository around `dir`, and shakes hands.
    pub fn start(program: &Path, place: &Place, dir: &Path) -> Self {
        let mut command = place.command(program);
        // a trial is a write there, and gated
        command.args(["--allow-tools", "repo_try_merge", "--repo"]).arg(dir).current_dir(dir);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the reference starts");
        let (stdin, stdout) = (child.stdin.take().expect("it is piped"), child.stdout.take().expect("it is piped"));
        let (sender, lines) = sync_channel(16);
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut peer = Self { child, stdin, lines, next: 0 };
        let client = json!({"name": "bulkhead-tests", "version": "1"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        peer.request("initialize", &params);
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(peer.stdin, "{done}").expect("it reads");
        peer
    }

    /// Calls a tool.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Answer {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        if let Some(error) = answer.get("error") {
            return match error["code"].as_i64() {
                Some(-32602) => Answer::Params,
                _ => Answer::Failure(error["message"].to_string()),
            };
        }
        // it answers arguments of a wrong type with a result
        if answer["result"]["isError"] == true {
            return Answer::Params;
        }
        let text = answer["result"]["content"][0]["text"].as_str().expect("one text");
        Answer::Value(serde_json::from_str(text).expect("it is JSON"))
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.stdin, "{message}").expect("it reads");
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("an answer in time");
            let answer: Value = serde_json::from_str(&line).expect("a line is JSON");
            if answer["id"] == id {
                return answer;
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // a call that was given up must not hold the test
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
