//! The rows of the direct surface, in the order in which they are listed (contract `direct/tools.json`).
//! Trust: constants; names looked up here come from callers and are only compared.

mod history;
mod state;
mod text;
mod writes;

use crate::tool::{self, Annotations, Argument, Field, Kind, Shape, Tool, Toolset};

/// Longest path of the direct surface, in Unicode scalar values.
const MAX_PATH: usize = 4_096;
/// Longest revision or name.
const MAX_NAME: usize = crate::limits::MAX_REF_CHARS;
/// Where Git's own counters end; larger numbers are taken for this one.
pub(super) const MAX_COUNT: i64 = 2_147_483_647;

/// The families in the order of the list.
const FAMILIES: [&[Tool]; 4] = [state::TOOLS, history::TOOLS, text::TOOLS, writes::TOOLS];

/// Every tool.
pub static TOOLS: &[Tool] = &tool::joined::<{ tool::count(&FAMILIES) }>(&FAMILIES);

/// A tool that reads.
const fn read(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    arguments: &'static [Argument],
    data: &'static [Field],
) -> Tool {
    let annotations = Annotations::LOCAL_READ;
    Tool { name, title, description, toolset: Toolset::Repo, annotations, source: "local-git", arguments, data }
}

/// A text that must be there; which texts are refused is for the rules to say.
const fn text(name: &'static str, max: usize, description: &'static str) -> Argument {
    Argument { name, kind: Kind::Text { min: 0, max }, required: true, description }
}

/// A text that may be left out, or be null.
const fn optional(name: &'static str, max: usize, description: &'static str) -> Argument {
    Argument { name, kind: Kind::Text { min: 0, max }, required: false, description }
}

/// How many at most.
const fn count(name: &'static str, description: &'static str) -> Argument {
    let kind = Kind::Integer { min: 0, max: MAX_COUNT, default: None };
    Argument { name, kind, required: true, description }
}

/// The one field of results that are no objects: structured content has to be one, text has the value alone.
const fn result(shape: Shape, description: &'static str) -> [Field; 1] {
    [Field::always(super::WRAPPED, shape, description)]
}
