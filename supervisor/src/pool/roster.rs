//! Who is there and who waits: the workers by their home, and the calls that found none free.
//! Trust: the supervisor's own bookkeeping; both lists are bounded, whatever callers do.

use super::Job;
use crate::route::Home;
use bulkhead_contract::limits::MAX_OPEN_REQUESTS;
use std::collections::{BTreeMap, VecDeque};
use tokio::{sync::mpsc, time::Instant};

/// Calls that wait for a worker at most.
pub const MAX_QUEUE: usize = MAX_OPEN_REQUESTS;

/// The workers and the queue.
pub(super) struct Roster {
    workers: BTreeMap<u64, Entry>,
    queue: VecDeque<Box<Job>>,
    named: u64,
    most: usize,
    most_per_home: usize,
    /// Workers that serve parts of larger calls at the same time: others find a free one meanwhile.
    most_parts: usize,
}

/// One worker, as the pool sees it.
struct Entry {
    home: Home,
    stage: Stage,
    /// A call of its own came here, and others may follow: it is kept for longer than one that only served parts.
    own: bool,
    /// To its task; at most one job is under way. Dropped when it is to end.
    jobs: Option<mpsc::Sender<Box<Job>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Starting or at work; `true` on a part of a larger call.
    Busy(bool),
    /// Nothing to do since then.
    Idle(Instant),
    /// Told to go; it counts until it is gone.
    Ending,
}

/// What can be done about a job now.
pub(super) enum Chance {
    /// That idle worker was given it.
    Given,
    /// A new worker may be started for it: its number, and where its further jobs come from.
    Start(u64, mpsc::Receiver<Box<Job>>, Box<Job>),
    /// Nothing yet. `room` says that only the total stands in the way.
    Wait { job: Box<Job>, room: bool },
}

/// Parts of larger calls that are served at the same time where there are `most` workers.
pub fn parts_at_once(most: usize) -> usize {
    most - most / 4
}

impl Roster {
    pub fn new(most: usize, most_per_home: usize) -> Self {
        let (most, most_per_home) = (most.max(1), most_per_home.max(1));
        let most_parts = parts_at_once(most);
        Self { workers: BTreeMap::new(), queue: VecDeque::new(), named: 0, most, most_per_home, most_parts }
    }

    pub fn len(&self) -> usize {
        self.workers.len()
    }

    pub fn home(&self, id: u64) -> Option<Home> {
        self.workers.get(&id).map(|entry| entry.home.clone())
    }

    pub fn has_idle(&self, home: &Home) -> bool {
        self.workers.values().any(|entry| entry.is_idle() && entry.home == *home)
    }

    /// Finds a place for a job whose path leads to `home`.
    pub fn seek(&mut self, home: Home, job: Box<Job>) -> Chance {
        if job.part && self.workers.values().filter(|entry| entry.stage == Stage::Busy(true)).count() >= self.most_parts
        {
            return Chance::Wait { job, room: false };
        }
        // the one that worked last: its caches are warm, and the others grow old enough to be stopped
        let idle = self.workers.values_mut().filter(|entry| entry.is_idle() && entry.home == home);
        if let Some(entry) = idle.max_by_key(|entry| entry.stage.since()) {
            entry.stage = Stage::Busy(job.part);
            entry.own |= !job.part;
            job.begun.set(true);
            let refused = entry.jobs.as_ref().map(|jobs| jobs.try_send(job));
            debug_assert!(matches!(refused, Some(Ok(()))), "an idle worker's task takes a job");
            return Chance::Given;
        }
        if self.living(&home) >= self.most_per_home {
            return Chance::Wait { job, room: false };
        }
        if self.workers.len() >= self.most {
            return Chance::Wait { job, room: true };
        }
        self.named += 1;
        let (sender, jobs) = mpsc::channel(1);
        job.begun.set(true);
        self.workers
            .insert(self.named, Entry { home, stage: Stage::Busy(job.part), own: !job.part, jobs: Some(sender) });
        Chance::Start(self.named, jobs, job)
    }

    /// Stops idle workers so that `wanted` more can be started once they are gone: first those that only ever served
    /// parts of larger calls, which would else push out every worker that a conversation keeps warm.
    pub fn make_room(&mut self, wanted: usize) {
        let ending = self.workers.values().filter(|entry| entry.stage == Stage::Ending).count();
        let coming = self.most.saturating_sub(self.workers.len()) + ending;
        for _ in coming..wanted {
            let idle = self.workers.values_mut().filter(|entry| entry.is_idle());
            let Some(oldest) = idle.min_by_key(|entry| (entry.own, entry.stage.since())) else { return };
            oldest.end();
        }
    }

    /// Takes out all waiting jobs whose callers still wait, to seek places for them anew.
    pub fn take_queue(&mut self) -> VecDeque<Box<Job>> {
        self.queue.retain(|job| !job.reply.is_closed());
        std::mem::take(&mut self.queue)
    }

    /// Whether no more jobs may wait.
    pub fn queue_is_full(&mut self) -> bool {
        if self.queue.len() >= MAX_QUEUE {
            self.queue.retain(|job| !job.reply.is_closed());
        }
        self.queue.len() >= MAX_QUEUE
    }

    pub fn wait(&mut self, job: Box<Job>) {
        job.begun.set(false);
        self.queue.push_back(job);
    }

    /// A worker that was started for `path` found its repository. Others that are being started for the same path will
    /// find the same, so they count for it from now on.
    pub fn settle(&mut self, id: u64, path: &Home, home: &Home) {
        for (other, entry) in &mut self.workers {
            if *other == id || entry.home == *path {
                entry.home = home.clone();
            }
        }
    }

    /// A worker has nothing to do. False: there are too many for its home, and it is to go.
    pub fn rest(&mut self, id: u64, now: Instant) -> bool {
        let Some(home) = self.home(id) else { return false };
        let surplus = self.living(&home) > self.most_per_home;
        match self.workers.get_mut(&id) {
            Some(entry) if entry.stage == Stage::Ending => false,
            Some(entry) if surplus => {
                entry.end();
                false
            }
            Some(entry) => {
                entry.stage = Stage::Idle(now);
                true
            }
            None => false,
        }
    }

    /// A worker is to go, and gets no more jobs.
    pub fn ending(&mut self, id: u64) {
        if let Some(entry) = self.workers.get_mut(&id) {
            entry.end();
        }
    }

    /// A worker is gone.
    pub fn gone(&mut self, id: u64) {
        self.workers.remove(&id);
    }

    /// Tells all workers to go; gives back the jobs that wait.
    pub fn close(&mut self) -> VecDeque<Box<Job>> {
        self.workers.values_mut().for_each(Entry::end);
        std::mem::take(&mut self.queue)
    }

    fn living(&self, home: &Home) -> usize {
        self.workers.values().filter(|entry| entry.stage != Stage::Ending && entry.home == *home).count()
    }
}

impl Entry {
    fn is_idle(&self) -> bool {
        matches!(self.stage, Stage::Idle(_))
    }

    fn end(&mut self) {
        self.stage = Stage::Ending;
        self.jobs = None;
    }
}

impl Stage {
    fn since(self) -> Option<Instant> {
        match self {
            Stage::Idle(since) => Some(since),
            Stage::Busy(_) | Stage::Ending => None,
        }
    }
}
