//! A walk that must know everything before it shows the first commit: ranges. Git's `limit_list`, step by step.
//! Trust: see the module above; bounded in commits, and the work done so far is kept when the time is over.

use super::{
    Ground, Halt,
    node::{Name, Node},
};
use crate::{pace::Pace, repo::Repo};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

/// Commits looked at, at most; some 200 bytes each.
const MAX_COMMITS: usize = 300_000;
/// Commits that are still looked at after the walk seems finished, for clocks that were wrong (Git's `SLOP`).
const SLOP: u32 = 5;

/// A commit of the range or of what is left out.
struct Met {
    name: Name,
    node: Option<Node>,
    /// Links to the parents that count, once the commit was read.
    parents: Vec<usize>,
    hidden: bool,
    /// One of the commits that the caller names as left out.
    bottom: bool,
    seen: bool,
    expanded: bool,
    queued: bool,
    /// Leaves the path as a parent has it.
    same: bool,
}

/// The state of such a walk.
pub(super) struct Limited {
    met: Vec<Met>,
    by_name: HashMap<Name, usize>,
    queue: BinaryHeap<(i64, Reverse<usize>, usize)>,
    order: usize,
    kept: Vec<usize>,
    slop: u32,
    date: i64,
    interesting: Option<usize>,
    /// The commits of the range, once it is known, and how many were given.
    found: Option<Vec<Name>>,
    given: usize,
}

impl Limited {
    /// From the tips and the hidden commits of the query.
    pub(super) fn new(repo: &Repo, ground: &mut Ground) -> Self {
        let mut walk = Self {
            met: Vec::new(),
            by_name: HashMap::new(),
            queue: BinaryHeap::new(),
            order: 0,
            kept: Vec::new(),
            slop: SLOP,
            date: i64::MAX,
            interesting: None,
            found: None,
            given: 0,
        };
        let query = std::rc::Rc::clone(&ground.query);
        for id in &query.hidden {
            let at = walk.at(ground.source.name(*id));
            (walk.met[at].hidden, walk.met[at].bottom) = (true, true);
            if walk.read(repo, ground, at) {
                walk.hide_parents(at);
                walk.enqueue(at);
            }
        }
        for id in &query.tips {
            let at = walk.at(ground.source.name(*id));
            if walk.read(repo, ground, at) {
                walk.enqueue(at);
            }
        }
        walk
    }

    fn at(&mut self, name: Name) -> usize {
        let next = self.met.len();
        let at = *self.by_name.entry(name).or_insert(next);
        if at == next {
            self.met.push(Met {
                name,
                node: None,
                parents: Vec::new(),
                hidden: false,
                bottom: false,
                seen: false,
                expanded: false,
                queued: false,
                same: false,
            });
        }
        at
    }

    /// Reads the commit, if that was not done; false where it cannot be read.
    fn read(&mut self, repo: &Repo, ground: &mut Ground, at: usize) -> bool {
        if self.met[at].node.is_none()
            && let Some(node) = ground.source.node(repo, self.met[at].name)
        {
            self.met[at].parents = node.parents.iter().map(|name| self.at(*name)).collect();
            self.met[at].node = Some(node);
        }
        self.met[at].node.is_some()
    }

    fn enqueue(&mut self, at: usize) {
        let met = &mut self.met[at];
        if let Some(node) = &met.node
            && !met.seen
        {
            (met.seen, met.queued) = (true, true);
            self.queue.push((node.time, Reverse(self.order), at));
            self.order += 1;
        }
    }

    /// Hides everything that the commit leads to, as far as it was read.
    fn hide_parents(&mut self, at: usize) {
        let mut pending = self.met[at].parents.clone();
        while let Some(at) = pending.pop() {
            if !std::mem::replace(&mut self.met[at].hidden, true) {
                pending.extend_from_slice(&self.met[at].parents);
            }
        }
    }

