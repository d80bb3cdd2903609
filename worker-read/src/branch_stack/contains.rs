//! Which of many commits have one of two others among their ancestors: one walk, and one look back over what it met.
//! Trust: see [`super::walk`].

use super::walk::{MAX_COMMITS, SLOP, UNKNOWN, Walk};
use crate::{
    commit_graph::{Unfinished, with_or_without},
    pace::{Pace, Stopped},
    repo::Repo,
};
use gix::{ObjectId, commitgraph::Graph};

/// The commit is one of those asked about, or an ancestor of one.
const TIP: u64 = 4;

/// The result.
#[derive(Debug, Default)]
pub(super) struct Contained {
    /// For each tip, whether it is or has each of the targets.
    pub(super) each: Vec<[bool; 2]>,
    /// Cut short: what is not said to be there may be there.
    pub(super) cut: bool,
    /// Commits are missing or damaged, with the same consequence.
    pub(super) missing: bool,
}

/// For each of `tips`, whether it is or has each of `targets`.
///
/// # Errors
/// [`Stopped`].
pub(super) fn contains(
    repo: &Repo,
    tips: &[ObjectId],
    targets: [Option<ObjectId>; 2],
    pace: &Pace,
) -> Result<Contained, Stopped> {
    if tips.is_empty() {
        return Ok(Contained::default());
    }
    let found = with_or_without(repo, |graph| walk(repo, graph, tips, targets, pace))?;
    Ok(found.unwrap_or_else(|| Contained { each: vec![[false; 2]; tips.len()], cut: true, missing: false }))
}

fn walk(
    repo: &Repo,
    graph: Option<&Graph>,
    tips: &[ObjectId],
    targets: [Option<ObjectId>; 2],
    pace: &Pace,
) -> Result<Contained, Unfinished> {
    let mut walk = Walk::new(repo, graph);
    let targets = targets.map(|target| target.map(|id| walk.node(id)));
    let wanted = targets.iter().enumerate().map(|(bit, target)| u64::from(target.is_some()) << bit).sum::<u64>();
    // what lies no higher than the lowest target has none of them among its ancestors
    let known =
        targets.iter().flatten().all(|&at| walk.has_generation(at) || walk.nodes[at as usize].generation == UNKNOWN);
    let floor = targets.iter().flatten().map(|&at| walk.nodes[at as usize].generation).min();
    let floor = floor.filter(|_| graph.is_some() && known);
    let open = |marks: u64| marks & TIP != 0 && marks & wanted != wanted;
    let mut waiting = 0usize;
    let paint = |walk: &mut Walk<'_>, node: u32, marks: u64| {
        let Some((before, queued)) = walk.mark(node, marks) else { return 0 };
        let after = walk.nodes[node as usize].marks;
        i64::from(open(after)) - i64::from(queued && open(before))
    };
    let add = |waiting: &mut usize, by: i64| *waiting = waiting.saturating_add_signed(by as isize);
    for &tip in tips {
        pace.step(1)?;
        let node = walk.node(tip);
        add(&mut waiting, paint(&mut walk, node, TIP));
    }
    for (bit, node) in targets.iter().enumerate() {
        if let Some(node) = *node {
            add(&mut waiting, paint(&mut walk, node, 1 << bit));
        }
    }
    let (mut oldest, mut slop, mut cut) = (i64::MAX, SLOP, false);
    while let Some(at) = walk.peek() {
        let (generation, time) = (walk.nodes[at as usize].generation, walk.nodes[at as usize].time);
        if waiting == 0 {
            if time < oldest && slop == 0 {
                break;
            }
            slop = if time >= oldest { SLOP } else { slop - 1 };
        }
        if walk.nodes.len() > MAX_COMMITS {
            cut = true;
            break;
        }
        pace.step(1)?;
        walk.pop();
        let marks = walk.nodes[at as usize].marks;
        if open(marks) {
            waiting -= 1;
            oldest = oldest.min(time);
        }
        if floor.is_some_and(|floor| generation != UNKNOWN && (floor == UNKNOWN || generation <= floor)) {
            continue;
        }
        walk.take(at)?;
        for parent in 0..walk.nodes[at as usize].parents.len() {
            let parent = walk.nodes[at as usize].parents[parent];
            add(&mut waiting, paint(&mut walk, parent, marks));
        }
    }
    Ok(Contained { each: look_back(&mut walk, tips, targets), cut, missing: walk.missing })
}

/// Which tips lead to which targets through the commits that were met.
fn look_back(walk: &mut Walk<'_>, tips: &[ObjectId], targets: [Option<u32>; 2]) -> Vec<[bool; 2]> {
    const OPEN: u8 = 0x40;
    const DONE: u8 = 0x80;
    let mut has = vec![0u8; walk.nodes.len()];
    let own = |node: u32| {
        let bits = targets.iter().enumerate().filter(|(_, target)| **target == Some(node)).map(|(bit, _)| 1u8 << bit);
        bits.sum::<u8>()
    };
    tips.iter()
        .map(|&tip| {
            let tip = walk.node(tip);
            let mut path = vec![(tip, 0usize)];
            while let Some((node, next)) = path.last_mut() {
                let node = *node;
                if has[node as usize] & (OPEN | DONE) == 0 {
                    has[node as usize] = OPEN | own(node);
                }
                match walk.nodes[node as usize].parents.get(*next) {
                    Some(&parent) if has[node as usize] & DONE == 0 => {
                        *next += 1;
                        if has[parent as usize] & (OPEN | DONE) == 0 {
                            path.push((parent, 0));
                        } else {
                            has[node as usize] |= has[parent as usize] & 3;
                        }
                    }
                    _ => {
                        has[node as usize] |= DONE;
                        path.pop();
                        if let Some(&(child, _)) = path.last() {
                            has[child as usize] |= has[node as usize] & 3;
                        }
                    }
                }
            }
            let bits = has[tip as usize];
            [bits & 1 != 0, bits & 2 != 0]
        })
        .collect()
}
