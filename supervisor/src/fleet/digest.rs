//! fleet.digest: the reflog events of many repositories since a time, newest first.
//! Trust: see the module above; events of a worker that was taken over are cut in number and in length.

use super::{MAX_NAME, crew, cut, registry, room::Room, shown_path, tamed, unanswered, words};
use crate::{
    control::Control,
    outcome::{Answered, CallError},
    reads::Reads,
    settings::Settings,
};
use bulkhead_contract::{
    args::Checked,
    failure::Reason,
    limits::{DIGEST_EVENTS, DIGEST_REPOSITORY_EVENTS, DIGEST_TEXT_CHARS, MAX_FLEET},
    results::{self, DigestEvent, DigestEvents, DigestRepository, DigestRow, RepoSource},
};
use bulkhead_ipc::edge::{
    asks,
    read::{Ask, Reply},
};
use serde_json::Value;
use std::collections::HashSet;
use tokio::time::Instant;

const ATTRIBUTION: &str = "Reflogs name the committer identity that was configured when a reference moved, not the \
    program or agent that moved it, and anybody who may write the repository may write them. Rows without a reflog, \
    such as work by others that was never fetched, do not appear.";
const GUIDANCE: &str = "`rewrote` marks movements that left commits behind; oldOid still names them until they are \
    pruned. A repository with `error` was not read, or not in full. Where `truncated` is true, ask for a later sinceMs \
    or for fewer repositories.";

/// A call of `fleet.digest`.
#[derive(Debug, Clone)]
pub(super) struct Digest {
    paths: Vec<String>,
    since_ms: i64,
    most: u32,
    all_refs: bool,
}

/// What the rows are made of.
#[derive(Debug, Default)]
struct Found {
    repos: Vec<DigestRepository>,
    events: Vec<DigestRow>,
    outside: u64,
    /// Of those, how many have no row because nobody named them in the call.
    unlisted: u64,
    unanswered: u64,
}

impl Digest {
    pub fn plan(checked: &Checked<'_>) -> Option<Self> {
        let mut seen = HashSet::new();
        let named = checked.list("repoPaths").iter().filter_map(Value::as_str);
        Some(Self {
            paths: named.filter(|path| seen.insert(*path)).map(str::to_owned).collect(),
            since_ms: checked.integer("sinceMs")?,
            most: u32::try_from(checked.integer("maxEvents")?).ok()?,
            all_refs: checked.boolean("allRefs").unwrap_or(false),
        })
    }

    pub async fn done<R: Reads>(
        self,
        reads: &R,
        settings: &Settings,
        control: Control,
    ) -> Result<results::Digest, CallError> {
        let begun = Instant::now();
        let (mut paths, source) = if self.paths.is_empty() {
            (registry::paths(reads, settings, &control).await?, RepoSource::FluxgitRegistry)
        } else {
            (self.paths.clone(), RepoSource::Arguments)
        };
        let mut requested = paths.len() as u64;
        // a call names no more than that, but a registry may
        paths.truncate(MAX_FLEET);
        let question = asks::Digest { since_ms: self.since_ms, max_events: self.most, all_refs: self.all_refs };
        let words = [Value::from(self.since_ms), Value::from(self.most), Value::from(self.all_refs)];
        let fingerprint = super::fingerprint("fleet.digest", &words);
        let asked: Vec<&str> = paths.iter().map(String::as_str).collect();
        let told = crew::ask_all(reads, settings, control, &asked, &Ask::Digest(question), fingerprint).await?;
        let mut found = Found::default();
        let mut seen = HashSet::new();
        for (path, told) in paths.iter().zip(told) {
            match told {
                // two paths into one repository tell the same story
                Some(crew::Told { outcome: Ok(answered), .. }) if !seen.insert(answered.canonical.clone()) => {
                    requested -= 1;
                }
                Some(told) => found.take(path, told.outcome, source),
                None => found.unanswered += 1,
            }
        }
        Ok(self.composed(found, requested, source, begun))
    }

