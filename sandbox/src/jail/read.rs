//! The jail of worker-read, in three steps that only go forward: the ceilings, one repository, no more calls.
//! Trust: ceilings are the operator's; the paths of the second step come from a repository and can only narrow the first.

pub use super::Short;
use super::seen::{Seen, Step};
use super::{no_socket, out_of_reach};
use crate::enforced::Enforced;
use crate::layers::landlock::{self, Readable};
use crate::layers::{Missing, capabilities, namespaces, rlimits, seccomp};
use crate::policy::{Live, read};
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// State of a jail that is not begun.
#[derive(Debug)]
pub struct NotYet;
/// State of a jail in which the ceilings can be read.
#[derive(Debug)]
pub struct Ceiling;
/// State of a jail in which one repository can be read.
#[derive(Debug)]
pub struct Narrow;

/// The jail of the calling process. Dropping it opens nothing again.
pub struct ReadJail<State> {
    seen: Seen,
    ceilings: Vec<PathBuf>,
    demand_required: bool,
    state: PhantomData<State>,
}

/// What the operator allows and demands.
#[derive(Debug, Clone, Copy)]
pub struct ReadPlan<'a> {
    /// Absolute, canonical directories; `/` is never one.
    pub ceilings: &'a [PathBuf],
    /// Ask for the empty root. It is also tried where Landlock is missing, since it can hold files instead.
    pub empty_root: bool,
    /// End with [`Short`] when a layer that must be there is not.
    pub demand_required: bool,
}

/// A path that is on every Linux system and in no repository.
const OUTSIDE: &str = "/proc/self/status";

impl ReadJail<NotYet> {
    /// First step, before a path of a caller is looked at: namespaces and the empty root where asked for, capabilities,
    /// Landlock down to the ceilings, and the filter that ends the process. One thread, or Landlock would miss others.
    ///
    /// # Errors
    /// [`Short`] when `demand_required` and neither Landlock nor the empty root holds files, or no filter can be put on;
    /// in any case when the process lost its user id.
    pub fn begin(plan: &ReadPlan<'_>) -> Result<ReadJail<Ceiling>, Short> {
        let mut seen = Seen::start(true, "the ceilings");
        let mut lost_identity = false;
        let alone = seen.threads.is_none_or(|threads| threads == 1);
        if alone && (plan.empty_root || landlock::version().is_err()) {
            let outcome = namespaces::enter(plan.ceilings);
            lost_identity = outcome.lost_identity;
            seen.fresh = outcome.fresh.into();
            seen.root = outcome.root.into();
        }
        seen.capabilities = capabilities::drop_all().into();
        seen.enter(landlock::restrict(Readable { dirs: plan.ceilings, files: &[] }));
        seen.kill =
            seccomp::install_policy(seccomp::kill, read::POLICY.kill.unwrap_or_default(), &Live::worker()).into();
        let mut jail: ReadJail<NotYet> = ReadJail {
            seen,
            ceilings: plan.ceilings.to_vec(),
            demand_required: plan.demand_required,
            state: PhantomData,
        };
        jail.assert_outside(None);
        if lost_identity {
            jail.seen.tries.push("the process lost its user id".into());
            jail.seen.landlock = Step::Failed(Missing("namespaces: entered without a map of ids".into()));
            return Err(jail.short());
        }
        jail.judged()
    }
}

impl ReadJail<Ceiling> {
    /// Second step, before anything of the repository is parsed: only these directories and single files stay readable.
    /// Both come from following a caller's path; the first step still holds, so they cannot lead out of the ceilings.
    /// A worker without a repository gives none.
    ///
    /// # Errors
    /// As for [`ReadJail::begin`]; also when Landlock says yes and an outside path opens all the same.
    pub fn narrow(mut self, dirs: &[PathBuf], files: &[PathBuf]) -> Result<ReadJail<Narrow>, Short> {
        // without the first domain there is nothing to narrow; the report has its reason already
        if self.seen.landlock.on().is_some() {
            self.seen.enter(landlock::restrict(Readable { dirs, files }));
            self.seen.keeps = "one repository";
            self.seen.tries.clear();
            let left = self.ceilings.iter().find(|ceiling| !dirs.iter().any(|dir| ceiling.starts_with(dir))).cloned();
            self.assert_outside(left.as_deref());
        }
        self.judged()
    }
}

