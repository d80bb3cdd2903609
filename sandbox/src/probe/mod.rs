//! What a taken-over process would try, one thing a probe; only in tests (feature `probes`).
//! Trust: the probes are the attacker; whoever runs them gives them targets that may be broken.
//!
//! A probe that changes its own process (a new user, a looser limit) is not undone: run each in a fresh process. One
//! that runs another program leaves with that program's exit code and without an outcome; one that a filter kills
//! leaves none either. Both are for the runner to see.

mod deaths;
mod exec;
mod files;
mod kernel;
mod ledger;
mod network;
mod proc;
mod processes;
mod raw;

pub use deaths::{Death, deaths};
use nix::errno::Errno;
use std::ffi::CString;
use std::fmt;
use std::net::Ipv4Addr;
use std::os::fd::RawFd;

/// What the probes aim at. Files named here are as the runner made them; see each probe for what a success does to them.
#[derive(Debug, Clone, Default)]
pub struct Targets {
    /// Directory that the process may read: `a.txt`, `victim.txt`, `victim2.txt` and `victim3.txt` lie in it.
    pub repository: String,
    /// Directory beside it that it may not read; `secret.txt` lies in it.
    pub outside: String,
    /// A file that only another process may read.
    pub key: String,
    /// A file of which [`Targets::ledger_fd`] is an open, append-only descriptor.
    pub ledger: String,
    /// See [`Targets::ledger`].
    pub ledger_fd: RawFd,
    /// Process id of another process of the same user, with the read end of a pipe as standard input.
    pub sibling: i32,
    /// Process id of the process above.
    pub supervisor: i32,
    /// TCP port on 127.0.0.1 and `::1` that listens.
    pub gateway_port: u16,
    /// Another one.
    pub other_port: u16,
    /// An address of this machine that is no loopback address; nothing needs to listen there.
    pub second_address: Option<Ipv4Addr>,
    /// A listening stream socket by path.
    pub unix_path: String,
    /// A listening stream socket by abstract name.
    pub abstract_name: String,
}

impl Targets {
    fn in_repository(&self, name: &str) -> CString {
        text(&format!("{}/{name}", self.repository))
    }

    fn of_sibling(&self, name: &str) -> CString {
        text(&format!("/proc/{}/{name}", self.sibling))
    }
}

/// How an attempt went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The forbidden thing happened, or would have but for its deliberately bad argument.
    Did,
    /// Name of the errno; with the step before it where it was not the last one, as in `socket:ENOSYS`.
    Refused(String),
    /// The process was killed by SIGSYS; only the runner can see that.
    Killed,
    /// There is nothing to try here, and why.
    Skipped(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Did => f.write_str("DID"),
            Outcome::Refused(errno) => f.write_str(errno),
            Outcome::Killed => f.write_str("KILLED"),
            Outcome::Skipped(why) => write!(f, "SKIPPED {why}"),
        }
    }
}

impl Outcome {
    /// The outcome that [`Display`](fmt::Display) wrote.
    #[must_use]
    pub fn by_name(name: &str) -> Self {
        match (name, name.strip_prefix("SKIPPED ")) {
            ("DID", _) => Outcome::Did,
            ("KILLED", _) => Outcome::Killed,
            (_, Some(why)) => Outcome::Skipped(why.to_owned()),
            (errno, None) => Outcome::Refused(errno.to_owned()),
        }
    }
}

/// One thing to try.
pub struct Probe {
    /// Family and aim, for example `fs.read-passwd`.
    pub name: &'static str,
    attempt: fn(&Targets) -> Tried,
}

impl Probe {
    /// Tries it, in this process.
    #[must_use]
    pub fn run(&self, targets: &Targets) -> Outcome {
        match (self.attempt)(targets) {
            Ok(()) => Outcome::Did,
            Err(No::Refused { step: "", errno }) => Outcome::Refused(format!("{errno:?}")),
            Err(No::Refused { step, errno }) => Outcome::Refused(format!("{step}:{errno:?}")),
            Err(No::Nothing(why)) => Outcome::Skipped(why.to_owned()),
        }
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Every probe, by family.
pub fn all() -> impl Iterator<Item = &'static Probe> {
    [files::ALL, proc::ALL, processes::ALL, exec::ALL, network::ALL, kernel::ALL, ledger::ALL].into_iter().flatten()
}

/// Success, or what stood in the way.
type Tried = Result<(), No>;

/// What stands in the way of an attempt.
enum No {
    /// A step was refused; the last one has no name.
    Refused { step: &'static str, errno: Errno },
    /// This machine has nothing to try.
    Nothing(&'static str),
}

impl From<Errno> for No {
    fn from(errno: Errno) -> Self {
        No::Refused { step: "", errno }
    }
}

/// Names the step of a refusal that is not the last one.
trait Step<T> {
    fn step(self, step: &'static str) -> Result<T, No>;
}

impl<T> Step<T> for Result<T, Errno> {
    fn step(self, step: &'static str) -> Result<T, No> {
        self.map_err(|errno| No::Refused { step, errno })
    }
}

/// Success of an attempt whose result is of no more use; it is dropped, and closed where it is a descriptor.
fn done<T>(result: Result<T, Errno>) -> Tried {
    Ok(result.map(drop)?)
}

/// As [`done`] for an attempt with a deliberately bad argument: these errors come after the permission was given.
fn reached<T>(result: Result<T, Errno>, behind_the_check: &[Errno]) -> Tried {
    match result {
        Err(errno) if !behind_the_check.contains(&errno) => Err(errno.into()),
        _ => Ok(()),
    }
}

fn text(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_probe_got_lost_and_no_name_is_used_twice() {
        let names: BTreeSet<_> = all().map(|probe| probe.name).collect();
        assert_eq!((names.len(), all().count()), (118, 118));
    }

    #[test]
    fn an_outcome_survives_its_name() {
        let all = [Outcome::Did, Outcome::Killed, Outcome::Refused("open:EPERM".into()), Outcome::Skipped("no".into())];
        for outcome in all {
            assert_eq!(Outcome::by_name(&outcome.to_string()), outcome);
        }
    }
}
