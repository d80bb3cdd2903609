//! Kind B: hostile streams of the protocol to a server on an honest repository.
//! Trust: what is sent is an agent at its worst; what comes back is looked at line by line.

use super::{
    client::{At, Client, Opening},
    questions::{self, About},
    repositories::{MAX_KIB, fresh, honestly},
    subject::{Subject, root_of},
    support::{
        hostile::{MARKER, Scene},
        slow,
    },
    verdict::Verdict,
};
use serde_json::{Value, json};
use std::{
    path::Path,
    time::{Duration, Instant},
};

/// How a stream goes on: it is sent to a server that has said what it can do, or has heard nothing yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// After the opening.
    Open,
    /// As the first thing that is said.
    Cold,
    /// After the opening, by a client that reads no more.
    Deaf,
}

/// One stream.
pub type Stream = fn(&mut Client, &Subject, &Path);

/// Sends a stream to a fresh server, and looks whether that, and one after it, still answer.
pub fn attack(subject: &Subject, begin: Begin, stream: Stream) -> Verdict {
    let scene = Scene::empty();
    let honest = scene.honest("repo").path().to_owned();
    let root = root_of(&honest);
    let at = At {
        place: &scene.place,
        repo: &honest,
        root: &root,
        roots: std::slice::from_ref(&honest),
        reads: begin != Begin::Deaf,
    };
    let mut client = match Client::start(subject, &at, &scene.secrets) {
        Ok(client) => client,
        Err(why) => return Verdict::Unsafe(vec![format!("it cannot be started: {why}")]),
    };
    let opened = begin == Begin::Cold || matches!(client.open(), Opening::Open);
    if opened {
        stream(&mut client, subject, &honest);
    } else if !client.is_faulty() {
        client.fault("an honest repository is refused".to_owned());
    }
    let done = format!("{} answers", client.answered);
    let mut faults = client.end(MAX_KIB);
    if scene.fired() {
        faults.push(format!("a file {MARKER} appeared"));
    }
    faults.extend(fresh(subject, &scene.place, &honest));
    Verdict::of(faults, done)
}

/// The session goes on, or the server has ended of itself: both are allowed, dying is not. Of ours the first is asked.
fn goes_on(client: &mut Client, subject: &Subject, honest: &Path) -> Vec<Value> {
    if let Some(back) = client.until_ping() {
        honestly(subject, client, honest);
        return back;
    }
    match client.status() {
        Some(status) if status.code().is_some() && !subject.ours => {}
        Some(status) => client.fault(format!("it ended with {status}")),
        None => client.fault("it is silent from then on".to_owned()),
    }
    Vec::new()
}

fn call(client: &Client, subject: &Subject, id: Value, honest: &Path) -> Value {
    let (tool, arguments) = questions::honest(&client.tools, honest, subject.asked.as_deref()).unwrap_or_default();
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

fn at_most(client: &mut Client, back: &[Value], most: usize) {
    if back.len() > most {
        client.fault(format!("{} answers to at most {most} questions", back.len()));
    }
}

/// M01: a line without end.
pub fn endless_line(client: &mut Client, subject: &Subject, honest: &Path) {
    for _ in 0..if slow() { 512 } else { 48 } {
        client.write(vec![b'x'; 1 << 20]);
    }
    client.write(b"\n".to_vec());
    let back = goes_on(client, subject, honest);
    at_most(client, &back, 1);
}

/// M02: two hundred thousand levels of brackets.
pub fn deep_json(client: &mut Client, subject: &Subject, honest: &Path) {
    let (open, close) = ("[".repeat(200_000), "]".repeat(200_000));
    for method in ["ping", "tools/call"] {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":1000,\"method\":\"{method}\",\"params\":{open}{close}}}\n");
        client.write(line.into_bytes());
        let back = goes_on(client, subject, honest);
        at_most(client, &back, 1);
    }
}

/// M03: an argument of 64 MiB.
pub fn big_arguments(client: &mut Client, subject: &Subject, honest: &Path) {
    let mut message = call(client, subject, json!("odd"), honest);
    message["params"]["arguments"]["repo"] = json!("A".repeat(if slow() { 64 << 20 } else { 24 << 20 }));
    client.write(format!("{message}\n").into_bytes());
    let back = goes_on(client, subject, honest);
    at_most(client, &back, 1);
}

