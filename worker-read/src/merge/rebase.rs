//! What a rebase would do: the commits replayed one after the other in memory, until the first conflict.
//! Trust: commits and contents are the repository's; how many are replayed and compared is bounded by the call's time.

use super::{
    Conflict, OURS, bases, ort, patch,
    resources::{Resources, resources, rules},
    scratch::Scratch,
    trees::{Difference, differences},
};
use crate::{history, pace::Pace, repo::Repo};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{ObjectId, objs::FindExt as _};
use std::collections::{BinaryHeap, HashMap, HashSet, hash_map};

/// Commits on either side at most.
const MAX_COMMITS: usize = 1_000_000;

/// How a rebase of `ours` onto `theirs` would end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Best common ancestor, if any.
    pub base: Option<ObjectId>,
    /// Nothing to do: the target is behind, and the commits since are in a line.
    pub up_to_date: bool,
    /// Nothing to replay: the target is ahead.
    pub fast_forward: bool,
    /// Commits that are replayed, first to last.
    pub commits: Vec<ObjectId>,
    /// Commits left out because the target has the same change.
    pub already_upstream: usize,
    /// Merges left out.
    pub merges: usize,
    /// Replayed commits of which nothing remains.
    pub became_empty: usize,
    /// Position in `commits` of the first that conflicts, and the paths that do.
    pub stopped: Option<(usize, Vec<Conflict>)>,
}

/// Replays what `ours` has and `theirs` has not onto `theirs`, in memory.
///
/// # Errors
/// Where objects are missing or damaged, a file is too large, or the call was stopped.
pub fn replay(repo: &Repo, ours: ObjectId, theirs: ObjectId, pace: &Pace) -> Result<Replay, ReadFailure> {
    let scratch = Scratch::new(repo, pace);
    let base = bases(&scratch, ours, theirs)?.first().copied();
    let mut replay = Replay {
        base,
        up_to_date: false,
        fast_forward: base == Some(ours) && ours != theirs,
        commits: Vec::new(),
        already_upstream: 0,
        merges: 0,
        became_empty: 0,
        stopped: None,
    };
    if replay.fast_forward || ours == theirs {
        replay.up_to_date = ours == theirs;
        return Ok(replay);
    }
    let [line, upstream] = apart(&scratch, ours, theirs)?;
    replay.merges = line.iter().filter(|commit| commit.parents.len() > 1).count();
    if base == Some(theirs) && replay.merges == 0 {
        replay.up_to_date = true;
        return Ok(replay);
    }
    let mut todo: Vec<&Commit> = ordered(&line).into_iter().filter(|commit| commit.parents.len() < 2).collect();
    todo.reverse();
    let same = same_changes(&scratch, &todo, &upstream)?;
    replay.already_upstream = same.len();
    todo.retain(|commit| !same.contains(&commit.id));
    replay.commits = todo.iter().map(|commit| commit.id).collect();
    let mut resources = resources(&scratch, rules(&scratch)?);
    let mut onto = tree_of(&scratch, theirs)?;
    for (at, commit) in todo.iter().enumerate() {
        scratch.look()?;
        let ancestor = match commit.parents.first() {
            Some(&parent) => tree_of(&scratch, parent)?,
            None => ObjectId::empty_tree(repo.git.object_hash()),
        };
        let (tree, conflicts) =
            picked(&scratch, &mut resources, [ancestor, onto, commit.tree], &label(&scratch, commit.id))?;
        if !conflicts.is_empty() {
            replay.stopped = Some((at, conflicts));
            break;
        }
        // one that was empty from the start is kept
        replay.became_empty += usize::from(tree == onto && commit.tree != ancestor);
        onto = tree;
    }
    Ok(replay)
}

/// What a rebase calls the commit that it replays.
fn label(scratch: &Scratch<'_>, id: ObjectId) -> String {
    let repo = scratch.repo;
    let short = repo.git.find_object(id).map_or_else(|_| id.to_string(), |it| it.id().shorten_or_id().to_string());
    let mut buffer = Vec::new();
    let subject = history::read(repo, id, &mut buffer).map(|commit| history::subject(&commit)).unwrap_or_default();
    format!("{short} ({subject})")
}

