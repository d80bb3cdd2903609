//! The signals that ask the supervisor to stop, as something to read.
//! Trust: the kernel's; who sent them does not matter.

use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// Signals that ask for an orderly end.
const STOPPING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// SIGINT, SIGTERM and SIGHUP as a descriptor that does not block. Made before any thread, which would otherwise still
/// be ended by them.
#[derive(Debug)]
pub struct StopSignals(SignalFd);

impl StopSignals {
    /// Blocks the three signals and takes them as a descriptor instead.
    ///
    /// # Errors
    /// When the descriptor cannot be had.
    pub fn watch() -> io::Result<StopSignals> {
        let mask: SigSet = STOPPING.into_iter().collect();
        mask.thread_block()?;
        Ok(StopSignals(SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?))
    }

    /// The next signal, or `None` when there is none yet.
    ///
    /// # Errors
    /// When the descriptor cannot be read.
    pub fn read(&self) -> io::Result<Option<i32>> {
        Ok(self.0.read_signal()?.and_then(|info| i32::try_from(info.ssi_signo).ok()))
    }
}

impl AsFd for StopSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for StopSignals {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
