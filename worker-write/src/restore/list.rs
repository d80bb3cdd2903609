//! Which restore points there are.
//! Trust: refs beneath the prefix may be anybody's; what does not read as ours is not listed.

use super::{Message, PREFIX};
use crate::{
    failure::Step,
    repo::{Repo, lossy},
};
use bulkhead_ipc::edge::write::{self, Done, MAX_NAME};
use std::{collections::BTreeMap, os::unix::ffi::OsStrExt};

/// Ids, oldest first, each with the names beneath it.
pub(super) fn names(repo: &Repo<'_>) -> Step<BTreeMap<String, Vec<String>>> {
    let call = repo.call(["for-each-ref", "--format=%(refname)", PREFIX]);
    let listing = call.all("Restore points could not be listed.")?;
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in lossy(&listing).lines() {
        if let Some((id, name)) = line.strip_prefix(PREFIX).and_then(|rest| rest.split_once('/')) {
            all.entry(id.to_owned()).or_default().push(name.to_owned());
        }
    }
    Ok(all)
}

/// Points with their messages, newest first.
pub(crate) fn points(repo: &Repo<'_>) -> Step<Vec<(String, Message)>> {
    let format = "--format=%(refname)%00%(contents)%00";
    let call = repo.call(["for-each-ref", format]).arg(format!("{PREFIX}*/index"));
    let listing = call.all("Restore points could not be listed.")?;
    let mut fields = listing.split(|byte| *byte == 0);
    let mut points = Vec::new();
    while let (Some(name), Some(message)) = (fields.next(), fields.next()) {
        let name = lossy(name);
        let id = name.trim().strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix("/index"));
        if let (Some(id), Some(message)) = (id, Message::read(&lossy(message)))
            && [id, &message.before, &message.root].iter().all(|text| text.len() <= MAX_NAME)
            && [&message.branch, &message.head].into_iter().flatten().all(|text| text.len() <= MAX_NAME)
        {
            points.push((id.to_owned(), message));
        }
    }
    points.reverse();
    Ok(points)
}

/// `repo_restore_points`: those of this working tree.
pub(crate) fn list(repo: &Repo<'_>, limit: u32) -> Step<Done> {
    let root = lossy(repo.root.as_os_str().as_bytes());
    let (own, others): (Vec<_>, Vec<_>) = points(repo)?.into_iter().partition(|(_, message)| message.root == root);
    let most = usize::try_from(limit).unwrap_or(usize::MAX).min(write::MAX_POINTS);
    let total = own.len() as u64;
    let points = own.into_iter().take(most).map(|(id, message)| write::Point {
        id,
        made: message.made,
        before: message.before,
        branch: message.branch,
        head: message.head,
    });
    let mut done = Done { points: points.collect(), points_total: total, ..Done::default() };
    if !others.is_empty() {
        done.notes.push(format!("{} more belong to other working trees of this repository.", others.len()));
    }
    Ok(done)
}
