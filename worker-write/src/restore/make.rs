//! Making a restore point, on disk before the operation that it is made for begins.
//! Trust: names of files are anybody's bytes; what a point says of itself is put together here.

use super::{MAX_POINTS, Message, PREFIX, by_git, in_process, list, untracked, when};
use crate::{
    failure::{Step, named, refused},
    leftover::Scratch,
    repo::{Repo, lossy},
    standing,
};
use std::os::unix::ffi::OsStrExt;

/// A point that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    /// Its id.
    pub(crate) id: String,
    /// Sentences that the caller should know.
    pub(crate) notes: Vec<String>,
    /// Untracked files are in it, all of them.
    pub(crate) whole: bool,
    /// Repositories inside of the working tree, which are not in it.
    nested: Vec<Vec<u8>>,
}

/// What is settled of a point before any part of it is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ready<'r> {
    pub(super) id: &'r str,
    /// Seconds since 1970.
    pub(super) made: i64,
    /// Full id of HEAD's commit.
    pub(super) head: Option<&'r str>,
    /// Message of its commits.
    pub(super) message: &'r str,
    /// Paths of untracked files, where the point holds them.
    pub(super) untracked: Option<&'r [Vec<u8>]>,
    /// Full id that a ref has now and will not have any more.
    pub(super) tip: Option<&'r str>,
}

/// Makes one of this working tree. `tip`: a ref whose value the operation takes away, with that value.
pub(crate) fn make(repo: &Repo<'_>, before: &str, tip: Option<(&str, &str)>) -> Step<Made> {
    make_unless(repo, before, tip, || Ok(()))
}

/// Makes one as [`make`] does, and has `refused` say once, before it is named, whether the operation goes on; where it does not,
/// there is no point.
pub(crate) fn make_unless(
    repo: &Repo<'_>,
    before: &str,
    tip: Option<(&str, &str)>,
    refused: impl FnOnce() -> Step<()>,
) -> Step<Made> {
    let scratch = Scratch::new(&repo.git_dir)?;
    let head = repo.head()?;
    let untracked = untracked::list(repo)?;
    let (made, id) = when::now();
    let message = Message {
        before: before.to_owned(),
        made,
        branch: head.branch.clone(),
        head: head.commit.clone(),
        root: lossy(repo.root.as_os_str().as_bytes()),
        during: standing::word(repo.state()).to_owned(),
        untracked: untracked.paths.as_ref().map_or_else(Clone::clone, |_| "all".to_owned()),
        tip: tip.map(|(name, _)| name.to_owned()),
    };
    let ready = Ready {
        id: &id,
        made,
        head: head.commit.as_deref(),
        message: &message.text(),
        untracked: untracked.paths.as_ref().ok().map(Vec::as_slice),
        tip: tip.map(|(_, value)| value),
    };
    let parts = match &repo.store {
        Some(store) => in_process::parts(repo, store, &ready)?.map(|parts| (store, parts)),
        None => None,
    };
    refused()?;
    let is_made = match parts {
        Some((store, parts)) => in_process::name(repo, store, &scratch, &id, &parts)?,
        None => false,
    };
    if !is_made {
        by_git::make(repo, &ready, &scratch)?;
    }
    repo.point.replace(Some(id.clone()));

    let mut notes = Vec::new();
    if let Err(why) = &untracked.paths {
        notes.push(format!("Restore point {id} does not hold untracked files: {why}."));
    }
    notes.extend(forget_the_oldest(repo, &scratch)?);
    if !untracked.nested.is_empty() {
        let names: Vec<_> = untracked.nested.iter().map(|path| lossy(path)).collect();
        notes.push(format!("Restore point {id} does not hold repositories inside of this one: {}.", named(&names)));
    }
    Ok(Made { id, notes, whole: untracked.paths.is_ok(), nested: untracked.nested })
}

/// Refuses where these untracked paths would be overwritten, and the point does not hold untracked files.
pub(crate) fn all_kept(point: &Made, overwritten: &[Vec<u8>]) -> Step<()> {
    let of_nested = |path: &[u8]| {
        let beneath =
            |a: &[u8], b: &[u8]| a.strip_prefix(b).is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b'/'));
        point.nested.iter().any(|nested| beneath(nested, path) || beneath(path, nested))
    };
    let names: Vec<_> =
        overwritten.iter().filter(|path| !point.whole || of_nested(path)).map(|path| lossy(path)).collect();
    if names.is_empty() {
        return Ok(());
    }
    refused(
        format!(
            "Untracked files would be overwritten that no restore point can hold: {}. Nothing was done.",
            named(&names)
        ),
        "Move these files away, then try again.",
    )
}

/// Refuses where ignored files, which no point holds, would be overwritten by others.
pub(crate) fn nothing_lost(repo: &Repo<'_>, overwritten: &[Vec<u8>], to: &str) -> Step<()> {
    let lost = repo.lost(overwritten, to)?;
    if lost.is_empty() {
        return Ok(());
    }
    refused(
        format!(
            "Ignored files would be overwritten, which no restore point holds: {}. Nothing was done.",
            named(&lost)
        ),
        "Move these files away, then try again.",
    )
}

/// Removes points beyond those that are kept; a sentence where any were.
fn forget_the_oldest(repo: &Repo<'_>, scratch: &Scratch) -> Step<Option<String>> {
    let said = |beyond| Some(format!("{beyond} of the oldest restore points were removed; {MAX_POINTS} are kept."));
    if let Some(store) = &repo.store
        && let Ok(beyond) = in_process::beyond(store, MAX_POINTS)
        && beyond.iter().all(|id| in_process::forget(store, &scratch.path("gone"), id).is_ok())
    {
        return Ok((!beyond.is_empty()).then(|| said(beyond.len())).flatten());
    }
    let all = list::names(repo)?;
    let Some(beyond) = all.len().checked_sub(MAX_POINTS).filter(|beyond| *beyond > 0) else { return Ok(None) };
    let orders: String = all
        .iter()
        .take(beyond)
        .flat_map(|(id, names)| names.iter().map(move |name| format!("delete {PREFIX}{id}/{name}\n")))
        .collect();
    repo.call(["update-ref", "--stdin"]).stdin(orders).all("Old restore points could not be removed.")?;
    Ok(said(beyond))
}
