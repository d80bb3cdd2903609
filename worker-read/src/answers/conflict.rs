//! repo.conflictPreflight and conflict.read.
//! Trust: see the module above.

use super::{
    budget::{Budget, cost},
    cursor::{Cursor, Of, foreign},
};
use crate::{
    history,
    index::Snapshot,
    merge::{self, Verdict, rebase},
    pace::Pace,
    repo::Repo,
    revision,
    unmerged::{self, File, Markers, operation},
};
use bulkhead_contract::{
    failure::ReadFailure,
    limits::{CONFLICT_FILES, MAX_SUBJECT_CHARS, PREFLIGHT_PATHS},
    path::text_of,
    results::{
        ActiveConflict, Conflict, ConflictFile, ConflictHead, ConflictOperation, ConflictSides, InvolvedPath,
        Preflight, PreflightConflict, PreflightOperation, PreflightStatus, RebasePreflight, RebaseStop,
    },
};
use bulkhead_ipc::edge::asks;
use gix::ObjectId;
use std::collections::HashMap;

const PREFLIGHT: &str = "conflictPreflight";
/// Other paths of one conflict that are listed.
const MAX_INVOLVED: usize = 6;
/// Bytes of a side that are shown however many files share an answer.
const FAIR_BYTES: usize = 1_024;
/// Characters of an answer that are neither files nor the envelope: heads, progress, guidance.
const AROUND: usize = 4_000;

/// `repo.conflictPreflight`.
pub(super) fn preflight(repo: &Repo, ask: &asks::Preflight, pace: &Pace) -> Result<Preflight, ReadFailure> {
    let current = revision::commit(repo, &ask.current, PREFLIGHT, pace)?;
    let target = revision::commit(repo, &ask.target, PREFLIGHT, pace)?;
    let mut answer = Preflight {
        operation: if ask.rebase { PreflightOperation::Rebase } else { PreflightOperation::Merge },
        current_ref: ask.current.clone(),
        target_ref: ask.target.clone(),
        current_oid: current.to_string(),
        target_oid: target.to_string(),
        merge_base_oid: None,
        status: PreflightStatus::CleanMerge,
        conflicting_paths: Vec::new(),
        conflicts: Vec::new(),
        conflict_count: 0,
        truncated: false,
        rebase: None,
        read_only: true,
        network_fetch_performed: false,
        working_tree_mutated: false,
        approval_required_for_merge: true,
        guidance: String::new(),
    };
    let (base, conflicts) = if ask.rebase {
        let replay = rebase::replay(repo, current, target, pace)?;
        answer.status = match &replay {
            rebase::Replay { up_to_date: true, .. } => PreflightStatus::AlreadyUpToDate,
            rebase::Replay { fast_forward: true, .. } => PreflightStatus::FastForward,
            rebase::Replay { stopped: Some(_), .. } => PreflightStatus::Conflicts,
            _ => PreflightStatus::CleanMerge,
        };
        answer.rebase = Some(replayed(repo, &replay));
        (replay.base, replay.stopped.map(|(_, conflicts)| conflicts).unwrap_or_default())
    } else {
        let (base, verdict) = merge::preflight_named(repo, current, target, &ask.target, pace)?;
        let (status, conflicts) = match verdict {
            Verdict::Unrelated => (PreflightStatus::UnrelatedHistories, Vec::new()),
            Verdict::UpToDate => (PreflightStatus::AlreadyUpToDate, Vec::new()),
            Verdict::FastForward => (PreflightStatus::FastForward, Vec::new()),
            Verdict::Clean => (PreflightStatus::CleanMerge, Vec::new()),
            Verdict::Conflicts(conflicts) => (PreflightStatus::Conflicts, conflicts),
        };
        answer.status = status;
        (base, conflicts)
    };
    answer.merge_base_oid = base.map(|id| id.to_string());
    answer.guidance = match (base, repo.has_borders()) {
        (None, true) => BASE_BEYOND_BORDER,
        _ => preflight_guidance(answer.status, ask.rebase),
    }
    .to_owned();
    answer.conflict_count = conflicts.len() as u64;
    // each path stands in the answer twice
    let mut budget = Budget::new(PREFLIGHT_PATHS, ask.chars);
    for conflict in &conflicts {
        let row = preflight_row(conflict);
        if !budget.take(&(&row, &row.path)) {
            answer.truncated = true;
            break;
        }
        answer.conflicting_paths.push(row.path.clone());
        answer.conflicts.push(row);
    }
    Ok(answer)
}

