//! The jail of the process that keeps the own presence file, in one step: one directory, in which it makes files.
//! Trust: the descriptor is of the operator's own directory; the kernel's answers are read.

use super::install;
use super::seen::Seen;
use crate::enforced::Enforced;
use crate::layers::landlock::{self, Open};
use crate::layers::{capabilities, rlimits, seccomp};
use crate::policy::note::POLICY;
use std::os::fd::OwnedFd;

/// Locks the calling process down: no capabilities, a Landlock domain in which files can be made in `dir` alone, the filter
/// that ends the process, the allow-list. The directory must be open by then. Call it with one thread. Never fails: the
/// rows say what is missing.
#[must_use]
pub fn note(dir: Option<OwnedFd>) -> Enforced {
    let mut seen = Seen::start(true, "the directory of the own note");
    seen.capabilities = capabilities::drop_all().into();
    seen.enter(landlock::restrict_to(Open { written: dir.into_iter().collect(), ..Open::default() }));
    seen.try_outside();
    seen.standing = rlimits::standing();
    seen.kill = install(seccomp::kill, POLICY.kill);
    seen.allow = install(seccomp::allow, POLICY.allow);
    seen.try_bite();
    seen.confined()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{ensure, passes};
    use nix::errno::Errno;
    use nix::fcntl::{OFlag, open, openat, renameat};
    use nix::sys::stat::Mode;
    use nix::unistd::{UnlinkatFlags, unlinkat};
    use std::fs;
    use std::path::Path;

    fn opens(path: &Path, flags: OFlag) -> Result<(), Errno> {
        open(path, flags | OFlag::O_CLOEXEC, Mode::empty()).map(drop)
    }

    #[test]
    fn a_note_can_be_made_renamed_and_removed_and_nothing_be_read_elsewhere() {
        let dir = tempfile::tempdir().expect("a directory");
        let (notes, other) = (dir.path().join("notes"), dir.path().join("other"));
        for dir in [&notes, &other] {
            fs::create_dir(dir).expect("a directory");
            fs::write(dir.join("old"), "{}").expect("a file");
        }
        passes(|| {
            let text = |errno: Errno| errno.to_string();
            crate::early::early(Some(256 << 20), c"trial").map_err(|error| error.to_string())?;
            let at =
                open(&notes, OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty()).map_err(text)?;
            let elsewhere = open(&other, OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty()).map_err(text)?;
            let enforced = note(at.try_clone().ok());
            ensure(enforced.missing().count() == 0, format!("{enforced:?}"))?;
            let new = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            let file = openat(&at, "new", new, Mode::S_IRUSR).map_err(text)?;
            nix::unistd::write(&file, b"{}").map_err(text)?;
            renameat(&at, "new", &at, "whole").map_err(text)?;
            unlinkat(&at, "old", UnlinkatFlags::NoRemoveDir).map_err(text)?;
            ensure(openat(&elsewhere, "new", new, Mode::S_IRUSR).is_err(), "a file elsewhere")?;
            ensure(unlinkat(&elsewhere, "old", UnlinkatFlags::NoRemoveDir).is_err(), "removal elsewhere")?;
            ensure(renameat(&at, "whole", &elsewhere, "whole").is_err(), "a move elsewhere")?;
            for flags in [OFlag::O_RDONLY, OFlag::O_WRONLY, OFlag::O_RDWR, OFlag::O_WRONLY | OFlag::O_TRUNC] {
                ensure(opens(&notes.join("whole"), flags) == Err(Errno::ENOSYS), format!("{flags:?}"))?;
            }
            Ok(())
        });
        assert!(notes.join("whole").exists() && !notes.join("old").exists() && other.join("old").exists());
    }
}