/// M04: bytes that are no text.
pub fn bad_text(client: &mut Client, subject: &Subject, honest: &Path) {
    for bytes in [
        &b"{\"jsonrpc\":\"2.0\",\"id\":1000,\"method\":\"\xff\xfe\"}\n"[..],
        b"\0\x01\x02\n",
        b"\xef\xbb\xbf{}\n",
        b"\x80\n",
    ] {
        client.write(bytes.to_vec());
        let back = goes_on(client, subject, honest);
        at_most(client, &back, 1);
    }
}

/// M05: ids of every shape; each that is allowed is answered once.
pub fn ids(client: &mut Client, subject: &Subject, honest: &Path) {
    let allowed = [json!(0), json!(-7), json!("one"), json!(""), json!(1_u64 << 53), json!("\u{1b}")];
    for id in &allowed {
        client.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    }
    if !client.settle(client_patience(subject)) {
        client.fault("an id that is allowed was not answered".to_owned());
    }
    for id in ["null", "1.5", "[1]", "{}", "true", "1180591620717411303424"] {
        client.write(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n").into_bytes());
        let back = goes_on(client, subject, honest);
        at_most(client, &back, 1);
    }
}

fn client_patience(subject: &Subject) -> Duration {
    subject.deadline * 3
}

/// M06: a batch of very many calls.
pub fn batch(client: &mut Client, subject: &Subject, honest: &Path) {
    let count = if slow() { 100_000 } else { 4_000 };
    let calls: Vec<Value> = (0..count).map(|n| call(client, subject, json!(format!("b{n}")), honest)).collect();
    client.write(format!("{}\n", Value::Array(calls)).into_bytes());
    let back = goes_on(client, subject, honest);
    at_most(client, &back, if subject.ours { 1 } else { count });
}

/// M07: very many calls at once, each of which is answered once.
pub fn flood(client: &mut Client, subject: &Subject, honest: &Path) {
    let count = match (subject.ours, slow()) {
        (true, true) => 20_000,
        (true, false) => 1_000,
        (false, _) => 300,
    };
    for n in 0..count {
        let message = call(client, subject, json!(format!("f{n}")), honest);
        client.send(&message);
    }
    if !client.settle(client_patience(subject)) {
        client.fault(format!("{count} calls at once are not all answered in time"));
    }
    goes_on(client, subject, honest);
}

/// M08: a call before the opening.
pub fn before_opening(client: &mut Client, subject: &Subject, honest: &Path) {
    for method in ["tools/call", "tools/list", "notifications/initialized"] {
        client.write(format!("{{\"jsonrpc\":\"2.0\",\"id\":1000,\"method\":\"{method}\"}}\n").into_bytes());
        if client.until_ping().is_none() {
            match client.status() {
                Some(status) if status.code().is_some() && !subject.ours => return,
                Some(status) => return client.fault(format!("{method}: it ended with {status}")),
                None => return client.fault(format!("{method}: it is silent from then on")),
            }
        }
    }
    if matches!(client.open(), Opening::Open) {
        honestly(subject, client, honest);
    } else {
        client.fault("the session cannot be opened any more".to_owned());
    }
}

/// M09: cancellations of what was never asked.
pub fn cancel_unknown(client: &mut Client, subject: &Subject, honest: &Path) {
    for id in [json!(1), json!("x"), Value::Null, json!(1_u64 << 62), json!([1])] {
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    let back = goes_on(client, subject, honest);
    at_most(client, &back, 0);
}

/// M10: cancellations that race with answers; at most one answer each.
pub fn cancel_race(client: &mut Client, subject: &Subject, honest: &Path) {
    for n in 0..if subject.ours { 300 } else { 60 } {
        let id = json!(format!("r{n}"));
        let message = call(client, subject, id.clone(), honest);
        client.send(&message);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    client.forgive();
    // what was cancelled may still count as open for a while, and a call then comes too early
    let until = Instant::now() + client_patience(subject);
    while client.until_ping().is_some() && Instant::now() < until {
        let Some((tool, arguments)) = questions::honest(&client.tools, honest, subject.asked.as_deref()) else { break };
        match client.call(&tool, &arguments) {
            Some(answer) if answer["result"]["isError"] != true && answer.get("error").is_none() => break,
            Some(_) => std::thread::sleep(Duration::from_millis(20)),
            None => return,
        }
    }
    goes_on(client, subject, honest);
}

/// M11: half a message, and then the end of the stream.
pub fn end_midway(client: &mut Client, _: &Subject, _: &Path) {
    // how it ends is looked at in any case
    client.write(b"{\"jsonrpc\":\"2.0\",\"id\":1000,\"met".to_vec());
}

/// M12: a message that comes byte by byte behind a call.
pub fn slowly(client: &mut Client, subject: &Subject, honest: &Path) {
    let message = call(client, subject, json!("before"), honest);
    client.send(&message);
    for byte in br#"{"jsonrpc":"2.0","id":"slow","method":"ping"}"# {
        client.write(vec![*byte]);
        std::thread::sleep(Duration::from_millis(5));
    }
    client.answer(&json!("before"));
    client.write(b"\n".to_vec());
    goes_on(client, subject, honest);
}

/// M13: one message in two lines, and keys that are there twice.
pub fn smuggling(client: &mut Client, subject: &Subject, honest: &Path) {
    for (line, most) in [
        ("{\"jsonrpc\":\"2.0\",\"id\":1000,\r\n\"method\":\"ping\"}\n", 2),
        ("{\"jsonrpc\":\"2.0\",\"id\":1001,\"id\":1002,\"method\":\"ping\",\"method\":\"tools/list\"}\n", 1),
        ("Content-Length: 2\r\n\r\n{}\n", 3),
    ] {
        client.write(line.as_bytes().to_vec());
        let back = goes_on(client, subject, honest);
        at_most(client, &back, most);
    }
}

/// M14: arguments that would be paths elsewhere, options, pathspecs, revisions or patterns.
pub fn arguments(client: &mut Client, subject: &Subject, honest: &Path) {
    let texts = |list: &[&str]| list.iter().map(|text| json!(text)).collect::<Vec<_>>();
    let output = format!("--output={MARKER}");
    let values = |about: About| {
        let mut values = match about {
            About::Repository => texts(&[
                "/etc",
                "/",
                "../../..",
                "/proc/self/cwd",
                "/proc/self/root",
                "file:///etc",
                "a\0b",
                "~root",
                "",
                "--help",
            ]),
            About::Revision => texts(&[
                &output,
                "-p",
                "--help",
                "HEAD~999999999999",
                ":/(a|a)*b",
                "@{-1}",
                "@{upstream}",
                "HEAD@{9999 years ago}",
                "HEAD^{/((((((((a+)+)+)+)+)+)+)+$}",
                "a..b...c",
                "HEAD:../../../etc/passwd",
                ":0:a.txt",
                "--upload-pack=x",
                "0000000000000000000000000000000000000000",
                "$(touch PWNED)",
                ";touch PWNED",
                "`touch PWNED`",
                "| touch PWNED",
                "\n--output=PWNED",
            ]),
            About::Path => texts(&[
                "../../etc/passwd",
                "/etc/passwd",
                ":(top,glob)**",
                ":(exclude)a.txt",
                "-rf",
                "--",
                ".git/config",
                "a\0b",
                &output,
                "$(touch PWNED)",
                ".",
            ]),
            About::Number => vec![json!(-1), json!(0), json!(1_u64 << 63), json!(1e308), json!("NaN"), json!(2.5)],
            About::Text => texts(&[&output, "(a+)+$", "$(touch PWNED)", "a\0b", "(((((((((("]),
            About::Other => vec![json!(null), json!({"a": []}), json!("x")],
        };
        if matches!(about, About::Repository | About::Revision | About::Path) {
            values.extend([
                json!("^".repeat(100_000)),
                json!("a/".repeat(3_000)),
                json!(5),
                json!(["a", "b"]),
                json!({}),
            ]);
        }
        values
    };
    for (tool, arguments) in questions::spoiled(&client.tools.clone(), honest, values) {
        let Some(answer) = client.call(&tool, &arguments) else { return };
        if subject.ours && answer["error"]["code"] == -32603 {
            client.fault(format!("{tool} {}: a fault of its own", super::client::cut(&arguments.to_string())));
        }
    }
    // half a character, which JSON can say and text cannot
    let mut message = call(client, subject, json!("odd"), honest).to_string();
    message = message.replacen("\"arguments\":{", "\"arguments\":{\"path\":\"\\ud800\",", 1);
    client.write(format!("{message}\n").into_bytes());
    let back = goes_on(client, subject, honest);
    at_most(client, &back, 1);
}

/// M15: a client that never reads. Its memory is looked at while the requests come.
pub fn never_reads(client: &mut Client, subject: &Subject, _: &Path) {
    let count = 20_000;
    let lines: String =
        (0..count).map(|n| format!("{{\"jsonrpc\":\"2.0\",\"id\":\"n{n}\",\"method\":\"tools/list\"}}\n")).collect();
    client.write(lines.into_bytes());
    std::thread::sleep(Duration::from_secs(2));
    if !client.is_alive() && subject.ours {
        client.fault("it ended because nobody read".to_owned());
    }
    // it may wait for its reader as long as it likes; what counts is what it held meanwhile
    client.kill();
}
