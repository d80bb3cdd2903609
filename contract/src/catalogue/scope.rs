//! Rows of repo.scope (contract `tools.json`, `results.md`, corrected by `corrections.md`).
//! Trust: constants.

use super::shared::*;
use crate::{
    limits::{MAX_PATH_BYTES, SCOPE_COMMITS},
    tool::{Annotations, Argument, Field, Kind, Shape, Tool, Toolset},
};

/// This family.
pub(super) const TOOLS: &[Tool] = &[SCOPE];

/// `repo.scope`.
pub const SCOPE: Tool = Tool {
    name: "repo.scope",
    title: "Scope of a path",
    description: "Call this before editing a file or directory: its changes, latest commits, churn and owners by CODEOWNERS. \
        The path is literal, no glob.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[
        REPO_PATH,
        Argument {
            name: "path",
            kind: Kind::Text { min: 1, max: MAX_PATH_BYTES },
            required: true,
            description: "Relative to the top; `.` is all.",
        },
        Argument {
            name: "recentCommits",
            kind: Kind::Integer { min: 1, max: SCOPE_COMMITS.1 as i64, default: Some(SCOPE_COMMITS.0 as i64) },
            required: false,
            description: "",
        },
        Argument {
            name: "churnDays",
            kind: Kind::Integer { min: 1, max: 365, default: Some(90) },
            required: false,
            description: "",
        },
        REPO_ID,
    ],
    data: &[
        field("scope", Shape::Text, "The path without slashes around it; `.` for all."),
        sometimes("scopeEncoding", ESCAPED, "Set where `scope` is escaped."),
        field("workingTree", Shape::Object(WORKING_TREE), "Changes below the path."),
        field("recentCommits", Shape::List(&Shape::Object(COMMIT)), "Youngest first."),
        field("churn", Shape::Object(CHURN), "Commits of the last days."),
        field("owners", Shape::NullableObject(OWNERS), "Null where there is no CODEOWNERS file."),
        field("hints", Shape::List(&Shape::Text), "What to look at, at most three."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when a part was cut short."),
    ],
};

const WORKING_TREE: &[Field] = &[
    field("changed", Shape::Count, "True number of rows."),
    field("entries", Shape::List(&Shape::Object(ENTRY)), "The first twenty."),
    field("truncated", Shape::Boolean, "There are more."),
];

const ENTRY: &[Field] = &[
    field("status", Shape::Text, "The two columns, trimmed."),
    field("columns", Shape::Text, "Two columns: index, worktree."),
    field("path", Shape::Text, "Repository-relative path; the new one of a rename."),
    sometimes("pathEncoding", ESCAPED, "Set where `path` is escaped."),
    sometimes("origPath", Shape::Text, "Old path of a rename within the scope."),
    sometimes("origPathEncoding", ESCAPED, "Set where `origPath` is escaped."),
];

const COMMIT: &[Field] = &[
    field("sha", Shape::Text, "Abbreviated id."),
    field("subject", Shape::Text, "First paragraph of the message in one line."),
    field("author", Shape::Text, "Author's name."),
    field("date", Shape::Text, "Author time, ISO 8601 with offset."),
];

const CHURN: &[Field] = &[
    field("days", Shape::Count, "Days looked back."),
    field("commits", Shape::Count, "Commits by committer date."),
    field("authors", Shape::Count, "Different names of authors."),
];

const OWNERS: &[Field] = &[
    field("source", Shape::Text, "The file, relative to the top."),
    field("matchedPattern", Shape::Nullable("string"), "The pattern that decides."),
    field("owners", Shape::List(&Shape::Text), "Its owners."),
    field("matching", Shape::Text, "By whose rules."),
];

#[cfg(test)]
mod tests {
    use super::{super::agreement::both, *};
    use crate::{path::PathEncoding, results::*};

    #[test]
    fn the_rows_are_the_type() {
        let escaped = Some(PathEncoding::Escaped);
        let entry = ScopeEntry {
            status: "R".into(),
            columns: "R ".into(),
            path: "p".into(),
            path_encoding: escaped,
            orig_path: Some("o".into()),
            orig_path_encoding: escaped,
        };
        let plain = ScopeEntry { path_encoding: None, orig_path: None, orig_path_encoding: None, ..entry.clone() };
        let commit = ScopeCommit { sha: "a".into(), subject: "s".into(), author: "n".into(), date: "d".into() };
        let rich = Scope {
            scope: "p".into(),
            scope_encoding: escaped,
            working_tree: ScopeWorkingTree { changed: 1, entries: vec![entry], truncated: false },
            recent_commits: vec![commit],
            churn: Churn { days: 1, commits: 1, authors: 1 },
            owners: Some(Owners {
                source: "CODEOWNERS".into(),
                matched_pattern: None,
                owners: vec!["@a".into()],
                matching: "m".into(),
            }),
            hints: vec!["h".into()],
            partial: Some(Partial { reason: "deadline".into(), details: "d".into() }),
        };
        let mut poor = Scope { scope_encoding: None, owners: None, partial: None, ..rich.clone() };
        poor.working_tree.entries = vec![plain];
        both(&SCOPE, &rich, &poor);
    }
}
