//! The engine behind the gateway: asked about files of which none has a grammar here, and never needed for an answer.
//! Trust: the answer was said by whoever listens at the gateway's address. It is typed and cut; what it says of files that
//! were not asked about is dropped, and whatever is wrong with it leaves the answer as it was.

use super::{Semantic, page::Page};
use crate::{
    control::Control,
    outcome::CallError,
    proposals::wire::{Silence, checked_within, parsed, unusable},
    reads::Reads,
    safety,
    settings::Settings,
};
use bulkhead_contract::{
    canonical,
    limits::SEMANTIC_LINES,
    results::{FallbackReason, LineKind, SemanticFile, SemanticHunk, SemanticLine},
};
use bulkhead_ipc::edge::gateway::{Exchange, Method, PREFIX};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

/// What the answers call this engine (contract `results.md`).
pub(super) const ENGINE: &str = "fluxgit-diff-engine";
/// Member `source` of an answer that it took part in (contract `results.md`).
pub(super) const SOURCE: &str = "fluxgit-gateway";
/// Paths of one request, and milliseconds for it (contract `gateway.md`).
const MAX_PATHS: usize = 25;
const BUDGET_MS: u32 = 10_000;
/// Less than this is not worth beginning with, in milliseconds.
const LEAST_MS: u32 = 50;
/// Characters of a line or a token, and tokens of a line: as those of our own engine (`worker-syntax`).
const SHOWN_LINE: usize = 2_000;
const SHOWN_TOKENS: usize = 200;
/// Characters of a definition's header, and of a reason.
const SHOWN_TEXT: usize = 512;

/// What came of the question.
#[derive(Debug)]
pub(super) enum Elsewhere {
    /// There was no reason, or no way, to ask.
    NotAsked,
    /// It said nothing that could be used: why, in a sentence.
    Silent(String),
    /// Files that were asked about, by path.
    Said(Vec<(String, Told)>),
}

/// What it said of one file.
#[derive(Debug, PartialEq)]
pub(super) enum Told {
    /// It leaves the file to text: our words around its own.
    Left(String),
    /// It compared.
    Compared {
        /// At most [`SEMANTIC_LINES`] lines in all.
        hunks: Vec<SemanticHunk>,
        /// Lines that changed, those that were cut off among them.
        changed_lines: u64,
    },
}

/// Asks, where a gateway is configured, the run directory or the caller names the repository for it, and no file of the page
/// has a grammar here.
///
/// # Errors
/// Only that nobody waits any more, or that the server is stopping.
pub(super) async fn ask<R: Reads>(
    call: &Semantic,
    page: &Page<'_>,
    canonical: &[u8],
    reads: &R,
    settings: &Settings,
    control: Control,
    until: Instant,
) -> Result<Elsewhere, CallError> {
    let paths = without_grammar(&page.files);
    let (Some(_), false, Ok(_)) = (settings.gateway, paths.is_empty(), std::str::from_utf8(canonical)) else {
        return Ok(Elsewhere::NotAsked);
    };
    let id = match &call.repo_id {
        Some(id) => Some(id.clone()),
        None => match safety::id_of(reads, settings, canonical, &control).await {
            Err(error @ (CallError::Cancelled | CallError::Stopping)) => return Err(error),
            id => id.unwrap_or_default(),
        },
    };
    let Some(id) = id else { return Ok(Elsewhere::NotAsked) };
    let left = until.saturating_duration_since(Instant::now()).as_millis();
    let budget_ms = u32::try_from(left).unwrap_or(BUDGET_MS).min(BUDGET_MS);
    if budget_ms < LEAST_MS {
        return Ok(Elsewhere::Silent("No time was left.".to_owned()));
    }
    let (base, head) = match (&call.asked.base, &call.asked.head) {
        (Some(base), Some(head)) => (base.as_str(), head.as_str()),
        // an empty one is the working tree, or its index
        (Some(one), None) | (None, Some(one)) => (one.as_str(), ""),
        (None, None) => ("", ""),
    };
    let body = json!({
        "repoId": id,
        "repoPath": page.sources.repo_path,
        "baseRef": base,
        "headRef": head,
        "paths": paths,
    });
    let exchange = Exchange {
        method: Method::Post,
        path: format!("{PREFIX}diff/semantic"),
        body: Some(canonical::text(&body).into_bytes()),
        budget_ms,
        authentic: settings.gateway_token,
    };
    let ended = reads.exchange(exchange, control).await;
    Ok(match checked_within(ended, settings.gateway_token, budget_ms) {
        Ok(Ok((200..=299, body, _))) => match parsed(&body) {
            Some(answer) => said(&answer, &paths),
            None => Elsewhere::Silent(format!("It answered {}.", unusable(&body))),
        },
        Ok(Ok((status, ..))) => Elsewhere::Silent(format!("The gateway answered with HTTP status {status}.")),
        Ok(Err(Silence { reason, .. })) => Elsewhere::Silent(reason),
        Err(error @ (CallError::Cancelled | CallError::Stopping)) => return Err(error),
        // a read does not fail for a gateway that it can do without
        Err(error) => Elsewhere::Silent(format!("The process that talks to the gateway cannot be had: {error}.")),
    })
}

