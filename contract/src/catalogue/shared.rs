//! Arguments and fields that rows of several families share.
//! Trust: constants.

use crate::{
    limits::{MAX_CURSOR_CHARS, MAX_REPO_ID_CHARS},
    tool::{Argument, Field, Kind, Shape},
};

/// Which repository.
pub(super) const REPO_PATH: Argument =
    Argument { name: "repoPath", kind: Kind::Path, required: true, description: "Absolute path." };

/// A label without effect on what is read.
pub(super) const REPO_ID: Argument =
    Argument { name: "repoId", kind: Kind::Text { min: 0, max: MAX_REPO_ID_CHARS }, required: false, description: "" };

/// Where a page starts.
pub(super) const CURSOR: Argument = Argument {
    name: "cursor",
    kind: Kind::Text { min: 0, max: MAX_CURSOR_CHARS },
    required: false,
    description: "Last nextCursor.",
};

/// How many rows a page has at most; `usual` where the caller names no number.
pub(super) const fn limit(usual: u32, most: u32) -> Argument {
    let kind = Kind::Integer { min: 1, max: most as i64, default: Some(usual as i64) };
    Argument { name: "limit", kind, required: false, description: "" }
}

/// Fields of `partial`.
pub(super) const PARTIAL: &[Field] = &[
    field("reason", Shape::Text, "Stable name, for example `deadline`."),
    field("details", Shape::Text, "What was left out and how to get it."),
];

/// The mark of an escaped path.
pub(super) const ESCAPED: Shape = Shape::OneOf(&["escaped"]);

/// A field that every answer has.
pub(super) const fn field(name: &'static str, shape: Shape, description: &'static str) -> Field {
    Field::always(name, shape, description)
}

/// A field that some answers lack.
pub(super) const fn sometimes(name: &'static str, shape: Shape, description: &'static str) -> Field {
    Field::sometimes(name, shape, description)
}
