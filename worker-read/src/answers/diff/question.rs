//! What a caller wants compared: revisions and paths to trees, index or working tree.
//! Trust: revisions and paths are the caller's; neither is an option, and a path stays in the repository.

use super::rename_limit;
use crate::{
    diff::{
        paths::Paths,
        sides::{self, Found, Item},
    },
    merge,
    pace::Pace,
    repo::Repo,
    revision,
    staged::Unfinished,
};
use bulkhead_contract::failure::{ReadFailure, Reason};
use bulkhead_ipc::edge::asks;
use gix::ObjectId;

const OPERATION: &str = "diff";

/// What a caller wants compared.
pub(super) enum What {
    /// Two trees; `None` is the empty one.
    Trees(Option<ObjectId>, Option<ObjectId>),
    /// The index against a tree.
    Staged(Option<ObjectId>),
    /// The working tree against the index.
    Worktree,
    /// The working tree against a tree.
    WorktreeAndTree(Option<ObjectId>),
}

pub(super) type Question = (What, Paths, Option<String>);

pub(super) fn question(
    repo: &Repo,
    compared: &asks::Compared,
    more: &[String],
    asked: &str,
    staged: bool,
    pace: &Pace,
) -> Result<Question, ReadFailure> {
    let mut paths = Paths::default();
    let mut path: Option<String> = None;
    if let Some(text) = &compared.path
        && paths.add(text, repo, asked)?
    {
        path = Some(text.to_owned());
    }
    let mut all = false;
    for text in more {
        all |= !paths.add(text, repo, asked)?;
    }
    if all && path.is_none() {
        paths = Paths::default();
    }
    let bad = |details: &str| ReadFailure::new(Reason::BadArgument, OPERATION, details);
    let range = compared.base.as_deref().filter(|base| base.contains("..")).and_then(|base| base.split_once(".."));
    let what = match (&compared.base, &compared.head, range) {
        _ if compared.uncommitted => {
            What::WorktreeAndTree(repo.refs.head()?.id.map(|head| repo.tree_of(head)).transpose()?)
        }
        (_, head, Some((from, to))) => {
            if head.is_some() || staged {
                return Err(bad("A range in `base` names both sides; leave out `head` and `staged`."));
            }
            let (from, to, symmetric) = match to.strip_prefix('.') {
                Some(to) => (from, to, true),
                None => (from, to, false),
            };
            let or_head = |text: &'_ str| if text.is_empty() { "HEAD".to_owned() } else { text.to_owned() };
            let (from, to) = (or_head(from), or_head(to));
            if symmetric {
                let ours = revision::commit(repo, &from, OPERATION, pace)?;
                let theirs = revision::commit(repo, &to, OPERATION, pace)?;
                let base = merge::common(repo, ours, theirs, pace)?.first().copied();
                let base = base.ok_or_else(|| bad("The two sides of the range have no common ancestor."))?;
                What::Trees(Some(tree_of(repo, base)?), Some(tree_of(repo, theirs)?))
            } else {
                What::Trees(tree(repo, &from, pace)?, tree(repo, &to, pace)?)
            }
        }
        (Some(_), Some(_), None) if staged => return Err(bad("With `staged`, leave out `head`.")),
        (Some(base), Some(head), None) => What::Trees(tree(repo, base, pace)?, tree(repo, head, pace)?),
        (Some(one), None, None) | (None, Some(one), None) => {
            let tree = tree(repo, one, pace)?;
            if staged { What::Staged(tree) } else { What::WorktreeAndTree(tree) }
        }
        (None, None, None) if staged => {
            let head = repo.refs.head()?.id;
            What::Staged(head.map(|head| repo.tree_of(head)).transpose()?)
        }
        (None, None, None) => What::Worktree,
    };
    if repo.is_bare() && !matches!(what, What::Trees(..)) {
        let details = "A bare repository has no working tree and no index; give `base` and `head`.";
        return Err(ReadFailure::new(Reason::Bare, OPERATION, details));
    }
    Ok((what, paths, path))
}

/// The tree that `expression` leads to; none for the empty one, which few repositories hold.
fn tree(repo: &Repo, expression: &str, pace: &Pace) -> Result<Option<ObjectId>, ReadFailure> {
    let shown = bulkhead_contract::args::shown(expression);
    let mut id = revision::object(repo, expression, OPERATION, pace)?;
    if id == ObjectId::empty_tree(repo.git.object_hash()) {
        return Ok(None);
    }
    for _ in 0..32 {
        let Ok(object) = repo.git.find_header(id) else { break };
        match object.kind() {
            gix::objs::Kind::Tree => return Ok(Some(id)),
            gix::objs::Kind::Commit => return tree_of(repo, id).map(Some),
            gix::objs::Kind::Tag => match repo.git.find_tag(id).ok().and_then(|tag| tag.target_id().ok()) {
                Some(target) => id = target.detach(),
                None => break,
            },
            gix::objs::Kind::Blob => {
                let details = format!("`{shown}` names a file, not a commit or a directory.");
                return Err(ReadFailure::new(Reason::BadArgument, OPERATION, details));
            }
        }
    }
    repo.doubt();
    let details = format!("The object that `{shown}` names is not in this clone, or is damaged.");
    Err(ReadFailure::new(Reason::ObjectMissing, OPERATION, details))
}

/// The tree of a commit.
pub(super) fn tree_of(repo: &Repo, commit: ObjectId) -> Result<ObjectId, ReadFailure> {
    let tree = repo.git.find_commit(commit).ok().and_then(|commit| commit.tree_id().ok()).map(gix::Id::detach);
    tree.ok_or_else(|| {
        repo.doubt();
        ReadFailure::new(
            Reason::ObjectMissing,
            OPERATION,
            format!("Commit {commit} is not in this clone, or is damaged."),
        )
    })
}

pub(super) fn find(repo: &Repo, what: &What, paths: &Paths, pace: &Pace) -> Result<Found, Unfinished> {
    let renames = rename_limit(repo);
    match what {
        What::Trees(old, new) => {
            let pairs = sides::trees(repo, *old, *new, paths, renames, pace)?;
            Ok(Found { items: pairs.into_iter().map(Item::Pair).collect(), partial: None })
        }
        What::Staged(base) => {
            let index = repo.index().map_err(Unfinished::Failed)?;
            sides::staged(repo, &index, *base, paths, renames, pace)
        }
        What::Worktree => sides::worktree(repo, paths, renames, pace),
        What::WorktreeAndTree(base) => sides::worktree_and_tree(repo, *base, paths, renames, pace),
    }
}
