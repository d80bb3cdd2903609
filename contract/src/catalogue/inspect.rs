//! Toolset `inspect`: one repository, read only (contract `tools.json`, `results.md`, corrected by `corrections.md`).
//! Trust: constants.

use super::shared::*;
use crate::{
    limits::{BRIEF_COMMITS, DEFAULT_STATUS_ROWS, MAX_STATUS_ROWS},
    tool::{Annotations, Argument, Field, Kind, Shape, Tool, Toolset},
};

/// This family.
pub(super) const TOOLS: &[Tool] = &[BRIEF, STATUS, CHANGES];

const LIMIT: Argument = limit(DEFAULT_STATUS_ROWS, MAX_STATUS_ROWS);

/// `repo.brief`.
pub const BRIEF: Tool = Tool {
    name: "repo.brief",
    title: "Repository brief",
    description: "Call this first, before touching a repository: HEAD, upstream, an unfinished operation, counts of \
        changes, stashes, submodules, latest commits and habits. `hints` says where to look. Never fetches.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[
        REPO_PATH,
        Argument {
            name: "recentCommits",
            kind: Kind::Integer { min: 1, max: BRIEF_COMMITS.1 as i64, default: Some(BRIEF_COMMITS.0 as i64) },
            required: false,
            description: "",
        },
        REPO_ID,
    ],
    data: &[
        field("head", Shape::Object(HEAD), "Where HEAD is."),
        field(
            "operationInProgress",
            Shape::Nullable("merge, rebase, am, cherry-pick, revert or bisect"),
            "The operation that waits for its end.",
        ),
        field("workingTree", Shape::Object(WORKING_TREE), "Counters over the status rows."),
        field("stashes", Shape::Count, "Stash entries."),
        field("submodules", Shape::Object(SUBMODULES), "Submodules, nested ones included."),
        field("recentCommits", Shape::List(&Shape::Object(RECENT_COMMIT)), "Newest first."),
        field("conventions", Shape::Object(CONVENTIONS), "Habits of this repository."),
        field("hints", Shape::List(&Shape::Text), "What to look at first, at most three."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when a part was cut short."),
    ],
};

