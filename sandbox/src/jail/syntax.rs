//! The jail of worker-syntax, in one step: no file, no path, no socket, no thread; what is left is two pipes and memory.
//! Trust: no input; the kernel's answers are read.

use super::seen::Seen;
use crate::enforced::Enforced;
use crate::layers::{capabilities, seccomp};
use crate::policy::{Live, syntax};

/// Locks the calling process down. Call it with one thread, before a byte of a source is there. Never fails: the rows say
/// what is missing.
#[must_use]
pub fn syntax() -> Enforced {
    let mut seen = Seen::start(false, "no file");
    seen.capabilities = capabilities::drop_all().into();
    seen.leave_all_files();
    let kill = syntax::POLICY.kill.unwrap_or_default();
    seen.kill = seccomp::install_policy(seccomp::kill, kill, &Live::worker()).into();
    seen.admit_only(&syntax::POLICY, &Live::worker());
    seen.confined()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{ensure, passes};
    use std::io::Write;

    #[test]
    fn memory_and_open_pipes_are_all_that_is_left() {
        passes(|| {
            crate::early::early(Some(256 << 20), crate::early::FEW_DESCRIPTORS, c"trial")
                .map_err(|error| error.to_string())?;
            let text = |error: std::io::Error| error.to_string();
            let (_kept, mut pipe) = std::io::pipe().map_err(text)?;
            let enforced = syntax();
            ensure(enforced.missing().count() == 0, format!("{enforced:?}"))?;
            pipe.write_all(b"still open").map_err(text)?;
            let mut block = vec![1u8; 8 << 20];
            block.resize(64 << 20, 2);
            ensure(block[block.len() - 1] == 2, "memory")?;
            ensure(std::fs::File::open("/proc/self/status").is_err(), "opened")?;
            ensure(std::fs::metadata("/").is_err(), "looked at a path")?;
            ensure(std::thread::Builder::new().spawn(|| ()).is_err(), "a thread")
        });
    }
}
