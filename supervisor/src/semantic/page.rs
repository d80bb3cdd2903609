//! One page of an answer: rows in the order of the files, as many and as much of each as there is room for.
//! Trust: outcomes are those of workers or of whoever listens at the gateway's address, typed and bounded before; rows are
//! cut here.

use super::{AT_ONCE, Asking, Comparison, Outcome, Semantic, bridge::Told, first};
use crate::{
    control::{Control, Tick},
    mcp::visible::visible,
    outcome::CallError,
    reads::Reads,
    settings::Settings,
};
use bulkhead_contract::{
    cursor::SemanticCursor,
    limits::SEMANTIC_LINES,
    path::text_of,
    results::{
        FallbackReason, Semantic as Answer, SemanticAsText, SemanticDiff, SemanticEnd, SemanticExtent,
        SemanticFallback, SemanticFallbacks, SemanticFile, SemanticHunk, SemanticSources,
    },
};
use serde::Serialize;
use std::collections::VecDeque;
use tokio::time::Instant;

/// What the answers call the engine of this house.
const ENGINE: &str = "tree-sitter";
/// What they call it where the build has none.
const NO_ENGINE: &str = "none";

/// One page of an answer.
pub(super) struct Page<'c> {
    call: &'c Semantic,
    pub sources: SemanticSources,
    /// Rows so far.
    pub files: Vec<SemanticFile>,
    engine: &'static str,
    next: Option<SemanticCursor>,
    /// Characters that are left.
    room: usize,
}

impl<'c> Page<'c> {
    /// Nothing is compared yet.
    pub fn new(call: &'c Semantic, sources: SemanticSources) -> Self {
        Self { call, sources, files: Vec::new(), engine: ENGINE, next: None, room: call.chars }
    }

    /// Has files compared, two at a time, until there is no more room.
    ///
    /// # Errors
    /// As [`Semantic::done`].
    pub async fn fill<R: Reads>(
        &mut self,
        reads: &R,
        settings: &Settings,
        control: Control,
        until: Instant,
    ) -> Result<(), CallError> {
        let mut waiting = std::mem::take(&mut self.sources.files).into_iter();
        let mut skip = self.sources.skip;
        let total = u64::try_from(waiting.len()).ok();
        let mut crew: VecDeque<Comparison<'_>> = VecDeque::with_capacity(AT_ONCE);
        let (mut last, mut done) = (None, 0);
        while self.next.is_none() {
            while crew.len() < AT_ONCE
                && let Some(pair) = waiting.next()
            {
                let lines = if self.call.fallbacks { 1 } else { SEMANTIC_LINES };
                let bytes = u32::try_from(self.call.chars).unwrap_or(u32::MAX);
                let window = (std::mem::take(&mut skip), lines, bytes);
                crew.push_back(Comparison::begin(reads, settings, control.clone(), until, pair, window));
            }
            let Some((file, outcome)) = first(&mut crew).await else { break };
            done += 1;
            control.tick(Tick { done, total });
            last = Some(file.path.clone());
            let (row, cut) = self.row(&file, outcome?, self.files.is_empty());
            match (row, cut) {
                (Some(row), None) => self.files.push(row),
                (Some(row), Some(lines)) => {
                    self.files.push(row);
                    self.next = Some(SemanticCursor { path: file.path.clone(), lines: Some(lines) });
                }
                // it does not fit any more: the next page begins with it
                (None, _) => self.next = Some(SemanticCursor { path: file.path.clone(), lines: Some(file.skip) }),
            }
        }
        if self.sources.more && self.next.is_none() {
            self.next = last.map(|path| SemanticCursor { path, lines: None });
        }
        Ok(())
    }

    /// Another engine was asked about the files without a grammar, and this is why it said nothing.
    pub fn also(&mut self, why: &str) {
        for file in self.files.iter_mut().filter(|file| file.reason.is_some_and(FallbackReason::lacks_grammar)) {
            if let Some(details) = &mut file.details {
                *details = format!("{details} The engine behind the gateway was asked, too: {why}");
            }
        }
    }

    /// Another engine answered for some of the files: its name stands in the answer, and what it said in their rows, as far
    /// as there is room. There is no way to ask it for the rest of a file, so that lines left out are counted alone.
    pub fn say(&mut self, told: Vec<(String, Told)>) {
        self.engine = super::bridge::ENGINE;
        let mut files = std::mem::take(&mut self.files);
        let mut hunks = Vec::new();
        for (path, told) in told {
            let Some((at, file)) = files.iter_mut().enumerate().find(|(_, file)| file.path == path) else { continue };
            match told {
                Told::Left(details) => {
                    (file.reason, file.details) = (Some(FallbackReason::LeftByGateway), Some(details));
                }
                Told::Compared { hunks: said, changed_lines } => {
                    (file.fallback_to_text, file.reason) = (false, None);
                    (file.details, file.text_diff_arguments) = (None, None);
                    (file.changed_lines, file.lines_truncated) = (Some(changed_lines), Some(false));
                    hunks.push((at, said));
                }
            }
        }
        self.room = self.call.chars;
        for file in &files {
            // bare rows are no longer than those that had room before, but for what the engine says of its reasons
            self.take(file, true);
        }
        if !self.call.fallbacks {
            for (at, said) in hunks {
                let all: usize = said.iter().map(|hunk| hunk.lines.len()).sum();
                let mut shown = 0;
                files[at].hunks = self.hunks(said, false, &mut shown);
                files[at].lines_truncated = Some((shown as usize) < all);
            }
        }
        self.files = files;
    }

