//! What was seen while a jail was built, and the report made from it.
//! Trust: filled in by the jails from the kernel's answers; a step that was not reached says so.

use super::write::{Executed, Network};
use super::{no_socket, out_of_reach};
use crate::enforced::{Enforced, Layer, NONE, Row};
use crate::layers::capabilities::Left;
use crate::layers::landlock::{Domain, since};
use crate::layers::namespaces::Fresh;
use crate::layers::rlimits::Standing;
use crate::layers::{Missing, rlimits};
use std::path::Path;

/// A path that is on every Linux system, and that no jail grants.
const OUTSIDE: &str = "/proc/self/status";

/// How far one layer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step<T> {
    /// The jail ended or was looked at before its turn; says why.
    NotReached(&'static str),
    /// On, and confirmed.
    On(T),
    /// Asked for and not had.
    Failed(Missing),
}

impl<T> Step<T> {
    pub(super) fn on(&self) -> Option<&T> {
        match self {
            Step::On(layer) => Some(layer),
            _ => None,
        }
    }

    fn why_not(&self) -> String {
        match self {
            Step::NotReached(why) => (*why).into(),
            Step::On(_) => String::new(),
            Step::Failed(missing) => missing.to_string(),
        }
    }
}

impl<T> From<Result<T, Missing>> for Step<T> {
    fn from(result: Result<T, Missing>) -> Step<T> {
        match result {
            Ok(layer) => Step::On(layer),
            Err(missing) => Step::Failed(missing),
        }
    }
}

/// Everything about one process.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// Threads before the first layer, where they could be counted.
    pub threads: Option<usize>,
    /// The latest Landlock domain.
    pub landlock: Step<Domain>,
    /// What the tries to open outside paths answered.
    pub tries: Vec<String>,
    /// Namespaces of our own.
    pub fresh: Step<Fresh>,
    /// The empty root.
    pub root: Step<()>,
    /// What is left of capabilities.
    pub capabilities: Step<Left>,
    /// The filter that ends the process, with the number of its calls.
    pub kill: Step<usize>,
    /// The filter that answers ENOSYS, with the number of its calls.
    pub allow: Step<usize>,
    /// The filter that answers EACCES, of a process without an allow-list, with the number of its calls.
    pub refuse: Step<usize>,
    /// What a call that the filter refuses answered.
    pub bite: String,
    /// Flags and limits, read before the filter forbids to ask.
    pub standing: Standing,
    /// Whether the process's policy admits calls that take a path.
    pub takes_paths: bool,
    /// Which part of the file system the process keeps.
    pub keeps: &'static str,
}

impl Seen {
    pub(super) fn start(takes_paths: bool, keeps: &'static str) -> Seen {
        Seen {
            threads: crate::layers::threads(),
            landlock: Step::NotReached("landlock: not reached"),
            tries: Vec::new(),
            fresh: Step::NotReached("namespaces: not asked for"),
            root: Step::NotReached("empty root: not asked for"),
            capabilities: Step::NotReached("capabilities: not reached"),
            kill: Step::NotReached("seccomp: not reached"),
            allow: Step::NotReached("seccomp: allow-list not reached"),
            refuse: Step::NotReached("seccomp: no list of refusals"),
            bite: String::new(),
            standing: rlimits::standing(),
            takes_paths,
            keeps,
        }
    }

    /// Takes note of a domain. One that leaves threads out does not hold: any of them could do the reaching.
    pub(super) fn enter(&mut self, domain: Result<Domain, Missing>) {
        self.landlock = match (domain, self.threads) {
            (Ok(domain), Some(threads)) if threads > 1 && !domain.all_threads => Step::Failed(Missing(format!(
                "landlock: covers one of the {threads} threads that were there before it"
            ))),
            (domain, _) => domain.into(),
        };
    }

    /// Under an outer filter that answers for Landlock, entering a domain succeeds and confines nothing: so try. Before a
    /// filter refuses the tries for Landlock.
    pub(super) fn try_outside(&mut self) {
        if self.landlock.on().is_none() {
            return;
        }
        for (path, what) in [(OUTSIDE, "outside file"), ("/", "root directory")] {
            match out_of_reach(Path::new(path)) {
                Ok(answer) => self.tries.push(format!("{what} answers {answer}")),
                Err(text) => {
                    let missing = Missing(format!("on by the kernel's word, but the {what} {text}"));
                    self.landlock = Step::Failed(missing);
                    return;
                }
            }
        }
    }

