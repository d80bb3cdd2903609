//! Streamable HTTP in front, the server's standard streams behind: what the server says is passed on as it is, but for ids.
//! Trust: test code. What the suite asks of HTTP itself (sessions, statuses, headers, origins) is this file's and not the product's.

use crate::http::{self, Request};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

/// The longest that a request waits for the next message of its answer.
const PATIENCE: Duration = Duration::from_secs(30);
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// JSON-RPC errors, and the statuses by which the stateless revision shows them.
const STATUSES: [(i64, u16); 7] =
    [(-32601, 404), (-32602, 400), (-32022, 400), (-32021, 400), (-32020, 400), (-32600, 400), (-32700, 400)];

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder panics")
}

/// A request whose answer has not come.
struct Waiting {
    id: Value,
    method: String,
    token: Option<Value>,
    sender: Sender<Value>,
}

/// One server process.
struct Server {
    child: Mutex<Child>,
    stdin: Mutex<ChildStdin>,
    waiting: Mutex<HashMap<u64, Waiting>>,
    last: AtomicU64,
}

impl Server {
    fn start(mut command: Command) -> Arc<Server> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the product starts");
        let stdin = child.stdin.take().expect("it is piped");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let server = Arc::new(Server {
            child: Mutex::new(child),
            stdin: Mutex::new(stdin),
            waiting: Mutex::default(),
            last: AtomicU64::new(0),
        });
        let reader = Arc::clone(&server);
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                reader.pass(serde_json::from_str(&line).expect("standard output carries JSON alone"));
            }
            // whoever still waits learns that nothing comes
            held(&reader.waiting).clear();
        });
        server
    }

    fn pass(&self, mut message: Value) {
        let mut waiting = held(&self.waiting);
        if message.get("method").is_none() {
            let answered = message["id"].as_u64().and_then(|id| waiting.remove(&id));
            if let Some(waiting) = answered {
                message["id"] = waiting.id;
                let _gone = waiting.sender.send(message);
            }
            return;
        }
        let subscription = message["params"]["_meta"][SUBSCRIPTION].as_u64();
        let token = &message["params"]["progressToken"];
        let found = match subscription {
            Some(id) => waiting.get(&id),
            None if message["method"] == "notifications/progress" => {
                waiting.values().find(|waiting| waiting.token.as_ref() == Some(token))
            }
            None => {
                let newest = waiting.iter().filter(|(_, waiting)| waiting.method != "subscriptions/listen");
                newest.max_by_key(|(id, _)| **id).map(|(_, waiting)| waiting)
            }
        };
        if let Some(found) = found {
            if subscription.is_some() {
                message["params"]["_meta"][SUBSCRIPTION] = found.id.clone();
            }
            let _gone = found.sender.send(message);
        }
    }

    fn send(&self, message: &Value) {
        // a server that has ended takes nothing; who waits for it is told by the reader
        let _ = writeln!(held(&self.stdin), "{message}");
    }

    fn ask(&self, mut message: Value) -> (u64, Receiver<Value>) {
        let (sender, receiver) = channel();
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let waiting = Waiting {
            id: std::mem::replace(&mut message["id"], number.into()),
            method: message["method"].as_str().unwrap_or_default().to_owned(),
            token: message["params"]["_meta"].get("progressToken").cloned(),
            sender,
        };
        held(&self.waiting).insert(number, waiting);
        self.send(&message);
        (number, receiver)
    }

    fn give_up(&self, number: u64) {
        if held(&self.waiting).remove(&number).is_some() {
            let params = json!({ "requestId": number });
            self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut child = held(&self.child);
        let _ = child.kill();
        let _ = child.wait();
    }
}

struct House<'a> {
    command: Box<dyn Fn() -> Command + Send + Sync + 'a>,
    /// The process that all stateless requests go to.
    stateless: Mutex<Option<Arc<Server>>>,
    sessions: Mutex<HashMap<String, Arc<Server>>>,
    last: AtomicU64,
    over: AtomicBool,
}

/// The bridge, until it is dropped.
pub struct Bridge {
    port: u16,
    house: Arc<House<'static>>,
}

