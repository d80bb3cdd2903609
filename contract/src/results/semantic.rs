//! What a semantic diff says of a changed file: hunks by definition, lines, and why a file is left to the text diff.
//! Trust: see the module above.

use bincode::{Decode, Encode};
use serde::Serialize;

/// Changed lines within one definition.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SemanticHunk {
    /// The innermost definition that the lines are in, as far as its parameters; empty outside of any.
    pub header: String,
    /// The definitions around that one, outermost first, at most eight.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub within: Vec<String>,
    /// Set where it is no change of what is written, but of how or where.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<HunkChange>,
    /// Of a definition that moved within its file: where it was and is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<Moved>,
    /// The lines: first as they stand in the old file, then as in the new one, where they cannot be paired.
    pub lines: Vec<SemanticLine>,
}

/// What a hunk is, other than an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HunkChange {
    /// Blanks and line ends alone: tokens and their nesting are the same.
    Whitespace,
    /// The same lines in another order.
    Reordered,
    /// A definition that stands elsewhere in the file with the same tokens.
    Moved,
}

/// Where a definition was and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Moved {
    /// Its first line in the old file.
    pub old_line: u32,
    /// Its first line in the new file.
    pub new_line: u32,
    /// The definitions around it before, outermost first, where they are others now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_within: Option<Vec<String>>,
}

/// One changed line, or a pair of an old and a new one.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SemanticLine {
    /// What became of it.
    #[serde(rename = "type")]
    pub kind: LineKind,
    /// Number in the old file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_line: Option<u32>,
    /// Number in the new file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_line: Option<u32>,
    /// Its text, without the line feed; the new one of a pair.
    pub content: String,
    /// The old text of a pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_content: Option<String>,
    /// Of a pair: tokens of the new text that the old one lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_tokens: Option<Vec<String>>,
    /// Of a pair: tokens of the old text that the new one lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_changed_tokens: Option<Vec<String>>,
    /// A text or a list of tokens here is cut: the line is too long.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LineKind {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// It is a pair.
    Modified,
}

/// Why a file was not compared by its structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FallbackReason {
    /// No grammar is there for files of this name.
    UnsupportedLanguage,
    /// A side is larger than what is parsed, or has too many lines.
    TooLarge,
    /// The grammar does not understand large parts of it.
    TooManyErrors,
    /// It is nested too deeply.
    TooDeep,
    /// Parsing took too long.
    Time,
    /// A side is no UTF-8.
    NotUtf8,
    /// A side is binary.
    Binary,
    /// The process that parsed it ended.
    ParserCrashed,
    /// The process that parses cannot be had.
    EngineUnavailable,
    /// It is, or was, a submodule or a symbolic link.
    NotAFile,
    /// It is unmerged.
    Unmerged,
    /// A filter attribute applies to the file on disk, and no filter is run.
    Filtered,
    /// The file on disk cannot be read.
    Unreadable,
    /// The blob is not in this clone, or is damaged.
    Missing,
}

impl FallbackReason {
    /// The reason in a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::UnsupportedLanguage => "There is no grammar for files of this name.",
            Self::TooLarge => "It is too large to be parsed.",
            Self::TooManyErrors => "Large parts of it are not understood by the grammar of its language.",
            Self::TooDeep => "It is nested too deeply to be parsed.",
            Self::Time => "Parsing it took too long.",
            Self::NotUtf8 => "It is no UTF-8 text.",
            Self::Binary => "It is binary.",
            Self::ParserCrashed => "The process that parsed it ended; no other file was affected.",
            Self::EngineUnavailable => "The process that parses cannot be started now.",
            Self::NotAFile => "It is or was a submodule or a symbolic link.",
            Self::Unmerged => "It is unmerged: ask conflict.read.",
            Self::Filtered => "A filter attribute applies to it, and no filter is run.",
            Self::Unreadable => "The file on disk cannot be read.",
            Self::Missing => "Its contents are not in this clone, or are damaged.",
        }
    }
}

/// Lines that differ: `old_len` lines from `old_start` on are replaced by `new_len` lines from `new_start` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Region {
    /// First old line, counted from 0.
    pub old_start: u32,
    /// Old lines.
    pub old_len: u32,
    /// First new line, counted from 0.
    pub new_start: u32,
    /// New lines.
    pub new_len: u32,
}
