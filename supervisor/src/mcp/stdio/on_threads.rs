//! Two streams of which each has a thread that blocks on it, so that the supervisor's own thread never does.
//! Trust: bytes are passed on unread; a stream may have been made non-blocking by whoever shares it.

use super::{Flushed, PIECE, WAITING_LINES, WAITING_PIECES, Written};
use crate::{
    log,
    mcp::{
        framing::{Event, Framing},
        session::SessionIo,
    },
};
use bulkhead_sandbox::streams;
use std::{
    io::{self, ErrorKind, Read, Write},
    thread,
    time::Duration,
};
use tokio::sync::mpsc;

/// Longest wait for a non-blocking stream before it is tried again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts both threads on any two streams; one that would block is tried again after a pause.
///
/// # Errors
/// When a thread cannot be started.
pub fn start_on(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> io::Result<(SessionIo, Flushed)> {
    start_waiting((input, streams::pause), (output, streams::pause))
}

/// Each stream comes with what waits for it: whoever shares a pipe with us may have made it non-blocking.
fn start_waiting(
    (input, input_ready): (impl Read + Send + 'static, impl Fn() + Send + 'static),
    (output, output_ready): (impl Write + Send + 'static, impl Fn() + Send + 'static),
) -> io::Result<(SessionIo, Flushed)> {
    let (events, incoming) = mpsc::channel(WAITING_PIECES);
    let (lines, outgoing) = mpsc::channel(WAITING_LINES);
    let (written, flushed) = Flushed::pair();
    spawn("stdin", move || read(input, input_ready, Framing::default(), &events))?;
    spawn("stdout", move || {
        write(Counted { output, written: &written }, output_ready, Vec::new(), outgoing);
        drop(written);
    })?;
    Ok((SessionIo { input: incoming, output: lines, outflow: flushed.outflow.clone(), hung_up: || false }, flushed))
}

/// Starts the thread of standard input.
///
/// # Errors
/// When it cannot be started.
pub(super) fn read_stdin(events: mpsc::Sender<Vec<Event>>) -> io::Result<()> {
    let ready = || streams::readable(io::stdin(), PATIENCE);
    spawn("stdin", move || read(io::stdin(), ready, Framing::default(), &events))
}

/// Starts the thread of standard output.
///
/// # Errors
/// When it cannot be started.
pub(super) fn write_stdout(lines: mpsc::Receiver<String>, written: Written) -> io::Result<()> {
    let ready = || streams::writable(io::stdout(), PATIENCE);
    spawn("stdout", move || {
        write(Counted { output: io::stdout(), written: &written }, ready, Vec::new(), lines);
        drop(written);
    })
}

/// Goes on with `input`, of which `framing` has heard the beginning. Without a thread, the input ends.
#[cfg(target_os = "linux")]
pub(super) fn start_reading(input: impl Read + Send + 'static, framing: Framing, events: mpsc::Sender<Vec<Event>>) {
    let started = spawn("stdin", move || read(input, || streams::readable(io::stdin(), PATIENCE), framing, &events));
    if let Err(error) = started {
        log::warn(&format!("standard input cannot be read: {}", error.kind()));
    }
}

/// Goes on with `output`, beginning with `first`. Without a thread, the output is closed.
#[cfg(target_os = "linux")]
pub(super) fn start_writing(
    output: impl Write + Send + 'static,
    first: Vec<u8>,
    lines: mpsc::Receiver<String>,
    written: Written,
) {
    let started = spawn("stdout", move || {
        write(Counted { output, written: &written }, || streams::writable(io::stdout(), PATIENCE), first, lines);
        drop(written);
    });
    if let Err(error) = started {
        log::warn(&format!("standard output cannot be written: {}", error.kind()));
    }
}

/// An output whose bytes are counted as they leave.
struct Counted<'a, W> {
    output: W,
    written: &'a Written,
}

impl<W: Write> Write for Counted<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.output.write(bytes)?;
        self.written.outflow.add(length);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// What is said of an output that takes nothing any more: a reader that has gone is no news, a full disk is.
pub(super) fn unwritable(error: &io::Error) {
    let text = format!("standard output cannot be written: {}", error.kind());
    if error.kind() == ErrorKind::BrokenPipe { log::info(&text) } else { log::warn(&text) }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.into()).spawn(body).map(drop)
}

fn read(mut input: impl Read, ready: impl Fn(), mut framing: Framing, events: &mpsc::Sender<Vec<Event>>) {
    let mut piece = vec![0; PIECE];
    loop {
        let mut batch = Vec::new();
        let ended = match input.read(&mut piece) {
            Ok(0) => true,
            Ok(length) => {
                framing.push(&piece[..length], &mut batch);
                false
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                ready();
                continue;
            }
            Err(error) => {
                log::warn(&format!("standard input cannot be read: {}", error.kind()));
                true
            }
        };
        if ended {
            framing.finish(&mut batch);
        }
        if (!batch.is_empty() && events.blocking_send(batch).is_err()) || ended {
            return;
        }
    }
}

fn write(mut output: impl Write, ready: impl Fn(), first: Vec<u8>, mut lines: mpsc::Receiver<String>) {
    let mut next = Some(first).filter(|first| !first.is_empty());
    loop {
        let line = match next.take() {
            Some(first) => first,
            None => match lines.blocking_recv() {
                Some(line) => (line + "\n").into_bytes(),
                None => return,
            },
        };
        if let Err(error) = write_line(&mut output, &ready, &line) {
            return unwritable(&error);
        }
    }
}

