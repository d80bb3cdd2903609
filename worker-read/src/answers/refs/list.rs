//! `repo.refs`: names of one page, what they lead to, and how many there are in all.
//! Trust: names are the repository's bytes and are escaped where they are not UTF-8; addresses of remotes are never shown.

use super::{super::budget::Budget, bad, bad_cursor};
use crate::{
    detached,
    pace::Pace,
    reflog,
    refs::{self, Entry, Kind, Listed, Target},
    repo::Repo,
    stash, status,
};
use bulkhead_contract::{
    failure::ReadFailure,
    limits::{MAX_REFS, MAX_SUBJECT_CHARS, REMOTE_ROWS, STASH_ROWS},
    path::{PathEncoding, bytes_of, text_of},
    results::{Partial, RefKind, RefRow, RefTotals, Refs},
};
use bulkhead_ipc::edge::asks;
use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice as _},
    commitgraph::Graph,
    glob::wildmatch,
};
use std::ops::ControlFlow;

const OPERATION: &str = "refs";
/// Bytes of the stash's reflog that are counted at most.
const MAX_STASH_LOG: u64 = 64 << 20;
/// Tags that lead to tags, at most.
const MAX_TAGS: usize = 32;

/// `repo.refs`.
pub(in super::super) fn refs(repo: &Repo, ask: &asks::Refs, pace: &Pace) -> Result<Refs, ReadFailure> {
    let wanted = Wanted::of(ask)?;
    let after = ask.page.cursor.as_deref().map(cursor_name).transpose()?;
    let head = repo.refs.head()?;
    let listed = repo.refs.list(pace)?;
    let mut answer = Refs {
        head: head.branch.as_ref().map_or_else(|| "HEAD".to_owned(), |branch| refs::short(branch.as_ref())),
        detached: head.branch.is_none(),
        head_id: head.id.map(|id| id.to_string()),
        branches: Vec::new(),
        tags: Vec::new(),
        remotes: Vec::new(),
        stashes: Vec::new(),
        refs: Vec::new(),
        totals: totals(&listed, &wanted, pace),
        truncated: false,
        next_cursor: None,
        partial: None,
    };
    let remotes = repo.git.remote_names();
    answer.totals.remotes = remotes.len() as u64;
    let mut stashes = Vec::new();
    let stashes_are_there = stash::are_there(&repo.refs)?;
    if stashes_are_there == Some(true) {
        answer.totals.stashes = read_stashes(repo, pace, &mut stashes)?;
    }
    let mut budget = Budget::new(ask.page.limit.min(MAX_REFS), ask.page.chars);
    if after.is_none() {
        let names = remotes.iter().take(REMOTE_ROWS).map(|name| text_of(name).0);
        answer.remotes = names.take_while(|name| budget.spend(name)).collect();
        answer.stashes = stashes.into_iter().take_while(|text| budget.spend(text)).collect();
        answer.truncated =
            answer.remotes.len() < remotes.len() || (answer.stashes.len() as u64) < answer.totals.stashes;
        if let (None, Some(id), true) = (&head.branch, head.id, wanted.pattern.is_none() && wanted.takes(Kind::Local)) {
            let text = detached::description(repo, id)?;
            budget.spend(&text);
            answer.branches.push(text);
        }
    }
    let mut last: Option<Entry<'_>> = None;
    let graph = repo.commit_graph();
    let after = after.unwrap_or_default();
    for entry in listed.after(&after).filter(|entry| wanted.is(entry)) {
        if pace.step(1).is_err() {
            answer.truncated = true;
            break;
        }
        let (kind, short) = Kind::of(entry.name);
        let target = listed.target(&entry);
        // Git passes over one that is broken or leads to nothing
        let leads = target.as_ref().is_ok_and(|target| target.id.is_some());
        let name = (kind != Kind::Other && leads).then(|| text_of(short).0);
        let row = ask.details.then(|| row(repo, &listed, graph.as_deref(), &entry, target));
        if !budget.take(&(&name, &row)) {
            answer.truncated = true;
            break;
        }
        match kind {
            Kind::Tag => answer.tags.extend(name),
            _ => answer.branches.extend(name),
        }
        answer.refs.extend(row);
        last = Some(entry);
    }
    // a page that ends for lack of time before its first row starts over
    let rows_follow = last.is_some_and(|last| listed.after(last.name).any(|entry| wanted.is(&entry)));
    if rows_follow {
        answer.truncated = true;
        answer.next_cursor = last.map(|last| cursor(last.name));
    }
    answer.partial = status::partial(pace.stopped(), None)
        .or_else(|| cut(listed.cut))
        .or_else(|| stashes_are_there.is_none().then(stash::unknown));
    Ok(answer)
}

