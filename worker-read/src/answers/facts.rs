//! What a person should know of a proposal: ids, conflicts, losses, commits; each by the means of the tool that shows it.
//! Trust: see the module above; what cannot be found out is said to be unknown, and is no failure.

use super::{conflict, history, status};
use crate::{pace::Pace, repo::Repo, revision};
use bulkhead_contract::{
    failure::ReadFailure,
    limits::{MAX_ANSWER_CHARS, MAX_STATUS_ROWS},
    results::{FactCommit, FactCommits, FactLost, FactPath, FactPreflight, FactRef, Facts, StatusRow},
};
use bulkhead_ipc::edge::{
    asks::{self, Concerned, Lost, MAX_REFS, MAX_TRIALS, Trial},
    read::Page,
};
use gix::bstr::ByteSlice as _;

const FACTS: &str = "facts";
/// Characters of paths in conflict.
const CHARS: u32 = 8_000;

/// The facts of one repository.
pub(super) fn facts(repo: &Repo, ask: &asks::Facts, pace: &Pace) -> Result<Facts, ReadFailure> {
    let head = repo.refs.head()?;
    let mut facts = Facts {
        head: head.id.map(|id| id.to_string()),
        branch: head.branch.as_ref().map(|branch| crate::refs::short(branch.as_bstr())),
        ..Facts::default()
    };
    for name in ask.refs.iter().take(MAX_REFS) {
        let oid = revision::object(repo, name, FACTS, pace).ok();
        let commit = revision::commit(repo, name, FACTS, pace).ok().filter(|commit| Some(*commit) != oid);
        let text = |id: gix::ObjectId| id.to_string();
        facts.refs.push(FactRef { name: name.clone(), oid: oid.map(text), commit: commit.map(text) });
    }
    facts.preflights = ask.trials.iter().take(MAX_TRIALS).map(|trial| preflight(repo, trial, pace)).collect();
    facts.lost = ask.lost.as_ref().filter(|_| !repo.is_bare()).map(|ask| lost(repo, ask, pace)).transpose()?;
    facts.commits = ask.commits.iter().take(MAX_REFS).map(|ask| concerned(repo, ask, pace)).collect();
    Ok(facts)
}

fn preflight(repo: &Repo, trial: &Trial, pace: &Pace) -> FactPreflight {
    let Trial { current, target, rebase } = trial;
    let ask = asks::Preflight { current: current.clone(), target: target.clone(), rebase: *rebase, chars: CHARS };
    let mut fact = FactPreflight {
        operation: if *rebase { "rebase" } else { "merge" }.to_owned(),
        current_ref: current.clone(),
        target_ref: target.clone(),
        status: "unknown".to_owned(),
        merge_base_oid: None,
        conflict_count: 0,
        conflicting_paths: Vec::new(),
        problem: None,
    };
    match conflict::preflight(repo, &ask, pace) {
        Ok(mut found) => {
            found.conflicting_paths.truncate(Facts::MOST);
            fact.status = found.status.name().to_owned();
            fact.merge_base_oid = found.merge_base_oid;
            fact.conflict_count = found.conflict_count;
            fact.conflicting_paths = found.conflicting_paths;
        }
        Err(failure) => fact.problem = Some(failure.details),
    }
    fact
}

fn lost(repo: &Repo, ask: &Lost, pace: &Pace) -> Result<FactLost, ReadFailure> {
    let page = Page { limit: MAX_STATUS_ROWS, chars: u32::MAX, cursor: None };
    let found = status::status(repo, &page, pace)?;
    let wanted: Vec<&str> = ask.paths.iter().map(|path| trimmed(path)).collect();
    let is_lost = |row: &&StatusRow| {
        (ask.untracked || row.status != "??") && wanted.iter().any(|path| is_beneath(trimmed(&row.path), path))
    };
    let rows: Vec<&StatusRow> = found.entries.iter().filter(is_lost).collect();
    let paths = rows.iter().take(Facts::MOST).map(|row| FactPath {
        path: row.path.clone(),
        path_encoding: row.path_encoding,
        status: row.status.clone(),
    });
    let complete = !found.truncated && found.partial.is_none();
    Ok(FactLost { total: rows.len() as u64, paths: paths.collect(), complete })
}

fn trimmed(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_prefix("./").unwrap_or(path)
}

/// Either is the other, or lies in it: a directory that is not tracked is one row.
fn is_beneath(row: &str, wanted: &str) -> bool {
    let within = |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'));
    matches!(wanted, "." | "") || row == wanted || within(row, wanted) || within(wanted, row)
}

fn concerned(repo: &Repo, ask: &Concerned, pace: &Pace) -> FactCommits {
    let mut fact = FactCommits { tip: ask.tip.clone(), without: None, total: None, newest: Vec::new() };
    let commit = |name: &String| revision::commit(repo, name, FACTS, pace).ok();
    let Some(tip) = commit(&ask.tip) else { return fact };
    let Some((name, without)) = ask.without.iter().find_map(|name| Some((name, commit(name)?))) else { return fact };
    fact.without = Some(name.clone());
    if let Ok(drift) = repo.drift(tip, without, pace)
        && !drift.cut
        && !drift.missing
    {
        fact.total = Some(drift.ahead);
    }
    let most = u32::try_from(Facts::MOST).unwrap_or(u32::MAX);
    let page = Page { limit: most, chars: MAX_ANSWER_CHARS as u32, cursor: None };
    let only = asks::Commits {
        range: Some(format!("{without}..{tip}")),
        path: None,
        follow: false,
        author: None,
        grep: None,
        since: None,
        until: None,
    };
    if let Ok(page) = history::history(repo, &asks::History { page, only: Box::new(only) }, pace) {
        let commits = page.commits.into_iter();
        fact.newest = commits.map(|commit| FactCommit { sha: commit.hash, subject: commit.subject }).collect();
    }
    fact
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beneath_a_path_is_lost_with_it() {
        for (row, wanted, lost) in [
            ("a", ".", true),
            ("a/b", "a", true),
            ("a", "a/b", true),
            ("ab", "a", false),
            ("a", "b", false),
            ("a", "a", true),
        ] {
            assert_eq!(is_beneath(row, wanted), lost, "{row} {wanted}");
        }
        assert_eq!((trimmed("./a/"), trimmed("a")), ("a", "a"));
    }
}