fn preflight_row(conflict: &merge::Conflict) -> PreflightConflict {
    let (path, path_encoding) = text_of(&conflict.path);
    let involved = conflict.involved.iter().take(MAX_INVOLVED).map(|path| named(path)).collect();
    PreflightConflict { path, path_encoding, kind: conflict.kind.name().to_owned(), involved }
}

fn named(path: &[u8]) -> InvolvedPath {
    let (path, path_encoding) = text_of(path);
    InvolvedPath { path, path_encoding }
}

fn replayed(repo: &Repo, replay: &rebase::Replay) -> RebasePreflight {
    let done = replay.stopped.as_ref().map_or(replay.commits.len(), |(at, _)| *at);
    let stopped_at = replay.stopped.as_ref().map(|(at, _)| {
        let head = head(repo, replay.commits[*at]);
        RebaseStop { sha: head.sha, subject: head.subject, step: *at as u64 + 1 }
    });
    RebasePreflight {
        commits: replay.commits.len() as u64,
        replayed: done as u64,
        already_upstream: replay.already_upstream as u64,
        merges_dropped: replay.merges as u64,
        became_empty: replay.became_empty as u64,
        stopped_at,
    }
}

/// Where a shallow clone does not reach down to a common ancestor.
const BASE_BEYOND_BORDER: &str = "What this clone holds of the two histories shares no commit, but it is shallow: they may meet beyond its border, which \
     `git fetch --unshallow` brings. Until then Git judges as is said here.";

fn preflight_guidance(status: PreflightStatus, rebase: bool) -> &'static str {
    match (status, rebase) {
        (PreflightStatus::UnrelatedHistories, _) => {
            "The two histories share no commit. Git refuses to merge them unless a person asks for it with \
             --allow-unrelated-histories."
        }
        (PreflightStatus::AlreadyUpToDate, _) => "Nothing to do: the current side has it all.",
        (PreflightStatus::FastForward, _) => {
            "The current side would only move forward to the target, without a merge commit and without conflicts."
        }
        (PreflightStatus::CleanMerge, false) => {
            "Git would merge without conflicts. A clean merge is no proof that the result works: build and test it."
        }
        (PreflightStatus::CleanMerge, true) => {
            "Git would replay every commit without conflicts. That is no proof that the result works: build and test it."
        }
        (PreflightStatus::Conflicts, false) => {
            "The merge would stop at these paths. Show them to a person first; after the merge has stopped, \
             conflict.read shows the sides."
        }
        (PreflightStatus::Conflicts, true) => {
            "The rebase would stop at this commit and these paths; later commits may conflict as well and were not \
             tried. After it has stopped, conflict.read shows the sides."
        }
    }
}

/// `conflict.read`.
pub(super) fn read(repo: &Repo, ask: &asks::Conflict, pace: &Pace) -> Result<Conflict, ReadFailure> {
    if repo.is_bare() {
        return Err(unmerged::bare());
    }
    let after = match ask.cursor.as_deref().map(|text| Cursor::parse(text, Of::Conflict)).transpose()? {
        None => None,
        Some(Cursor::Tracked(path)) => Some(path),
        Some(Cursor::Untracked(_)) => return Err(foreign()),
    };
    let index = repo.index()?;
    let files = unmerged::files(&index);
    if files.is_empty() {
        let hint = "Nothing is unmerged. repo.brief says whether a merge or rebase still waits for its end; \
                    repo.conflictPreflight predicts the conflicts of one that was not begun.";
        return Ok(Conflict { in_conflict: false, hint: Some(hint.to_owned()), active: None });
    }
    let known = operation::read(&repo.found.git_dir);
    let heads: Vec<ConflictHead> = known.theirs.iter().map(|&id| head(repo, id)).collect();
    let ours = repo.refs.head()?.id.map(|id| head(repo, id));
    let rest = after.as_deref().map_or(0, |after| files.partition_point(|file| &file.path[..] <= after));
    let (shown, next) = page(repo, &index, &files, rest, ask, pace);
    let active = ActiveConflict {
        operation: known.operation,
        progress: known.progress,
        ours,
        theirs: heads.first().cloned(),
        all_theirs: if heads.len() > 1 { heads } else { Vec::new() },
        conflicted_file_count: files.len() as u64,
        files: shown,
        file_list_truncated: next.is_some(),
        next_cursor: next.map(|cursor| cursor.text(Of::Conflict)),
        max_bytes_per_side: ask.max_bytes_per_side,
        guidance: guidance(known.operation).to_owned(),
    };
    Ok(Conflict { in_conflict: true, hint: None, active: Some(active) })
}

