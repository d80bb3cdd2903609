//! worktree.list and submodule.status.
//! Trust: see the module above.

use super::{budget::Budget, cursor::foreign};
use crate::{
    files::NoContents,
    history,
    pace::Pace,
    refs,
    repo::Repo,
    scope, status,
    submodules::{self, walk::Submodule},
    worktrees::{self, Checkout},
};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    limits::{MAX_SUBMODULE_DEPTH, MAX_SUBMODULES, MAX_WORKTREES},
    path::{PathEncoding, bytes_of, text_of},
    results::{Partial, SubmoduleStatusRow, Submodules, WorktreeRow, Worktrees},
};
use bulkhead_ipc::edge::asks;
use gix::bstr::ByteSlice as _;
use std::ops::ControlFlow;

/// Characters of a reason for a lock at most.
const MAX_REASON_CHARS: usize = 500;

/// `worktree.list`.
pub(super) fn worktrees(repo: &Repo, ask: &asks::Worktrees, pace: &Pace) -> Result<Worktrees, ReadFailure> {
    let after = ask.page.cursor.as_deref().map(|text| position('w', text)).transpose()?;
    let found = worktrees::records(repo, pace).map_err(|e: NoContents| e.failure("worktrees", ".git/worktrees"))?;
    let mut budget = Budget::new(ask.page.limit.min(at_most(MAX_WORKTREES)), ask.page.chars);
    let mut rows = Vec::new();
    let mut unreadable = found.unreadable.as_deref().map(|id| [b".git/worktrees/", id].concat());
    let first = match &after {
        None => {
            let main = worktrees::main(repo);
            if main.unreadable {
                unreadable = Some(b".git/HEAD".to_vec());
            }
            let row = worktree_row(main);
            budget.take(&row);
            rows.push(row);
            0
        }
        Some(id) => found.records.iter().position(|record| record.id() == id).ok_or_else(no_such_position)? + 1,
    };
    let mut next_cursor = None;
    let mut stopped = found.stopped;
    for (at, record) in found.records.iter().enumerate().skip(first) {
        let last = || at.checked_sub(1).and_then(|at| found.records.get(at)).map(|last| cursor('w', last.id()));
        if let Err(why) = pace.step(1) {
            (stopped, next_cursor) = (Some(why), last());
            break;
        }
        let linked = worktrees::linked(repo, record);
        if linked.unreadable {
            unreadable.get_or_insert_with(|| [&b".git/worktrees/"[..], record.id()].concat());
        }
        let row = worktree_row(linked);
        if !budget.take(&row) {
            next_cursor = last();
            break;
        }
        rows.push(row);
    }
    Ok(Worktrees {
        total: found.records.len() as u64 + 1,
        truncated: next_cursor.is_some(),
        worktrees: rows,
        next_cursor,
        partial: status::partial(stopped, unreadable.as_deref()),
    })
}

fn worktree_row(checkout: Checkout) -> WorktreeRow {
    let (path, path_encoding) = text_of(&checkout.path);
    let head = checkout.head.map(|id| id.to_string());
    let reason = checkout.locked.as_ref().map(|reason| reason.to_str_lossy()).filter(|reason| !reason.is_empty());
    WorktreeRow {
        path,
        path_encoding,
        is_main: checkout.is_main,
        current: checkout.current,
        branch: checkout.branch.as_ref().map(|branch| refs::short(branch.as_bstr())),
        detached: checkout.detached,
        head_sha: checkout.head.map(|id| id.to_hex_with_len(12).to_string()),
        head,
        locked: checkout.locked.is_some(),
        locked_reason: reason.map(|reason| history::cut(&reason, MAX_REASON_CHARS)),
        prunable: checkout.prunable.is_some(),
        prunable_reason: checkout.prunable.map(str::to_owned),
        unseen: checkout.unseen,
        bare: checkout.bare,
    }
}

