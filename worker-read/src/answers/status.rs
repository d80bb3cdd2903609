//! `repo.status` and `worktree.changes`: the same rows, once in one list and once in four.
//! Trust: see the module above.

use super::{
    cursor::{Cursor, Of},
    rows,
};
use crate::{
    pace::{Pace, Stopped},
    refs,
    repo::Repo,
    status::{self, Sides},
    worktree::Untracked,
};
use bulkhead_contract::{
    failure::ReadFailure,
    limits::MAX_STATUS_ROWS,
    results::{Changes, Partial, Status},
};
use bulkhead_ipc::edge::read::Page;
use gix::bstr::ByteSlice as _;

/// `repo.status`.
pub(super) fn status(repo: &Repo, page: &Page, pace: &Pace) -> Result<Status, ReadFailure> {
    let (sides, cursor) = read(repo, page, Of::Status, pace)?;
    let changed_files = rows::tracked_total(&sides) + sides.untracked.total;
    let mut entries = Vec::new();
    let next = rows::page(&sides, page.limit, page.chars, cursor.as_ref(), |_, row| {
        let cost = rows::cost(&row);
        entries.push(row);
        cost
    });
    let place = place(repo, &sides.head, pace)?;
    let clean = changed_files == 0 && sides.partial.is_none();
    let partial = sides.partial.or_else(|| place.partial());
    Ok(Status {
        branch: place.branch,
        detached: sides.head.branch.is_none(),
        head: sides.head.id.map(|id| id.to_string()),
        upstream: place.upstream,
        upstream_gone: place.upstream_gone,
        ahead: place.ahead,
        behind: place.behind,
        clean,
        changed_files,
        entries,
        truncated: next.is_some(),
        next_cursor: next.map(|cursor| cursor.text(Of::Status)),
        partial,
    })
}

/// `worktree.changes`.
pub(super) fn changes(repo: &Repo, page: &Page, pace: &Pace) -> Result<Changes, ReadFailure> {
    let (sides, cursor) = read(repo, page, Of::Changes, pace)?;
    let mut lists = Changes {
        staged: Vec::new(),
        unstaged: Vec::new(),
        untracked: Vec::new(),
        conflicted: Vec::new(),
        totals: rows::totals(&sides),
        truncated: false,
        next_cursor: None,
        partial: None,
    };
    let next = rows::page(&sides, page.limit, page.chars, cursor.as_ref(), |found, row| {
        if found.columns == *b"??" {
            let cost = rows::cost(&row);
            lists.untracked.push(row);
            return cost;
        }
        let one = rows::cost(&row);
        let mut cost = 0;
        let wanted = [
            (found.is_unmerged(), &mut lists.conflicted),
            (found.columns[0] != b' ', &mut lists.staged),
            (found.columns[1] != b' ', &mut lists.unstaged),
        ];
        for (is_in, list) in wanted {
            if is_in {
                list.push(row.clone());
                cost += one;
            }
        }
        cost
    });
    lists.truncated = next.is_some();
    lists.next_cursor = next.map(|cursor| cursor.text(Of::Changes));
    lists.partial = sides.partial;
    Ok(lists)
}

fn read(repo: &Repo, page: &Page, of: Of, pace: &Pace) -> Result<(Sides, Option<Cursor>), ReadFailure> {
    let cursor = page.cursor.as_deref().map(|text| Cursor::parse(text, of)).transpose()?;
    let keep = page.limit.clamp(1, MAX_STATUS_ROWS) as usize;
    let untracked = Untracked::page(keep, Cursor::untracked_after(cursor.as_ref()));
    Ok((status::read(repo, untracked, pace, 0)?, cursor))
}

/// Where HEAD is in relation to its upstream.
#[derive(Debug, Default)]
pub(super) struct Place {
    pub(super) branch: Option<String>,
    pub(super) upstream: Option<String>,
    pub(super) upstream_gone: bool,
    pub(super) ahead: u64,
    pub(super) behind: u64,
    stopped: Option<Stopped>,
    cut: bool,
    missing: bool,
    broken: bool,
}

impl Place {
    /// Why `ahead` and `behind` are not what they say, if so.
    pub(super) fn partial(&self) -> Option<Partial> {
        let made =
            |reason: &str, details: &str| Some(Partial { reason: reason.to_owned(), details: details.to_owned() });
        if self.stopped.is_some() {
            status::partial(self.stopped, None)
        } else if self.broken {
            made(
                "unreadable",
                "The upstream's reference is broken: how far the branch is ahead or behind is not known.",
            )
        } else if self.missing {
            made(
                "object-missing",
                "Commits are missing or damaged: how far the branch is ahead or behind is not known.",
            )
        } else if self.cut {
            made("too-large", "There are more commits than are counted: `ahead` and `behind` are lower bounds.")
        } else {
            None
        }
    }
}

pub(super) fn place(repo: &Repo, head: &refs::Head, pace: &Pace) -> Result<Place, ReadFailure> {
    let mut place = Place::default();
    let Some(branch) = head.branch.as_ref() else { return Ok(place) };
    place.branch = Some(refs::short(branch.as_bstr()));
    let snapshot = repo.git.config_snapshot();
    if let Some(upstream) = repo.refs.upstream(branch.as_bstr(), snapshot.plumbing())? {
        place.upstream = Some(refs::short(upstream.name.as_bstr()));
        (place.upstream_gone, place.broken) = (upstream.id.is_none(), upstream.broken);
        if let (Some(ours), Some(theirs)) = (head.id, upstream.id) {
            match repo.drift(ours, theirs, pace) {
                Ok(drift) => {
                    (place.ahead, place.behind) = (drift.ahead, drift.behind);
                    (place.cut, place.missing) = (drift.cut, drift.missing);
                }
                Err(stopped) => place.stopped = Some(stopped),
            }
        }
    }
    Ok(place)
}
