//! As much of HTTP/1.1 as the suite speaks: one request a connection, a body of known length, an answer or a stream of events.
//! Trust: test code; a request that is not of that form ends its connection.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write},
    net::TcpStream,
    time::Duration,
};

/// Longest body that is read.
const MAX_BODY: usize = 4 << 20;
/// Lines of one head at most.
const MAX_HEADERS: usize = 100;

/// One request.
#[derive(Debug)]
pub struct Request {
    /// For example `POST`.
    pub method: String,
    headers: Vec<(String, String)>,
    /// As it came.
    pub body: Vec<u8>,
}

impl Request {
    /// Reads one; `None` where there is none, or none of the expected form.
    pub fn read(stream: &TcpStream) -> Option<Request> {
        stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
        let mut lines = BufReader::new(stream);
        let mut line = || {
            let mut line = String::new();
            lines.read_line(&mut line).ok().filter(|read| *read > 0)?;
            Some(line.trim_end().to_owned())
        };
        let method = line()?.split(' ').next()?.to_owned();
        let mut headers = Vec::new();
        loop {
            let line = line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':')?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            if headers.len() > MAX_HEADERS {
                return None;
            }
        }
        let mut request = Request { method, headers, body: Vec::new() };
        let length: usize = request.header("content-length").map_or(Some(0), |length| length.parse().ok())?;
        if length > MAX_BODY {
            return None;
        }
        request.body.resize(length, 0);
        lines.read_exact(&mut request.body).ok()?;
        Some(request)
    }

    /// A header's value, by its name in small letters.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Answers as a whole. Who asked may be gone, which is nothing to complain about.
pub fn answer(mut stream: &TcpStream, status: u16, session: Option<&str>, body: &str) {
    let head = head(status, "application/json", session);
    let _ = write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len());
}

/// Begins a stream of events, which ends with the connection.
pub fn begin_events(mut stream: &TcpStream, session: Option<&str>) -> std::io::Result<()> {
    write!(stream, "{}cache-control: no-cache\r\n\r\n", head(200, "text/event-stream", session))
}

/// One event.
pub fn event(mut stream: &TcpStream, data: &str) -> std::io::Result<()> {
    write!(stream, "event: message\ndata: {data}\n\n")
}

fn head(status: u16, kind: &str, session: Option<&str>) -> String {
    let session = session.map(|id| format!("mcp-session-id: {id}\r\n")).unwrap_or_default();
    format!("HTTP/1.1 {status} -\r\nconnection: close\r\ncontent-type: {kind}\r\n{session}")
}
