//! A whole status: HEAD, the staged side, and one walk over the working tree, before pages and rows are cut from it.
//! Trust: composed of parts that each state theirs; what could not be read is carried along, never hidden.

use crate::{
    changes::{Change, Letter, Side, normalised},
    discover::is_git_dir,
    index::Snapshot,
    pace::{Pace, Stopped},
    refs::Head,
    renames,
    repo::Repo,
    staged::{self, Unfinished},
    submodules,
    worktree::{
        Untracked,
        attributes::Attributes,
        compare::Comparison,
        disk::Top,
        ignore::Patterns,
        walk::{Differs, Walk, What},
    },
};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    results::Partial,
};
use std::{collections::HashSet, rc::Rc};

/// Everything that a status is made of.
#[derive(Debug)]
pub struct Sides {
    /// Where HEAD is.
    pub head: Head,
    /// The index that all positions below refer to.
    pub index: Rc<Snapshot>,
    /// The index column, by path.
    pub staged: Vec<Change>,
    /// The worktree column and the unmerged paths, by path; renames of the worktree side are in `moved`.
    pub differs: Vec<Differs>,
    /// Worktree renames, by their new path; their old paths are in no other list.
    pub moved: Vec<Change>,
    /// Untracked paths.
    pub untracked: Untracked,
    /// What was left out.
    pub partial: Option<Partial>,
}

/// Reads the status of `repo`. `depth` counts the repositories around it.
///
/// # Errors
/// [`Reason::Bare`] where there is no working tree; otherwise what is wrong with HEAD, its tree or the index.
pub fn read(repo: &Repo, untracked: Untracked, pace: &Pace, depth: usize) -> Result<Sides, ReadFailure> {
    let Some(top) = repo.found.worktree.as_deref().filter(|_| !repo.is_bare()) else {
        return Err(ReadFailure::new(Reason::Bare, "status", "A bare repository has no working tree to compare."));
    };
    let head = repo.refs.head()?;
    let tree = head.id.map(|id| repo.tree_of(id)).transpose()?;
    let index = repo.index()?;
    let (index, mut stopped) = match present(repo, Rc::clone(&index), top, pace) {
        Ok(index) => (index, None),
        Err(Unfinished::Stopped(why)) => (index, Some(why)),
        Err(Unfinished::Failed(failure)) => return Err(failure),
    };
    let staged = match staged::staged(&repo.git, &index, tree, pace) {
        Ok(staged) => staged,
        Err(Unfinished::Stopped(why)) => {
            stopped = Some(why);
            Vec::new()
        }
        Err(Unfinished::Failed(failure)) => return Err(failure),
    };
    let mut unread = None;
    let mut submodule = |at: usize| {
        let inside = submodules::inside(repo, &index, at, pace, depth);
        if inside.unread {
            unread.get_or_insert_with(|| index.path(at).to_vec());
        }
        inside
    };
    let is_repository = |path: &[u8]| {
        crate::files::bytes_path(path).is_some_and(|path| {
            let dot_git = top.join(path).join(".git");
            dot_git.is_file() || is_git_dir(&dot_git)
        })
    };
    let exclude = repo.info_exclude();
    let info = repo.info_attributes();
    let case = repo.settings.case();
    let operator = &repo.operator.config;
    let written = index.state.timestamp();
    let unreadable = |e: std::io::Error| crate::files::NoContents::of(&e).failure("status", "the working tree");
    let mut walk = Walk {
        repo: &repo.git,
        top: Top::open(top).map_err(unreadable)?,
        index: &index,
        settings: repo.settings,
        patterns: Patterns::new(operator.excludes.as_deref(), exclude.as_ref().map(|b| &b[..]), case),
        attributes: Attributes::new(operator.attributes.as_deref(), info.as_ref().map(|b| &b[..]), case),
        comparison: Comparison::new(
            &repo.git,
            repo.settings,
            (written.unix_seconds(), written.nanoseconds()),
            &repo.operator.verdicts,
        ),
        rule_files: &repo.rule_files,
        listings: &repo.listings,
        submodule: Some(&mut submodule),
        is_repository: &is_repository,
        pace,
        differs: Vec::new(),
        untracked,
        unreadable: None,
        spare: Vec::new(),
        stretch: None,
    };
    if stopped.is_none() {
        stopped = walk.run(&repo.operator.crew).err();
    }
    let Walk { mut differs, untracked, unreadable, .. } = walk;
    let mut moved = Vec::new();
    if index.intent_to_add && stopped.is_none() {
        moved = worktree_renames(repo, &index, &mut differs, top, pace).unwrap_or_else(|why| {
            stopped = Some(why);
            Vec::new()
        });
    }
    let unreadable = unreadable.or(unread).or_else(|| Some(repo.info_unread()?.into()));
    let partial = partial(stopped, unreadable.as_deref());
    Ok(Sides { head, index, staged, differs, moved, untracked, partial })
}

