//! Supervisor ⇄ worker-syntax: one changed file, both texts of it, to hunks by definition.
//! Trust: both sides treat the other as taken over; texts are hostile, and so is all that was made of them.

use super::errand::{ErrandAnswer, ToErrand};
use bincode::{Decode, Encode};
use bulkhead_contract::{
    isolation::Demand,
    results::{FallbackReason, Region, SemanticHunk},
};

/// What a worker-syntax hears.
pub type ToSyntax = ToErrand<Init, Ask>;
/// The whole answer to a question.
pub type Answer = ErrandAnswer<Reply>;

/// Bytes of each text of a hunk: a line, a token, a header.
pub const MAX_TEXT: usize = 2_048;

/// What the operator allows.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Init {
    /// What `--isolation` demands.
    pub demand: Demand,
    /// Private writable memory in bytes (`RLIMIT_DATA`).
    pub memory: u64,
}

/// The one question.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Ask {
    /// The file's path, by which its language is found.
    pub path: Vec<u8>,
    /// The old text.
    pub old: Vec<u8>,
    /// The new text.
    pub new: Vec<u8>,
    /// Which lines differ.
    pub regions: Vec<Region>,
    /// Changed lines to leave out at the beginning.
    pub skip: u32,
    /// Changed lines to tell at most.
    pub lines: u32,
    /// Bytes of their texts at most; one line is always told.
    pub bytes: u32,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Reply {
    /// It was compared.
    Compared(Box<Compared>),
    /// It was not.
    Fallback(FallbackReason),
}

/// A file that was compared by its structure.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Compared {
    /// Name of its language.
    pub language: String,
    /// Those hunks that have lines within the window, with these lines.
    pub hunks: Vec<SemanticHunk>,
    /// All lines that changed, a pair counted once.
    pub changed_lines: u32,
}

impl Compared {
    /// Whether it is within the bounds of what `ask` allows.
    #[must_use]
    pub fn fits(&self, ask: &Ask) -> bool {
        let short = |text: &String| text.len() <= MAX_TEXT;
        let lines = || self.hunks.iter().flat_map(|hunk| &hunk.lines);
        let told = u32::try_from(lines().count()).unwrap_or(u32::MAX);
        let texts = lines().all(|line| {
            let tokens = [&line.changed_tokens, &line.old_changed_tokens].into_iter().flatten().flatten();
            [&line.content].into_iter().chain(&line.old_content).chain(tokens).all(short)
        });
        let headers = self.hunks.iter().all(|hunk| {
            let before = hunk.moved.iter().flat_map(|moved| moved.old_within.iter().flatten());
            hunk.within.iter().chain(before).chain([&hunk.header]).all(short)
        });
        let changed: u64 = ask.regions.iter().map(|region| u64::from(region.old_len) + u64::from(region.new_len)).sum();
        told <= ask.lines
            && u64::from(self.changed_lines) <= changed
            && u64::from(ask.skip) + u64::from(told) <= u64::from(self.changed_lines).max(u64::from(ask.skip))
            && short(&self.language)
            && texts
            && headers
    }
}
