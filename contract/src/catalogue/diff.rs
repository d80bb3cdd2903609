//! Rows of diff.text and commit.details (contract `tools.json`, `results.md`, corrected by `corrections.md`).
//! Trust: constants.

use super::shared::*;
use crate::{
    limits::{
        DEFAULT_COMMIT_PATHS, DEFAULT_DIFF_BYTES, DIFF_CONTEXT, MAX_COMMIT_PATHS, MAX_DIFF_BYTES, MAX_DIFF_PATHS,
        MAX_PATH_BYTES, MAX_REVISION_CHARS,
    },
    tool::{Annotations, Argument, Field, Kind, Shape, Tool, Toolset},
};

/// This family.
pub(super) const TOOLS: &[Tool] = &[TEXT, DETAILS];

const REVISION: Kind = Kind::Text { min: 0, max: MAX_REVISION_CHARS };

const fn revision(name: &'static str, description: &'static str) -> Argument {
    Argument { name, kind: REVISION, required: false, description }
}

pub(super) const BASE: Argument = revision("base", "Old revision, a..b or a...b.");
pub(super) const HEAD: Argument = revision("head", "New revision.");

pub(super) const PATH: Argument = Argument {
    name: "path",
    kind: Kind::Text { min: 0, max: MAX_PATH_BYTES },
    required: false,
    description: "File or directory.",
};

const LIMIT: Argument = limit(DEFAULT_COMMIT_PATHS, MAX_COMMIT_PATHS);

const fn flag(name: &'static str, description: &'static str) -> Argument {
    Argument { name, kind: Kind::Boolean { default: Some(false) }, required: false, description }
}

/// `diff.text`.
pub const TEXT: Tool = Tool {
    name: "diff.text",
    title: "Text diff",
    description: "Call this to see changed lines as `git diff` prints them: working tree against index or `base`, `staged`, or \
        `base` against `head`. Start large ones with `stat`.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[
        REPO_PATH,
        BASE,
        HEAD,
        PATH,
        Argument {
            name: "paths",
            kind: Kind::ListOf { item: &Kind::Text { min: 1, max: MAX_PATH_BYTES }, min: 1, max: MAX_DIFF_PATHS },
            required: false,
            description: "",
        },
        flag("staged", "Index against HEAD or base."),
        flag("stat", "Counts, no text."),
        flag("ignoreWhitespace", ""),
        Argument {
            name: "context",
            kind: Kind::Integer { min: 0, max: DIFF_CONTEXT.1 as i64, default: Some(DIFF_CONTEXT.0 as i64) },
            required: false,
            description: "",
        },
        Argument {
            name: "maxBytes",
            kind: Kind::Integer { min: 1, max: MAX_DIFF_BYTES as i64, default: Some(DEFAULT_DIFF_BYTES as i64) },
            required: false,
            description: "",
        },
        Argument {
            name: "maxLines",
            kind: Kind::Integer { min: 1, max: u32::MAX as i64, default: None },
            required: false,
            description: "",
        },
        LIMIT,
        CURSOR,
        REPO_ID,
    ],
    data: &[
        field("format", Shape::OneOf(&["text"]), "Always `text`."),
        field("base", Shape::Nullable("string"), "As it was asked."),
        field("head", Shape::Nullable("string"), "As it was asked."),
        field("path", Shape::Nullable("string"), "As it was asked; null where it does not narrow."),
        field("diff", Shape::Text, "The text, cut at a line."),
        field("truncated", Shape::Boolean, "Text or rows follow."),
        field("totalBytes", Shape::Count, "Bytes of the whole text, or after a cursor of the rest of it."),
        field("totalLines", Shape::Count, "Its lines."),
        field("maxBytes", Shape::Count, "The limit that applied."),
        field("totalFiles", Shape::Count, "Changed files in what was scanned."),
        sometimes("files", FILES, "With `stat`: rows by path."),
        sometimes("omitted", Shape::List(&Shape::Object(OMITTED)), "Changed files whose text is not shown."),
        sometimes("omittedTotal", Shape::Count, "How many there are."),
        sometimes("algorithm", Shape::Text, "Set where it is not Git's default."),
        sometimes("lossy", Shape::Boolean, "Bytes that are not UTF-8 stand as U+FFFD."),
        sometimes("nextCursor", Shape::Text, "Pass it back as `cursor` to go on."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when the scan stopped early: totals are lower bounds."),
    ],
};

/// `commit.details`.
pub const DETAILS: Tool = Tool {
    name: "commit.details",
    title: "Commit details",
    description: "Call this to read one commit: people, times, message, changed files with line counts (of a merge against \
        its first parent). For lines: diff.text.",
    toolset: Toolset::Inspect,
    annotations: Annotations::LOCAL_READ,
    source: "local-git",
    arguments: &[
        REPO_PATH,
        Argument {
            name: "commit",
            kind: Kind::Text { min: 1, max: MAX_REVISION_CHARS },
            required: true,
            description: "",
        },
        LIMIT,
        CURSOR,
        REPO_ID,
    ],
    data: &[
        field("commit", Shape::Object(COMMIT), "The commit."),
        field("files", FILES, "This page of changed files, by path."),
        field("totalFiles", Shape::Count, "True number of changed files."),
        field("comparedWith", Shape::Nullable("string"), "The parent compared with; null for the empty tree."),
        field("truncated", Shape::Boolean, "Files follow after this page."),
        sometimes("nextCursor", Shape::Text, "Pass it back as `cursor` to get the files after this page."),
        sometimes("partial", Shape::Object(PARTIAL), "Set when counting stopped early."),
    ],
};

