//! `repo.history`: a page of a walk, and the cursor that goes on from its end.
//! Trust: see the module above; a cursor only ever chooses among commits that the caller may read anyway.

use super::{budget::Budget, cursor::foreign};
use crate::{
    commit::Commit,
    diff::abbreviate::Abbreviation,
    history::{MAX_COMMIT, MAX_NAME_CHARS, cut, date, read, subject, text},
    merge,
    pace::{Pace, Stopped},
    repo::Repo,
    revision, scope,
    walk::{self, Halt, Pattern, Position, Query, Walk, ids, list},
};
use bulkhead_contract::{
    failure::{ReadFailure, Reason},
    limits::{MAX_CURSOR_CHARS, MAX_SUBJECT_CHARS},
    path::text_of,
    results::{History, HistoryCommit, Partial},
};
use bulkhead_ipc::edge::asks;
use gix::{ObjectId, bstr::BStr};
use std::{collections::HashMap, rc::Rc};

const OPERATION: &str = "history";
/// Commits at one end of a range at most: a symmetric difference hides all merge bases.
const MAX_ENDS: usize = 32;

/// `repo.history`.
pub(super) fn history(repo: &Repo, ask: &asks::History, pace: &Pace) -> Result<History, ReadFailure> {
    let fingerprint = fingerprint(ask);
    let cursor = ask.page.cursor.as_deref().map(|text| Cursor::parse(repo, text, fingerprint)).transpose()?;
    let Some(cursor) = cursor.map_or_else(|| first(repo, ask, pace), |cursor| Ok(Some(cursor)))? else {
        return Ok(History { commits: Vec::new(), next_cursor: None, partial: None });
    };
    let query = Rc::new(query(repo, ask, &cursor)?);
    let text = ask.page.cursor.as_deref().unwrap_or_default();
    let kept = repo.walks.borrow_mut().take(text).or_else(|| Walk::resume(repo, Rc::clone(&query), &cursor.at));
    let page = match kept {
        Some(walk) if ask.page.cursor.is_some() => match page(repo, walk, ask, pace) {
            Err(Halt::Lost) => again(repo, Rc::clone(&query), &cursor, ask, pace),
            page => page,
        },
        _ => again(repo, Rc::clone(&query), &cursor, ask, pace),
    };
    // the commit-graph lied, and is left aside from now on
    let page = match page {
        Err(Halt::Lost) => again(repo, query, &cursor, ask, pace),
        page => page,
    };
    let Page { commits, walk, stopped, blank } = page.map_err(|_| {
        let details = "The range holds more commits than this tool looks at. Narrow it, or name one revision.";
        ReadFailure::new(Reason::TooLarge, OPERATION, details)
    })?;
    let partial = partial(&walk, stopped).or_else(|| blank.map(blank_rows));
    let next = (!walk.is_over()).then(|| Cursor { at: walk.position(), ..cursor }.text(fingerprint));
    if let Some(next) = &next {
        repo.walks.borrow_mut().keep(next.clone(), walk);
    }
    Ok(History { commits, next_cursor: next, partial })
}

/// A page of a walk, and the walk at its end.
struct Page {
    commits: Vec<HistoryCommit>,
    walk: Walk,
    stopped: Option<Stopped>,
    /// Why some rows say nothing but which commit they are of.
    blank: Option<Reason>,
}

/// From the start of the walk, past what earlier pages held.
fn again(repo: &Repo, query: Rc<Query>, cursor: &Cursor, ask: &asks::History, pace: &Pace) -> Result<Page, Halt> {
    let mut walk = Walk::new(repo, query);
    if let Some(last) = cursor.at.last {
        loop {
            match walk.next(repo, pace) {
                Ok(Some(shown)) if shown.id == last => break,
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(Halt::Stopped(stopped)) => {
                    return Ok(Page { commits: Vec::new(), walk, stopped: Some(stopped), blank: None });
                }
                Err(halt) => return Err(halt),
            }
        }
    }
    page(repo, walk, ask, pace)
}

