//! Remembers which calls ended their workers, so that the same call does not do it a third time.
//! Trust: keys are hashes over checked arguments and identities that workers named; they are only compared.

use crate::{recent::Recent, route::Home};
use std::time::Duration;
use tokio::time::Instant;

/// So many deaths refuse a call.
pub const DEATHS: u32 = 2;
/// For so long.
pub const REFUSED_FOR: Duration = Duration::from_secs(600);
/// Calls that are remembered.
const MAX_CALLS: usize = 1024;

/// A call as poison memory knows it: tool and arguments (hashed), and where they are asked.
pub type CallKey = ([u8; 32], Home);

/// Deaths by call.
#[derive(Debug)]
pub struct Poison(Recent<CallKey, (u32, Instant)>);

impl Default for Poison {
    fn default() -> Self {
        Self(Recent::new(MAX_CALLS))
    }
}

impl Poison {
    /// The time for which this call is still refused, or `None` when it may be tried.
    pub fn refused(&mut self, call: &CallKey, now: Instant) -> Option<Duration> {
        let (deaths, last) = self.0.get(call).map(|seen| *seen)?;
        let left = (last + REFUSED_FOR).checked_duration_since(now).filter(|left| !left.is_zero());
        if left.is_none() {
            self.0.remove(call);
        }
        left.filter(|_| deaths >= DEATHS)
    }

    /// This call ended its worker.
    pub fn died(&mut self, call: CallKey, now: Instant) {
        let (deaths, last) = self.0.get_or(call, || (0, now));
        *deaths = if now - *last >= REFUSED_FOR { 1 } else { *deaths + 1 };
        *last = now;
    }

    /// This call was answered.
    pub fn answered(&mut self, call: &CallKey) {
        self.0.remove(call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_death_refuses_the_same_call_alone_and_for_a_while() {
        let (mut poison, now) = (Poison::default(), Instant::now());
        let call: CallKey = ([1; 32], Home::Path("/a".into()));
        poison.died(call.clone(), now);
        assert_eq!(poison.refused(&call, now), None);
        poison.died(call.clone(), now);
        assert_eq!(poison.refused(&call, now), Some(REFUSED_FOR));
        assert_eq!(poison.refused(&([1; 32], Home::Path("/b".into())), now), None);
        assert_eq!(poison.refused(&([2; 32], call.1.clone()), now), None);
        assert_eq!(poison.refused(&call, now + REFUSED_FOR), None);
        poison.died(call.clone(), now + REFUSED_FOR);
        assert_eq!(poison.refused(&call, now + REFUSED_FOR), None, "counting starts anew");
    }

    #[test]
    fn deaths_that_lie_apart_and_answers_between_them_forgive() {
        let (mut poison, now) = (Poison::default(), Instant::now());
        let call: CallKey = ([1; 32], Home::Path("/a".into()));
        poison.died(call.clone(), now);
        poison.died(call.clone(), now + REFUSED_FOR);
        assert_eq!(poison.refused(&call, now + REFUSED_FOR), None);
        poison.answered(&call);
        poison.died(call.clone(), now + REFUSED_FOR);
        assert_eq!(poison.refused(&call, now + REFUSED_FOR), None);
    }
}
