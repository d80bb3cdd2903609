//! A look at who else works in a repository, first and repeated, on a machine with five hundred processes and full stores.
//! Trust: our own fixture. Run it as an ordinary user: as root, whose processes have capabilities that workers give up, the
//! system shows nobody's directory. `BULKHEAD_BENCH_PROCESSES=N` changes how many processes there are.

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime},
};
use support::{BINARY, Figures, Server, say};

/// Processes of the machine while it is measured.
const PROCESSES: usize = 500;
/// Servers whose first look is timed.
const STARTS: usize = 20;
/// Looks that follow one another.
const ROUNDS: usize = 200;
/// Between two looks, so that the next process is ready, as between two calls of an agent.
const PAUSE: Duration = Duration::from_millis(30);

fn main() {
    let keep = tempfile::tempdir().expect("a temporary directory");
    let base = keep.path().canonicalize().expect("it exists");
    let repo = base.join("repo");
    let made = Command::new("git").args(["init", "-q"]).arg(&repo).status().expect("git is there");
    assert!(made.success());
    stores(&base, &repo);
    let wanted = std::env::var("BULKHEAD_BENCH_PROCESSES").ok().and_then(|n| n.parse().ok()).unwrap_or(PROCESSES);
    let crowd = Crowd::gather(wanted, &base, &repo);
    say(&format!("{} processes, {} of them made for this", count(), crowd.0.len()));
    let mut first = Figures::default();
    for _ in 0..STARTS {
        let mut server = start(&base);
        server.initialize();
        // the repository's worker is warm, the one that looks is not started yet
        server.call("repo.status", &repo);
        let answer = first.take(|| server.call("agents.presence", &repo));
        assert!(answer.contains("claude-code") && answer.contains("codex"), "{answer}");
    }
    say(&format!("first look       {}", first.line()));
    for (name, touched) in [("nothing changed", false), ("one session is written to", true)] {
        let mut server = start(&base);
        server.initialize();
        server.call("repo.status", &repo);
        server.call("agents.presence", &repo);
        let mut again = Figures::default();
        for _ in 0..ROUNDS {
            if touched {
                session(&base, &repo, 0);
            }
            std::thread::sleep(PAUSE);
            again.take(|| server.call("agents.presence", &repo));
        }
        say(&format!("{name:<25} {}", again.line()));
    }
    drop(crowd);
}

fn start(base: &Path) -> Server {
    let run_dir = base.join("run").display().to_string();
    let home = format!("HOME={}", base.join("home").display());
    let words = ["env", &home, BINARY, "--run-dir", &run_dir, "--root", &base.display().to_string()].map(str::to_owned);
    Server::start(&words, base)
}

/// Other processes, until the value goes.
struct Crowd(Vec<Child>);

impl Crowd {
    fn gather(wanted: usize, base: &Path, repo: &Path) -> Self {
        let mut children = Vec::new();
        while count() < wanted {
            // every fiftieth works in the repository
            let dir = if children.len() % 50 == 0 { repo } else { base };
            let child = Command::new("cat").current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
            children.push(child.expect("one more process"));
        }
        Self(children)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn count() -> usize {
    let names = fs::read_dir("/proc").expect("Linux").flatten();
    names
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.bytes().all(|b| b.is_ascii_digit())))
        .count()
}

/// Forty projects of Claude Code with five sessions each, a hundred sessions of Codex, two hundred workspaces of an editor;
/// a handful of each was written to lately.
fn stores(base: &Path, repo: &Path) {
    for project in 0..40 {
        for file in 0..5 {
            let path = base.join(format!("home/.claude/projects/p{project}/{file}.jsonl"));
            write(&path, &line("/elsewhere").repeat(20), project * 600);
        }
    }
    session(base, repo, 0);
    session(base, repo, 1);
    for n in 0..100_u64 {
        let dir = if n == 0 { repo.display().to_string() } else { "/elsewhere".to_owned() };
        let text = format!("{{\"type\":\"session_meta\",\"payload\":{{\"cwd\":\"{dir}\"}}}}\n");
        write(&base.join(format!("home/.codex/sessions/2026/11/{}/r{n}.jsonl", n % 30)), &text, n * 300);
    }
    for n in 0..200_u64 {
        let dir = base.join(format!("home/.config/Code/User/workspaceStorage/{n}"));
        write(&dir.join("workspace.json"), "{\"folder\":\"file:///elsewhere\"}", 9_000);
        write(&dir.join("state.vscdb"), "x", n * 600);
        let _ = fs::File::open(&dir).and_then(|dir| dir.set_modified(SystemTime::now() - Duration::from_secs(n * 600)));
    }
}

/// A session in the repository, long enough that only its end is read.
fn session(base: &Path, repo: &Path, number: u32) {
    let path = base.join(format!("home/.claude/projects/here/{number}.jsonl"));
    write(&path, &line(&repo.display().to_string()).repeat(3_000), 2);
}

fn line(dir: &str) -> String {
    let text = "x".repeat(200);
    let now = now();
    format!(
        "{{\"cwd\":\"{dir}\",\"gitBranch\":\"main\",\"timestamp\":\"{now}\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}\n"
    )
}

/// As the agents write times.
fn now() -> String {
    let said = Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).output().expect("it is there");
    String::from_utf8(said.stdout).expect("digits").trim().to_owned()
}

fn write(path: &Path, text: &str, age_secs: u64) {
    let parent: PathBuf = path.parent().expect("it lies in the fixture").into();
    fs::create_dir_all(parent).expect("the fixture is ours");
    fs::write(path, text).expect("the fixture is ours");
    let at = SystemTime::now() - Duration::from_secs(age_secs);
    fs::File::open(path).and_then(|file| file.set_modified(at)).expect("the fixture is ours");
}
