//! Every bound of the product in one place, each with its unit and the rule that sets it.
//! Trust: constants only; code that meets hostile input reads its bound here.

/// Longest accepted JSON-RPC frame on input, in bytes, line ending excluded (contract `protocol.md`, *Framing*).
pub const MAX_REQUEST_BYTES: usize = 8 * 1024 * 1024;
/// Longest JSON-RPC line on output, in bytes, line ending included.
pub const MAX_RESPONSE_BYTES: usize = 8 * 1024 * 1024;
/// Longest header block of a `Content-Length` framed message, in bytes.
pub const MAX_HEADER_BYTES: usize = 8192;
/// Deepest accepted JSON nesting; one level more is a parse error.
pub const MAX_JSON_DEPTH: usize = 127;
/// Longest string id of a request, in bytes.
pub const MAX_ID_BYTES: usize = 1024;
/// Longest `repoPath`, in Unicode scalar values as the schema counts, and in bytes on the way to a worker.
pub const MAX_PATH_BYTES: usize = 32 * 1024;
/// Characters of a default answer's JSON text; row caps are ceilings, this budget cuts first.
pub const DEFAULT_ANSWER_CHARS: usize = 40_000;
/// Status rows of one page when the caller names no limit.
pub const DEFAULT_STATUS_ROWS: u32 = 1_000;
/// Status rows of one page at most.
pub const MAX_STATUS_ROWS: u32 = 10_000;
/// Rows of `repo.brief`'s submodule attention list.
pub const BRIEF_ATTENTION_ROWS: usize = 10;
/// Hints of `repo.brief`.
pub const BRIEF_HINTS: usize = 3;
/// Recent commits of `repo.brief`: default and most.
pub const BRIEF_COMMITS: (u32, u32) = (10, 20);
/// Commits of one page of `repo.history`: default and most.
pub const HISTORY_COMMITS: (u32, u32) = (50, 200);
/// Recent commits of `repo.scope`: default and most.
pub const SCOPE_COMMITS: (u32, u32) = (10, 20);
/// Changed paths that `repo.scope` lists.
pub const SCOPE_ENTRIES: usize = 20;
/// Hints of `repo.scope`.
pub const SCOPE_HINTS: usize = 3;
/// Subjects looked at for `conventionalCommitRatio`.
pub const BRIEF_CONVENTION_WINDOW: usize = 50;
/// Characters of one commit subject; the rest is cut and marked with an ellipsis.
pub const MAX_SUBJECT_CHARS: usize = 500;
/// Submodules looked at in one repository, nested ones included.
pub const MAX_SUBMODULES: usize = 1_000;
/// Working trees of one repository that one answer lists.
pub const MAX_WORKTREES: usize = 1_000;
/// Deepest nesting of submodules that is followed.
pub const MAX_SUBMODULE_DEPTH: usize = 16;
/// Seconds one call may take unless `--deadline` says otherwise.
pub const DEFAULT_DEADLINE_SECS: u64 = 30;
/// Private writable memory of one worker in bytes unless `--worker-memory` says otherwise.
pub const DEFAULT_WORKER_MEMORY: u64 = 1 << 30;
/// Live read workers at most; the least recently used idle one is stopped first.
pub const MAX_READ_WORKERS: usize = 8;
/// Requests accepted and not yet answered; one more is answered *busy* at once.
pub const MAX_OPEN_REQUESTS: usize = 256;
/// Characters of an answer's JSON text when the caller raises a row limit above its default.
pub const MAX_ANSWER_CHARS: usize = 80_000;
/// Longest `cursor` of a page, in Unicode scalar values.
pub const MAX_CURSOR_CHARS: usize = 9_000;
/// Longest `repoId`, in Unicode scalar values.
pub const MAX_REPO_ID_CHARS: usize = 4_096;
/// Messages of one JSON-RPC batch (era 2025-03-26 only).
pub const MAX_BATCH: usize = 100;
/// Violations of one call's arguments that are spelled out; the rest is counted.
pub const MAX_VIOLATIONS: usize = 100;
/// Characters of `instructions`.
pub const MAX_INSTRUCTIONS_CHARS: usize = 1_500;
/// JSON values, keys aside, in one message; a value costs some 32 bytes of memory and may cost two bytes of text.
pub const MAX_JSON_VALUES: usize = 262_144;
/// Repositories that one fleet call may name.
pub const MAX_FLEET: usize = 500;
/// Repositories of `fleet.radar` when the caller names no limit.
pub const DEFAULT_FLEET: u32 = 200;
/// Events of `fleet.digest`: default and most.
pub const DIGEST_EVENTS: (u32, u32) = (200, 1_000);
/// Events of one repository in `fleet.digest`.
pub const DIGEST_REPOSITORY_EVENTS: usize = 200;
/// Bytes at the end of one reflog in which `fleet.digest` looks for events.
pub const DIGEST_REFLOG_BYTES: u64 = 1 << 20;
/// Reflogs of one repository that `fleet.digest` looks into, and how deep in directories they may lie.
pub const DIGEST_REFLOGS: (usize, usize) = (2_000, 16);
/// Characters of an event's message and of its identity; the rest is cut and marked with an ellipsis.
pub const DIGEST_TEXT_CHARS: (usize, usize) = (200, 256);
/// Paths that `fleet.radar` names of those that a merge would leave in conflict; all are counted.
pub const RADAR_CONFLICT_PATHS: usize = 20;
/// References of one page when the caller names no limit.
pub const DEFAULT_REFS: u32 = 500;
/// References of one page at most.
pub const MAX_REFS: u32 = 5_000;
/// Longest name of a reference, or revision, as an argument, in Unicode scalar values.
pub const MAX_REF_CHARS: usize = 4_096;
/// Entries of one page of a reflog: default and most.
pub const REFLOG_ENTRIES: (u32, u32) = (12, 100);
/// Related branches of `repo.branchStack`: default and most.
pub const STACK_RELATED: (u32, u32) = (8, 50);
/// Candidates for the base of `repo.branchStack` at most.
pub const STACK_BASES: usize = 256;
/// Remotes that `repo.refs` lists.
pub const REMOTE_ROWS: usize = 100;
/// Remotes that `repo_remotes` lists.
pub const DIRECT_REMOTES: usize = 1_000;
/// Bytes of text that one answer of the direct surface's reads carries at most, whatever its budget.
pub const DIRECT_TEXT_BYTES: u32 = 7 << 20;
/// Bytes of a file that `repo_conflict_regions` and `repo_resolve_conflict` work on, and of what the latter makes of it.
pub const CONFLICT_FILE_BYTES: u64 = 10 << 20;
/// Bytes of a file that `repo_annotate` annotates, and its lines.
pub const ANNOTATED: (u64, usize) = (16 << 20, 500_000);
/// Stashes that `repo.refs` lists; the reflog of `refs/stash` has the rest.
pub const STASH_ROWS: usize = 50;
/// Files of one page of `conflict.read`: default and most.
pub const CONFLICT_FILES: (u32, u32) = (20, 200);
/// Bytes of one side of a file in `conflict.read`: default and most.
pub const CONFLICT_BYTES_PER_SIDE: (u32, u32) = (16_384, 1_048_576);
/// Characters of an answer of `conflict.read` whose caller raised the bytes of a side; twice as many bytes of up to four
/// a character must fit into [`MAX_RESPONSE_BYTES`].
pub const MAX_CONFLICT_CHARS: usize = 900_000;
/// Conflicting paths that `repo.conflictPreflight` lists.
pub const PREFLIGHT_PATHS: u32 = 500;
/// Changed paths of a commit or a diff on one page when the caller names no limit.
pub const DEFAULT_COMMIT_PATHS: u32 = 500;
/// Changed paths of a commit or a diff on one page at most.
pub const MAX_COMMIT_PATHS: u32 = 10_000;
/// Bytes of text that `diff.text` gives when the caller names no limit (contract `results.md`).
pub const DEFAULT_DIFF_BYTES: u32 = 65_536;
/// Bytes of text that `diff.text` gives at most.
pub const MAX_DIFF_BYTES: u32 = 1 << 20;
/// Unchanged lines around changes: default and most.
pub const DIFF_CONTEXT: (u32, u32) = (3, 50);
/// Paths that one diff is narrowed to at most.
pub const MAX_DIFF_PATHS: usize = 100;
/// Characters of a revision.
pub const MAX_REVISION_CHARS: usize = 4_096;
/// Changed files of one page of `diff.semantic` and `diff.semanticFallbacks`.
pub const SEMANTIC_FILES: u32 = 50;
/// Changed lines of one file on one page (contract `results.md`).
pub const SEMANTIC_LINES: u32 = 1_500;
/// Bytes of one changed file that is compared by its structure: both sides, the path, and [`SEMANTIC_REGION_BYTES`] for
/// each place that differs. All of it travels in one frame.
pub const MAX_SEMANTIC_BYTES: usize = (1 << 20) - (16 << 10);
/// Bytes that a place that differs counts for.
pub const SEMANTIC_REGION_BYTES: usize = 20;
/// Bytes of the changed files of one page together.
pub const MAX_SEMANTIC_PAGE: usize = 7 << 20;
/// Longest `reason` of a proposal, in Unicode scalar values (contract `tools.json`, as the limits that follow).
pub const MAX_REASON_CHARS: usize = 4_096;
/// Longest `previewId` and `idempotencyKey`, in bytes.
pub const MAX_PREVIEW_ID: usize = 128;
/// Paths of one proposal.
pub const MAX_PROPOSAL_PATHS: usize = 10_000;
/// Longest patch, in Unicode scalar values.
pub const MAX_PATCH_CHARS: usize = 4 << 20;
/// Longest message of a commit, and of the commit that records a submodule, in Unicode scalar values.
pub const MAX_MESSAGE_CHARS: (usize, usize) = (65_536, 2_000);
/// Steps of one plan.
pub const MAX_PLAN_STEPS: usize = 10;
/// Repositories of one deletion of branches, branches of each, and branches in all.
pub const BRANCH_TARGETS: (usize, usize, usize) = (20, 20, 100);