    /// Reads on until the range is known.
    fn limit(&mut self, repo: &Repo, ground: &mut Ground, pace: &Pace) -> Result<(), Halt> {
        // taken out before its parents come in: one of them may be younger than the commit itself
        while let Some(entry @ (time, _, at)) = self.queue.pop() {
            if self.met.len() > MAX_COMMITS {
                return Err(Halt::TooLarge);
            }
            if ground.query.since.is_some_and(|since| time < since) {
                self.met[at].hidden = true;
            }
            let expanded = pace.step(1).map_err(Halt::from).and_then(|()| self.expand(repo, ground, at, pace));
            if let Err(halt) = expanded {
                self.queue.push(entry);
                return Err(halt);
            }
            self.met[at].queued = false;
            if self.met[at].hidden {
                self.hide_parents(at);
                self.slop = self.slop_left();
                if self.slop == 0 {
                    break;
                }
                continue;
            }
            if ground.query.until.is_none_or(|until| time <= until) {
                self.date = time;
                self.kept.push(at);
            }
        }
        let shown = self.kept.iter().filter(|at| !self.met[**at].hidden && !self.met[**at].same);
        self.found = Some(shown.map(|at| self.met[*at].name).collect());
        (self.met, self.by_name, self.queue, self.kept) = Default::default();
        Ok(())
    }

    /// Git's `still_interesting`.
    fn slop_left(&mut self) -> u32 {
        match self.queue.peek().map(|(time, ..)| *time) {
            None => 0,
            Some(time) if self.date <= time => SLOP,
            Some(_) if self.any_interesting() => SLOP,
            Some(_) => self.slop - 1,
        }
    }

    fn any_interesting(&mut self) -> bool {
        let is = |at: &usize| self.met[*at].queued && !self.met[*at].hidden;
        if self.interesting.as_ref().is_some_and(is) {
            return true;
        }
        self.interesting = self.queue.iter().map(|(.., at)| *at).find(|at| is(at));
        self.interesting.is_some()
    }

    /// Git's `process_parents`.
    fn expand(&mut self, repo: &Repo, ground: &mut Ground, at: usize, pace: &Pace) -> Result<(), Halt> {
        if self.met[at].expanded {
            return Ok(());
        }
        if self.met[at].hidden {
            self.met[at].expanded = true;
            for parent in self.met[at].parents.clone() {
                self.met[parent].hidden = true;
                if self.read(repo, ground, parent) {
                    self.hide_parents(parent);
                    self.enqueue(parent);
                }
            }
            return Ok(());
        }
        if let Some(node) = self.met[at].node.take() {
            let relevant: Vec<bool> = self.met[at]
                .parents
                .iter()
                .map(|parent| !self.met[*parent].hidden || self.met[*parent].bottom)
                .collect();
            let simplified = ground.simplified(repo, &node, pace, |n| relevant.get(n).copied().unwrap_or(true));
            self.met[at].node = Some(node);
            let (parents, same) = simplified?;
            self.met[at].same = same;
            self.met[at].parents = parents.into_iter().map(|name| self.at(name)).collect();
        }
        self.met[at].expanded = true;
        for parent in self.met[at].parents.clone() {
            if self.read(repo, ground, parent) {
                self.enqueue(parent);
            }
        }
        Ok(())
    }

    /// The next commit of the range that the path and the dates leave in.
    pub(super) fn next(&mut self, repo: &Repo, ground: &mut Ground, pace: &Pace) -> Result<Option<Node>, Halt> {
        if self.found.is_none() {
            self.limit(repo, ground, pace)?;
        }
        while let Some(&name) = self.found.as_ref().and_then(|found| found.get(self.given)) {
            pace.step(1)?;
            self.given += 1;
            if let Some(node) = ground.source.node(repo, name) {
                return Ok(Some(node));
            }
        }
        Ok(None)
    }

    /// Makes the commit that was given last the next one.
    pub(super) fn give_back(&mut self) {
        self.given = self.given.saturating_sub(1);
    }

    pub(super) fn is_over(&self) -> bool {
        self.found.as_ref().is_some_and(|found| self.given >= found.len())
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.met.len() * 250 + self.found.as_ref().map_or(0, |found| found.len() * 8)
    }
}