/// What is said where a walk ended for lack of memory.
pub(crate) const OUT_OF_MEMORY: &str = "Most of the memory that this worker may use was used up, so counts and rows are \
                                        incomplete. Ask for less, or start the server with a larger --worker-memory.";

/// Why an answer is not whole, in the words of the contract.
#[must_use]
pub fn partial(stopped: Option<Stopped>, unreadable: Option<&[u8]>) -> Option<Partial> {
    let (reason, details) = match (stopped, unreadable) {
        (Some(Stopped::Deadline), _) => (
            "deadline",
            "Most of the call's time was used up, so counts and rows are incomplete. Start the server with a larger \
             --deadline, or ask again: a second call finds the disk warm."
                .to_owned(),
        ),
        (Some(Stopped::Memory), _) => ("too-large", OUT_OF_MEMORY.to_owned()),
        (Some(Stopped::Cancelled), _) => ("cancelled", "The call was cancelled before it was done.".to_owned()),
        (None, Some(path)) => {
            let (path, _) = bulkhead_contract::path::text_of(path);
            let path = if path.is_empty() { "the top directory" } else { &path };
            ("unreadable", format!("At least {path} could not be read and was left out."))
        }
        (None, None) => return None,
    };
    Some(Partial { reason: reason.to_owned(), details })
}

/// The index with its sparse directories taken apart where they are there after all.
fn present(repo: &Repo, index: Rc<Snapshot>, top: &std::path::Path, pace: &Pace) -> Result<Rc<Snapshot>, Unfinished> {
    if index.sparse.is_empty() {
        return Ok(index);
    }
    let is_there = |path: &[u8]| crate::files::bytes_path(path).is_some_and(|path| top.join(path).is_dir());
    Ok(index.expanded(is_there, &repo.git, pace)?.map_or(index, Rc::new))
}

/// A file that will be added can be what became of one that is gone.
fn worktree_renames(
    repo: &Repo,
    index: &Snapshot,
    differs: &mut Vec<Differs>,
    top: &std::path::Path,
    pace: &Pace,
) -> Result<Vec<Change>, Stopped> {
    let of = |wanted: Letter| {
        let is = move |found: &&Differs| matches!(found.what, What::Changed { letter, .. } if letter == wanted);
        differs.iter().filter(is).map(|found| found.at).collect::<Vec<_>>()
    };
    let (gone, new) = (of(Letter::Deleted), of(Letter::Added));
    if gone.is_empty() || new.is_empty() {
        return Ok(Vec::new());
    }
    let side = |at: usize, on_disk: bool| {
        let entry = index.state.entry(at);
        let id = if on_disk { repo.git.object_hash().null() } else { entry.id };
        Side { path: index.path(at).to_vec(), mode: normalised(entry.mode.bits()), id }
    };
    let deleted = gone.iter().map(|&at| side(at, false)).collect();
    let added = new.iter().map(|&at| side(at, true)).collect();
    let blobs = renames::Blobs { repo: &repo.git, worktree: Some(top) };
    let mut moved = renames::pair(deleted, added, blobs, pace)?;
    moved.retain(|change| change.letter == Letter::Renamed);
    moved.sort_by(|a, b| a.path.cmp(&b.path));
    let ends: HashSet<&[u8]> =
        moved.iter().flat_map(|change| [Some(&change.path[..]), change.from.as_deref()]).flatten().collect();
    differs.retain(|found| !ends.contains(index.path(found.at)));
    Ok(moved)
}

/// What a superproject sees of this status: whether tracked content differs, and whether something is untracked.
impl Sides {
    /// Modified and untracked content, as Git reduces the status of a submodule.
    #[must_use]
    pub fn dirt(&self) -> (bool, bool) {
        let mut modified = !self.staged.is_empty() || !self.moved.is_empty();
        let mut untracked = self.untracked.total > 0;
        for found in &self.differs {
            match found.what {
                What::Changed { inside: Some(inside), .. } => {
                    untracked |= inside.untracked;
                    modified |= inside.commit || inside.modified;
                }
                What::Changed { .. } | What::Unmerged(_) => modified = true,
            }
        }
        (modified, untracked)
    }
}
