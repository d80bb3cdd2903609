//! A reference gateway: a desk behind a loopback port, whose answers a test may replace. It executes nothing, and says so.
//! Trust: test code; requests are kept byte by byte, because how they look is what tests are about.

pub mod desk;
mod proof;

use desk::Desk;
use serde_json::Value;
use std::{
    collections::VecDeque,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant},
};

/// Bytes of a request at most.
const MAX_REQUEST: usize = 16 << 20;
/// The longest that a connection is read from, or kept in silence.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Everything before the body.
    pub head: Vec<u8>,
    /// First word.
    pub method: String,
    /// Second word.
    pub path: String,
    /// Third word.
    pub version: String,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// As many bytes as the head says.
    pub body: Vec<u8>,
}

impl Seen {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("bodies are JSON")
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// What answers a request in place of the desk.
pub enum Answer {
    /// These bytes, and the end of the connection.
    Bytes(Vec<u8>),
    /// A status and a body.
    Say(u16, Vec<u8>),
    /// What this makes of the request.
    With(Box<dyn FnOnce(&Seen) -> Answer + Send>),
    /// The desk takes it, and the connection ends without an answer.
    Lose,
    /// Nothing for so long, then that.
    After(Duration, Box<Answer>),
    /// These bytes, then the last of them again and again with so long between, until nobody reads any more.
    Dribble(Vec<u8>, Duration),
    /// The desk.
    Desk,
}

/// What answers every request that the script says nothing of.
type Habit = Arc<dyn Fn(&Seen) -> Answer + Send + Sync>;

#[derive(Default)]
struct Shared {
    desk: Mutex<Desk>,
    seen: Mutex<Vec<Seen>>,
    script: Mutex<VecDeque<Answer>>,
    habit: Mutex<Option<Habit>>,
    /// What both sides know: greetings are answered, requests and answers proved.
    token: Option<Vec<u8>>,
}

/// The gateway; its threads end with the test's process.
pub struct Gateway {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Gateway {
    /// Listens on a port of its own, on the plain wire.
    pub fn start() -> Self {
        Self::with(Shared::default())
    }

    /// The same on the authentic wire; facts are accepted.
    pub fn authentic(token: &[u8]) -> Self {
        let gateway = Self::with(Shared { token: Some(token.to_vec()), ..Shared::default() });
        gateway.desk().facts = true;
        gateway
    }

    fn with(shared: Shared) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port");
        let address = listener.local_addr().expect("it listens");
        let shared = Arc::new(shared);
        let theirs = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&theirs);
                std::thread::spawn(move || serve(&shared, stream));
            }
        });
        Self { address, shared }
    }

    /// As `--gateway` takes it.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// The desk.
    pub fn desk(&self) -> MutexGuard<'_, Desk> {
        self.shared.desk.lock().expect("no holder panics")
    }

    /// Has the next requests answered so, in the order in which they come.
    pub fn script(&self, answers: impl IntoIterator<Item = Answer>) {
        self.shared.script.lock().expect("no holder panics").extend(answers);
    }

    /// Has every request that the script says nothing of answered so.
    pub fn always(&self, habit: impl Fn(&Seen) -> Answer + Send + Sync + 'static) {
        *self.shared.habit.lock().expect("no holder panics") = Some(Arc::new(habit));
    }

    /// Forgets what is left of the script, and says how much that was.
    pub fn unused(&self) -> usize {
        self.shared.script.lock().expect("no holder panics").drain(..).count()
    }

    /// The requests since the last look.
    pub fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.shared.seen.lock().expect("no holder panics"))
    }
}

