//! Pieces of standard input in, whole messages out: one per line, or behind a `Content-Length` header.
//! Trust: nothing; a peer may send any bytes in any pieces. Memory is bounded and no input ends the session.

use super::{id_scan::IdScan, jsonrpc::Id};
use bulkhead_contract::limits::{MAX_HEADER_BYTES, MAX_REQUEST_BYTES};

/// What came in.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// The bytes of one message, without line ending.
    Message(Vec<u8>),
    /// Input that is no message; it is left out and the next line counts again.
    Broken {
        /// What is wrong.
        fault: Fault,
        /// Id of the message, where it could be read in passing.
        id: Option<Id>,
    },
}

/// Why input is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A line over the bound; it was not kept.
    #[error("the message is longer than {MAX_REQUEST_BYTES} bytes and was left out")]
    Oversized,
    /// A header block over the bound.
    #[error("the header block is longer than {MAX_HEADER_BYTES} bytes")]
    HeaderTooLong,
    /// A header line without a colon, or a message where headers should go on.
    #[error("the header block is not a list of `Name: value` lines ended by an empty line")]
    HeaderMalformed,
    /// No `Content-Length` in the block.
    #[error("the header block has no Content-Length")]
    LengthMissing,
    /// Not a decimal number.
    #[error("Content-Length is not a decimal number")]
    LengthInvalid,
    /// More than one `Content-Length`.
    #[error("Content-Length is given more than once")]
    LengthRepeated,
    /// A number over the bound.
    #[error("Content-Length is over {MAX_REQUEST_BYTES} bytes")]
    LengthTooLarge,
    /// Input ended inside a header block or a body.
    #[error("input ended before the message did")]
    EndedEarly,
}

/// Assembles messages; does no input itself.
#[derive(Debug, Default)]
pub struct Framing {
    state: State,
    /// The line or body so far.
    buffer: Vec<u8>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Line,
    /// Skipping to the next newline.
    Skip {
        fault: Fault,
        scan: IdScan,
    },
    Header(Header),
    Body {
        left: usize,
    },
}

#[derive(Debug, Default)]
struct Header {
    bytes: usize,
    length: Option<usize>,
    fault: Option<Fault>,
}

impl Framing {
    /// Takes the next piece and appends what is complete with it to `out`.
    pub fn push(&mut self, mut piece: &[u8], out: &mut Vec<Event>) {
        while !piece.is_empty() {
            if let State::Body { left } = &mut self.state {
                let (taken, rest) = piece.split_at((*left).min(piece.len()));
                self.buffer.extend_from_slice(taken);
                *left -= taken.len();
                if *left == 0 {
                    self.state = State::Line;
                    out.push(Event::Message(std::mem::take(&mut self.buffer)));
                }
                piece = rest;
                continue;
            }
            let newline = piece.iter().position(|&byte| byte == b'\n');
            let (part, rest) = newline.map_or((piece, &[][..]), |at| (&piece[..at], &piece[at + 1..]));
            self.take(part);
            if newline.is_some() {
                self.end_line(out);
            }
            piece = rest;
        }
    }

    /// Input ended: what is left is the last message, or broken.
    pub fn finish(&mut self, out: &mut Vec<Event>) {
        if matches!(self.state, State::Skip { .. }) || (matches!(self.state, State::Line) && !self.buffer.is_empty()) {
            self.end_line(out);
        }
        match std::mem::take(&mut self.state) {
            State::Line | State::Skip { .. } => {}
            State::Header(_) => out.push(broken(Fault::EndedEarly)),
            State::Body { .. } => {
                out.push(Event::Broken { fault: Fault::EndedEarly, id: IdScan::of(&self.buffer) });
            }
        }
        self.buffer = Vec::new();
    }