/// Writes one line to standard output and flushes it, waiting where a non-blocking stream is full.
///
/// # Errors
/// When nobody can read it any more.
pub fn say(text: &str) -> io::Result<()> {
    write_line(&mut io::stdout(), &streams::pause, format!("{text}\n").as_bytes())
}

/// As `write_all` and `flush`, which forget how far they came where the stream would block.
pub(crate) fn write_line(output: &mut impl Write, ready: &impl Fn(), mut rest: &[u8]) -> io::Result<()> {
    loop {
        let step = if rest.is_empty() { output.flush().map(|()| 0) } else { output.write(rest) };
        match step {
            Ok(_) if rest.is_empty() => return Ok(()),
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => ready(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    };

    fn all_written(mut flushed: Flushed) -> bool {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(flushed.wait(Duration::from_secs(60)))
    }

    /// Gives its pieces one by one, then ends.
    struct Pieces(std::vec::IntoIter<Vec<u8>>);

    impl Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let Some(piece) = self.0.next() else { return Ok(0) };
            into[..piece.len()].copy_from_slice(&piece);
            Ok(piece.len())
        }
    }

    /// Remembers each write.
    #[derive(Clone, Default)]
    struct Writes(Arc<Mutex<Vec<Vec<u8>>>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("no writer panics").push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn input_becomes_events_and_ends() {
        let pieces = vec![b"{\"a\"".to_vec(), b":1}\n{}\n\n".to_vec(), b"[".to_vec()];
        let (io, _flushed) = start_on(Pieces(pieces.into_iter()), Writes::default()).expect("threads start");
        let mut input = io.input;
        let mut seen = Vec::new();
        while let Some(events) = input.blocking_recv() {
            seen.extend(events);
        }
        let message = |text: &str| Event::Message(text.as_bytes().to_vec());
        assert_eq!(seen, [message("{\"a\":1}"), message("{}"), message("[")]);
    }

    #[test]
    fn a_line_is_one_write() {
        let writes = Writes::default();
        let (io, flushed) = start_on(io::empty(), writes.clone()).expect("threads start");
        io.output.blocking_send("one".into()).expect("the writer lives");
        io.output.blocking_send("two".into()).expect("the writer lives");
        drop(io);
        assert!(all_written(flushed));
        assert_eq!(*writes.0.lock().expect("no writer panics"), [b"one\n".to_vec(), b"two\n".to_vec()]);
    }

    /// Counts how often it was read.
    struct Counted(Arc<AtomicUsize>);

    impl Read for Counted {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0.fetch_add(1, Ordering::SeqCst);
            into[..3].copy_from_slice(b"{}\n");
            Ok(3)
        }
    }

    #[test]
    fn input_that_nobody_takes_is_not_read() {
        let reads = Arc::new(AtomicUsize::new(0));
        let (io, _flushed) = start_on(Counted(Arc::clone(&reads)), Writes::default()).expect("threads start");
        let mut input = io.input;
        for taken in 0..1_000 {
            // what was taken, what waits in the queue, and what waits for room in it
            assert!(reads.load(Ordering::SeqCst) <= taken + WAITING_PIECES + 1);
            input.blocking_recv().expect("there is always more");
        }
    }

    /// Would block before each piece and each flush, and takes three bytes at once.
    struct Reluctant<S> {
        stream: S,
        willing: bool,
    }

    impl<S> Reluctant<S> {
        fn ask(&mut self) -> io::Result<&mut S> {
            self.willing = !self.willing;
            if self.willing { Err(ErrorKind::WouldBlock.into()) } else { Ok(&mut self.stream) }
        }
    }

    impl<S: Read> Read for Reluctant<S> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.ask()?.read(into)
        }
    }

    impl<S: Write> Write for Reluctant<S> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.ask()?.write(&bytes[..bytes.len().min(3)])
        }
        fn flush(&mut self) -> io::Result<()> {
            self.ask()?.flush()
        }
    }

    #[test]
    fn streams_that_would_block_are_waited_for() {
        let waits = Arc::new(AtomicUsize::new(0));
        let wait = |waits: &Arc<AtomicUsize>| {
            let waits = Arc::clone(waits);
            move || _ = waits.fetch_add(1, Ordering::SeqCst)
        };
        let writes = Writes::default();
        let input =
            Reluctant { stream: Pieces(vec![b"{\"a\"".to_vec(), b":1}\n".to_vec()].into_iter()), willing: false };
        let output = Reluctant { stream: writes.clone(), willing: false };
        let (io, flushed) = start_waiting((input, wait(&waits)), (output, wait(&waits))).expect("threads start");
        let SessionIo { mut input, output, .. } = io;
        let mut seen = Vec::new();
        while let Some(events) = input.blocking_recv() {
            seen.extend(events);
        }
        assert_eq!(seen, [Event::Message(b"{\"a\":1}".to_vec())]);
        assert_eq!(waits.load(Ordering::SeqCst), 3, "two pieces and the end");
        output.blocking_send("abcdefg".into()).expect("the writer lives");
        drop(output);
        assert!(all_written(flushed));
        assert_eq!(writes.0.lock().expect("no writer panics").concat(), b"abcdefg\n");
        assert_eq!(waits.load(Ordering::SeqCst), 3 + 4, "three pieces and the flush");
    }

    #[test]
    fn a_broken_output_is_closed() {
        struct Broken;
        impl Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (io, flushed) = start_on(io::empty(), Broken).expect("threads start");
        io.output.blocking_send("lost".into()).expect("the queue has room");
        assert!(all_written(flushed));
        assert!(io.output.is_closed());
    }
}
