//! What a worker at work is watched for: the deadline, and whether anybody still waits for its answer.
//! Trust: the supervisor's own clock and its own caller; the worker has no say in either.

use crate::control::Tick;
use std::{pin::Pin, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

/// Time that a worker has to stop by itself after it was asked to, unless its kind says otherwise.
pub const GRACE: Duration = Duration::from_millis(500);

/// What happened to the one who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alarm {
    /// Nobody waits any more; the worker has its time to stop from now. Said once.
    Leaving,
    /// That time is over.
    Left,
    /// The deadline passed.
    Late,
}

/// Watches over one call.
pub struct Vigil<'a> {
    deadline: Instant,
    left: Pin<Box<dyn Future<Output = ()> + 'a>>,
    ticks: &'a mpsc::Sender<Tick>,
    patience: Duration,
    grace: Option<Instant>,
}

impl<'a> Vigil<'a> {
    /// `left` resolves when nobody waits for the answer any more.
    pub fn new(deadline: Instant, left: impl Future<Output = ()> + 'a, ticks: &'a mpsc::Sender<Tick>) -> Self {
        Self { deadline, left: Box::pin(left), ticks, patience: GRACE, grace: None }
    }

    /// The same with another time than [`GRACE`] for a worker to stop by itself.
    #[must_use]
    pub fn with_grace(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// When the call ends at the latest.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Waits for the next alarm. May be dropped and called again.
    pub async fn alarm(&mut self) -> Alarm {
        if let Some(grace) = self.grace {
            sleep_until(grace.min(self.deadline)).await;
            return Alarm::Left;
        }
        tokio::select! {
            biased;
            () = &mut self.left => {
                self.grace = Some(Instant::now() + self.patience);
                Alarm::Leaving
            }
            () = sleep_until(self.deadline) => Alarm::Late,
        }
    }

    /// Passes progress on, unless the one who waits is behind with hearing it.
    pub fn tick(&self, tick: Tick) {
        let _ = self.ticks.try_send(tick);
    }
}

impl std::fmt::Debug for Vigil<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vigil").field("deadline", &self.deadline).field("grace", &self.grace).finish_non_exhaustive()
    }
}
