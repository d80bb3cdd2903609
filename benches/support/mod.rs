//! What the benchmarks share: a server under test, a fixture, and figures that say how they were taken.
//! Trust: talks to our own binary and to programs that the person at the keyboard names.
#![allow(dead_code, reason = "each benchmark uses its own part")]

pub mod tools;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

/// The release binary that cargo built for this benchmark.
pub const BINARY: &str = env!("CARGO_BIN_EXE_bulkhead");

/// A server that speaks MCP on its standard streams.
pub struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    /// Starts `command` in `cwd`; nothing is sent yet.
    pub fn start(command: &[String], cwd: &Path) -> Self {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .current_dir(cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, input, output, next: 1 }
    }

    /// Process id of the program started.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends one request and waits for its answer line.
    pub fn ask(&mut self, method: &str, params: &str) -> String {
        let id = self.next;
        self.next += 1;
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n");
        self.input.write_all(line.as_bytes()).expect("the server reads");
        let mut answer = String::new();
        while answer.is_empty() || answer.contains("\"method\":\"notifications/") {
            answer.clear();
            assert!(self.output.read_line(&mut answer).expect("the server answers") > 0, "the server ended");
        }
        answer
    }

    /// Sends a tool call and does not wait; [`Server::other`] reads its answer.
    #[allow(dead_code, reason = "one of the benchmarks has calls beside calls")]
    pub fn post(&mut self, tool: &str, arguments: &str) -> u64 {
        let id = self.next;
        self.next += 1;
        let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}\n");
        self.input.write_all(line.as_bytes()).expect("the server reads");
        id
    }

    /// The next answer, whichever it is.
    #[allow(dead_code, reason = "one of the benchmarks has calls beside calls")]
    pub fn other(&mut self) -> String {
        let mut answer = String::new();
        assert!(self.output.read_line(&mut answer).expect("the server answers") > 0, "the server ended");
        answer
    }

    /// The legacy opening that hosts send today.
    pub fn initialize(&mut self) -> String {
        self.ask(
            "initialize",
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}"#,
        )
    }

    /// One tool call; panics when it is answered with an error, because a fast error proves nothing.
    pub fn call(&mut self, tool: &str, repository: &Path) -> String {
        let path = repository.to_str().expect("fixtures have plain names");
        let called = self.try_call(tool, &format!(r#"{{"repoPath":"{path}"}}"#));
        called.unwrap_or_else(|answer| panic!("{answer:.600}"))
    }

    /// One tool call with these arguments; the answer, in `Err` where it is an error.
    pub fn try_call(&mut self, tool: &str, arguments: &str) -> Result<String, String> {
        let answer = self.ask("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#));
        let good = answer.contains("\"isError\":false")
            || (answer.contains("\"result\"") && !answer.contains("\"isError\":true"));
        if good { Ok(answer) } else { Err(answer) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Our own command with these flags, allowed to read beneath `root`.
pub fn ours(flags: &[&str], root: &Path) -> Vec<String> {
    // calls are recorded, as they are by default, and not in the operator's own ledger
    let run_dir = concat!(env!("CARGO_TARGET_TMPDIR"), "/bench-run-dir");
    let words = [BINARY, "--run-dir", run_dir, "--root"].map(str::to_owned);
    let mut command: Vec<String> = words.into_iter().chain([root.display().to_string()]).collect();
    command.extend(flags.iter().map(|flag| (*flag).to_owned()));
    command
}

/// The command named in `BULKHEAD_REFERENCE`, the program to compare with, where there is one.
pub fn reference() -> Option<Vec<String>> {
    let command = std::env::var("BULKHEAD_REFERENCE").ok()?;
    Some(command.split_whitespace().map(str::to_owned).collect())
}

/// The repositories on which the answers in `tests/fixtures/recorded` were made, built in a fresh home.
pub fn fixture() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let base = dir.path().canonicalize().expect("it exists");
    let config = "[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n";
    std::fs::write(base.join("gitconfig"), config).expect("the directory is ours");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/make_recorded.sh");
    let output = Command::new("bash")
        .arg(script)
        .arg(base.join("fx"))
        .env("HOME", &base)
        .env("GIT_CONFIG_GLOBAL", base.join("gitconfig"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("bash is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (dir, base.join("fx"))
}

/// Durations of one thing, with what is quoted of them.
#[derive(Default)]
pub struct Figures(Vec<Duration>);

impl Figures {
    /// Times `what` once.
    pub fn take<T>(&mut self, what: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = what();
        self.0.push(start.elapsed());
        result
    }

    /// Takes what was timed elsewhere.
    pub fn push(&mut self, elapsed: Duration) {
        self.0.push(elapsed);
    }

    /// True where nothing was timed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value below which `share` of the figures lie, in milliseconds.
    pub fn at(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let index = ((sorted.len() - 1) as f64 * share).round() as usize;
        sorted[index].as_secs_f64() * 1e3
    }

    /// `p50 (p5–p95, n)` in milliseconds.
    pub fn line(&self) -> String {
        format!(
            "p50 {:8.3} ms   p5 {:8.3}   p95 {:8.3}   n {}",
            self.at(0.5),
            self.at(0.05),
            self.at(0.95),
            self.0.len()
        )
    }
}

/// Prints one line; benchmarks report on standard output.
#[allow(clippy::print_stdout, reason = "a benchmark's product is what it prints")]
pub fn say(line: &str) {
    println!("{line}");
}
