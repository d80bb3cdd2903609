//! Time, randomness and waiting, from outside, so that a test can bring its own.
//! Trust: the clock may jump; nothing but timestamps depends on it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What an appender takes from its surroundings.
pub trait Host {
    /// Milliseconds since 1970.
    fn now(&mut self) -> u64;
    /// Random bytes for an id. They need not be secret; they must not repeat.
    fn random(&mut self) -> [u8; 16];
    /// Waits.
    fn pause(&mut self, length: Duration);
}

/// The system's clock and random numbers.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemHost;

impl Host for SystemHost {
    fn now(&mut self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    }

    fn random(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has random numbers; nothing here could go on without");
        bytes
    }

    fn pause(&mut self, length: Duration) {
        std::thread::sleep(length);
    }
}
