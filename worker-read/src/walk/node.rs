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
use hashbrown::HashTable;
use smallvec::SmallVec;
use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    rc::Rc,
};

/// Commits that are kept for a second look at most.
const MAX_KEPT: usize = 1_024;

/// How a commit names another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Name {
    /// By its position in the commit-graph.
    At(u32),
    /// By its place among the ids that the walk has met and that the commit-graph does not know.
    Met(u32),
}

/// Names of parents; hardly any commit has more than two.
pub(crate) type Parents = SmallVec<[Name; 2]>;

/// A commit. Most of them are only passed by, so what the commit-graph can tell again is not carried along.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) name: Name,
    /// Committer time in seconds.
    pub(crate) time: i64,
    pub(crate) parents: Parents,
    /// Where the commit-graph does not know it.
    tree: Option<Box<ObjectId>>,
}

/// Ids by the order in which they were met.
#[derive(Clone, Default)]
struct Ids {
    all: Vec<ObjectId>,
    places: HashTable<u32>,
    /// Ids are the repository's, and could be made to fall into one place of a table that is not keyed.
    keys: RandomState,
}

impl Ids {
    fn place(&mut self, id: ObjectId) -> u32 {
        let Self { all, places, keys } = self;
        let of = |&place: &u32| keys.hash_one(all[place as usize]);
        let entry = places.entry(keys.hash_one(id), |&place| all[place as usize] == id, of);
        // no clone of a repository holds four thousand million commits
        let next = u32::try_from(all.len()).unwrap_or(u32::MAX);
        let place = *entry.or_insert(next).get();
        if place == next {
            all.push(id);
        }
        place
    }
}

/// Where commits come from. Holds the commit-graph that its positions are of.
#[derive(Clone, Default)]
pub(crate) struct Source {
    graph: Option<Rc<Graph>>,
    ids: Ids,
    filters: Option<Rc<Filters>>,
    /// The walk is limited to a path.
    passing: bool,
    /// Commits that were read before their turn.
    ahead: HashMap<Name, Node>,
    buffer: Vec<u8>,
    /// Some commit could not be read.
    pub(crate) incomplete: bool,
}

impl Source {
    /// Commits of `repo`; `of_path` where most of them are passed by.
    pub(crate) fn new(repo: &Repo, of_path: bool) -> Self {
        let graph = repo.commit_graph();
        let filters = graph.as_deref().filter(|_| of_path).and_then(|graph| repo.filters(graph));
        Self { graph, filters, passing: of_path, ..Self::default() }
    }

    /// The name of the commit `id`.
    pub(crate) fn name(&mut self, id: ObjectId) -> Name {
        match self.graph.as_ref().and_then(|graph| graph.lookup(id)) {
            Some(position) => Name::At(position.0),
            None => Name::Met(self.ids.place(id)),
        }
    }

    /// The id of a commit that was named here; null for any other name.
    pub(crate) fn id(&self, name: Name) -> ObjectId {
        let found = match (name, &self.graph) {
            (Name::At(at), Some(graph)) if at < graph.num_commits() => Some(graph.id_at(Position(at)).to_owned()),
            (Name::Met(place), _) => self.ids.all.get(place as usize).copied(),
            (Name::At(_), _) => None,
        };
        found.unwrap_or_else(|| ObjectId::null(gix::hash::Kind::Sha1))
    }

    /// The tree of a commit that came from here.
    pub(crate) fn tree(&self, node: &Node) -> ObjectId {
        match (&node.tree, node.name, &self.graph) {
            (Some(tree), ..) => **tree,
            (None, Name::At(at), Some(graph)) if at < graph.num_commits() => {
                graph.commit_at(Position(at)).root_tree_id().to_owned()
            }
            _ => ObjectId::null(gix::hash::Kind::Sha1),
        }
    }

    /// The commit called `name`; `None` where it is missing or cannot be read.
    pub(crate) fn node(&mut self, repo: &Repo, name: Name) -> Option<Node> {
        if !self.ahead.is_empty()
            && let Some(node) = self.ahead.remove(&name)
        {
            return Some(node);
        }
        let node = match (name, &self.graph) {
            (Name::At(at), Some(graph)) if at < graph.num_commits() => {
                let commit = graph.commit_at(Position(at));
                let parents = commit.iter_parents().map(|parent| parent.map(|at| Name::At(at.0)));
                let time = i64::try_from(commit.committer_timestamp()).unwrap_or(i64::MAX);
                let parents = parents.collect::<Result<_, _>>().ok();
                parents.map(|parents| Node { name, time, parents, tree: None })
            }
            (Name::Met(_), _) => {
                let id = self.id(name);
                let mut buffer = std::mem::take(&mut self.buffer);
                let found = match self.passing {
                    true => repo.commit_in_passing(id, &mut buffer),
                    false => repo.commit(id, &mut buffer),
                };
                let node = found.and_then(|commit| {
                    let time = commit.time();
                    let parents = if repo.is_shallow(&id) { Vec::new() } else { commit.parents };
                    let parents = parents.into_iter().map(|parent| self.name(parent)).collect();
                    Some(Node { name, time, parents, tree: Some(Box::new(commit.tree?)) })
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
    pub(crate) fn keep(&mut self, node: Node) {
        if let Name::Met(_) = node.name {
            // what a merge left unused must not pile up
            if self.ahead.len() >= MAX_KEPT {
                self.ahead.clear();
            }
            self.ahead.insert(node.name, node);
        }
    }

    /// As [`Filters::may_change`].
    pub(crate) fn may_change(&self, name: Name, keys: Option<&Keys>) -> Option<bool> {
        match (name, &self.filters, keys) {
            (Name::At(at), Some(filters), Some(keys)) => filters.may_change(at, keys),
            _ => None,
        }
    }

    /// Bytes that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.ids.all.len() * (size_of::<ObjectId>() + 8) + self.ahead.len() * 150
    }

    /// Whether [`Source::may_change`] ever says something.
    pub(crate) fn has_filters(&self) -> bool {
        self.filters.is_some()
    }
}

/// Commits that were met.
#[derive(Clone, Default)]
pub(crate) struct Seen {
    positions: Vec<u64>,
    places: Vec<u64>,
}

impl Seen {
    /// Notes a commit; true where it is met for the first time.
    pub(crate) fn insert(&mut self, name: Name) -> bool {
        let (bits, at) = match name {
            Name::At(at) => (&mut self.positions, at as usize),
            Name::Met(at) => (&mut self.places, at as usize),
        };
        if bits.len() <= at / 64 {
            bits.resize(at / 64 + 1, 0);
        }
        let (word, bit) = (&mut bits[at / 64], 1u64 << (at % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Bytes that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        (self.positions.len() + self.places.len()) * 8
    }
}