/// `submodule.status`.
pub(super) fn submodules(repo: &Repo, ask: &asks::Submodules, pace: &Pace) -> Result<Submodules, ReadFailure> {
    if repo.is_bare() {
        let details = "A bare repository has no index, which is where submodules are recorded.";
        return Err(ReadFailure::new(Reason::Bare, "submodules", details));
    }
    let asked = ask.path.as_deref().filter(|path| !path.is_empty());
    let within = asked.map(|path| scope::path(repo, path, "path")).transpose()?.filter(|path| !path.is_empty());
    let mut after = ask.page.cursor.as_deref().map(|text| position('s', text)).transpose()?;
    let index = repo.index()?;
    let mut budget = Budget::new(ask.page.limit.min(at_most(MAX_SUBMODULES)), ask.page.chars);
    let (mut total, mut rows, mut last, mut full) = (0, Vec::new(), None, false);
    let left = submodules::walk::walk(repo, &index, within.as_deref(), pace, &mut |submodule| {
        total += 1;
        if let Some(path) = &after {
            if path == submodule.path {
                after = None;
                last = Some(submodule.path.to_vec());
            }
        } else if !full {
            let row = submodule_row(submodule, pace);
            if budget.take(&row) {
                rows.push(row);
                last = Some(submodule.path.to_vec());
            } else {
                full = true;
            }
        }
        ControlFlow::Continue(())
    });
    let mut partial = status::partial(left.stopped, None);
    if after.is_some() && partial.is_none() {
        return Err(no_such_position());
    }
    if left.too_deep && partial.is_none() {
        partial = Some(Partial {
            reason: "depth".to_owned(),
            details: format!(
                "Submodules nested more than {MAX_SUBMODULE_DEPTH} deep were left out; ask about an inner one."
            ),
        });
    }
    if let (Some(path), None) = (&left.unread, &partial) {
        let (path, _) = text_of(path);
        partial = Some(Partial {
            reason: "unreadable".to_owned(),
            details: format!(
                "At least {path} is checked out and could not be read; ask about it by its own path to learn why."
            ),
        });
    }
    let more = full || left.stopped.is_some();
    Ok(Submodules {
        total,
        submodules: rows,
        truncated: more || left.too_deep,
        next_cursor: last.or(after).filter(|_| more).map(|path| cursor('s', &path)),
        partial,
    })
}

fn submodule_row(submodule: &Submodule<'_>, pace: &Pace) -> SubmoduleStatusRow {
    let (path, path_encoding) = text_of(submodule.path);
    let inside = submodule
        .head
        .map(|_| submodules::inside(submodule.repo, submodule.index, submodule.at, pace, submodule.depth))
        .filter(|inside| inside.any());
    let entry = submodule.declared.at(submodule.index.path(submodule.at));
    SubmoduleStatusRow {
        state: submodule.state,
        commit: submodule.commit.to_string(),
        path,
        path_encoding,
        description: String::new(),
        checked_out: submodule.head.map(|id| id.to_string()),
        dirty: inside.map(submodules::Inside::letters),
        name: entry.and_then(submodules::declared::Entry::shown_name),
        url: entry.and_then(submodules::declared::Entry::shown_url),
    }
}

fn at_most(rows: usize) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}

/// The row that a page ended with, as it is given to the caller.
fn cursor(kind: char, bytes: &[u8]) -> String {
    let (text, encoding) = text_of(bytes);
    format!("{kind}{}:{text}", if encoding.is_some() { 'e' } else { 'p' })
}

/// The bytes of such a text.
fn position(kind: char, text: &str) -> Result<Vec<u8>, ReadFailure> {
    let rest = text.strip_prefix(kind).ok_or_else(foreign)?;
    let (encoding, bytes) = match rest.split_at_checked(2).ok_or_else(foreign)? {
        ("p:", bytes) => (None, bytes),
        ("e:", bytes) => (Some(PathEncoding::Escaped), bytes),
        _ => return Err(foreign()),
    };
    bytes_of(bytes, encoding).filter(|bytes| !bytes.is_empty() && !bytes.contains(&0)).ok_or_else(foreign)
}

fn no_such_position() -> ReadFailure {
    let details = "The row that the cursor names is no longer there. Ask again without `cursor`.";
    ReadFailure::new(Reason::BadArgument, "cursor", details)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_comes_back_and_what_we_never_wrote_is_refused() {
        for bytes in [&b"a"[..], b"a:b", b"\xff\\x", "é".as_bytes()] {
            assert_eq!(position('s', &cursor('s', bytes)).expect("we wrote it"), bytes);
        }
        for text in ["", "s", "sp", "sp:", "wp:a", "sx:a", "se:\\", "sé:"] {
            assert_eq!(position('s', text).expect_err(text).reason, Reason::BadArgument);
        }
    }
}
