//! Random numbers that are the same for the same seed, for generated inputs; shared by the tests of several crates.
//! Trust: test code.
#![allow(dead_code, reason = "every test uses its own part of this")]

/// A generator of numbers that are the same for the same seed (splitmix64).
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// The numbers of the run that `BULKHEAD_SEED` names, else of the first.
    pub fn of_run() -> Self {
        Dice(std::env::var("BULKHEAD_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1))
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % bound as u64).expect("below a usize")
    }
}
