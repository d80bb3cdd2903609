//! diff.semantic and diff.semanticFallbacks (contract `results.md`, corrected by `corrections.md`).
//! Trust: see the module above.

use super::Partial;
use crate::path::PathEncoding;
use bincode::{Decode, Encode};
use serde::Serialize;

/// `diff.semantic` or `diff.semanticFallbacks`, by what was asked and by what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Semantic {
    /// `diff.semantic`: some file was compared by its structure.
    Diff(SemanticDiff),
    /// `diff.semantic`: none was.
    Text(SemanticAsText),
    /// `diff.semanticFallbacks`.
    Fallbacks(SemanticFallbacks),
}

/// `diff.semantic` where at least one file was compared by its structure, or nothing differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SemanticDiff {
    /// Always true.
    pub supported: bool,
    /// `tree-sitter`, `none` in a build without grammars, or `fluxgit-diff-engine` where an engine behind the gateway compared.
    pub engine: String,
    /// As it was asked, or null.
    pub base: Option<String>,
    /// As it was asked, or null.
    pub head: Option<String>,
    /// As it was asked, or null where it does not narrow.
    pub path: Option<String>,
    /// This page of changed files, by path.
    pub files: Vec<SemanticFile>,
    /// How many there are.
    #[serde(flatten)]
    pub extent: SemanticExtent,
}

/// What one page of changed files is a page of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SemanticExtent {
    /// True number of changed files.
    pub changed_files: u64,
    /// Files, or lines of the last one here, follow after this page.
    pub files_truncated: bool,
    /// Where the page ends.
    #[serde(flatten)]
    pub end: SemanticEnd,
}

/// Where a page ends, and what it lacks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SemanticEnd {
    /// Pass it back as `cursor` to go on with what follows after this page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Set where the scan stopped early: numbers are then lower bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SemanticFile {
    /// Repository-relative path; the new one of a rename.
    pub path: String,
    /// Set where `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<PathEncoding>,
    /// Old path of a rename.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// Set where `old_path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_path_encoding: Option<PathEncoding>,
    /// The language it was parsed as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// It was not compared by its structure: `reason` says why.
    pub fallback_to_text: bool,
    /// What changed, in the order of the file; none where it was not compared.
    pub hunks: Vec<SemanticHunk>,
    /// Lines that changed, shown or not, a pair of an old and a new line counted once; absent where it was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_lines: Option<u64>,
    /// Some of them stand on another page; absent where it was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines_truncated: Option<bool>,
    /// Why it was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<FallbackReason>,
    /// The same in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    /// Arguments of `diff.text` that show this file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_diff_arguments: Option<TextDiffArguments>,
}

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
    /// It is the same on both sides; only an engine behind the gateway shows such lines.
    Unchanged,
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
    /// The build has no grammars at all (Cargo feature `grammars`).
    NoGrammars,
    /// There is no grammar for files of this name here, and an engine behind the gateway does not compare it either.
    LeftByGateway,
}

impl FallbackReason {
    /// Whether a grammar is what the file lacks, so that another engine may have one.
    #[must_use]
    pub fn lacks_grammar(self) -> bool {
        matches!(self, Self::UnsupportedLanguage | Self::NoGrammars)
    }

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
            Self::NoGrammars => "There are no grammars in this build.",
            Self::LeftByGateway => "The engine behind the gateway does not compare it either.",
        }
    }
}

/// `diff.semantic` where no file was compared by its structure: the text diff to ask for instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SemanticAsText {
    /// Always false.
    pub supported: bool,
    /// Always `diff.text`.
    pub fallback: String,
    /// Why.
    pub reason: String,
    /// Arguments for it.
    pub text_diff_arguments: TextDiffArguments,
    /// Where the page ends.
    #[serde(flatten)]
    pub end: SemanticEnd,
}

/// Arguments of `diff.text` that answer the same question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextDiffArguments {
    /// Canonical path of the repository.
    pub repo_path: String,
    /// As it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// As it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// As it was asked, or the file's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// `diff.semanticFallbacks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SemanticFallbacks {
    /// As in [`SemanticDiff`].
    pub engine: String,
    /// Files of this page.
    pub analyzed_files: u64,
    /// One row for each file that is answered as text.
    pub fallbacks: Vec<SemanticFallback>,
    /// How many files there are.
    #[serde(flatten)]
    pub extent: SemanticExtent,
}

/// One file that is answered as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SemanticFallback {
    /// Always `diff.semantic`.
    pub from: String,
    /// Always `diff.text`.
    pub to: String,
    /// Always false.
    pub supported: bool,
    /// Why.
    pub reason: FallbackReason,
    /// The same in a sentence.
    pub details: String,
    /// Canonical path of the repository.
    pub repo_path: String,
    /// The file; null for all that was asked about.
    pub path: Option<String>,
    /// Set where `path` is escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_encoding: Option<PathEncoding>,
}

impl SourcePair {
    /// Bytes that it counts for on a page ([`crate::limits::MAX_SEMANTIC_PAGE`]).
    #[must_use]
    pub fn weight(&self) -> usize {
        let texts = match &self.sources {
            Sources::Texts { old, new, regions } => {
                old.len() + new.len() + regions.len() * crate::limits::SEMANTIC_REGION_BYTES
            }
            Sources::None(_) => 0,
        };
        texts + self.path.len() + self.old_path.as_ref().map_or(0, Vec::len)
    }
}

/// What a read worker knows of the files that a semantic diff is about; never shown to a caller as it is.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SemanticSources {
    /// Canonical path of the repository.
    pub repo_path: String,
    /// The path that was asked about, where it narrows.
    pub path: Option<String>,
    /// This page of changed files, by path.
    pub files: Vec<SourcePair>,
    /// True number of changed files.
    pub changed_files: u64,
    /// Files follow after these.
    pub more: bool,
    /// Changed lines of the first file that stand on pages before this one.
    pub skip: u32,
    /// Set where the scan stopped early.
    pub partial: Option<Partial>,
}

/// Both sides of a changed file.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct SourcePair {
    /// Repository-relative path; the new one of a rename.
    pub path: Vec<u8>,
    /// Old path of a rename.
    pub old_path: Option<Vec<u8>>,
    /// What there is to compare.
    pub sources: Sources,
}

/// What there is to compare.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Sources {
    /// Both texts and which lines of them differ.
    Texts {
        /// The old text; empty where the file is new.
        old: Vec<u8>,
        /// The new text; empty where the file is gone.
        new: Vec<u8>,
        /// What differs, in order, without overlap.
        regions: Vec<Region>,
    },
    /// Nothing: the file is answered as text.
    None(FallbackReason),
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
