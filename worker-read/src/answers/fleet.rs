//! fleet.radar and fleet.digest: what one repository says to a question that many are asked.
//! Trust: see the module above.

use super::{rows, status::place};
use crate::{
    detached,
    digest::{self, Scope},
    merge::{self, Verdict},
    operation,
    pace::Pace,
    repo::Repo,
    status,
    worktree::Untracked,
};
use bulkhead_contract::{
    failure::ReadFailure,
    limits::DIGEST_REPOSITORY_EVENTS,
    path::text_of,
    results::{DigestEvents, Operation, Partial, RadarEntry},
};
use bulkhead_ipc::edge::asks;
use gix::ObjectId;

/// Characters of the paths of one row that would conflict.
const MAX_PATHS_CHARS: usize = 2_048;

/// One repository of `fleet.radar`.
pub(super) fn radar(repo: &Repo, ask: &asks::Radar, pace: &Pace) -> Result<RadarEntry, ReadFailure> {
    let mut entry = RadarEntry { bare: repo.is_bare(), ..RadarEntry::default() };
    let head = if entry.bare {
        repo.refs.head()?
    } else {
        let sides = status::read(repo, Untracked::default(), pace, 0)?;
        entry.changed_files = rows::tracked_total(&sides) + sides.untracked.total;
        entry.dirty = entry.changed_files > 0;
        entry.conflict_active = rows::totals(&sides).conflicted > 0;
        entry.partial = sides.partial;
        entry.operation_in_progress = operation::in_progress(&repo.found.git_dir);
        entry.conflict_operation = entry.operation_in_progress.filter(|operation| {
            // the contract knows four; the others are named in the field that knows all
            entry.conflict_active && !matches!(operation, Operation::Am | Operation::Bisect)
        });
        sides.head
    };
    let place = place(repo, &head, pace)?;
    entry.partial = entry.partial.or_else(|| place.partial());
    entry.detached = head.branch.is_none();
    entry.branch = place.branch;
    entry.has_upstream = place.upstream.is_some() && !place.upstream_gone;
    entry.upstream = place.upstream;
    entry.upstream_gone = place.upstream_gone;
    (entry.ahead, entry.behind) = (place.ahead, place.behind);
    if let Some(id) = head.id {
        entry.head = Some(id.to_string());
        entry.short_head = Some(detached::short(repo, id));
        entry.last_commit_timestamp = repo.commit_time(id);
        if entry.last_commit_timestamp.is_none() {
            let details = "The commit that HEAD names is missing or cannot be read.".to_owned();
            entry.partial.get_or_insert(Partial { reason: "object-missing".to_owned(), details });
        }
        if entry.ahead > 0 && entry.behind > 0 {
            potential_conflict(repo, id, &mut entry, ask.paths as usize, pace);
        }
    }
    Ok(entry)
}

/// What a merge of the upstream would do. Where that cannot be told, the rest of the row still stands.
fn potential_conflict(repo: &Repo, ours: ObjectId, entry: &mut RadarEntry, most: usize, pace: &Pace) {
    let tried = upstream(repo).and_then(|theirs| theirs.map(|id| merge::preflight(repo, ours, id, pace)).transpose());
    let verdict = match tried {
        Ok(Some((_, verdict))) => verdict,
        Ok(None) => return,
        Err(failure) => {
            let details = format!("What a merge would do is not known. {}", failure.details);
            let reason = failure.reason.name().to_owned();
            let stopped = pace.stopped().and_then(|why| status::partial(Some(why), None));
            entry.partial.get_or_insert(stopped.unwrap_or(Partial { reason, details }));
            return;
        }
    };
    entry.potential_conflict_target = entry.upstream.clone();
    let Verdict::Conflicts(conflicts) = verdict else { return };
    entry.potential_conflict_active = true;
    entry.potential_conflict_count = conflicts.len() as u64;
    let mut room = MAX_PATHS_CHARS;
    for conflict in conflicts.iter().take(most) {
        let (text, encoding) = text_of(&conflict.path);
        let chars = text.chars().count();
        if chars > room {
            break;
        }
        room -= chars;
        entry.potential_conflict_paths.push(text);
        entry.potential_conflict_path_encodings.push(encoding);
    }
    if entry.potential_conflict_path_encodings.iter().all(Option::is_none) {
        entry.potential_conflict_path_encodings.clear();
    }
}

/// The commit that the branch of HEAD follows.
fn upstream(repo: &Repo) -> Result<Option<ObjectId>, ReadFailure> {
    let Some(branch) = repo.refs.head()?.branch else { return Ok(None) };
    let snapshot = repo.git.config_snapshot();
    Ok(repo.refs.upstream(branch.as_ref(), snapshot.plumbing())?.and_then(|upstream| upstream.id))
}

/// One repository of `fleet.digest`.
pub(super) fn digest(repo: &Repo, ask: &asks::Digest, pace: &Pace) -> Result<DigestEvents, ReadFailure> {
    let scope = if ask.all_refs { Scope::AllRefs } else { Scope::Branches };
    let most = DIGEST_REPOSITORY_EVENTS.min(ask.max_events as usize);
    digest::events(repo, scope, ask.since_ms, most, pace)
}
