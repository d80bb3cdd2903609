//! `repo.scope`: what is known about one path before it is edited.
//! Trust: see the module above; each part that fails alone is said in a hint, and takes no other part with it.

use super::{history, rows};
use crate::{
    codeowners,
    history::{MAX_NAME_CHARS, cut, date, read, subject, text},
    pace::{Pace, Stopped},
    repo::Repo,
    scope,
    status::{self, Sides},
    walk::{Halt, Query, Walk},
    worktree::Untracked,
};
use bulkhead_contract::{
    failure::ReadFailure,
    limits::{MAX_SUBJECT_CHARS, SCOPE_ENTRIES, SCOPE_HINTS},
    path::text_of,
    results::{Churn, Owners, Partial, Scope, ScopeCommit, ScopeEntry, ScopeWorkingTree},
};
use bulkhead_ipc::edge::asks;
use gix::ObjectId;
use std::{collections::HashSet, rc::Rc};

const OPERATION: &str = "scope";
/// By whose rules owners are found.
const MATCHING: &str = "github (last match wins)";
/// Seconds of a day.
const DAY: i64 = 86_400;

/// `repo.scope`.
pub(super) fn scope(repo: &Repo, ask: &asks::Scope, pace: &Pace) -> Result<Scope, ReadFailure> {
    let path = scope::path(repo, &ask.path, OPERATION)?;
    let (working_tree, mut partial) = working_tree(repo, &path, pace)?;
    let head = repo.refs.head()?.id;
    let mut recent_commits = Vec::new();
    let mut churn = Churn { days: ask.churn_days, commits: 0, authors: 0 };
    if let Some(head) = head {
        let query = Query { tips: vec![head], path: Some(path.clone()), ..Query::default() };
        // the window is bounded by dates and comes first, so that a long history does not cost its answer
        let ended = count(repo, &query, &mut churn, pace)
            .or_else(|| list(repo, query, ask.recent_commits as usize, &mut recent_commits, pace));
        partial = partial.or(ended);
    }
    let mut hints = Vec::new();
    let owners = owners(repo, &path, &mut hints);
    if !scope::exists(repo, &path) {
        hints.insert(0, missing(&recent_commits));
    } else {
        advise(&working_tree, &churn, repo.is_bare(), &mut hints);
    }
    hints.truncate(SCOPE_HINTS);
    let (scope, scope_encoding) = if path.is_empty() { (".".to_owned(), None) } else { text_of(&path) };
    Ok(Scope { scope, scope_encoding, working_tree, recent_commits, churn, owners, hints, partial })
}

fn working_tree(repo: &Repo, path: &[u8], pace: &Pace) -> Result<(ScopeWorkingTree, Option<Partial>), ReadFailure> {
    if repo.is_bare() {
        return Ok((ScopeWorkingTree::default(), None));
    }
    let sides = status::read(repo, Untracked::page(SCOPE_ENTRIES, None).within(path), pace, 0)?;
    let mut tree = ScopeWorkingTree::default();
    let mut add = |columns: [u8; 2], at: &[u8], from: Option<&[u8]>| {
        tree.changed += 1;
        if tree.entries.len() < SCOPE_ENTRIES {
            tree.entries.push(entry(columns, at, from));
        }
    };
    for (columns, at, from) in tracked(&sides, path) {
        add(columns, at, from);
    }
    for at in &sides.untracked.kept {
        if at.ends_with(b"/") && path.starts_with(at) && path.len() >= at.len() {
            // the path lies in an untracked directory, and is what Git would show of it
            match scope::in_worktree(repo, path) {
                Some(true) => add(*b"??", &[path, b"/"].concat(), None),
                Some(false) => add(*b"??", path, None),
                None => {}
            }
        } else {
            add(*b"??", at, None);
        }
    }
    tree.changed += sides.untracked.total - sides.untracked.kept.len() as u64;
    tree.truncated = tree.changed > tree.entries.len() as u64;
    Ok((tree, sides.partial))
}

type Row<'a> = ([u8; 2], &'a [u8], Option<&'a [u8]>);

/// Tracked rows at or below `path`, in their order. Of a rename that crosses its border one end is an addition or a
/// deletion, as with `git status -- path`.
fn tracked<'a>(sides: &'a Sides, path: &[u8]) -> Vec<Row<'a>> {
    let mut found: Vec<Row<'a>> = Vec::new();
    for row in rows::tracked(sides) {
        let (new, old) = (is_within(path, row.path), row.from.map(|from| is_within(path, from)));
        match (new, old) {
            (true, Some(false)) => {
                let added = row.columns.map(|column| if column == b'R' { b'A' } else { column });
                found.push((added, row.path, None));
            }
            (true, _) => found.push((row.columns, row.path, row.from)),
            (false, Some(true)) => {
                let gone = row.columns.map(|column| if column == b'R' { b'D' } else { b' ' });
                found.extend(row.from.map(|from| (gone, from, None)));
            }
            (false, _) => {}
        }
    }
    found.sort_by_key(|(_, at, _)| *at);
    found
}

