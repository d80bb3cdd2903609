//! Lines on standard error: few, short, one event each. Hosts show each one to a person as a warning.
//! Trust: texts may quote workers and clients, so control characters are escaped and length and rate are bounded.
//! Never secrets, and never the contents of a repository.

use crate::{mcp::stdio::write_line, settings::LogLevel};
use bulkhead_sandbox::streams;
use serde_json::json;
use std::{
    io::{self, Write},
    sync::{
        Mutex, OnceLock,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// Lines at once; after that, [`PER_SECOND`].
const BURST: u32 = 40;
/// Lines a second in the long run.
const PER_SECOND: u32 = 4;
/// Longest text of a line, in characters.
const LONGEST: usize = 1_000;
/// Lines that wait while nobody reads standard error; more are dropped and counted.
const WAITING: usize = 64;

static LOG: OnceLock<Log> = OnceLock::new();

struct Log {
    level: LogLevel,
    json: bool,
    queue: SyncSender<Entry>,
    /// The other end, until the first line starts the thread that reads it: most servers never say one.
    unread: Mutex<Option<Receiver<Entry>>>,
    rate: Mutex<Rate>,
}

enum Entry {
    Line(String),
    /// Dropped by the writer when it gets here.
    Mark(#[expect(dead_code, reason = "dropping it is the message")] SyncSender<()>),
}

/// Opens the log, once; before that, lines go nowhere. A thread of its own writes them, because nobody may be reading
/// standard error.
pub fn start(level: LogLevel, json: bool) {
    let (queue, entries) = sync_channel(WAITING);
    let rate = Mutex::new(Rate::new(Instant::now()));
    // a second start changes nothing
    let _ = LOG.set(Log { level, json, queue, unread: Mutex::new(Some(entries)), rate });
}

/// Something that the operator should act on.
pub fn warn(text: &str) {
    line(LogLevel::Warn, text);
}

/// Starts and ends of workers and sessions.
pub fn info(text: &str) {
    line(LogLevel::Info, text);
}

/// Everything else.
pub fn debug(text: &str) {
    line(LogLevel::Debug, text);
}

/// Waits until what was logged is written, at most for `patience`.
pub fn flush(patience: Duration) {
    if let Some(log) = LOG.get().filter(|log| log.unread.lock().is_ok_and(|unread| unread.is_none())) {
        let (mark, reached) = sync_channel(0);
        if log.queue.try_send(Entry::Mark(mark)).is_ok() {
            let _ = reached.recv_timeout(patience);
        }
    }
}

fn line(level: LogLevel, text: &str) {
    let Some(log) = LOG.get().filter(|log| level <= log.level) else { return };
    let admitted = log.rate.lock().ok().and_then(|mut rate| rate.admit(Instant::now()));
    let Some(left_out) = admitted else { return };
    if let Some(entries) = log.unread.lock().ok().and_then(|mut unread| unread.take()) {
        // without the thread, lines fill the queue and are counted as left out
        let _ = thread::Builder::new().name("stderr".into()).spawn(move || write(&mut io::stderr(), &entries));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let sent = log.queue.try_send(Entry::Line(format_line(log.json, level, now, text, left_out)));
    if sent.is_err()
        && let Ok(mut rate) = log.rate.lock()
    {
        rate.left_out += left_out + 1;
    }
}

fn write(output: &mut impl Write, entries: &Receiver<Entry>) {
    while let Ok(entry) = entries.recv() {
        if let Entry::Line(line) = entry
            && write_line(output, &streams::pause, line.as_bytes()).is_err()
        {
            return;
        }
    }
}

fn format_line(json: bool, level: LogLevel, now: Duration, text: &str, left_out: u64) -> String {
    let level = match level {
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
    };
    let text = plain(text);
    if json {
        let mut value =
            json!({ "level": level, "text": text, "unixMs": u64::try_from(now.as_millis()).unwrap_or(u64::MAX) });
        if left_out > 0 {
            value["leftOut"] = left_out.into();
        }
        format!("{value}\n")
    } else if left_out > 0 {
        format!("bulkhead: {level}: {text} ({left_out} lines before this one were left out)\n")
    } else {
        format!("bulkhead: {level}: {text}\n")
    }
}

/// The text without anything that a terminal or a log reader would act on.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LONGEST));
    for c in text.chars().take(LONGEST) {
        if c.is_control() || crate::hiding::hides(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    if text.chars().nth(LONGEST).is_some() {
        out.push('…');
    }
    out
}

/// A bucket that holds [`BURST`] lines and gains [`PER_SECOND`] of them a second.
struct Rate {
    lines: f64,
    last: Instant,
    left_out: u64,
}

impl Rate {
    fn new(now: Instant) -> Rate {
        Rate { lines: f64::from(BURST), last: now, left_out: 0 }
    }

    /// How many lines were left out before this one; `None` if this one is left out too.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        let gained = now.saturating_duration_since(self.last).as_secs_f64() * f64::from(PER_SECOND);
        self.lines = (self.lines + gained).min(f64::from(BURST));
        self.last = now;
        if self.lines < 1.0 {
            self.left_out += 1;
            return None;
        }
        self.lines -= 1.0;
        Some(std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_get_through() {
        let line = format_line(false, LogLevel::Warn, Duration::ZERO, "a\nb\u{1b}[2Jc\u{9b}\u{202e}é", 0);
        assert_eq!(line, "bulkhead: warn: a\\u{a}b\\u{1b}[2Jc\\u{9b}\\u{202e}é\n");
    }

    #[test]
    fn json_lines_are_json() {
        let line = format_line(true, LogLevel::Debug, Duration::from_millis(1_500), "a\n\"b\"", 3);
        let value: serde_json::Value = serde_json::from_str(&line).expect("the line is JSON");
        assert_eq!(value, json!({"level": "debug", "text": "a\\u{a}\"b\"", "unixMs": 1500, "leftOut": 3}));
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1);
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(plain(&"x".repeat(LONGEST + 5)).chars().count(), LONGEST + 1);
    }

    #[test]
    fn the_rate_is_bounded_and_what_is_left_out_is_counted() {
        let start = Instant::now();
        let mut rate = Rate::new(start);
        let admitted = (0..1_000).filter(|_| rate.admit(start).is_some()).count();
        assert_eq!(admitted, BURST as usize);
        assert_eq!(rate.admit(start + Duration::from_secs(1)), Some(1_000 - u64::from(BURST)));
        let later = start + Duration::from_secs(3_600);
        assert_eq!((0..1_000).filter(|_| rate.admit(later).is_some()).count(), BURST as usize);
    }

    #[test]
    fn the_writer_writes_lines_and_passes_marks() {
        let (queue, entries) = sync_channel(4);
        let (mark, reached) = sync_channel(0);
        queue.send(Entry::Line("one\n".into())).expect("there is room");
        queue.send(Entry::Mark(mark)).expect("there is room");
        drop(queue);
        let mut written = Vec::new();
        write(&mut written, &entries);
        assert_eq!(written, b"one\n");
        assert!(reached.recv().is_err(), "the mark is dropped, never sent");
    }
}