    /// The row of a file, as far as there is room; and where its lines are cut, how many were told so far.
    fn row(&mut self, file: &Asking, outcome: Outcome, first: bool) -> (Option<SemanticFile>, Option<u32>) {
        let (path, path_encoding) = text_of(&file.path);
        let old = file.old_path.as_deref().map(text_of);
        let mut row = SemanticFile {
            path,
            path_encoding,
            old_path_encoding: old.as_ref().and_then(|(_, encoding)| *encoding),
            old_path: old.map(|(path, _)| path),
            language: None,
            fallback_to_text: true,
            hunks: Vec::new(),
            changed_lines: None,
            lines_truncated: None,
            reason: None,
            details: None,
            text_diff_arguments: None,
        };
        match outcome {
            Err(reason) => {
                if reason == FallbackReason::NoGrammars {
                    self.engine = NO_ENGINE;
                }
                // an escaped path is no argument
                let named = row.path_encoding.is_none().then(|| row.path.clone());
                row.text_diff_arguments = Some(self.call.arguments(&self.sources.repo_path, named));
                (row.reason, row.details) = (Some(reason), Some(reason.sentence().to_owned()));
                (self.take(&row, first).then_some(row), None)
            }
            Ok(compared) => {
                row.fallback_to_text = false;
                row.language = Some(compared.language);
                row.changed_lines = Some(u64::from(compared.changed_lines));
                row.lines_truncated = Some(false);
                if !self.take(&row, first) {
                    return (None, None);
                }
                if self.call.fallbacks {
                    return (Some(row), None);
                }
                let mut shown = 0;
                row.hunks = self.hunks(compared.hunks, first, &mut shown);
                let told = file.skip + shown;
                row.lines_truncated = Some(shown < compared.changed_lines);
                (Some(row), (told < compared.changed_lines).then_some(told))
            }
        }
    }

    /// As much of the hunks as there is room for; one line always where `first`.
    fn hunks(&mut self, hunks: Vec<SemanticHunk>, first: bool, shown: &mut u32) -> Vec<SemanticHunk> {
        let mut kept = Vec::new();
        for hunk in hunks {
            let mut part = SemanticHunk { lines: Vec::new(), ..hunk };
            let mut whole = self.take(&part, first && *shown == 0);
            if whole {
                for line in hunk.lines {
                    whole = self.take(&line, first && *shown == 0);
                    if !whole {
                        break;
                    }
                    *shown += 1;
                    part.lines.push(line);
                }
                if !part.lines.is_empty() {
                    kept.push(part);
                }
            }
            if !whole {
                break;
            }
        }
        kept
    }

    /// Takes room for what is sent; false where there is none. With `always` there is.
    fn take(&mut self, what: &impl Serialize, always: bool) -> bool {
        let cost = serde_json::to_string(what).map_or(usize::MAX, |text| visible(text).chars().count() + 1);
        let fits = always || cost <= self.room;
        if fits {
            self.room = self.room.saturating_sub(cost);
        }
        fits
    }

    /// The answer.
    pub fn answer(self) -> Answer {
        let Self { call, sources, files, engine, next, .. } = self;
        let SemanticSources { repo_path, path, changed_files, more, partial, .. } = sources;
        let nothing = changed_files == 0 && partial.is_none();
        let end = SemanticEnd { next_cursor: next.map(|next| next.text()), partial };
        let files_truncated = more || end.next_cursor.is_some();
        let engine = engine.to_owned();
        if call.fallbacks {
            let row = |file: &SemanticFile| {
                Some(SemanticFallback {
                    from: "diff.semantic".to_owned(),
                    to: "diff.text".to_owned(),
                    supported: false,
                    reason: file.reason?,
                    details: file.details.clone()?,
                    repo_path: repo_path.clone(),
                    path: Some(file.path.clone()),
                    path_encoding: file.path_encoding,
                })
            };
            return Answer::Fallbacks(SemanticFallbacks {
                engine,
                analyzed_files: files.len() as u64,
                fallbacks: files.iter().filter_map(row).collect(),
                extent: SemanticExtent { changed_files, files_truncated, end },
            });
        }
        if nothing || files.iter().any(|file| !file.fallback_to_text) {
            return Answer::Diff(SemanticDiff {
                supported: true,
                engine,
                base: call.asked.base.clone(),
                head: call.asked.head.clone(),
                path,
                files,
                extent: SemanticExtent { changed_files, files_truncated, end },
            });
        }
        let text_diff_arguments = call.arguments(&repo_path, path);
        Answer::Text(SemanticAsText {
            supported: false,
            fallback: "diff.text".to_owned(),
            reason: why(&files, call.later || files_truncated),
            text_diff_arguments,
            end,
        })
    }
}

/// Why nothing was compared, in a sentence.
fn why(files: &[SemanticFile], paged: bool) -> String {
    let of = if paged { "on this page" } else { "here" };
    match files {
        [] => format!("No changed file was looked at {of}."),
        [one] => format!("The changed file {of} is not compared: {}", one.details.as_deref().unwrap_or_default()),
        [one, rest @ ..] if rest.iter().all(|other| other.reason == one.reason) => {
            format!("None of the changed files {of} is compared: {}", one.details.as_deref().unwrap_or_default())
        }
        _ => format!("None of the changed files {of} is compared; diff.semanticFallbacks has the reason of each."),
    }
}
