//! The one table of what is not answered as it was recorded, each row with its reason.
//! Trust: constants.

use serde_json::{Value, json};

/// A recorded value that is wrong.
pub struct Corrected {
    /// The recording; `*` for all.
    pub file: &'static str,
    /// The case; `*` for all.
    pub case: &'static str,
    /// JSON pointer into the result's structure; `/isError` is the result's own.
    pub pointer: &'static str,
    /// What is right.
    pub right: fn() -> Value,
    /// Why.
    pub reason: &'static str,
}

const fn row(
    file: &'static str,
    case: &'static str,
    pointer: &'static str,
    right: fn() -> Value,
    reason: &'static str,
) -> Corrected {
    Corrected { file, case, pointer, right, reason }
}

const CONFIGURED: &str = "a gateway is configured; that it does not answer is another matter";
const UNKNOWN: &str = "a status that nobody knows is not taken for accepted";
const NOT_DONE: &str = "what was proposed was not done, which isError says";
const SAID: &str = "cancelled is what the gateway says is cancelled: its record is asked where the answer says nothing";

/// Values.
pub const CORRECTED: &[Corrected] = &[
    row("*", "*", "/error/data/gatewayConfigured", || json!(true), CONFIGURED),
    row("preview.lifecycle", "status-weird", "/isError", || json!(true), UNKNOWN),
    row("preview.lifecycle", "status-weird", "/accepted", || Value::Null, UNKNOWN),
    row("preview.lifecycle", "status-weird", "/nextAction", || Value::Null, UNKNOWN),
    row("preview.lifecycle", "status-weird", "/status", || Value::Null, UNKNOWN),
    row("preview.lifecycle", "status-weird", "/source", || Value::Null, UNKNOWN),
    row("status_cancel", "status-failed", "/isError", || json!(true), NOT_DONE),
    row("status_cancel", "cancel-204", "/data", || json!({"status": "cancelled"}), SAID),
    row("status_cancel", "cancel-200-badjson", "/data", || json!({"status": "cancelled"}), SAID),
];

/// What the gateway is asked beyond the recording, and its answer.
pub fn asked_further(file: &str, case: &str) -> Option<&'static str> {
    matches!((file, case), ("status_cancel", "cancel-204" | "cancel-200-badjson"))
        .then_some(r#"{"status":"cancelled"}"#)
}

/// Cases that were accepted and are refused now, before anything leaves: a word of the refusal.
pub const REFUSED_NOW: &[(&str, &str, &str)] = &[
    ("preview.patch", "patch-1", "unified diff"),
    ("preview.plan", "plan-0", "unified diff"),
    ("preview.worktree", "worktree-1", "outside-roots"),
    ("preview.invalid", "plan-extra-cross", "does not belong"),
    ("preview.invalid", "space-reason", "blank"),
    ("preview.invalid", "bd-400", "at most 100"),
    ("preview.invalid", "missing-repo-dir", "root"),
    ("preview.invalid", "option-ref", "option"),
];

/// Members that results have beyond the recorded ones.
pub const ADDED: &[&str] = &[
    "/idempotencyKey",
    "/proposalDigest",
    "/proposalShort",
    "/bridgeAuthenticated",
    "/auditCheckpoint",
    "/error/data/sent",
    "/error/data/previewId",
    "/error/data/idempotencyKey",
    "/error/data/lastStatus",
    // of what was sent and may be held: to reconcile by
    "/previewId",
    // of operation.status, beside the record
    "/error",
];

/// Texts of our own.
pub const PROSE: &[&str] = &["/error/data/learnMore"];
