//! One side of a file through its grammar: the definitions and the leaves of the tree that stand on changed lines.
//! Trust: the text is hostile and the parser is C: it stops by its own progress callback; the tree is walked without
//! recursion, to a bounded depth.

use super::{
    definition::{self, Shape},
    language::{Definition, Grammar},
    limits::{ERROR_SHARE, FEW_ERRORS, LINES_PER_ERROR, MAX_DEPTH, NODES_PER_LOOK},
    text::{Changed, Text},
};
use bulkhead_contract::results::FallbackReason;
use std::{ops::ControlFlow, time::Instant};
use tree_sitter::{Node, ParseOptions, Parser, Tree};

/// A definition that stands on changed lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its first and its last row.
    pub rows: (u32, u32),
    /// The definition around it.
    pub parent: Option<u32>,
    /// How many are around it.
    pub level: u32,
    /// As hunks name it.
    pub header: String,
}

/// A leaf of the tree that stands on changed lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    /// First byte.
    pub start: u32,
    /// Behind the last byte.
    pub end: u32,
    /// How deep it is nested.
    pub depth: u32,
    /// A comment: blanks within it mean nothing.
    pub comment: bool,
}

/// What a side holds on its changed lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// In the order of the text, outer ones before those within.
    pub definitions: Vec<Found>,
    /// Of each changed row, the innermost definition, by its number in `definitions`.
    pub owners: Vec<Option<u32>>,
    /// In the order of the text.
    pub leaves: Vec<Leaf>,
    /// Bytes that the grammar did not understand.
    pub errors: u64,
}

/// A parser of one language, with what its kinds of nodes mean.
pub struct Reader {
    parser: Parser,
    grammar: &'static Grammar,
    /// By the id of a kind.
    kinds: Vec<Kind>,
}

#[derive(Clone, Copy)]
struct Kind {
    definition: Option<&'static Definition>,
    wrapper: bool,
    comment: bool,
}

impl Reader {
    /// For `grammar`; `None` where this build's parser does not take it.
    #[must_use]
    pub fn new(grammar: &'static Grammar) -> Option<Self> {
        let language = grammar.language();
        let mut parser = Parser::new();
        parser.set_language(&language).ok()?;
        let count = u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX);
        let kind = |id| {
            let name = language.node_kind_for_id(id).unwrap_or_default();
            let named = language.node_kind_is_named(id);
            Kind {
                definition: grammar.definitions.iter().find(|definition| named && definition.kind == name),
                wrapper: named && grammar.wrappers.contains(&name),
                comment: named && name.contains("comment"),
            }
        };
        Some(Self { parser, grammar, kinds: (0..count).map(kind).collect() })
    }

    /// The row that it reads by.
    #[must_use]
    pub fn grammar(&self) -> &'static Grammar {
        self.grammar
    }

    /// Parses `text` and gives what stands on its `changed` rows.
    ///
    /// # Errors
    /// [`FallbackReason::Time`], [`FallbackReason::TooDeep`] or [`FallbackReason::TooManyErrors`].
    pub fn read(&mut self, text: &Text<'_>, changed: &Changed, deadline: Instant) -> Result<Parsed, FallbackReason> {
        if changed.count() == 0 {
            return Ok(Parsed::default());
        }
        let tree = self.tree(text.bytes, deadline)?;
        let mut walk = Walk {
            text,
            changed,
            kinds: &self.kinds,
            deadline,
            nodes: 0,
            errors: Errors::default(),
            open: Vec::new(),
            wrappers: Vec::new(),
            parsed: Parsed { owners: vec![None; changed.count() as usize], ..Parsed::default() },
        };
        walk.run(&tree)?;
        match walk.errors.too_many(text) {
            true => Err(FallbackReason::TooManyErrors),
            false => Ok(Parsed { errors: walk.errors.bytes, ..walk.parsed }),
        }
    }

    fn tree(&mut self, bytes: &[u8], deadline: Instant) -> Result<Tree, FallbackReason> {
        let mut late = |_: &tree_sitter::ParseState| {
            if Instant::now() >= deadline { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut late);
        let tree =
            self.parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options));
        // a parse that was given up would be gone on with otherwise
        self.parser.reset();
        tree.ok_or(FallbackReason::Time)
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("grammar", &self.grammar.name).finish_non_exhaustive()
    }
}

/// What the grammar did not understand: errors, without what was understood within them.
#[derive(Default)]
struct Errors {
    count: u32,
    bytes: u64,
    /// Depths of the errors around the node at hand.
    open: Vec<u32>,
}

