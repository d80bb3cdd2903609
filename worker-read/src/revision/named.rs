//! The beginning of an expression, which names something: a reference, an entry of a reflog, an upstream, an object's id.
//! Trust: names are looked up by our own readers alone; the library, which would wait on a FIFO, is asked for ids alone.

use crate::{reflog, repo::Repo, walk::dates};
use bulkhead_contract::failure::{ReadFailure, Reason};
use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice as _},
    hash::Prefix,
    objs::Kind,
};
use std::{
    collections::HashSet,
    ops::ControlFlow,
    time::{SystemTime, UNIX_EPOCH},
};

/// Bytes of a reflog that are searched, from its end.
const MAX_LOG: u64 = 64 << 20;

/// The object that the beginning of `expression` names, and what follows it: nothing, or steps from there (`~2`, `^{}`,
/// `:path`). `None` where it names nothing.
///
/// # Errors
/// Where HEAD has no commit, and where a reference or a reflog that would be meant cannot be read.
pub(super) fn beginning<'e>(repo: &Repo, expression: &'e str) -> Result<Option<(ObjectId, &'e str)>, ReadFailure> {
    let end = expression.find(['^', '~', ':']).unwrap_or(expression.len());
    let end = expression.find("@{").map_or(end, |at| at.min(end));
    let (name, steps) = expression.split_at(end);
    let (id, steps) = match steps.strip_prefix("@{") {
        None => (named(repo, name)?, steps),
        Some(inner) => match inner.split_once('}') {
            Some((what, steps)) => (at(repo, name, what)?, steps),
            None => (None, ""),
        },
    };
    Ok(id.map(|id| (id, steps)).filter(|_| steps.is_empty() || steps.starts_with(['^', '~', ':'])))
}

/// `main`, `HEAD`, an id, the beginning of one, or what `git describe` makes of one.
fn named(repo: &Repo, name: &str) -> Result<Option<ObjectId>, ReadFailure> {
    if matches!(name, "HEAD" | "@") {
        return match repo.refs.head()?.id {
            Some(id) => Ok(Some(id)),
            None => {
                let details = "HEAD is on a branch that has no commit yet.";
                Err(ReadFailure::new(Reason::NoSuchRevision, "revision", details))
            }
        };
    }
    let kind = repo.git.object_hash();
    if let Ok(id) = ObjectId::from_hex(name.as_bytes())
        && id.kind() == kind
    {
        let there = repo.git.has_object(id) || id == ObjectId::empty_tree(kind);
        return Ok(there.then_some(id));
    }
    if let Some(full) = repo.refs.meant(BStr::new(name))?.first() {
        return repo.refs.resolve(full.as_ref());
    }
    let described = name.rsplit_once("-g").map(|(_, id)| id);
    Ok(abbreviated(repo, name).or_else(|| abbreviated(repo, described?)))
}

/// The object whose id begins so; of several, the one that is a commit, or leads to one.
fn abbreviated(repo: &Repo, hex: &str) -> Option<ObjectId> {
    let hexadecimal = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    let prefix = Prefix::from_hex(hex).ok().filter(|_| hexadecimal)?;
    let mut found = HashSet::new();
    match repo.git.objects.lookup_prefix(prefix, Some(&mut found)).ok()?? {
        Ok(id) => Some(id),
        Err(()) => {
            let leads = |id: &ObjectId| {
                repo.git.find_header(*id).is_ok_and(|header| matches!(header.kind(), Kind::Commit | Kind::Tag))
            };
            let mut commits = found.into_iter().filter(leads);
            commits.next().filter(|_| commits.next().is_none())
        }
    }
}

