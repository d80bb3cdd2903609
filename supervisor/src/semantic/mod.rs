//! diff.semantic and diff.semanticFallbacks: texts from the repository's worker, hunks from one that parses, one page of both.
//! Trust: both workers may be taken over: replies are typed and bounded, a page is cut here, and a file whose parser falls
//! costs its own row.

use crate::{
    control::{Control, Tick},
    mcp::visible::visible,
    outcome::{Answered, CallError},
    reads::{Question, Reads},
    settings::Settings,
    work::Done,
};
use bulkhead_contract::{
    cursor::SemanticCursor,
    limits::SEMANTIC_LINES,
    path::text_of,
    results::{
        FallbackReason, Semantic as Answer, SemanticAsText, SemanticDiff, SemanticFallback, SemanticFallbacks,
        SemanticFile, SemanticHunk, SemanticSources, SourcePair, Sources, TextDiffArguments,
    },
};
use bulkhead_ipc::edge::{
    asks::Compared as Asked,
    read::Reply,
    syntax::{self, Compared},
};
use serde::Serialize;
use std::{collections::VecDeque, future::poll_fn, pin::Pin, task::Poll, time::Duration};
use tokio::time::Instant;

/// What the answers call the engine.
const ENGINE: &str = "tree-sitter";
/// Files that are compared at the same time.
const AT_ONCE: usize = 2;
/// The questions of a call watch the deadline themselves; this is for their sum.
const GRACE: Duration = Duration::from_millis(100);

/// One call.
#[derive(Debug, Clone)]
pub struct Semantic {
    /// The question to the repository.
    pub question: Question,
    /// What is compared, as it was asked.
    pub asked: Asked,
    /// A cursor was given: there were pages before this one.
    pub later: bool,
    /// Only what falls back is told.
    pub fallbacks: bool,
    /// Characters of the rows at most.
    pub chars: usize,
}

/// What came of one file.
type Outcome = Result<Compared, FallbackReason>;

impl Semantic {
    /// Asks the repository, and then a parser for each file.
    ///
    /// # Errors
    /// What the question to the repository ends in; of a parser, only that processes are not confined as demanded, that the
    /// server is stopping, and that nobody waits any more.
    pub async fn done<R: Reads>(self, reads: &R, settings: &Settings, control: Control) -> Result<Done, CallError> {
        match tokio::time::timeout(settings.deadline + GRACE, self.answered(reads, settings, control)).await {
            Ok(done) => done,
            Err(_) => Err(CallError::Deadline { seconds: settings.deadline.as_secs() }),
        }
    }

    async fn answered<R: Reads>(self, reads: &R, settings: &Settings, control: Control) -> Result<Done, CallError> {
        // what is not compared by then is told as not compared, while there is time to tell it
        let until = Instant::now() + settings.deadline * 9 / 10;
        let Answered { canonical, reply } = reads.read(self.question.clone(), control.clone()).await?;
        let Reply::Sources(sources) = reply else {
            return Err(CallError::WorkerDied { how: "it answered another question".to_owned() });
        };
        let page = Page { call: &self, sources: *sources, room: self.chars };
        let answer = page.fill(reads, settings, control, until).await?;
        let data = serde_json::to_value(answer);
        let data = data.map_err(|_| CallError::WorkerDied { how: "its answer cannot be written as JSON".into() })?;
        Ok(Done::of(Some(canonical), data))
    }

    fn arguments(&self, repo_path: &str, path: Option<String>) -> TextDiffArguments {
        let (base, head) = (self.asked.base.clone(), self.asked.head.clone());
        TextDiffArguments { repo_path: repo_path.to_owned(), base, head, path }
    }
}

/// One page of an answer.
struct Page<'c> {
    call: &'c Semantic,
    sources: SemanticSources,
    /// Characters that are left.
    room: usize,
}

