//! Supervisor ⇄ worker-write: one write in the one repository that is served, by a process that lives for it alone.
//! Trust: both sides treat the other as taken over. Names and paths passed the contract's rules of syntax and are still an
//! agent's texts; what Git said comes back as data, cut and marked.
//!
//! The conversation is that of [`super::errand`]. Two kinds of worker speak it: one without any network, and one, for
//! fetch and push alone, with.

use super::errand::ToErrand;
use bincode::{Decode, Encode};
use bulkhead_contract::{
    direct::{Class, OperationState},
    isolation::Demand,
};

/// What such a worker hears.
pub type ToWrite = ToErrand<Init, Operation>;
/// Its whole answer; travels encoded, in pieces.
pub type Answer = super::errand::ErrandAnswer<Outcome>;

/// Bytes of all texts of one operation at most, content of a resolution included: what a message in pieces carries, less
/// room for what is around them.
pub const MAX_OPERATION: usize = crate::codec::MAX_ANSWER - 1_024;
/// Characters of a reason that a worker gives at most.
pub const MAX_REASON: usize = 8_000;
/// Bytes of a name or path in an answer at most.
pub const MAX_NAME: usize = 4_096;
/// Notes, unmerged paths and skipped hooks in an answer at most, of each.
pub const MAX_LIST: usize = 100;
/// Commands of one operation that are logged; the rest is counted.
pub const MAX_RAN: usize = 100;

/// What the operator allows.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Init {
    /// What `--isolation` demands.
    pub demand: Demand,
    /// Private writable memory in bytes.
    pub memory: u64,
    /// The repository, the programs and the settings; `None` where the gate is closed, and such a worker refuses all.
    pub allowed: Option<Box<Allowed>>,
}

impl Init {
    /// Of a server whose gate is closed.
    #[must_use]
    pub fn closed(demand: Demand) -> Self {
        Self { demand, memory: 0, allowed: None }
    }

    /// The same for fetch and push, which have a network and the operator's keys: no hook runs beside those.
    #[must_use]
    pub fn without_hooks(mut self) -> Self {
        if let Some(allowed) = &mut self.allowed {
            allowed.hooks = None;
        }
        self
    }

    /// The same without anything that only fetch and push need: what a worker is not told, it cannot give away.
    #[must_use]
    pub fn without_network(mut self) -> Self {
        if let Some(allowed) = &mut self.allowed {
            allowed.ssh_command = None;
            allowed.pinned.retain(|(key, _)| !is_of_network(key));
            let programs = &mut allowed.programs;
            programs.network_files.clear();
            programs.network_shared.clear();
            programs.network_ports.clear();
            programs.ssh_agent = None;
        }
        self
    }
}

/// Whether a key of the operator's configuration is for fetch and push alone.
#[must_use]
pub fn is_of_network(key: &str) -> bool {
    let section = key.split('.').next().unwrap_or_default();
    ["credential", "http", "ssh", "url"].iter().any(|known| section.eq_ignore_ascii_case(known))
        || key.eq_ignore_ascii_case("core.sshCommand")
}

/// The one repository that may be written, and with what. Every path is absolute and canonical.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Allowed {
    /// The working tree that is served.
    pub root: Vec<u8>,
    /// Its git directory.
    pub git_dir: Vec<u8>,
    /// The directory that it shares with other working trees; `git_dir` where there are none.
    pub common_dir: Vec<u8>,
    /// Beneath these, worktrees may be made and `file` remotes may lie.
    pub roots: Vec<Vec<u8>>,
    /// Beneath these, or in the repository itself, object directories may lie that it borrows from: what the operator named,
    /// as for reads, and not what lies beside the repository where nothing was named.
    pub lenders: Vec<Vec<u8>>,
    /// Where lock files of writes lie, outside of every repository; `None`: writes are not serialised across servers.
    pub locks: Option<Vec<u8>>,
    /// Git and what it needs.
    pub programs: Programs,
    /// Keys of the operator's own Git configuration, in `-c` form, that Git is given: identity, line endings and the like.
    pub pinned: Vec<(String, String)>,
    /// The operator's own `core.hooksPath`, as it is written, `~/` resolved: where hooks lie of a repository that does not say
    /// so itself.
    pub hooks_path: Option<Vec<u8>>,
    /// `--hooks run`; `None`: no hook runs.
    pub hooks: Option<Hooks>,
    /// `--filters user`.
    pub filters: bool,
    /// `--allow-unsigned`: commit although the operator's configuration wants signatures.
    pub allow_unsigned: bool,
    /// `--ssh-command`, or the operator's own `core.sshCommand`.
    pub ssh_command: Option<String>,
    /// `--trust-repo-ssh-command`: where that is `None`, the repository's own counts.
    pub trust_repo_ssh_command: bool,
    /// `--log-commands`: outcomes say which commands of Git ran.
    pub log_commands: bool,
}

