//! How the repository stands: snapshot, status, differences, unmerged paths, working trees, remotes.
//! Trust: constants.

use super::{read, result, text};
use crate::{
    direct::state::{OPERATIONS, STATES},
    tool::{Field, Shape, Tool},
};

/// This family.
pub(super) const TOOLS: &[Tool] = &[
    read(
        "repo_snapshot",
        "Repository snapshot",
        "Call this first: HEAD, branch, upstream with ahead and behind (as of the last fetch), how many paths changed, and \
         the operation that waits for its end.",
        &[],
        SNAPSHOT,
    ),
    read(
        "repo_info",
        "Repository info",
        "Call this to know what is served: backend, root, and the forge that the remote points at.",
        &[],
        &[
            Field::always("backend", Shape::OneOf(&["git"]), "Which version control system."),
            Field::always("root", Shape::Text, "Canonical directory of the working tree."),
            Field::always("cwd", Shape::Text, "The directory that the operator named."),
            Field::always("forge", Shape::Nullable("github, gitlab or gitea"), "Where its changes are reviewed."),
        ],
    ),
    read(
        "repo_status",
        "Changed paths",
        "Call this to know which paths changed, staged or not, untracked ones included; an untracked directory is one row.",
        &[],
        &result(Shape::List(&Shape::Object(CHANGE)), "Tracked changes by path, then untracked."),
    ),
    read(
        "repo_diff_stat",
        "Size of the difference",
        "Call this for the size of all uncommitted changes against HEAD: files, inserted and deleted lines. Untracked files \
         do not count.",
        &[],
        &[
            Field::always("files_changed", Shape::Count, "Files."),
            Field::always("insertions", Shape::Count, "Lines."),
            Field::always("deletions", Shape::Count, "Lines."),
        ],
    ),
    read(
        "repo_diff",
        "Uncommitted changes",
        "Call this to see all uncommitted changes against HEAD, by file and hunk, each with the raw section of the patch. \
         Untracked files are not in it.",
        &[],
        &result(Shape::List(&Shape::Object(FILE)), "By path."),
    ),
    read(
        "repo_branches",
        "Local branches",
        "Call this for the names of local branches.",
        &[],
        &result(Shape::List(&Shape::Text), "In order of their names."),
    ),
    read(
        "repo_current_branch",
        "Current branch",
        "Call this for the branch that is checked out; null when HEAD is detached.",
        &[],
        &result(Shape::Nullable("string"), "Its name."),
    ),
    read(
        "repo_tags",
        "Tags",
        "Call this for the names of tags.",
        &[],
        &result(Shape::List(&Shape::Text), "In order of their names."),
    ),
    read(
        "repo_worktrees",
        "Working trees",
        "Call this for all working trees of the repository; the main one comes first.",
        &[],
        &result(Shape::List(&Shape::Object(WORKTREE)), "The main one first."),
    ),
    read(
        "repo_remotes",
        "Remotes",
        "Call this for the configured remotes. Passwords in addresses are masked.",
        &[],
        &result(Shape::List(&Shape::Object(REMOTE)), "In order of their names."),
    ),
    read(
        "repo_conflicts",
        "Unmerged paths",
        "Call this for the paths that are unmerged: what a merge, rebase or the like left for you to resolve.",
        &[],
        &result(Shape::List(&Shape::Text), "In the order of the index."),
    ),
    read(
        "repo_conflict_regions",
        "Conflicts in a file",
        "Call this to see the conflicts in one file of the working tree, each with the lines of both sides and of the base \
         where it is there.",
        &[text("path", super::MAX_PATH, "Relative to the root.")],
        &[
            Field::always("backend", Shape::OneOf(&["git"]), "Whose markers they are."),
            Field::always("path", Shape::Text, "As asked."),
            Field::always("conflict_count", Shape::Count, "Conflicts."),
            Field::always("regions", Shape::List(&Shape::Object(REGION)), "In the order of the file."),
        ],
    ),
    read(
        "repo_try_merge",
        "Try a merge",
        "Call this before merging or rebasing, to know whether it would conflict. It is worked out in memory: nothing is \
         written, and uncommitted changes do not matter.",
        &[text("source", super::MAX_NAME, "Branch, tag or commit to merge into HEAD.")],
        &[
            Field::always("outcome", Shape::OneOf(&["Clean", "Conflicts"]), "How it would end."),
            Field::sometimes("files", Shape::List(&Shape::Text), "Paths that would be unmerged."),
        ],
    ),
];