fn page(repo: &Repo, mut walk: Walk, ask: &asks::History, pace: &Pace) -> Result<Page, Halt> {
    let (mut commits, mut stopped, mut blank) = (Vec::new(), None, None);
    // the one parent of the last row
    let mut follows = None;
    let mut budget = Budget::new(ask.page.limit, ask.page.chars);
    let mut shorts = Shorts { abbreviation: &repo.abbreviation(), known: HashMap::new() };
    while (commits.len() as u64) < u64::from(ask.page.limit) {
        let shown = match walk.next(repo, pace) {
            Ok(Some(shown)) => shown,
            Ok(None) => break,
            Err(Halt::Stopped(why)) => {
                stopped = Some(why);
                break;
            }
            Err(halt) => return Err(halt),
        };
        let mut buffer = Vec::new();
        let commit = read(repo, shown.id, &mut buffer);
        if commit.as_ref().is_some_and(|commit| commit.parents != shown.parents) && repo.commit_graph().is_some() {
            repo.drop_commit_graph();
            return Err(Halt::Lost);
        }
        let lacks = if commit.is_none() { Some(lacking(repo, shown.id)) } else { None };
        // one that cannot be shown is in the list all the same
        let (id, commit) = (shown.id, commit.unwrap_or_default());
        let row = row(repo, &mut shorts, shown, &commit);
        if !budget.take(&row) {
            walk.put_back(repo);
            break;
        }
        shorts.name_parent(commits.last_mut(), follows, Some(id));
        follows = match commit.parents[..] {
            [one] if !repo.is_shallow(&id) => Some(one),
            _ => None,
        };
        commits.push(row);
        blank = blank.or(lacks);
    }
    shorts.name_parent(commits.last_mut(), follows, None);
    Ok(Page { commits, walk, stopped, blank })
}

/// Short ids of one page. Most ids of it are wanted twice, as a row's own and as a parent's.
struct Shorts<'r> {
    abbreviation: &'r Abbreviation,
    known: HashMap<ObjectId, String>,
}

impl Shorts<'_> {
    fn of(&mut self, id: ObjectId) -> String {
        self.known.entry(id).or_insert_with(|| self.abbreviation.short(&id)).clone()
    }

    /// Names the one parent of a row, unless the row after it is that parent.
    fn name_parent(&mut self, row: Option<&mut HistoryCommit>, parent: Option<ObjectId>, next: Option<ObjectId>) {
        if let (Some(row), Some(parent)) = (row, parent) {
            row.parents = (next != Some(parent)).then(|| vec![self.of(parent)]);
        }
    }
}

/// Why the commit `id` cannot be shown.
pub(super) fn lacking(repo: &Repo, id: ObjectId) -> Reason {
    match repo.git.find_header(id) {
        Ok(header) if header.kind().is_commit() && header.size() > MAX_COMMIT => Reason::TooLarge,
        _ => Reason::ObjectMissing,
    }
}

/// What stands beside rows whose fields are empty.
pub(super) fn blank_rows(why: Reason) -> Partial {
    let details = match why {
        Reason::TooLarge => "Commits of more than 4 MiB are listed without their fields.",
        _ => "Commits that are missing or damaged are listed without their fields.",
    };
    Partial { reason: why.name().to_owned(), details: details.to_owned() }
}

