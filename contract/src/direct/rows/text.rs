//! Files as they are in a revision or in the working tree: text, lines with their commits, names.
//! Trust: constants.

use super::{MAX_NAME, MAX_PATH, optional, read, result, text};
use crate::tool::{Field, Shape, Tool};

/// This family.
pub(super) const TOOLS: &[Tool] = &[
    read(
        "repo_show_file",
        "A file of a revision",
        "Call this for the text of one file as it is in a revision. Long texts are cut, and say so at their end.",
        &[text("rev", MAX_NAME, "A revision; `:0` for the index."), text("path", MAX_PATH, "Relative to the root.")],
        &result(Shape::Text, "The text; bytes that are none stand as U+FFFD."),
    ),
    read(
        "repo_annotate",
        "Lines and their commits",
        "Call this to know which commit each line of a file comes from. Without `rev` the file of the working tree is \
         looked at; lines that are not committed have an id of zeros.",
        &[text("path", MAX_PATH, "Relative to the root."), optional("rev", MAX_NAME, "A revision.")],
        &result(
            Shape::List(&Shape::Object(&[
                Field::always("id", Shape::Text, "Full id of the commit."),
                Field::always("line", Shape::Count, "From one."),
                Field::always("content", Shape::Text, "Without its end."),
                Field::always("author", Shape::Nullable("string"), "The author's name."),
                Field::always("date", Shape::Nullable("string"), "The author's date with its offset."),
                Field::always("date_unix", Shape::Integer, "The same in seconds since 1970."),
            ])),
            "In the order of the file.",
        ),
    ),
    read(
        "repo_list_files",
        "Names of files",
        "Call this for the names of all tracked files, or of those of a revision.",
        &[optional("rev", MAX_NAME, "A revision; the index where absent.")],
        &result(Shape::List(&Shape::Text), "Relative to the root, in Git's order."),
    ),
];
