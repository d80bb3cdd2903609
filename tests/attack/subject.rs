//! What is attacked: this product's two surfaces, or whatever server a command starts.
//! Trust: the command is the operator's.

use super::{client::At, support::layers};
use seccompiler::BpfProgram;
use std::{
    ffi::OsString,
    path::PathBuf,
    process::{Child, Command},
    time::Duration,
};

/// Seconds that a call may take, unless the command line says otherwise.
pub const DEADLINE: u64 = 10;
/// A loaded machine adds to what a call takes; what is still missing after that hangs.
const SLACK: u64 = 2;
/// Words that stand for a repository, for the directory that holds repositories, and for all that may be read.
const REPO: &str = "{repo}";
const ROOT: &str = "{root}";
const ROOTS: &str = "{roots}";

/// What an honest call on an honest repository has to come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Honest {
    /// An answer.
    Answers,
    /// An error that names this layer: the machine lacks it, and the operator demands it.
    Refuses(&'static str),
}

/// A server under attack.
#[derive(Clone)]
pub struct Subject {
    /// How lines name it.
    pub name: &'static str,
    words: Vec<OsString>,
    /// Whether it is this product, of which more is known and more is asked.
    pub ours: bool,
    /// What an honest call comes to.
    pub honest: Honest,
    /// The tool that answers it, where that had to be found out.
    pub asked: Option<String>,
    /// Longest wait for one answer.
    pub deadline: Duration,
    /// What its machine lacks.
    pub filters: Vec<BpfProgram>,
    /// A shell command that puts a limit on it before it starts.
    pub limit: Option<String>,
}

impl Subject {
    /// A server that this command starts; words are told apart by blanks, as in a shell without quotes.
    pub fn foreign(command: &str, deadline: u64) -> Self {
        let words = command.split_ascii_whitespace().map(OsString::from).collect();
        Self {
            name: "command",
            words,
            ours: false,
            honest: Honest::Answers,
            asked: None,
            deadline: Duration::from_secs(deadline * SLACK),
            filters: Vec::new(),
            limit: None,
        }
    }

    /// Both surfaces of the product at this path.
    pub fn ours(product: &std::path::Path, deadline: u64) -> [Self; 2] {
        let given = deadline.saturating_sub(2).max(1).to_string();
        let surface = |name, words: &[&str]| {
            let words = [product.as_os_str()].into_iter().chain(words.iter().map(std::ffi::OsStr::new));
            Self { name, words: words.map(OsString::from).collect(), ours: true, ..Self::foreign("", deadline) }
        };
        [
            surface("review", &["--deadline", &given, "--worker-memory", "256", ROOTS]),
            surface("direct", &["--surface", "direct", "--worker-memory", "256", "--timeout", &given, "--repo", REPO]),
        ]
    }

    /// The careless server of this suite.
    pub fn careless() -> Self {
        Self {
            name: "careless",
            words: ["/proc/self/exe", "--careless", REPO].map(OsString::from).into(),
            asked: Some("git_status".to_owned()),
            // whoever hangs in a trap need not be waited for long
            ..Self::foreign("", 1)
        }
    }

    /// The same on a machine that lacks a layer.
    pub fn lacking(mut self, layer: &Layer) -> Self {
        self.filters.clone_from(&layer.filters);
        self
    }

    /// The product on such a machine, told what to demand of it.
    pub fn without(self, layer: &Layer, isolation: &str) -> Self {
        let mut it = self.lacking(layer);
        it.words.extend(["--isolation".into(), isolation.into()]);
        it.honest = match layer.demanded {
            Some(name) if isolation == "required" => Honest::Refuses(name),
            _ => Honest::Answers,
        };
        it
    }

    /// Whether one process of it knows one repository.
    pub fn is_bound(&self) -> bool {
        self.words.iter().any(|word| word.to_string_lossy().contains(REPO))
    }

    /// The command that starts it about these paths, with an environment of its own.
    pub fn command(&self, at: &At<'_>) -> Command {
        let mut words: Vec<OsString> = Vec::new();
        for word in &self.words {
            let text = word.to_string_lossy();
            if text == ROOTS {
                words.extend(at.roots.iter().flat_map(|root| ["--root".into(), root.clone().into()]));
            } else {
                let (repo, root) = (at.repo.to_string_lossy(), at.root.to_string_lossy());
                words.push(text.replace(REPO, &repo).replace(ROOT, &root).into());
            }
        }
        let mut command = match &self.limit {
            Some(limit) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(format!("{limit} && exec \"$@\"")).arg("limited").args(&words);
                command
            }
            None => {
                let mut command = Command::new(words.first().map_or(OsString::new(), Clone::clone));
                command.args(words.iter().skip(1));
                command
            }
        };
        command.env_clear().current_dir(at.place.path());
        command.env("HOME", at.place.home()).env("USER", "test").env("LC_ALL", "C.UTF-8");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    /// Starts it on the machine that it is to see.
    pub fn spawn(&self, command: &mut Command) -> std::io::Result<Child> {
        if self.filters.is_empty() { command.spawn() } else { layers::under(&self.filters, || command.spawn()) }
    }
}

/// A layer that a machine may lack.
#[derive(Clone)]
pub struct Layer {
    /// Its name on the command line.
    pub name: &'static str,
    /// The product's name for it, where calls are refused without it.
    pub demanded: Option<&'static str>,
    filters: Vec<BpfProgram>,
}

/// Every layer that can be made to seem missing.
pub fn all_layers() -> Vec<Layer> {
    use layers::{
        CLONE3, CLOSE_RANGE, EINVAL, ENOSYS, EOPNOTSUPP, EPERM, OPENAT2, PIDFD_OPEN, PRCTL, SECCOMP, UNSHARE, without,
        without_files_layers,
    };
    let one = |name, calls: &[i64], errno| Layer { name, demanded: None, filters: vec![without(calls, errno)] };
    let files = |name, errno| Layer { name, demanded: Some("landlock"), filters: without_files_layers(errno).into() };
    vec![
        files("landlock", ENOSYS),
        files("landlock-eperm", EPERM),
        files("landlock-off", EOPNOTSUPP),
        Layer { demanded: Some("seccomp"), ..one("seccomp", &[SECCOMP, PRCTL], EINVAL) },
        one("namespaces", &[UNSHARE], EPERM),
        one("pidfd", &[PIDFD_OPEN], ENOSYS),
        one("clone3", &[CLONE3], ENOSYS),
        one("close_range", &[CLOSE_RANGE], ENOSYS),
        one("openat2", &[OPENAT2], ENOSYS),
    ]
}

/// The directory that holds the repository, for a server that takes one.
pub fn root_of(repo: &std::path::Path) -> PathBuf {
    repo.parent().unwrap_or(repo).to_owned()
}
