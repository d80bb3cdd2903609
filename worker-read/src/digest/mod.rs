//! What happened in one repository since a time: the rows of its reflogs, put in one order, the newest of them.
//! Trust: reflogs are the repository's and may say anything; how much of them is read and kept is bounded.

mod kind;
mod logs;
mod order;

use crate::{ahead_behind, pace::Pace, reflog, repo::Repo, status};
use bulkhead_contract::{
    failure::ReadFailure,
    limits::{DIGEST_REFLOG_BYTES, DIGEST_REPOSITORY_EVENTS, DIGEST_TEXT_CHARS},
    path::text_of,
    results::{DigestEvent, DigestEvents, DigestKind, DigestSource, Partial},
};
use gix::{
    ObjectId,
    bstr::{BString, ByteSlice as _},
    objs,
};
use std::{collections::HashSet, ops::ControlFlow};

/// Rows that are kept while reflogs are read; the newest of them are answered.
const KEPT: usize = 4_096;
/// Bytes of a row's message and identity that are kept: what is shown, in characters of four bytes.
const MAX_TEXT: usize = 1_024;
/// How the contract's application begins the messages of its own rows.
const APPLICATION: &[u8] = b"fleet radar:";

/// Whose reflogs are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Local branches and HEAD.
    Branches,
    /// All references and HEAD.
    AllRefs,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    /// Which log, by its place in the list of names; HEAD comes last.
    log: usize,
    /// Its place in that log; zero is the newest.
    n: usize,
    time: i64,
    old: ObjectId,
    new: ObjectId,
    message: BString,
    identity: BString,
}

/// The events of `repo` since `since_ms`, the `most` newest of them.
///
/// # Errors
/// Where the directories of the reflogs cannot be read.
pub fn events(repo: &Repo, scope: Scope, since_ms: i64, most: usize, pace: &Pace) -> Result<DigestEvents, ReadFailure> {
    let listed = logs::names(&repo.found.common_dir, scope, pace)?;
    let (mut names, mut truncated) = (listed.names, listed.cut);
    names.push("HEAD".into());
    let head = names.len() - 1;
    let mut rows: Vec<Row> = Vec::new();
    let (mut partial, mut stopped) = (None, None);
    for (log, name) in names.iter().enumerate() {
        let mut oldest_is_wanted = false;
        let read = reflog::backwards(repo, name.as_ref(), DIGEST_REFLOG_BYTES, |n, line| {
            if let Err(why) = pace.step(1) {
                stopped = Some(why);
                return ControlFlow::Break(());
            }
            // a clock that once stood wrong leaves old rows above new ones, so that none ends the search
            oldest_is_wanted = line.time.saturating_mul(1_000) >= since_ms;
            if oldest_is_wanted {
                rows.push(row(log, n, line));
                if rows.len() >= 2 * KEPT {
                    rows.sort_by_key(|row| std::cmp::Reverse(row.time));
                    rows.truncate(KEPT);
                }
            }
            ControlFlow::Continue(())
        });
        match read {
            Ok(left_out) => truncated |= left_out == Some(true) && oldest_is_wanted,
            Err(failure) => {
                let at = failure.path.map_or_else(String::new, |(path, _)| format!(" (`{path}`)"));
                let reason = failure.reason.name().to_owned();
                partial.get_or_insert(Partial { reason, details: format!("{}{at}", failure.details) });
            }
        }
        if stopped.is_some() {
            break;
        }
    }
    let mut rows = order::newest_first(rows, head);
    truncated |= rows.len() > DIGEST_REPOSITORY_EVENTS || stopped.is_some();
    rows.truncate(DIGEST_REPOSITORY_EVENTS);
    let event_count = rows.len() as u64;
    rows.truncate(most);
    let mut unknown = false;
    let mut events = Vec::with_capacity(rows.len());
    for row in &rows {
        events.push(event(repo, row, &names[row.log], row.log == head, &mut unknown, pace));
    }
    let stopped = stopped.or_else(|| pace.stopped());
    let partial = status::partial(stopped, None).or(partial).or_else(|| {
        let details = "Commits are missing or damaged: of some events it is not known whether they rewrote history.";
        unknown.then(|| Partial { reason: "object-missing".to_owned(), details: details.to_owned() })
    });
    Ok(DigestEvents { events, event_count, truncated, partial })
}