const FILES: Shape = Shape::List(&Shape::Object(FILE));

const OMISSION: Shape = Shape::OneOf(&["too-large", "filtered", "unreadable", "missing"]);

const FILE: &[Field] = &[
    field("status", Shape::Text, "A, D, M, R, T as in `git diff --name-status`; U for an unmerged path."),
    field("path", Shape::Text, "Repository-relative path; the new one of a rename."),
    sometimes("pathEncoding", ESCAPED, "Set where `path` is escaped."),
    sometimes("oldPath", Shape::Text, "Old path of a rename."),
    sometimes("oldPathEncoding", ESCAPED, "Set where `oldPath` is escaped."),
    sometimes("similarity", Shape::Count, "Likeness of a rename in per cent."),
    sometimes("added", Shape::Count, "Added lines; absent where lines were not counted."),
    sometimes("removed", Shape::Count, "Removed lines; absent where lines were not counted."),
    sometimes("binary", Shape::Boolean, "The file is binary."),
    sometimes("omitted", OMISSION, "Why lines were not counted."),
];

const OMITTED: &[Field] = &[
    field("path", Shape::Text, "Repository-relative path."),
    sometimes("pathEncoding", ESCAPED, "Set where `path` is escaped."),
    field("reason", OMISSION, "Why."),
];

const COMMIT: &[Field] = &[
    field("hash", Shape::Text, "Full id."),
    field("shortHash", Shape::Text, "Abbreviated id."),
    field("authorName", Shape::Text, "Author's name."),
    field("authorEmail", Shape::Text, "Author's address."),
    field("authorTime", Shape::Integer, "Author time in seconds since the epoch."),
    field("committerName", Shape::Text, "Committer's name."),
    field("committerEmail", Shape::Text, "Committer's address."),
    field("committerTime", Shape::Integer, "Committer time in seconds since the epoch."),
    field("parents", Shape::List(&Shape::Text), "Full ids, at most a hundred."),
    field("parentsTotal", Shape::Count, "True number of parents."),
    field("message", Shape::Text, "The message without the line ends behind it."),
    sometimes("messageTruncated", Shape::Boolean, "The message is cut."),
    field("signed", Shape::Boolean, "A signature is there; it was not verified."),
    sometimes("shallow", Shape::Boolean, "The history of this clone ends here."),
];

#[cfg(test)]
mod tests {
    use super::{
        super::agreement::{both, partial},
        *,
    };
    use crate::{path::PathEncoding, results::*};

    const ESCAPED: Option<PathEncoding> = Some(PathEncoding::Escaped);

    fn row() -> FileChange {
        FileChange {
            status: "R".into(),
            path: "new".into(),
            path_encoding: ESCAPED,
            old_path: Some("old".into()),
            old_path_encoding: ESCAPED,
            similarity: Some(90),
            added: Some(1),
            removed: Some(2),
            binary: true,
            omitted: Some(Omission::TooLarge),
        }
    }

    fn bare_row() -> FileChange {
        FileChange {
            path_encoding: None,
            old_path: None,
            old_path_encoding: None,
            similarity: None,
            added: None,
            removed: None,
            binary: false,
            omitted: None,
            ..row()
        }
    }

    #[test]
    fn the_text_diff_agrees_with_its_rows() {
        let omitted = OmittedFile { path: "p".into(), path_encoding: ESCAPED, reason: Omission::Filtered };
        let rich = TextDiff {
            format: DiffFormat::Text,
            base: Some("HEAD".into()),
            head: None,
            path: None,
            diff: "d".into(),
            truncated: true,
            total_bytes: 1,
            total_lines: 1,
            max_bytes: 1,
            total_files: 1,
            files: Some(vec![row()]),
            omitted: vec![omitted.clone()],
            omitted_total: Some(1),
            algorithm: Some("histogram".into()),
            lossy: true,
            next_cursor: Some("c".into()),
            partial: partial(),
        };
        let poor = TextDiff {
            files: None,
            omitted: Vec::new(),
            omitted_total: None,
            algorithm: None,
            lossy: false,
            next_cursor: None,
            partial: None,
            ..rich.clone()
        };
        both(&TEXT, &rich, &poor);
    }

    #[test]
    fn commit_details_agree_with_their_rows() {
        let commit = DetailedCommit {
            hash: "h".into(),
            short_hash: "h".into(),
            author_name: "a".into(),
            author_email: "a".into(),
            author_time: 1,
            committer_name: "c".into(),
            committer_email: "c".into(),
            committer_time: 1,
            parents: vec!["p".into()],
            parents_total: 1,
            message: "m".into(),
            message_truncated: true,
            signed: true,
            shallow: true,
        };
        let rich = CommitDetails {
            commit,
            files: vec![row()],
            total_files: 1,
            compared_with: Some("p".into()),
            truncated: true,
            next_cursor: Some("c".into()),
            partial: partial(),
        };
        let mut poor = CommitDetails { files: vec![bare_row()], next_cursor: None, partial: None, ..rich.clone() };
        (poor.commit.message_truncated, poor.commit.shallow) = (false, false);
        both(&DETAILS, &rich, &poor);
    }
}
