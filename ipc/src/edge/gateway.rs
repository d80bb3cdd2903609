//! Supervisor ⇄ worker-gateway: exchanges with the application behind the loopback address, many of them open at once.
//! Trust: both sides treat the other as taken over; what an answer holds was said by whoever listens at that address.
//!
//! Questions and answers travel encoded in pieces, those of one exchange without another's between them, so that a peer
//! is never in more than one piece of work at a time and one joiner bounds what it can be made to hold.

use crate::Error;
use bincode::{Decode, Encode};
use bulkhead_contract::isolation::{Demand, Report};
use std::net::SocketAddr;

/// What every path begins with (contract `gateway.md`).
pub const PREFIX: &str = "/v1/mcp/";
/// Bytes of a path at most.
pub const MAX_PATH: usize = 256;
/// Bytes of a body that is sent at most: the longest patch, with what stands around it.
pub const MAX_BODY: usize = 4 << 20;
/// Bytes of a body that is accepted at most (contract `gateway.md`: 8 MiB / 3).
pub const MAX_ANSWERED: usize = 2_796_202;
/// Exchanges that one worker has open at once. More than this wait in the supervisor, within their own time.
pub const MAX_OPEN: usize = 64;
/// Bytes of all bodies together that the supervisor has a worker hold for sending at once.
pub const MAX_HELD: usize = 32 << 20;
/// Milliseconds that connecting may take (contract `gateway.md`); counts within the budget.
pub const CONNECT_MS: u32 = 2_000;

/// What the operator allows.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Init {
    /// What `--isolation` demands.
    pub demand: Demand,
    /// Where the application listens: a loopback address. `None` starts a worker that only reports its jail.
    pub address: Option<SocketAddr>,
    /// Absolute path of the file with the token by which both sides know each other; `None`: the plain wire.
    pub token: Option<Vec<u8>>,
    /// Private writable memory in bytes (`RLIMIT_DATA`).
    pub memory: u64,
}

/// The methods that the application knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Method {
    /// Without a body.
    Get,
    /// With a body of JSON.
    Post,
}

impl Method {
    /// As it stands in a request line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
        }
    }
}

/// One exchange: a request, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Exchange {
    /// Method.
    pub method: Method,
    /// Begins with [`PREFIX`], holds `A-Z a-z 0-9 _ / -` alone, at most [`MAX_PATH`] bytes.
    pub path: String,
    /// There for [`Method::Post`] and only there; at most [`MAX_BODY`] bytes.
    pub body: Option<Vec<u8>>,
    /// Milliseconds for all of it, connecting included: 5 000, for semantic differences 10 000.
    pub budget_ms: u32,
    /// Where a token is configured: nothing of this leaves before the other side has shown that it knows it, and the
    /// answer counts only if it shows so again. Without a token this changes nothing.
    pub authentic: bool,
}

/// What an exchange must not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The path.
    #[error(
        "a path must begin with {PREFIX}, hold letters, digits, '_', '-' and '/' alone, and at most {MAX_PATH} bytes"
    )]
    Path,
    /// The body.
    #[error("a POST has a body of at most {MAX_BODY} bytes, a GET none")]
    Body,
    /// The time.
    #[error("an exchange has between 1 and {MAX_BUDGET_MS} milliseconds")]
    Budget,
}

/// The longest time that an exchange may have, in milliseconds.
pub const MAX_BUDGET_MS: u32 = 60_000;

impl Exchange {
    /// Whether it may leave; asked on both sides of the pipe.
    ///
    /// # Errors
    /// [`Unfit`], the first thing that is out of place.
    pub fn check(&self) -> Result<(), Unfit> {
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/' | b'-');
        if self.path.len() > MAX_PATH || !self.path.starts_with(PREFIX) || !self.path.bytes().all(letter) {
            return Err(Unfit::Path);
        }
        let body = match (self.method, &self.body) {
            (Method::Get, None) => true,
            (Method::Post, Some(body)) => body.len() <= MAX_BODY,
            _ => false,
        };
        if !body {
            return Err(Unfit::Body);
        }
        if self.budget_ms == 0 || self.budget_ms > MAX_BUDGET_MS {
            return Err(Unfit::Budget);
        }
        Ok(())
    }
}

