//! `repo.reflog`: one page of a reflog, each entry addressed so that Git finds the same one.
//! Trust: a name is the caller's and is looked up, never run; texts of the log are the repository's and are cut.

use super::{super::budget::Budget, bad, bad_cursor};
use crate::{detached, diff::abbreviate::Abbreviation, history::cut, pace::Pace, reflog, repo::Repo, status};
use bulkhead_contract::{
    args::shown,
    failure::ReadFailure,
    limits::{MAX_SUBJECT_CHARS, REFLOG_ENTRIES},
    results::{Partial, Reflog, ReflogEntry},
};
use bulkhead_ipc::edge::asks;
use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice as _},
};
use std::{ops::ControlFlow, rc::Rc};

const OPERATION: &str = "reflog";
/// Bytes of a reflog that are read at most, from its end.
const MAX_LOG: u64 = 64 << 20;
/// Characters of a name or an address at most.
const MAX_NAME_CHARS: usize = 200;
const GUIDANCE: &str = "Look at an entry with commit.details or diff.text first. Its commit stays reachable by \
    creating a branch there; entries expire, so do that before Git collects garbage. Nothing was changed by this read.";

/// `repo.reflog`.
pub(in super::super) fn reflog(repo: &Repo, ask: &asks::Reflog, pace: &Pace) -> Result<Reflog, ReadFailure> {
    let (name, first) = parsed(&ask.ref_name)?;
    let full = full_name(repo, name)?;
    let from = ask.page.cursor.as_deref().map(|text| Position::parse(text, repo.git.object_hash())).transpose()?;
    let short = repo.refs.unambiguous(full.as_ref());
    let mut page = Page {
        repo,
        budget: Budget::new(ask.page.limit.min(REFLOG_ENTRIES.1), ask.page.chars),
        ref_name: &ask.ref_name,
        short: &short,
        abbreviation: repo.abbreviation(),
        entries: Vec::new(),
        last: None,
        full: false,
    };
    let (mut total, mut waits) = (0u64, from);
    let left = reflog::backwards(repo, full.as_ref(), MAX_LOG, |n, line| {
        total += 1;
        if let Some(position) = &waits {
            // entries may have come on top since, which pushes the last one down
            if n >= position.n && position.is(&line) {
                waits = None;
            }
        } else if n >= first {
            page.add(n, &line);
        }
        if pace.step(1).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    if waits.is_some() && pace.stopped().is_none() {
        return Err(bad(OPERATION, "The log was rewritten since the page before; start again without a cursor."));
    }
    if first > 0 && total <= first as u64 && pace.stopped().is_none() {
        let details = format!("The log of `{}` has only {total} entries.", shown(name));
        return Err(bad(OPERATION, details));
    }
    let partial = status::partial(pace.stopped(), None).or_else(|| {
        left.unwrap_or(false).then(|| Partial {
            reason: "too-large".to_owned(),
            details: "Only the last 64 MiB of the log were read; `totalEntries` counts those.".to_owned(),
        })
    });
    Ok(Reflog {
        ref_name: ask.ref_name.clone(),
        full_name: full.to_str_lossy().into_owned(),
        entry_count: page.entries.len() as u64,
        read_only: true,
        recovery_guidance: GUIDANCE.to_owned(),
        total_entries: total,
        truncated: page.full,
        next_cursor: page.last.filter(|_| page.full).map(|last| last.text()),
        entries: page.entries,
        partial,
    })
}

/// The name of a reference, and the entry to start at, of `name` or `name@{n}`.
fn parsed(text: &str) -> Result<(&str, usize), ReadFailure> {
    let refuse = |what: &str| Err(bad(OPERATION, format!("`{}` {what}", shown(text))));
    if text.trim().is_empty() {
        return Err(bad(OPERATION, "`refName` must not be blank."));
    }
    if text.starts_with('-') {
        return refuse("looks like an option. A branch of that name is `refs/heads/…` in full.");
    }
    if text.contains("..") || text.starts_with('^') {
        return refuse("is a range; the name of one reference is expected.");
    }
    let Some((name, rest)) = text.split_once("@{") else { return Ok((text, 0)) };
    let n = rest.strip_suffix('}').filter(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()));
    match n.and_then(|n| n.parse().ok()) {
        Some(n) => Ok((if name.is_empty() { "HEAD" } else { name }, n)),
        None => refuse("is no name of a reference; only `name@{n}` with a number may follow one."),
    }
}

/// The reference that `name` stands for.
fn full_name(repo: &Repo, name: &str) -> Result<BString, ReadFailure> {
    if matches!(name, "HEAD" | "@") {
        return Ok("HEAD".into());
    }
    reflog::meant(repo, BStr::new(name))?.ok_or_else(|| {
        let details = format!("`{}` names no reference; repo.refs lists them.", shown(name));
        bad(OPERATION, details)
    })
}

struct Page<'a> {
    repo: &'a Repo,
    budget: Budget,
    ref_name: &'a str,
    short: &'a str,
    abbreviation: Rc<Abbreviation>,
    entries: Vec<ReflogEntry>,
    last: Option<Position>,
    /// An entry did not fit.
    full: bool,
}

