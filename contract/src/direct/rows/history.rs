//! Commits: the log, common ancestors, the operation log of other backends, restore points.
//! Trust: constants.

use super::{MAX_NAME, count, read, result, text};
use crate::tool::{Argument, Field, Kind, Shape, Tool};

/// Where `repo_restore_points` stops listing.
const POINTS: i64 = 200;

/// This family.
pub(super) const TOOLS: &[Tool] = &[
    read(
        "repo_log",
        "Commits",
        "Call this for commits that a revision or a range reaches, newest first: id, subject, author, date.",
        &[text("revspec_or_revset", MAX_NAME, "A revision, `a..b` or `a...b`."), count("max", "Commits at most.")],
        &result(
            Shape::List(&Shape::Object(&[
                Field::always("id", Shape::Text, "Full id."),
                Field::always("description", Shape::Text, "The subject."),
                Field::always("author", Shape::Nullable("string"), "The author's name."),
                Field::always("date", Shape::Nullable("string"), "The author's date with its offset."),
            ])),
            "Newest first.",
        ),
    ),
    read(
        "repo_merge_base",
        "Common ancestor",
        "Call this for the best common ancestor of two revisions; null when there is none.",
        &[text("a", MAX_NAME, "A revision."), text("b", MAX_NAME, "Another.")],
        &result(Shape::Nullable("string"), "Full id."),
    ),
    read(
        "repo_op_log",
        "Operation log",
        "Call this on a repository of Jujutsu for its operations. Git keeps no such log: repo_restore_points has what can \
         be gone back to.",
        &[count("max", "Operations at most.")],
        &result(Shape::List(&Shape::Object(&[])), "Newest first."),
    ),
    read(
        "repo_restore_points",
        "Restore points",
        "Call this to see what can be gone back to: a restore point is made before every write here that could lose \
         something.",
        &[Argument {
            name: "max",
            kind: Kind::Integer { min: 0, max: POINTS, default: Some(20) },
            required: false,
            description: "Restore points at most.",
        }],
        &result(
            Shape::List(&Shape::Object(&[
                Field::always("id", Shape::Text, "For repo_restore."),
                Field::always("made", Shape::Text, "When."),
                Field::always("before", Shape::Text, "The tool before which it was made."),
                Field::always("branch", Shape::Nullable("string"), "Branch that was checked out."),
                Field::always("head", Shape::Nullable("string"), "Full id of HEAD."),
                Field::always(
                    "during",
                    Shape::Nullable("string"),
                    "The operation that was open; it will not be open again.",
                ),
            ])),
            "Newest first.",
        ),
    ),
];
