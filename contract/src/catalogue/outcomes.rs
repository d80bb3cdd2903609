//! What results of proposals hold beside the usual members, and what a gateway reports when one was carried out
//! (contract `gateway.md`, `tools.json`). Trust: constants.

use super::shared::{field, sometimes};
use crate::tool::{Field, Shape};

/// States of a proposal that are no end.
pub const OPEN_STATES: [&str; 3] = ["pending", "approved", "executing"];
/// States in which a proposal stays, without having been carried out.
pub const FAILED_STATES: [&str; 4] = ["rejected", "failed", "expired", "cancelled"];
/// The state of a proposal that was carried out.
pub const COMPLETED: &str = "completed";

/// Members of every result of a preview, beside `data` and `error`; what an agent acts on comes first.
pub(crate) const PREVIEW: &[Field] = &[
    sometimes(
        "status",
        Shape::Text,
        "pending, approved, executing, completed, rejected, failed, expired, cancelled or refused.",
    ),
    sometimes("previewId", Shape::Text, "By which operation.status and operation.cancel know it."),
    sometimes("nextAction", Shape::Object(NEXT_ACTION), "What to call next."),
    sometimes("accepted", Shape::Boolean, "True: the gateway holds the proposal, and a person decides."),
    sometimes("idempotencyKey", Shape::Text, "As the gateway was told it."),
    sometimes("proposalDigest", Shape::Text, "SHA-256 of what was proposed, in hex."),
    sometimes("proposalShort", Shape::Text, "Its first 16 digits, as a person compares them."),
    sometimes("bridgeAuthenticated", Shape::Boolean, "The gateway proved that it holds the token."),
    sometimes("repeated", Shape::Boolean, "True: the key was used before; nothing was proposed by this call."),
    sometimes("otherAgents", Shape::Any("object"), "Who else works there; informational."),
    sometimes("auditCheckpoint", Shape::Any("object"), "A signed statement of where the audit ledger ended."),
];

/// Members of a result of operation.status or operation.cancel, beside `data` and `error`.
pub(crate) const OF_ONE: &[Field] = &[
    sometimes("previewId", Shape::Text, "The proposal."),
    sometimes("status", Shape::Text, "Of operation.cancel: cancelled."),
    sometimes("auditCheckpoint", Shape::Any("object"), "Of operation.cancel: where the audit ledger ended."),
];

const NEXT_ACTION: &[Field] = &[
    field("tool", Shape::Text, "operation.status."),
    field("message", Shape::Text, "In words."),
    field("data", Shape::Object(NEXT_DATA), "With what."),
];

const NEXT_DATA: &[Field] = &[
    field("previewId", Shape::Text, "The proposal."),
    field("lastStatus", Shape::Text, "As it was last read."),
    field("reason", Shape::Text, "Why it is not over."),
    field("agentRecommendation", Shape::Text, "How to wait."),
];

/// What a gateway says of a proposal; `result` is that of the operation.
macro_rules! record {
    ($result:expr) => {
        &[
            sometimes("previewId", Shape::Text, "As the gateway writes it."),
            sometimes("operationType", Shape::Text, "What was proposed."),
            sometimes("status", Shape::Text, "Where it stands."),
            sometimes("expiresAt", Shape::Text, "When the proposal ends by itself."),
            sometimes("rejectionReason", Shape::Text, "Why a person said no."),
            sometimes("result", $result, "What was done."),
        ]
    };
}

/// Of any operation.
pub(super) const ANY: &[Field] = record!(Shape::Any("object"));
/// Each operation's own.
pub(super) const MERGE: &[Field] = record!(Shape::Object(&[MERGE_COMMIT, SUMMARY]));
pub(super) const REBASE: &[Field] = record!(Shape::Object(&[NEW_HEAD, REPLAYED, RESTORE_ID]));
pub(super) const DISCARD: &[Field] = record!(Shape::Object(&[DISCARDED, RESTORE_ID]));
pub(super) const RESET: &[Field] = record!(Shape::Object(&[MODE, NEW_HEAD, RESTORE_ID]));
pub(super) const PATCH: &[Field] = record!(Shape::Object(&[APPLIED, STAGED, RESTORE_ID]));
pub(super) const PLAN: &[Field] = record!(Shape::Object(&[STEPS]));
pub(super) const WORKTREE: &[Field] = record!(Shape::Object(&[BRANCH, WORKTREE_PATH]));
pub(super) const COMMIT: &[Field] = record!(Shape::Object(&[COMMIT_SHA]));
pub(super) const PUSH: &[Field] = record!(Shape::Object(&[REMOTE, PUSHED]));
pub(super) const NEW_BRANCH: &[Field] = record!(Shape::Object(&[BRANCH, CHECKED_OUT]));
pub(super) const BRANCH_DELETE: &[Field] = record!(Shape::Object(&[ERROR, DELETED]));
pub(super) const SUBMODULE: &[Field] = record!(Shape::Object(&[COMMIT_SHA, POINTER]));

const MERGE_COMMIT: Field = sometimes("mergeCommit", Shape::Text, "Full id.");
const SUMMARY: Field = sometimes("summary", Shape::Text, "In words.");
const NEW_HEAD: Field = sometimes("newHeadSha", Shape::Text, "Full id.");
const REPLAYED: Field = sometimes("replayedCommits", Shape::Count, "Commits.");
const RESTORE_ID: Field = sometimes("restorePointId", Shape::Text, "For flux.restorePointDetails.");
const DISCARDED: Field = sometimes("pathsDiscarded", Shape::List(&Shape::Text), "At most 10 000.");
const MODE: Field = sometimes("mode", Shape::Text, "soft, mixed or hard.");
const APPLIED: Field = sometimes("appliedFiles", Shape::List(&Shape::Text), "At most 10 000.");
const STAGED: Field = sometimes("stagedToIndex", Shape::Boolean, "The index has it, too.");
const STEPS: Field =
    sometimes("steps", Shape::List(&Shape::Any("object")), "operationType, status, message, restorePoint.");
const BRANCH: Field = sometimes("branch", Shape::Text, "Its name.");
const WORKTREE_PATH: Field = sometimes("worktreePath", Shape::Text, "Where it is.");
const COMMIT_SHA: Field = sometimes("commitSha", Shape::Text, "Full id.");
const REMOTE: Field = sometimes("remote", Shape::Text, "Its name.");
const PUSHED: Field = sometimes("pushedRef", Shape::Text, "Full name.");
const CHECKED_OUT: Field = sometimes("checkedOut", Shape::Boolean, "HEAD is on it.");
const ERROR: Field = sometimes("error", Shape::Any("any"), "What went wrong.");
const DELETED: Field =
    sometimes("branchDelete", Shape::Any("object"), "deleted, failed, skipped, and repositories with their branches.");
const POINTER: Field =
    sometimes("submodulePointer", Shape::Any("object"), "direction, paths, ids before and after, restorePoint.");