/// `repo.status`.
pub const STATUS: Tool = Tool {
    name: "repo.status",
    title: "Repository status",
    description: "Call this to know which paths changed: branch, upstream and one row per path with the columns of `git \
        status --porcelain` (`M `, ` M`, `??`, `UU`). `changedFiles` is the true count.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[REPO_PATH, LIMIT, CURSOR, REPO_ID],
    data: &[
        field("branch", Shape::Nullable("string"), "Local branch; null when HEAD is detached."),
        field("detached", Shape::Boolean, "HEAD points at a commit, not at a branch."),
        field("head", Shape::Nullable("string"), "Full id of HEAD; null on an unborn branch."),
        field("upstream", Shape::Nullable("string"), "Short name of the upstream; null when none is configured."),
        field("upstreamGone", Shape::Boolean, "The upstream is configured and its ref does not exist."),
        field("ahead", Shape::Count, "Commits on HEAD that the upstream lacks."),
        field("behind", Shape::Count, "Commits on the upstream that HEAD lacks."),
        field("clean", Shape::Boolean, "No rows at all."),
        field("changedFiles", Shape::Count, "True number of rows, whatever the page holds."),
        field("entries", ROWS, "This page: tracked changes by path, then untracked by path."),
        field("truncated", Shape::Boolean, "Rows follow after this page."),
        sometimes("nextCursor", Shape::Text, "Pass it back as `cursor` to get the rows after this page."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when counting stopped early: totals are lower bounds."),
    ],
};

/// `worktree.changes`.
pub const CHANGES: Tool = Tool {
    name: "worktree.changes",
    title: "Working tree changes",
    description: "Call this to see what a commit would take and leave: staged, unstaged, untracked and conflicted rows \
        apart, with true `totals`. A path may stand in two lists.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[REPO_PATH, LIMIT, CURSOR, REPO_ID],
    data: &[
        field("staged", ROWS, "Rows with an index column."),
        field("unstaged", ROWS, "Rows with a worktree column."),
        field("untracked", ROWS, "Untracked paths; a directory without tracked files counts once."),
        field("conflicted", ROWS, "Unmerged paths alone."),
        field("totals", Shape::Object(TOTALS), "True sizes of the four lists."),
        field("truncated", Shape::Boolean, "Rows follow after this page."),
        sometimes("nextCursor", Shape::Text, "Pass it back as `cursor` to get the rows after this page."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when counting stopped early: totals are lower bounds."),
    ],
};

const HEAD: &[Field] = &[
    field("branch", Shape::Nullable("string"), "Local branch; null when detached."),
    field("detached", Shape::Boolean, "HEAD points at a commit, not at a branch."),
    field("sha", Shape::Nullable("string"), "Abbreviated id; null on an unborn branch."),
    field("upstream", Shape::Nullable("string"), "Short name of the upstream; null when none is configured."),
    sometimes("upstreamGone", Shape::Boolean, "True where the upstream is configured and its ref does not exist."),
    field("ahead", Shape::Count, "Commits on HEAD that the upstream lacks."),
    field("behind", Shape::Count, "Commits on the upstream that HEAD lacks."),
];

const WORKING_TREE: &[Field] = &[
    field("clean", Shape::Boolean, "No rows at all; true for a bare repository."),
    field("staged", Shape::Count, "Rows with an index column, unmerged ones excluded."),
    field("unstaged", Shape::Count, "Rows with a worktree column, unmerged ones excluded."),
    field("untracked", Shape::Count, "Untracked rows."),
    field("conflicted", Shape::Count, "Unmerged rows."),
    sometimes("bare", Shape::Boolean, "True for a bare repository."),
];

const SUBMODULES: &[Field] = &[
    field("total", Shape::Count, "Gitlinks in the index."),
    field("clean", Shape::Count, "Checked out at the recorded commit."),
    field("drifted", Shape::Count, "Checked out at another commit."),
    field("uninitialized", Shape::Count, "Not checked out."),
    field("conflicts", Shape::Count, "Unmerged gitlinks."),
    field("attention", Shape::List(&Shape::Object(SUBMODULE_ROW)), "The first ten that are not clean."),
    field("attentionTruncated", Shape::Boolean, "More than ten are not clean."),
];

const SUBMODULE_ROW: &[Field] = &[
    field("state", Shape::OneOf(&[" ", "-", "+", "U"]), "State letter of `git submodule status`."),
    field("commit", Shape::Text, "Recorded commit; of an unmerged one, our side's."),
    field("path", Shape::Text, "Path relative to the top of the superproject."),
    sometimes("pathEncoding", ESCAPED, "Set where `path` is escaped."),
    field("description", Shape::Text, "Always empty."),
];

const RECENT_COMMIT: &[Field] = &[
    field("sha", Shape::Text, "Abbreviated id."),
    field("subject", Shape::Text, "First paragraph of the message in one line."),
];

const CONVENTIONS: &[Field] = &[
    field(
        "conventionalCommitRatio",
        Shape::Nullable("number from 0 to 1"),
        "Share of the last 50 subjects of the form `type(scope)!: text`; null without commits.",
    ),
    field("defaultBranch", Shape::Nullable("string"), "Target of `refs/remotes/origin/HEAD`."),
];

const ROWS: Shape = Shape::List(&Shape::Object(STATUS_ROW));

const STATUS_ROW: &[Field] = &[
    field("status", Shape::Text, "Two columns: index, worktree."),
    field("path", Shape::Text, "Repository-relative path; the new one of a rename."),
    sometimes("pathEncoding", ESCAPED, "Set where `path` is escaped."),
    sometimes("origPath", Shape::Text, "Old path of a rename."),
    sometimes("origPathEncoding", ESCAPED, "Set where `origPath` is escaped."),
    sometimes(
        "filtered",
        Shape::Boolean,
        "A filter attribute applies: no filter was run, the row rests on size and times.",
    ),
    sometimes("submodule", Shape::Text, "Of a submodule, what differs: C commit, M content, U untracked content."),
];

const TOTALS: &[Field] = &[
    field("staged", Shape::Count, "Rows with an index column."),
    field("unstaged", Shape::Count, "Rows with a worktree column."),
    field("untracked", Shape::Count, "Untracked rows."),
    field("conflicted", Shape::Count, "Unmerged rows."),
];

#[cfg(test)]
mod tests {
    use super::{
        super::agreement::{both, partial},
        *,
    };
    use crate::{path::PathEncoding, results::*};

    fn rich_row() -> StatusRow {
        StatusRow {
            status: "R ".into(),
            path: "new".into(),
            path_encoding: Some(PathEncoding::Escaped),
            orig_path: Some("old".into()),
            orig_path_encoding: Some(PathEncoding::Escaped),
            filtered: true,
            submodule: Some("C".into()),
        }
    }

    fn poor_row() -> StatusRow {
        let rich = rich_row();
        StatusRow {
            path_encoding: None,
            orig_path: None,
            orig_path_encoding: None,
            filtered: false,
            submodule: None,
            ..rich
        }
    }

    #[test]
    fn status_rows_match_the_type() {
        let rich = Status {
            branch: Some("main".into()),
            detached: false,
            head: Some("0".repeat(40)),
            upstream: Some("origin/main".into()),
            upstream_gone: false,
            ahead: 1,
            behind: 2,
            clean: false,
            changed_files: 1,
            entries: vec![rich_row()],
            truncated: true,
            next_cursor: Some("c".into()),
            partial: partial(),
        };
        let poor = Status {
            branch: None,
            head: None,
            upstream: None,
            entries: vec![poor_row()],
            next_cursor: None,
            partial: None,
            ..rich.clone()
        };
        both(&STATUS, &rich, &poor);
    }

    #[test]
    fn changes_rows_match_the_type() {
        let rows = || vec![rich_row()];
        let rich = Changes {
            staged: rows(),
            unstaged: rows(),
            untracked: rows(),
            conflicted: rows(),
            totals: ChangesTotals::default(),
            truncated: true,
            next_cursor: Some("c".into()),
            partial: partial(),
        };
        let poor = Changes { staged: vec![poor_row()], next_cursor: None, partial: None, ..rich.clone() };
        let mut poor = poor;
        (poor.unstaged, poor.untracked, poor.conflicted) = (vec![], vec![], vec![]);
        both(&CHANGES, &rich, &poor);
    }

    #[test]
    fn brief_rows_match_the_type() {
        let attention = SubmoduleRow {
            state: SubmoduleState::Drifted,
            commit: "0".repeat(40),
            path: "sub".into(),
            path_encoding: Some(PathEncoding::Escaped),
            description: String::new(),
        };
        let commit = RecentCommit { sha: "0123456".into(), subject: "fix: it".into() };
        let rich = Brief {
            head: BriefHead {
                branch: Some("main".into()),
                detached: false,
                id: None,
                sha: Some("0123456".into()),
                upstream: None,
                upstream_gone: true,
                ahead: 0,
                behind: 0,
            },
            operation_in_progress: Some(Operation::CherryPick),
            working_tree: BriefWorkingTree {
                clean: true,
                staged: 0,
                unstaged: 0,
                untracked: 0,
                rows: 0,
                conflicted: 0,
                bare: true,
            },
            stashes: 0,
            submodules: BriefSubmodules { attention: vec![attention.clone()], ..BriefSubmodules::default() },
            recent_commits: vec![commit],
            conventions: Conventions { conventional_commit_ratio: Some(0.5), default_branch: None },
            hints: vec!["look".into()],
            partial: partial(),
        };
        let mut poor = Brief { operation_in_progress: None, partial: None, ..rich.clone() };
        poor.head.upstream_gone = false;
        poor.working_tree.bare = false;
        poor.submodules.attention[0].path_encoding = None;
        both(&BRIEF, &rich, &poor);
    }
}
