//! The jail of worker-agents, in two steps: what looking at processes needs, and then what reading stores needs.
//! Trust: descriptors are of directories that the operator's own places led to; the kernel's answers are read.

use super::seen::Seen;
use super::{Short, install};
use crate::enforced::Enforced;
use crate::layers::landlock::{self, Open};
use crate::layers::{capabilities, seccomp};
use crate::policy::agents;
use std::os::fd::OwnedFd;

/// The jail of the calling process after its first step. Dropping it opens nothing again.
#[derive(Debug)]
pub struct AgentsJail {
    seen: Seen,
    demand_required: bool,
}

impl AgentsJail {
    /// First step, before anything is heard but the launcher's frame: no capabilities, the filter that ends the process,
    /// and a filter that leaves reading. Landlock cannot be on yet: it would refuse which directory a process of the same
    /// user works in. With one thread, or the second step would miss others.
    ///
    /// # Errors
    /// [`Short`] when `demand_required` and a filter cannot be put on.
    pub fn begin(demand_required: bool) -> Result<Self, Short> {
        let mut seen = Seen::start(true, "what is granted");
        seen.capabilities = capabilities::drop_all().into();
        seen.kill = install(seccomp::kill, agents::LOOKING.kill);
        seen.allow = install(seccomp::allow, agents::LOOKING.allow);
        let jail = Self { seen, demand_required };
        if demand_required && jail.seen.seccomp_missing() { Err(jail.short()) } else { Ok(jail) }
    }

    /// What stands after the first step.
    #[must_use]
    pub fn so_far(&self) -> Enforced {
        self.seen.confined()
    }

    /// Second step, to read stores: these directories and files stay readable, and nothing else is left.
    ///
    /// # Errors
    /// [`Short`] when `demand_required` and Landlock or the filter is missing or does not bite.
    pub fn read(mut self, dirs: Vec<OwnedFd>, files: Vec<OwnedFd>) -> Result<Enforced, Short> {
        self.seen.keeps = "the listed stores";
        self.seen.enter(landlock::restrict_to(Open { dirs, files, ..Open::default() }));
        self.seen.try_outside();
        // where the first filter is missing, so is the second
        if self.seen.allow.on().is_some() {
            self.seen.allow = install(seccomp::allow, agents::READING.allow);
        }
        self.seen.try_bite();
        if self.demand_required && (self.seen.files_missing() || self.seen.seccomp_missing()) {
            return Err(self.short());
        }
        Ok(self.seen.confined())
    }

    fn short(self) -> Short {
        Short { enforced: self.seen.confined() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{ensure, passes};
    use nix::errno::Errno;
    use nix::fcntl::{OFlag, open};
    use nix::sys::stat::Mode;
    use std::fs;
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    fn begun() -> Result<AgentsJail, String> {
        crate::early::early(Some(256 << 20), crate::early::FEW_DESCRIPTORS, c"trial")
            .map_err(|error| error.to_string())?;
        AgentsJail::begin(true).map_err(|short| format!("{:?}", short.enforced))
    }

    fn handle(path: &Path) -> Result<OwnedFd, String> {
        open(path, OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC, Mode::empty()).map_err(|e| e.to_string())
    }

    fn opens(path: &Path, flags: OFlag) -> Result<(), Errno> {
        open(path, flags | OFlag::O_CLOEXEC, Mode::empty()).map(drop)
    }

    #[test]
    fn processes_can_be_looked_at_until_stores_are_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let (store, other) = (dir.path().join("store"), dir.path().join("other"));
        for dir in [&store, &other] {
            fs::create_dir(dir).expect("a directory");
            fs::write(dir.join("session"), "{}").expect("a file");
        }
        passes(|| {
            let parent = nix::unistd::getppid();
            let jail = begun()?;
            let cwd = format!("/proc/{parent}/cwd");
            let before = fs::read_link(&cwd).map_err(|e| e.kind());
            ensure(fs::read(format!("/proc/{parent}/stat")).is_ok(), "stat of the parent")?;
            ensure(
                opens(&store.join("session"), OFlag::O_WRONLY) == Err(Errno::ENOSYS),
                "a write before the second step",
            )?;
            let enforced = jail.read(vec![handle(&store)?], vec![]).map_err(|short| format!("{:?}", short.enforced))?;
            ensure(enforced.missing().count() == 0, format!("{enforced:?}"))?;
            let session = fs::File::open(store.join("session")).map_err(|error| error.to_string())?;
            ensure(session.read_at(&mut [0; 2], 0).is_ok_and(|got| got == 2), "the store")?;
            ensure(opens(&other.join("session"), OFlag::O_RDONLY) == Err(Errno::EACCES), "another directory")?;
            for name in ["environ", "stat", "mem", "maps"] {
                let path = format!("/proc/{parent}/{name}");
                ensure(opens(Path::new(&path), OFlag::O_RDONLY) == Err(Errno::EACCES), path)?;
            }
            ensure(fs::read_link(&cwd).is_err(), format!("the directory of the parent, {before:?} before"))?;
            for flags in [OFlag::O_WRONLY, OFlag::O_RDWR, OFlag::O_CREAT, OFlag::O_PATH] {
                ensure(opens(&store.join("session"), flags) == Err(Errno::ENOSYS), format!("{flags:?}"))?;
            }
            ensure(nix::unistd::unlink(&store.join("session")).is_err(), "unlink")?;
            ensure(std::thread::Builder::new().spawn(|| ()).is_err(), "a thread")
        });
    }
}
