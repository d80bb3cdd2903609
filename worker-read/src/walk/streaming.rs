//! A walk that shows each commit as soon as it meets it: everything but ranges.
//! Trust: see the module above; no commit is shown twice, however its dates lie.

use super::{
    Ground, Halt,
    node::{Name, Node, Seen, Source},
};
use crate::{pace::Pace, repo::Repo};
use gix::ObjectId;
use std::{cmp::Ordering, collections::BinaryHeap};

/// Commits in a position at most; a wider frontier is not written down.
const MAX_FRONTIER: usize = 32;
/// A walk that met so few commits is walked again from its start in about the time of a page, and its position needs no
/// frontier.
const FEW: u64 = 100;

/// A commit that was met and not yet come to: youngest first, of equal dates the one that was met first.
struct Waiting {
    met: u64,
    node: Node,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.node.time.cmp(&other.node.time).then(other.met.cmp(&self.met))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

/// The state of such a walk.
pub(super) struct Streaming {
    queue: BinaryHeap<Waiting>,
    seen: Seen,
    met: u64,
    /// Comes next whatever its date.
    front: Option<Node>,
    /// The oldest date come to so far.
    oldest: i64,
    /// Where the walk was resumed: a commit of this date or younger may have been shown before.
    border: Option<i64>,
}

impl Streaming {
    /// From the tips of the query.
    pub(super) fn new(repo: &Repo, ground: &mut Ground) -> Self {
        let mut order = Self {
            queue: BinaryHeap::new(),
            seen: Seen::default(),
            met: 0,
            front: None,
            oldest: i64::MAX,
            border: None,
        };
        for tip in ground.query.tips.clone() {
            let name = ground.source.name(tip);
            let _ = order.meet(repo, ground, name);
        }
        order
    }

    /// From a frontier, in the order in which it would have been come to; `None` where that is not the order of dates.
    pub(super) fn resume(repo: &Repo, ground: &mut Ground, frontier: &[ObjectId], oldest: i64) -> Option<Self> {
        let tips = std::mem::take(&mut std::rc::Rc::make_mut(&mut ground.query).tips);
        let mut order = Self::new(repo, ground);
        std::rc::Rc::make_mut(&mut ground.query).tips = tips;
        let mut before = i64::MAX;
        for id in frontier {
            let name = ground.source.name(*id);
            let node = ground.source.node(repo, name)?;
            if node.time > before || !order.seen.insert(name) {
                return None;
            }
            before = node.time;
            order.queue.push(Waiting { met: order.met, node });
            order.met += 1;
        }
        (order.oldest, order.border) = (oldest, Some(oldest));
        Some(order)
    }

    fn meet(&mut self, repo: &Repo, ground: &mut Ground, name: Name) -> Result<(), Halt> {
        if !self.seen.insert(name) {
            return Ok(());
        }
        if let Some(node) = ground.source.node(repo, name) {
            if self.border.is_some_and(|border| node.time >= border) {
                return Err(Halt::Lost);
            }
            self.queue.push(Waiting { met: self.met, node });
            self.met += 1;
        }
        Ok(())
    }

    /// The next commit that the path and the dates leave in.
    pub(super) fn next(&mut self, repo: &Repo, ground: &mut Ground, pace: &Pace) -> Result<Option<Node>, Halt> {
        loop {
            pace.step(1)?;
            let Some(node) = self.front.take().or_else(|| self.queue.pop().map(|waiting| waiting.node)) else {
                return Ok(None);
            };
            self.oldest = self.oldest.min(node.time);
            // Git goes no further from a commit that is too old
            if ground.query.since.is_some_and(|since| node.time < since) {
                continue;
            }
            let (parents, same) = match ground.simplified(repo, &node, pace, |_| true) {
                Ok(simplified) => simplified,
                Err(stopped) => {
                    self.front = Some(node);
                    return Err(stopped.into());
                }
            };
            for name in parents {
                if let Err(stopped) = pace.step(1) {
                    // those that were met are passed over when it is taken again
                    self.front = Some(node);
                    return Err(stopped.into());
                }
                self.meet(repo, ground, name)?;
            }
            if !same {
                return Ok(Some(node));
            }
        }
    }

    /// Makes `node` the next one.
    pub(super) fn give_back(&mut self, node: Node) {
        self.front = Some(node);
    }

    pub(super) fn is_over(&self) -> bool {
        self.front.is_none() && self.queue.is_empty()
    }

    /// The oldest date come to, and the frontier where it is not too wide.
    pub(super) fn position(&self, source: &Source) -> (i64, Option<Vec<ObjectId>>) {
        let from_its_start = self.border.is_none();
        if self.queue.len() + usize::from(self.front.is_some()) > MAX_FRONTIER || (from_its_start && self.met <= FEW) {
            return (self.oldest, None);
        }
        let mut waiting: Vec<&Waiting> = self.queue.iter().collect();
        waiting.sort_unstable_by(|a, b| b.cmp(a));
        let front = self.front.iter().chain(waiting.into_iter().map(|waiting| &waiting.node));
        (self.oldest, Some(front.map(|node| source.id(node.name)).collect()))
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.seen.bytes() + self.queue.len() * 120
    }
}
