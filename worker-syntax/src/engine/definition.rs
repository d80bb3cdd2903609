//! Whether a node defines something, and how a hunk names it: its text as far as its parameters, its value or its body.
//! Trust: nodes are those of a hostile text; chains of them are followed for a few steps, headers are cut.

use super::{
    language::{Definition, Needs},
    limits::MAX_HEADER,
    text::Text,
};
use tree_sitter::Node;

/// Declarators within declarators that are followed to a function's parameters.
const MAX_DECLARATORS: usize = 16;
/// Fields at which a header ends.
const ENDS: &[&str] = &["body", "parameters", "value"];
/// Kinds that stand before a definition's own words.
const BEFORE: &[&str] = &["decorator", "annotation", "marker_annotation", "modifiers", "attribute_declaration"];
/// Kinds that make up a heading of its own.
const HEADINGS: &[&str] = &["atx_heading", "setext_heading"];

/// Where a definition's header stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    start: usize,
    end: usize,
    /// Nothing in the grammar says where it ends.
    open: bool,
    prefix: &'static str,
}

/// The shape of `node` as that kind of definition; `None` where it lacks what the kind needs.
#[must_use]
pub fn shape(node: &Node<'_>, definition: &Definition) -> Option<Shape> {
    let mut end = end_of(node);
    match definition.needs {
        Needs::Nothing => {}
        Needs::Body => _ = node.child_by_field_name("body")?,
        Needs::Child(kinds) => {
            let mut cursor = node.walk();
            let found = node.children(&mut cursor).find(|child| kinds.contains(&child.kind()))?;
            // a heading is all of it; a value in no field of its own ends it
            end = if HEADINGS.contains(&found.kind()) { found.end_byte() } else { end.min(found.start_byte()) };
        }
    }
    Some(Shape { start: start_of(node), end, open: end == node.end_byte(), prefix: definition.prefix })
}

/// Where the words begin: behind decorators and annotations.
fn start_of(node: &Node<'_>) -> usize {
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        if !BEFORE.contains(&child.kind()) {
            return child.start_byte();
        }
        if child.kind() == "modifiers" {
            // annotations and words in one node: from the first word on
            let mut inner = child.walk();
            if let Some(word) = child.children(&mut inner).find(|one| !BEFORE.contains(&one.kind())) {
                return word.start_byte();
            }
        }
    }
    node.start_byte()
}

fn end_of(node: &Node<'_>) -> usize {
    let mut end = node.end_byte();
    let mut at = *node;
    for _ in 0..MAX_DECLARATORS {
        let ends = ENDS.iter().filter_map(|field| at.child_by_field_name(field));
        end = ends.map(|child| child.start_byte()).fold(end, usize::min);
        match at.child_by_field_name("declarator") {
            Some(inner) => at = inner,
            None => break,
        }
    }
    // in `type T struct { … }` what follows the name is its value
    match node.kind() {
        "type_spec" => node.child_by_field_name("type").map_or(end, |inner| end.min(inner.start_byte())),
        _ => end,
    }
}

impl Shape {
    /// The header: one line, blanks as single spaces, without the sign that opens what follows it, cut with an ellipsis.
    #[must_use]
    pub fn header(&self, text: &Text<'_>) -> String {
        let bytes = text.bytes.get(self.start..self.end).unwrap_or_default();
        // far more than is shown, far less than a body without an end
        let bytes = &bytes[..bytes.len().min(MAX_HEADER * 8)];
        let all = String::from_utf8_lossy(bytes);
        // what has neither body nor value in its grammar ends where either would begin
        let head = if self.open { all.split(['{', '\n']).next().unwrap_or_default() } else { &all };
        let words: Vec<&str> = head.split_whitespace().collect();
        let joined = words.join(" ");
        let joined = joined.trim_end_matches([':', '=', '{', '(', ';', ' ']);
        let mut header: String = self.prefix.chars().chain(joined.chars()).take(MAX_HEADER).collect();
        if self.prefix.chars().count() + joined.chars().count() > MAX_HEADER {
            header.push('\u{2026}');
        }
        header
    }
}
