//! How often workers may be started.
//! Trust: a taken-over supervisor asks as often as it likes; this is what keeps it from forking the machine to a halt.

use std::time::{Duration, Instant};

/// Spawns in a row, after a second of rest.
pub const BURST: u32 = 64;
/// What is saved up at most; one spawn costs [`COST`] of it.
const FULL: Duration = Duration::from_secs(1);
/// One second's saving pays for [`BURST`] spawns, so that is also the lasting rate per second.
const COST: Duration = Duration::from_nanos(1_000_000_000 / BURST as u64);

/// Savings of time that spawns are paid with.
#[derive(Debug)]
pub struct Rate {
    saved: Duration,
    seen: Instant,
}

impl Rate {
    /// With a full burst at hand.
    pub fn new(now: Instant) -> Self {
        Self { saved: FULL, seen: now }
    }

    /// Pays for one spawn; false when it must not happen now.
    pub fn take(&mut self, now: Instant) -> bool {
        self.saved = FULL.min(self.saved + now.saturating_duration_since(self.seen));
        self.seen = now;
        match self.saved.checked_sub(COST) {
            Some(rest) => {
                self.saved = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_a_steady_rate_and_rest_saves_no_more_than_a_burst() {
        let start = Instant::now();
        let mut rate = Rate::new(start);
        let burst = |rate: &mut Rate, now| (0..10 * BURST).filter(|_| rate.take(now)).count() as u32;
        assert_eq!(burst(&mut rate, start), BURST);
        assert_eq!(burst(&mut rate, start + COST * 3), 3);
        assert_eq!(burst(&mut rate, start + Duration::from_secs(3600)), BURST);
        assert!(!rate.take(start), "a clock that steps back gives nothing");
    }
}