    /// Takes a part of a line, without its newline.
    fn take(&mut self, part: &[u8]) {
        let bound = match &mut self.state {
            State::Skip { scan, .. } => return scan.feed(part),
            State::Header(_) => MAX_HEADER_BYTES,
            State::Line | State::Body { .. } => MAX_REQUEST_BYTES,
        };
        self.buffer.extend_from_slice(part);
        // the carriage return of a line ending does not count, and whether it is one shows only with the next byte
        let over =
            self.buffer.len() > bound + 1 || (self.buffer.len() == bound + 1 && self.buffer.last() != Some(&b'\r'));
        if over {
            let fault = if bound == MAX_REQUEST_BYTES { Fault::Oversized } else { Fault::HeaderTooLong };
            let mut scan = IdScan::default();
            if fault == Fault::Oversized {
                scan.feed(&self.buffer);
            }
            self.buffer = Vec::new();
            self.state = State::Skip { fault, scan };
        }
    }

    fn end_line(&mut self, out: &mut Vec<Event>) {
        let mut line = std::mem::take(&mut self.buffer);
        let bytes = line.len() + 1;
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        match std::mem::take(&mut self.state) {
            State::Skip { fault, scan } => out.push(Event::Broken { fault, id: scan.id() }),
            State::Header(mut header) => {
                header.bytes += bytes;
                self.header_line(header, line, out);
            }
            State::Line | State::Body { .. } => {
                if line.iter().all(u8::is_ascii_whitespace) {
                    return;
                }
                let header = Header { bytes, ..Header::default() };
                if opens_header(&line) {
                    return self.header_line(header, line, out);
                }
                // no JSON text ends in a header: here a body of unknown length met the next header
                if let Some(at) = glued_header(&line) {
                    let first = line.split_off(at);
                    out.push(Event::Message(line));
                    return self.header_line(Header { bytes: first.len(), ..header }, first, out);
                }
                out.push(Event::Message(line));
            }
        }
    }

    fn header_line(&mut self, mut header: Header, line: Vec<u8>, out: &mut Vec<Event>) {
        // the block is read to its end all the same: its lines are not messages
        if header.bytes > MAX_HEADER_BYTES {
            header.fault.get_or_insert(Fault::HeaderTooLong);
        }
        if line.is_empty() {
            match (header.fault, header.length) {
                (Some(fault), _) => out.push(broken(fault)),
                (None, None) => out.push(broken(Fault::LengthMissing)),
                (None, Some(0)) => out.push(Event::Message(Vec::new())),
                (None, Some(left)) => self.state = State::Body { left },
            }
            return;
        }
        if matches!(line[0], b'{' | b'[') {
            out.push(broken(header.fault.unwrap_or(Fault::HeaderMalformed)));
            out.push(Event::Message(line));
            return;
        }
        if let Err(fault) = header.read(&line) {
            header.fault.get_or_insert(fault);
        }
        self.state = State::Header(header);
    }
}

impl Header {
    fn read(&mut self, line: &[u8]) -> Result<(), Fault> {
        let colon = line.iter().position(|&byte| byte == b':').ok_or(Fault::HeaderMalformed)?;
        if !line[..colon].trim_ascii().eq_ignore_ascii_case(LENGTH) {
            return Ok(());
        }
        let digits = line[colon + 1..].trim_ascii();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(Fault::LengthInvalid);
        }
        if self.length.is_some() {
            return Err(Fault::LengthRepeated);
        }
        let length = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(usize::MAX);
        self.length = Some(length);
        if length > MAX_REQUEST_BYTES { Err(Fault::LengthTooLarge) } else { Ok(()) }
    }
}

const LENGTH: &[u8] = b"content-length";
const TYPE: &[u8] = b"content-type";

fn broken(fault: Fault) -> Event {
    Event::Broken { fault, id: None }
}

fn opens_header(line: &[u8]) -> bool {
    let colon = line.iter().take(64).position(|&byte| byte == b':');
    colon.is_some_and(|at| {
        let name = line[..at].trim_ascii();
        name.eq_ignore_ascii_case(LENGTH) || name.eq_ignore_ascii_case(TYPE)
    })
}