/// The files from `rest` on that fit, and where the next page starts.
fn page(
    repo: &Repo,
    index: &Snapshot,
    files: &[File],
    rest: usize,
    ask: &asks::Conflict,
    pace: &Pace,
) -> (Vec<ConflictFile>, Option<Cursor>) {
    let limit = ask.max_files.clamp(1, CONFLICT_FILES.1);
    let chars = (ask.chars as usize).saturating_sub(AROUND).max(AROUND);
    let mut budget = Budget::new(limit, u32::try_from(chars).unwrap_or(u32::MAX));
    let origins = unmerged::renamed(repo, files, pace);
    let mut markers = Markers::new(repo, index);
    let mut shown = Vec::new();
    let wanted = files.len().saturating_sub(rest).min(limit as usize);
    for (done, file) in files[rest.min(files.len())..].iter().enumerate() {
        // the first file is shown whatever the time: a page without one would never end
        let late = done > 0 && pace.look().is_err();
        let share = budget.left() / wanted.saturating_sub(done).max(1);
        let row = (!late && done < limit as usize).then(|| {
            fitting(repo, file, &origins, &mut markers, ask.max_bytes_per_side as usize, share, budget.left())
        });
        match row {
            Some(row) if budget.take(&row) => shown.push(row),
            _ => return (shown, Some(Cursor::Tracked(files[rest + done - 1].path.clone()))),
        }
    }
    (shown, None)
}

/// A file with sides cut so that it takes about its `share` of the answer, and never more than is `left`.
fn fitting(
    repo: &Repo,
    file: &File,
    origins: &HashMap<Vec<u8>, Vec<u8>>,
    markers: &mut Markers<'_>,
    most: usize,
    share: usize,
    left: usize,
) -> ConflictFile {
    let size = markers.size(&file.path);
    let marked = unmerged::marked(repo, &file.path, size);
    let [base, ours, theirs] = file.stages.map(|stage| stage.map(|stage| unmerged::side(repo, stage, most)));
    let (path, path_encoding) = text_of(&file.path);
    let mut row = ConflictFile {
        path,
        path_encoding,
        kind: unmerged::kind(file),
        sides: ConflictSides { base, ours, theirs },
        renamed_from: origins.get(&file.path).map(|path| named(path)),
        regions: marked.regions,
        regions_truncated: marked.truncated,
        worktree_file: marked.missing.map(str::to_owned),
        marker_size: (size != unmerged::MARKER_SIZE).then(|| u32::try_from(size).unwrap_or(u32::MAX)),
    };
    let mut bytes = most;
    // each round halves; text that is longer in JSON than in bytes needs some more
    while bytes > 0 {
        let cost = cost(&row);
        if cost <= share || (cost <= left && bytes <= FAIR_BYTES) {
            break;
        }
        bytes = if bytes > share { share.max(1) } else { bytes / 2 };
        for side in [&mut row.sides.base, &mut row.sides.ours, &mut row.sides.theirs].into_iter().flatten() {
            if let Some(content) = &mut side.content
                && content.len() > bytes
            {
                content.truncate(unmerged::cut(content.as_bytes(), bytes).len());
                side.truncated = Some(true);
            }
        }
    }
    row
}

fn head(repo: &Repo, id: ObjectId) -> ConflictHead {
    let mut buffer = Vec::new();
    let subject = history::read(repo, id, &mut buffer).map(|commit| history::subject(&commit)).unwrap_or_default();
    ConflictHead { sha: id.to_string(), subject: history::cut(&subject, MAX_SUBJECT_CHARS) }
}

fn guidance(operation: ConflictOperation) -> &'static str {
    match operation {
        ConflictOperation::Rebase => {
            "In a rebase the sides are swapped: ours is the target with the commits replayed so far, theirs is the \
             commit of your branch that is being replayed. Edit each file, remove the markers, `git add` it, then \
             `git rebase --continue`; `git rebase --abort` goes back."
        }
        ConflictOperation::Merge => {
            "Edit each file so that it keeps what both sides meant, remove the markers, `git add` it, then commit. \
             `git merge --abort` goes back."
        }
        ConflictOperation::CherryPick => {
            "Edit each file, remove the markers, `git add` it, then `git cherry-pick --continue`; \
             `git cherry-pick --abort` goes back."
        }
        ConflictOperation::Revert => {
            "Theirs is the file as it was before the commit that is reverted. Edit each file, remove the markers, \
             `git add` it, then `git revert --continue`; `git revert --abort` goes back."
        }
        ConflictOperation::Am => {
            "A patch is being applied: ours is HEAD, theirs is the file with the patch. Edit each file, `git add` it, \
             then `git am --continue`; `git am --abort` goes back."
        }
        ConflictOperation::Unknown => {
            "No merge waits for its end; this is what a stash or a checkout leaves. Edit each file, remove the \
             markers, and `git add` it."
        }
    }
}
