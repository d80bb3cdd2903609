//! Changed lines in the order in which they are told: of each region, what is gone, what is new, and what became what.
//! Trust: regions fit their texts; every changed line comes up exactly once.

use super::{moved::Moves, pairs::Bags, text::Changed};
use bulkhead_contract::results::Region;

/// One changed line, or a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Row of the old text.
    pub old: Option<u32>,
    /// Row of the new text.
    pub new: Option<u32>,
    /// Number of the move that it belongs to.
    pub moved: Option<u32>,
    /// Number of the region that it is in.
    pub region: u32,
}

/// All rows.
#[must_use]
pub fn rows(regions: &[Region], old: &Changed, new: &Changed, moves: &Moves, bags: &mut Bags) -> Vec<Row> {
    let mut rows = Vec::new();
    for (number, region) in (0u32..).zip(regions) {
        let olds: Vec<u32> = (region.old_start..region.old_start + region.old_len).collect();
        let news: Vec<u32> = (region.new_start..region.new_start + region.new_len).collect();
        let moved = |of: &[Option<u32>], changed: &Changed, row: u32| changed.number(row).and_then(|at| of[at]);
        // what moved has its partner elsewhere
        let stays = |rows: &[u32], of: &[Option<u32>], changed: &Changed| -> Vec<(u32, usize)> {
            let here = rows.iter().filter(|row| moved(of, changed, **row).is_none());
            here.filter_map(|row| Some((*row, changed.number(*row)?))).collect()
        };
        let (left, right) = (stays(&olds, &moves.old, old), stays(&news, &moves.new, new));
        let numbers = |all: &[(u32, usize)]| all.iter().map(|(_, number)| *number).collect::<Vec<_>>();
        let pairs = bags.pair(&numbers(&left), &numbers(&right));
        let mut add = |old_row: Option<u32>, new_row: Option<u32>| {
            let moved = match (old_row, new_row) {
                (Some(row), None) => moved(&moves.old, old, row),
                (None, Some(row)) => moved(&moves.new, new, row),
                _ => None,
            };
            rows.push(Row { old: old_row, new: new_row, moved, region: number });
        };
        let (mut old_at, mut new_at) = (region.old_start, region.new_start);
        for (i, j) in pairs {
            let (pair_old, pair_new) = (left[i].0, right[j].0);
            (old_at..pair_old).for_each(|row| add(Some(row), None));
            (new_at..pair_new).for_each(|row| add(None, Some(row)));
            add(Some(pair_old), Some(pair_new));
            (old_at, new_at) = (pair_old + 1, pair_new + 1);
        }
        (old_at..region.old_start + region.old_len).for_each(|row| add(Some(row), None));
        (new_at..region.new_start + region.new_len).for_each(|row| add(None, Some(row)));
    }
    rows
}