fn row(repo: &Repo, shorts: &mut Shorts<'_>, shown: walk::Shown, commit: &Commit<'_>) -> HistoryCommit {
    let author = commit.author();
    let cut_name = |name: &BStr| cut(text(commit, name).trim(), MAX_NAME_CHARS);
    let path = shown.path.as_deref().map(text_of);
    let author_time = author.and_then(|who| who.time().ok()).map_or(0, |time| time.seconds);
    let short_hash = shorts.of(shown.id);
    let parents = match &commit.parents[..] {
        _ if repo.is_shallow(&shown.id) => Vec::new(),
        // holds the room of the parent's, which is named when the row after this one is known
        [_] => vec![short_hash.clone()],
        parents => parents.iter().take(MAX_ENDS).map(|parent| shorts.of(*parent)).collect(),
    };
    HistoryCommit {
        hash: shown.id.to_string(),
        short_hash,
        parents: Some(parents),
        author_name: author.map(|who| cut_name(who.name)).unwrap_or_default(),
        author_email: author.map(|who| cut_name(who.email)).unwrap_or_default(),
        author_time,
        author_date: date(commit),
        commit_time: Some(shown.time).filter(|time| *time != author_time),
        subject: cut(&subject(commit), MAX_SUBJECT_CHARS),
        path_encoding: path.as_ref().and_then(|(_, encoding)| *encoding),
        path: path.map(|(path, _)| path),
    }
}

/// Why a walk is not whole.
pub(super) fn partial(walk: &Walk, stopped: Option<Stopped>) -> Option<Partial> {
    let (reason, details) = match stopped {
        Some(Stopped::Deadline) => {
            ("deadline", "Most of the call's time was used up. Pass nextCursor back as cursor to go on from here.")
        }
        Some(Stopped::Memory) => ("too-large", crate::status::OUT_OF_MEMORY),
        Some(Stopped::Cancelled) => ("cancelled", "The call was cancelled before it was done."),
        None if walk.is_incomplete() => (
            "object-missing",
            "Some commits or trees are missing or damaged; what can only be reached through them is left out.",
        ),
        None => return None,
    };
    Some(Partial { reason: reason.to_owned(), details: details.to_owned() })
}

/// Where the first page starts; `None` on an unborn branch.
fn first(repo: &Repo, ask: &asks::History, pace: &Pace) -> Result<Option<Cursor>, ReadFailure> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    let moment = |name: &str, text: &Option<String>| {
        match text.as_deref() {
        None => Ok(None),
        Some(text) => walk::moment(text, now).map(Some).ok_or_else(|| {
            bad(format!(
                "`{name}` is no date that is understood here: `2026-01-31`, `2026-01-31T12:00:00Z`, seconds since 1970, or `2 weeks ago`."
            ))
        }),
    }
    };
    let mut cursor = Cursor {
        tips: Vec::new(),
        hidden: Vec::new(),
        since: moment("since", &ask.only.since)?,
        until: moment("until", &ask.only.until)?,
        at: Position::default(),
    };
    match ask.only.range.as_deref() {
        None => match repo.refs.head()?.id {
            Some(head) => cursor.tips.push(revision::commit(repo, &head.to_string(), OPERATION, pace)?),
            None => return Ok(None),
        },
        Some(range) => range_ends(repo, range, &mut cursor, pace)?,
    }
    Ok(Some(cursor))
}

/// One revision, `a..b` or `a...b`; HEAD where an end is left out.
fn range_ends(repo: &Repo, range: &str, cursor: &mut Cursor, pace: &Pace) -> Result<(), ReadFailure> {
    let commit = |text: &str| revision::commit(repo, if text.is_empty() { "HEAD" } else { text }, OPERATION, pace);
    if let Some((left, right)) = range.split_once("...") {
        let (left, right) = (commit(left)?, commit(right)?);
        cursor.hidden = merge::common(repo, left, right, pace)?;
        cursor.tips = vec![left, right];
        cursor.tips.dedup();
    } else if let Some((left, right)) = range.split_once("..") {
        (cursor.hidden, cursor.tips) = (vec![commit(left)?], vec![commit(right)?]);
    } else {
        cursor.tips = vec![commit(range)?];
    }
    if cursor.hidden.len() > MAX_ENDS {
        return Err(ReadFailure::new(Reason::TooLarge, OPERATION, "The two ends have too many merge bases."));
    }
    Ok(())
}

