//! Supervisor ⇄ worker-read. The first frame to the worker is the launcher's `Init`; all later ones are the supervisor's.
//! Trust: both sides treat the other as taken over; a message that is not legal in its phase ends the worker.

use super::{FileId, asks};
use crate::Error;
use bincode::{Decode, Encode};
use bulkhead_contract::{
    failure::ReadFailure,
    isolation::{Demand, Report},
    results::{
        Annotated, BranchStack, Brief, Changes, CommitDetails, Conflict, ConflictRegions, DigestEvents, Facts, History,
        MergeBase, PathList, Points, Preflight, RadarEntry, Records, Reflog, Refs, Remotes, RestorePoints, Scope,
        SemanticSources, ShownFile, Status, Submodules, TextDiff, Timeline, TimelineEvent, Traces, Worktrees,
    },
};

/// What a worker-read hears.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum ToRead {
    /// First frame, once: what the operator allows, written by the launcher.
    Init(Box<Init>),
    /// One question. At most one is open at a time.
    Call(Box<Call>),
    /// Stop working on that question; nothing happens if it is not the open one.
    Cancel {
        /// Id of the call.
        id: u64,
    },
}

/// What the operator allows, and the one path that this worker is for.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Init {
    /// What `--isolation` demands.
    pub demand: Demand,
    /// Put the worker on an empty root that shows the ceilings alone (`--empty-root`).
    pub empty_root: bool,
    /// Absolute, canonical directories; everything that is read lies beneath one of them.
    pub ceilings: Vec<Vec<u8>>,
    /// Absolute, canonical run directories of the operator. A worker whose path is one of them, byte by byte, is for it:
    /// it reads nothing but the registry and the restore records there, and answers [`Ask::Records`] alone.
    pub run_dirs: Vec<Vec<u8>>,
    /// The caller's path, absolute, otherwise unchecked; `None` starts a worker that only reports its jail.
    pub path: Option<Vec<u8>>,
    /// Whose repositories are read.
    pub trust: OwnerTrust,
    /// `HOME` of the operator, for their Git configuration.
    pub home: Option<Vec<u8>>,
    /// `XDG_CONFIG_HOME` of the operator.
    pub xdg_config_home: Option<Vec<u8>>,
    /// Private writable memory in bytes (`RLIMIT_DATA`).
    pub memory: u64,
    /// Threads that one call may use.
    pub threads: u32,
}

