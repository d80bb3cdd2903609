//! Submodules: each is opened as strictly as its superproject, and its status is read by us, never by the library.
//! Trust: a submodule's `.git`, configuration and content are as hostile as the superproject's.

pub mod declared;
pub mod walk;

use crate::{
    discover::{self},
    files::{self, Version},
    index::Snapshot,
    open::Caches,
    pace::Pace,
    repo::Repo,
    status,
    worktree::Untracked,
};
use bulkhead_contract::{
    failure::ReadFailure,
    limits::{BRIEF_ATTENTION_ROWS, MAX_SUBMODULE_DEPTH, MAX_SUBMODULES},
    path::text_of,
    results::{BriefSubmodules, SubmoduleRow, SubmoduleState},
};
use gix::ObjectId;
use std::{ops::ControlFlow, rc::Rc};

/// Submodules of one repository that stay open between calls; each holds descriptors and maps.
pub(crate) const MAX_OPEN: usize = 8;

/// What differs inside a submodule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Inside {
    /// Another commit is checked out than the index records.
    pub commit: bool,
    /// Tracked content differs.
    pub modified: bool,
    /// It holds untracked files.
    pub untracked: bool,
    /// Something is checked out that may not be read, or not in full: there may be more than the others say.
    pub unread: bool,
}

impl Inside {
    /// True where the superproject shows a row for it.
    #[must_use]
    pub fn any(self) -> bool {
        self.commit || self.modified || self.untracked
    }

    /// The letters of the contract.
    #[must_use]
    pub fn letters(self) -> String {
        [(self.commit, 'C'), (self.modified, 'M'), (self.untracked, 'U')]
            .into_iter()
            .filter_map(|(set, letter)| set.then_some(letter))
            .collect()
    }
}

/// A submodule that was opened before.
#[derive(Debug)]
pub struct Nested {
    /// `None` where nothing is checked out, or what is there may not be read. Either is looked into anew each time: what
    /// would mend it leaves no trace in `.git`.
    repo: Option<Rc<Repo>>,
    /// Version of its `.git`. Another one means that it is looked for anew.
    dot_git: Version,
    /// What is checked out may not be read.
    refused: bool,
}

/// The submodule at `path` of `repo`, if it is checked out and may be read.
#[must_use]
pub fn checked_out(repo: &Repo, path: &[u8]) -> Option<Rc<Repo>> {
    let worktree = repo.found.worktree.as_deref()?.join(files::bytes_path(path)?);
    let dot_git = files::version(&worktree.join(".git"));
    let mut held = repo.nested.borrow_mut();
    if dot_git.is_absent() {
        held.remove(path);
        return None;
    }
    if let Some(nested) = held.get(path)
        && nested.dot_git == dot_git
        && let Some(open) = &nested.repo
        && open.is_current()
    {
        return Some(Rc::clone(open));
    }
    let (opened, refused) = open(repo, &worktree).map_or((None, true), |opened| (opened, false));
    if held.len() >= MAX_OPEN {
        held.pop_first();
    }
    held.insert(path.to_vec(), Nested { repo: opened.clone(), dot_git, refused });
    opened
}

/// True where [`checked_out`] just gave nothing although something is there: it may not be read.
#[must_use]
pub fn is_refused(repo: &Repo, path: &[u8]) -> bool {
    repo.nested.borrow().get(path).is_some_and(|nested| nested.refused)
}

/// `None` where nothing is checked out. Why a submodule is refused is told to those who ask about it by its own path.
fn open(parent: &Repo, worktree: &std::path::Path) -> Result<Option<Rc<Repo>>, ReadFailure> {
    // a link on the way would lead to another place than the one that the index names
    if std::fs::canonicalize(worktree).ok().is_none_or(|real| real != worktree) {
        return Ok(None);
    }
    let Some(found) = discover::submodule(worktree, &parent.found, &parent.operator.trust)? else { return Ok(None) };
    Repo::open(found, parent.operator.clone(), Caches::Nested).map(|repo| Some(Rc::new(repo)))
}

/// What differs inside the submodule whose gitlink is at `at` of `repo`'s index. Nothing does where it is not checked out.
#[must_use]
pub fn inside(repo: &Repo, index: &Snapshot, at: usize, pace: &Pace, depth: usize) -> Inside {
    if depth >= MAX_SUBMODULE_DEPTH {
        return Inside::default();
    }
    let path = index.path(at);
    let Some(nested) = checked_out(repo, path) else {
        return Inside { unread: is_refused(repo, path), ..Inside::default() };
    };
    let head = match head_of(&nested) {
        Ok(Some(head)) => head,
        Ok(None) => return Inside::default(),
        Err(_) => return Inside { unread: true, ..Inside::default() },
    };
    let (modified, untracked, unread) = status::read(&nested, Untracked::default(), pace, depth + 1).map_or_else(
        |_| {
            nested.doubt();
            (false, false, true)
        },
        |sides| {
            let (modified, untracked) = sides.dirt();
            (modified, untracked, sides.partial.is_some())
        },
    );
    Inside { commit: head != index.state.entry(at).id, modified, untracked, unread }
}

/// The commit that is checked out; none on a branch that is not born.
fn head_of(repo: &Repo) -> Result<Option<ObjectId>, ReadFailure> {
    Ok(repo.refs.head()?.id)
}

/// Counts all submodules of `repo`, nested ones included.
#[must_use]
pub fn survey(repo: &Repo, index: &Snapshot, pace: &Pace) -> BriefSubmodules {
    let mut seen = BriefSubmodules::default();
    let _ = walk::walk(repo, index, None, pace, &mut |submodule| {
        if seen.total >= MAX_SUBMODULES as u64 {
            return ControlFlow::Break(());
        }
        seen.total += 1;
        match submodule.state {
            SubmoduleState::Clean => seen.clean += 1,
            SubmoduleState::Drifted => seen.drifted += 1,
            SubmoduleState::Uninitialized => seen.uninitialized += 1,
            SubmoduleState::Conflicted => seen.conflicts += 1,
        }
        if submodule.state != SubmoduleState::Clean {
            if seen.attention.len() < BRIEF_ATTENTION_ROWS {
                let (path, path_encoding) = text_of(submodule.path);
                let (state, commit) = (submodule.state, submodule.commit.to_string());
                seen.attention.push(SubmoduleRow { state, commit, path, path_encoding, description: String::new() });
            } else {
                seen.attention_truncated = true;
            }
        }
        ControlFlow::Continue(())
    });
    seen
}