/// What became of an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Outcome {
    /// A final status came.
    Answered {
        /// From 200 to 599; redirections are not followed.
        status: u16,
        /// What came with it.
        body: Body,
        /// Status and body were said by somebody who knows the token. Then the body is whole: one that was cut or too
        /// long proves nothing, and is [`Outcome::Failed`] where proof was demanded.
        authentic: bool,
    },
    /// No answer that could be used.
    Failed {
        /// Why.
        why: Failure,
        /// A byte of the request may have left this machine's memory. Greetings do not count, they propose nothing.
        sent: bool,
    },
}

/// The body of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Body {
    /// All of it, at most [`MAX_ANSWERED`] bytes; of any content.
    Whole(Vec<u8>),
    /// More than [`MAX_ANSWERED`] bytes, announced or read. Nothing of it is kept.
    TooLong,
    /// The connection ended, or fell silent until the time was over, before all of it came. Nothing of it is kept.
    Cut,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Failure {
    /// Nobody listens there, or the system refuses to connect.
    Unreachable,
    /// Nobody accepted the connection within [`CONNECT_MS`].
    ConnectTimeout,
    /// No final status within the budget.
    Timeout,
    /// The connection ended before a final status.
    Cut,
    /// What came is not HTTP as the contract has it.
    Babble(Babble),
    /// The other side did not show that it knows the token.
    NotAuthentic,
}

/// What was wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Babble {
    /// Not an answer of HTTP/1.
    NotHttp,
    /// Heads of more than 64 KiB, announcements (1xx) counted in, or of more than 100 fields.
    HeadTooLong,
    /// It wants to speak another protocol (101).
    Upgrade,
    /// A body whose framing is wrong or contradicts itself.
    Framing,
    /// Words that nobody asked for.
    Unasked,
}

impl Babble {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Babble::NotHttp => "the answer is not HTTP/1",
            Babble::HeadTooLong => "the head of the answer does not end",
            Babble::Upgrade => "the answer asks for another protocol",
            Babble::Framing => "the body of the answer is framed wrongly",
            Babble::Unasked => "an answer came that nothing had been asked for",
        }
    }
}

/// What worker-gateway hears.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ToGateway {
    /// First frame, once, written by the launcher.
    Init(Box<Init>),
    /// A piece of an encoded [`Exchange`]; the exchange is open with its last piece.
    Part {
        /// Chosen by the supervisor, never reused for one worker.
        id: u64,
        /// The question is whole with this piece.
        last: bool,
        /// At most [`crate::chunk::CHUNK`] bytes.
        bytes: Vec<u8>,
    },
    /// Nobody waits for that exchange any more: its stream is closed at once, and its outcome is still told. Nothing
    /// happens if it is not open.
    Cancel {
        /// Which.
        id: u64,
    },
    /// Try from inside what the jail should refuse. Comes while no exchange is open.
    SelfProbe {
        /// Chosen by the supervisor.
        id: u64,
    },
}

/// What worker-gateway says.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum FromGateway {
    /// The jail falls short of `Demand::Required`; the worker ends.
    Short(Report),
    /// The token cannot be used, in our own words; the worker ends.
    Refused {
        /// Why, with what to do.
        why: String,
    },
    /// The worker can be asked.
    Ready {
        /// Its jail.
        report: Report,
        /// It holds a token.
        token: bool,
        /// Its token is kept out of swap and dumps; false without one.
        locked: bool,
    },
    /// From now on bytes of that exchange's request may leave; said before the first of them does.
    Leaving {
        /// Which.
        id: u64,
    },
    /// A piece of the encoded [`Outcome`] of that exchange; it is closed with the last one.
    Part {
        /// Which.
        id: u64,
        /// The outcome is whole with this piece.
        last: bool,
        /// At most [`crate::chunk::CHUNK`] bytes.
        bytes: Vec<u8>,
    },
    /// Answer to `SelfProbe`.
    SelfProbe {
        /// Of the request.
        id: u64,
        /// What came of each attempt.
        report: Report,
    },
}

/// Where the conversation stands, as the supervisor sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The worker was started and has not said that it can be asked.
    Starting,
    /// It can be asked, and may have exchanges open.
    Open,
    /// That probe is open.
    Probing {
        /// Its id.
        id: u64,
    },
}

