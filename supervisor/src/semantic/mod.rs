//! diff.semantic and diff.semanticFallbacks: texts from the repository's worker, hunks from one that parses, one page of both.
//! Trust: both workers may be taken over: replies are typed and bounded, a page is cut here, and a file whose parser falls
//! costs its own row.
//!
//! Where there is no grammar for any of the files, an engine behind a configured gateway is asked (`bridge`).

mod bridge;
mod page;

use crate::{
    control::Control,
    outcome::{Answered, CallError},
    reads::{Question, Reads},
    settings::Settings,
    work::Done,
};
use bridge::Elsewhere;
use bulkhead_contract::results::{FallbackReason, SourcePair, Sources, TextDiffArguments};
use bulkhead_ipc::edge::{
    asks::Compared as Asked,
    read::Reply,
    syntax::{self, Compared},
};
use page::Page;
use serde_json::{Map, Value};
use std::{collections::VecDeque, future::poll_fn, pin::Pin, task::Poll, time::Duration};
use tokio::time::Instant;

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
    /// Argument `repoId`.
    pub repo_id: Option<String>,
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
        let mut page = Page::new(&self, *sources);
        page.fill(reads, settings, control.clone(), until).await?;
        let mut members = Map::new();
        match bridge::ask(&self, &page, &canonical, reads, settings, control, until).await? {
            Elsewhere::NotAsked => {}
            Elsewhere::Silent(why) => page.also(&why),
            Elsewhere::Said(files) => {
                page.say(files);
                members.insert("source".to_owned(), Value::from(bridge::SOURCE));
            }
        }
        let data = serde_json::to_value(page.answer());
        let data = data.map_err(|_| CallError::WorkerDied { how: "its answer cannot be written as JSON".into() })?;
        Ok(Done { members, ..Done::of(Some(canonical), data) })
    }

    fn arguments(&self, repo_path: &str, path: Option<String>) -> TextDiffArguments {
        let (base, head) = (self.asked.base.clone(), self.asked.head.clone());
        TextDiffArguments { repo_path: repo_path.to_owned(), base, head, path }
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
mod bridged;
#[cfg(test)]
mod tests;
