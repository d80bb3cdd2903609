//! Commits as a walk needs them: from the commit-graph where it knows them, otherwise from the objects themselves.
//! Trust: graph and objects are the repository's; a commit that cannot be read is absent and noted.

use crate::{
    commit_graph::{Filters, Keys},
    repo::Repo,
};
use gix::{
    ObjectId,
    commitgraph::{Graph, Position},
};
use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

/// Commits that are kept for a second look at most.
const MAX_KEPT: usize = 1_024;

/// How a commit names another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// By its position in the commit-graph.
    At(u32),
    /// By its id; the commit-graph does not know it.
    Id(ObjectId),
}

/// A commit.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) name: Name,
    pub(super) id: ObjectId,
    pub(super) tree: ObjectId,
    /// Committer time in seconds.
    pub(super) time: i64,
    pub(super) parents: Vec<Name>,
}

/// Where commits come from. Holds the commit-graph that its positions are of.
#[derive(Clone, Default)]
pub(super) struct Source {
    graph: Option<Rc<Graph>>,
    filters: Option<Rc<Filters>>,
    /// Commits that were read before their turn.
    ahead: HashMap<Name, Node>,
    buffer: Vec<u8>,
    /// Some commit could not be read.
    pub(super) incomplete: bool,
}

impl Source {
    pub(super) fn new(repo: &Repo, with_filters: bool) -> Self {
        let graph = repo.commit_graph();
        let filters = graph.as_deref().filter(|_| with_filters).and_then(|graph| repo.filters(graph));
        Self { graph, filters, ..Self::default() }
    }

    /// The name of the commit `id`.
    pub(super) fn name(&self, id: ObjectId) -> Name {
        match self.graph.as_ref().and_then(|graph| graph.lookup(id)) {
            Some(position) => Name::At(position.0),
            None => Name::Id(id),
        }
    }

    /// The commit called `name`; `None` where it is missing or cannot be read.
    pub(super) fn node(&mut self, repo: &Repo, name: Name) -> Option<Node> {
        if !self.ahead.is_empty()
            && let Some(node) = self.ahead.remove(&name)
        {
            return Some(node);
        }
        let node = match (name, &self.graph) {
            (Name::At(at), Some(graph)) if at < graph.num_commits() => {
                let commit = graph.commit_at(Position(at));
                let parents = commit.iter_parents().map(|parent| parent.map(|at| Name::At(at.0)));
                parents.collect::<Result<_, _>>().ok().map(|parents| Node {
                    name,
                    id: commit.id().to_owned(),
                    tree: commit.root_tree_id().to_owned(),
                    time: i64::try_from(commit.committer_timestamp()).unwrap_or(i64::MAX),
                    parents,
                })
            }
            (Name::Id(id), _) => {
                let mut buffer = std::mem::take(&mut self.buffer);
                let node = repo.commit(id, &mut buffer).and_then(|commit| {
                    let time = commit.time();
                    let parents = if repo.is_shallow(&id) { Vec::new() } else { commit.parents };
                    let parents = parents.into_iter().map(|parent| self.name(parent)).collect();
                    Some(Node { name, id, tree: commit.tree?, time, parents })
                });
                self.buffer = buffer;
                node
            }
            _ => None,
        };
        self.incomplete |= node.is_none();
        node
    }

    /// Keeps `node`, which is asked for again soon, where reading it again would cost something.
    pub(super) fn keep(&mut self, node: Node) {
        if let Name::Id(_) = node.name {
            // what a merge left unused must not pile up
            if self.ahead.len() >= MAX_KEPT {
                self.ahead.clear();
            }
            self.ahead.insert(node.name, node);
        }
    }

    /// As [`Filters::may_change`].
    pub(super) fn may_change(&self, name: Name, keys: Option<&Keys>) -> Option<bool> {
        match (name, &self.filters, keys) {
            (Name::At(at), Some(filters), Some(keys)) => filters.may_change(at, keys),
            _ => None,
        }
    }

    /// Whether [`Source::may_change`] ever says something.
    pub(super) fn has_filters(&self) -> bool {
        self.filters.is_some()
    }
}

/// Commits that were met.
#[derive(Clone, Default)]
pub(super) struct Seen {
    positions: Vec<u64>,
    ids: HashSet<ObjectId>,
}

impl Seen {
    /// Notes a commit; true where it is met for the first time.
    pub(super) fn insert(&mut self, name: Name) -> bool {
        let at = match name {
            Name::Id(id) => return self.ids.insert(id),
            Name::At(at) => at as usize,
        };
        if self.positions.len() <= at / 64 {
            self.positions.resize(at / 64 + 1, 0);
        }
        let (word, bit) = (&mut self.positions[at / 64], 1u64 << (at % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.positions.len() * 8 + self.ids.len() * 40
    }
}