impl Errors {
    fn meet(&mut self, node: &Node<'_>, depth: u32) {
        while self.open.last().is_some_and(|outer| *outer >= depth) {
            self.open.pop();
        }
        let within = self.open.last().is_some_and(|outer| outer + 1 == depth);
        let bytes = (node.end_byte() - node.start_byte()) as u64;
        if node.is_error() || node.is_missing() {
            if !within {
                self.count += 1;
                self.bytes += bytes;
            }
            self.open.push(depth);
        } else if within && node.is_named() && node.child_count() > 0 {
            // one error may span a whole file whose definitions are all there
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }

    fn too_many(&self, text: &Text<'_>) -> bool {
        let often = self.count > FEW_ERRORS && self.count.saturating_mul(LINES_PER_ERROR) > text.rows();
        often || self.bytes * ERROR_SHARE > text.bytes.len() as u64
    }
}

/// A walk over one tree.
struct Walk<'w, 's> {
    text: &'w Text<'s>,
    changed: &'w Changed,
    kinds: &'w [Kind],
    deadline: Instant,
    nodes: u32,
    errors: Errors,
    /// Definitions around the node at hand: depth, number.
    open: Vec<(u32, u32)>,
    /// Wrappers around it: depth, first row, not yet taken by a definition.
    wrappers: Vec<(u32, u32, bool)>,
    parsed: Parsed,
}

impl Walk<'_, '_> {
    fn run(&mut self, tree: &Tree) -> Result<(), FallbackReason> {
        let mut cursor = tree.walk();
        let (mut depth, mut down) = (0u32, true);
        loop {
            if down {
                let descend = self.visit(&cursor.node(), depth)?;
                if descend && cursor.goto_first_child() {
                    depth += 1;
                    if depth > MAX_DEPTH {
                        return Err(FallbackReason::TooDeep);
                    }
                    continue;
                }
            }
            if cursor.goto_next_sibling() {
                down = true;
            } else if cursor.goto_parent() {
                (depth, down) = (depth - 1, false);
            } else {
                return Ok(());
            }
        }
    }

    /// Looks at one node; whether to look into it.
    fn visit(&mut self, node: &Node<'_>, depth: u32) -> Result<bool, FallbackReason> {
        self.nodes += 1;
        if self.nodes.is_multiple_of(NODES_PER_LOOK) && Instant::now() >= self.deadline {
            return Err(FallbackReason::Time);
        }
        self.errors.meet(node, depth);
        self.open.truncate(self.open.partition_point(|(outer, _)| *outer < depth));
        self.wrappers.truncate(self.wrappers.partition_point(|(outer, ..)| *outer < depth));
        // a definition changes with its wrapper's lines, though none of its own may have changed
        let wrapped = self.wrappers.last().filter(|(outer, _, free)| outer + 1 == depth && *free).map(|found| found.1);
        let (first, last) = rows(node);
        if !self.changed.touches(wrapped.unwrap_or(first), last) {
            return Ok(node.has_error());
        }
        let kind = self.kinds.get(usize::from(node.kind_id())).copied();
        let Some(kind) = kind else { return Ok(true) };
        if let Some(shape) = kind.definition.and_then(|definition| definition::shape(node, definition)) {
            let first = wrapped.unwrap_or(first);
            if let Some(taken) = self.wrappers.last_mut().filter(|_| wrapped.is_some()) {
                taken.2 = false;
            }
            self.define(&shape, (first, last), depth);
        } else if kind.wrapper {
            self.wrappers.push((depth, wrapped.unwrap_or(first), true));
        }
        if node.child_count() == 0 && node.start_byte() < node.end_byte() {
            let at = |byte: usize| u32::try_from(byte).unwrap_or(u32::MAX);
            let (start, end) = (at(node.start_byte()), at(node.end_byte()));
            self.parsed.leaves.push(Leaf { start, end, depth, comment: kind.comment });
        }
        Ok(true)
    }

    fn define(&mut self, shape: &Shape, rows: (u32, u32), depth: u32) {
        let number = u32::try_from(self.parsed.definitions.len()).unwrap_or(u32::MAX);
        let parent = self.open.last().map(|(_, number)| *number);
        let level = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
        let header = shape.header(self.text);
        self.parsed.definitions.push(Found { rows, parent, level, header });
        self.open.push((depth, number));
        for row in self.changed.within(rows.0, rows.1) {
            let Some(owner) = self.changed.number(row).and_then(|at| self.parsed.owners.get_mut(at)) else { continue };
            // two on one line: the deeper one, and of equals the first
            if owner.is_none_or(|other| self.parsed.definitions[other as usize].level < level) {
                *owner = Some(number);
            }
        }
    }
}

/// First and last row of a node. One that ends with a line feed does not reach the line after it.
fn rows(node: &Node<'_>) -> (u32, u32) {
    let at = |row: usize| u32::try_from(row).unwrap_or(u32::MAX);
    let (start, end) = (node.start_position(), node.end_position());
    let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
    (at(start.row), at(last))
}
