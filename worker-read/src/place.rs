//! Whether the caller's path still leads to the repository that this worker opened.
//! Trust: links and directories may be swapped between calls; the answer is about now, and errs towards *moved*.

use crate::{
    discover::{Bounds, Found, identity, is_git_dir, passes_over, resolve},
    files,
};
use bulkhead_ipc::edge::read::Place;
use std::fs;

/// True where a discovery that started at `place` would end at `found` again.
#[must_use]
pub fn still_leads_to(found: &Found, place: Option<&Place>, bounds: Bounds<'_>) -> bool {
    let unchanged = identity(&found.git_dir).is_ok_and(|id| id == found.git_dir_id)
        && found.worktree.as_deref().map(identity).transpose().is_ok_and(|id| id == found.worktree_id);
    let Some(place) = place.filter(|_| unchanged) else { return unchanged };
    let Ok(asked) = resolve(&place.path, bounds) else { return false };
    if identity(&asked) != Ok(place.asked) {
        return false;
    }
    let Some(worktree) = &found.worktree else { return asked == found.git_dir };
    if asked.starts_with(&found.git_dir) {
        return true;
    }
    // a repository that came up between the two would be found first; what discovery passes over is none
    asked.starts_with(worktree)
        && asked.ancestors().take_while(|dir| dir != worktree).all(|dir| passes_over(dir, bounds))
        && (asked == *worktree || !is_git_dir(&asked))
        && leads(found)
}

/// The working tree's `.git` still is what it was followed to.
fn leads(found: &Found) -> bool {
    let Some(worktree) = &found.worktree else { return true };
    match fs::metadata(worktree.join(".git")) {
        Ok(meta) if meta.is_dir() => files::file_id(&meta) == found.git_dir_id,
        // the text of a `.git` file was checked when it was followed; its target is checked by identity above
        Ok(meta) => meta.is_file(),
        Err(_) => false,
    }
}