fn query(repo: &Repo, ask: &asks::History, cursor: &Cursor) -> Result<Query, ReadFailure> {
    let pattern = |name: &str, text: &Option<String>| match text.as_deref() {
        None => Ok(None),
        Some(text) => Pattern::basic(text).map(Some).map_err(|why| bad(format!("`{name}` {why}."))),
    };
    let path = ask.only.path.as_deref().map(|path| scope::path(repo, path, OPERATION)).transpose()?;
    if ask.only.follow && path.as_ref().is_none_or(Vec::is_empty) {
        return Err(bad("`follow` needs the `path` of one file."));
    }
    Ok(Query {
        tips: cursor.tips.clone(),
        hidden: cursor.hidden.clone(),
        path,
        follow: ask.only.follow,
        since: cursor.since,
        until: cursor.until,
        author: pattern("author", &ask.only.author)?,
        grep: pattern("grep", &ask.only.grep)?,
    })
}

fn bad(details: impl Into<String>) -> ReadFailure {
    ReadFailure::new(Reason::BadArgument, OPERATION, details)
}

/// Tells the questions of cursors apart; not a secret. FNV-1a over everything but the page.
fn fingerprint(ask: &asks::History) -> u32 {
    let texts = [&ask.only.range, &ask.only.path, &ask.only.author, &ask.only.grep, &ask.only.since, &ask.only.until];
    let fields = texts.iter().flat_map(|text| match text {
        Some(text) => [&b"+"[..], text.as_bytes(), b"\0"],
        None => [&b"-"[..], b"", b"\0"],
    });
    fields
        .chain([if ask.only.follow { &b"f"[..] } else { b"" }])
        .flatten()
        .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// A position with everything that it rests on: commits that arrive later do not move it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cursor {
    tips: Vec<ObjectId>,
    hidden: Vec<ObjectId>,
    since: Option<i64>,
    until: Option<i64>,
    at: Position,
}

impl Cursor {
    fn text(&self, fingerprint: u32) -> String {
        let time = |time: Option<i64>| time.map(|time| time.to_string()).unwrap_or_default();
        let text = |at: &Position| {
            let (tips, hidden) = (list(&self.tips), list(&self.hidden));
            let (since, until) = (time(self.since), time(self.until));
            format!("h2:{fingerprint:08x}:{tips}:{hidden}:{since}:{until}:{}", at.text())
        };
        let whole = text(&self.at);
        if whole.len() <= MAX_CURSOR_CHARS {
            return whole;
        }
        text(&Position { frontier: None, ..self.at.clone() })
    }

    /// # Errors
    /// [`Reason::BadArgument`] for one that we never wrote, or wrote for another question or repository.
    fn parse(repo: &Repo, text: &str, fingerprint: u32) -> Result<Self, ReadFailure> {
        let fields: Vec<&str> = text.split(':').collect();
        let [kind, of, tips, hidden, since, until, at] = fields[..] else { return Err(foreign()) };
        if kind != "h2" {
            return Err(foreign());
        }
        if of != format!("{fingerprint:08x}") {
            let details = "The cursor belongs to other arguments: pass it with those of the page that it came with.";
            return Err(ReadFailure::new(Reason::BadArgument, "cursor", details));
        }
        let time = |text: &str| if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) };
        let cursor = (|| {
            let (since, until) = (time(since)?, time(until)?);
            Some(Self { tips: ids(tips)?, hidden: ids(hidden)?, since, until, at: Position::parse(at)? })
        })()
        .ok_or_else(foreign)?;
        let named = cursor.tips.iter().chain(&cursor.hidden).chain(cursor.at.frontier.iter().flatten());
        let hash = repo.git.object_hash();
        if cursor.tips.is_empty()
            || !named.clone().all(|id| id.kind() == hash)
            || !named.clone().all(|id| repo.git.find_header(*id).is_ok_and(|header| header.kind().is_commit()))
        {
            return Err(foreign());
        }
        Ok(cursor)
    }
}