impl Page<'_> {
    async fn fill<R: Reads>(
        mut self,
        reads: &R,
        settings: &Settings,
        control: Control,
        until: Instant,
    ) -> Result<Answer, CallError> {
        let mut waiting = std::mem::take(&mut self.sources.files).into_iter();
        let mut skip = self.sources.skip;
        let total = u64::try_from(waiting.len()).ok();
        let mut crew: VecDeque<Comparison<'_>> = VecDeque::with_capacity(AT_ONCE);
        let (mut files, mut next, mut last, mut done) = (Vec::new(), None, None, 0);
        while next.is_none() {
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
            let (row, cut) = self.row(&file, outcome?, files.is_empty());
            match (row, cut) {
                (Some(row), None) => files.push(row),
                (Some(row), Some(lines)) => {
                    files.push(row);
                    next = Some(SemanticCursor { path: file.path.clone(), lines: Some(lines) });
                }
                // it does not fit any more: the next page begins with it
                (None, _) => next = Some(SemanticCursor { path: file.path.clone(), lines: Some(file.skip) }),
            }
        }
        if self.sources.more && next.is_none() {
            next = last.map(|path| SemanticCursor { path, lines: None });
        }
        Ok(self.answer(files, next.map(|next| next.text())))
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

    fn answer(self, files: Vec<SemanticFile>, next_cursor: Option<String>) -> Answer {
        let SemanticSources { repo_path, path, changed_files, more, partial, .. } = self.sources;
        let files_truncated = more || next_cursor.is_some();
        if self.call.fallbacks {
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
                engine: ENGINE.to_owned(),
                analyzed_files: files.len() as u64,
                changed_files,
                files_truncated,
                fallbacks: files.iter().filter_map(row).collect(),
                next_cursor,
                partial,
            });
        }
        let nothing = changed_files == 0 && partial.is_none();
        if nothing || files.iter().any(|file| !file.fallback_to_text) {
            return Answer::Diff(SemanticDiff {
                supported: true,
                engine: ENGINE.to_owned(),
                base: self.call.asked.base.clone(),
                head: self.call.asked.head.clone(),
                path,
                files,
                changed_files,
                files_truncated,
                next_cursor,
                partial,
            });
        }
        let text_diff_arguments = self.call.arguments(&repo_path, path);
        Answer::Text(SemanticAsText {
            supported: false,
            fallback: "diff.text".to_owned(),
            reason: why(&files, self.call.later || files_truncated),
            text_diff_arguments,
            next_cursor,
            partial,
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

/// A file while it is compared.
#[derive(Debug)]
struct Asking {
    path: Vec<u8>,
    old_path: Option<Vec<u8>>,
    /// Lines of it that stand on pages before.
    skip: u32,
}

/// One comparison under way.
struct Comparison<'r> {
    file: Asking,
    outcome: Option<Result<Outcome, CallError>>,
    answer: Pin<Box<dyn Future<Output = Result<Outcome, CallError>> + 'r>>,
}

impl<'r> Comparison<'r> {
    fn begin<R: Reads>(
        reads: &'r R,
        settings: &Settings,
        control: Control,
        until: Instant,
        pair: SourcePair,
        (skip, lines, bytes): (u32, u32, u32),
    ) -> Self {
        // a parser that hangs must leave time for the other files
        let limit = settings.deadline / 6;
        let file = Asking { path: pair.path.clone(), old_path: pair.old_path, skip };
        let answer = Box::pin(async move {
            let (old, new, regions) = match pair.sources {
                Sources::Texts { old, new, regions } => (old, new, regions),
                Sources::None(reason) => return Ok(Err(reason)),
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Err(FallbackReason::Time));
            }
            let ask = syntax::Ask { path: pair.path, old, new, regions, skip, lines, bytes };
            match reads.syntax(ask, control.as_part(limit.min(left))).await {
                Ok(syntax::Reply::Compared(compared)) => Ok(Ok(*compared)),
                Ok(syntax::Reply::Fallback(reason)) => Ok(Err(reason)),
                Err(error @ (CallError::IsolationMissing { .. } | CallError::Stopping | CallError::Cancelled)) => {
                    Err(error)
                }
                Err(CallError::WorkerDied { .. }) => Ok(Err(FallbackReason::ParserCrashed)),
                Err(CallError::Deadline { .. }) => Ok(Err(FallbackReason::Time)),
                Err(_) => Ok(Err(FallbackReason::EngineUnavailable)),
            }
        });
        Self { file, outcome: None, answer }
    }
}

/// Waits for the first of them while the others go on; `None` where there is none.
async fn first(crew: &mut VecDeque<Comparison<'_>>) -> Option<(Asking, Result<Outcome, CallError>)> {
    poll_fn(|context| {
        for one in crew.iter_mut().filter(|one| one.outcome.is_none()) {
            if let Poll::Ready(outcome) = one.answer.as_mut().poll(context) {
                one.outcome = Some(outcome);
            }
        }
        match crew.front() {
            Some(one) if one.outcome.is_none() => Poll::Pending,
            _ => Poll::Ready(()),
        }
    })
    .await;
    let one = crew.pop_front()?;
    Some((one.file, one.outcome?))
}

#[cfg(test)]
mod tests;
