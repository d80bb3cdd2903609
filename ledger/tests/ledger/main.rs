//! The ledger from outside: vectors, tampering, crashes, several writers; on real files and on a simulated disk.
//! Trust: makes its own ledgers and damages them.

mod bits;
#[cfg(target_os = "linux")]
mod boundaries;
mod crashes;
mod ends;
mod heads;
mod killed;
mod legacy;
mod places;
mod rotation;
mod sharing;
mod simulated;
mod support;
mod tampering;
mod torn;
mod vectors;
