//! What `git branch` writes in place of the current branch while there is none: how HEAD came to be where it is.
//! Trust: names come from the reflog and from the files of an unfinished rebase or bisection; they are shown, not followed.

use crate::{diff::abbreviate::Abbreviation, open_beneath, reflog, repo::Repo};
use bulkhead_contract::failure::ReadFailure;
use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice as _},
};
use std::ops::ControlFlow;

/// Bytes of a file that names a branch.
const MAX_NAME: u64 = 4_096;
/// Bytes of HEAD's reflog in which the last checkout is looked for.
const MAX_LOG: u64 = 16 << 20;

/// The text for a HEAD that is detached at `head`.
///
/// # Errors
/// Where the reflog of HEAD cannot be read.
pub fn description(repo: &Repo, head: ObjectId) -> Result<String, ReadFailure> {
    let dir = &repo.found.git_dir;
    let there = |name: &str| std::fs::symlink_metadata(dir.join(name)).is_ok();
    let apply = there("rebase-apply");
    if (apply && !there("rebase-apply/applying")) || (!apply && there("rebase-merge")) {
        let file: &[u8] = if apply { b"rebase-apply/head-name" } else { b"rebase-merge/head-name" };
        return Ok(match named(repo, file) {
            Some(branch) => format!("(no branch, rebasing {branch})"),
            None => format!(
                "(no branch, rebasing detached HEAD {})",
                came_from(repo)?.map_or_else(|| short(repo, head), |(from, _)| from)
            ),
        });
    }
    if there("BISECT_LOG") {
        let from = named(repo, b"BISECT_START").unwrap_or_else(|| short(repo, head));
        return Ok(format!("(no branch, bisect started on {from})"));
    }
    Ok(match came_from(repo)? {
        Some((from, at)) if at == head => format!("(HEAD detached at {from})"),
        Some((from, _)) => format!("(HEAD detached from {from})"),
        None => "(no branch)".to_owned(),
    })
}

/// The branch, or the abbreviated commit, that a file of an operation names; `None` for a HEAD that was detached before.
fn named(repo: &Repo, file: &[u8]) -> Option<String> {
    let text = open_beneath::read(&repo.found.git_dir, file, MAX_NAME).ok()?;
    let name = text.trim_end_with(|c| c == '\n');
    if name.is_empty() || name == b"detached HEAD" {
        return None;
    }
    if let Some(branch) = name.strip_prefix(b"refs/heads/") {
        return Some(branch.to_str_lossy().into_owned());
    }
    Some(match ObjectId::from_hex(name) {
        Ok(id) => short(repo, id),
        Err(_) => name.to_str_lossy().into_owned(),
    })
}

/// What the last checkout in HEAD's reflog went to, and the commit that this was.
fn came_from(repo: &Repo) -> Result<Option<(String, ObjectId)>, ReadFailure> {
    let mut last: Option<(BString, ObjectId)> = None;
    reflog::backwards(repo, "HEAD".into(), MAX_LOG, |_, line| {
        let moved = line.message.strip_prefix(b"checkout: moving from ").and_then(|rest| rest.split_once_str(" to "));
        match moved {
            Some((_, to)) => {
                last = Some((to.into(), line.new));
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        }
    })?;
    let Some((to, id)) = last else { return Ok(None) };
    Ok(Some((display(repo, to.as_ref(), id).unwrap_or_else(|| short(repo, id)), id)))
}

/// The reference that `to` stands for, where it stands for one alone that is still at `id`.
fn display(repo: &Repo, to: &BStr, id: ObjectId) -> Option<String> {
    let meant = repo.refs.meant(to).ok()?;
    let [full] = &meant[..] else { return None };
    if full == "HEAD" {
        return None;
    }
    let at = repo.refs.resolve(full.as_ref()).ok()??;
    let peeled = || repo.git.find_object(at).ok()?.peel_to_commit().ok().map(|commit| commit.id);
    if at != id && peeled() != Some(id) {
        return None;
    }
    let name = full.strip_prefix(b"refs/tags/").or_else(|| full.strip_prefix(b"refs/remotes/")).unwrap_or(full);
    Some(name.to_str_lossy().into_owned())
}

/// The abbreviated id, as Git abbreviates it here.
pub(crate) fn short(repo: &Repo, id: ObjectId) -> String {
    abbreviated(repo, &repo.abbreviation(), id)
}

/// The same for one of several ids.
pub(crate) fn abbreviated(repo: &Repo, abbreviation: &Abbreviation, id: ObjectId) -> String {
    match repo.git.has_object(id) {
        true => abbreviation.short(&id),
        false => id.to_hex_with_len(7).to_string(),
    }
}