impl ReadJail<Narrow> {
    /// Last step, before a byte of the repository is parsed: only the calls of the policy are left, for every thread.
    ///
    /// # Errors
    /// [`Short`] when `demand_required` and the filter is missing or does not bite.
    pub fn close(mut self) -> Result<Enforced, Short> {
        self.seen.standing = rlimits::standing();
        self.seen.allow =
            seccomp::install_policy(seccomp::allow, read::POLICY.allow.unwrap_or_default(), &Live::worker()).into();
        if self.seen.allow.on().is_some() {
            match no_socket() {
                Ok(bite) => self.seen.bite = bite,
                Err(text) => self.seen.allow = Step::Failed(Missing(format!("seccomp: filter is on, but {text}"))),
            }
        }
        self.judged::<Narrow>().map(|jail| jail.seen.confined())
    }
}

impl<State> ReadJail<State> {
    /// Under an outer filter that answers for Landlock, entering a domain succeeds and confines nothing: so try.
    fn assert_outside(&mut self, ceiling: Option<&Path>) {
        let landlock = self.seen.landlock.on().is_some();
        // an empty root shows the way to the ceilings, so only Landlock refuses `/` itself
        let outside =
            [Some((Path::new(OUTSIDE), "outside file")), landlock.then_some((Path::new("/"), "root directory"))];
        let ceiling = ceiling.filter(|_| landlock).map(|path| (path, "ceiling"));
        for (path, what) in outside.into_iter().flatten().chain(ceiling) {
            match out_of_reach(path) {
                Ok(answer) => self.seen.tries.push(format!("{what} answers {answer}")),
                Err(text) => {
                    let missing = || Missing(format!("on by the kernel's word, but the {what} {text}"));
                    if landlock {
                        self.seen.landlock = Step::Failed(missing());
                    }
                    // the root may hold all the same where Landlock alone was to refuse
                    if self.seen.root.on().is_some() && path == Path::new(OUTSIDE) {
                        self.seen.root = Step::Failed(missing());
                    }
                    return;
                }
            }
        }
    }

    /// Goes on, unless what is demanded is missing.
    fn judged<Next>(self) -> Result<ReadJail<Next>, Short> {
        if self.demand_required && (self.seen.files_missing() || self.seen.seccomp_missing()) {
            return Err(self.short());
        }
        let ReadJail { seen, ceilings, demand_required, .. } = self;
        Ok(ReadJail { seen, ceilings, demand_required, state: PhantomData })
    }

    fn short(self) -> Short {
        Short { enforced: self.seen.confined() }
    }
}

