//! What the commit-graph holds beyond commits and parents, and what walks do where it turns out to lie.
//! Trust: the files are the repository's; they can make a walk slower or, as with Git, miss a change, never do harm.

mod filters;
mod murmur3;

pub(crate) use filters::{Filters, Keys};

use crate::{pace::Stopped, repo::Repo};
use gix::commitgraph::Graph;

/// Why a walk has no result.
pub(crate) enum Unfinished {
    Stopped(Stopped),
    /// The commit-graph contradicts itself.
    GraphLies,
}

impl From<Stopped> for Unfinished {
    fn from(stopped: Stopped) -> Self {
        Unfinished::Stopped(stopped)
    }
}

/// Walks with the commit-graph of `repo`, and once more without where there is none or it lies. `None` where the walk
/// finds a lie without one, too.
///
/// # Errors
/// [`Stopped`].
pub(crate) fn with_or_without<T>(
    repo: &Repo,
    mut walk: impl FnMut(Option<&Graph>) -> Result<T, Unfinished>,
) -> Result<Option<T>, Stopped> {
    if let Some(graph) = repo.commit_graph() {
        match walk(Some(&graph)) {
            Ok(found) => return Ok(Some(found)),
            Err(Unfinished::Stopped(stopped)) => return Err(stopped),
            Err(Unfinished::GraphLies) => repo.drop_commit_graph(),
        }
    }
    match walk(None) {
        Ok(found) => Ok(Some(found)),
        Err(Unfinished::Stopped(stopped)) => Err(stopped),
        Err(Unfinished::GraphLies) => Ok(None),
    }
}
