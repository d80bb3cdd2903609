//! The process that writes the audit ledger: it holds the signing key and two descriptors, and can append and nothing else.
//! Trust: events come from a supervisor that may be taken over; they are bounded, and nothing of the ledger can change.
//!
//! [`run`] is the whole of it: [`keys`] are loaded and kept to this process, the jail is put on, the ledger is taken up
//! through [`directory`] (which asks the launcher for what needs a path), and [`serve`] appends what comes, as many events
//! with one sync as are waiting.
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
pub mod directory;
mod event;
pub mod fingerprint;
mod jail;
pub mod keys;
pub mod serve;

pub use serve::{Files, run};
