//! The application behind the address, as a raw socket with a script for each connection.
//! Trust: it is the other side of everything that is tested; what it reads is what really left.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
    time::Duration,
};

/// Longer than anything here takes.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// What is done with one connection.
pub type Script = Box<dyn FnOnce(&mut Connection) + Send>;

/// One connection, and everything that came over it.
pub struct Connection {
    stream: TcpStream,
    /// What was read and is not yet taken.
    held: Vec<u8>,
}

/// A request as it came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Came {
    /// Request line and fields, without the empty line.
    pub head: String,
    /// Body.
    pub body: Vec<u8>,
}

#[derive(Default)]
struct State {
    scripts: VecDeque<Script>,
    came: Vec<Came>,
    connections: usize,
    /// Connections that the other side has closed.
    closed: usize,
}

/// Listens for as long as the program runs.
#[derive(Clone)]
pub struct Peer {
    pub address: SocketAddr,
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Peer {
    /// Bound; nobody accepts before [`Peer::serve`].
    pub fn bind() -> io::Result<(Self, TcpListener)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        Ok((Self { address, state: Arc::default() }, listener))
    }

    /// Accepts, from now on; needs a thread.
    pub fn serve(&self, listener: TcpListener) {
        let state = Arc::clone(&self.state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = {
                    let mut held = state.0.lock().expect("no script panics while it holds this");
                    held.connections += 1;
                    held.scripts.pop_front()
                };
                let state = Arc::clone(&state);
                // without a script, the connection is closed
                let Some(script) = script else { continue };
                thread::spawn(move || {
                    let _ = stream.set_read_timeout(Some(DEADLINE));
                    let _ = stream.set_write_timeout(Some(DEADLINE));
                    script(&mut Connection { stream, held: Vec::new() });
                    drop(state);
                });
            }
        });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().expect("no script panics while it holds this")
    }

    /// Forgets scripts and requests that a test has left.
    pub fn reset(&self) {
        *self.state.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = State::default();
    }

    /// Has the next connection served so.
    pub fn script(&self, script: impl FnOnce(&mut Connection) + Send + 'static) {
        self.state().scripts.push_back(Box::new(script));
    }

    /// The next connection reads a request, which [`Peer::came`] gives, and is answered with these bytes.
    pub fn answers(&self, bytes: impl Into<Vec<u8>>) {
        let (state, bytes) = (Arc::clone(&self.state), bytes.into());
        self.script(move |connection| {
            let Some(came) = connection.request() else { return };
            note(&state, |state| state.came.push(came));
            let _ = connection.say(&bytes);
        });
    }

    /// The next connection reads a request and answers nothing, until the other side closes it.
    pub fn falls_silent(&self) {
        let state = Arc::clone(&self.state);
        self.script(move |connection| {
            let came = connection.request().unwrap_or_default();
            note(&state, |state| state.came.push(came));
            connection.until_closed();
            note(&state, |state| state.closed += 1);
        });
    }

    /// Requests that came since this was asked last.
    pub fn came(&self) -> Vec<Came> {
        std::mem::take(&mut self.state().came)
    }

    /// Notes a request.
    pub fn note(&self) -> impl Fn(Came) + Send + 'static {
        let state = Arc::clone(&self.state);
        move |came| note(&state, |state| state.came.push(came))
    }

    /// Connections that came since this was asked last.
    pub fn connections(&self) -> usize {
        std::mem::take(&mut self.state().connections)
    }

    /// Waits until so many requests came, without taking them.
    pub fn wait_for(&self, requests: usize) {
        self.wait(|state| state.came.len() >= requests, "requests");
    }

    /// Waits until the other side has closed so many connections that were silent, and counts anew.
    pub fn wait_for_closed(&self, connections: usize) {
        self.wait(|state| state.closed >= connections, "closed connections");
        self.state().closed = 0;
    }

    fn wait(&self, until: impl Fn(&State) -> bool, what: &str) {
        let (state, changed) = &*self.state;
        let held = state.lock().expect("no script panics while it holds this");
        let waited = changed.wait_timeout_while(held, DEADLINE, |state| !until(state));
        let (_held, timeout) = waited.expect("no script panics while it holds this");
        assert!(!timeout.timed_out(), "{what} that should be there did not come");
    }
}

fn note(state: &(Mutex<State>, Condvar), change: impl FnOnce(&mut State)) {
    change(&mut state.0.lock().expect("no script panics while it holds this"));
    state.1.notify_all();
}

impl Connection {
    /// One whole request; `None` where the other side ended before.
    pub fn request(&mut self) -> Option<Came> {
        let end = loop {
            if let Some(at) = self.held.windows(4).position(|four| four == b"\r\n\r\n") {
                break at;
            }
            self.more()?;
        };
        let head = String::from_utf8(self.held[..end].to_vec()).expect("heads are ASCII");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
        while self.held.len() < end + 4 + length {
            self.more()?;
        }
        let rest = self.held.split_off(end + 4 + length);
        let body = self.held.split_off(end + 4);
        self.held = rest;
        Some(Came { head, body })
    }

    fn more(&mut self) -> Option<()> {
        let mut piece = [0; 64 * 1024];
        let got = self.stream.read(&mut piece).ok().filter(|got| *got > 0)?;
        self.held.extend_from_slice(&piece[..got]);
        Some(())
    }

    /// Writes all of it.
    pub fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Writes these bytes again and again until the other side is gone.
    pub fn flood(&mut self, bytes: &[u8]) {
        while self.say(bytes).is_ok() {}
    }

    /// Says nothing more and reads until the other side closes.
    pub fn until_closed(&mut self) {
        while self.more().is_some() {}
    }

    /// Says that nothing more comes, and keeps the connection.
    pub fn end(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

/// A whole answer.
pub fn answer(status: u16, body: &[u8]) -> Vec<u8> {
    let mut all = format!("HTTP/1.1 {status} Whatever\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    all.extend_from_slice(body);
    all
}
