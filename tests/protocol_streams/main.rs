//! What may come in on standard input: odd, broken, endless and hostile streams. The session always goes on.
//! Trust: every stream here is an agent at its worst; the client checks each line that comes back.

#[path = "../support/mod.rs"]
mod support;

mod arguments;
mod endings;
mod floods;
mod hosts;
mod messages;

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use support::{Place, Repo, Server, Start, server::PATIENCE};

/// A server that may read one honest repository.
struct Session {
    server: Server,
    repository: String,
    marks: u32,
    // removed when the session is over
    _place: Place,
}

impl Session {
    fn new() -> Self {
        Self::with(|start| start)
    }

    /// A session whose server was started in another way.
    fn with(change: impl FnOnce(Start<'_>) -> Start<'_>) -> Self {
        let place = Place::new();
        let repository = Repo::honest(&place, "repo").path().to_str().expect("places have UTF-8 paths").to_owned();
        let server = change(Start::new(&place).root(place.path())).spawn();
        Self { server, repository, marks: 0, _place: place }
    }

    /// A session whose client has said `initialize`.
    fn initialized(version: &str) -> Self {
        let mut session = Self::new();
        let id = session.server.request(
            "initialize",
            json!({
                "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "0"},
            }),
        );
        let answer = session.server.answer(&id).message;
        assert_eq!(answer["result"]["protocolVersion"], version, "a known version is echoed: {answer}");
        session.server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    /// Everything that comes back before the answer to a ping that is sent now. Requests that are answered without a
    /// worker are answered in order.
    fn until_mark(&mut self) -> Vec<Value> {
        self.marks += 1;
        let mark = json!(format!("mark {}", self.marks));
        self.server.send(&json!({"jsonrpc": "2.0", "id": mark, "method": "ping"}));
        let mut before = Vec::new();
        loop {
            let message = self.server.receive(PATIENCE);
            let message = message.unwrap_or_else(|| panic!("the session is over: {}", self.server.stderr()));
            if message.get("id").is_some() {
                // taken, so that the same id may be used again
                self.server.answer(&message["id"]);
            }
            if message["id"] == mark {
                assert_eq!(message["result"], json!({}), "a ping is answered");
                return before;
            }
            before.push(message);
        }
    }

    /// Sends bytes and returns what comes back for them.
    fn exchange(&mut self, bytes: impl AsRef<[u8]>) -> Vec<Value> {
        assert!(self.server.write(bytes.as_ref()), "the server closed its input: {}", self.server.stderr());
        self.until_mark()
    }

    /// A call on the honest repository answers: the workers are in order, too.
    fn still_reads(&mut self) {
        let until = Instant::now() + PATIENCE;
        loop {
            let outcome = self.server.call("repo.status", json!({"repoPath": self.repository}));
            // calls that were cancelled a moment ago count as open until they have ended, and a new one is told to come again
            if outcome.is_ok() || outcome.code() != Some(10025) || Instant::now() > until {
                assert_eq!(outcome.data()["clean"], true);
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it in the way of a client that is done.
    fn finish(self) {
        let ended = self.server.finish();
        assert!(ended.status.success(), "{}: {}", ended.status, ended.said);
        assert!(ended.elapsed < Duration::from_secs(5), "it took {:?} to end", ended.elapsed);
    }
}

/// One line with this message.
fn line(message: &Value) -> Vec<u8> {
    let mut bytes = message.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}