/// `name@{what}`.
fn at(repo: &Repo, name: &str, what: &str) -> Result<Option<ObjectId>, ReadFailure> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(n) = what.strip_prefix('-').filter(|n| digits(n)) {
        let n = n.parse().ok().filter(|&n: &usize| n > 0 && name.is_empty());
        return n.map_or(Ok(None), |n| left(repo, n));
    }
    if matches!(what.to_ascii_lowercase().as_str(), "u" | "upstream" | "push") {
        return followed(repo, name, what.eq_ignore_ascii_case("push"));
    }
    let entry = if digits(what) { what.parse().ok().map(Entry::Number) } else { moment(what).map(Entry::Moment) };
    let full = match name {
        // without a name it is the log of the branch
        "" => repo.refs.head()?.branch.or_else(|| Some("HEAD".into())),
        "HEAD" | "@" => Some("HEAD".into()),
        name => reflog::meant(repo, BStr::new(name))?,
    };
    let (Some(entry), Some(full)) = (entry, full) else { return Ok(None) };
    logged(repo, full.as_ref(), &entry)
}

enum Entry {
    Number(usize),
    Moment(i64),
}

fn moment(text: &str) -> Option<i64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    dates::moment(text, i64::try_from(now.as_secs()).ok()?)
}

/// Where the reference called `full` was. Before its first entry it was where that one came from.
fn logged(repo: &Repo, full: &BStr, entry: &Entry) -> Result<Option<ObjectId>, ReadFailure> {
    let (mut found, mut oldest) = (None, None);
    reflog::backwards(repo, full, MAX_LOG, |n, line| {
        let this = match entry {
            Entry::Number(number) => n == *number,
            Entry::Moment(moment) => line.time <= *moment,
        };
        found = this.then_some(line.new);
        oldest = Some((n, line));
        if this { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let before = || {
        let (n, line) = oldest?;
        match entry {
            Entry::Number(number) => (n + 1 == *number).then_some(line.old),
            Entry::Moment(_) => Some(if line.old.is_null() { line.new } else { line.old }),
        }
    };
    Ok(found.or_else(before).filter(|id| !id.is_null()))
}

/// What was checked out `n` checkouts ago.
fn left(repo: &Repo, n: usize) -> Result<Option<ObjectId>, ReadFailure> {
    let (mut seen, mut found) = (0, None);
    reflog::backwards(repo, "HEAD".into(), MAX_LOG, |_, line| {
        let Some(moved) = line.message.strip_prefix(b"checkout: moving from ") else {
            return ControlFlow::Continue(());
        };
        let Some((from, _)) = moved.split_once_str(" to ") else { return ControlFlow::Continue(()) };
        seen += 1;
        if seen < n {
            return ControlFlow::Continue(());
        }
        found = Some((BString::from(from), line.old));
        ControlFlow::Break(())
    })?;
    let Some((from, old)) = found else { return Ok(None) };
    let branch = repo.refs.resolve(BString::from([b"refs/heads/", &from[..]].concat()).as_ref())?;
    Ok(branch.or(Some(old)).filter(|id| !id.is_null()))
}

/// Where the remote's branch that `name` follows, or is pushed to, was last seen.
fn followed(repo: &Repo, name: &str, pushed: bool) -> Result<Option<ObjectId>, ReadFailure> {
    let branch = match name {
        "" | "HEAD" | "@" => repo.refs.head()?.branch,
        name => Some(format!("refs/heads/{}", name.strip_prefix("refs/heads/").unwrap_or(name)).into()),
    };
    let Some(branch) = branch else { return Ok(None) };
    if !pushed {
        let config = repo.git.config_snapshot();
        return Ok(repo.refs.upstream(branch.as_ref(), config.plumbing())?.and_then(|upstream| upstream.id));
    }
    let Ok(branch) = gix::refs::FullName::try_from(branch) else { return Ok(None) };
    let name = repo.git.branch_remote_tracking_ref_name(branch.as_ref(), gix::remote::Direction::Push);
    name.and_then(Result::ok).map_or(Ok(None), |name| repo.refs.resolve(name.as_ref().as_bstr()))
}