/// Whether `path` is `scope` or lies below it.
fn is_within(scope: &[u8], path: &[u8]) -> bool {
    scope.is_empty() || path.strip_prefix(scope).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn entry(columns: [u8; 2], path: &[u8], from: Option<&[u8]>) -> ScopeEntry {
    let columns: String = columns.iter().map(|&byte| char::from(byte)).collect();
    let (path, path_encoding) = text_of(path);
    let from = from.map(text_of);
    ScopeEntry {
        status: columns.trim().to_owned(),
        columns,
        path,
        path_encoding,
        orig_path_encoding: from.as_ref().and_then(|(_, encoding)| *encoding),
        orig_path: from.map(|(path, _)| path),
    }
}

/// Goes through a walk, and says why it is not whole.
fn each(repo: &Repo, query: Query, pace: &Pace, mut take: impl FnMut(ObjectId) -> bool) -> Option<Partial> {
    let mut walk = Walk::new(repo, Rc::new(query));
    let stopped = loop {
        match walk.next(repo, pace) {
            Ok(Some(shown)) => {
                if !take(shown.id) {
                    break None;
                }
            }
            Ok(None) | Err(Halt::Lost | Halt::TooLarge) => break None,
            Err(Halt::Stopped(stopped)) => break Some(stopped),
        }
    };
    match stopped {
        Some(Stopped::Deadline | Stopped::Memory) => status::partial(stopped, None),
        stopped => history::partial(&walk, stopped),
    }
}

fn count(repo: &Repo, query: &Query, churn: &mut Churn, pace: &Pace) -> Option<Partial> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let since = i64::try_from(now).unwrap_or(i64::MAX) - i64::from(churn.days) * DAY;
    let mut names: HashSet<Vec<u8>> = HashSet::new();
    let mut buffer = Vec::new();
    let mut blank = None;
    let ended = each(repo, Query { since: Some(since), ..query.clone() }, pace, |id| {
        churn.commits += 1;
        match read(repo, id, &mut buffer) {
            Some(commit) => names.extend(commit.author().map(|who| who.name.to_vec())),
            None => drop(blank.get_or_insert_with(|| history::lacking(repo, id))),
        }
        true
    });
    churn.authors = names.len() as u64;
    ended.or_else(|| blank.map(history::blank_rows))
}

fn list(repo: &Repo, query: Query, most: usize, commits: &mut Vec<ScopeCommit>, pace: &Pace) -> Option<Partial> {
    let mut buffer = Vec::new();
    let mut blank = None;
    let abbreviation = repo.abbreviation();
    let ended = each(repo, query, pace, |id| {
        let commit = read(repo, id, &mut buffer);
        if commit.is_none() {
            blank.get_or_insert_with(|| history::lacking(repo, id));
        }
        let commit = commit.unwrap_or_default();
        commits.push(ScopeCommit {
            sha: abbreviation.short(&id),
            subject: cut(&subject(&commit), MAX_SUBJECT_CHARS),
            author: commit.author().map(|who| cut(&text(&commit, who.name), MAX_NAME_CHARS)).unwrap_or_default(),
            date: date(&commit),
        });
        commits.len() < most
    });
    ended.or_else(|| blank.map(history::blank_rows))
}

fn owners(repo: &Repo, path: &[u8], hints: &mut Vec<String>) -> Option<Owners> {
    match codeowners::owners(repo, path) {
        Ok(owned) => owned.map(|owned| Owners {
            source: owned.source.to_owned(),
            matched_pattern: owned.pattern,
            owners: owned.owners,
            matching: MATCHING.to_owned(),
        }),
        Err(failure) => {
            hints.push(format!("Owners are not known: {}", failure.details));
            None
        }
    }
}

fn missing(commits: &[ScopeCommit]) -> String {
    if commits.is_empty() {
        "This path is neither in the index, nor at HEAD, nor in the working tree, and no commit changed it. Paths are \
         literal and relative to the top of the repository."
            .to_owned()
    } else {
        "This path is gone: it is neither in the index, nor at HEAD, nor in the working tree; its commits are past."
            .to_owned()
    }
}

fn advise(tree: &ScopeWorkingTree, churn: &Churn, bare: bool, hints: &mut Vec<String>) {
    if bare {
        hints.push("The repository is bare: there is no working tree to have changes in.".to_owned());
    }
    if tree.changed > 0 {
        hints.push(format!(
            "{} uncommitted {} here: look at them before editing, someone may be at work.",
            tree.changed,
            if tree.changed == 1 { "change is" } else { "changes are" }
        ));
    }
    if churn.authors > 1 {
        hints.push(format!(
            "{} authors made {} commits here in {} days: expect others to touch it, too.",
            churn.authors, churn.commits, churn.days
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_holds_itself_and_what_is_below_it_and_no_neighbour() {
        assert!(is_within(b"", b"a"));
        assert!(is_within(b"a", b"a"));
        assert!(is_within(b"a", b"a/b"));
        assert!(!is_within(b"a", b"ab"));
        assert!(!is_within(b"a/b", b"a"));
    }
}