impl<State> fmt::Debug for ReadJail<State> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadJail").field("seen", &self.seen).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{ended, ensure, passes};
    use nix::errno::Errno;
    use nix::fcntl::{OFlag, open};
    use nix::sys::signal::Signal;
    use nix::sys::stat::Mode;
    use nix::sys::wait::WaitStatus;
    use std::fs;
    use std::hint::black_box;

    /// A ceiling with a repository and its neighbour.
    struct Place {
        _keep: tempfile::TempDir,
        ceiling: PathBuf,
        repository: PathBuf,
        neighbour: PathBuf,
    }

    fn place() -> Place {
        let keep = tempfile::tempdir().expect("a directory");
        let ceiling = keep.path().canonicalize().expect("it is there");
        let (repository, neighbour) = (ceiling.join("repository"), ceiling.join("neighbour"));
        for dir in [&repository, &neighbour] {
            fs::create_dir_all(dir.join(".git/refs")).expect("a directory");
            fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        }
        Place { _keep: keep, ceiling, repository, neighbour }
    }

    impl Place {
        fn plan(&self, empty_root: bool, demand_required: bool) -> ReadPlan<'_> {
            ReadPlan { ceilings: std::slice::from_ref(&self.ceiling), empty_root, demand_required }
        }

        fn closed(&self, empty_root: bool) -> Result<Enforced, String> {
            crate::early::early(Some(256 << 20), c"trial").map_err(|error| error.to_string())?;
            let text = |short: Short| format!("{:?}", short.enforced);
            let jail = ReadJail::begin(&self.plan(empty_root, true)).map_err(text)?;
            jail.narrow(std::slice::from_ref(&self.repository), &[]).map_err(text)?.close().map_err(text)
        }
    }

    fn opens(path: &Path, flags: OFlag) -> Result<(), Errno> {
        open(path, flags | OFlag::O_CLOEXEC, Mode::empty()).map(drop)
    }

    #[test]
    fn only_the_repository_can_be_read_and_nothing_written() {
        let place = place();
        passes(|| {
            place.closed(false)?;
            let head = place.repository.join(".git/HEAD");
            ensure(fs::read_to_string(&head).is_ok_and(|text| text.starts_with("ref:")), "own HEAD")?;
            ensure(fs::read_dir(place.repository.join(".git")).is_ok_and(|dir| dir.count() == 2), "own listing")?;
            for outside in
                [Path::new("/etc/passwd"), Path::new("/proc/self/status"), &place.neighbour.join(".git/HEAD")]
            {
                ensure(
                    opens(outside, OFlag::O_RDONLY) == Err(Errno::EACCES),
                    format!("read of {}", outside.display()),
                )?;
            }
            for flags in [
                OFlag::O_WRONLY,
                OFlag::O_RDWR,
                OFlag::O_RDONLY | OFlag::O_CREAT,
                OFlag::O_RDONLY | OFlag::O_TRUNC,
                OFlag::O_PATH,
                OFlag::O_RDWR | OFlag::O_TMPFILE,
            ] {
                ensure(opens(&head, flags) == Err(Errno::ENOSYS), format!("open with {flags:?}"))?;
            }
            let dir = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
            ensure(opens(&place.repository, dir) == Ok(()), "directory without following")?;
            ensure(super::no_socket().is_ok(), "socket")?;
            ensure(nix::sys::signal::kill(nix::unistd::getppid(), None) == Err(Errno::ENOSYS), "signal")
        });
    }

    #[test]
    fn memory_that_the_limit_does_not_count_is_not_to_be_had() {
        let place = place();
        passes(|| {
            place.closed(false)?;
            let map = |kind: libc::c_int| {
                let (length, both) = (1 << 16, libc::PROT_READ | libc::PROT_WRITE);
                let flags = kind | libc::MAP_ANONYMOUS;
                // SAFETY: a fresh mapping where the kernel likes; nothing is read through it.
                unsafe { libc::mmap(std::ptr::null_mut(), length, both, flags, -1, 0) != libc::MAP_FAILED }
            };
            ensure(map(libc::MAP_PRIVATE), "private memory is refused")?;
            ensure(!map(libc::MAP_SHARED), "shared memory is granted")?;
            ensure(!map(libc::MAP_SHARED_VALIDATE), "validated shared memory is granted")?;
            ensure(!map(libc::MAP_PRIVATE | libc::MAP_GROWSDOWN), "a growing stack is granted")
        });
    }

    #[test]
    fn threads_start_and_talk_after_the_last_filter() {
        let place = place();
        passes(|| {
            place.closed(false)?;
            let (tell, heard) = std::sync::mpsc::channel();
            let head = place.repository.join(".git/HEAD");
            let threads: Vec<_> = (0..4)
                .map(|number| {
                    let (tell, head) = (tell.clone(), head.clone());
                    let outside = Path::new("/etc/passwd");
                    std::thread::Builder::new().name(format!("t{number}")).stack_size(8 << 20).spawn(move || {
                        let jailed = opens(outside, OFlag::O_RDONLY) == Err(Errno::EACCES);
                        let _ = tell.send(jailed && fs::read(head).is_ok());
                    })
                })
                .collect::<Result<_, _>>()
                .map_err(|error| error.to_string())?;
            drop(tell);
            ensure(heard.iter().filter(|good| *good).count() == 4, "four threads")?;
            ensure(threads.into_iter().all(|thread| thread.join().is_ok()), "joined")?;
            let panicked = std::thread::spawn(|| std::panic::resume_unwind(Box::new(1))).join();
            ensure(panicked.is_err(), "a panic unwinds")
        });
    }

    #[test]
    fn ordinary_deaths_are_not_the_filters() {
        let place = place();
        let (aborted, _) = ended(|| {
            place.closed(false)?;
            std::process::abort()
        });
        let (overflowed, _) = ended(|| {
            fn deeper(depth: u64) -> u64 {
                let here = black_box([depth; 64]);
                if black_box(true) { deeper(depth + 1) + here[7] } else { 0 }
            }
            place.closed(false)?;
            let thread = std::thread::spawn(|| deeper(0));
            ensure(thread.join().is_ok(), "never comes here")
        });
        let (starved, _) = ended(|| {
            place.closed(false)?;
            let mut hoard: Vec<Vec<u8>> = Vec::new();
            loop {
                hoard.push(black_box(vec![1; 64 << 20]));
            }
        });
        for status in [aborted, overflowed, starved] {
            let signal = match status {
                WaitStatus::Signaled(_, signal, _) => signal,
                other => panic!("{other:?}"),
            };
            assert!([Signal::SIGABRT, Signal::SIGSEGV].contains(&signal), "{signal}");
        }
    }

    #[test]
    fn a_call_of_the_kill_list_ends_the_process() {
        let place = place();
        let (status, said) = ended(|| {
            place.closed(false)?;
            // SAFETY: asks to be traced by nobody; never returns.
            unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
            ensure(false, "came back")
        });
        assert!(matches!(status, WaitStatus::Signaled(_, Signal::SIGSYS, _)), "{status:?}: {said}");
    }

    #[test]
    fn the_first_step_keeps_the_ceiling_and_a_worker_without_repository_nothing() {
        let place = place();
        passes(|| {
            let jail = ReadJail::begin(&place.plan(false, true)).map_err(|short| format!("{short:?}"))?;
            ensure(fs::read(place.neighbour.join(".git/HEAD")).is_ok(), "beneath the ceiling")?;
            ensure(opens(Path::new("/etc/passwd"), OFlag::O_RDONLY) == Err(Errno::EACCES), "outside")?;
            let jail = jail.narrow(&[], &[]).map_err(|short| format!("{short:?}"))?;
            ensure(opens(&place.ceiling, OFlag::O_RDONLY) == Err(Errno::EACCES), "the ceiling")?;
            let enforced = jail.close().map_err(|short| format!("{short:?}"))?;
            ensure(enforced.missing().count() == 0, format!("{enforced:?}"))
        });
    }

    #[test]
    fn a_link_in_place_of_a_directory_gets_no_rule() {
        let place = place();
        let link = place.ceiling.join("link");
        std::os::unix::fs::symlink(&place.neighbour, &link).expect("a link");
        passes(|| {
            let jail = ReadJail::begin(&place.plan(false, true)).map_err(|short| format!("{short:?}"))?;
            let jail = jail.narrow(std::slice::from_ref(&link), &[]).map_err(|short| format!("{short:?}"))?;
            ensure(
                opens(&place.neighbour.join(".git/HEAD"), OFlag::O_RDONLY) == Err(Errno::EACCES),
                "behind the link",
            )?;
            let enforced = jail.close().map_err(|short| format!("{short:?}"))?;
            ensure(enforced.rows[0].evidence.contains("1 paths got no rule"), enforced.rows[0].evidence.clone())
        });
    }

    #[test]
    fn every_row_is_there_in_order_with_an_enforcer() {
        let place = place();
        passes(|| {
            let enforced = place.closed(false)?;
            let names: Vec<_> = enforced.rows.iter().map(|row| row.capability).collect();
            ensure(names == crate::enforced::CAPABILITIES, format!("{names:?}"))?;
            for row in &enforced.rows {
                let open = row.capability == "metadata-outside-roots";
                ensure(
                    (row.enforcer == crate::enforced::NONE) == open && !row.evidence.is_empty(),
                    format!("{row:?}"),
                )?;
            }
            Ok(())
        });
    }

    /// Where namespaces are forbidden the layer is missing, said, and the rest of the jail stands.
    #[test]
    fn the_empty_root_hides_what_is_outside_or_says_why_not() {
        let place = place();
        passes(|| {
            let enforced = place.closed(true)?;
            let row = &enforced.rows[2];
            let head = place.repository.join(".git/HEAD");
            ensure(fs::read(&head).is_ok(), "own HEAD")?;
            ensure(
                fs::metadata(&head)
                    .is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == nix::unistd::geteuid().as_raw()),
                "owner",
            )?;
            match row.enforcer.as_str() {
                "empty-root" => {
                    ensure(fs::metadata("/etc").is_err() && fs::metadata("/proc").is_err(), "outside is there")
                }
                other => ensure(other == "none" && row.evidence.len() > 40, format!("{row:?}")),
            }
        });
    }

    /// Some outer filters answer for the kernel: the call returns success and nothing is enforced.
    #[test]
    fn a_landlock_that_only_says_yes_is_found_out() {
        let place = place();
        passes(|| {
            use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};
            let rules = [(libc::SYS_landlock_restrict_self, vec![])].into_iter().collect();
            let host = seccomp::host().map_err(|missing| missing.to_string())?;
            let program = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(0), host)
                .and_then(BpfProgram::try_from)
                .map_err(|error| error.to_string())?;
            seccomp::install(&program).map_err(|missing| missing.to_string())?;
            let short = ReadJail::begin(&place.plan(false, true)).err().ok_or("went on")?;
            let missing: Vec<_> = short.enforced.missing().map(|row| row.capability).collect();
            ensure(missing == ["files-outside-roots"], format!("{missing:?}"))?;
            ensure(
                short.enforced.rows[0].evidence.contains("the outside file opened"),
                format!("{:?}", short.enforced.rows[0]),
            )
        });
    }

    #[test]
    fn a_thread_that_was_there_before_is_found_out() {
        let place = place();
        passes(|| {
            let _other = std::thread::spawn(std::thread::park);
            let enforced = match ReadJail::begin(&place.plan(false, true)) {
                Err(short) => short.enforced,
                // a kernel that covers all threads
                Ok(_) => return Ok(()),
            };
            let row = &enforced.rows[0];
            ensure(!row.sufficient && row.evidence.contains("one of the 2 threads"), format!("{row:?}"))
        });
    }
}
