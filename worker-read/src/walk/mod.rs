//! History as `git log` walks it: youngest first by committer date, limited by path, range, date, author and message.
//! Trust: commits and trees are the repository's; the walk is paced, and what cannot be read is left out and noted.
//!
//! [`Walk`] is the walk, [`Query`] what it looks for. [`Position`] is where it stands: enough to go on from there in
//! another process. A walk itself may be kept for that, too (`warm`).

pub(crate) mod dates;
pub(crate) mod entries;
mod follow;
mod limited;
pub(crate) mod node;
mod pattern;
mod position;
mod streaming;
mod warm;

pub use dates::moment;
pub use pattern::Pattern;
pub use position::Position;
pub(crate) use position::{ids, list};
pub(crate) use warm::Warm;

use crate::{
    commit_graph::Keys,
    pace::{Pace, Stopped},
    repo::Repo,
};
use entries::Entries;
use follow::Follow;
use gix::ObjectId;
use limited::Limited;
use node::{Node, Parents, Source};
use std::rc::Rc;
use streaming::Streaming;

/// Commits that are read before their turn at most, to read their trees in the order of the pack.
const MAX_AHEAD: usize = 256;

/// What a walk looks for.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Where it starts.
    pub tips: Vec<ObjectId>,
    /// Commits that are left out with everything that they lead to.
    pub hidden: Vec<ObjectId>,
    /// Only commits that change this path, with Git's default simplification; relative to the top, empty for the top
    /// itself.
    pub path: Option<Vec<u8>>,
    /// Follow the file at `path` through renames, as `git log --follow`.
    pub follow: bool,
    /// Committer times from this second on.
    pub since: Option<i64>,
    /// Committer times up to this second.
    pub until: Option<i64>,
    /// The author's `Name <mail>` matches.
    pub author: Option<Pattern>,
    /// A line of the message matches.
    pub grep: Option<Pattern>,
}

/// A commit that the walk shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Its id.
    pub id: ObjectId,
    /// Its committer time in seconds.
    pub time: i64,
    /// The path of the followed file as of this commit.
    pub path: Option<Vec<u8>>,
    /// Its parents as the walk knows them, which may be by a commit-graph that lies.
    pub parents: Vec<ObjectId>,
}

/// Why a walk does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// The call's time is over. The walk may go on in another call.
    Stopped(Stopped),
    /// It was resumed from a position that does not tell what was shown before: clocks were wrong. It has to be walked
    /// again from its start.
    Lost,
    /// The range holds more commits than are looked at.
    TooLarge,
}

impl From<Stopped> for Halt {
    fn from(stopped: Stopped) -> Self {
        Halt::Stopped(stopped)
    }
}

/// Lookups at the path that a walk is limited to.
#[derive(Clone)]
pub(crate) struct Lookup {
    pub(crate) path: Vec<u8>,
    pub(crate) entries: Entries,
    pub(crate) keys: Option<Rc<Keys>>,
}

impl Lookup {
    pub(crate) fn new(repo: &Repo, source: &Source, path: &[u8]) -> Self {
        let keys = source.has_filters().then(|| Keys::of(path)).flatten().map(Rc::new);
        Self { path: path.to_vec(), entries: Entries::new(repo, path), keys }
    }
}

/// What parts of a walk share.
struct Ground {
    query: Rc<Query>,
    source: Source,
    /// Where the walk is limited to a path and does not follow it.
    prune: Option<Lookup>,
    follow: Option<Follow>,
    /// How many commits to read ahead next time.
    ahead: usize,
}

enum Order {
    Streaming(Streaming),
    Limited(Limited),
}

/// A walk through history. It belongs to the repository that it was made for, and to no other.
pub struct Walk {
    ground: Ground,
    order: Order,
    /// Shown last, for [`Walk::put_back`] and for positions that name it.
    last: Option<ObjectId>,
    before_last: Option<ObjectId>,
    /// Given back and shown next.
    again: bool,
}

impl Walk {
    /// A walk from its start.
    #[must_use]
    pub fn new(repo: &Repo, query: Rc<Query>) -> Self {
        let mut ground = Ground::new(repo, Rc::clone(&query));
        let order = if query.hidden.is_empty() {
            Order::Streaming(Streaming::new(repo, &mut ground))
        } else {
            Order::Limited(Limited::new(repo, &mut ground))
        };
        Self { ground, order, last: None, before_last: None, again: false }
    }

    /// A walk from `position`, which an earlier walk with the same query gave. `None` where the position alone is not
    /// enough, and the walk has to be walked again from its start.
    #[must_use]
    pub fn resume(repo: &Repo, query: Rc<Query>, position: &Position) -> Option<Self> {
        let frontier = position.frontier.as_ref().filter(|_| query.hidden.is_empty())?;
        let mut ground = Ground::new(repo, Rc::clone(&query));
        if let (Some(follow), Some(path)) = (&mut ground.follow, &position.path) {
            follow.lookup = Lookup::new(repo, &ground.source, path);
        }
        let order = Order::Streaming(Streaming::resume(repo, &mut ground, frontier, position.oldest)?);
        Some(Self { ground, order, last: position.last, before_last: None, again: false })
    }