impl Page<'_> {
    fn add(&mut self, n: usize, line: &reflog::Line) {
        if self.full {
            return;
        }
        let text = |id: ObjectId| if id.is_null() { String::new() } else { id.to_string() };
        let here = |id: ObjectId| !id.is_null() && self.repo.git.has_object(id);
        let entry = ReflogEntry {
            index: self.entries.len() as u64,
            ref_name: self.ref_name.to_owned(),
            selector: format!("{}@{{{n}}}", self.short),
            old_commit: text(line.old),
            new_commit: text(line.new),
            short_new_commit: if line.new.is_null() {
                String::new()
            } else {
                detached::abbreviated(self.repo, &self.abbreviation, line.new)
            },
            message: cut(&line.message.to_str_lossy(), MAX_SUBJECT_CHARS),
            author_name: cut(&line.name.to_str_lossy(), MAX_NAME_CHARS),
            author_email: cut(&line.email.to_str_lossy(), MAX_NAME_CHARS),
            timestamp: line.time,
            can_compare: line.old != line.new && here(line.old) && here(line.new),
        };
        if self.budget.take(&entry) {
            self.entries.push(entry);
            self.last = Some(Position { n, old: line.old, new: line.new, time: line.time });
        } else {
            self.full = true;
        }
    }
}

/// The entry that a page ended with, so that it is found again after the log has grown.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Position {
    n: usize,
    old: ObjectId,
    new: ObjectId,
    time: i64,
}

impl Position {
    fn is(&self, line: &reflog::Line) -> bool {
        (self.old, self.new, self.time) == (line.old, line.new, line.time)
    }

    fn text(&self) -> String {
        format!("{}:{}:{}:{}", self.n, self.old, self.new, self.time)
    }

    fn parse(text: &str, kind: gix::hash::Kind) -> Result<Self, ReadFailure> {
        let mut parts = text.split(':');
        let mut next = || parts.next().ok_or_else(|| bad_cursor(OPERATION));
        let (n, old, new, time) = (next()?, next()?, next()?, next()?);
        let id = |hex: &str| ObjectId::from_hex(hex.as_bytes()).ok().filter(|id| id.kind() == kind);
        let position = (|| Some(Self { n: n.parse().ok()?, old: id(old)?, new: id(new)?, time: time.parse().ok()? }))();
        // whatever is spelled otherwise, for example with a sign, was not written here
        position.filter(|position| position.text() == text).ok_or_else(|| bad_cursor(OPERATION))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_contract::failure::Reason;

    #[test]
    fn names_are_told_from_expressions() {
        assert_eq!(parsed("main"), Ok(("main", 0)));
        assert_eq!(parsed("HEAD@{2}"), Ok(("HEAD", 2)));
        assert_eq!(parsed("@{3}"), Ok(("HEAD", 3)));
        for text in
            ["", " ", "--all", "a..b", "^a", "main@{yesterday}", "main@{-1}", "main@{1}~2", "x@{}", "x@{1", "@{u}"]
        {
            assert_eq!(parsed(text).expect_err(text).reason, Reason::BadArgument);
        }
    }

    #[test]
    fn a_cursor_is_a_position_and_nothing_else() {
        let kind = gix::hash::Kind::Sha1;
        let position = Position { n: 11, old: kind.null(), new: kind.null(), time: 17 };
        assert_eq!(Position::parse(&position.text(), kind), Ok(position.clone()));
        let text = position.text();
        for bad in ["", "1", &text[1..text.len() - 3], &format!("+{text}"), &format!("{text}:1"), &format!("{text}x")] {
            assert_eq!(Position::parse(bad, kind).expect_err(bad).reason, Reason::BadArgument, "{bad}");
        }
    }
}