/// The files to ask about: those without a grammar, where no file of the page has one; the rest are none that any engine
/// compares.
fn without_grammar(files: &[SemanticFile]) -> Vec<&str> {
    let no_text =
        |reason| matches!(reason, FallbackReason::NotAFile | FallbackReason::Binary | FallbackReason::NotUtf8);
    let lacks = |file: &&SemanticFile| file.reason.is_some_and(FallbackReason::lacks_grammar);
    if !files.iter().all(|file| lacks(&file) || file.reason.is_some_and(no_text)) {
        return Vec::new();
    }
    // an escaped path names nothing to anybody else
    let named = files.iter().filter(lacks).filter(|file| file.path_encoding.is_none());
    named.map(|file| file.path.as_str()).take(MAX_PATHS).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SaidFile {
    path: String,
    #[serde(default)]
    fallback_to_text: bool,
    #[serde(default)]
    hunks: Vec<SaidHunk>,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct SaidHunk {
    header: String,
    lines: Vec<SaidLine>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SaidLine {
    #[serde(rename = "type")]
    kind: SaidKind,
    old_line: Option<u32>,
    new_line: Option<u32>,
    content: String,
    old_content: Option<String>,
    changed_tokens: Option<Vec<String>>,
    old_changed_tokens: Option<Vec<String>>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum SaidKind {
    Added,
    Deleted,
    Modified,
    Unchanged,
}

/// What a body says of these files. A row that is malformed, or speaks of another file or of one twice, is dropped.
fn said(answer: &Value, paths: &[&str]) -> Elsewhere {
    let Some(rows) = answer.get("files").and_then(Value::as_array) else {
        return Elsewhere::Silent("It answered without a list of files.".to_owned());
    };
    let mut told: Vec<(String, Told)> = Vec::new();
    for row in rows.iter().take(MAX_PATHS) {
        let Ok(file) = SaidFile::deserialize(row) else { continue };
        if paths.contains(&file.path.as_str()) && told.iter().all(|(path, _)| *path != file.path) {
            let (path, what) = one(file);
            told.push((path, what));
        }
    }
    match told.is_empty() {
        true => Elsewhere::Silent("It says nothing usable of these files.".to_owned()),
        false => Elsewhere::Said(told),
    }
}

fn one(file: SaidFile) -> (String, Told) {
    if file.fallback_to_text {
        let sentence = FallbackReason::LeftByGateway.sentence();
        let reason = file.reason.filter(|reason| !reason.trim().is_empty());
        let details = reason.map_or_else(
            || sentence.to_owned(),
            |mut reason| {
                shorten(&mut reason, SHOWN_TEXT);
                format!("{sentence} It says: {reason}")
            },
        );
        return (file.path, Told::Left(details));
    }
    let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines);
    let changed_lines = lines.filter(|line| !matches!(line.kind, SaidKind::Unchanged)).count() as u64;
    let mut room = SEMANTIC_LINES as usize;
    let mut hunks = Vec::new();
    for mut hunk in file.hunks {
        shorten(&mut hunk.header, SHOWN_TEXT);
        let lines: Vec<SemanticLine> = hunk.lines.into_iter().take(room).map(line).collect();
        room -= lines.len();
        if !lines.is_empty() {
            hunks.push(SemanticHunk { header: hunk.header, within: Vec::new(), change: None, moved: None, lines });
        }
    }
    (file.path, Told::Compared { hunks, changed_lines })
}

fn line(said: SaidLine) -> SemanticLine {
    let mut cut = false;
    let mut shown = |mut text: String| {
        cut |= shorten(&mut text, SHOWN_LINE);
        text
    };
    let content = shown(said.content);
    let old_content = said.old_content.map(&mut shown);
    let mut more = false;
    let mut tokens = |tokens: Vec<String>| {
        more |= tokens.len() > SHOWN_TOKENS;
        tokens.into_iter().take(SHOWN_TOKENS).map(&mut shown).collect()
    };
    let changed_tokens = said.changed_tokens.map(&mut tokens);
    let old_changed_tokens = said.old_changed_tokens.map(&mut tokens);
    let kind = match said.kind {
        SaidKind::Added => LineKind::Added,
        SaidKind::Deleted => LineKind::Deleted,
        SaidKind::Modified => LineKind::Modified,
        SaidKind::Unchanged => LineKind::Unchanged,
    };
    // lines are counted from one
    let (old_line, new_line) = (said.old_line.filter(|at| *at > 0), said.new_line.filter(|at| *at > 0));
    let cut = cut || more;
    SemanticLine { kind, old_line, new_line, content, old_content, changed_tokens, old_changed_tokens, cut }
}

/// Cuts a text to so many characters; true where something was cut off.
fn shorten(text: &mut String, most: usize) -> bool {
    let end = text.char_indices().nth(most).map(|(at, _)| at);
    if let Some(end) = end {
        text.truncate(end);
    }
    end.is_some()
}