/// Whose repositories are read besides the operator's own and those that `safe.directory` lists.
#[derive(Debug, Clone, PartialEq, Eq, Default, Encode, Decode)]
pub struct OwnerTrust {
    /// `--trust-owner any`.
    pub any: bool,
    /// `--trust-owner UID`, and the id in `SUDO_UID` when the operator is root.
    pub uids: Vec<u32>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Call {
    /// Chosen by the supervisor, never reused for one worker.
    pub id: u64,
    /// Milliseconds until the supervisor's watchdog acts; at 80 % the worker should answer partially.
    pub budget_ms: u32,
    /// Which repository the supervisor believes this worker to serve.
    pub place: Option<Place>,
    /// What is asked.
    pub ask: Ask,
}

/// The caller's path and what it led to when it was resolved. The worker resolves it again for every call; anything
/// else than `asked` there is answered [`FromRead::Moved`].
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Place {
    /// As the caller wrote it.
    pub path: Vec<u8>,
    /// The directory that it named.
    pub asked: FileId,
}

/// The questions that a worker-read answers.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Ask {
    /// Try, from inside, what the jail should refuse.
    SelfProbe,
    /// `repo.brief`.
    Brief {
        /// 1 to 20.
        recent_commits: u32,
    },
    /// `repo.status`.
    Status(Page),
    /// `worktree.changes`.
    Changes(Page),
    /// `repo.refs`.
    Refs(asks::Refs),
    /// `repo.reflog`.
    Reflog(asks::Reflog),
    /// `repo.branchStack`.
    BranchStack(asks::BranchStack),
    /// `repo.history`.
    History(asks::History),
    /// `repo.scope`.
    Scope(asks::Scope),
    /// `diff.text`.
    TextDiff(asks::TextDiff),
    /// `commit.details`.
    CommitDetails(asks::CommitDetails),
    /// Both texts of changed files, for `diff.semantic` and `diff.semanticFallbacks`.
    Sources(asks::Sources),
    /// `submodule.status`.
    Submodules(asks::Submodules),
    /// `worktree.list`.
    Worktrees(asks::Worktrees),
    /// `repo.conflictPreflight`.
    Preflight(asks::Preflight),
    /// `conflict.read`.
    Conflict(asks::Conflict),
    /// One repository of `fleet.radar`.
    Radar(asks::Radar),
    /// One repository of `fleet.digest`.
    Digest(asks::Digest),
    /// `safety.timeline`.
    Timeline(asks::Timeline),
    /// `safety.eventDetails`.
    TimelineEvent(asks::TimelineEvent),
    /// `flux.latestRestorePoint`, `flux.restorePoints` and `flux.restorePointDetails`.
    RestorePoints(asks::RestorePoints),
    /// Which agents left a trace in the repository; also the cheapest question that is answered with where that is.
    Traces,
    /// What a run directory holds; asked of a worker for a run directory, not for a repository.
    Records(asks::Records),
    /// What a person should know of a proposal. Empty, it asks whether the repository may be read.
    Facts(Box<asks::Facts>),
    /// `repo_annotate`.
    Annotate(asks::Annotate),
    /// `repo_show_file`.
    ShowFile(asks::ShowFile),
    /// `repo_list_files`.
    ListFiles(asks::ListFiles),
    /// `repo_merge_base`.
    MergeBase(asks::MergeBase),
    /// `repo_remotes`.
    Remotes,
    /// `repo_restore_points`.
    Points {
        /// At most.
        limit: u32,
    },
    /// `repo_conflicts`.
    Unmerged {
        /// Characters of JSON that the paths may take.
        chars: u32,
    },
    /// `repo_conflict_regions`.
    ConflictRegions(asks::ConflictRegions),
    /// The reading half of `repo_resolve_conflict`.
    Resolve(asks::Resolve),
}

/// Which rows of a long list.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Page {
    /// Rows at most.
    pub limit: u32,
    /// Characters of JSON at most; the worker cuts at a row.
    pub chars: u32,
    /// Continue after this position; from an earlier answer, but written by the caller.
    pub cursor: Option<String>,
}

/// What a worker-read says.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum FromRead {
    /// The jail falls short of `Demand::Required`; nothing of the repository was read, and the worker ends.
    Short(Report),
    /// The jail is on and the repository is open.
    Ready(Box<Ready>),
    /// The path leads to nothing that may be read; the worker ends.
    Refused {
        /// Why.
        failure: ReadFailure,
        /// What the jail was when it refused.
        report: Report,
    },
    /// The open call is still being worked on.
    Progress {
        /// Id of the call.
        id: u64,
        /// Units done: paths, commits; only grows.
        done: u64,
        /// Units in all, where known.
        total: Option<u64>,
    },
    /// A piece of the encoded [`Answer`] to the open call.
    Part {
        /// Id of the call.
        id: u64,
        /// The answer is whole with this piece, and the call is no longer open.
        last: bool,
        /// At most [`crate::chunk::CHUNK`] bytes.
        bytes: Vec<u8>,
    },
    /// The path of the call no longer leads to this worker's repository; the call is no longer open, the worker ends.
    Moved {
        /// Id of the call.
        id: u64,
    },
}

/// The jail is on.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Ready {
    /// What this process really has.
    pub report: Report,
    /// The repository, where `Init` named a path.
    pub repository: Option<Repository>,
}

/// A repository as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Repository {
    /// Canonical directory: the working tree, or the git directory of a bare repository; or the run directory. Result
    /// field `repoPath`.
    pub canonical: Vec<u8>,
    /// The directory that the caller's path named.
    pub asked: FileId,
    /// The git directory: with `worktree` the identity of the repository.
    pub git_dir: FileId,
    /// The working tree, unless bare.
    pub worktree: Option<FileId>,
}

