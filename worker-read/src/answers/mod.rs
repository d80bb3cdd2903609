//! From what was read to what is answered: one file per family, and the pages that long lists are cut into.
//! Trust: rows hold the repository's own bytes; a cursor is the caller's and is parsed before it is used.

mod brief;
mod cursor;
mod rows;
mod status;

use crate::{pace::Pace, repo::Repo};
use bulkhead_contract::failure::ReadFailure;
use bulkhead_ipc::edge::read::{Ask, Reply};

/// Answers one question about `repo`. `None` for a question that is not about a repository.
///
/// # Errors
/// What kept it from being answered.
pub fn answer(repo: &Repo, ask: &Ask, pace: &Pace) -> Option<Result<Reply, ReadFailure>> {
    Some(match ask {
        Ask::SelfProbe => return None,
        Ask::Brief { recent_commits } => brief::brief(repo, *recent_commits, pace).map(|it| Reply::Brief(Box::new(it))),
        Ask::Status(page) => status::status(repo, page, pace).map(|it| Reply::Status(Box::new(it))),
        Ask::Changes(page) => status::changes(repo, page, pace).map(|it| Reply::Changes(Box::new(it))),
    })
}
