//! How soon a worker that died may be started again, and when starting is given up for a while.
//! Trust: counts what the supervisor saw itself; a worker cannot talk its way out.
//!
//! Kept per home, so that a repository that kills its workers costs no other repository a single start; for workers of no
//! repository, per kind.

use crate::{recent::Recent, route::Home};
use std::{collections::VecDeque, hash::Hash, time::Duration};
use tokio::time::Instant;

/// Waits before a start by the number of deaths since the last answer; the last one holds for all further deaths.
pub const STEPS: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1_600),
    Duration::from_secs(6),
    Duration::from_secs(30),
];
/// So many deaths within [`WINDOW`] open the circuit.
pub const DEATHS: usize = 5;
/// Time over which deaths are counted.
pub const WINDOW: Duration = Duration::from_secs(60);
/// While the circuit is open, one start is tried in this time.
pub const PROBE: Duration = Duration::from_secs(60);
/// Homes that are remembered.
const MAX_HOMES: usize = 1024;

/// Deaths of the workers of each home.
#[derive(Debug)]
pub struct Backoff<K: Hash + Eq = Home>(Recent<K, Trail>);

#[derive(Debug, Default)]
struct Trail {
    /// Within the window, oldest first; at most [`DEATHS`].
    deaths: VecDeque<Instant>,
    /// Since the last answer.
    in_a_row: usize,
    /// The next start waits until then.
    not_before: Option<Instant>,
    /// Set while the circuit is open: when the next probe may start.
    probe_at: Option<Instant>,
}

/// Whether a worker may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Now.
    Now,
    /// At that time; ask again then.
    At(Instant),
    /// The circuit is open until that time.
    Open(Instant),
}

impl<K: Hash + Eq + Clone> Default for Backoff<K> {
    fn default() -> Self {
        Self(Recent::new(MAX_HOMES))
    }
}

impl<K: Hash + Eq + Clone> Backoff<K> {
    /// Asks for a start. While the circuit is open, the one who gets [`Admission::Now`] is the probe.
    pub fn admit(&mut self, home: &K, now: Instant) -> Admission {
        let Some(trail) = self.0.get(home) else { return Admission::Now };
        match (trail.probe_at, trail.not_before) {
            (Some(at), _) if now < at => Admission::Open(at),
            (Some(_), _) => {
                trail.probe_at = Some(now + PROBE);
                Admission::Now
            }
            (None, Some(at)) if now < at => Admission::At(at),
            (None, _) => Admission::Now,
        }
    }

    /// A worker died that nobody had asked to end. `at_once` opens the circuit with this one death.
    pub fn died(&mut self, home: &K, now: Instant, at_once: bool) {
        let trail = self.0.get_or(home.clone(), Trail::default);
        while trail.deaths.front().is_some_and(|death| now - *death >= WINDOW) {
            trail.deaths.pop_front();
        }
        if trail.deaths.len() == DEATHS {
            trail.deaths.pop_front();
        }
        trail.deaths.push_back(now);
        trail.not_before = Some(now + STEPS[trail.in_a_row.min(STEPS.len() - 1)]);
        trail.in_a_row += 1;
        if at_once || trail.deaths.len() >= DEATHS || trail.probe_at.is_some() {
            trail.probe_at = Some(now + PROBE);
        }
    }

    /// A worker answered: its home is well again.
    pub fn answered(&mut self, home: &K) {
        self.0.remove(home);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(name: &str) -> Home {
        Home::Path(name.into())
    }

    #[test]
    fn waits_grow_and_an_answer_ends_them() {
        let (mut backoff, a, start) = (Backoff::default(), home("/a"), Instant::now());
        // far enough apart that the circuit stays closed
        for (n, step) in STEPS.iter().chain([&STEPS[5]]).enumerate() {
            let now = start + WINDOW * u32::try_from(n).expect("small");
            backoff.died(&a, now, false);
            let expected = if step.is_zero() { Admission::Now } else { Admission::At(now + *step) };
            assert_eq!(backoff.admit(&a, now), expected, "death {n}");
            assert_eq!(backoff.admit(&a, now + *step), Admission::Now);
            assert_eq!(backoff.admit(&home("/b"), now), Admission::Now, "another home pays nothing");
        }
        backoff.answered(&a);
        backoff.died(&a, start, false);
        assert_eq!(backoff.admit(&a, start), Admission::Now);
    }

    #[test]
    fn five_deaths_open_the_circuit_and_one_probe_a_minute_is_let_through() {
        let (mut backoff, a, now) = (Backoff::default(), home("/a"), Instant::now());
        for _ in 0..DEATHS - 1 {
            backoff.died(&a, now, false);
        }
        assert!(matches!(backoff.admit(&a, now), Admission::At(_)));
        backoff.died(&a, now, false);
        assert_eq!(backoff.admit(&a, now), Admission::Open(now + PROBE));
        let later = now + PROBE;
        assert_eq!(backoff.admit(&a, later), Admission::Now);
        assert_eq!(backoff.admit(&a, later), Admission::Open(later + PROBE), "one probe, not two");
        backoff.died(&a, later, false);
        assert_eq!(backoff.admit(&a, later + WINDOW - Duration::from_secs(1)), Admission::Open(later + PROBE));
        backoff.answered(&a);
        assert_eq!(backoff.admit(&a, later), Admission::Now);
    }

    #[test]
    fn deaths_that_lie_apart_do_not_open_it_and_a_grave_one_does_at_once() {
        let (mut backoff, a, start) = (Backoff::default(), home("/a"), Instant::now());
        for n in 0..20 {
            backoff.died(&a, start + Duration::from_secs(20) * n, false);
        }
        assert!(!matches!(backoff.admit(&a, start + Duration::from_secs(380)), Admission::Open(_)));
        backoff.died(&home("/b"), start, true);
        assert_eq!(backoff.admit(&home("/b"), start), Admission::Open(start + PROBE));
    }
}