    /// Whether the allow-list, if it is on, bites.
    pub(super) fn try_bite(&mut self) {
        if self.allow.on().is_some() {
            match no_socket() {
                Ok(bite) => self.bite = bite,
                Err(text) => self.allow = Step::Failed(Missing(format!("seccomp: filter is on, but {text}"))),
            }
        }
    }

    /// The Landlock layer's name, where it holds and its ABI is at least this.
    pub(super) fn landlock(&self, since: u32) -> Option<String> {
        self.landlock.on().filter(|domain| domain.abi >= since).map(Domain::layer)
    }

    /// The layers that hold the network namespace.
    fn network(&self) -> Option<String> {
        self.fresh.on().filter(|fresh| fresh.network).map(|_| "network-namespace".into())
    }

    fn allow_list(&self) -> Option<String> {
        self.allow.on().map(|_| "seccomp".into())
    }

    fn kill_list(&self) -> Option<String> {
        self.kill.on().map(|_| "seccomp(kill)".into())
    }

    /// Whether a filter that was asked for is missing.
    pub(super) fn seccomp_missing(&self) -> bool {
        matches!(self.kill, Step::Failed(_))
            || matches!(self.allow, Step::Failed(_))
            || matches!(self.refuse, Step::Failed(_))
    }

    /// Whether nothing holds files.
    pub(super) fn files_missing(&self) -> bool {
        let filtered = !self.takes_paths && self.allow.on().is_some();
        self.landlock.on().is_none() && self.root.on().is_none() && !filtered
    }

    fn seccomp_evidence(&self) -> String {
        match (&self.kill, &self.allow) {
            (Step::On(fatal), Step::On(admitted)) => {
                format!("{admitted} calls admitted, {fatal} end the process; {}", self.bite)
            }
            (Step::NotReached(_), Step::On(admitted)) => format!("{admitted} calls admitted; {}", self.bite),
            (Step::On(fatal), allow) => format!("{fatal} calls end the process; {}", allow.why_not()),
            (Step::NotReached(_), allow @ Step::Failed(_)) => allow.why_not(),
            (kill, _) => kill.why_not(),
        }
    }

    fn landlock_evidence(&self) -> String {
        let Some(domain) = self.landlock.on() else { return self.landlock.why_not() };
        let mut parts = vec![format!("keeps {}", self.keeps)];
        parts.extend(self.tries.iter().cloned());
        if let Some(promised) = domain.lowered_from {
            parts.push(format!("the kernel refused the rights of its abi {promised}"));
        }
        if domain.skipped > 0 {
            parts.push(format!("{} paths got no rule", domain.skipped));
        }
        parts.push(match self.threads {
            Some(1) => "one thread".into(),
            Some(threads) => format!("{threads} threads, all covered"),
            None => "threads could not be counted".into(),
        });
        parts.join("; ")
    }

    /// The mechanisms of a process with an allow-list, in the order in which they go on.
    pub(super) fn layers(&self) -> Vec<Layer> {
        let landlock = match self.landlock.on() {
            Some(domain) => format!("abi {}", domain.abi),
            None => self.landlock.why_not(),
        };
        let seccomp = match self.allow.on() {
            Some(admitted) => format!("{admitted} calls admitted"),
            None => self.allow.why_not(),
        };
        vec![
            Layer { name: "landlock", on: self.landlock.on().is_some(), detail: landlock },
            Layer { name: "seccomp", on: self.allow.on().is_some(), detail: seccomp },
        ]
    }

