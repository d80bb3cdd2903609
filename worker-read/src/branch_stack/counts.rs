//! How far many commits have drifted from one: one walk with a mark for each of them.
//! Trust: see [`super::walk`].

use super::walk::{MAX_COMMITS, SLOP, UNKNOWN, Walk};
use crate::{
    commit_graph::{Unfinished, with_or_without},
    pace::{Pace, Stopped},
    repo::Repo,
};
use gix::{ObjectId, commitgraph::Graph};

/// Commits that can be told apart, the current one included.
pub const MAX_TIPS: usize = 64;

/// The result.
#[derive(Debug, Clone, Default)]
pub(super) struct Counted {
    /// For each tip the commits that it alone has, and those that the current one has and it lacks.
    pub(super) each: Vec<(u64, u64)>,
    /// Cut short: the counts are lower bounds.
    pub(super) cut: bool,
    /// Commits are missing or damaged, with the same consequence.
    pub(super) missing: bool,
}

/// Counts for each of `tips`, fewer than [`MAX_TIPS`], how far it has drifted from `current`.
///
/// # Errors
/// [`Stopped`].
pub(super) fn count(repo: &Repo, current: ObjectId, tips: &[ObjectId], pace: &Pace) -> Result<Counted, Stopped> {
    let counted = with_or_without(repo, |graph| walk(repo, graph, current, tips, pace))?;
    Ok(counted.unwrap_or_else(|| Counted { each: vec![(0, 0); tips.len()], cut: true, missing: false }))
}

fn walk(
    repo: &Repo,
    graph: Option<&Graph>,
    current: ObjectId,
    tips: &[ObjectId],
    pace: &Pace,
) -> Result<Counted, Unfinished> {
    let tips = &tips[..tips.len().min(MAX_TIPS - 1)];
    let all = u64::MAX >> (MAX_TIPS - 1 - tips.len());
    let mut walk = Walk::new(repo, graph);
    // queued commits that not everyone has
    let mut open = 0usize;
    let paint = |walk: &mut Walk<'_>, open: &mut usize, node: u32, marks: u64| {
        let Some((before, queued)) = walk.mark(node, marks) else { return };
        let after = walk.nodes[node as usize].marks;
        match (queued && before != all, after != all) {
            (true, false) => *open -= 1,
            (false, true) => *open += 1,
            _ => {}
        }
    };
    for (bit, &tip) in [current].iter().chain(tips).enumerate() {
        let node = walk.node(tip);
        paint(&mut walk, &mut open, node, 1 << bit);
    }
    let (mut oldest, mut slop, mut cut) = (i64::MAX, SLOP, false);
    while let Some(at) = walk.peek() {
        let (generation, time) = (walk.nodes[at as usize].generation, walk.nodes[at as usize].time);
        if open == 0 {
            // by generation every commit was final when it was taken; by date that holds only for clocks that are right
            if (generation != UNKNOWN && walk.has_generation(at)) || (time < oldest && slop == 0) {
                break;
            }
            slop = if time >= oldest { SLOP } else { slop.saturating_sub(1) };
        }
        if walk.nodes.len() > MAX_COMMITS {
            cut = true;
            break;
        }
        pace.step(1)?;
        walk.pop();
        let marks = walk.nodes[at as usize].marks;
        if marks != all {
            open -= 1;
            oldest = oldest.min(time);
        }
        walk.take(at)?;
        for parent in 0..walk.nodes[at as usize].parents.len() {
            let parent = walk.nodes[at as usize].parents[parent];
            paint(&mut walk, &mut open, parent, marks);
        }
    }
    let mut each = vec![(0, 0); tips.len()];
    for node in walk.nodes.iter().filter(|node| node.marks != all && node.marks != 0) {
        let ours = node.marks & 1 != 0;
        for (at, (ahead, behind)) in each.iter_mut().enumerate() {
            match (node.marks >> (at + 1) & 1 != 0, ours) {
                (true, false) => *ahead += 1,
                (false, true) => *behind += 1,
                _ => {}
            }
        }
    }
    Ok(Counted { each, cut, missing: walk.missing })
}