/// Where the header begins in a line that ends in `Content-Length: digits`.
fn glued_header(line: &[u8]) -> Option<usize> {
    let line = line.trim_ascii_end();
    let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return None;
    }
    let name = line[..line.len() - digits].trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
    let at = name.len().checked_sub(LENGTH.len())?;
    name[at..].eq_ignore_ascii_case(LENGTH).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(input: &[u8], piece: usize) -> Vec<Event> {
        let (mut framing, mut out) = (Framing::default(), Vec::new());
        for part in input.chunks(piece) {
            framing.push(part, &mut out);
        }
        framing.finish(&mut out);
        out
    }

    fn message(text: &str) -> Event {
        Event::Message(text.as_bytes().to_vec())
    }

    fn agree(input: &str, expected: &[Event]) {
        for piece in [1, 2, 3, 7, input.len().max(1)] {
            assert_eq!(events(input.as_bytes(), piece), expected, "{input:?} in pieces of {piece}");
        }
    }

    #[test]
    fn lines_are_messages() {
        agree("{\"a\":1}\n{\"b\":2}\r\n", &[message("{\"a\":1}"), message("{\"b\":2}")]);
        agree("\n  \r\n\n\t\n{}\n\n", &[message("{}")]);
        agree("{}", &[message("{}")]);
        agree("{}\r", &[message("{}")]);
        agree("", &[]);
        agree("{\r\n", &[message("{")]);
        agree("a\rb\n", &[message("a\rb")]);
    }

    #[test]
    fn headers_are_tolerated() {
        agree("Content-Length: 2\r\n\r\n{}", &[message("{}")]);
        agree("content-length:2\nContent-Type: x\n\n{}\n{\"a\":1}\n", &[message("{}"), message("{\"a\":1}")]);
        agree(
            "Content-Type: x\r\nCONTENT-LENGTH : 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]",
            &[message("{}"), message("[1]")],
        );
        agree("Content-Length: 3\n\n{\n}", &[message("{\n}")]);
        agree("Content-Length: 0\r\n\r\n{}\n", &[message(""), message("{}")]);
    }

    #[test]
    fn a_bad_header_costs_one_error_and_not_the_session() {
        let next = || message("{}");
        for (header, fault) in [
            ("Content-Length: x\r\n\r\n", Fault::LengthInvalid),
            ("Content-Length: +2\r\n\r\n", Fault::LengthInvalid),
            ("Content-Length:\r\n\r\n", Fault::LengthInvalid),
            ("Content-Length: 2\r\nContent-Length: 2\r\n\r\n", Fault::LengthRepeated),
            ("Content-Length: 8388609\r\n\r\n", Fault::LengthTooLarge),
            ("Content-Length: 99999999999999999999999999\r\n\r\n", Fault::LengthTooLarge),
            ("Content-Type: x\r\n\r\n", Fault::LengthMissing),
            ("Content-Length: 2\r\nnonsense\r\n\r\n", Fault::HeaderMalformed),
            ("Content-Length: x\r\n", Fault::LengthInvalid),
            ("Content-Length: 2\r\n", Fault::HeaderMalformed),
        ] {
            agree(&format!("{header}{{}}\n"), &[broken(fault), next()]);
        }
    }

    #[test]
    fn the_body_behind_a_bad_header_is_still_a_message() {
        agree(
            "Content-Length: x\r\n\r\n{\"a\":1}Content-Length: 2\r\n\r\n{}",
            &[broken(Fault::LengthInvalid), message("{\"a\":1}"), message("{}")],
        );
    }

    #[test]
    fn a_text_that_mentions_the_header_is_no_header() {
        agree("{\"a\":\"Content-Length: 2\"}\n", &[message("{\"a\":\"Content-Length: 2\"}")]);
    }

    #[test]
    fn input_that_ends_inside_a_message_is_said() {
        agree(
            "Content-Length: 400\r\n\r\n{\"id\":3,\"x\"",
            &[Event::Broken { fault: Fault::EndedEarly, id: Some(Id::from(3)) }],
        );
        agree("Content-Length: 400\r\n", &[broken(Fault::EndedEarly)]);
        agree("Content-Length: 400", &[broken(Fault::EndedEarly)]);
    }

    #[test]
    fn a_header_block_is_bounded() {
        let many = format!("Content-Length: 2\r\n{}\r\n{{}}\n", "X: y\r\n".repeat(MAX_HEADER_BYTES / 6));
        assert_eq!(events(many.as_bytes(), 4096), [broken(Fault::HeaderTooLong), message("{}")]);
        let fits = format!("Content-Length: 2\r\n{}\r\n{{}}", "X: y\r\n".repeat((MAX_HEADER_BYTES - 21) / 6));
        assert_eq!(events(fits.as_bytes(), 4096), [message("{}")]);
        let long = format!("Content-Length: 2{}\r\n\r\n{{}}\n", " ".repeat(MAX_HEADER_BYTES));
        let out = events(long.as_bytes(), 4096);
        assert_eq!(out.last(), Some(&message("{}")));
        let endless = format!("Content-Length: 2\nX: {}\n{{}}\n", "y".repeat(MAX_HEADER_BYTES));
        assert_eq!(events(endless.as_bytes(), 4096), [broken(Fault::HeaderTooLong), message("{}")]);
    }

    #[test]
    fn the_bound_of_a_line_is_exact() {
        for (length, ending, fits) in [
            (MAX_REQUEST_BYTES, "\n", true),
            (MAX_REQUEST_BYTES, "\r\n", true),
            (MAX_REQUEST_BYTES, "", true),
            (MAX_REQUEST_BYTES + 1, "\n", false),
            (MAX_REQUEST_BYTES + 1, "\r\n", false),
            (MAX_REQUEST_BYTES + 1, "", false),
        ] {
            let mut line = vec![b'x'; length];
            line.extend_from_slice(ending.as_bytes());
            for piece in [65_536, 65_537] {
                let out = events(&line, piece);
                assert_eq!(out.len(), 1);
                assert_eq!(
                    matches!(&out[0], Event::Message(text) if text.len() == length),
                    fits,
                    "{length} {ending:?}"
                );
            }
        }
    }

    #[test]
    fn an_oversized_line_is_not_kept_and_its_id_is_read_in_passing() {
        let (mut framing, mut out) = (Framing::default(), Vec::new());
        framing.push(b"{\"params\":\"", &mut out);
        let piece = [b'x'; 65_536];
        for _ in 0..300 {
            framing.push(&piece, &mut out);
            assert!(framing.buffer.capacity() <= 2 * (MAX_REQUEST_BYTES + piece.len()));
        }
        assert_eq!(framing.buffer.capacity(), 0);
        framing.push(b"\",\"id\":\"last\"}\n{}\n", &mut out);
        assert_eq!(out, [Event::Broken { fault: Fault::Oversized, id: Some(Id::from("last")) }, message("{}")]);
    }

    #[test]
    fn an_oversized_body_is_refused_by_its_header_and_skipped_as_a_line() {
        let mut input = format!("Content-Length: {}\r\n\r\n", MAX_REQUEST_BYTES + 12).into_bytes();
        input.extend_from_slice(b"{\"id\":5,\"x\":\"");
        input.resize(input.len() + MAX_REQUEST_BYTES, b'y');
        input.extend_from_slice(b"\"}\n{}\n");
        assert_eq!(
            events(&input, 65_536),
            [
                broken(Fault::LengthTooLarge),
                Event::Broken { fault: Fault::Oversized, id: Some(Id::from(5)) },
                message("{}")
            ]
        );
    }
}
