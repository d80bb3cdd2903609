//! The jail of worker-audit, in one step: no file, no path, and of its descriptors' powers appending and reading alone.
//! Trust: no input; the kernel's answers are read.

use super::seen::Seen;
use crate::enforced::Enforced;
use crate::layers::{capabilities, seccomp};
use crate::policy::{Live, audit};

/// Locks the calling process down: no capabilities, a Landlock domain without a rule, the filter that ends the process,
/// the allow-list. Keys must be loaded by then; descriptors come by the launcher's socket afterwards. Call it with one
/// thread. Never fails: the rows say what is missing.
#[must_use]
pub fn audit() -> Enforced {
    let mut seen = Seen::start(false, "no file");
    seen.capabilities = capabilities::drop_all().into();
    seen.leave_all_files();
    seen.kill = seccomp::install_policy(seccomp::kill, audit::POLICY.kill.unwrap_or_default(), &Live::worker()).into();
    seen.admit_only(&audit::POLICY, &Live::worker());
    seen.confined()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{ensure, passes};
    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    use std::fs::OpenOptions;
    use std::io::{Seek, SeekFrom, Write};
    use std::os::fd::AsRawFd;

    #[test]
    fn of_a_descriptor_that_appends_nothing_else_is_left() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("ledger");
        std::fs::write(&path, "one\n").expect("a file");
        passes(|| {
            crate::early::early(Some(256 << 20), crate::early::FEW_DESCRIPTORS, c"trial")
                .map_err(|error| error.to_string())?;
            let text = |error: std::io::Error| error.to_string();
            let mut append = OpenOptions::new().append(true).open(&path).map_err(text)?;
            let mut read = std::fs::File::open(&path).map_err(text)?;
            let enforced = audit();
            ensure(enforced.missing().count() == 0, format!("{enforced:?}"))?;
            append.write_all(b"two\n").and_then(|()| append.sync_data()).map_err(text)?;
            append.seek(SeekFrom::Start(0)).map_err(text)?;
            append.write_all(b"three\n").map_err(text)?;
            ensure(read.seek(SeekFrom::End(0)).map_err(text)? == 14, "the length, and what was written at the end")?;
            append.try_lock().map_err(|error| error.to_string())?;
            ensure(append.set_len(0).is_err(), "truncated")?;
            ensure(fcntl(&append, FcntlArg::F_SETFL(OFlag::empty())) == Err(Errno::ENOSYS), "no longer appending")?;
            ensure(std::fs::File::open(&path).is_err(), "opened")?;
            ensure(std::thread::Builder::new().spawn(|| ()).is_err(), "a thread")?;
            // SAFETY: one byte to a descriptor that is open; refused by the filter.
            let put = unsafe { libc::pwrite(append.as_raw_fd(), b"x".as_ptr().cast(), 1, 0) };
            ensure(put == -1, "pwrite")
        });
        assert_eq!(std::fs::read_to_string(&path).expect("text"), "one\ntwo\nthree\n");
    }
}
