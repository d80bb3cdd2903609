//! Rows of worktree.list and submodule.status (contract `tools.json`, `results.md`, corrected by `corrections.md`).
//! Trust: constants.

use super::shared::*;
use crate::{
    limits::MAX_PATH_BYTES,
    tool::{Annotations, Argument, Field, Kind, Shape, Tool, Toolset},
};

/// This family.
pub(super) const TOOLS: &[Tool] = &[WORKTREES, SUBMODULES];

/// `worktree.list`.
pub const WORKTREES: Tool = Tool {
    name: "worktree.list",
    title: "Working trees",
    description: "Call this to see where else a repository is checked out: path, branch, commit, locked, prunable.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[REPO_PATH, CURSOR, REPO_ID],
    data: &[
        field("total", Shape::Count, "True number of working trees."),
        field("worktrees", Shape::List(&Shape::Object(WORKTREE)), "The main one, then the linked ones by path."),
        field("truncated", Shape::Boolean, "Rows follow after this page."),
        sometimes("nextCursor", Shape::Text, "Pass it back as `cursor` to get the rows after this page."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when some were left out."),
    ],
};

/// `submodule.status`.
pub const SUBMODULES: Tool = Tool {
    name: "submodule.status",
    title: "Submodule status",
    description: "Call this to see submodules, nested too: state (` ` as recorded, `+` other commit, `-` absent, `U` \
        conflict), both commits, dirt.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[
        REPO_PATH,
        Argument {
            name: "path",
            kind: Kind::Text { min: 0, max: MAX_PATH_BYTES },
            required: false,
            description: "Only at or below it.",
        },
        CURSOR,
        REPO_ID,
    ],
    data: &[
        field("total", Shape::Count, "Number of submodules at or below `path`."),
        field("submodules", Shape::List(&Shape::Object(SUBMODULE)), "Nested ones follow the one that holds them."),
        field("truncated", Shape::Boolean, "Rows follow, or submodules are nested too deeply."),
        sometimes("nextCursor", Shape::Text, "Pass it back as `cursor` to get the rows after this page."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when some were left out."),
    ],
};

const WORKTREE: &[Field] = &[
    field("path", Shape::Text, "Its directory; of a bare repository the git directory."),
    sometimes("pathEncoding", ESCAPED, "Set where `path` is escaped."),
    field("isMain", Shape::Boolean, "The one that `git init` or `git clone` made."),
    field("current", Shape::Boolean, "The one that was asked about."),
    sometimes("branch", Shape::Text, "Short name; absent when detached or bare."),
    field("detached", Shape::Boolean, "HEAD points at a commit, not at a branch."),
    sometimes("headSha", Shape::Text, "First twelve digits of `head`."),
    sometimes("head", Shape::Text, "Full id; absent on an unborn branch and when bare."),
    field("locked", Shape::Boolean, "Locked against removal."),
    sometimes("lockedReason", Shape::Text, "Why, where a reason was given."),
    field("prunable", Shape::Boolean, "`git worktree prune` would remove its records."),
    sometimes("prunableReason", Shape::Text, "Why."),
    sometimes("unseen", Shape::Boolean, "It lies outside the allowed roots; prunable is not known."),
    sometimes("bare", Shape::Boolean, "The repository is bare."),
];

const SUBMODULE: &[Field] = &[
    field("state", Shape::OneOf(&[" ", "-", "+", "U"]), "State letter of `git submodule status`."),
    field("commit", Shape::Text, "Recorded commit; of an unmerged one, our side's."),
    field("path", Shape::Text, "Path relative to the top of the superproject."),
    sometimes("pathEncoding", ESCAPED, "Set where `path` is escaped."),
    field("description", Shape::Text, "Always empty."),
    sometimes("checkedOut", Shape::Text, "Commit that is checked out."),
    sometimes("dirty", Shape::Text, "What differs inside: C commit, M content, U untracked."),
    sometimes("name", Shape::Text, "Its name in `.gitmodules`."),
    sometimes("url", Shape::Text, "Its address in `.gitmodules`, without credentials."),
];

#[cfg(test)]
mod tests {
    use super::{
        super::agreement::{both, partial},
        *,
    };
    use crate::{path::PathEncoding, results::*};

    #[test]
    fn rows_of_worktree_list_are_its_type() {
        let row = WorktreeRow {
            path: "/w".into(),
            path_encoding: Some(PathEncoding::Escaped),
            is_main: true,
            current: true,
            branch: Some("main".into()),
            detached: false,
            head_sha: Some("a".into()),
            head: Some("a".into()),
            locked: true,
            locked_reason: Some("usb".into()),
            prunable: true,
            prunable_reason: Some("gone".into()),
            unseen: true,
            bare: true,
        };
        let rich = Worktrees {
            total: 1,
            worktrees: vec![row.clone()],
            truncated: true,
            next_cursor: Some("p:a".into()),
            partial: partial(),
        };
        let poor_row = WorktreeRow {
            path_encoding: None,
            branch: None,
            head_sha: None,
            head: None,
            locked_reason: None,
            prunable_reason: None,
            unseen: false,
            bare: false,
            ..row
        };
        let poor = Worktrees { worktrees: vec![poor_row], next_cursor: None, partial: None, ..rich.clone() };
        both(&WORKTREES, &rich, &poor);
    }

    #[test]
    fn rows_of_submodule_status_are_its_type() {
        let row = SubmoduleStatusRow {
            state: SubmoduleState::Drifted,
            commit: "a".into(),
            path: "s".into(),
            path_encoding: Some(PathEncoding::Escaped),
            description: String::new(),
            checked_out: Some("b".into()),
            dirty: Some("CM".into()),
            name: Some("s".into()),
            url: Some("../s".into()),
        };
        let rich = Submodules {
            total: 1,
            submodules: vec![row.clone()],
            truncated: true,
            next_cursor: Some("p:a".into()),
            partial: partial(),
        };
        let poor_row =
            SubmoduleStatusRow { path_encoding: None, checked_out: None, dirty: None, name: None, url: None, ..row };
        let poor = Submodules { submodules: vec![poor_row], next_cursor: None, partial: None, ..rich.clone() };
        both(&SUBMODULES, &rich, &poor);
    }
}
