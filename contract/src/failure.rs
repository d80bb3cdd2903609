//! Why a call could not be answered: stable names and numbers that programs may depend on.
//! Trust: `details` is our own text with repository-relative paths; nothing from the operating system is copied into it.

use crate::path::PathEncoding;
use bincode::{Decode, Encode};
use serde::Serialize;

/// JSON-RPC and tool error numbers (contract `protocol.md` and `results.md`; 1002x are our own).
pub mod code {
    /// The text is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// JSON, but not a JSON-RPC 2.0 request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No such method in the era of the request.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters break the method's or the tool's schema.
    pub const INVALID_PARAMS: i64 = -32602;
    /// A fault of ours.
    pub const INTERNAL: i64 = -32603;
    /// The allowed roots that the operator configured cannot be used.
    pub const ROOTS_INVALID: i64 = -32010;
    /// The repository named lies outside the allowed roots.
    pub const OUTSIDE_ROOTS: i64 = -32011;
    /// The protocol version named in `_meta` is not one of ours.
    pub const UNSUPPORTED_VERSION: i64 = -32022;
    /// Nothing local can answer, and no gateway is configured.
    pub const GATEWAY_NEEDED: i64 = 10001;
    /// The gateway is not configured or does not answer.
    pub const GATEWAY_SILENT: i64 = 10003;
    /// The proposal is over, and was not carried out.
    pub const PROPOSAL_OVER: i64 = 10004;
    /// The gateway knows no such proposal.
    pub const PROPOSAL_UNKNOWN: i64 = 10005;
    /// The gateway refused a proposal or its withdrawal.
    pub const PROPOSAL_REFUSED: i64 = 10006;
    /// The gateway gave a proposal an id that cannot be used.
    pub const BAD_PREVIEW_ID: i64 = 10007;
    /// A local read failed; `data.reason` says why.
    pub const LOCAL_READ: i64 = 10010;
    /// The operator wants nobody to look for other agents.
    pub const DETECTION_OFF: i64 = 10011;
    /// A layer of isolation that `--isolation required` demands is missing.
    pub const ISOLATION_MISSING: i64 = 10020;
    /// The call's deadline passed and its worker was stopped.
    pub const DEADLINE: i64 = 10021;
    /// The worker that served the call died or broke its protocol.
    pub const WORKER_DIED: i64 = 10022;
    /// No worker can be had now: it crashed too often, or the launcher is gone.
    pub const WORKER_UNAVAILABLE: i64 = 10023;
    /// This very call killed its worker twice; it is refused for a while.
    pub const POISONED: i64 = 10024;
    /// Too many requests are open.
    pub const BUSY: i64 = 10025;
    /// The call cannot be recorded, and `--audit required` demands that every call is.
    pub const UNRECORDED: i64 = 10026;
}

/// Stable name of a failed local read; travels as `error.data.reason` of code 10010.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Neither the path nor a directory above it, up to the allowed root, is a repository.
    NotARepository,
    /// The path does not exist or cannot be resolved.
    NoSuchPath,
    /// The repository, or a part that it names, lies outside the allowed roots. Rendered as error -32011.
    OutsideRoots,
    /// `.git`, `commondir`, `core.worktree` or an alternate leads somewhere that the repository may not lead.
    Redirected,
    /// Owned by a user who is not trusted.
    UntrustedOwner,
    /// A repository format or extension that this build cannot read.
    UnsupportedFormat,
    /// A FIFO, socket or device where Git keeps a file.
    SpecialFile,
    /// Over a stated size limit.
    TooLarge,
    /// Bytes that Git's formats do not allow.
    Corrupt,
    /// An object that the repository names and does not hold (partial or damaged clone).
    ObjectMissing,
    /// The operating system refused the read.
    PermissionDenied,
    /// The question needs a working tree and this repository is bare.
    Bare,
    /// An argument is well-formed but names nothing usable, for example a cursor of another answer.
    BadArgument,
    /// A revision that names nothing here. The contract of the review surface knows no such reason, so that its answers
    /// call it what it called it before; the direct surface has a kind of failure for it.
    #[serde(rename = "bad-argument")]
    NoSuchRevision,
    /// Another read of the disk failed.
    Io,
    /// A fault of ours; the worker caught it and lives.
    Internal,
}

impl Reason {
    /// The name as it stands in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::NotARepository => "not-a-repository",
            Reason::NoSuchPath => "no-such-path",
            Reason::OutsideRoots => "outside-roots",
            Reason::Redirected => "redirected",
            Reason::UntrustedOwner => "untrusted-owner",
            Reason::UnsupportedFormat => "unsupported-format",
            Reason::SpecialFile => "special-file",
            Reason::TooLarge => "too-large",
            Reason::Corrupt => "corrupt",
            Reason::ObjectMissing => "object-missing",
            Reason::PermissionDenied => "permission-denied",
            Reason::Bare => "bare",
            Reason::BadArgument | Reason::NoSuchRevision => "bad-argument",
            Reason::Io => "io",
            Reason::Internal => "internal",
        }
    }
}

/// A local read that failed, as a worker reports it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ReadFailure {
    /// Why.
    pub reason: Reason,
    /// Name of the read that failed, for example `open` or `index`; becomes `error.data.operation`.
    pub operation: String,
    /// One or two sentences of our own: what is wrong and what to do. Paths in it are relative to the repository.
    pub details: String,
    /// The repository-relative path concerned, where there is one.
    pub path: Option<(String, Option<PathEncoding>)>,
}

impl ReadFailure {
    /// A failure without a path.
    pub fn new(reason: Reason, operation: impl Into<String>, details: impl Into<String>) -> Self {
        Self { reason, operation: operation.into(), details: details.into(), path: None }
    }

    /// The same failure, naming the repository-relative `path`.
    #[must_use]
    pub fn at(mut self, path: &[u8]) -> Self {
        self.path = Some(crate::path::text_of(path));
        self
    }
}
