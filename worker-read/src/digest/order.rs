//! One order for the rows of several reflogs, newest first; HEAD's log says what came first within a second.
//! Trust: times are the logs' own and may be wrong; an order comes out of any rows.

use super::{Row, kind, movement, movements};
use bulkhead_contract::results::DigestKind;
use std::collections::HashMap;

/// `rows` newest first; `head` is the log of HEAD. Of a movement that both HEAD and a branch tell of, the branch's row
/// stays, at the place that HEAD's log gives it.
///
/// Of branches that HEAD was not at, Git keeps no common order. Such a row stands below the arrival of HEAD where that
/// arrival is at the same commit (`git checkout -b` makes the branch first), above HEAD's other rows of that commit
/// (it was there before a branch was made of it), and else on top.
pub fn newest_first(mut rows: Vec<Row>, head: usize) -> Vec<Row> {
    rows.sort_by_key(|row| (std::cmp::Reverse(row.time), row.log, row.n));
    let mut ordered = Vec::with_capacity(rows.len());
    while let Some(time) = rows.last().map(|row| row.time) {
        let from = rows.partition_point(|row| row.time > time);
        let mut group = rows.split_off(from);
        if group.len() > 1 {
            group = within(group, head);
        }
        // seconds come oldest first here, and the whole is turned around
        ordered.extend(group.into_iter().rev());
    }
    ordered.reverse();
    ordered
}

/// The rows of one second.
fn within(group: Vec<Row>, head: usize) -> Vec<Row> {
    let heads: Vec<&Row> = group.iter().filter(|row| row.log == head).collect();
    let at_head: HashMap<_, usize> = heads.iter().enumerate().rev().map(|(at, row)| (movement(row), at)).collect();
    let place = |row: &Row| {
        if let Some(&at) = at_head.get(&movement(row)) {
            return 3 * at + 2;
        }
        let same = || heads.iter().enumerate().filter(|(_, candidate)| candidate.new == row.new);
        match same().find(|(_, candidate)| is_arrival(candidate)) {
            Some((at, _)) => 3 * at + 3,
            None => same().next().map_or(0, |(at, _)| 3 * at + 1),
        }
    };
    let mut lowest: HashMap<usize, usize> = HashMap::new();
    let branches = movements(&group, head);
    let mut placed: Vec<(usize, bool)> = Vec::with_capacity(group.len());
    for (at, row) in group.iter().enumerate() {
        if row.log == head {
            let own = heads.iter().position(|candidate| candidate.n == row.n).unwrap_or(at);
            placed.push((3 * own + 2, !branches.contains(&movement(row))));
        } else {
            // no row rises above a newer one of its own log
            let lowest = lowest.entry(row.log).or_default();
            *lowest = place(row).max(*lowest);
            placed.push((*lowest, true));
        }
    }
    drop((heads, branches, at_head));
    let mut kept: Vec<(usize, Row)> =
        group.into_iter().zip(placed).filter_map(|(row, (place, stays))| stays.then_some((place, row))).collect();
    kept.sort_by_key(|(place, row)| (*place, row.log, row.n));
    kept.into_iter().map(|(_, row)| row).collect()
}

/// HEAD came to a commit that was there before.
fn is_arrival(row: &Row) -> bool {
    match kind::of(&row.message) {
        DigestKind::Checkout => true,
        DigestKind::Rebase => row.message.windows(6).any(|word| word == b"finish"),
        _ => row.old.is_null(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gix::ObjectId;

    const HEAD: usize = 2;

    fn id(digit: u8) -> ObjectId {
        ObjectId::from_hex(&[digit; 40]).expect("a hexadecimal digit")
    }

    fn row(log: usize, n: usize, time: i64, [old, new]: [u8; 2], message: &str) -> Row {
        Row { log, n, time, old: id(old), new: id(new), message: message.into(), identity: "".into() }
    }

    fn told(rows: Vec<Row>) -> Vec<(usize, usize)> {
        newest_first(rows, HEAD).iter().map(|row| (row.log, row.n)).collect()
    }

    #[test]
    fn a_movement_is_told_once_at_the_place_of_head() {
        // commit on branch 0, `checkout -b` of branch 1, commit there, all in one second
        let rows = vec![
            row(0, 0, 9, *b"ab", "commit: one"),
            row(1, 0, 9, *b"bc", "commit: two"),
            row(1, 1, 9, *b"0b", "branch: Created from HEAD"),
            row(HEAD, 0, 9, *b"bc", "commit: two"),
            row(HEAD, 1, 9, *b"bb", "checkout: moving from 0 to 1"),
            row(HEAD, 2, 9, *b"ab", "commit: one"),
        ];
        assert_eq!(told(rows), [(1, 0), (HEAD, 1), (1, 1), (0, 0)]);
    }

    #[test]
    fn a_branch_comes_after_the_commit_that_it_was_made_of() {
        let rows = vec![
            row(0, 0, 9, *b"ab", "commit: one"),
            row(1, 0, 9, *b"0b", "branch: Created from HEAD"),
            row(HEAD, 0, 9, *b"ab", "commit: one"),
        ];
        assert_eq!(told(rows), [(1, 0), (0, 0)]);
    }

    #[test]
    fn two_branches_made_alike_are_two_events() {
        let made = "branch: Created from HEAD";
        assert_eq!(told(vec![row(1, 0, 9, *b"0b", made), row(0, 0, 9, *b"0b", made)]), [(0, 0), (1, 0)]);
    }

    #[test]
    fn times_go_first_and_logs_keep_their_own_order_within_one() {
        let mut rows = Vec::new();
        let mut seed = 7u64;
        for log in 0..=HEAD {
            for n in 0..60 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let ids = [b'a' + (seed >> 33) as u8 % 3, b'a' + (seed >> 40) as u8 % 3];
                let messages = ["commit: x", "checkout: y", "branch: z", "rebase (finish): w"];
                rows.push(row(log, n, ((seed >> 50) % 5) as i64, ids, messages[(seed >> 60) as usize % 4]));
            }
        }
        let count = movements(&rows, HEAD);
        let heads = rows.iter().filter(|row| row.log == HEAD && !count.contains(&movement(row))).count();
        let expected = 120 + heads;
        let ordered = newest_first(rows.clone(), HEAD);
        assert_eq!(ordered.len(), expected);
        assert!(ordered.windows(2).all(|pair| pair[0].time >= pair[1].time));
        for log in 0..=HEAD {
            for time in 0..5 {
                let of = ordered.iter().filter(|row| row.log == log && row.time == time);
                assert!(of.map(|row| row.n).is_sorted(), "log {log} at {time}");
            }
        }
    }
}
