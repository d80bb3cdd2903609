//! Rows of operation.* (contract `tools.json`, `gateway.md`, corrected by `corrections.md`): proposals on which a person
//! decides behind the gateway. Trust: constants.

use super::{outcomes, shared::*};
use crate::{
    limits::{
        BRANCH_TARGETS, MAX_MESSAGE_CHARS, MAX_PATCH_CHARS, MAX_PATH_BYTES, MAX_PLAN_STEPS, MAX_PREVIEW_ID,
        MAX_PROPOSAL_PATHS, MAX_REASON_CHARS, MAX_REF_CHARS,
    },
    tool::{Annotations, Argument, Field, Kind, Tool, Toolset},
};

/// This family.
pub(super) const TOOLS: &[Tool] = &[
    STATUS,
    preview(
        "operation.preview.merge",
        "Propose a merge",
        "Call this to propose a merge of sourceRef into targetRef. A person decides; nothing changes until then.",
        DESTRUCTIVE,
        &[REPOSITORY, ref_("sourceRef"), ref_("targetRef"), STRATEGY, REASON, KEY, REPO_ID],
        outcomes::MERGE,
    ),
    preview(
        "operation.preview.rebase",
        "Propose a rebase",
        "Call this to propose replaying currentRef onto ontoRef. A person decides.",
        DESTRUCTIVE,
        &[REPOSITORY, ref_("ontoRef"), CURRENT, INTERACTIVE, REASON, KEY, REPO_ID],
        outcomes::REBASE,
    ),
    preview(
        "operation.preview.discard",
        "Propose a discard",
        "Call this to propose throwing away uncommitted changes of paths. A person decides.",
        DESTRUCTIVE,
        &[REPOSITORY, PATHS, REASON, KEY, REPO_ID],
        outcomes::DISCARD,
    ),
    preview(
        "operation.preview.reset",
        "Propose a reset",
        "Call this to propose moving the current branch to targetRef. A person decides.",
        DESTRUCTIVE,
        &[REPOSITORY, ref_("targetRef"), MODE, REASON, KEY, REPO_ID],
        outcomes::RESET,
    ),
    preview(
        "operation.preview.patch",
        "Propose a patch",
        "Call this to propose applying a unified diff. A person decides.",
        DESTRUCTIVE,
        &[REPOSITORY, PATCH, TO_INDEX, REASON, KEY, REPO_ID],
        outcomes::PATCH,
    ),
    preview(
        "operation.preview.plan",
        "Propose a plan",
        "Call this to propose several steps on which a person decides as one.",
        DESTRUCTIVE,
        &[REPOSITORY, STEPS, REASON, KEY, REPO_ID],
        outcomes::PLAN,
    ),
    preview(
        "operation.preview.worktree",
        "Propose a worktree",
        "Call this to propose a further working tree on a branch, perhaps at path. A person decides.",
        HARMLESS,
        &[REPOSITORY, ref_("branch"), WORKTREE_PATH, REASON, KEY, REPO_ID],
        outcomes::WORKTREE,
    ),
    preview(
        "operation.preview.commit",
        "Propose a commit",
        "Call this to propose a commit of what is staged, of paths, or of all. A person decides.",
        HARMLESS,
        &[REPOSITORY, MESSAGE, COMMIT_PATHS, STAGE_ALL, REASON, KEY, REPO_ID],
        outcomes::COMMIT,
    ),
    preview(
        "operation.preview.push",
        "Propose a push",
        "Call this to propose a push of a branch, by default the current one to origin. A person decides.",
        Annotations { open_world: true, ..DESTRUCTIVE },
        &[REPOSITORY, BRANCH, REMOTE, SET_UPSTREAM, FORCE, REASON, KEY, REPO_ID],
        outcomes::PUSH,
    ),
    preview(
        "operation.preview.branch",
        "Propose a branch",
        "Call this to propose a new branch at startPoint. A person decides.",
        HARMLESS,
        &[REPOSITORY, ref_("name"), START_POINT, CHECKOUT, REASON, KEY, REPO_ID],
        outcomes::NEW_BRANCH,
    ),
    preview(
        "operation.preview.branchDelete",
        "Propose deleting branches",
        "Call this to propose deleting local branches, 100 at most, of one or several repositories. A person decides.",
        DESTRUCTIVE,
        &[REPOSITORY, TARGETS, REASON, KEY, REPO_ID],
        outcomes::BRANCH_DELETE,
    ),
    preview(
        "operation.preview.submodulePointer",
        "Propose a submodule pointer",
        "Call this to propose recording a submodule's commit in its parent, or returning it to the recorded one. A person \
         decides.",
        HARMLESS,
        &[
            REPOSITORY,
            path("relativePath", 1, true, ""),
            DIRECTION,
            SUBMODULE_MESSAGE,
            path("parentPath", 0, false, "Of the superproject."),
            oid("expectedRecordedOid"),
            oid("expectedCheckedOutOid"),
            REASON,
            KEY,
            REPO_ID,
        ],
        outcomes::SUBMODULE,
    ),
    CANCEL,
];

