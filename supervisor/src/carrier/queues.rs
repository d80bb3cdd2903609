//! A worker's two pipes as queues in memory: the same frames, without the length words.
//! Trust: frames are a peer's, as from a pipe; the queues are bounded, so that neither side can fill memory.

use super::Wire;
use bulkhead_ipc::Error;
use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::sync::mpsc;

/// Frames that one direction holds before its writer waits.
const QUEUE: usize = 8;

/// The supervisor's wire, and the worker's ends of it: what it hears, and where it speaks.
#[must_use]
pub fn pair() -> (Queues, mpsc::Receiver<Vec<u8>>, mpsc::Sender<Vec<u8>>) {
    let (requests, heard) = mpsc::channel(QUEUE);
    let (said, answers) = mpsc::channel(QUEUE);
    (Queues { requests: Some(requests), answers, unheard: false, room: None }, heard, said)
}

/// The supervisor's ends.
pub struct Queues {
    requests: Option<mpsc::Sender<Vec<u8>>>,
    answers: mpsc::Receiver<Vec<u8>>,
    unheard: bool,
    /// Resolves when there is room again.
    room: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl Wire for Queues {
    fn post(&mut self, body: Vec<u8>) -> Result<(), Error> {
        use mpsc::error::TrySendError;
        match self.requests.as_ref().map(|requests| requests.try_send(body)) {
            Some(Err(TrySendError::Full(_))) => Err(Error::Io(io::ErrorKind::WouldBlock.into())),
            // the end of answers says that the worker is gone, after what it still had to say
            Some(Err(TrySendError::Closed(_))) | None => {
                self.unheard = true;
                Ok(())
            }
            Some(Ok(())) => Ok(()),
        }
    }

    fn has_room(&self) -> bool {
        self.requests.as_ref().is_none_or(|requests| requests.is_closed() || requests.capacity() > 0)
    }

    fn is_unheard(&self) -> bool {
        self.unheard
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>, Error>> {
        if self.room.is_none() && !self.has_room() {
            self.room = self.requests.clone().map(|requests| -> Pin<Box<dyn Future<Output = ()>>> {
                // the place is given back at once: it only tells that there is one
                Box::pin(async move { drop(requests.reserve().await) })
            });
        }
        if let Some(room) = &mut self.room
            && room.as_mut().poll(cx).is_ready()
        {
            self.room = None;
            // what waits is posted when frames are polled for again, which is now
            cx.waker().wake_by_ref();
        }
        let frame = ready!(self.answers.poll_recv(cx));
        if frame.is_none() {
            (self.requests, self.room) = (None, None);
        }
        Poll::Ready(Ok(frame))
    }
}

impl std::fmt::Debug for Queues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queues").field("unheard", &self.unheard).finish_non_exhaustive()
    }
}