/// Merges three trees: base, ours, theirs.
fn picked(
    scratch: &Scratch<'_>,
    resources: &mut Resources,
    [base, ours, theirs]: [ObjectId; 3],
    name: &str,
) -> Result<(ObjectId, Vec<Conflict>), ReadFailure> {
    if base == ours {
        return Ok((theirs, Vec::new()));
    }
    if base == theirs || ours == theirs {
        return Ok((ours, Vec::new()));
    }
    let merged = ort::trees(scratch, resources, [base, ours, theirs], [OURS, name])?;
    Ok((merged.tree, merged.conflicts))
}

/// A commit of one side.
#[derive(Debug)]
struct Commit {
    id: ObjectId,
    tree: ObjectId,
    parents: Vec<ObjectId>,
    time: i64,
}

fn commit(scratch: &Scratch<'_>, id: ObjectId) -> Result<Commit, ReadFailure> {
    let mut buffer = Vec::new();
    let commit = scratch.find_commit(&id, &mut buffer).map_err(|_| scratch.failure())?;
    let time = commit.committer().ok().and_then(|who| who.time().ok()).map_or(0, |time| time.seconds);
    Ok(Commit { id, tree: commit.tree(), parents: commit.parents().collect(), time })
}

fn tree_of(scratch: &Scratch<'_>, id: ObjectId) -> Result<ObjectId, ReadFailure> {
    commit(scratch, id).map(|commit| commit.tree)
}

const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const BOTH: u8 = LEFT | RIGHT;
/// Commits that are still looked at after the walk seems finished, for clocks that were wrong (Git's `SLOP`).
const SLOP: u32 = 5;

struct Node {
    commit: Commit,
    colour: u8,
    queued: bool,
}

/// The commits that only `left` has, and those that only `right` has, by a walk in two colours, youngest first.
fn apart(scratch: &Scratch<'_>, left: ObjectId, right: ObjectId) -> Result<[Vec<Commit>; 2], ReadFailure> {
    let mut walk = Walk { scratch, nodes: HashMap::new(), queue: BinaryHeap::new(), open: 0 };
    walk.paint(left, LEFT)?;
    walk.paint(right, RIGHT)?;
    let (mut oldest, mut slop) = (i64::MAX, SLOP);
    while let Some((time, id)) = walk.queue.pop() {
        if walk.open == 0 {
            if time < oldest && slop == 0 {
                break;
            }
            slop = if time >= oldest { SLOP } else { slop - 1 };
        }
        let Some(node) = walk.nodes.get_mut(&id) else { continue };
        node.queued = false;
        let (colour, parents) = (node.colour, node.commit.parents.clone());
        if colour != BOTH {
            walk.open -= 1;
            oldest = oldest.min(time);
        }
        for parent in parents {
            walk.paint(parent, colour)?;
        }
        if walk.nodes.len() > MAX_COMMITS {
            return Err(ReadFailure::new(Reason::TooLarge, "rebase", "The histories are too long to be compared."));
        }
    }
    let mut sides = [Vec::new(), Vec::new()];
    for (_, node) in walk.nodes {
        match node.colour {
            LEFT => sides[0].push(node.commit),
            RIGHT => sides[1].push(node.commit),
            _ => {}
        }
    }
    Ok(sides)
}

struct Walk<'a, 'b> {
    scratch: &'a Scratch<'b>,
    nodes: HashMap<ObjectId, Node>,
    /// Youngest first.
    queue: BinaryHeap<(i64, ObjectId)>,
    /// Queued nodes of one colour.
    open: usize,
}