fn row(log: usize, n: usize, line: reflog::Line) -> Row {
    let mut message = line.message;
    message.truncate(MAX_TEXT);
    let mut identity = line.name;
    identity.extend_from_slice(b" <");
    identity.extend_from_slice(&line.email);
    identity.push(b'>');
    identity.truncate(MAX_TEXT);
    Row { log, n, time: line.time, old: line.old, new: line.new, message, identity }
}

fn event(repo: &Repo, row: &Row, name: &BString, is_head: bool, unknown: &mut bool, pace: &Pace) -> DigestEvent {
    let kind = kind::of(&row.message);
    // HEAD moves between branches, which rewrites nothing; a branch that moves so does
    let counts = match is_head {
        true => matches!(kind, DigestKind::Reset | DigestKind::Amend | DigestKind::Rebase),
        false => name.starts_with(b"refs/heads/") || name.starts_with(b"refs/remotes/"),
    };
    let rewrote = counts && {
        let rewrote = rewrote(repo, row.old, row.new, pace);
        *unknown |= rewrote.is_none();
        rewrote.unwrap_or_default()
    };
    let id = |id: ObjectId| (!id.is_null()).then(|| id.to_string());
    let (ref_name, ref_name_encoding) = text_of(name);
    let source = if row.message.starts_with(APPLICATION) { DigestSource::Fluxgit } else { DigestSource::Git };
    DigestEvent {
        at_ms: row.time.saturating_mul(1_000),
        ref_name,
        ref_name_encoding,
        kind,
        old_oid: id(row.old),
        new_oid: id(row.new),
        message: cut(&row.message, DIGEST_TEXT_CHARS.0),
        identity: cut(&row.identity, DIGEST_TEXT_CHARS.1),
        rewrote,
        source,
    }
}

/// Whether `old` is no ancestor of `new`; `None` where commits between them are missing.
fn rewrote(repo: &Repo, old: ObjectId, new: ObjectId, pace: &Pace) -> Option<bool> {
    if old.is_null() || new.is_null() || old == new {
        return Some(false);
    }
    let kind = |id: ObjectId| repo.git.find_header(id).ok().map(|header| header.kind());
    let kinds = (kind(old), kind(new));
    // also where `old` itself is damaged
    if kinds.1 == Some(objs::Kind::Commit) && repo.parents(new).contains(&old) {
        return Some(false);
    }
    match kinds {
        (Some(objs::Kind::Commit), Some(objs::Kind::Commit)) => {}
        // an ancestor of something that is here would be here, unless history was cut off
        (None, Some(objs::Kind::Commit)) => {
            return Some(std::fs::symlink_metadata(repo.found.common_dir.join("shallow")).is_err());
        }
        _ => return Some(false),
    }
    match ahead_behind::count(repo, new, old, pace) {
        Ok(drift) => (!drift.missing && !drift.cut).then_some(drift.behind > 0),
        // a walk that was stopped says nothing, and the answer is then marked
        Err(_) => Some(false),
    }
}

/// Text of at most `most` characters, an ellipsis included where it was cut.
fn cut(bytes: &[u8], most: usize) -> String {
    let text = bytes.to_str_lossy();
    if text.chars().count() <= most {
        return text.into_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// What makes a row of HEAD and a row of a branch the same movement.
fn movement(row: &Row) -> (i64, ObjectId, ObjectId, &[u8]) {
    (row.time, row.old, row.new, &row.message)
}

/// The movements of all rows that are not HEAD's.
fn movements(rows: &[Row], head: usize) -> HashSet<(i64, ObjectId, ObjectId, &[u8])> {
    rows.iter().filter(|row| row.log != head).map(movement).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_characters() {
        assert_eq!(cut(b"abc", 3), "abc");
        assert_eq!(cut("äöüß".as_bytes(), 3), "äö…");
        assert_eq!(cut(b"a\xff", 5), "a\u{fffd}");
    }
}