fn cut(is_cut: bool) -> Option<Partial> {
    is_cut.then(|| Partial {
        reason: "too-large".to_owned(),
        details: "There are more loose references than are listed; `git pack-refs --all` would help.".to_owned(),
    })
}

/// Which references were asked for.
struct Wanted<'a> {
    kind: Option<Kind>,
    pattern: Option<&'a BStr>,
}

impl<'a> Wanted<'a> {
    fn of(ask: &'a asks::Refs) -> Result<Self, ReadFailure> {
        let kind = match ask.kind.as_deref() {
            None => None,
            Some("local") => Some(Kind::Local),
            Some("remote") => Some(Kind::Remote),
            Some("tags") => Some(Kind::Tag),
            Some("other") => Some(Kind::Other),
            Some(_) => return Err(bad(OPERATION, "`kind` must be one of `local`, `remote`, `tags`, `other`.")),
        };
        Ok(Self { kind, pattern: ask.pattern.as_deref().map(BStr::new) })
    }

    fn takes(&self, kind: Kind) -> bool {
        self.kind.map_or(kind != Kind::Other, |wanted| wanted == kind)
    }

    fn is(&self, entry: &Entry<'_>) -> bool {
        let (kind, short) = Kind::of(entry.name);
        self.takes(kind) && self.matches(entry.name, short)
    }

    fn matches(&self, name: &BStr, short: &BStr) -> bool {
        self.pattern.is_none_or(|pattern| {
            let text = if pattern.starts_with(b"refs/") { name } else { short };
            gix::glob::wildmatch(pattern, text, wildmatch::Mode::empty())
        })
    }
}

fn totals(listed: &Listed<'_>, wanted: &Wanted<'_>, pace: &Pace) -> RefTotals {
    let mut totals = RefTotals::default();
    if wanted.pattern.is_none() {
        totals.local = listed.count(b"refs/heads/");
        totals.remote = listed.count(b"refs/remotes/");
        totals.tags = listed.count(b"refs/tags/");
        totals.other = listed.count(b"refs/") - totals.local - totals.remote - totals.tags;
        return totals;
    }
    for entry in listed.after(b"") {
        if pace.step(1).is_err() {
            break;
        }
        let (kind, short) = Kind::of(entry.name);
        if wanted.matches(entry.name, short) {
            match kind {
                Kind::Local => totals.local += 1,
                Kind::Remote => totals.remote += 1,
                Kind::Tag => totals.tags += 1,
                Kind::Other => totals.other += 1,
            }
        }
    }
    totals
}

fn row(
    repo: &Repo,
    listed: &Listed<'_>,
    graph: Option<&Graph>,
    entry: &Entry<'_>,
    target: Result<Target, ReadFailure>,
) -> RefRow {
    let (name, name_encoding) = text_of(entry.name);
    let kind = Kind::of(entry.name).0;
    let broken = target.is_err();
    let target = target.unwrap_or(Target { id: None, symbolic: None, peeled: None });
    let peeled = match (target.peeled, target.id) {
        (Some(peeled), _) => peeled,
        // branches are at commits
        (None, Some(id)) if matches!(kind, Kind::Tag | Kind::Other) => peeled(repo, id),
        _ => None,
    };
    let upstream = repo.refs.upstream_name(entry.name, repo.git.config_snapshot().plumbing());
    RefRow {
        name,
        name_encoding,
        kind: match kind {
            Kind::Local => RefKind::Local,
            Kind::Remote => RefKind::Remote,
            Kind::Tag => RefKind::Tag,
            Kind::Other => RefKind::Other,
        },
        id: target.id.map(|id| id.to_string()),
        peeled: peeled.map(|id| id.to_string()),
        target: target.symbolic.map(|name| text_of(&name).0),
        upstream_gone: upstream.as_ref().is_some_and(|upstream| !listed.holds(upstream)),
        upstream: upstream.map(|upstream| refs::short(upstream.as_ref())),
        date: peeled.or(target.id).and_then(|id| date(repo, graph, id)),
        broken,
    }
}