impl FromGateway {
    /// Says whether the worker may say this now. Whether an exchange is open is the asker's to know.
    ///
    /// # Errors
    /// [`Error::Illegal`] with the names of message and phase.
    pub fn legal(&self, phase: Phase) -> Result<(), Error> {
        let (message, fine) = match self {
            FromGateway::Short(_) => ("Short", phase == Phase::Starting),
            FromGateway::Refused { .. } => ("Refused", phase == Phase::Starting),
            FromGateway::Ready { .. } => ("Ready", phase == Phase::Starting),
            FromGateway::Leaving { .. } => ("Leaving", phase == Phase::Open),
            FromGateway::Part { .. } => ("Part", phase == Phase::Open),
            FromGateway::SelfProbe { id, .. } => ("SelfProbe", phase == Phase::Probing { id: *id }),
        };
        let phase = match phase {
            Phase::Starting => "starting",
            Phase::Open => "open",
            Phase::Probing { .. } => "probing",
        };
        if fine { Ok(()) } else { Err(Error::Illegal { message, phase }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str) -> Exchange {
        Exchange { method: Method::Get, path: path.to_owned(), body: None, budget_ms: 5_000, authentic: false }
    }

    #[test]
    fn a_path_can_split_no_request() {
        for fine in ["/v1/mcp/hello", "/v1/mcp/operation/status/a_B-9", "/v1/mcp/"] {
            assert_eq!(get(fine).check(), Ok(()), "{fine}");
        }
        let long = format!("{PREFIX}{}", "a".repeat(MAX_PATH));
        for odd in
            ["", "/", "/v1/mcp", "v1/mcp/x", "/v1/mcp/a b", "/v1/mcp/a\r\nx:y", "/v1/mcp/?q", "/v1/mcp/%2e", &long]
        {
            assert_eq!(get(odd).check(), Err(Unfit::Path), "{odd}");
        }
        assert_eq!(get("/v1/mcp/..").check(), Err(Unfit::Path));
        assert_eq!(get("/v1/mcp/é").check(), Err(Unfit::Path));
    }

    #[test]
    fn a_post_has_a_body_and_a_get_none() {
        let post = |body| Exchange { method: Method::Post, body, ..get("/v1/mcp/x") };
        assert_eq!(post(Some(vec![0; MAX_BODY])).check(), Ok(()));
        assert_eq!(post(Some(vec![0; MAX_BODY + 1])).check(), Err(Unfit::Body));
        assert_eq!(post(None).check(), Err(Unfit::Body));
        assert_eq!(Exchange { body: Some(Vec::new()), ..get("/v1/mcp/x") }.check(), Err(Unfit::Body));
        for budget_ms in [0, MAX_BUDGET_MS + 1] {
            assert_eq!(Exchange { budget_ms, ..get("/v1/mcp/x") }.check(), Err(Unfit::Budget));
        }
    }

    #[test]
    fn what_nobody_asked_for_is_illegal() {
        let part = FromGateway::Part { id: 3, last: true, bytes: vec![1] };
        assert!(part.legal(Phase::Open).is_ok());
        assert!(part.legal(Phase::Starting).is_err() && part.legal(Phase::Probing { id: 3 }).is_err());
        let probe = FromGateway::SelfProbe { id: 3, report: Report::default() };
        assert!(probe.legal(Phase::Probing { id: 3 }).is_ok());
        assert!(probe.legal(Phase::Probing { id: 4 }).is_err() && probe.legal(Phase::Open).is_err());
        let ready = FromGateway::Ready { report: Report::default(), token: false, locked: false };
        assert!(ready.legal(Phase::Starting).is_ok() && ready.legal(Phase::Open).is_err());
        assert!(FromGateway::Short(Report::default()).legal(Phase::Open).is_err());
        assert!(FromGateway::Refused { why: String::new() }.legal(Phase::Open).is_err());
        assert!(FromGateway::Leaving { id: 1 }.legal(Phase::Open).is_ok());
        assert!(FromGateway::Leaving { id: 1 }.legal(Phase::Starting).is_err());
    }
}
