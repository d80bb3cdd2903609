//! What an attack came to.
//! Trust: made here alone.

use std::fmt;

/// Faults that are shown of one attack.
const SHOWN: usize = 4;

/// What an attack came to.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Everything held; what was done.
    Safe(String),
    /// What did not hold.
    Unsafe(Vec<String>),
    /// Why it could not be tried.
    Skipped(String),
}

impl Verdict {
    /// Unsafe where there are faults.
    pub fn of(faults: Vec<String>, done: String) -> Self {
        if faults.is_empty() { Self::Safe(done) } else { Self::Unsafe(faults) }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Safe(done) => write!(f, "SAFE     {done}"),
            Self::Skipped(why) => write!(f, "SKIPPED  {why}"),
            Self::Unsafe(faults) => {
                write!(f, "UNSAFE   {}", faults.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("; "))?;
                match faults.len().saturating_sub(SHOWN) {
                    0 => Ok(()),
                    more => write!(f, "; and {more} more"),
                }
            }
        }
    }
}
