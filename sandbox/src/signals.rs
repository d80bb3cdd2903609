//! The signals that ask the supervisor to stop, as something to read; and one that is to be an error instead.
//! Trust: the kernel's; who sent them does not matter.

use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// Has a write beyond the limit on a file's size (`RLIMIT_FSIZE`, which an operator may have set) fail with `EFBIG` instead of
/// ending the process. Programs that are executed later inherit it.
///
/// # Errors
/// When the kernel refuses.
pub fn oversized_writes_fail() -> io::Result<()> {
    // SAFETY: nothing is run when the signal comes.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }?;
    Ok(())
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{ensure, passes};
    use nix::sys::resource::{Resource, setrlimit};
    use std::io::Write as _;

    #[test]
    fn a_write_beyond_the_limit_is_an_error() {
        let mut file = tempfile::tempfile().expect("a file");
        passes(|| {
            oversized_writes_fail().map_err(|error| error.to_string())?;
            setrlimit(Resource::RLIMIT_FSIZE, 4, 4).map_err(|error| error.to_string())?;
            ensure(file.write(b"123456").is_ok_and(|taken| taken == 4), "what fits")?;
            let refused = file.write(b"56").map_err(|error| error.kind());
            ensure(refused == Err(io::ErrorKind::FileTooLarge), format!("{refused:?}"))
        });
    }
}