/// What hooks have, where the operator would have them run: the only writes in which whole directories may be executed. Never
/// with a network.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Hooks {
    /// Directories of the system, and the operator's own one of hooks: all beneath may be read and executed.
    pub programs: Vec<Vec<u8>>,
    /// Files that are read besides: settings of libraries.
    pub shared: Vec<Vec<u8>>,
    /// `PATH`.
    pub path: Vec<u8>,
}

/// Files that may be executed or mapped, each resolved before anything was read. No directory of programs is among them,
/// because shells and interpreters would come with it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Programs {
    /// The git program.
    pub git: Vec<u8>,
    /// The first two numbers of its version.
    pub version: (u32, u32),
    /// Where its own programs lie (`git --exec-path`).
    pub exec_path: Vec<u8>,
    /// Files that may be executed: git, its built-in programs, the loader, libraries.
    pub files: Vec<Vec<u8>>,
    /// Files that fetch and push may execute besides.
    pub network_files: Vec<Vec<u8>>,
    /// Directories that are read: templates, locales.
    pub shared: Vec<Vec<u8>>,
    /// Files and directories that fetch and push read besides: names, certificates, the user's own ssh files.
    pub network_shared: Vec<Vec<u8>>,
    /// The socket of the operator's ssh agent, for fetch and push.
    pub ssh_agent: Option<Vec<u8>>,
    /// Ports that fetch and push may connect to besides those of the remotes: what the operator's ssh configuration names.
    pub network_ports: Vec<u16>,
    /// That configuration may name others: not all of it was read, or not all of them are opened.
    pub ports_left_out: bool,
    /// The operator's `TZ`, so that commits have the hour that the operator's own have.
    pub time_zone: Option<String>,
}

/// One write. Names are of branches, tags or revisions as the contract's rules let them pass; paths are relative to the
/// working tree unless they say otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Operation {
    /// `repo_commit`: exactly these paths.
    Commit {
        /// Literal paths, at least one.
        paths: Vec<String>,
        /// The message.
        message: String,
        /// Commit although nothing differs.
        allow_empty: bool,
        /// Files beneath the paths that are not tracked yet, too.
        include_untracked: bool,
    },
    /// `repo_checkout` and `repo_new_child`: a branch, or a commit to stand on without one.
    Checkout {
        /// Branch or revision.
        reference: String,
    },
    /// `repo_fetch`: the default remote of the current branch.
    Fetch,
    /// `repo_push`: a local branch, fast-forward only.
    Push {
        /// Its name.
        branch: String,
    },
    /// `repo_create_worktree`.
    CreateWorktree {
        /// Absolute, or relative to the working tree.
        path: String,
        /// The new branch.
        branch: String,
        /// Where it starts.
        base: String,
    },
    /// `repo_remove_worktree`.
    RemoveWorktree {
        /// As above.
        path: String,
        /// Although it holds changes.
        force: bool,
    },
    /// `repo_rebase`.
    Rebase {
        /// Onto this.
        onto: String,
    },
    /// `repo_abort_in_progress`.
    Abort,
    /// `repo_continue_in_progress`.
    Continue,
    /// `repo_create_branch`, at HEAD.
    CreateBranch {
        /// Its name.
        name: String,
    },
    /// `repo_delete_branch`.
    DeleteBranch {
        /// Its name.
        name: String,
        /// Although it is not merged.
        force: bool,
    },
    /// `repo_rename_branch`.
    RenameBranch {
        /// From.
        old: String,
        /// To.
        new: String,
    },
    /// `repo_tag_create`.
    CreateTag {
        /// Its name.
        name: String,
        /// Makes it an annotated one.
        message: Option<String>,
        /// What it names; HEAD where absent.
        revision: Option<String>,
    },
    /// `repo_tag_delete`.
    DeleteTag {
        /// Its name.
        name: String,
    },
    /// `repo_resolve_conflict`: an unmerged path becomes this.
    Resolve {
        /// The path.
        path: String,
        /// What it becomes, as a read worker put it together from the index's stages.
        becomes: Resolved,
        /// Object ids of stages 1 to 3 that this was made of; anything else in the index by now is refused.
        stages: [Option<String>; 3],
    },
    /// `repo_restore`: back to a restore point, after another one was made of what is there now.
    Restore {
        /// Its id.
        id: String,
    },
}

