//! What is parsed at most, and when a parse is given up.
//! Trust: constants; the engine reads its bounds here.

/// Bytes of one side of a file. A grammar may need some hundred bytes of memory for each byte of source.
pub const MAX_SOURCE: usize = 1 << 20;
/// Lines of one side of a file.
pub const MAX_LINES: u32 = 50_000;
/// Nesting of nodes that is walked; real sources stay far below.
pub const MAX_DEPTH: u32 = 1_000;
/// Errors that are too many where there is more than one to [`LINES_PER_ERROR`] lines.
pub const FEW_ERRORS: u32 = 5;
/// See [`FEW_ERRORS`].
pub const LINES_PER_ERROR: u32 = 4;
/// The part of a text that may stand within errors: one in so many bytes.
pub const ERROR_SHARE: u64 = 4;
/// Nodes between two looks at the clock.
pub const NODES_PER_LOOK: u32 = 1_024;
/// Pairs of lines of one region whose likeness is measured; a larger one has only lines paired that are the same but for
/// blanks.
pub const MAX_PAIRINGS: u64 = 160_000;
/// Pairs of lines of one file whose likeness is measured.
pub const MAX_FILE_PAIRINGS: u64 = 1_000_000;
/// Pairs of tokens of one pair of lines that are compared; beyond, all between the common ends counts as changed.
pub const MAX_TOKEN_PAIRINGS: usize = 1 << 16;
/// Bytes of a line that are shown.
pub const SHOWN_LINE: usize = 2_000;
/// Changed tokens of one side of a line that are shown.
pub const SHOWN_TOKENS: usize = 200;
/// Characters of a header.
pub const MAX_HEADER: usize = 160;
/// Definitions around another that are named.
pub const MAX_WITHIN: usize = 8;
/// Bytes that a definition needs, blanks aside, to be told from others, and so to be called moved.
pub const MIN_MOVED: usize = 24;
/// Bytes of definitions that are looked at for moves, those of definitions within others again; beyond, none is told.
pub const MAX_MOVED: usize = 8 << 20;
