//! Rows of repo.history (contract `tools.json`, `results.md`, corrected by `corrections.md`).
//! Trust: constants.

use super::shared::*;
use crate::{
    limits::{HISTORY_COMMITS, MAX_PATH_BYTES},
    tool::{Annotations, Argument, Field, Kind, Shape, Tool, Toolset},
};

/// This family.
pub(super) const TOOLS: &[Tool] = &[HISTORY];

/// `repo.history`.
pub const HISTORY: Tool = Tool {
    name: "repo.history",
    title: "Commit history",
    description: "Call this to list commits as `git log` does, by revision or range, path, author, message or date. Keep the \
        other arguments when you pass `cursor`.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[
        REPO_PATH,
        limit(HISTORY_COMMITS.0, HISTORY_COMMITS.1),
        CURSOR,
        text("range", 4_096, "Revision, `a..b` or `a...b`."),
        text("path", MAX_PATH_BYTES, ""),
        Argument {
            name: "follow",
            kind: Kind::Boolean { default: Some(false) },
            required: false,
            description: "Through renames of `path`.",
        },
        text("author", 2_048, "Basic regex."),
        text("grep", 2_048, "Basic regex on messages."),
        text("since", 64, "ISO 8601, seconds, `2 weeks ago`."),
        text("until", 64, ""),
        REPO_ID,
    ],
    data: &[
        field("commits", Shape::List(&Shape::Object(COMMIT)), "Youngest first."),
        field("nextCursor", Shape::Nullable("string"), "Null where nothing follows."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when the page ended early or lacks something."),
    ],
};

const fn text(name: &'static str, max: usize, description: &'static str) -> Argument {
    Argument { name, kind: Kind::Text { min: 1, max }, required: false, description }
}

const COMMIT: &[Field] = &[
    field("hash", Shape::Text, "Full id."),
    field("shortHash", Shape::Text, "Abbreviated id."),
    sometimes("parents", Shape::List(&Shape::Text), "Abbreviated ids; absent where it is the next row alone."),
    field("authorName", Shape::Text, "Author's name."),
    field("authorEmail", Shape::Text, "Author's mail address."),
    field("authorTime", Shape::Integer, "Seconds since the epoch."),
    sometimes("commitTime", Shape::Integer, "Committer time, which orders the list; absent where it is `authorTime`."),
    field("subject", Shape::Text, "First paragraph of the message in one line."),
    sometimes("path", Shape::Text, "With `follow`: the path as of this commit."),
    sometimes("pathEncoding", ESCAPED, "Set where `path` is escaped."),
];

#[cfg(test)]
mod tests {
    use super::{super::agreement::both, *};
    use crate::{path::PathEncoding, results::*};

    #[test]
    fn the_rows_are_the_type() {
        let rich = HistoryCommit {
            hash: "a".repeat(40),
            short_hash: "a".repeat(7),
            parents: Some(vec!["b".repeat(7)]),
            author_name: "A".into(),
            author_email: "a@b".into(),
            author_date: String::new(),
            author_time: 1,
            commit_time: Some(2),
            subject: "s".into(),
            path: Some("p".into()),
            path_encoding: Some(PathEncoding::Escaped),
        };
        let poor = HistoryCommit { parents: None, commit_time: None, path: None, path_encoding: None, ..rich.clone() };
        let partial = Some(Partial { reason: "deadline".into(), details: "d".into() });
        both(
            &HISTORY,
            &History { commits: vec![rich], next_cursor: Some("c".into()), partial },
            &History { commits: vec![poor], next_cursor: None, partial: None },
        );
    }
}