impl Operation {
    /// Whether it needs the worker with a network.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        matches!(self, Operation::Fetch | Operation::Push { .. })
    }
}

/// What a path becomes.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Resolved {
    /// One of its stages (1 base, 2 ours, 3 theirs), unchanged, with its mode.
    Stage(u8),
    /// This text, with the mode of that stage.
    Content {
        /// All of it.
        bytes: Vec<u8>,
        /// 2 or 3.
        mode_of: u8,
        /// Conflicts in it that were decided.
        conflicts: u32,
    },
    /// It is deleted.
    Deleted,
}

/// The end of an operation that the worker saw to its end.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Outcome {
    /// It is done.
    Done(Box<Done>),
    /// It is not.
    Failed(Box<Failed>),
}

impl Outcome {
    /// Whether it keeps to the bounds of this edge.
    #[must_use]
    pub fn is_bounded(&self) -> bool {
        let short = |text: &String| text.chars().count() <= MAX_REASON;
        let name = |text: &String| text.len() <= MAX_NAME;
        match self {
            Outcome::Done(done) => {
                let hooks_run = done.hooks_run.as_deref().unwrap_or_default();
                [&done.hooks_skipped[..], hooks_run]
                    .iter()
                    .all(|hooks| hooks.len() <= MAX_LIST && hooks.iter().all(name))
                    && done.notes.len() <= MAX_LIST
                    && done.notes.iter().all(short)
                    && done.restore_point.iter().chain(&done.id).all(name)
                    && done.ran.len() <= MAX_RAN
                    && done.ran.iter().all(short)
            }
            Outcome::Failed(failed) => {
                short(&failed.reason)
                    && short(&failed.next)
                    && failed.unmerged.len() <= MAX_LIST
                    && failed.unmerged.iter().all(name)
                    && failed.restore_point.iter().all(name)
                    && failed.ran.len() <= MAX_RAN
                    && failed.ran.iter().all(short)
            }
        }
    }
}

/// What was done. Fields that an operation does not have are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct Done {
    /// The restore point that was made before.
    pub restore_point: Option<String>,
    /// What the repository is in the middle of now.
    pub state: Option<OperationState>,
    /// Full id that HEAD, or what was made, has now.
    pub id: Option<String>,
    /// Conflicts that a resolution decided.
    pub conflicts_resolved: u32,
    /// The commit or the tag is signed; `None` where nothing was made that could be.
    pub signed: Option<bool>,
    /// Hooks that Git would have run and that did not run, by name.
    pub hooks_skipped: Vec<String>,
    /// Hooks that Git ran, by name; `None` where the operator does not have them run.
    pub hooks_run: Option<Vec<String>>,
    /// Sentences of ours that the caller should know.
    pub notes: Vec<String>,
    /// Commands of Git that ran, where they are logged; at most [`MAX_RAN`], each of [`MAX_REASON`] characters at most.
    pub ran: Vec<String>,
}

/// Why it is not done, and how the repository stands.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Failed {
    /// The kind.
    pub class: Class,
    /// All of the reason: our sentence, and what Git said, at most [`MAX_REASON`] characters.
    pub reason: String,
    /// What to do next, in one sentence.
    pub next: String,
    /// What the repository is in the middle of now, where that was looked at.
    pub state: Option<OperationState>,
    /// The restore point that was made before.
    pub restore_point: Option<String>,
    /// Paths that are unmerged now, at most 100.
    pub unmerged: Vec<String>,
    /// As in [`Done`].
    pub ran: Vec<String>,
}
