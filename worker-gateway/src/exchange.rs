//! One exchange over one stream: where proof is demanded a greeting first, then the request, then its answer.
//! Trust: everything that comes back is held to its bounds here; what it means is for others to say.

use crate::{
    proof::{self, HELLO, MAC, NONCE, Nonce},
    stream::{NoStream, Source},
    token::Token,
    wire::{Gauge, Wire},
};
use bulkhead_ipc::edge::gateway::{Babble, Body, Exchange, Failure, MAX_ANSWERED, Method, Outcome};
use hyper::{
    Request, Response,
    body::{Body as _, Bytes, Frame, Incoming, SizeHint},
    client::conn::http1::{Builder, Connection, SendRequest},
    header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue},
};
use std::{
    convert::Infallible,
    error::Error as _,
    future::poll_fn,
    io,
    pin::{Pin, pin},
    rc::Rc,
    task::{Context, Poll},
};
use tokio::time::{Instant, timeout_at};

/// Bytes of one head at most.
const MAX_HEAD: usize = 64 * 1024;
/// Fields of one head at most.
const MAX_FIELDS: usize = 100;
/// Bytes of a greeting's body at most; nothing of it is looked at.
const MAX_HELLO: usize = 4 * 1024;

/// What all exchanges of one worker have in common.
#[derive(Debug)]
pub struct Place {
    /// Where streams come from.
    pub source: Source,
    /// Value of `host`: the address as it was dialled.
    pub host: String,
    /// What both sides know.
    pub token: Option<Token>,
}

/// Carries it to its end, which is at `deadline` at the latest.
pub async fn run(place: &Place, exchange: Exchange, deadline: Instant, gauge: Rc<Gauge>) -> Outcome {
    let outcome = carried(place, exchange, deadline, &gauge).await;
    outcome.unwrap_or_else(|why| Outcome::Failed { why, sent: gauge.sent.get() })
}

async fn carried(place: &Place, exchange: Exchange, deadline: Instant, gauge: &Rc<Gauge>) -> Result<Outcome, Failure> {
    let stream = place.source.stream(deadline).await.map_err(|why| match why {
        NoStream::Refused | NoStream::Broken => Failure::Unreachable,
        NoStream::Late => Failure::ConnectTimeout,
    })?;
    let mut line = Line::over(Wire::new(stream, Rc::clone(gauge)), Rc::clone(gauge), deadline).await?;
    let Exchange { method, path, body, authentic, .. } = exchange;
    let body = Bytes::from(body.unwrap_or_default());
    let proving = match place.token.as_ref().filter(|_| authentic) {
        Some(token) => Some((token, line.greeted(place, token).await?)),
        None => None,
    };
    let mut request = head(method, &path, &place.host, body.len())?;
    if let Some((token, nonce)) = &proving {
        let mac = proof::of_request(token.secret(), nonce, method.name(), &path, &body);
        put(&mut request, NONCE, &proof::hex(nonce))?;
        put(&mut request, MAC, &proof::hex(&mac))?;
    }
    gauge.arm();
    let answer = line.asked(request.map(|()| Sent(Some(body).filter(|_| method == Method::Post)))).await?;
    let (status, shown) = (answer.status().as_u16(), answer.headers().get(MAC).cloned());
    let read = line.read(answer.into_body(), MAX_ANSWERED).await?;
    let Some((token, nonce)) = proving else {
        let body = read.map_or_else(Unread::body, Body::Whole);
        return Ok(Outcome::Answered { status, body, authentic: false });
    };
    let bytes = read.map_err(Unread::failure)?;
    let mac = proof::of_answer(token.secret(), &nonce, status, &path, &bytes);
    if !proof::holds(shown.as_ref().map(HeaderValue::as_bytes), &mac) {
        return Err(Failure::NotAuthentic);
    }
    Ok(Outcome::Answered { status, body: Body::Whole(bytes), authentic: true })
}

/// The head of a request, exactly as the contract has it.
fn head(method: Method, path: &str, host: &str, length: usize) -> Result<Request<()>, Failure> {
    let mut request = Request::builder().method(method.name()).uri(path);
    if method == Method::Post {
        request = request.header(CONTENT_TYPE, "application/json").header(CONTENT_LENGTH, length);
    }
    let request = request.header(ACCEPT, "*/*").header(HOST, host).body(());
    // path and host were checked, so this cannot be; nothing was sent
    request.map_err(|_| Failure::Unreachable)
}

fn put(request: &mut Request<()>, name: &'static str, value: &str) -> Result<(), Failure> {
    let value = HeaderValue::from_str(value).map_err(|_| Failure::Unreachable)?;
    request.headers_mut().insert(name, value);
    Ok(())
}

/// Why a body is not there.
#[derive(Debug, Clone, Copy)]
enum Unread {
    TooLong,
    Cut,
    Late,
}

impl Unread {
    fn body(self) -> Body {
        match self {
            Unread::TooLong => Body::TooLong,
            Unread::Cut | Unread::Late => Body::Cut,
        }
    }

    /// Where only a whole body would do.
    fn failure(self) -> Failure {
        match self {
            Unread::TooLong => Failure::NotAuthentic,
            Unread::Cut => Failure::Cut,
            Unread::Late => Failure::Timeout,
        }
    }
}

