//! The two strings by which a running call is held: one to stop it, one to hear how far it is.
//! Trust: both ends are the supervisor's own.

use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// Units done; only grows.
    pub done: u64,
    /// Units in all, where known.
    pub total: Option<u64>,
}

/// Held by the one who serves the call; a copy for each question of a call that asks several.
#[derive(Debug, Clone)]
pub struct Control {
    stop: watch::Receiver<bool>,
    ticks: Option<mpsc::Sender<Tick>>,
    limit: Option<Duration>,
}

/// Held by the one who asked. Dropping it without [`Stopper::stop`] lets the call run on.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Control {
    /// Both ends; ticks are dropped when their queue is full or `ticks` is `None`.
    #[must_use]
    pub fn pair(ticks: Option<mpsc::Sender<Tick>>) -> (Stopper, Control) {
        let (sender, stop) = watch::channel(false);
        (Stopper(sender), Control { stop, ticks, limit: None })
    }

    /// The same for a part of a larger call: it has this much time at most, it leaves room for calls of their own, and the
    /// worker that it starts is the first to go when room is needed.
    #[must_use]
    pub fn as_part(self, limit: Duration) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The time of a part of a larger call; `None` for a call of its own.
    #[must_use]
    pub fn limit(&self) -> Option<Duration> {
        self.limit
    }

    /// Resolves when the asker wants the call stopped; never resolves if that does not happen.
    pub async fn stopped(&mut self) {
        while !*self.stop.borrow_and_update() {
            if self.stop.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Passes progress on.
    pub fn tick(&self, tick: Tick) {
        if let Some(ticks) = &self.ticks {
            // a full queue means that the client reads slowly; the next tick says more than this one
            let _ = ticks.try_send(tick);
        }
    }
}

impl Stopper {
    /// Stops the call: its worker is asked, and killed if it does not listen.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}
