//! A changed file from two texts to hunks, a page of them at a time.
//! Trust: texts and regions come from a peer; what does not fit together is refused, what is too much falls back by name.

use super::{
    hunks::{Hunk, Owner, Sides},
    language::Grammar,
    limits::{MAX_LINES, MAX_SOURCE, MAX_TOKEN_PAIRINGS, MAX_WITHIN, SHOWN_LINE, SHOWN_TOKENS},
    moved::Moves,
    pairs::{Bags, Lines},
    parse::{Parsed, Reader},
    rows::{self, Row},
    text::{Changed, Text, fit},
    tokens::{self, Token, Tokens},
};
use bulkhead_contract::results::{FallbackReason, HunkChange, LineKind, Moved, Region, SemanticHunk, SemanticLine};
use std::time::Instant;

/// A changed file.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'p> {
    /// Its path, by which its language is found.
    pub path: &'p [u8],
    /// The old text.
    pub old: &'p [u8],
    /// The new text.
    pub new: &'p [u8],
    /// Which lines of them differ.
    pub regions: &'p [Region],
}

/// Which of its lines are told.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Lines to leave out at the beginning.
    pub skip: u32,
    /// Lines at most.
    pub lines: u32,
    /// Bytes of their texts at most; one line is always told.
    pub bytes: u32,
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compared {
    /// Name of its language.
    pub language: &'static str,
    /// Those hunks that have lines within the window, with these lines.
    pub hunks: Vec<SemanticHunk>,
    /// All lines that changed, a pair counted once.
    pub changed_lines: u32,
}

/// Why a file is not compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It falls back.
    Fallback(FallbackReason),
    /// The regions are not those of the texts: no honest peer says so.
    Malformed,
}

impl From<FallbackReason> for Refused {
    fn from(reason: FallbackReason) -> Self {
        Refused::Fallback(reason)
    }
}

/// Compares files; keeps a parser for each language that it met.
#[derive(Debug, Default)]
pub struct Engine {
    readers: Vec<Reader>,
}

