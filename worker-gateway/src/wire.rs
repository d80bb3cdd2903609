//! A stream as the HTTP library reads and writes it, with what it may not see for itself: how much head came, and when the
//! first byte of a request leaves.
//! Trust: every byte that is read is the other side's; more of it than a head may have ends the reading.

use crate::stream::Stream;
use hyper::rt::{Read, ReadBufCursor, Write};
use std::{
    cell::{Cell, RefCell},
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

/// Bytes that are read before a final head is there at most: announcements (1xx) count, and what of a body comes with it.
const MAX_BEFORE: usize = 128 * 1024;
/// Bytes that are read at once.
const PIECE: usize = 16 * 1024;

/// What is seen of a stream beside the library.
pub struct Gauge {
    /// Bytes since a head is waited for; `None` where none is.
    before: Cell<Option<usize>>,
    /// More came than a head may have.
    pub flooded: Cell<bool>,
    /// Said before the first byte of the request leaves.
    leaving: RefCell<Option<Box<dyn FnOnce()>>>,
    armed: Cell<bool>,
    /// Bytes of the request may have left.
    pub sent: Cell<bool>,
}

impl Gauge {
    /// `leaving` is called before the first byte that is written after [`Gauge::arm`].
    pub fn new(leaving: impl FnOnce() + 'static) -> Rc<Self> {
        Rc::new(Self {
            before: Cell::new(None),
            flooded: Cell::new(false),
            leaving: RefCell::new(Some(Box::new(leaving))),
            armed: Cell::new(false),
            sent: Cell::new(false),
        })
    }

    /// What is written from now on is the request.
    pub fn arm(&self) {
        self.armed.set(true);
    }

    /// A head is waited for, or there.
    pub fn wait_for_head(&self, waits: bool) {
        self.before.set(waits.then_some(0));
    }

    fn leave(&self) {
        if self.armed.get()
            && let Some(leaving) = self.leaving.take()
        {
            leaving();
            self.sent.set(true);
        }
    }

    fn came(&self, bytes: usize) -> io::Result<()> {
        let Some(before) = self.before.get() else { return Ok(()) };
        self.before.set(Some(before + bytes));
        if before + bytes > MAX_BEFORE {
            self.flooded.set(true);
            return Err(io::Error::other("the head does not end"));
        }
        Ok(())
    }
}

/// The stream, and its gauge.
pub struct Wire {
    stream: Stream,
    gauge: Rc<Gauge>,
    piece: Box<[u8]>,
}

impl Wire {
    /// Over this stream.
    pub fn new(stream: Stream, gauge: Rc<Gauge>) -> Self {
        Self { stream, gauge, piece: vec![0; PIECE].into_boxed_slice() }
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, gauge, piece } = &mut *self;
        let room = buffer.remaining().min(piece.len());
        let got = ready!(stream.poll_read(cx, &mut piece[..room]))?;
        gauge.came(got)?;
        buffer.put_slice(&piece[..got]);
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.gauge.leave();
        self.stream.poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // closing ends it; the jail has no call that would do so in one direction
        Poll::Ready(Ok(()))
    }
}
