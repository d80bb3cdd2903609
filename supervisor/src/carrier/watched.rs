//! Descriptors that the runtime watches for readiness.
//! Trust: only descriptors that we own get here.

use std::{
    fs::File,
    io,
    os::fd::{AsRawFd, OwnedFd},
};
use tokio::io::{Interest, unix::AsyncFd};

/// A type that owns its descriptor: its number stays open, and the same, for as long as the value lives.
pub(crate) trait Owns: AsRawFd {}

impl Owns for OwnedFd {}
impl Owns for File {}
// nothing ever closes these two
impl Owns for io::Stdin {}
impl Owns for io::Stdout {}
impl Owns for bulkhead_sandbox::signals::StopSignals {}

/// Watches `inner`, which must be non-blocking. Needs a runtime.
///
/// # Errors
/// When the runtime cannot watch it.
#[expect(
    deprecated,
    reason = "the new form is unsafe for types that do not own what they name; `Owns` rules those out"
)]
pub(crate) fn watch<T: Owns>(inner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(inner, interest)
}
