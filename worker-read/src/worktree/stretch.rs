//! Stretches of the index that the threads of one walk take one after the other.
//! Trust: as the walk itself, of which this is a part.

use super::{
    Untracked,
    walk::{Differs, Walk},
};
use crate::{crew::Crew, index::Snapshot, pace::Stopped};
use std::{
    ops::Range,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

/// Entries of an index below which waking a thread costs more than it saves.
const FEW: usize = 1_000;
/// Stretches for each thread: one that wakes late, or is slower, leaves more of them to the others.
const EACH: usize = 4;
/// Between two looks at the clock while others still walk.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The entries that one walk from the top is for. It enters every directory that holds some of them.
///
/// In a directory whose entries are not all its own, it looks at those that are, and leaves the others alone. What is not
/// tracked there belongs to the walk that the directory's first entry belongs to. A directory with a submodule somewhere
/// beneath belongs to that of the first stretch as a whole, but for the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Positions in the index.
    pub entries: Range<usize>,
    /// It begins at the first entry.
    pub first: bool,
}

/// What the entries of a directory are to a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// They are all its own, and so is the directory.
    Whole,
    /// Some are.
    Some,
    /// None is.
    None,
}

impl Stretch {
    /// What the directory with the entries `of` is to this stretch.
    pub fn part(&self, of: &Range<usize>, holds_submodule: bool) -> Part {
        match () {
            () if holds_submodule => [Part::None, Part::Whole][usize::from(self.first)],
            () if self.entries.start <= of.start && of.end <= self.entries.end => Part::Whole,
            () if self.entries.start < of.end && of.start < self.entries.end => Part::Some,
            () => Part::None,
        }
    }
}

/// What another thread found.
struct Share {
    differs: Vec<Differs>,
    untracked: Untracked,
    unreadable: Option<Vec<u8>>,
    walked: Result<(), Stopped>,
}

/// Walks the whole tree, with the help of `crew`.
///
/// # Errors
/// [`Stopped`]; what was found until then stays in `walk`.
pub fn walk(walk: &mut Walk<'_>, crew: &Crew) -> Result<(), Stopped> {
    let extent = walk.untracked.extent(walk.index);
    if crew.others() == 0 || extent.len() < FEW {
        return walk.start(None);
    }
    let stretches = cut(walk.index, &extent, (crew.others() + 1) * EACH);
    let mut all = stretches.iter();
    let ours = all.next();
    let (rest, taken) = (all.as_slice(), AtomicUsize::new(0));
    let next = || rest.get(taken.fetch_add(1, Ordering::Relaxed));
    let (found, shares) = mpsc::channel();
    let others = (0..crew.others()).map(|_| {
        let (seed, next, found) = (walk.seed(), &next, found.clone());
        move || {
            let (walked, differs, untracked, unreadable) =
                seed.grow(|other| std::iter::from_fn(next).try_for_each(|stretch| other.start(Some(stretch))));
            let _ = found.send(Share { differs, untracked, unreadable, walked });
        }
    });
    let others: Vec<_> = others.collect();
    drop(found);
    let (mut walked, shares) = crew.beside(others, || {
        let mut walked = ours.into_iter().chain(std::iter::from_fn(next)).try_for_each(|it| walk.start(Some(it)));
        let mut all = Vec::new();
        loop {
            match shares.recv_timeout(LOOK_EVERY) {
                Ok(share) => all.push(share),
                Err(mpsc::RecvTimeoutError::Timeout) => walked = walked.and_then(|()| walk.pace.look()),
                Err(mpsc::RecvTimeoutError::Disconnected) => return (walked, all),
            }
        }
    });
    for share in shares {
        walked = walked.and(share.walked);
        walk.differs.extend(share.differs);
        walk.untracked.join(share.untracked);
        walk.unreadable = [walk.unreadable.take(), share.unreadable].into_iter().flatten().min();
    }
    walk.differs.sort_unstable_by_key(|found| found.at);
    // a directory that comes or goes meanwhile may be there for one walk and not for another
    walk.differs.dedup_by_key(|found| found.at);
    walked
}

/// Cuts the index into about `count` stretches, of which those of `extent` are about equally long.
fn cut(index: &Snapshot, extent: &Range<usize>, count: usize) -> Vec<Stretch> {
    let end = index.state.entries().len();
    let mut cuts = vec![0];
    for number in 1..count {
        let about = extent.start + extent.len() * number / count;
        let near = extent.len() / (4 * count);
        let at = best(index, about.saturating_sub(near)..(about + near).min(extent.end));
        if at.is_some_and(|at| cuts.last().is_none_or(|&last| at > last)) {
            cuts.extend(at);
        }
    }
    let ends = cuts.iter().skip(1).copied().chain([end]);
    cuts.iter().zip(ends).map(|(&start, end)| Stretch { entries: start..end, first: start == 0 }).collect()
}

/// The position among `near` at which a cut goes through the fewest directories. No cut parts the stages of a path.
fn best(index: &Snapshot, near: Range<usize>) -> Option<usize> {
    let through = |at: usize| {
        let (before, after) = (index.path(at.checked_sub(1)?), index.path(at));
        let common = before.iter().zip(after).take_while(|(a, b)| a == b);
        (before != after).then(|| common.filter(|(byte, _)| **byte == b'/').count())
    };
    near.filter_map(|at| Some((through(at)?, at))).min().map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directory_is_one_walks_or_some_of_it_is() {
        let stretches = [(0, 4), (4, 9), (9, 12)].map(|(from, to)| Stretch { entries: from..to, first: from == 0 });
        let parts = |of: Range<usize>, holds| stretches.each_ref().map(|stretch| stretch.part(&of, holds));
        assert_eq!(parts(0..12, false), [Part::Some; 3]);
        assert_eq!(parts(4..9, false), [Part::None, Part::Whole, Part::None]);
        assert_eq!(parts(3..5, false), [Part::Some, Part::Some, Part::None]);
        assert_eq!(parts(8..9, false), [Part::None, Part::Whole, Part::None]);
        assert_eq!(
            parts(8..12, true),
            [Part::Whole, Part::None, Part::None],
            "whatever has a submodule is the first's"
        );
    }
}
