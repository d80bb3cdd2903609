//! fleet.radar and fleet.digest: one question to many repositories, each read by a worker of its own, in one answer.
//! Trust: paths are the caller's and opaque here; replies come from workers that may be taken over and are cut to size.

mod crew;
mod digest;
mod radar;
mod registry;
mod room;
#[cfg(test)]
mod tests;

use crate::{control::Control, outcome::CallError, reads::Reads, settings::Settings, work::Done};
use bulkhead_contract::{args::Checked, canonical, path, path::PathEncoding, results::Partial};
use serde_json::Value;

/// Longest text of a failure in a row, in characters.
const MAX_ERROR: usize = 400;
/// Longest name of a branch or reference in a row, in characters.
const MAX_NAME: usize = 1_024;

/// A call that asks many repositories.
#[derive(Debug, Clone)]
pub struct Fleet(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Radar(radar::Radar),
    Digest(digest::Digest),
}

impl Fleet {
    /// The work of a call of `tool`; `None` for a tool of another family.
    ///
    /// What poison memory knows a question by leaves out which other repositories were named beside it.
    #[must_use]
    pub fn plan(tool: &str, checked: &Checked<'_>, _fingerprint: [u8; 32]) -> Option<Self> {
        let kind = match tool {
            "fleet.radar" => Kind::Radar(radar::Radar::plan(checked)?),
            "fleet.digest" => Kind::Digest(digest::Digest::plan(checked)?),
            _ => return None,
        };
        Some(Self(kind))
    }

    /// Asks all of them. No repository makes it fail: one that cannot be read is a row that says why.
    ///
    /// # Errors
    /// Where no repository could ever be read: cancelled, stopping, not confined as demanded, or none named.
    pub async fn done<R: Reads>(self, reads: &R, settings: &Settings, control: Control) -> Result<Done, CallError> {
        let data = match self.0 {
            Kind::Radar(radar) => radar.done(reads, settings, control).await.map(serde_json::to_value),
            Kind::Digest(digest) => digest.done(reads, settings, control).await.map(serde_json::to_value),
        }?;
        let data = data.map_err(|_| CallError::WorkerDied { how: "its answer cannot be written as JSON".into() })?;
        Ok(Done::of(None, data))
    }
}

/// What poison memory knows a question of `tool` by.
fn fingerprint(tool: &str, words: &[Value]) -> [u8; 32] {
    canonical::digest([Value::from(tool)].iter().chain(words))
}

/// A repository's path in rows: the canonical one, or the caller's where it never came to that.
fn shown_path(asked: &str, canonical: Option<&[u8]>) -> (String, Option<PathEncoding>) {
    canonical.map_or_else(|| (asked.to_owned(), None), path::text_of)
}

/// What a row says of a repository that could not be read.
fn words(error: &CallError) -> String {
    let text = match error {
        CallError::Read(failure) => format!("{}: {}", failure.reason.name(), failure.details),
        CallError::Deadline { seconds } => format!("deadline: it did not answer within {seconds} s."),
        CallError::WorkerDied { how } => format!("worker-died: the process that read it ended ({how})."),
        CallError::Poisoned { seconds } => {
            format!("refused: reading it ended its process twice; it is tried again in {seconds} s.")
        }
        CallError::Unavailable { why } | CallError::Gone { why } => format!("unavailable: {why}"),
        other => format!("unavailable: {other}"),
    };
    cut(&text, MAX_ERROR)
}

/// `text` in at most so many characters, the last an ellipsis where some were cut.
fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Why an answer lacks repositories, where it does.
fn unanswered(count: u64) -> Option<Partial> {
    (count > 0).then(|| Partial {
        reason: "deadline".to_owned(),
        details: format!(
            "{count} of the repositories had not answered when most of the call's time was used up. Ask for them \
             alone, or start the server with a larger --deadline."
        ),
    })
}

/// What a worker says of an answer that is not whole.
fn tamed(partial: Partial) -> Partial {
    Partial { reason: cut(&partial.reason, 40), details: cut(&partial.details, MAX_ERROR) }
}