    /// The next commit, or `None` at the end.
    ///
    /// # Errors
    /// [`Halt`]; after [`Halt::Stopped`] the walk may go on.
    pub fn next(&mut self, repo: &Repo, pace: &Pace) -> Result<Option<Shown>, Halt> {
        if !std::mem::take(&mut self.again)
            && let Some(follow) = &mut self.ground.follow
        {
            follow.go_on(repo, &self.ground.source);
        }
        loop {
            let node = match &mut self.order {
                Order::Streaming(order) => order.next(repo, &mut self.ground, pace)?,
                Order::Limited(order) => order.next(repo, &mut self.ground, pace)?,
            };
            let Some(node) = node else { return Ok(None) };
            match self.ground.shown(repo, &node, pace) {
                Ok(None) => {}
                Ok(Some(shown)) => {
                    self.before_last = self.last.replace(shown.id);
                    // the page may be full now, and what was read ahead for nothing
                    self.ground.ahead /= 2;
                    return Ok(Some(shown));
                }
                Err(stopped) => {
                    self.give_back(node);
                    return Err(stopped.into());
                }
            }
        }
    }

    /// Makes the commit that was given last the next one.
    pub fn put_back(&mut self, repo: &Repo) {
        let Some(id) = self.last else { return };
        let name = self.ground.source.name(id);
        if let Some(node) = self.ground.source.node(repo, name) {
            self.give_back(node);
            self.last = self.before_last.take();
            self.again = true;
            if let Some(follow) = &mut self.ground.follow {
                follow.stay();
            }
        }
    }

    fn give_back(&mut self, node: Node) {
        match &mut self.order {
            Order::Streaming(order) => order.give_back(node),
            Order::Limited(order) => order.give_back(),
        }
    }

    /// Whether nothing follows for certain.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match &self.order {
            Order::Streaming(order) => order.is_over(),
            Order::Limited(order) => order.is_over(),
        }
    }

    /// Some commit or tree could not be read, and the walk may lack something.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        let lookups = self.ground.prune.iter().chain(self.ground.follow.as_ref().map(|follow| &follow.lookup));
        self.ground.source.incomplete || lookups.into_iter().any(|lookup| lookup.entries.incomplete)
    }

    /// Where the walk stands.
    #[must_use]
    pub fn position(&self) -> Position {
        let (oldest, frontier) = match &self.order {
            Order::Streaming(order) => order.position(&self.ground.source),
            Order::Limited(_) => (i64::MAX, None),
        };
        let path = self.ground.follow.as_ref().map(|follow| follow.path_next().to_vec());
        Position { last: self.last, oldest, frontier, path }
    }

    /// Bytes that it takes, about.
    fn bytes(&self) -> usize {
        let order = match &self.order {
            Order::Streaming(order) => order.bytes(),
            Order::Limited(order) => order.bytes(),
        };
        let lookups = self.ground.prune.iter().chain(self.ground.follow.as_ref().map(|follow| &follow.lookup));
        order + self.ground.source.bytes() + lookups.into_iter().map(|lookup| lookup.entries.bytes()).sum::<usize>()
    }
}

impl std::fmt::Debug for Walk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").field("query", &self.ground.query).finish_non_exhaustive()
    }
}

impl Ground {
    fn new(repo: &Repo, query: Rc<Query>) -> Self {
        let source = Source::new(repo, query.path.is_some());
        let path = query.path.as_deref();
        let prune = path.filter(|_| !query.follow).map(|path| Lookup::new(repo, &source, path));
        let follow = path.filter(|_| query.follow).map(|path| Follow::new(Lookup::new(repo, &source, path)));
        Self { query, source, prune, follow, ahead: 0 }
    }

    /// The parents of `node` that the walk goes on to, and whether the commit leaves the path as one of them has it.
    /// `relevant` says which parents count (Git's `relevant_commit`).
    fn simplified(
        &mut self,
        repo: &Repo,
        node: &Node,
        pace: &Pace,
        relevant: impl Fn(usize) -> bool,
    ) -> Result<(Parents, bool), Stopped> {
        let Some(mut prune) = self.prune.take() else { return Ok((node.parents.clone(), false)) };
        let simplified = self.simplified_at(&mut prune, repo, node, pace, relevant);
        self.prune = Some(prune);
        simplified
    }

