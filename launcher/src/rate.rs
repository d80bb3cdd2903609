//! How often something may be done for a peer.
//! Trust: a taken-over peer asks as often as it likes; this is what keeps it from bringing the machine to a halt.

use std::time::{Duration, Instant};

/// Spawns in a row, after a second of rest; also the lasting rate in a second.
pub const BURST: u32 = 64;

/// Savings of time that things are paid with.
#[derive(Debug)]
pub struct Rate {
    saved: Duration,
    /// What is saved up at most.
    full: Duration,
    /// What one thing costs of it.
    cost: Duration,
    seen: Instant,
}

impl Rate {
    /// For spawns, with a full burst at hand.
    pub fn new(now: Instant) -> Self {
        Self::of(BURST, BURST, now)
    }

    /// `burst` at hand, and `per_second` in the long run.
    pub fn of(burst: u32, per_second: u32, now: Instant) -> Self {
        let cost = Duration::from_secs(1) / per_second.max(1);
        Self { saved: cost * burst, full: cost * burst, cost, seen: now }
    }

    /// Pays for one; false when it must not happen now.
    pub fn take(&mut self, now: Instant) -> bool {
        self.saved = self.full.min(self.saved + now.saturating_duration_since(self.seen));
        self.seen = now;
        match self.saved.checked_sub(self.cost) {
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
        for (most, per_second) in [(BURST, BURST), (128, 256)] {
            let mut rate = Rate::of(most, per_second, start);
            let burst = |rate: &mut Rate, now| (0..10 * most).filter(|_| rate.take(now)).count() as u32;
            assert_eq!(burst(&mut rate, start), most);
            assert_eq!(burst(&mut rate, start + Duration::from_secs(1) / per_second * 3), 3);
            assert_eq!(burst(&mut rate, start + Duration::from_secs(3600)), most);
            assert!(!rate.take(start), "a clock that steps back gives nothing");
        }
    }
}