impl Engine {
    /// What changed in `pair`.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn compare(&mut self, pair: Pair<'_>, window: Window, deadline: Instant) -> Result<Compared, Refused> {
        let mut grammar = Grammar::of(pair.path).ok_or(FallbackReason::UnsupportedLanguage)?;
        if pair.old.len().max(pair.new.len()) > MAX_SOURCE {
            return Err(FallbackReason::TooLarge.into());
        }
        let (old, new) = (Text::new(pair.old), Text::new(pair.new));
        if !fit(pair.regions, old.rows(), new.rows()) {
            return Err(Refused::Malformed);
        }
        if old.rows().max(new.rows()) > MAX_LINES {
            return Err(FallbackReason::TooLarge.into());
        }
        for text in [pair.old, pair.new] {
            if text.contains(&0) {
                return Err(FallbackReason::Binary.into());
            }
            if std::str::from_utf8(text).is_err() {
                return Err(FallbackReason::NotUtf8.into());
            }
        }
        let olds = pair.regions.iter().map(|region| region.old_start..region.old_start + region.old_len);
        let news = pair.regions.iter().map(|region| region.new_start..region.new_start + region.new_len);
        let (olds, news) = (Changed::new(olds, old.rows()), Changed::new(news, new.rows()));
        let mut parsed = self.parse(grammar, (&old, &olds), (&new, &news), deadline);
        if let Some(second) = grammar.second.and_then(Grammar::named)
            && errors(&parsed) > 0
        {
            let other = self.parse(second, (&old, &olds), (&new, &news), deadline);
            if errors(&other) < errors(&parsed) {
                (grammar, parsed) = (second, other);
            }
        }
        let (old_parsed, new_parsed) = parsed?;
        let old_tokens = Tokens::new(&old, &olds, &old_parsed.leaves);
        let new_tokens = Tokens::new(&new, &news, &new_parsed.leaves);
        let sides = Sides {
            old: Lines { text: &old, changed: &olds, tokens: &old_tokens },
            new: Lines { text: &new, changed: &news, tokens: &new_tokens },
            old_parsed: &old_parsed,
            new_parsed: &new_parsed,
            regions: pair.regions,
        };
        let mut bags = Bags::new(sides.old, sides.new);
        let moves = Moves::find((sides.old, &old_parsed), (sides.new, &new_parsed));
        let rows = rows::rows(pair.regions, &olds, &news, &moves, &mut bags);
        let hunks = sides.hunks(&rows, &moves);
        Ok(Compared {
            language: grammar.name,
            changed_lines: u32::try_from(rows.len()).unwrap_or(u32::MAX),
            hunks: shown(&sides, &hunks, &rows, window),
        })
    }

    fn parse(
        &mut self,
        grammar: &'static Grammar,
        old: (&Text<'_>, &Changed),
        new: (&Text<'_>, &Changed),
        deadline: Instant,
    ) -> Result<(Parsed, Parsed), FallbackReason> {
        let at = match self.readers.iter().position(|reader| reader.grammar().name == grammar.name) {
            Some(at) => at,
            None => {
                self.readers.push(Reader::new(grammar).ok_or(FallbackReason::UnsupportedLanguage)?);
                self.readers.len() - 1
            }
        };
        // one tree at a time: trees are large, what is kept of them is not
        let old = self.readers[at].read(old.0, old.1, deadline)?;
        Ok((old, self.readers[at].read(new.0, new.1, deadline)?))
    }
}

/// Bytes of both sides that a grammar did not understand; all of them where it gave up.
fn errors(parsed: &Result<(Parsed, Parsed), FallbackReason>) -> u64 {
    parsed.as_ref().map_or(u64::MAX, |(old, new)| old.errors + new.errors)
}

/// The hunks within the window.
fn shown(sides: &Sides<'_, '_>, hunks: &[Hunk], rows: &[Row], window: Window) -> Vec<SemanticHunk> {
    let (mut left, mut bytes) = (window.lines, window.bytes as usize);
    let mut all = Vec::new();
    for hunk in hunks {
        let mut lines = Vec::new();
        for at in hunk.rows.clone().skip_while(|at| *at < window.skip as usize) {
            if left == 0 {
                break;
            }
            let line = line(sides, &rows[at]);
            let size = size(&line);
            if size > bytes && left < window.lines {
                left = 0;
                break;
            }
            (left, bytes) = (left - 1, bytes.saturating_sub(size));
            lines.push(line);
        }
        if !lines.is_empty() {
            all.push(told(sides, hunk, lines));
        }
        if left == 0 {
            break;
        }
    }
    all
}

fn told(sides: &Sides<'_, '_>, hunk: &Hunk, lines: Vec<SemanticLine>) -> SemanticHunk {
    let split = |owner| {
        let mut path = sides.path(owner).into_iter().map(str::to_owned);
        let header = path.next().unwrap_or_default();
        let mut within: Vec<String> = path.take(MAX_WITHIN).collect();
        within.reverse();
        (header, within)
    };
    let (header, within) = split(hunk.owner);
    let moved = hunk.moved.zip(hunk.came_from).map(|((old, new), from)| {
        let old_within = split(Owner::Old(Some(from))).1;
        Moved { old_line: old + 1, new_line: new + 1, old_within: (old_within != within).then_some(old_within) }
    });
    let change = hunk.change.filter(|change| *change != HunkChange::Moved || moved.is_some());
    SemanticHunk { header, within, change, moved, lines }
}

/// Bytes of the texts of a line.
fn size(line: &SemanticLine) -> usize {
    let tokens = [&line.changed_tokens, &line.old_changed_tokens].into_iter().flatten().flatten();
    line.content.len()
        + line.old_content.as_ref().map_or(0, String::len)
        + tokens.map(|token| token.len() + 3).sum::<usize>()
}

fn line(sides: &Sides<'_, '_>, row: &Row) -> SemanticLine {
    let mut cut = false;
    let old = row.old.map(|at| (at, content(sides.old.text, at, &mut cut)));
    let new = row.new.map(|at| (at, content(sides.new.text, at, &mut cut)));
    let mut tokens = None;
    if let (Some(old), Some(new)) = (row.old, row.new) {
        let (a, b) = (sides.old.line(old).unwrap_or_default(), sides.new.line(new).unwrap_or_default());
        let flags = tokens::changed((sides.old.text, a), (sides.new.text, b), MAX_TOKEN_PAIRINGS);
        tokens = Some((picked(sides.new.text, b, &flags.1, &mut cut), picked(sides.old.text, a, &flags.0, &mut cut)));
    }
    let (changed_tokens, old_changed_tokens) = tokens.unzip();
    let number = |side: &Option<(u32, String)>| side.as_ref().map(|(at, _)| at + 1);
    let (old_line, new_line) = (number(&old), number(&new));
    let (kind, content, old_content) = match (old, new) {
        (Some((_, old)), Some((_, new))) => (LineKind::Modified, new, Some(old)),
        (Some((_, old)), None) => (LineKind::Deleted, old, None),
        (None, new) => (LineKind::Added, new.unwrap_or_default().1, None),
    };
    SemanticLine { kind, old_line, new_line, content, old_content, changed_tokens, old_changed_tokens, cut }
}

/// A line without its line feed, cut where it is too long to be shown.
fn content(text: &Text<'_>, row: u32, cut: &mut bool) -> String {
    let line = text.line(row);
    shortened(line.strip_suffix(b"\n").unwrap_or(line), cut)
}

fn shortened(bytes: &[u8], cut: &mut bool) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.len() <= SHOWN_LINE {
        return text.into_owned();
    }
    *cut = true;
    text[..text.floor_char_boundary(SHOWN_LINE)].to_owned()
}

fn picked(text: &Text<'_>, tokens: &[Token], flags: &[bool], cut: &mut bool) -> Vec<String> {
    let mut room = SHOWN_LINE;
    let mut all = Vec::new();
    for (token, _) in tokens.iter().zip(flags).filter(|(_, flag)| **flag) {
        // a line is shown without its line feed, which is part of what a text of several lines says
        let bytes = token.of(text);
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        if bytes.is_empty() {
            continue;
        }
        if all.len() >= SHOWN_TOKENS || (bytes.len() > room && !all.is_empty()) {
            *cut = true;
            break;
        }
        room = room.saturating_sub(bytes.len());
        all.push(shortened(bytes, cut));
    }
    all
}