impl Walk<'_, '_> {
    fn paint(&mut self, id: ObjectId, colour: u8) -> Result<(), ReadFailure> {
        let node = match self.nodes.entry(id) {
            hash_map::Entry::Occupied(there) => there.into_mut(),
            hash_map::Entry::Vacant(free) => {
                free.insert(Node { commit: commit(self.scratch, id)?, colour: 0, queued: false })
            }
        };
        let before = node.colour;
        if before | colour == before {
            return Ok(());
        }
        node.colour |= colour;
        match (node.queued, before, node.colour) {
            (true, LEFT | RIGHT, BOTH) => self.open -= 1,
            (true, ..) => {}
            // also when it was taken before: what it passed on was too little
            (false, _, colour) => {
                node.queued = true;
                self.queue.push((node.commit.time, id));
                self.open += usize::from(colour != BOTH);
            }
        }
        Ok(())
    }
}

/// No parent before all of its children, and each line of development in one piece, as `git rebase` takes them.
fn ordered(commits: &[Commit]) -> Vec<&Commit> {
    let by_id: HashMap<ObjectId, &Commit> = commits.iter().map(|commit| (commit.id, commit)).collect();
    let mut children: HashMap<ObjectId, usize> = HashMap::new();
    for parent in commits.iter().flat_map(|commit| &commit.parents) {
        *children.entry(*parent).or_default() += 1;
    }
    let mut stack: Vec<&Commit> =
        commits.iter().rev().filter(|commit| children.get(&commit.id).is_none_or(|&count| count == 0)).collect();
    let mut all = Vec::with_capacity(commits.len());
    while let Some(commit) = stack.pop() {
        for parent in &commit.parents {
            let Some(count) = children.get_mut(parent) else { continue };
            *count -= 1;
            if *count == 0
                && let Some(next) = by_id.get(parent)
            {
                stack.push(next);
            }
        }
        all.push(commit);
    }
    all
}

/// Commits that touch the same set of paths, each with what it changed.
type ByPaths = HashMap<Vec<Vec<u8>>, Vec<(ObjectId, Vec<Difference>)>>;

/// Commits of `todo` whose change the other side has made, too.
fn same_changes(
    scratch: &Scratch<'_>,
    todo: &[&Commit],
    upstream: &[Commit],
) -> Result<HashSet<ObjectId>, ReadFailure> {
    let mut found = HashSet::new();
    let mut mine: ByPaths = HashMap::new();
    let mut touched: HashSet<Vec<u8>> = HashSet::new();
    for one in todo {
        let changes = patch::changes(scratch, parent_tree(scratch, one)?, one.tree)?;
        if changes.is_empty() {
            continue;
        }
        touched.extend(changes.iter().map(|change| change.path.clone()));
        mine.entry(paths(&changes)).or_default().push((one.id, changes));
    }
    if mine.is_empty() {
        return Ok(found);
    }
    let mut known: HashMap<ObjectId, ObjectId> = HashMap::new();
    for other in upstream {
        if other.parents.len() > 1 {
            continue;
        }
        let mut changes = Vec::new();
        let mut foreign = false;
        differences(scratch, parent_tree(scratch, other)?, Some(other.tree), &mut |change| {
            foreign = !touched.contains(&change.path);
            changes.push(change);
            !foreign
        })?;
        let Some(candidates) = mine.get(&paths(&changes)).filter(|_| !foreign) else { continue };
        let theirs = patch::id(scratch, &changes)?;
        for (id, changes) in candidates {
            let own = match known.get(id) {
                Some(own) => *own,
                None => {
                    let own = patch::id(scratch, changes)?;
                    known.insert(*id, own);
                    own
                }
            };
            if own == theirs {
                found.insert(*id);
            }
        }
    }
    Ok(found)
}

fn parent_tree(scratch: &Scratch<'_>, commit: &Commit) -> Result<Option<ObjectId>, ReadFailure> {
    commit.parents.first().map(|&parent| tree_of(scratch, parent)).transpose()
}

fn paths(changes: &[Difference]) -> Vec<Vec<u8>> {
    changes.iter().map(|change| change.path.clone()).collect()
}