    fn composed(&self, mut found: Found, requested: u64, source: RepoSource, begun: Instant) -> results::Digest {
        // stable: what happened in the same moment stays in its repository's own order
        found.events.sort_by(|a, b| b.event.at_ms.cmp(&a.event.at_ms).then_with(|| a.repo_path.cmp(&b.repo_path)));
        let counted: u64 = found.repos.iter().map(|repository| repository.event_count).sum();
        let cut_short = found.repos.iter().any(|repository| repository.truncated);
        let mut room = Room::for_answer(self.most > DIGEST_EVENTS.0);
        let mut for_repos = room.part(2);
        let quiet = |repository: &DigestRepository| {
            repository.error.is_none() && repository.event_count == 0 && !repository.truncated
        };
        let mut fitting = vec![false; found.repos.len()];
        for wanted in [false, true] {
            for (at, repository) in found.repos.iter().enumerate().filter(|(_, it)| quiet(it) == wanted) {
                fitting[at] = for_repos.take(repository);
            }
        }
        room.give_back(for_repos);
        let repos: Vec<DigestRepository> =
            found.repos.into_iter().zip(fitting).filter_map(|(row, fits)| fits.then_some(row)).collect();
        let events: Vec<DigestRow> =
            found.events.into_iter().take(self.most as usize).take_while(|row| room.take(row)).collect();
        results::Digest {
            since_ms: self.since_ms,
            event_count: events.len() as u64,
            repos_omitted: requested.saturating_sub(found.unanswered + found.unlisted + repos.len() as u64),
            repo_source: source,
            requested_repo_count: requested,
            excluded_outside_allowed_roots: found.outside,
            truncated: cut_short || counted > events.len() as u64 || requested > MAX_FLEET as u64,
            unanswered_count: found.unanswered,
            elapsed_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            attribution: ATTRIBUTION.to_owned(),
            guidance: GUIDANCE.to_owned(),
            partial: unanswered(found.unanswered),
            events,
            repos,
        }
    }
}

impl Found {
    fn take(&mut self, path: &str, outcome: Result<Answered, CallError>, source: RepoSource) {
        let failed = |error: String| DigestRepository {
            repo_path: path.to_owned(),
            repo_path_encoding: None,
            error: Some(error),
            truncated: false,
            event_count: 0,
        };
        match outcome {
            Ok(Answered { canonical, reply: Reply::Digest(digest) }) => self.answered(path, &canonical, *digest),
            Ok(_) => self.repos.push(failed("worker-died: it answered another question.".to_owned())),
            Err(error) => {
                let outside = matches!(&error, CallError::Read(failure) if failure.reason == Reason::OutsideRoots);
                self.outside += u64::from(outside);
                // a caller is told of a path that they named; of the registry's, the number is enough
                if !outside || source == RepoSource::Arguments {
                    self.repos.push(failed(words(&error)));
                } else {
                    self.unlisted += 1;
                }
            }
        }
    }

    fn answered(&mut self, path: &str, canonical: &[u8], digest: DigestEvents) {
        let (repo_path, repo_path_encoding) = shown_path(path, Some(canonical));
        let events = digest.events.into_iter().take(DIGEST_REPOSITORY_EVENTS).map(|event| DigestRow {
            repo_path: repo_path.clone(),
            repo_path_encoding,
            event: bounded(event),
        });
        self.events.extend(events);
        self.repos.push(DigestRepository {
            repo_path,
            repo_path_encoding,
            error: digest.partial.map(tamed).map(|partial| format!("{}: {}", partial.reason, partial.details)),
            truncated: digest.truncated,
            event_count: digest.event_count.min(DIGEST_REPOSITORY_EVENTS as u64),
        });
    }
}

/// What a worker that was taken over could blow up, cut to size.
fn bounded(event: DigestEvent) -> DigestEvent {
    let id = |id: Option<String>| id.map(|id| cut(&id, MAX_NAME));
    DigestEvent {
        ref_name: cut(&event.ref_name, MAX_NAME),
        old_oid: id(event.old_oid),
        new_oid: id(event.new_oid),
        message: cut(&event.message, DIGEST_TEXT_CHARS.0),
        identity: cut(&event.identity, DIGEST_TEXT_CHARS.1),
        ..event
    }
}
