//! All gitlinks of a repository, those of its submodules included, each with its state.
//! Trust: every submodule on the way was opened as strictly as its superproject; depth and number are bounded.

use super::{checked_out, declared::Declared, head_of, is_refused};
use crate::{
    index::Snapshot,
    pace::{Pace, Stopped},
    repo::Repo,
};
use bulkhead_contract::{failure::ReadFailure, limits::MAX_SUBMODULE_DEPTH, results::SubmoduleState};
use gix::ObjectId;
use std::ops::ControlFlow;

/// Why a walk did not see all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Left {
    /// Submodules are nested more deeply than is followed.
    pub too_deep: bool,
    /// The first that is checked out and may not be read.
    pub unread: Option<Vec<u8>>,
    /// The time was used up.
    pub stopped: Option<Stopped>,
}

/// One gitlink.
#[derive(Debug)]
pub struct Submodule<'a> {
    /// The repository whose index holds it.
    pub repo: &'a Repo,
    /// That index.
    pub index: &'a Snapshot,
    /// Its position in there.
    pub at: usize,
    /// Path relative to the top of the outermost repository.
    pub path: &'a [u8],
    /// State.
    pub state: SubmoduleState,
    /// Recorded commit; of an unmerged one, our side's.
    pub commit: ObjectId,
    /// Commit that is checked out.
    pub head: Option<ObjectId>,
    /// What the `.gitmodules` of its repository says.
    pub declared: &'a Declared,
    /// Repositories around the one that holds it.
    pub depth: usize,
}

/// Visits the gitlinks at or below `within`, in the order of the index, nested ones after the one that holds them.
pub fn walk(
    repo: &Repo,
    index: &Snapshot,
    within: Option<&[u8]>,
    pace: &Pace,
    visit: &mut dyn FnMut(&Submodule<'_>) -> ControlFlow<()>,
) -> Left {
    let mut left = Left::default();
    let _ = level(&Level { repo, index, prefix: &[], depth: 0 }, within, pace, visit, &mut left);
    left
}

/// One repository on the way.
struct Level<'a> {
    repo: &'a Repo,
    index: &'a Snapshot,
    prefix: &'a [u8],
    depth: usize,
}

fn level(
    here: &Level<'_>,
    within: Option<&[u8]>,
    pace: &Pace,
    visit: &mut dyn FnMut(&Submodule<'_>) -> ControlFlow<()>,
    left: &mut Left,
) -> ControlFlow<()> {
    let &Level { repo, index, prefix, depth } = here;
    if index.gitlinks.is_empty() {
        return ControlFlow::Continue(());
    }
    let declared = repo.found.worktree.as_deref().map(Declared::read).unwrap_or_default();
    for &at in &index.gitlinks {
        if let Err(stopped) = pace.step(1) {
            left.stopped = Some(stopped);
            return ControlFlow::Break(());
        }
        let path = index.path(at);
        let whole = [prefix, path].concat();
        let is_within = within.is_none_or(|within| lies_in(&whole, within));
        if !is_within && !within.is_some_and(|within| lies_in(within, &whole)) {
            continue;
        }
        let (state, commit, head) = state_of(repo, index, at, &declared);
        // a submodule whose HEAD is broken is there, and nothing is known of it
        let unread = head.is_err();
        let head = head.unwrap_or_default();
        if head.is_none() && left.unread.is_none() && (unread || is_refused(repo, path)) {
            left.unread = Some(whole.clone());
        }
        if is_within {
            visit(&Submodule { repo, index, at, path: &whole, state, commit, head, declared: &declared, depth })?;
        }
        if !matches!(state, SubmoduleState::Clean | SubmoduleState::Drifted) {
            continue;
        }
        if let Some(nested) = checked_out(repo, path)
            && let Ok(below) = nested.index()
            && !below.gitlinks.is_empty()
        {
            if depth + 1 >= MAX_SUBMODULE_DEPTH {
                left.too_deep = true;
                continue;
            }
            let prefix = [&whole, &b"/"[..]].concat();
            let below = Level { repo: &nested, index: &below, prefix: &prefix, depth: depth + 1 };
            level(&below, within, pace, visit, left)?;
        }
    }
    ControlFlow::Continue(())
}

/// True where `path` is `directory` or below it.
fn lies_in(path: &[u8], directory: &[u8]) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// State, recorded commit and checked-out commit of the gitlink at `at`.
fn state_of(
    repo: &Repo,
    index: &Snapshot,
    at: usize,
    declared: &Declared,
) -> (SubmoduleState, ObjectId, Result<Option<ObjectId>, ReadFailure>) {
    let entry = index.state.entry(at);
    let path = index.path(at);
    let head = checked_out(repo, path).map_or(Ok(None), |nested| head_of(&nested));
    if entry.stage_raw() != 0 {
        let stages = (at..index.state.entries().len()).take_while(|&at| index.path(at) == path);
        let ours = stages.map(|at| index.state.entry(at)).find(|entry| entry.stage_raw() == 2);
        return (SubmoduleState::Conflicted, ours.unwrap_or(entry).id, head);
    }
    let state = match &head {
        Ok(Some(_)) if !declared.is_active(repo, path) => SubmoduleState::Uninitialized,
        Ok(None) | Err(_) => SubmoduleState::Uninitialized,
        Ok(Some(head)) if *head == entry.id => SubmoduleState::Clean,
        Ok(Some(_)) => SubmoduleState::Drifted,
    };
    (state, entry.id, head)
}
