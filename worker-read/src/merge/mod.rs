//! What a merge would do, computed in memory.
//! Trust: every object is the repository's; nothing is written and no driver is run.

mod conflicts;
mod resources;
mod scratch;
mod submodule;

use crate::{pace::Pace, repo::Repo};
use bulkhead_contract::failure::ReadFailure;
use gix::{
    ObjectId,
    merge::plumbing::{blob::builtin_driver::text::Labels, commit},
    objs::Write as _,
    revision::plumbing::merge_base,
};
use resources::Resources;
use scratch::Scratch;

/// Verdicts that are kept.
const MAX_KEPT: usize = 32;
/// Conflicts of a verdict that is kept at most.
const MAX_KEPT_CONFLICTS: usize = 2_000;

/// How a merge would end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No common ancestor.
    Unrelated,
    /// Theirs is an ancestor of ours.
    UpToDate,
    /// Ours is an ancestor of theirs.
    FastForward,
    /// Git would merge without asking.
    Clean,
    /// These paths would conflict, sorted by path, each path once.
    Conflicts(Vec<Conflict>),
}

/// A path that a merge would leave unmerged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Where its stages would be in the index.
    pub path: Vec<u8>,
    /// Git's word for it.
    pub kind: Kind,
    /// Other paths that are part of the same conflict: where it was renamed from, or to.
    pub involved: Vec<Vec<u8>>,
}

/// Why a path conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Both sides changed the same lines.
    Content,
    /// Both sides added different files of that name.
    AddAdd,
    /// One side changed it, the other deleted it.
    ModifyDelete,
    /// Both sides renamed it, or each side renamed another file to this name.
    RenameRename,
    /// One side renamed it, the other deleted it.
    RenameDelete,
    /// One side renamed the directory in which the other added the file.
    DirectoryRename,
    /// Both sides changed a file that is not text.
    Binary,
    /// Both sides changed the commit of a submodule, and neither contains the other.
    Submodule,
    /// One side has a file where the other has a directory.
    FileDirectory,
    /// The sides have different kinds of entry, for example a link and a file, or modes that differ both ways.
    Mode,
    /// Something that no other word fits.
    Other,
}

impl Kind {
    /// The word in answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Content => "content",
            Kind::AddAdd => "add/add",
            Kind::ModifyDelete => "modify/delete",
            Kind::RenameRename => "rename/rename",
            Kind::RenameDelete => "rename/delete",
            Kind::DirectoryRename => "directory-rename",
            Kind::Binary => "binary",
            Kind::Submodule => "submodule",
            Kind::FileDirectory => "file/directory",
            Kind::Mode => "mode",
            Kind::Other => "other",
        }
    }
}

/// Verdicts by (ours, theirs), the latest last. Both ids are immutable; what else decides, `shallow` and
/// `refs/replace`, opens the repository anew, and with it an empty list. Attributes and configuration of the working
/// tree decide too: `rules` is their digest.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    kept: Vec<(ObjectId, ObjectId, u64, Option<ObjectId>, Verdict)>,
}

/// Merges `theirs` into `ours`, both commits, in memory. Gives the best common ancestor beside the verdict.
///
/// # Errors
/// Where objects are missing or damaged, or the call was stopped.
pub fn preflight(
    repo: &Repo,
    ours: ObjectId,
    theirs: ObjectId,
    pace: &Pace,
) -> Result<(Option<ObjectId>, Verdict), ReadFailure> {
    let scratch = Scratch::new(repo, pace);
    let bases = bases(&scratch, ours, theirs)?;
    let Some(&base) = bases.first() else { return Ok((None, Verdict::Unrelated)) };
    if base == theirs {
        return Ok((Some(base), Verdict::UpToDate));
    }
    if base == ours {
        return Ok((Some(base), Verdict::FastForward));
    }
    let mut resources = resources::resources(&scratch)?;
    let verdict = merged(&scratch, &mut resources, ours, theirs)?;
    Ok((Some(base), verdict))
}

/// The best common ancestors of two commits, the one that `git merge-base` names first.
pub(crate) fn bases(scratch: &Scratch<'_>, ours: ObjectId, theirs: ObjectId) -> Result<Vec<ObjectId>, ReadFailure> {
    if ours == theirs {
        return Ok(vec![ours]);
    }
    let graph = scratch.repo.commit_graph();
    let mut graph = gix::revwalk::Graph::new(scratch, graph.as_deref());
    let bases = merge_base(ours, &[theirs], &mut graph).map_err(|_| scratch.failure())?;
    Ok(bases.map(Into::into).unwrap_or_default())
}

fn merged(
    scratch: &Scratch<'_>,
    resources: &mut Resources,
    ours: ObjectId,
    theirs: ObjectId,
) -> Result<Verdict, ReadFailure> {
    scratch.look()?;
    let graph = scratch.repo.commit_graph();
    let mut graph = gix::revwalk::Graph::new(scratch, graph.as_deref());
    let labels =
        Labels { ancestor: None, current: Some("ours".into()), other: Some("theirs".into()) };
    let mut outcome = gix::merge::plumbing::commit(
        ours,
        theirs,
        labels,
        &mut graph,
        &mut resources.diff,
        &mut resources.merge,
        scratch,
        &mut |id| id.to_string(),
        commit::Options {
            allow_missing_merge_base: false,
            tree_merge: resources.options.clone(),
            use_first_merge_base: false,
        },
    )
    .map_err(|_| scratch.failure())?;
    let tree = outcome.tree_merge.tree.write(|tree| scratch.write(tree)).map_err(|_| scratch.failure())?;
    let conflicts = conflicts::of(scratch, &outcome.tree_merge.conflicts, tree)?;
    Ok(if conflicts.is_empty() { Verdict::Clean } else { Verdict::Conflicts(conflicts) })
}
