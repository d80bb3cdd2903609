//! The launcher: the one process that keeps the right to start programs, and starts only itself in a worker's role.
//! Trust: it treats the supervisor as taken over; no JSON, no repository and no caller's path is ever looked into here.
//!
//! It is forked before the first thread and before standard input is read, so nothing that a client sent is in its
//! memory. What a worker may see is fixed in a [`Table`] at that moment; the supervisor can only ask for a row of it,
//! with one path beside it that travels through as opaque bytes.
#![forbid(unsafe_code)]

#[cfg(target_os = "linux")]
mod dialler;
#[cfg(target_os = "linux")]
mod ledger;
#[cfg(target_os = "linux")]
mod outbox;
#[cfg(target_os = "linux")]
mod rate;
#[cfg(target_os = "linux")]
mod serve;
mod table;

#[cfg(target_os = "linux")]
pub use serve::{EXIT_BROKEN, EXIT_VIOLATION, MAX_CHILDREN, serve, start};
pub use table::{MAX_INIT, Table, TableError};
