//! What a merge would do, computed in memory.
//! Trust: every object is the repository's; nothing is written and no driver is run.

mod ort;
mod patch;
pub mod rebase;
mod resources;
mod scratch;
mod submodule;
pub mod text;
mod trees;

use crate::{
    pace::{Pace, Stopped},
    repo::Repo,
};
use bulkhead_contract::failure::ReadFailure;
use gix::{ObjectId, revision::plumbing::merge_base};
use resources::Resources;
use scratch::Scratch;

/// What `git merge` calls the side that is checked out.
const OURS: &str = "HEAD";
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

/// A path that a merge would leave unmerged, or that Git names where it cannot tell where a renamed directory went.
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

/// Verdicts by the two commits, the latest last. Ids are immutable; `shallow`, `refs/replace` and the configuration
/// open the repository anew, and with it an empty list; attribute files are part of the key, by their digest. What
/// rests on the objects of a submodule is not kept.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    kept: Vec<(Key, String, Answer)>,
}

/// Ours, theirs, and the digest of the attribute files.
type Key = [ObjectId; 3];
type Answer = (Option<ObjectId>, Verdict);

impl Verdicts {
    fn get(&mut self, key: &Key, name: &str) -> Option<Answer> {
        let at = self.kept.iter().position(|(of, called, _)| of == key && called == name)?;
        let found = self.kept.remove(at);
        let answer = found.2.clone();
        self.kept.push(found);
        Some(answer)
    }

    fn keep(&mut self, key: Key, name: &str, answer: &Answer) {
        if matches!(&answer.1, Verdict::Conflicts(all) if all.len() > MAX_KEPT_CONFLICTS) {
            return;
        }
        if self.kept.len() >= MAX_KEPT {
            self.kept.remove(0);
        }
        self.kept.push((key, name.to_owned(), answer.clone()));
    }
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
    preflight_named(repo, ours, theirs, &theirs.to_string(), pace)
}

/// The same with the name that `theirs` was called by. Where a file and a directory collide, Git keeps the file beside
/// the directory, under its own name with that name after it.
///
/// # Errors
/// As [`preflight`].
pub fn preflight_named(
    repo: &Repo,
    ours: ObjectId,
    theirs: ObjectId,
    name: &str,
    pace: &Pace,
) -> Result<(Option<ObjectId>, Verdict), ReadFailure> {
    let scratch = Scratch::new(repo, pace);
    let rules = resources::rules(&scratch)?;
    let key = [ours, theirs, rules.digest];
    if let Some(answer) = repo.merges.borrow_mut().get(&key, name) {
        return Ok(answer);
    }
    let base = bases(&scratch, ours, theirs)?.first().copied();
    let verdict = match base {
        None => Verdict::Unrelated,
        Some(base) if base == theirs => Verdict::UpToDate,
        Some(base) if base == ours => Verdict::FastForward,
        Some(_) => merged(&scratch, &mut resources::resources(&scratch, rules), [ours, theirs], name)?,
    };
    let answer = (base, verdict);
    if !scratch.asked_elsewhere.get() {
        repo.merges.borrow_mut().keep(key, name, &answer);
    }
    Ok(answer)
}

/// The best common ancestors of two commits, for a range between them.
///
/// # Errors
/// Where a commit is missing or damaged, or the call was stopped.
pub fn common(repo: &Repo, ours: ObjectId, theirs: ObjectId, pace: &Pace) -> Result<Vec<ObjectId>, ReadFailure> {
    bases(&Scratch::new(repo, pace), ours, theirs).map_err(|failure| {
        let Some(why) = pace.stopped() else { return failure };
        let flag = if why == Stopped::Memory { "--worker-memory" } else { "--deadline" };
        let details =
            format!("The common ancestors of the two ends were not found. Start the server with a larger {flag}.");
        ReadFailure { details, ..failure }
    })
}

/// The same, the one that `git merge-base` names first.
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
    sides: [ObjectId; 2],
    name: &str,
) -> Result<Verdict, ReadFailure> {
    let conflicts = ort::commits(scratch, resources, sides, [OURS, name])?.conflicts;
    Ok(if conflicts.is_empty() { Verdict::Clean } else { Verdict::Conflicts(conflicts) })
}
