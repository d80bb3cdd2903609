//! A worker's two ends as queues in memory: what is said to it stands there from the beginning, what it says is collected.
//! Trust: test code.

use bulkhead_ipc::{
    Error,
    channel::{FrameSink, FrameSource, Now},
};
use std::{collections::VecDeque, sync::mpsc, time::Duration};

/// Longer than any of these tests takes.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// What a worker will hear.
pub struct Said {
    frames: VecDeque<Vec<u8>>,
    /// Asked between two messages, it learns that there is nothing yet, in place of the end.
    open: bool,
    /// The end comes only when this says so.
    enough: Option<mpsc::Receiver<()>>,
}

#[allow(dead_code, reason = "each test uses the kind that it needs")]
impl Said {
    /// These, and then the end.
    pub fn all(frames: Vec<Vec<u8>>) -> Self {
        Self { frames: frames.into(), open: false, enough: None }
    }

    /// The same; but while it works, the worker finds the channel open.
    pub fn open(frames: Vec<Vec<u8>>) -> Self {
        Self { open: true, ..Self::all(frames) }
    }

    /// These, and the end when the other half says so or is dropped.
    pub fn until(frames: Vec<Vec<u8>>, enough: mpsc::Receiver<()>) -> Self {
        Self { enough: Some(enough), ..Self::all(frames) }
    }
}

impl FrameSource for Said {
    fn next_frame(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if self.frames.is_empty()
            && let Some(enough) = &self.enough
        {
            let _ = enough.recv_timeout(DEADLINE);
        }
        Ok(self.frames.pop_front())
    }

    fn frame_now(&mut self) -> Result<Now<Vec<u8>>, Error> {
        let none = if self.open { Now::Nothing } else { Now::End };
        Ok(self.frames.pop_front().map_or(none, Now::Said))
    }
}

/// Where the frames of a worker go.
pub struct Heard(pub mpsc::Sender<Vec<u8>>);

impl FrameSink for Heard {
    fn put_frame(&mut self, body: &[u8]) -> Result<(), Error> {
        self.0.send(body.to_vec()).map_err(|_| Error::CutFrame)
    }
}
