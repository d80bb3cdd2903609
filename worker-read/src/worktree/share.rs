//! Subtrees that one thread leaves to others: a short queue, filled by the thread that walks from the top.
//! Trust: as the walk itself, of which this is a part.

use super::{
    attributes::Layer,
    ignore::Patterns,
    walk::{Differs, Opened, Walk},
};
use crate::{pace::Stopped, worktree::Untracked};
use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

/// Entries of an index below which starting a thread costs more than it saves.
const FEW: usize = 2_000;
/// Threads of one walk at most; each holds descriptors of the directories that it is in.
const MAX_THREADS: usize = 4;
/// Subtrees that wait at most; each holds a descriptor.
const WAITING: usize = 8;
/// Entries of a subtree that is worth handing over.
const WORTH: usize = 8;
/// A subtree with more than this part of all entries, and with more than [`SMALL`] of them, is taken apart further.
const PARTS: usize = 64;
/// Entries of a subtree that is not taken apart.
const SMALL: usize = 256;
/// Stack of a thread, as that of the one that serves.
const STACK: usize = 8 << 20;
/// Between two looks at the clock while others still walk.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A directory that holds tracked files, and what applies in it.
pub struct Subtree {
    /// The directory.
    pub opened: Opened,
    /// Its path, with a `/` at the end.
    pub prefix: Vec<u8>,
    /// First entry beneath it.
    pub at: usize,
    /// The one after the last.
    pub end: usize,
    /// Ignored as a whole.
    pub excluded: bool,
    /// Directories above it.
    pub depth: usize,
    /// Ignore patterns of these.
    pub patterns: Patterns,
    /// Attributes of these.
    pub layers: Vec<Layer>,
}

/// What waits to be walked.
pub struct Share {
    queue: Mutex<Queue>,
    changed: Condvar,
    most: usize,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Subtree>,
    closed: bool,
    /// Threads that wait for a subtree.
    idle: usize,
}

impl Share {
    fn of(entries: usize) -> Self {
        Self { queue: Mutex::default(), changed: Condvar::new(), most: (entries / PARTS).max(SMALL) }
    }

    /// True where a subtree of so many entries should be handed over now.
    pub fn wants(&self, entries: usize) -> bool {
        (WORTH..=self.most).contains(&entries) && self.queue().waiting.len() < WAITING
    }

    /// Hands over.
    pub fn put(&self, subtree: Subtree) {
        let mut queue = self.queue();
        queue.waiting.push_back(subtree);
        // waking somebody is a system call, and mostly nobody sleeps
        if queue.idle > 0 {
            self.changed.notify_one();
        }
    }

    /// The next subtree; waits for one until there will be none any more.
    fn next(&self) -> Option<Subtree> {
        let mut queue = self.queue();
        loop {
            if let Some(subtree) = queue.waiting.pop_front() {
                return Some(subtree);
            }
            if queue.closed {
                return None;
            }
            queue.idle += 1;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }

    fn close(&self) {
        self.queue().closed = true;
        self.changed.notify_all();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes the queue also where the walk ends in a panic: the others wait for it.
struct Closing<'a>(&'a Share);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// What another thread found.
struct Part {
    differs: Vec<Differs>,
    untracked: Untracked,
    unreadable: Option<Vec<u8>>,
    walked: Result<(), Stopped>,
}

/// Walks the whole tree, with up to `threads` threads.
///
/// # Errors
/// [`Stopped`]; what was found until then stays in `walk`.
pub fn walk(walk: &mut Walk<'_>, threads: usize) -> Result<(), Stopped> {
    let entries = walk.index.state.entries().len();
    let others = threads.min(MAX_THREADS).saturating_sub(1);
    if others == 0 || entries < FEW {
        return walk.start(None);
    }
    let share = Share::of(entries);
    let (found, parts) = mpsc::channel();
    let (mut walked, parts) = thread::scope(|scope| {
        let closing = Closing(&share);
        for _ in 0..others {
            let (seed, share, found) = (walk.seed(), &share, found.clone());
            let body = move || {
                let (walked, differs, untracked, unreadable) = seed.grow(|other| rest(other, share, Ok(())));
                let _ = found.send(Part { differs, untracked, unreadable, walked });
            };
            // one that cannot be started is done without
            if thread::Builder::new().name("walk".into()).stack_size(STACK).spawn_scoped(scope, body).is_err() {
                break;
            }
        }
        drop(found);
        let walked = walk.start(Some(&share));
        drop(closing);
        let mut walked = rest(walk, &share, walked);
        let mut all = Vec::new();
        loop {
            match parts.recv_timeout(LOOK_EVERY) {
                Ok(part) => all.push(part),
                Err(mpsc::RecvTimeoutError::Timeout) => walked = walked.and_then(|()| walk.pace.look()),
                Err(mpsc::RecvTimeoutError::Disconnected) => return (walked, all),
            }
        }
    });
    for part in parts {
        walked = walked.and(part.walked);
        walk.differs.extend(part.differs);
        walk.untracked.join(part.untracked);
        walk.unreadable = [walk.unreadable.take(), part.unreadable].into_iter().flatten().min();
    }
    walk.differs.sort_unstable_by_key(|found| found.at);
    walked
}

/// Walks what waits and what will. What follows after a stop is taken, too, so that its descriptors are closed.
fn rest(walk: &mut Walk<'_>, share: &Share, mut walked: Result<(), Stopped>) -> Result<(), Stopped> {
    while let Some(subtree) = share.next() {
        if walked.is_ok() {
            walked = walk.subtree(subtree);
        }
    }
    walked
}