const SOURCE: &str = "fluxgit-app";

/// `operation.status`.
const STATUS: Tool = Tool {
    name: "operation.status",
    title: "State of a proposal",
    description: "Call this to learn what became of a proposed write, by the previewId it was answered with.",
    toolset: Toolset::Propose,
    annotations: Annotations::LOCAL_READ,
    source: SOURCE,
    arguments: &[PREVIEW_ID],
    data: outcomes::ANY,
};

/// `operation.cancel`.
const CANCEL: Tool = Tool {
    name: "operation.cancel",
    title: "Withdraw a proposal",
    description: "Call this to withdraw a proposal that nobody has decided on.",
    toolset: Toolset::Propose,
    annotations: Annotations { read_only: false, destructive: false, idempotent: true, open_world: false },
    source: SOURCE,
    arguments: &[PREVIEW_ID],
    data: outcomes::ANY,
};

const HARMLESS: Annotations =
    Annotations { read_only: false, destructive: false, idempotent: false, open_world: false };
const DESTRUCTIVE: Annotations = Annotations { destructive: true, ..HARMLESS };

const fn preview(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    annotations: Annotations,
    arguments: &'static [Argument],
    data: &'static [Field],
) -> Tool {
    Tool { name, title, description, toolset: Toolset::Propose, annotations, source: SOURCE, arguments, data }
}

const fn argument(name: &'static str, kind: Kind, required: bool, description: &'static str) -> Argument {
    Argument { name, kind, required, description }
}

/// A reference or revision that must be named.
const fn ref_(name: &'static str) -> Argument {
    argument(name, Kind::Text { min: 1, max: MAX_REF_CHARS }, true, "")
}

const fn optional_ref(name: &'static str, description: &'static str) -> Argument {
    argument(name, Kind::Text { min: 0, max: MAX_REF_CHARS }, false, description)
}

const fn path(name: &'static str, min: usize, required: bool, description: &'static str) -> Argument {
    argument(name, Kind::Text { min, max: MAX_PATH_BYTES }, required, description)
}

const fn flag(name: &'static str, default: bool, description: &'static str) -> Argument {
    argument(name, Kind::Boolean { default: Some(default) }, false, description)
}

const fn oid(name: &'static str) -> Argument {
    argument(name, Kind::Text { min: 1, max: MAX_REF_CHARS }, false, "40 or 64 hex digits.")
}

/// What it is, agents read in every other row of the list, which they pay for by the byte.
const REPOSITORY: Argument = Argument { description: "", ..REPO_PATH };
const PREVIEW_ID: Argument =
    argument("previewId", Kind::Word { max: MAX_PREVIEW_ID }, true, "Letters, digits, `_`, `-`.");