const SNAPSHOT: &[Field] = &[
    Field::always("head", Shape::Nullable("string"), "Full id of HEAD; null on an unborn branch."),
    Field::always("branch", Shape::Nullable("string"), "Branch; null when HEAD is detached."),
    Field::always(
        "tracking",
        Shape::NullableObject(&[
            Field::always("branch", Shape::Text, "The upstream."),
            Field::always(
                "ahead",
                Shape::Nullable("integer"),
                "Commits that the upstream lacks; null when it is gone.",
            ),
            Field::always("behind", Shape::Nullable("integer"), "Commits that HEAD lacks; null when it is gone."),
        ]),
        "The upstream; null without one.",
    ),
    Field::always("dirty", Shape::Boolean, "Something changed."),
    Field::always("change_count", Shape::Count, "Rows of repo_status."),
    Field::always("conflicted", Shape::Boolean, "Paths are unmerged."),
    Field::always("operation", Shape::OneOf(OPERATIONS), "What waits for its end."),
    Field::always("tracked_changes", Shape::Count, "Rows that are not untracked."),
    Field::always("untracked", Shape::Count, "Rows that are."),
    Field::always("conflict_count", Shape::Count, "Paths that are unmerged."),
];

const CHANGE: &[Field] = &[
    Field::always("path", Shape::Text, "Relative to the root."),
    Field::always("old_path", Shape::Nullable("string"), "Where it was, when it was renamed."),
    Field::always("kind", Shape::OneOf(&["Added", "Modified", "Deleted", "Renamed"]), "What happened to it."),
    Field::sometimes("path_encoding", Shape::OneOf(&["escaped"]), "`path` is no text and stands escaped."),
];

const FILE: &[Field] = &[
    Field::always("change", Shape::OneOf(&["Added", "Modified", "Deleted", "Renamed"]), "What happened to it."),
    Field::always("path", Shape::Text, "Relative to the root."),
    Field::always("old_path", Shape::Nullable("string"), "Where it was, when it was renamed."),
    Field::always(
        "hunks",
        Shape::List(&Shape::Object(&[
            Field::always("old_start", Shape::Count, "First line there."),
            Field::always("old_lines", Shape::Count, "Lines there."),
            Field::always("new_start", Shape::Count, "First line here."),
            Field::always("new_lines", Shape::Count, "Lines here."),
            Field::always("section", Shape::Text, "The part of the file, as Git words it."),
            Field::always("lines", Shape::List(&Shape::Object(&[])), "Each `Added`, `Removed` or `Context`."),
        ])),
        "Empty for binary files and for changes of mode.",
    ),
    Field::always("raw", Shape::Text, "Its section of the patch."),
];

const WORKTREE: &[Field] = &[
    Field::always("path", Shape::Text, "Absolute."),
    Field::always("branch", Shape::Nullable("string"), "Branch; null when HEAD is detached."),
    Field::always("commit", Shape::Nullable("string"), "Full id; null on an unborn branch."),
    Field::always("is_bare", Shape::Boolean, "It has no files."),
];

const REMOTE: &[Field] =
    &[Field::always("name", Shape::Text, "Its name."), Field::always("url", Shape::Text, "Where it is fetched from.")];

const REGION: &[Field] = &[
    Field::always("number", Shape::Count, "From one."),
    Field::always("total", Shape::Count, "Conflicts of the file."),
    Field::always(
        "region",
        Shape::Object(&[
            Field::always("ours_label", Shape::Text, "As the marker says."),
            Field::always("base_label", Shape::Nullable("string"), "As the marker says, where there is one."),
            Field::always("theirs_label", Shape::Text, "As the marker says."),
            Field::always("ours", Shape::List(&Shape::Text), "Lines with their ends."),
            Field::always("base", Shape::Nullable("list of strings"), "Lines with their ends."),
            Field::always("theirs", Shape::List(&Shape::Text), "Lines with their ends."),
            Field::always("marker_len", Shape::Count, "Characters of a marker."),
        ]),
        "Both sides.",
    ),
];

/// What `repo_abort_in_progress` and `repo_continue_in_progress` leave behind.
pub(super) const LEFT: &[Field] = &[
    Field::always("operation_state", Shape::OneOf(STATES), "What the repository is in the middle of now."),
    Field::always("operation", Shape::OneOf(STATES), "The same."),
];