    /// The report of a process that is confined.
    pub(super) fn confined(&self) -> Enforced {
        let root = || self.root.on().map(|()| "empty-root".to_owned());
        let (files, filter) = (self.files_missing(), self.seccomp_missing());
        let seccomp = self.seccomp_evidence();
        let files_evidence = match (self.landlock.on(), self.root.on()) {
            (Some(_), _) => self.landlock_evidence(),
            (None, Some(())) => {
                let tries = self.tries.join("; ");
                format!("the ceilings, not narrowed to one repository; {tries}; {}", self.landlock_evidence())
            }
            (None, None) => format!("{}; {}", self.landlock_evidence(), self.root.why_not()),
        };
        let metadata = match (&self.root, self.fresh.on()) {
            (Step::On(()), Some(fresh)) if fresh.user => {
                "outside paths do not exist; foreign owners read as the overflow id".into()
            }
            (Step::On(()), _) => "outside paths do not exist".into(),
            (step, _) if self.takes_paths => format!("stat and readlink answer for any path; {}", step.why_not()),
            _ => seccomp.clone(),
        };
        // where no call with a path is admitted, the filter alone keeps files away
        let no_paths = || if self.takes_paths { None } else { self.allow_list() };
        let standing = self.standing;
        vec![
            row("files-outside-roots", &[self.landlock(1), root(), no_paths()], files, files_evidence),
            row("writes", &[self.landlock(1), root(), self.allow_list()], filter, seccomp.clone()),
            row("metadata-outside-roots", &[root(), no_paths()], false, metadata),
            row("exec", &[self.kill_list().or(self.allow_list()), self.landlock(1), root()], filter, seccomp.clone()),
            row(
                "network-tcp",
                &[self.allow_list(), self.landlock(since::TCP), self.network()],
                filter,
                seccomp.clone(),
            ),
            row(
                "network-udp",
                &[self.allow_list(), self.landlock(since::UDP), self.network()],
                filter,
                seccomp.clone(),
            ),
            row("network-unix", &[self.allow_list(), self.landlock(since::UNIX_PATHS)], filter, seccomp.clone()),
            row("network-other", &[self.allow_list(), self.network()], filter, seccomp.clone()),
            row(
                "signals",
                &[
                    self.allow_list(),
                    self.landlock(since::SCOPES).map(|layer| layer.replace("landlock", "landlock-scope")),
                ],
                filter,
                seccomp.clone(),
            ),
            row(
                "ptrace-and-proc",
                &[
                    self.kill_list().or(self.allow_list()),
                    self.landlock(1),
                    (!standing.dumpable).then(|| "not-dumpable".into()),
                ],
                filter,
                format!("dumpable {}; {seccomp}", u8::from(standing.dumpable)),
            ),
            row("kernel-surface", &[self.allow_list().or(self.kill_list())], filter, seccomp),
        ]
        .into_iter()
        .chain(self.everywhere())
        .collect::<Vec<_>>()
        .into()
    }

    /// The report of the launcher, which must reach files and programs.
    pub(super) fn launching(&self) -> Enforced {
        let seccomp = self.seccomp_evidence();
        let filter = self.seccomp_missing();
        vec![
            row("files-outside-roots", &[], false, "starts workers, which need files of the system".into()),
            row("exec", &[], false, "its duty; the programs are a fixed table".into()),
            row(
                "ptrace-and-proc",
                &[self.kill_list(), (!self.standing.dumpable).then(|| "not-dumpable".into())],
                filter,
                format!("dumpable {}; {seccomp}", u8::from(self.standing.dumpable)),
            ),
            row("kernel-surface", &[self.kill_list()], filter, seccomp),
        ]
        .into_iter()
        .chain(self.everywhere())
        .collect::<Vec<_>>()
        .into()
    }