/// What the tag object `id` leads to; `None` where it is no tag object.
fn peeled(repo: &Repo, id: ObjectId) -> Option<ObjectId> {
    let mut at = id;
    for _ in 0..MAX_TAGS {
        if repo.git.find_header(at).ok()?.kind() != gix::objs::Kind::Tag {
            break;
        }
        at = repo.git.find_tag(at).ok()?.target_id().ok()?.detach();
    }
    (at != id).then_some(at)
}

/// The committer's time of the commit `id` in UTC.
fn date(repo: &Repo, graph: Option<&Graph>, id: ObjectId) -> Option<String> {
    let known = graph.and_then(|graph| {
        let commit = graph.commit_at(graph.lookup(id)?);
        i64::try_from(commit.committer_timestamp()).ok()
    });
    let seconds = match known {
        Some(seconds) => seconds,
        None if repo.known_time(&id).is_some() => repo.known_time(&id)?,
        None if repo.git.find_header(id).is_ok_and(|header| header.kind() == gix::objs::Kind::Commit) => {
            repo.commit_time(id)?
        }
        None => return None,
    };
    gix::date::Time::new(seconds, 0).format(gix::date::time::format::ISO8601_STRICT).ok()
}

/// Texts of the newest stashes; the number of all of them.
fn read_stashes(repo: &Repo, pace: &Pace, texts: &mut Vec<String>) -> Result<u64, ReadFailure> {
    let mut total = 0;
    reflog::backwards(repo, "refs/stash".into(), MAX_STASH_LOG, |index, line| {
        total += 1;
        if texts.len() < STASH_ROWS {
            let text: String = line.message.to_str_lossy().chars().take(MAX_SUBJECT_CHARS).collect();
            texts.push(format!("stash@{{{index}}}: {text}"));
        }
        if pace.step(1).is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(total)
}

/// The position after the reference `name`.
fn cursor(name: &BStr) -> String {
    let (text, encoding) = text_of(name);
    format!("{}:{text}", if encoding.is_some() { 'e' } else { 'r' })
}

fn cursor_name(text: &str) -> Result<Vec<u8>, ReadFailure> {
    let (encoding, name) = match text.split_once(':') {
        Some(("r", name)) => (None, name),
        Some(("e", name)) => (Some(PathEncoding::Escaped), name),
        _ => return Err(bad_cursor(OPERATION)),
    };
    let name = bytes_of(name, encoding).ok_or_else(|| bad_cursor(OPERATION))?;
    match name.starts_with(b"refs/") && gix::validate::reference::name(name.as_bstr()).is_ok() {
        true => Ok(name),
        false => Err(bad_cursor(OPERATION)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bulkhead_contract::failure::Reason;

    #[test]
    fn a_cursor_comes_back_whatever_the_name_is() {
        for name in [&b"refs/heads/caf\xc3\xa9"[..], b"refs/heads/\xff\x80x", b"refs/tags/v1"] {
            assert_eq!(cursor_name(&cursor(name.as_bstr())).as_deref(), Ok(name));
        }
        for text in ["", "r", "r:", "r:HEAD", "x:refs/heads/a", "r:refs/../a", "e:refs/heads/\\y"] {
            assert_eq!(cursor_name(text).expect_err(text).reason, Reason::BadArgument);
        }
    }
}
