//! What is said to the supervisor, in order, kept while its socket is full.
//! Trust: the supervisor may never read; the box is bounded because nothing more is asked of the launcher once it is full.

use bulkhead_ipc::{Error, codec, edge::launcher::FromLauncher};
use bulkhead_sandbox::handover;
use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

/// Answers that may wait before no more requests are taken. The ends of children come on top; there are never more of
/// them than children.
pub const MAX_WAITING: usize = 16;

/// Packets that wait, each with the descriptors that go with it.
#[derive(Debug, Default)]
pub struct Outbox {
    waiting: VecDeque<(Vec<u8>, Vec<OwnedFd>)>,
}

impl Outbox {
    /// Puts a message behind all others.
    ///
    /// # Errors
    /// Those of the codec.
    pub fn put(&mut self, message: &FromLauncher, descriptors: Vec<OwnedFd>) -> Result<(), Error> {
        self.waiting.push_back((codec::encode(message)?, descriptors));
        Ok(())
    }

    /// True when everything was sent.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// True when no more requests may be taken.
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= MAX_WAITING
    }

    /// Sends as much as the socket takes now; what was sent is dropped, its descriptors with it.
    ///
    /// # Errors
    /// Those of the socket, except that it is full.
    pub fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        while let Some((packet, descriptors)) = self.waiting.front() {
            let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
            match handover::send(socket, packet, &borrowed) {
                Ok(()) => self.waiting.pop_front(),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
        }
        Ok(())
    }
}
