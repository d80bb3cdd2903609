//! How far two commits have drifted apart: a walk in two colours, by generation where a commit-graph knows it.
//! Trust: commits and graph are the repository's; the walk is bounded in commits and in time.

use crate::{
    commit_graph::{Unfinished, with_or_without},
    pace::{Pace, Stopped},
    repo::Repo,
};
use gix::{
    ObjectId,
    commitgraph::{Graph, Position},
};
use std::collections::{BinaryHeap, HashMap};

/// Commits looked at, at most.
const MAX_COMMITS: usize = 3_000_000;
/// Commits that are still looked at after the walk seems finished, for clocks that were wrong (Git's `SLOP`).
const SLOP: u32 = 5;

/// Greatest generation that a commit-graph can hold (`gitformat-commit-graph`).
const MAX_GENERATION: u32 = 0x3fff_ffff;

const LEFT: u8 = 1;
const RIGHT: u8 = 2;
const BOTH: u8 = LEFT | RIGHT;
/// Generation of a commit that the graph does not know: above all that it knows.
const UNKNOWN: u32 = u32::MAX;

/// Commits on one side only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drift {
    /// On the left side and not on the right.
    pub ahead: u64,
    /// On the right side and not on the left.
    pub behind: u64,
    /// Cut short: both are lower bounds of a count that is not known.
    pub cut: bool,
    /// A commit on the way is missing or damaged: what lies behind it was not seen, and neither count is known.
    pub missing: bool,
}

/// Counts the commits that `left` and `right` do not share. A commit that is missing counts as one without parents, and
/// is noted.
///
/// # Errors
/// [`Stopped`].
pub fn count(repo: &Repo, left: ObjectId, right: ObjectId, pace: &Pace) -> Result<Drift, Stopped> {
    if left == right {
        return Ok(Drift::default());
    }
    let drift = with_or_without(repo, |graph| walk(repo, graph, left, right, pace))?;
    Ok(drift.unwrap_or(Drift { cut: true, ..Drift::default() }))
}

fn walk(repo: &Repo, graph: Option<&Graph>, left: ObjectId, right: ObjectId, pace: &Pace) -> Result<Drift, Unfinished> {
    let mut walk = Walk {
        repo,
        graph,
        known: HashMap::new(),
        nodes: Vec::new(),
        queue: BinaryHeap::new(),
        open: 0,
        missing: false,
    };
    walk.paint(left, LEFT);
    walk.paint(right, RIGHT);
    let mut oldest_single = i64::MAX;
    let mut slop = SLOP;
    let mut cut = false;
    while let Some(&(generation, time, node)) = walk.queue.peek() {
        if walk.open == 0 {
            // by generation every commit was final when it was taken; by date that holds only for clocks that are right
            if generation != UNKNOWN || (time < oldest_single && slop == 0) {
                break;
            }
            slop = if time >= oldest_single { SLOP } else { slop - 1 };
        }
        if walk.nodes.len() > MAX_COMMITS {
            cut = true;
            break;
        }
        pace.step(1)?;
        walk.queue.pop();
        let colour = walk.nodes[node as usize].colour;
        walk.nodes[node as usize].queued = false;
        if colour != BOTH {
            walk.open -= 1;
            oldest_single = oldest_single.min(time);
        }
        for parent in walk.parents(node)? {
            walk.paint(parent, colour);
        }
    }
    let of = |colour| walk.nodes.iter().filter(|node| node.colour == colour).count() as u64;
    Ok(Drift { ahead: of(LEFT), behind: of(RIGHT), cut, missing: walk.missing })
}

struct Node {
    id: ObjectId,
    position: Option<Position>,
    colour: u8,
    queued: bool,
    order: (u32, i64),
}

struct Walk<'a> {
    repo: &'a Repo,
    graph: Option<&'a Graph>,
    known: HashMap<ObjectId, u32>,
    nodes: Vec<Node>,
    /// Highest generation first, then youngest.
    queue: BinaryHeap<(u32, i64, u32)>,
    /// Queued nodes of one colour.
    open: usize,
    missing: bool,
}

impl Walk<'_> {
    fn paint(&mut self, id: ObjectId, colour: u8) {
        let next = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let at = *self.known.entry(id).or_insert(next);
        if at == next {
            let position = self.graph.and_then(|graph| graph.lookup(id));
            let order = match (self.graph, position) {
                (Some(graph), Some(position)) => {
                    let commit = graph.commit_at(position);
                    (commit.generation(), i64::try_from(commit.committer_timestamp()).unwrap_or(i64::MAX))
                }
                _ => (UNKNOWN, self.repo.commit_time(id).unwrap_or(0)),
            };
            self.nodes.push(Node { id, position, colour: 0, queued: false, order });
        }
        let node = &mut self.nodes[at as usize];
        let before = node.colour;
        if before | colour == before {
            return;
        }
        node.colour |= colour;
        match (node.queued, before, node.colour) {
            (true, LEFT | RIGHT, BOTH) => self.open -= 1,
            (true, _, _) => {}
            // also when it was taken before: what it passed on was too little
            (false, _, colour) => {
                node.queued = true;
                self.queue.push((node.order.0, node.order.1, at));
                if colour != BOTH {
                    self.open += 1;
                }
            }
        }
    }

    fn parents(&mut self, node: u32) -> Result<Vec<ObjectId>, Unfinished> {
        let node = &self.nodes[node as usize];
        let (Some(graph), Some(position)) = (self.graph, node.position) else {
            let parents = self.repo.known_parents(node.id);
            self.missing |= parents.is_none();
            return Ok(parents.unwrap_or_default());
        };
        let commit = graph.commit_at(position);
        let own = commit.generation();
        let mut parents = Vec::new();
        for parent in commit.iter_parents() {
            let parent = parent.map_err(|_| Unfinished::GraphLies)?;
            // zero was not computed, and the greatest stands for all above it
            if (1..MAX_GENERATION).contains(&own) && graph.commit_at(parent).generation() >= own {
                return Err(Unfinished::GraphLies);
            }
            parents.push(graph.id_at(parent).to_owned());
        }
        Ok(parents)
    }
}
