//! Commits met on a walk from many tips at once: each once, with a set of marks that parents take over.
//! Trust: commits and graph are the repository's; a graph that contradicts itself ends the walk.

use crate::{commit_graph::Unfinished, repo::Repo};
use gix::{
    ObjectId,
    commitgraph::{Graph, Position},
};
use std::collections::{BinaryHeap, HashMap};

/// Commits looked at, at most.
pub(super) const MAX_COMMITS: usize = 2_000_000;
/// Commits that are still looked at after a walk by date seems finished, for clocks that were wrong (Git's `SLOP`).
pub(super) const SLOP: u32 = 5;
/// Generation of a commit that the graph does not know: above all that it knows.
pub(super) const UNKNOWN: u32 = u32::MAX;
/// Greatest generation that a commit-graph can hold (`gitformat-commit-graph`).
const MAX_GENERATION: u32 = 0x3fff_ffff;

/// A commit that was met.
pub(super) struct Node {
    position: Option<Position>,
    pub(super) marks: u64,
    queued: bool,
    pub(super) generation: u32,
    pub(super) time: i64,
    /// Parents by id until they are looked at; of a commit in the graph they are in the graph.
    by_id: Vec<ObjectId>,
    /// Parents by their place among the nodes, once the node was taken.
    pub(super) parents: Vec<u32>,
    taken: bool,
}

/// A walk.
pub(super) struct Walk<'a> {
    repo: &'a Repo,
    graph: Option<&'a Graph>,
    known: HashMap<ObjectId, u32>,
    pub(super) nodes: Vec<Node>,
    /// Highest generation first, then youngest.
    queue: BinaryHeap<(u32, i64, u32)>,
    /// A commit is missing or damaged: what lies behind it was not seen.
    pub(super) missing: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(repo: &'a Repo, graph: Option<&'a Graph>) -> Self {
        Self { repo, graph, known: HashMap::new(), nodes: Vec::new(), queue: BinaryHeap::new(), missing: false }
    }

    /// Place of the commit `id` among the nodes, met now if it was not before.
    pub(super) fn node(&mut self, id: ObjectId) -> u32 {
        let next = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        let at = *self.known.entry(id).or_insert(next);
        if at == next {
            let position = self.graph.and_then(|graph| graph.lookup(id));
            let mut node = Node {
                position,
                marks: 0,
                queued: false,
                generation: UNKNOWN,
                time: 0,
                by_id: Vec::new(),
                parents: Vec::new(),
                taken: false,
            };
            if let (Some(graph), Some(position)) = (self.graph, position) {
                let commit = graph.commit_at(position);
                node.generation = commit.generation();
                node.time = i64::try_from(commit.committer_timestamp()).unwrap_or(i64::MAX);
            } else if let Some(commit) = self.repo.commit(id, &mut Vec::new()) {
                node.time = commit.time();
                if !self.repo.is_shallow(&id) {
                    node.by_id = commit.parents;
                }
            } else {
                self.missing = true;
            }
            self.nodes.push(node);
        }
        at
    }

    /// The node that is taken next, without taking it.
    pub(super) fn peek(&self) -> Option<u32> {
        self.queue.peek().map(|&(_, _, node)| node)
    }

    /// Takes the next node.
    pub(super) fn pop(&mut self) {
        if let Some((_, _, node)) = self.queue.pop() {
            self.nodes[node as usize].queued = false;
        }
    }

    /// Adds `marks` to `node`, and queues it where it had not all of them. Gives its marks before, and whether it waited in
    /// the queue already.
    pub(super) fn mark(&mut self, node: u32, marks: u64) -> Option<(u64, bool)> {
        let it = &mut self.nodes[node as usize];
        let (before, queued) = (it.marks, it.queued);
        it.marks |= marks;
        if it.marks == before {
            return None;
        }
        if !queued {
            // also when it was taken before: what it passed on was too little
            it.queued = true;
            self.queue.push((it.generation, it.time, node));
        }
        Some((before, queued))
    }

    /// Looks up the parents of `node`, once.
    pub(super) fn take(&mut self, node: u32) -> Result<(), Unfinished> {
        let it = &mut self.nodes[node as usize];
        if it.taken {
            return Ok(());
        }
        it.taken = true;
        let (position, own) = (it.position, it.generation);
        let mut ids = std::mem::take(&mut it.by_id);
        if let (Some(graph), Some(position)) = (self.graph, position) {
            for parent in graph.commit_at(position).iter_parents() {
                let parent = parent.map_err(|_| Unfinished::GraphLies)?;
                // zero was not computed, and the greatest stands for all above it
                if (1..MAX_GENERATION).contains(&own) && graph.commit_at(parent).generation() >= own {
                    return Err(Unfinished::GraphLies);
                }
                ids.push(graph.id_at(parent).to_owned());
            }
        }
        let parents = ids.into_iter().map(|id| self.node(id)).collect();
        self.nodes[node as usize].parents = parents;
        Ok(())
    }

    /// Whether all generations are those of the graph and were computed.
    pub(super) fn has_generation(&self, node: u32) -> bool {
        (1..MAX_GENERATION).contains(&self.nodes[node as usize].generation)
    }
}
