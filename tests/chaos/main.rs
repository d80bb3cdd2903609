//! Processes that are killed, stopped or replaced at any moment, while many calls are under way: each call is answered once
//! and in time, what was lost comes back, and nobody stays behind.
//! Trust: test code; moments and victims come from dice whose seed is printed (`BULKHEAD_SEED`). What holds of a server that
//! has little to do is in `tests/workers_die_alone.rs` and `tests/shutdown.rs`.
#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod load;
mod others;
mod workers;

use std::time::Duration;

/// Time for which victims are chosen: seconds, and minutes with `BULKHEAD_SLOW=1`.
fn span() -> Duration {
    Duration::from_secs(if support::slow() { 120 } else { 4 })
}