impl Bridge {
    /// Listens on a port of the loopback; `command` makes a server.
    pub fn start(command: impl Fn() -> Command) -> Bridge {
        // a command cannot be cloned, so its parts are kept
        let made = command();
        let (program, arguments) =
            (made.get_program().to_owned(), made.get_args().map(Into::into).collect::<Vec<std::ffi::OsString>>());
        let variables: Vec<_> =
            made.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))).collect();
        let cwd = made.get_current_dir().expect("a start names its directory").to_owned();
        let command = move || {
            let mut command = Command::new(&program);
            command.args(&arguments).env_clear().envs(variables.iter().cloned()).current_dir(&cwd);
            command
        };
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a port");
        let port = listener.local_addr().expect("it is bound").port();
        let house = Arc::new(House {
            command: Box::new(command),
            stateless: Mutex::default(),
            sessions: Mutex::default(),
            last: AtomicU64::new(0),
            over: AtomicBool::new(false),
        });
        let served = Arc::clone(&house);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if served.over.load(Ordering::Relaxed) {
                    return;
                }
                let house = Arc::clone(&served);
                thread::spawn(move || Request::read(&stream).map(|request| house.serve(&stream, &request)));
            }
        });
        Bridge { port, house }
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.house.over.store(true, Ordering::Relaxed);
        // wakes the listener
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        held(&self.house.sessions).clear();
        held(&self.house.stateless).take();
    }
}

impl House<'_> {
    fn serve(&self, stream: &TcpStream, request: &Request) {
        if !is_local(request) {
            return http::answer(stream, 403, None, "");
        }
        let session = request.header("mcp-session-id");
        match request.method.as_str() {
            "POST" => {}
            "DELETE" => {
                let gone = session.and_then(|id| held(&self.sessions).remove(id));
                return http::answer(stream, if gone.is_some() { 200 } else { 404 }, None, "");
            }
            _ => return http::answer(stream, 405, None, ""),
        }
        let refuse = |status, id: &Value, code: i64, message: &str| {
            let error = json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } });
            http::answer(stream, status, None, &error.to_string());
        };
        let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
            return refuse(400, &Value::Null, -32700, "Parse error");
        };
        let id = &message["id"];
        let is_request = message.get("method").is_some() && message.get("id").is_some();
        let named = message["params"]["_meta"].get(VERSION);
        let modern = named.is_some() || request.header("mcp-protocol-version").is_some_and(|version| version >= "2026");
        if modern && is_request && !headers_agree(request, &message) {
            return refuse(400, id, -32020, "Header mismatch");
        }
        let (server, opened) = match session {
            _ if message["method"] == "initialize" && !modern => {
                let id = format!("s{}", self.last.fetch_add(1, Ordering::Relaxed));
                let server = Server::start((self.command)());
                held(&self.sessions).insert(id.clone(), Arc::clone(&server));
                (server, Some(id))
            }
            Some(session) => match held(&self.sessions).get(session).cloned() {
                Some(server) => (server, None),
                None => return refuse(404, id, -32600, "Session not found"),
            },
            None if modern => {
                let mut stateless = held(&self.stateless);
                (Arc::clone(stateless.get_or_insert_with(|| Server::start((self.command)()))), None)
            }
            None => return refuse(400, id, -32600, "Mcp-Session-Id required"),
        };
        if is_request {
            exchange(stream, &server, message, opened.as_deref());
        } else {
            server.send(&message);
            http::answer(stream, 202, None, "");
        }
    }
}

/// One request and all that comes of it.
fn exchange(stream: &TcpStream, server: &Server, message: Value, session: Option<&str>) {
    let (number, receiver) = server.ask(message);
    let mut streaming = false;
    while let Ok(message) = receiver.recv_timeout(PATIENCE) {
        let last = message.get("method").is_none();
        if last && !streaming {
            let code = message["error"]["code"].as_i64();
            let status = code.and_then(|code| STATUSES.iter().find(|(known, _)| *known == code));
            return http::answer(stream, status.map_or(200, |(_, status)| *status), session, &message.to_string());
        }
        let begun = if streaming { Ok(()) } else { http::begin_events(stream, session) };
        streaming = true;
        if begun.and_then(|()| http::event(stream, &message.to_string())).is_err() {
            break;
        }
        if last {
            return;
        }
    }
    server.give_up(number);
}

/// Only pages of this machine may ask.
fn is_local(request: &Request) -> bool {
    let local = |place: &str| {
        let (host, port) = place.rsplit_once(':').unwrap_or((place, "0"));
        let host = if port.ends_with(']') { place } else { host };
        ["localhost", "127.0.0.1", "[::1]"].contains(&host)
    };
    let origin = request.header("origin").map(|origin| origin.trim_start_matches("http://").to_owned());
    request.header("host").is_some_and(local) && origin.is_none_or(|origin| local(&origin))
}

/// What the stateless revision says twice is the same both times.
fn headers_agree(request: &Request, message: &Value) -> bool {
    let (method, params) = (message["method"].as_str(), &message["params"]);
    let version = params["_meta"].get(VERSION);
    let name = match method {
        Some("tools/call" | "prompts/get") => params.get("name"),
        Some("resources/read") => params.get("uri"),
        _ => None,
    };
    request.header("mcp-method") == method
        && version.is_none_or(|version| request.header("mcp-protocol-version") == version.as_str())
        && name.is_none_or(|name| request.header("mcp-name") == name.as_str())
}