const REASON: Argument = argument("reason", Kind::Text { min: 1, max: MAX_REASON_CHARS }, true, "");
const KEY: Argument = argument("idempotencyKey", Kind::Word { max: MAX_PREVIEW_ID }, false, "");
const STRATEGY: Argument =
    argument("strategy", Kind::OneOf { words: &["merge", "squash"], default: Some("merge") }, false, "");
const CURRENT: Argument = optional_ref("currentRef", "Default HEAD.");
const INTERACTIVE: Argument = flag("interactive", false, "False.");
const ONE_PATH: Kind = Kind::Text { min: 1, max: MAX_PATH_BYTES };
const PATHS: Argument =
    argument("paths", Kind::ListOf { item: &ONE_PATH, min: 1, max: MAX_PROPOSAL_PATHS }, true, "In the repository.");
const COMMIT_PATHS: Argument =
    argument("paths", Kind::ListOf { item: &ONE_PATH, min: 0, max: MAX_PROPOSAL_PATHS }, false, "");
const MODE: Argument =
    argument("mode", Kind::OneOf { words: &["soft", "mixed", "hard"], default: Some("mixed") }, false, "");
const PATCH: Argument = argument("patchContent", Kind::Text { min: 1, max: MAX_PATCH_CHARS }, true, "");
const TO_INDEX: Argument = flag("applyToIndex", false, "");
const STEPS: Argument =
    argument("steps", Kind::ListOf { item: &Kind::Object(STEP), min: 1, max: MAX_PLAN_STEPS }, true, "");
const WORKTREE_PATH: Argument = path("path", 0, false, "Absolute, beneath the roots.");
const MESSAGE: Argument = argument("message", Kind::Text { min: 1, max: MAX_MESSAGE_CHARS.0 }, true, "");
const STAGE_ALL: Argument = flag("stageAll", false, "");
const BRANCH: Argument = optional_ref("branch", "");
const REMOTE: Argument = optional_ref("remote", "Default origin.");
const SET_UPSTREAM: Argument = flag("setUpstream", false, "");
const FORCE: Argument = flag("forceWithLease", false, "");
const START_POINT: Argument = optional_ref("startPoint", "Default HEAD.");
const CHECKOUT: Argument = flag("checkout", true, "");
const TARGETS: Argument =
    argument("targets", Kind::ListOf { item: &Kind::Object(TARGET), min: 1, max: BRANCH_TARGETS.0 }, true, "");
const DIRECTION: Argument =
    argument("direction", Kind::OneOf { words: &["record", "return"], default: None }, true, "");
const SUBMODULE_MESSAGE: Argument =
    argument("message", Kind::Text { min: 1, max: MAX_MESSAGE_CHARS.1 }, false, "With record, and only then.");

const TARGET: &[Argument] = &[
    REPOSITORY,
    argument(
        "branches",
        Kind::ListOf { item: &Kind::Text { min: 1, max: MAX_REF_CHARS }, min: 1, max: BRANCH_TARGETS.1 },
        true,
        "",
    ),
];

/// A step has the arguments of its operation's tool and no others.
const STEP: &[Argument] = &[
    argument(
        "operationType",
        Kind::OneOf { words: &["merge", "rebase", "discard", "reset", "patch"], default: None },
        true,
        "",
    ),
    step_ref("sourceRef"),
    step_ref("targetRef"),
    STRATEGY,
    step_ref("ontoRef"),
    step_ref("currentRef"),
    INTERACTIVE,
    argument("paths", PATHS.kind, false, ""),
    argument("mode", Kind::OneOf { words: &["soft", "mixed", "hard"], default: None }, false, ""),
    argument("patchContent", PATCH.kind, false, ""),
    argument("applyToIndex", Kind::Boolean { default: None }, false, ""),
];

const fn step_ref(name: &'static str) -> Argument {
    argument(name, Kind::Text { min: 1, max: MAX_REF_CHARS }, false, "")
}