/// One connection of the library, which moves only while it is driven.
struct Line {
    send: SendRequest<Sent>,
    /// `None` after its end.
    connection: Option<Pin<Box<Connection<Wire, Sent>>>>,
    /// What ended it, unless that was told where it was waited for.
    broke: Option<hyper::Error>,
    gauge: Rc<Gauge>,
    deadline: Instant,
}

impl Line {
    async fn over(wire: Wire, gauge: Rc<Gauge>, deadline: Instant) -> Result<Self, Failure> {
        let built = Builder::new().max_buf_size(MAX_HEAD).max_headers(MAX_FIELDS).handshake(wire).await;
        let (send, connection) = built.map_err(|_| Failure::Cut)?;
        Ok(Self { send, connection: Some(Box::pin(connection)), broke: None, gauge, deadline })
    }

    /// Greets, and takes the answer's proof; the nonce of this connection.
    async fn greeted(&mut self, place: &Place, token: &Token) -> Result<Nonce, Failure> {
        let mut nonce = Nonce::default();
        // without random numbers nothing is proven, so nothing is sent
        getrandom::fill(&mut nonce).map_err(|_| Failure::NotAuthentic)?;
        let mut request = head(Method::Get, HELLO, &place.host, 0)?;
        put(&mut request, NONCE, &proof::hex(&nonce))?;
        let answer = self.asked(request.map(|()| Sent(None))).await?;
        let (status, shown) = (answer.status().as_u16(), answer.headers().get(MAC).cloned());
        let read = self.read(answer.into_body(), MAX_HELLO).await?;
        let mac = proof::of_hello(token.secret(), &nonce);
        if status != 200 || !proof::holds(shown.as_ref().map(HeaderValue::as_bytes), &mac) {
            return Err(Failure::NotAuthentic);
        }
        read.map_err(Unread::failure)?;
        Ok(nonce)
    }

    /// Sends a request and waits for the head of its answer.
    async fn asked(&mut self, request: Request<Sent>) -> Result<Response<Incoming>, Failure> {
        let Self { send, connection, broke, gauge, deadline } = self;
        // it may have ended, or may only now see that it was spoken to unasked
        let ready =
            timeout_at(*deadline, driven(connection, broke, send.ready())).await.map_err(|_| Failure::Timeout)?;
        if ready.is_err() {
            return Err(broke.as_ref().map_or(Failure::Cut, |e| judged(e, gauge)));
        }
        gauge.wait_for_head(true);
        let asked = timeout_at(*deadline, driven(connection, broke, send.send_request(request))).await;
        gauge.wait_for_head(false);
        let answer = asked.map_err(|_| Failure::Timeout)?.map_err(|e| judged(&e, gauge))?;
        match answer.status().as_u16() {
            101 => Err(Failure::Babble(Babble::Upgrade)),
            200..=599 => Ok(answer),
            _ => Err(Failure::Babble(Babble::NotHttp)),
        }
    }

    /// Reads a body of at most `most` bytes.
    async fn read(&mut self, mut body: Incoming, most: usize) -> Result<Result<Vec<u8>, Unread>, Failure> {
        let Self { connection, broke, deadline, .. } = self;
        if body.size_hint().lower() > most as u64 {
            return Ok(Err(Unread::TooLong));
        }
        let mut bytes = Vec::new();
        loop {
            let next = driven(connection, broke, poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)));
            match timeout_at(*deadline, next).await {
                Err(_) => return Ok(Err(Unread::Late)),
                Ok(None) => return Ok(Ok(bytes)),
                Ok(Some(Err(e))) if is_misframed(&e) => return Err(Failure::Babble(Babble::Framing)),
                Ok(Some(Err(_))) => return Ok(Err(Unread::Cut)),
                Ok(Some(Ok(frame))) => {
                    let data = frame.into_data().unwrap_or_default();
                    if bytes.len() + data.len() > most {
                        return Ok(Err(Unread::TooLong));
                    }
                    bytes.extend_from_slice(&data);
                }
            }
        }
    }
}

/// Moves the connection while `work` is waited for.
async fn driven<T>(
    connection: &mut Option<Pin<Box<Connection<Wire, Sent>>>>,
    broke: &mut Option<hyper::Error>,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    poll_fn(|cx| {
        if let Some(open) = connection
            && let Poll::Ready(end) = open.as_mut().poll(cx)
        {
            *connection = None;
            *broke = end.err();
        }
        work.as_mut().poll(cx)
    })
    .await
}

/// What an error of the library says of the other side.
fn judged(e: &hyper::Error, gauge: &Gauge) -> Failure {
    // the library has no other word for it on this side
    let too_long = e.is_parse() && e.to_string().contains("too large");
    if gauge.flooded.get() || too_long {
        Failure::Babble(Babble::HeadTooLong)
    } else if e.is_parse() {
        Failure::Babble(Babble::NotHttp)
    } else if e.is_incomplete_message() || e.is_canceled() || e.is_closed() || io_kind(e).is_some() {
        Failure::Cut
    } else {
        // the one kind that is left: words between two exchanges
        Failure::Babble(Babble::Unasked)
    }
}

fn io_kind(e: &hyper::Error) -> Option<io::ErrorKind> {
    e.source().and_then(|source| source.downcast_ref::<io::Error>()).map(io::Error::kind)
}

/// Whether a body ended because of how it is framed, and not because it was cut.
fn is_misframed(e: &hyper::Error) -> bool {
    matches!(io_kind(e), Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput))
}

/// The body of a request.
struct Sent(Option<Bytes>);

impl hyper::body::Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(Bytes::is_empty)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