fn serve(shared: &Shared, mut stream: TcpStream) {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let Some(mut seen) = request(&mut stream) else { return };
    let mut proved = None;
    if let Some(token) = &shared.token {
        // the greeting and the request share a connection
        let Some(hello) = proof::greeted(token, &seen) else { return say(&mut stream, 401, NOT_PROVED, "") };
        let head = format!("HTTP/1.1 200 Hello\r\ncontent-length: 0\r\nbulkhead-mac: {hello}\r\n\r\n");
        if stream.write_all(head.as_bytes()).is_err() {
            return;
        }
        let Some(second) = request(&mut stream) else { return };
        if !proof::holds(token, &seen, &second) {
            return say(&mut stream, 401, NOT_PROVED, "");
        }
        let nonce = seen.header(proof::NONCE).unwrap_or_default().to_owned();
        proved = Some((token, nonce));
        seen = second;
    }
    shared.seen.lock().expect("no holder panics").push(seen.clone());
    let next = shared.script.lock().expect("no holder panics").pop_front();
    let mut next = next.unwrap_or_else(|| {
        let habit = shared.habit.lock().expect("no holder panics").clone();
        habit.map_or(Answer::Desk, |habit| habit(&seen))
    });
    let fields = |status: u16, body: &[u8]| {
        let mac = proved.as_ref().map(|(token, nonce)| proof::of_answer(token, nonce, status, &seen.path, body));
        mac.map_or_else(String::new, |mac| format!("bulkhead-mac: {mac}\r\n"))
    };
    loop {
        let desk = || shared.desk.lock().expect("no holder panics").answer(&seen.method, &seen.path, &seen.body);
        next = match next {
            Answer::Bytes(bytes) => return drop(stream.write_all(&bytes)),
            Answer::Say(status, body) => return say(&mut stream, status, &body, &fields(status, &body)),
            Answer::With(make) => make(&seen),
            Answer::Lose => return drop(desk()),
            Answer::After(time, then) => {
                std::thread::sleep(time.min(PATIENCE));
                *then
            }
            Answer::Dribble(bytes, pause) => return dribble(&mut stream, &bytes, pause),
            Answer::Desk => {
                let (status, body) = desk();
                let body = body.to_string().into_bytes();
                return say(&mut stream, status, &body, &fields(status, &body));
            }
        };
    }
}

/// At most 64 KiB of the end come again, for as long as a connection may last.
fn dribble(stream: &mut TcpStream, bytes: &[u8], pause: Duration) {
    let again = if bytes.len() > 65_536 { &bytes[bytes.len() - 65_536..] } else { &bytes[bytes.len() - 1..] };
    let until = Instant::now() + PATIENCE;
    let mut next = bytes;
    while Instant::now() < until && stream.write_all(next).is_ok() {
        std::thread::sleep(pause);
        next = again;
    }
}

const NOT_PROVED: &[u8] = br#"{"error":"not_authentic"}"#;

fn say(stream: &mut TcpStream, status: u16, body: &[u8], fields: &str) {
    let length = if status == 204 { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    let head = format!(
        "HTTP/1.1 {status} As-Scripted\r\ncontent-type: application/json\r\n{fields}{length}connection: close\r\n\r\n"
    );
    // who went away does not hear it
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(if status == 204 { b"" } else { body }));
}

/// One request, if a whole one comes.
fn request(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let mut piece = [0; 16 * 1024];
    let mut wanted = None;
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4) {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let mut lines = head.trim_end().split("\r\n");
            let mut words = lines.next()?.split(' ').map(str::to_owned);
            let (method, path, version) = (words.next()?, words.next()?, words.next()?);
            let headers: Vec<(String, String)> = lines
                .filter_map(|line| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned())))
                .collect();
            let length = headers.iter().find(|(name, _)| name == "content-length");
            let length: usize = length.map_or(Some(0), |(_, value)| value.parse().ok())?;
            wanted = Some(end + length);
            if bytes.len() >= end + length {
                let body = bytes[end..end + length].to_vec();
                return Some(Seen { head: bytes[..end].to_vec(), method, path, version, headers, body });
            }
        }
        match stream.read(&mut piece) {
            Ok(n @ 1..) if bytes.len() < wanted.unwrap_or(MAX_REQUEST).min(MAX_REQUEST) => {
                bytes.extend_from_slice(&piece[..n])
            }
            _ => return None,
        }
    }
}
