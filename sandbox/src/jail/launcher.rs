//! The launcher's own lock-down: what can be taken from a process that starts others.
//! Trust: no input; the kernel's answers are read.

use super::seen::{Seen, Step};
use crate::early;
use crate::enforced::Enforced;
use crate::layers::{capabilities, rlimits, seccomp};
use crate::policy::{Live, launcher};

/// Not dumpable, no new privileges, no capabilities, and the filter that ends it at calls that neither it nor a child's
/// set-up makes. With `empty_roots`, capabilities stay where it has them: its children build their roots with them, and
/// drop them then. Never fails: the rows say what is missing.
#[must_use]
pub fn launcher(empty_roots: bool) -> Enforced {
    // a title is for people only; the rest is read back below
    let _ = early::entitle(c"bulkhead-launch");
    let _ = early::set(libc::PR_SET_DUMPABLE, 0);
    let _ = early::set(libc::PR_SET_NO_NEW_PRIVS, 1);
    // it writes checkpoints, and must not end with one that the operator's limit cuts
    let _ = crate::signals::oversized_writes_fail();
    let mut seen = Seen::start(true, "everything");
    seen.capabilities = match empty_roots {
        true => Step::NotReached("kept for the empty roots of its children"),
        false => capabilities::drop_all().into(),
    };
    seen.kill =
        seccomp::install_policy(seccomp::kill, launcher::POLICY.kill.unwrap_or_default(), &Live::worker()).into();
    seen.allow = Step::NotReached("no allow-list, since its children would inherit it");
    seen.standing = rlimits::standing();
    seen.launching()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{ended, ensure, passes};
    use nix::sys::signal::Signal;
    use nix::sys::wait::WaitStatus;

    #[test]
    fn a_worker_can_still_be_started_and_jailed_under_it() {
        passes(|| {
            let enforced = launcher(true);
            ensure(enforced.missing().count() == 0, format!("{enforced:?}"))?;
            let started = std::process::Command::new("/bin/true").status();
            ensure(started.is_ok_and(|status| status.success()), "exec")?;
            let plan = crate::jail::read::ReadPlan { ceilings: &[], empty_root: true, demand_required: true };
            let closed = crate::jail::read::ReadJail::begin(&plan).and_then(|jail| jail.narrow(&[], &[])?.close());
            ensure(closed.is_ok(), format!("{closed:?}"))
        });
    }

    #[test]
    fn looking_into_another_process_ends_it() {
        let (status, said) = ended(|| {
            let _ = launcher(false);
            // SAFETY: asks to be traced; never returns.
            unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
            ensure(false, "came back")
        });
        assert!(matches!(status, WaitStatus::Signaled(_, Signal::SIGSYS, _)), "{status:?}: {said}");
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn numbers_of_the_x32_interface_end_it() {
        let (status, said) = ended(|| {
            let _ = launcher(false);
            // SAFETY: getpid by its x32 number.
            unsafe { libc::syscall(libc::SYS_getpid | 0x4000_0000) };
            ensure(false, "came back")
        });
        assert!(matches!(status, WaitStatus::Signaled(_, Signal::SIGSYS, _)), "{status:?}: {said}");
    }
}
