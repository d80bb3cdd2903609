//! Streams that stop in the middle, and the header framing that old clients send.
//! Trust: hostile by construction.

use super::{Session, line};
use serde_json::{Value, json};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn framed(headers: &str, body: &str) -> String {
    format!("{headers}{body}")
}

#[test]
fn a_last_line_without_its_end_is_answered() {
    let mut session = Session::new();
    assert!(session.server.write(PING.as_bytes()));
    let ended = session.server.finish();
    assert!(ended.status.success());
    assert_eq!(ended.rest.iter().filter(|message| message["id"] == 1).count(), 1, "{:?}", ended.rest);
}

#[test]
fn half_a_message_and_then_nothing() {
    for half in
        [&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"met"[..], b"Content-Length: 400\r\n\r\n{}", b"Content-Length: 4", b"\xff"]
    {
        let mut session = Session::new();
        session.still_reads();
        assert!(session.server.write(half));
        session.finish();
    }
}

#[test]
fn header_framing_is_understood() {
    let mut session = Session::new();
    let length = PING.len();
    for (what, bytes) in [
        ("as it is written", framed(&format!("Content-Length: {length}\r\n\r\n"), PING)),
        ("with line feeds and another header", framed(&format!("content-length: {length}\nContent-Type: x\n\n"), PING)),
    ] {
        let back = session.exchange(bytes);
        assert_eq!(back.iter().filter(|message| message["result"] == json!({})).count(), 1, "{what}: {back:?}");
    }
    session.still_reads();
    session.finish();
}

#[test]
fn bad_headers_get_an_error_and_the_session_goes_on() {
    let length = PING.len();
    let too_long = (8 << 20) + 1;
    for (what, bytes) in [
        ("a length twice", framed(&format!("Content-Length: {length}\r\nContent-Length: {length}\r\n\r\n"), PING)),
        ("no number", "Content-Length: x\r\n\r\n".to_owned()),
        ("a negative number", "Content-Length: -1\r\n\r\n".to_owned()),
        ("a number beyond all", format!("Content-Length: {}\r\n\r\n", "9".repeat(400))),
        ("more than is allowed", framed(&format!("Content-Length: {too_long}\r\n\r\n"), &"a".repeat(too_long))),
        ("nothing", "Content-Length: 0\r\n\r\n".to_owned()),
        ("endless headers", format!("Content-Length: {length}\r\n{}\r\n", "X-Filler: y\r\n".repeat(2000))),
    ] {
        let mut session = Session::new();
        assert!(session.server.write(bytes.as_bytes()), "{what}: it must read on");
        // whatever was left over of the broken frame ends at this line
        assert!(session.server.write(b"\n"), "{what}: it must read on");
        let back = session.until_mark();
        assert!(back.iter().any(|message| message.get("error").is_some()), "{what}: {back:?}");
        session.still_reads();
        session.finish();
    }
}

#[test]
fn a_client_that_never_reads_does_not_fill_the_memory() {
    let session = Session::with(|start| start.backlog(1));
    let (mut server, _place) = (session.server, session._place);
    let request = json!({"jsonrpc": "2.0", "method": "tools/list", "id": 0});
    let pid = server.pid();
    // more answers than any buffer holds; the writer gives up when the pipe is full and stays so
    let (sender, done) = std::sync::mpsc::channel::<()>();
    let lines: Vec<u8> = (0..20_000)
        .flat_map(|id| {
            let mut request: Value = request.clone();
            request["id"] = json!(id);
            line(&request)
        })
        .collect();
    let writer = std::thread::spawn(move || {
        server.write(&lines);
        drop(sender);
        server
    });
    let _ = done.recv_timeout(std::time::Duration::from_secs(3));
    let peak = super::support::process::Process(pid).peak_kib().expect("it runs");
    assert!(peak < 192 * 1024, "the supervisor grew to {peak} KiB");
    super::support::process::Process(pid).signal(nix::sys::signal::Signal::SIGKILL);
    drop(writer.join().expect("the writer does not panic"));
}
