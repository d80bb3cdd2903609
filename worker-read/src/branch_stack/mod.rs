//! The current branch among its neighbours: base, upstream, and the branches that stand on it, in two walks for all.
//! Trust: names and commits are the repository's; both walks are bounded in commits and in time.

mod contains;
mod counts;
mod walk;

use crate::{
    pace::{Pace, Stopped},
    refs::Listed,
    repo::Repo,
};
use bulkhead_contract::failure::ReadFailure;
use gix::{
    ObjectId,
    bstr::{BString, ByteSlice as _},
};

pub use counts::MAX_TIPS;

const HEADS: &[u8] = b"refs/heads/";
/// Branches looked at, at most.
const MAX_BRANCHES: usize = 200_000;

/// A reference and the commit it is at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Full name.
    pub name: BString,
    /// `None` where it does not exist.
    pub id: Option<ObjectId>,
}

/// How a branch stands to the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Its upstream is the current branch.
    Tracks,
    /// The current commit is part of it.
    Descends,
    /// The base's commit is part of it.
    SharesBase,
}

/// A branch that is related to the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// Full name.
    pub name: BString,
    /// Where it is.
    pub id: ObjectId,
    /// How it is related.
    pub relation: Relation,
    /// Full name of its upstream.
    pub upstream: Option<BString>,
    /// Commits that it has and the current one lacks.
    pub ahead: u64,
    /// Commits that the current one has and it lacks.
    pub behind: u64,
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Stack {
    /// Full name of the current branch; `None` when HEAD is detached.
    pub branch: Option<BString>,
    /// Where HEAD is; `None` on an unborn branch.
    pub id: Option<ObjectId>,
    /// What the current branch follows.
    pub upstream: Option<Place>,
    /// Commits that the upstream lacks, and that only the upstream has.
    pub drift: (u64, u64),
    /// What the branch is compared with.
    pub base: Option<Place>,
    /// Commits that the base lacks, and that only the base has.
    pub distance: (u64, u64),
    /// By name, at most as many as were asked for.
    pub related: Vec<Related>,
    /// All that are related.
    pub related_total: u64,
    /// Local branches.
    pub branches: u64,
    /// Branches whose reference is broken; they were left out.
    pub broken: u64,
    /// Commits were counted.
    pub counted: bool,
    /// Time ran out: relations and counts are lower bounds.
    pub stopped: Option<Stopped>,
    /// Something other than time cut the work short.
    pub cut: bool,
    /// Commits are missing or damaged: relations and counts are not known for certain.
    pub missing: bool,
}

/// Finds out about the current branch.
///
/// # Errors
/// Where HEAD or `packed-refs` cannot be read.
pub fn read(repo: &Repo, candidates: &[BString], max_related: usize, pace: &Pace) -> Result<Stack, ReadFailure> {
    let head = repo.refs.head()?;
    let listed = repo.refs.list(pace)?;
    let snapshot = repo.git.config_snapshot();
    let config = snapshot.plumbing();
    let mut stack = Stack { id: head.id, cut: listed.cut, branches: listed.count(HEADS), ..Stack::default() };
    if let Some(branch) = &head.branch {
        let place = |name: BString| Place { id: there(repo, &name), name };
        stack.upstream = repo.refs.upstream_name(branch.as_ref(), config).map(place);
    }
    stack.branch = head.branch;
    stack.base = base(repo, &listed, candidates, stack.branch.as_ref());
    let Some(current) = stack.id else { return Ok(stack) };

    let others = others(repo, &listed, &mut stack, config, pace);
    let base_id = stack.base.as_ref().and_then(|base| base.id);
    let tips: Vec<_> = others.iter().map(|other| other.id).collect();
    let contained = contains::contains(repo, &tips, [Some(current), base_id], pace).unwrap_or_else(|stopped| {
        stack.stopped = Some(stopped);
        contains::Contained { each: vec![[false; 2]; tips.len()], cut: false, missing: false }
    });
    stack.cut |= contained.cut;
    stack.missing |= contained.missing;
    for (mut other, [has_current, has_base]) in others.into_iter().zip(contained.each) {
        let tracks = stack.branch.is_some() && other.upstream == stack.branch;
        other.relation = match (tracks, has_current, has_base) {
            (true, ..) => Relation::Tracks,
            (_, true, _) => Relation::Descends,
            (.., true) => Relation::SharesBase,
            (false, false, false) => continue,
        };
        stack.related_total += 1;
        if stack.related.len() < max_related.min(MAX_TIPS - 3) {
            stack.related.push(other);
        }
    }
    count(repo, &mut stack, current, base_id, pace);
    Ok(stack)
}

/// The first candidate that is there and is not the current branch itself: as a local branch, or at `origin`.
fn base(repo: &Repo, listed: &Listed<'_>, candidates: &[BString], current: Option<&BString>) -> Option<Place> {
    for candidate in candidates {
        for before in [HEADS, b"refs/remotes/origin/"] {
            let name = BString::from([before, candidate.as_bytes()].concat());
            if current == Some(&name) || !listed.holds(&name) {
                continue;
            }
            if let Some(id) = there(repo, &name) {
                return Some(Place { name, id: Some(id) });
            }
        }
    }
    None
}

/// Where `name` is; one that is broken is nowhere, and hides no other.
fn there(repo: &Repo, name: &BString) -> Option<ObjectId> {
    repo.refs.resolve(name.as_ref()).ok().flatten()
}

/// All local branches but the current one and the base.
fn others(
    repo: &Repo,
    listed: &Listed<'_>,
    stack: &mut Stack,
    config: &gix::config::File,
    pace: &Pace,
) -> Vec<Related> {
    let mut others = Vec::new();
    for entry in listed.beneath(HEADS) {
        if let Err(stopped) = pace.step(1) {
            stack.stopped = Some(stopped);
            break;
        }
        if others.len() >= MAX_BRANCHES {
            stack.cut = true;
            break;
        }
        let is = |name: Option<&BString>| name.is_some_and(|name| name == entry.name);
        if is(stack.branch.as_ref()) || is(stack.base.as_ref().map(|base| &base.name)) {
            continue;
        }
        match listed.target(&entry).map(|target| target.id) {
            Ok(Some(id)) => others.push(Related {
                name: entry.name.to_owned(),
                id,
                relation: Relation::SharesBase,
                upstream: repo.refs.upstream_name(entry.name, config),
                ahead: 0,
                behind: 0,
            }),
            // to a branch that is not there
            Ok(None) => {}
            Err(_) => stack.broken += 1,
        }
    }
    others
}

fn count(repo: &Repo, stack: &mut Stack, current: ObjectId, base: Option<ObjectId>, pace: &Pace) {
    let upstream = stack.upstream.as_ref().and_then(|upstream| upstream.id);
    let tips: Vec<_> = [upstream, base].into_iter().flatten().chain(stack.related.iter().map(|one| one.id)).collect();
    let counted = match counts::count(repo, current, &tips, pace) {
        Ok(counted) => counted,
        Err(stopped) => {
            stack.stopped = Some(stopped);
            return;
        }
    };
    stack.cut |= counted.cut;
    stack.missing |= counted.missing;
    stack.counted = true;
    let mut each = counted.each.into_iter();
    let mut next = |known: bool| if known { each.next().unwrap_or_default() } else { (0, 0) };
    let swapped = |(theirs, ours)| (ours, theirs);
    stack.drift = swapped(next(upstream.is_some()));
    stack.distance = swapped(next(base.is_some()));
    for one in &mut stack.related {
        (one.ahead, one.behind) = next(true);
    }
}