    fn simplified_at(
        &mut self,
        prune: &mut Lookup,
        repo: &Repo,
        node: &Node,
        pace: &Pace,
        relevant: impl Fn(usize) -> bool,
    ) -> Result<(Parents, bool), Stopped> {
        if node.parents.is_empty() {
            return Ok((Parents::new(), prune.entries.at(repo, self.source.tree(node)).is_none()));
        }
        let filter = self.source.may_change(node.name, prune.keys.as_deref());
        let (mut counted, mut changed, mut changed_aside) = (false, false, false);
        for (at, &name) in node.parents.iter().enumerate() {
            counted |= relevant(at);
            let same = if at == 0 && filter == Some(false) {
                true
            } else if let Some(parent) = self.source.node(repo, name) {
                if at == 0 && filter.is_none() {
                    self.look_ahead(&mut prune.entries, repo, node, &parent, pace)?;
                }
                let same = prune.entries.same(repo, self.source.tree(node), self.source.tree(&parent));
                self.source.keep(parent);
                same
            } else {
                false
            };
            match (same, relevant(at)) {
                (true, true) => return Ok((Parents::from_slice(&[name]), true)),
                (true, false) => {}
                (false, true) => changed = true,
                (false, false) => changed_aside = true,
            }
        }
        Ok((node.parents.clone(), if counted { !changed } else { !changed_aside }))
    }

    fn look_ahead(
        &mut self,
        entries: &mut Entries,
        repo: &Repo,
        node: &Node,
        parent: &Node,
        pace: &Pace,
    ) -> Result<(), Stopped> {
        let Self { source, ahead, query, .. } = self;
        look_ahead(source, entries, ahead, query.since, repo, [node, parent], pace)
    }

    /// What is shown of a commit that the walk has come to, if it is.
    fn shown(&mut self, repo: &Repo, node: &Node, pace: &Pace) -> Result<Option<Shown>, Stopped> {
        let id = self.source.id(node.name);
        if self.query.until.is_some_and(|until| node.time > until) || !self.matches(repo, id) {
            return Ok(None);
        }
        let parents = node.parents.iter().map(|&name| self.source.id(name)).collect();
        let mut shown = Shown { id, time: node.time, path: None, parents };
        if let Some(mut follow) = self.follow.take() {
            let changes = self.followed(&mut follow, repo, node, pace);
            shown.path = Some(follow.lookup.path.clone());
            self.follow = Some(follow);
            if !changes? {
                return Ok(None);
            }
        }
        Ok(Some(shown))
    }

    fn followed(&mut self, follow: &mut Follow, repo: &Repo, node: &Node, pace: &Pace) -> Result<bool, Stopped> {
        if node.parents.len() > 1 || self.source.may_change(node.name, follow.lookup.keys.as_deref()) == Some(false) {
            return Ok(false);
        }
        let mut before = None;
        if let Some(&name) = node.parents.first()
            && let Some(parent) = self.source.node(repo, name)
        {
            self.look_ahead(&mut follow.lookup.entries, repo, node, &parent, pace)?;
            before = Some(self.source.tree(&parent));
            self.source.keep(parent);
        }
        follow.changes(repo, self.source.tree(node), before, pace)
    }

    fn matches(&self, repo: &Repo, id: ObjectId) -> bool {
        if self.query.author.is_none() && self.query.grep.is_none() {
            return true;
        }
        let mut buffer = Vec::new();
        let Some(commit) = repo.commit(id, &mut buffer) else { return false };
        let text = |bytes: &[u8]| crate::history::text(&commit, bytes.into());
        self.query.author.as_ref().is_none_or(|pattern| pattern.is_match(text(commit.author_ident()).as_bytes()))
            && self
                .query
                .grep
                .as_ref()
                .is_none_or(|pattern| text(commit.message).lines().any(|line| pattern.is_match(line.as_bytes())))
    }
}

/// Reads the trees of the commits that come next behind `node` and its first `parent`, where each is different and none is
/// known yet. `ahead` is how many were read the last time, `since` the time at which a walk ends.
pub(crate) fn look_ahead(
    source: &mut Source,
    entries: &mut Entries,
    ahead: &mut usize,
    since: Option<i64>,
    repo: &Repo,
    [node, parent]: [&Node; 2],
    pace: &Pace,
) -> Result<(), Stopped> {
    if source.has_filters() {
        return Ok(());
    }
    let tree = source.tree(parent);
    if entries.knows(&tree) || source.tree(node) == tree {
        return Ok(());
    }
    *ahead = (*ahead * 2).clamp(2, MAX_AHEAD);
    let mut trees = vec![tree];
    let mut next = parent.parents.first().copied();
    while let Some(name) = next.filter(|_| trees.len() < *ahead) {
        pace.step(1)?;
        let Some(node) = source.node(repo, name) else { break };
        if since.is_some_and(|since| node.time < since) {
            break;
        }
        trees.push(source.tree(&node));
        next = node.parents.first().copied();
        source.keep(node);
    }
    entries.prepare(repo, &trees, pace)
}
