//! Streams where there is no launcher: this process dials, as everything in it does all that the process can.
//! Trust: the address is the operator's, and checked once more to be a loopback address.

use super::NoStream;
use bulkhead_ipc::edge::gateway::CONNECT_MS;
use std::{
    cell::RefCell,
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, timeout_at},
};

/// A connected stream.
#[derive(Debug)]
pub struct Stream(RefCell<TcpStream>);

impl Stream {
    /// Reads what is there; 0 at the end.
    pub fn poll_read(&self, cx: &mut Context<'_>, into: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(into);
        ready!(Pin::new(&mut *self.0.borrow_mut()).poll_read(cx, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// Writes what there is room for.
    pub fn poll_write(&self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.borrow_mut()).poll_write(cx, bytes)
    }
}

/// Where streams come from. A clone is the same source.
#[derive(Debug, Clone)]
pub enum Source {
    /// This process dials.
    Own(Option<SocketAddr>),
}

impl Source {
    /// A new stream, before `deadline` and within the time that connecting may take.
    ///
    /// # Errors
    /// [`NoStream`].
    pub async fn stream(&self, deadline: Instant) -> Result<Stream, NoStream> {
        let Source::Own(address) = self;
        let address = address.filter(|address| address.ip().is_loopback()).ok_or(NoStream::Refused)?;
        let until = deadline.min(Instant::now() + Duration::from_millis(u64::from(CONNECT_MS)));
        let stream = timeout_at(until, TcpStream::connect(address)).await.map_err(|_| NoStream::Late)?;
        let stream = stream.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
        stream.map(|stream| Stream(RefCell::new(stream))).map_err(|_| NoStream::Refused)
    }

    /// Nothing comes from a launcher here.
    pub async fn serve(&self) -> io::Error {
        std::future::pending().await
    }
}
