//! A place with a repository and a ledger, and what can be asked of it.
//! Trust: test code.

use crate::support::{Place, Repo, Server, Start};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
    time::{Duration, Instant},
};

/// Longest wait for an entry.
const PATIENCE: Duration = Duration::from_secs(60);

/// A place with a repository.
pub struct World {
    pub place: Place,
    pub repo: PathBuf,
}

impl World {
    pub fn new() -> Self {
        let place = Place::new();
        let repo = Repo::honest(&place, "repo").path().to_owned();
        Self { place, repo }
    }

    /// Where the ledger lies unless something else is asked for.
    pub fn ledger(&self) -> PathBuf {
        self.place.home().join(".local/state/bulkhead/audit/mcp.jsonl")
    }

    pub fn public_key(&self) -> PathBuf {
        self.beside(".public-key.pem")
    }

    /// A file that lies beside the ledger.
    pub fn beside(&self, what: &str) -> PathBuf {
        PathBuf::from(format!("{}{what}", self.ledger().display()))
    }

    pub fn start(&self) -> Start<'_> {
        Start::new(&self.place).root(self.place.path())
    }

    pub fn server(&self, arguments: &[&str]) -> Server {
        self.start().arguments(arguments).spawn()
    }

    /// One read, which is answered.
    pub fn read(&self, server: &mut Server) {
        let outcome = server.read("repo.status", &self.repo);
        assert!(outcome.is_ok(), "{}", outcome.message);
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.start().arguments(arguments).output()
    }

    /// Makes the signing key.
    pub fn init(&self) {
        let output = self.run(&["audit", "init"]);
        assert!(output.status.success(), "{}", said(&output));
    }

    /// Verifies the ledger; strictly where there is a key. Exit status, and what was printed.
    pub fn verify(&self, further: &[&str]) -> (Option<i32>, String) {
        let (ledger, key) = (self.ledger(), self.public_key());
        let mut arguments = vec!["verify-audit", utf8(&ledger)];
        if key.exists() {
            arguments.extend(["--pubkey", utf8(&key), "--require-signed"]);
        }
        arguments.extend(further);
        let output = self.run(&arguments);
        (output.status.code(), said(&output))
    }

    /// Verifies, and nothing is wrong.
    pub fn expect_sound(&self) {
        let (code, text) = self.verify(&[]);
        assert_eq!(code, Some(0), "{text}");
    }

    /// The entries of the active file.
    pub fn entries(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.ledger()).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Waits until so many entries of that type stand there.
    pub fn until(&self, event_type: &str, count: usize) -> Vec<Value> {
        let since = Instant::now();
        loop {
            let mut entries = self.entries();
            if entries.iter().filter(|entry| entry["event_type"] == event_type).count() >= count {
                entries.retain(|entry| entry["event_type"] == event_type);
                return entries;
            }
            assert!(since.elapsed() < PATIENCE, "{count} entries of {event_type} do not come: {entries:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

pub fn utf8(path: &Path) -> &str {
    path.to_str().expect("places have UTF-8 paths")
}

/// Standard output, then standard error.
pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
