//! Which restore points there are.
//! Trust: refs beneath the prefix may be anybody's; what does not read as ours is not listed.

use super::{Message, PREFIX};
use crate::{
    failure::Step,
    repo::{Repo, lossy},
};
use bulkhead_ipc::edge::write::MAX_NAME;
use std::collections::BTreeMap;

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