    /// The report of a process that runs Git in one repository; `ports` are the ones that it may connect to, where it has a
    /// network.
    pub(super) fn writing(&self, executed: Executed, network: Network, ports: &str) -> Enforced {
        let filter = self.seccomp_missing();
        let refused = || self.refuse.on().map(|_| "seccomp".to_owned());
        let killed = || self.kill.on().map(|_| "seccomp(kill)".to_owned());
        let files = self.files_missing();
        let landlock = self.landlock_evidence();
        // what would be true under Landlock is not said where it is missing: then the cause stands in its place
        let under_landlock = |what: String| if self.landlock.on().is_some() { what } else { landlock.clone() };
        let seccomp = match (&self.kill, &self.refuse) {
            (Step::On(fatal), Step::On(refused)) => {
                format!("{refused} calls refused, {fatal} end the process; {}", self.bite)
            }
            (Step::On(_), refuse) => refuse.why_not(),
            (kill, _) => kill.why_not(),
        };
        let scope = self.landlock(since::SCOPES).map(|layer| layer.replace("landlock", "landlock-scope"));
        let tcp = match network {
            Network::None => row("network-tcp", &[refused(), self.landlock(since::TCP)], filter, seccomp.clone()),
            _ => row(
                "network-tcp",
                &[self.landlock(since::TCP)],
                false,
                self.landlock(since::TCP)
                    .map_or_else(|| format!("any host on any port: {landlock}"), |_| format!("any host on {ports}")),
            ),
        };
        let unix = match network {
            Network::TcpAndUnix => row(
                "network-unix",
                &[self.landlock(since::UNIX_PATHS)],
                false,
                "streams by path, for the ssh agent; without Landlock's word to any that the user may reach".into(),
            ),
            _ => row("network-unix", &[refused(), self.landlock(since::UNIX_PATHS)], filter, seccomp.clone()),
        };
        vec![
            row("files-outside-roots", &[self.landlock(1)], files, landlock.clone()),
            row("writes", &[self.landlock(1)], files, under_landlock(format!("outside of what it {landlock}"))),
            row(
                "metadata-outside-roots",
                &[],
                false,
                "stat and readlink answer for any path; modes and times of the user's files can be changed".into(),
            ),
            row(
                "exec",
                &[self.landlock(1)],
                files,
                under_landlock(match executed {
                    Executed { files, directories: 0 } => {
                        format!("{files} files may be executed, none beneath the repository")
                    }
                    Executed { files, directories } => format!(
                        "{files} files may be executed, and, for hooks, all beneath {directories} directories, the \
                         repository's among them"
                    ),
                }),
            ),
            tcp,
            row("network-udp", &[refused(), self.landlock(since::UDP)], filter, seccomp.clone()),
            unix,
            row("network-other", &[refused()], filter, seccomp.clone()),
            row("signals", &[scope], false, landlock),
            row(
                "ptrace-and-proc",
                &[killed(), self.landlock(1), (!self.standing.dumpable).then(|| "not-dumpable".into())],
                filter,
                format!("dumpable {}; {seccomp}", u8::from(self.standing.dumpable)),
            ),
            row("kernel-surface", &[killed()], filter, seccomp),
        ]
        .into_iter()
        .chain(self.everywhere())
        .collect::<Vec<_>>()
        .into()
    }

    /// The rows about the process itself.
    fn everywhere(&self) -> Vec<Row> {
        let standing = self.standing;
        let capabilities = match &self.capabilities {
            Step::On(left) => format!(
                "{} held, {} ambient, {} in the bounding set",
                left.held.count_ones(),
                left.ambient,
                left.bounding
            ),
            step => step.why_not(),
        };
        let dropped = self.capabilities.on().filter(|left| left.none_held()).map(|_| "dropped".into());
        let memory = match standing.memory {
            Some(bytes) => format!("RLIMIT_DATA {bytes}"),
            None => "RLIMIT_DATA unlimited".into(),
        };
        vec![
            row("capabilities", &[dropped], false, capabilities),
            row(
                "new-privileges",
                &[standing.no_new_privs.then(|| "no-new-privs".into())],
                false,
                format!("NoNewPrivs {}", u8::from(standing.no_new_privs)),
            ),
            row(
                "core-dumps",
                &[(!standing.core).then(|| "rlimit".into()), (!standing.dumpable).then(|| "not-dumpable".into())],
                false,
                format!(
                    "dumpable {}, RLIMIT_CORE {}",
                    u8::from(standing.dumpable),
                    if standing.core { "set" } else { "0" }
                ),
            ),
            row("memory-limit", &[standing.memory.map(|_| "rlimit".into())], false, memory),
        ]
    }
}

/// Joins what holds; `falls_short` where `--isolation required` cannot be met because of it.
fn row(capability: &'static str, layers: &[Option<String>], falls_short: bool, evidence: String) -> Row {
    let layers: Vec<&str> = layers.iter().flatten().map(String::as_str).collect();
    let enforcer = if layers.is_empty() { NONE.to_owned() } else { layers.join("+") };
    Row { capability, enforcer, sufficient: !falls_short, evidence }
}

impl From<Vec<Row>> for Enforced {
    fn from(rows: Vec<Row>) -> Enforced {
        Enforced { rows }
    }
}
