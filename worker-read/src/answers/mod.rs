//! From what was read to what is answered: one file per family, and the pages that long lists are cut into.
//! Trust: rows hold the repository's own bytes; a cursor is the caller's and is parsed before it is used.

mod brief;
mod budget;
mod checkouts;
mod conflict;
pub(crate) mod cursor;
mod diff;
mod direct;
mod facts;
mod fleet;
mod history;
mod refs;
mod rows;
mod safety;
mod scope;
mod status;
mod traces;

use crate::{pace::Pace, repo::Repo};
use bulkhead_contract::failure::{ReadFailure, Reason};
use bulkhead_ipc::edge::read::{Ask, Reply};

/// Answers one question about `repo`. `None` for a question that is not about a repository.
///
/// # Errors
/// What kept it from being answered.
pub fn answer(repo: &Repo, ask: &Ask, pace: &Pace) -> Option<Result<Reply, ReadFailure>> {
    Some(match ask {
        Ask::SelfProbe => return None,
        Ask::Records(_) => Err(ReadFailure::new(
            Reason::BadArgument,
            "records",
            "This process was started for a repository; records are in a run directory.",
        )),
        Ask::Brief { recent_commits } => brief::brief(repo, *recent_commits, pace).map(|it| Reply::Brief(Box::new(it))),
        Ask::Status(page) => status::status(repo, page, pace).map(|it| Reply::Status(Box::new(it))),
        Ask::Changes(page) => status::changes(repo, page, pace).map(|it| Reply::Changes(Box::new(it))),
        Ask::Refs(ask) => refs::refs(repo, ask, pace).map(|it| Reply::Refs(Box::new(it))),
        Ask::Reflog(ask) => refs::reflog(repo, ask, pace).map(|it| Reply::Reflog(Box::new(it))),
        Ask::BranchStack(ask) => refs::branch_stack(repo, ask, pace).map(|it| Reply::BranchStack(Box::new(it))),
        Ask::History(ask) => history::history(repo, ask, pace).map(|it| Reply::History(Box::new(it))),
        Ask::Scope(ask) => scope::scope(repo, ask, pace).map(|it| Reply::Scope(Box::new(it))),
        Ask::TextDiff(ask) => diff::text(repo, ask, pace).map(|it| Reply::TextDiff(Box::new(it))),
        Ask::CommitDetails(ask) => diff::details(repo, ask, pace).map(|it| Reply::CommitDetails(Box::new(it))),
        Ask::Sources(ask) => diff::sources(repo, ask, pace).map(|it| Reply::Sources(Box::new(it))),
        Ask::Submodules(ask) => checkouts::submodules(repo, ask, pace).map(|it| Reply::Submodules(Box::new(it))),
        Ask::Worktrees(ask) => checkouts::worktrees(repo, ask, pace).map(|it| Reply::Worktrees(Box::new(it))),
        Ask::Preflight(ask) => conflict::preflight(repo, ask, pace).map(|it| Reply::Preflight(Box::new(it))),
        Ask::Conflict(ask) => conflict::read(repo, ask, pace).map(|it| Reply::Conflict(Box::new(it))),
        Ask::Radar(ask) => fleet::radar(repo, ask, pace).map(|it| Reply::Radar(Box::new(it))),
        Ask::Facts(ask) => facts::facts(repo, ask, pace).map(|it| Reply::Facts(Box::new(it))),
        Ask::Digest(ask) => fleet::digest(repo, ask, pace).map(|it| Reply::Digest(Box::new(it))),
        Ask::ShowFile(ask) => direct::show(repo, ask, pace).map(|it| Reply::ShowFile(Box::new(it))),
        Ask::ListFiles(ask) => direct::list(repo, ask, pace).map(|it| Reply::ListFiles(Box::new(it))),
        Ask::MergeBase(ask) => direct::merge_base(repo, ask, pace).map(Reply::MergeBase),
        Ask::Points { limit } => direct::points(repo, *limit, pace).map(|it| Reply::Points(Box::new(it))),
        Ask::Remotes => Ok(Reply::Remotes(direct::remotes(repo))),
        Ask::Unmerged { chars } => direct::unmerged(repo, *chars).map(|it| Reply::Unmerged(Box::new(it))),
        Ask::ConflictRegions(ask) => direct::regions(repo, ask, pace).map(|it| Reply::ConflictRegions(Box::new(it))),
        Ask::Resolve(ask) => direct::resolve(repo, ask, pace).map(|it| Reply::Resolve(Box::new(it))),
        Ask::Annotate(ask) => direct::annotate(repo, ask, pace).map(|it| Reply::Annotate(Box::new(it))),
        Ask::Traces => Ok(Reply::Traces(traces::traces(repo))),
        Ask::Timeline(ask) => safety::timeline(repo, ask, pace).map(|it| Reply::Timeline(Box::new(it))),
        Ask::TimelineEvent(ask) => safety::event(repo, ask, pace).map(|it| Reply::TimelineEvent(Box::new(it))),
        Ask::RestorePoints(ask) => safety::restore_points(repo, ask, pace).map(|it| Reply::RestorePoints(Box::new(it))),
    })
}
