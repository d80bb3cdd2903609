//! What other agents left in the repository: times of a few files, of which nothing is read.
//! Trust: see the module above; a link in their place says nothing.

use crate::repo::Repo;
use bulkhead_contract::results::Traces;
use std::{path::Path, time::UNIX_EPOCH};

/// When the files were written to that speak for an agent.
pub(super) fn traces(repo: &Repo) -> Traces {
    let Some(top) = &repo.found.worktree else { return Traces::default() };
    let crush = top.join(".crush");
    // a directory that is a link leads elsewhere
    let crush_ms = crush.symlink_metadata().is_ok_and(|meta| meta.is_dir()).then(|| {
        let times = ["crush.db", "crush.db-wal"].into_iter().filter_map(|name| modified_ms(&crush.join(name)));
        times.max()
    });
    Traces { aider_ms: modified_ms(&top.join(".aider.chat.history.md")), crush_ms: crush_ms.flatten() }
}

/// Milliseconds since 1970 at which a regular file was written to.
fn modified_ms(path: &Path) -> Option<i64> {
    let meta = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
    let since = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}
