//! Writes. None is carried out unless the operator opened the gate for it.
//! Trust: constants.

use super::{MAX_NAME, MAX_PATH, optional, result, state::LEFT, text};
use crate::{
    limits::{MAX_MESSAGE_CHARS, MAX_PROPOSAL_PATHS},
    tool::{Annotations, Argument, Field, Kind, Shape, Tool, Toolset},
};

/// What may happen: destroys, is as good once as twice, talks to others.
const fn hints(destructive: bool, idempotent: bool, open_world: bool) -> Annotations {
    Annotations { read_only: false, destructive, idempotent, open_world }
}

/// A tool that writes.
const fn write(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    annotations: Annotations,
    arguments: &'static [Argument],
    data: &'static [Field],
) -> Tool {
    Tool { name, title, description, toolset: Toolset::Write, annotations, source: "local-git", arguments, data }
}

const FORCE: Argument =
    Argument { name: "force", kind: Kind::Boolean { default: Some(false) }, required: false, description: "" };

const fn says(name: &'static str, shape: Shape) -> Field {
    Field::always(name, shape, "")
}

/// This family.
pub(super) const TOOLS: &[Tool] = &[
    write(
        "repo_commit",
        "Commit",
        "Call this to commit exactly these paths as they are in the working tree; whatever else is staged stays staged. \
         Paths that are unmerged are refused.",
        hints(false, false, false),
        &[
            Argument {
                name: "paths",
                kind: Kind::ListOf { item: &Kind::Text { min: 0, max: MAX_PATH }, min: 0, max: MAX_PROPOSAL_PATHS },
                required: true,
                description: "Relative to the root; literal. A rename needs both paths.",
            },
            text("message", MAX_MESSAGE_CHARS.0, ""),
            Argument {
                name: "allow_empty",
                kind: Kind::Boolean { default: Some(false) },
                required: false,
                description: "Although nothing differs.",
            },
            Argument {
                name: "include_untracked",
                kind: Kind::Boolean { default: Some(false) },
                required: false,
                description: "New files at or beneath the paths, too.",
            },
        ],
        &[says("committed_paths", Shape::Count), says("id", Shape::Text), says("signed", Shape::Boolean)],
    ),
    write(
        "repo_checkout",
        "Check out",
        "Call this to switch to a branch, or to stand on a commit without one. Uncommitted changes that are in the way are \
         kept, and the call fails.",
        hints(false, true, false),
        &[text("reference", MAX_NAME, "Branch, tag or commit.")],
        &[says("checked_out", Shape::Text)],
    ),
    write(
        "repo_new_child",
        "Start on top of",
        "Call this to start work on top of a revision; with Git it is repo_checkout.",
        hints(false, false, false),
        &[text("reference", MAX_NAME, "Branch, tag or commit.")],
        &[says("new_child_of", Shape::Text), says("newChild", Shape::Text)],
    ),
    write(
        "repo_create_branch",
        "Create a branch",
        "Call this to make a branch at HEAD, without switching to it.",
        hints(false, false, false),
        &[text("name", MAX_NAME, "")],
        &[says("created_branch", Shape::Text)],
    ),
    write(
        "repo_delete_branch",
        "Delete a branch",
        "Call this to delete a local branch. One that is not merged needs `force`; one that is checked out is refused.",
        hints(true, false, false),
        &[text("name", MAX_NAME, ""), FORCE],
        &[says("deleted_branch", Shape::Text), says("deleted", Shape::Text), says("force", Shape::Boolean)],
    ),
    write(
        "repo_rename_branch",
        "Rename a branch",
        "Call this to rename a local branch; an existing name is never taken.",
        hints(false, false, false),
        &[text("old_name", MAX_NAME, ""), text("new_name", MAX_NAME, "")],
        &[
            says("renamed", Shape::Object(&[says("old", Shape::Text), says("new", Shape::Text)])),
            says("renamedFrom", Shape::Text),
            says("renamedTo", Shape::Text),
        ],
    ),
    write(
        "repo_tag_create",
        "Create a tag",
        "Call this to tag HEAD or a revision; with a message the tag is an annotated one.",
        hints(false, false, false),
        &[
            text("name", MAX_NAME, ""),
            optional("message", MAX_MESSAGE_CHARS.0, ""),
            optional("rev", MAX_NAME, "HEAD where absent."),
        ],
        &[says("created", Shape::Text), says("annotated", Shape::Boolean), says("revision", Shape::Text)],
    ),
    write(
        "repo_tag_delete",
        "Delete a tag",
        "Call this to delete a local tag.",
        hints(true, false, false),
        &[text("name", MAX_NAME, "")],
        &[says("deleted", Shape::Text)],
    ),
    write(
        "repo_resolve_conflict",
        "Resolve a conflict",
        "Call this to settle an unmerged path by taking one side in all its conflicts; what merged cleanly stays. A side \
         that deleted the file deletes it. During a rebase `ours` is the branch rebased onto.",
        hints(false, true, false),
        &[
            text("path", MAX_PATH, "Relative to the root."),
            Argument {
                name: "side",
                kind: Kind::OneOf { words: &["ours", "theirs", "base", "side"], default: None },
                required: true,
                description: "",
            },
            Argument {
                name: "index",
                kind: Kind::Integer { min: 0, max: super::MAX_COUNT, default: None },
                required: false,
                description: "With `side`: which, on Jujutsu.",
            },
        ],
        &[
            says("resolved", Shape::Text),
            says("side", Shape::Text),
            says("index", Shape::Nullable("integer")),
            says("conflicts_resolved", Shape::Count),
            says("path", Shape::Text),
            says("backend", Shape::Text),
        ],
    ),
    write(
        "repo_rebase",
        "Rebase",
        "Call this to rebase the current branch; try it first with repo_try_merge. At a conflict it stops, to be resolved and \
         continued or aborted.",
        hints(true, false, false),
        &[text("onto", MAX_NAME, "Branch, tag or commit.")],
        &[says("rebased_onto", Shape::Text)],
    ),
    write(
        "repo_abort_in_progress",
        "Abort",
        "Call this to abort the merge, rebase, cherry-pick, revert, am or bisection that waits for its end.",
        hints(true, true, false),
        &[],
        LEFT,
    ),
    write(
        "repo_continue_in_progress",
        "Continue",
        "Call this when all paths are resolved, to go on with the operation that waits for its end. While paths are unmerged \
         nothing is done.",
        hints(false, false, false),
        &[],
        LEFT,
    ),
    write(
        "repo_create_worktree",
        "Create a worktree",
        "Call this to make a further working tree on a new branch, beneath the directories that the operator allows.",
        hints(false, false, false),
        &[
            text("path", MAX_PATH, "Absolute, or relative to the root."),
            text("branch", MAX_NAME, "The new branch."),
            text("base", MAX_NAME, "Where it starts."),
        ],
        &result(Shape::Text, "The kind of it."),
    ),
    write(
        "repo_remove_worktree",
        "Remove a worktree",
        "Call this to remove a working tree; its branch stays. The main one and the one that is served are refused; one with \
         changes needs `force`.",
        hints(true, false, false),
        &[text("path", MAX_PATH, "Absolute, or relative to the root."), FORCE],
        &[says("removed", Shape::Text)],
    ),
    write(
        "repo_fetch",
        "Fetch",
        "Call this to fetch from the remote of the current branch. Only remote-tracking branches change.",
        hints(false, true, true),
        &[],
        &[says("fetched", Shape::Boolean)],
    ),
    write(
        "repo_push",
        "Push",
        "Call this to push one local branch to `origin`, fast-forward only, and make it the upstream.",
        hints(false, true, true),
        &[text("branch", MAX_NAME, "A local branch.")],
        &[says("pushed", Shape::Text)],
    ),
    write(
        "repo_undo",
        "Undo",
        "Call this on a repository of Jujutsu to undo its last operation. With Git, repo_restore goes back to a restore point.",
        hints(true, false, false),
        &[],
        &[says("undone", Shape::Boolean)],
    ),
    write(
        "repo_restore",
        "Restore",
        "Call this to go back to a restore point of repo_restore_points: HEAD, branch, index, working tree and untracked files. \
         What is there now becomes a restore point first.",
        hints(true, false, false),
        &[text("id", 128, "Of a restore point.")],
        &[says("restored", Shape::Text), says("restore_point", Shape::Text)],
    ),
];