/// The whole answer to a call; travels encoded, in pieces.
pub type Answer = Result<Reply, ReadFailure>;

/// The good answers.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub enum Reply {
    /// To [`Ask::SelfProbe`].
    SelfProbe(Report),
    /// To [`Ask::Brief`].
    Brief(Box<Brief>),
    /// To [`Ask::Status`].
    Status(Box<Status>),
    /// To [`Ask::Changes`].
    Changes(Box<Changes>),
    /// To [`Ask::Refs`].
    Refs(Box<Refs>),
    /// To [`Ask::Reflog`].
    Reflog(Box<Reflog>),
    /// To [`Ask::BranchStack`].
    BranchStack(Box<BranchStack>),
    /// To [`Ask::History`].
    History(Box<History>),
    /// To [`Ask::Scope`].
    Scope(Box<Scope>),
    /// To [`Ask::TextDiff`].
    TextDiff(Box<TextDiff>),
    /// To [`Ask::CommitDetails`].
    CommitDetails(Box<CommitDetails>),
    /// To [`Ask::Sources`].
    Sources(Box<SemanticSources>),
    /// To [`Ask::Submodules`].
    Submodules(Box<Submodules>),
    /// To [`Ask::Worktrees`].
    Worktrees(Box<Worktrees>),
    /// To [`Ask::Preflight`].
    Preflight(Box<Preflight>),
    /// To [`Ask::Conflict`].
    Conflict(Box<Conflict>),
    /// To [`Ask::Radar`].
    Radar(Box<RadarEntry>),
    /// To [`Ask::Digest`].
    Digest(Box<DigestEvents>),
    /// To [`Ask::Timeline`].
    Timeline(Box<Timeline>),
    /// To [`Ask::TimelineEvent`].
    TimelineEvent(Box<TimelineEvent>),
    /// To [`Ask::RestorePoints`].
    RestorePoints(Box<RestorePoints>),
    /// To [`Ask::Traces`].
    Traces(Traces),
    /// To [`Ask::Records`].
    Records(Box<Records>),
    /// To [`Ask::Facts`].
    Facts(Box<Facts>),
    /// To [`Ask::Annotate`].
    Annotate(Box<Annotated>),
    /// To [`Ask::ShowFile`].
    ShowFile(Box<ShownFile>),
    /// To [`Ask::ListFiles`].
    ListFiles(Box<PathList>),
    /// To [`Ask::MergeBase`].
    MergeBase(MergeBase),
    /// To [`Ask::Remotes`].
    Remotes(Remotes),
    /// To [`Ask::Points`].
    Points(Box<Points>),
    /// To [`Ask::Unmerged`].
    Unmerged(Box<PathList>),
    /// To [`Ask::ConflictRegions`].
    ConflictRegions(Box<ConflictRegions>),
    /// To [`Ask::Resolve`].
    Resolve(Box<asks::Resolution>),
}

/// Where the conversation stands, as the supervisor sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The worker was started and has not said that it is ready.
    Starting,
    /// Ready, no call open.
    Idle,
    /// That call is open.
    Serving(u64),
}

impl FromRead {
    /// Says whether a worker may say this now. Anything else is a protocol violation, for which it is killed.
    ///
    /// # Errors
    /// [`Error::Illegal`] with the names of message and phase.
    pub fn legal(&self, phase: Phase) -> Result<(), Error> {
        let (message, fine) = match self {
            FromRead::Short(_) => ("Short", phase == Phase::Starting),
            FromRead::Ready(_) => ("Ready", phase == Phase::Starting),
            FromRead::Refused { .. } => ("Refused", phase == Phase::Starting),
            FromRead::Progress { id, .. } => ("Progress", phase == Phase::Serving(*id)),
            FromRead::Part { id, .. } => ("Part", phase == Phase::Serving(*id)),
            FromRead::Moved { id } => ("Moved", phase == Phase::Serving(*id)),
        };
        if fine { Ok(()) } else { Err(Error::Illegal { message, phase: phase.name() }) }
    }
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Phase::Starting => "starting",
            Phase::Idle => "idle",
            Phase::Serving(_) => "serving",
        }
    }
}
